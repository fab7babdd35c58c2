{#- The rows of a failing test. A class is shown by its size and its measure: store_failures would otherwise write the
    people who are easiest to find into the warehouse. Only `show_values: true` shows who they are. -#}

{% macro _failing(classes, measure, show_values) %}
  {%- if show_values is not boolean -%}
    {%- do sqlpriv._refuse("show_values must be true or false") -%}
  {%- endif -%}
  {%- set shown = "class, " if show_values else "" -%}
  {{ return("select " ~ shown ~ 'size, value as "' ~ measure ~ '" from priv.' ~ classes) }}
{% endmacro %}

{#- One number of the whole table, where it is above what is allowed; a number that is not there is above it, too. -#}
{% macro _above(check, measure, at_most) %}
  {%- set bound = sqlpriv._limit(sqlpriv._number(at_most, measure)) -%}
  {{ return('select "' ~ measure ~ '" from priv.' ~ check ~ ' where not coalesce("' ~ measure ~ '" <= ' ~ bound ~ ", false)") }}
{% endmacro %}

{#- A threshold as all checks of sqlpriv compare with it, moved by the tolerance of rounding. -#}
{% macro _limit(threshold) %}
  {{ return(sqlpriv._python("limit", {"threshold": threshold}).get("limit", threshold)) }}
{% endmacro %}
