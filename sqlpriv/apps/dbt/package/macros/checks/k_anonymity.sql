{#- Every class of the quasi-identifiers has at least k members: rows, or with `person` distinct persons. -#}
{% test k_anonymity(model, quasi_identifiers, k, person=none, column_name=none, show_values=false) %}
{{ sqlpriv._failing("k_anonymity_classes(" ~ sqlpriv._table(model, "model") ~ ", "
   ~ sqlpriv._texts(quasi_identifiers, "quasi_identifiers") ~ sqlpriv._person(person) ~ ", " ~ sqlpriv._number(k, "k") ~ ")",
   "k", show_values) }}
{% endtest %}

{#- No value of the sensitive column has a share above alpha in a class. -#}
{% test alpha_k_anonymity(model, quasi_identifiers, alpha, sensitive=none, person=none, column_name=none, show_values=false) %}
{{ sqlpriv._by_value("alpha_k_anonymity", model, quasi_identifiers, sqlpriv._sensitive(sensitive, column_name), [], person,
   alpha, "alpha", show_values) }}
{% endtest %}

{#- A check of a sensitive column: the classes that fail it. `extra` are arguments between that column and the person. -#}
{% macro _by_value(check, model, quasi_identifiers, sensitive, extra, person, threshold, measure, show_values) %}
  {%- set given = [sqlpriv._table(model, "model"), sqlpriv._texts(quasi_identifiers, "quasi_identifiers"), sensitive] + extra -%}
  {{ return(sqlpriv._failing(check ~ "_classes(" ~ given | join(", ") ~ sqlpriv._person(person) ~ ", "
     ~ sqlpriv._number(threshold, measure) ~ ")", measure, show_values)) }}
{% endmacro %}
