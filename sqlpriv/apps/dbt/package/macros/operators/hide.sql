{#- The relation with the cells of one column hidden, that is NULL, wherever the condition is not true. Stands after FROM. -#}
{% macro hide(relation, attribute, condition) %}
  {{ return(adapter.dispatch("hide", "sqlpriv")(relation, attribute, condition)) }}
{% endmacro %}

{% macro duckdb__hide(relation, attribute, condition) %}
  {{ return(sqlpriv._expanded("hide", [sqlpriv._table(relation, "relation"), sqlpriv._text(attribute, "attribute"),
     sqlpriv._text(condition, "condition")])) }}
{% endmacro %}

{% macro default__hide(relation, attribute, condition) %}
  {%- set shown = "case when (" ~ condition ~ ") then " ~ sqlpriv._own(relation, attribute) ~ " end" -%}
  {{ return("(select " ~ sqlpriv._columns_with(relation, {attribute: shown}) ~ " from " ~ relation ~ " as __priv_t) as hide") }}
{% endmacro %}

{#- A call of a macro of the schema priv as the plain SQL that it would run: so that steps can be stacked as views, and that
    nothing has to be installed where they are read. -#}
{% macro _expanded(name, given) %}
  {%- set asked = {"sql": "from priv." ~ name ~ "(" ~ given | join(", ") ~ ")", "name": name} -%}
  {{ return(sqlpriv._python("expand", asked).get("plain", "(select null) as " ~ name)) }}
{% endmacro %}

{#- The columns of a relation, some of them replaced: not every warehouse knows `* replace`. -#}
{% macro _columns_with(relation, replaced) %}
  {%- set by_name, listed = {}, [] -%}
  {%- for name, shown in replaced.items() -%}{%- do by_name.update({name | lower: shown}) -%}{%- endfor -%}
  {%- for column in (adapter.get_columns_in_relation(relation) if execute else []) -%}
    {%- set shown = by_name.get(column.name | lower) -%}
    {%- do listed.append((shown ~ " as " if shown else "__priv_t.") ~ adapter.quote(column.name)) -%}
  {%- endfor -%}
  {{ return(listed | join(", ")) }}
{% endmacro %}

{#- A column as its relation spells it, in quotes, as most warehouses tell case apart then; `alias` stands before it. -#}
{% macro _own(relation, name, alias="__priv_t.") %}
  {%- set found = [] -%}
  {%- for column in (adapter.get_columns_in_relation(relation) if execute else []) if column.name | lower == name | lower -%}
    {%- do found.append(column.name) -%}
  {%- endfor -%}
  {%- if not found -%}
    {%- do sqlpriv._refuse("there is no column '" ~ name ~ "' in " ~ relation ~ ", or it is not built yet") -%}
  {%- endif -%}
  {{ return(alias ~ adapter.quote((found or [name])[0])) }}
{% endmacro %}
