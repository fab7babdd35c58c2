{#- Every class of the table has at least k members in the population. -#}
{% test k_map(model, quasi_identifiers, population, k, person=none, column_name=none, show_values=false) %}
{{ sqlpriv._in_population("k_map", model, population, quasi_identifiers, person, k, "k", show_values) }}
{% endtest %}

{#- Of nobody in the population is it believed with more than delta that they are in the table. -#}
{% test delta_presence(model, quasi_identifiers, population, delta, person=none, column_name=none, show_values=false) %}
{{ sqlpriv._in_population("delta_presence", model, population, quasi_identifiers, person, delta, "delta", show_values) }}
{% endtest %}

{#- The risk of being found: journalist is the largest of anybody in the table, marketer the share who are found. -#}
{% test population_risk(model, quasi_identifiers, population, journalist=none, marketer=none, person=none, column_name=none) %}
{{ sqlpriv._risks("population_risk(" ~ sqlpriv._table(model, "model") ~ ", " ~ sqlpriv._table(population, "population") ~ ", "
   ~ sqlpriv._texts(quasi_identifiers, "quasi_identifiers") ~ sqlpriv._person(person) ~ ")",
   {"journalist": journalist, "marketer": marketer}) }}
{% endtest %}

{#- As population_risk, of who knows who is in the table; uniques are classes of one. -#}
{% test risk(model, quasi_identifiers, prosecutor=none, marketer=none, uniques=none, unique_share=none, person=none, column_name=none) %}
{{ sqlpriv._risks("risk(" ~ sqlpriv._table(model, "model") ~ ", " ~ sqlpriv._texts(quasi_identifiers, "quasi_identifiers")
   ~ sqlpriv._person(person) ~ ")",
   {"prosecutor": prosecutor, "marketer": marketer, "uniques": uniques, "unique_share": unique_share}) }}
{% endtest %}

{% macro _in_population(check, model, population, quasi_identifiers, person, threshold, measure, show_values) %}
  {{ return(sqlpriv._failing(check ~ "_classes(" ~ sqlpriv._table(model, "model") ~ ", " ~ sqlpriv._table(population, "population")
     ~ ", " ~ sqlpriv._texts(quasi_identifiers, "quasi_identifiers") ~ sqlpriv._person(person) ~ ", "
     ~ sqlpriv._number(threshold, measure) ~ ")", measure, show_values)) }}
{% endmacro %}

{#- A row for each number that is above what is allowed. -#}
{% macro _risks(check, allowed) %}
  {%- set parts = [] -%}
  {%- for measure, at_most in allowed.items() if at_most is not none -%}
    {%- do parts.append("select '" ~ measure ~ "' as measure, \"" ~ measure ~ '" as value from (' ~ sqlpriv._above(check, measure, at_most) ~ ")") -%}
  {%- endfor -%}
  {%- if not parts -%}
    {%- do sqlpriv._refuse("say how much is allowed: one of " ~ allowed | join(", ")) -%}
  {%- endif -%}
  {{ return(parts | join("\nunion all\n")) }}
{% endmacro %}
