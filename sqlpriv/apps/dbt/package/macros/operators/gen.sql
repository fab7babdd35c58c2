{#- The relation with cells of one column replaced by the labels that the relation `generalized` has for their ids; rows for
    which the condition is true, and ids that it does not have, keep theirs. The column becomes text. Stands after FROM. -#}
{% macro gen(relation, id, attribute, generalized, condition=none) %}
  {{ return(adapter.dispatch("gen", "sqlpriv")(relation, id, attribute, generalized, condition)) }}
{% endmacro %}

{% macro duckdb__gen(relation, id, attribute, generalized, condition) %}
  {%- set given = [sqlpriv._table(relation, "relation"), sqlpriv._text(id, "id"), sqlpriv._text(attribute, "attribute"),
      sqlpriv._table(generalized, "generalized")] -%}
  {{ return(sqlpriv._expanded("gen", given + ([sqlpriv._text(condition, "condition")] if condition else []))) }}
{% endmacro %}

{#- An id with two labels stops DuckDB; here, where a warehouse may have no way to stop, it hides the cell. -#}
{% macro default__gen(relation, id, attribute, generalized, condition) %}
  {%- set text = dbt.type_string() -%}
  {%- set own = sqlpriv._own(relation, attribute) -%}
  {%- set its_id, its_label = sqlpriv._own(generalized, id, ""), sqlpriv._own(generalized, attribute, "") -%}
  {%- set kept = "__priv_g.__priv_id is null" ~ (" or (" ~ condition ~ ")" if condition else "") -%}
  {%- set label = "case when " ~ kept ~ " then cast(" ~ own ~ " as " ~ text ~ ") else __priv_g.__priv_label end" -%}
  {%- set labels = "select cast(" ~ its_id ~ " as " ~ text ~ ") as __priv_id, case when count(*) = 1 then max(cast("
      ~ its_label ~ " as " ~ text ~ ")) end as __priv_label from " ~ generalized ~ " where " ~ its_id ~ " is not null group by 1" -%}
  {{ return("(select " ~ sqlpriv._columns_with(relation, {attribute: label}) ~ " from " ~ relation
     ~ " as __priv_t left join (" ~ labels ~ ") as __priv_g on cast(" ~ sqlpriv._own(relation, id) ~ " as " ~ text
     ~ ") = __priv_g.__priv_id) as gen") }}
{% endmacro %}
