{#- The relation with whole columns on higher levels of their hierarchies: node is a mapping such as {"age": 2, "zip": 1}, and
    hierarchies one of columns to relations, each with the value in its first column and its labels in the next. Stands after FROM. -#}
{% macro generalize(relation, node, hierarchies) %}
  {{ return(adapter.dispatch("generalize", "sqlpriv")(relation, node, hierarchies)) }}
{% endmacro %}

{% macro duckdb__generalize(relation, node, hierarchies) %}
  {%- set levels, tables = [], [] -%}
  {%- for name, level in node.items() -%}
    {%- do levels.append(sqlpriv._text(name, "node") ~ ": " ~ sqlpriv._number(level, "node")) -%}
  {%- endfor -%}
  {%- for name, hierarchy in hierarchies.items() -%}
    {%- do tables.append(sqlpriv._text(name, "hierarchies") ~ ": " ~ sqlpriv._table(hierarchy, "hierarchies")) -%}
  {%- endfor -%}
  {{ return(sqlpriv._expanded("generalize", [sqlpriv._table(relation, "relation"), "MAP {" ~ levels | join(", ") ~ "}",
     "MAP {" ~ tables | join(", ") ~ "}"])) }}
{% endmacro %}

{#- A value that the hierarchy misses, or has with two labels, stops DuckDB; here it hides the cell. -#}
{% macro default__generalize(relation, node, hierarchies) %}
  {%- set text = dbt.type_string() -%}
  {%- set labels, joins = {}, [] -%}
  {%- for name, level in node.items() if level > 0 -%}
    {%- set columns = adapter.get_columns_in_relation(hierarchies[name]) if execute else [] -%}
    {%- if execute and level >= columns | length -%}
      {%- do sqlpriv._refuse("there is no level " ~ level ~ " in the hierarchy of '" ~ name ~ "', or it is not built yet") -%}
    {%- endif -%}
    {%- if columns -%}
      {%- set own = sqlpriv._own(relation, name) -%}
      {%- set value, label = adapter.quote(columns[0].name), adapter.quote(columns[level].name) -%}
      {%- set here, top = "__priv_h" ~ loop.index, "__priv_s" ~ loop.index -%}
      {%- set is_top = level == columns | length - 1 -%}
      {%- do labels.update({name: "case when " ~ here ~ ".__priv_kinds = 1 then " ~ here ~ ".__priv_label"
          ~ (" when " ~ own ~ " is null and " ~ here ~ ".__priv_kinds is null then " ~ top ~ ".__priv_top" if is_top else "") ~ " end"}) -%}
      {%- do joins.append(" left join (select cast(" ~ value ~ " as " ~ text ~ ") as __priv_value, max(cast(" ~ label ~ " as "
          ~ text ~ ")) as __priv_label, count(distinct coalesce(" ~ dbt.concat(["'='", "cast(" ~ label ~ " as " ~ text ~ ")"])
          ~ ", '')) as __priv_kinds from " ~ hierarchies[name] ~ " group by 1) as " ~ here ~ " on cast(" ~ own ~ " as " ~ text
          ~ ") = " ~ here ~ ".__priv_value or (" ~ own ~ " is null and " ~ here ~ ".__priv_value is null)") -%}
      {%- if is_top -%}
        {%- do joins.append(" cross join (select min(cast(" ~ label ~ " as " ~ text ~ ")) as __priv_top from "
            ~ hierarchies[name] ~ ") as " ~ top) -%}
      {%- endif -%}
    {%- endif -%}
  {%- endfor -%}
  {{ return("(select " ~ sqlpriv._columns_with(relation, labels) ~ " from " ~ relation ~ " as __priv_t" ~ joins | join("")
     ~ ") as generalize") }}
{% endmacro %}
