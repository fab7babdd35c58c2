{#- The sensitive values of every class are distributed as in the whole table, up to a distance of t. distance: equal,
    ordered, or hierarchical along a table of values and their labels. -#}
{% test t_closeness(model, quasi_identifiers, t, sensitive=none, distance="equal", hierarchy=none, person=none, column_name=none, show_values=false) %}
{%- do sqlpriv._one_of(distance, ["equal", "ordered", "hierarchical"], "distance") -%}
{%- set check = "t_closeness" if distance == "equal" else "t_closeness_" ~ distance -%}
{{ sqlpriv._by_value(check, model, quasi_identifiers, sqlpriv._sensitive(sensitive, column_name),
   [sqlpriv._table(hierarchy, "hierarchy")] if distance == "hierarchical" else [], person, t, "t", show_values) }}
{% endtest %}

{#- No value is relatively more frequent in a class than in the table by more than beta; enhanced also bounds rare ones. -#}
{% test beta_likeness(model, quasi_identifiers, beta, sensitive=none, enhanced=false, person=none, column_name=none, show_values=false) %}
{{ sqlpriv._by_value("enhanced_beta_likeness" if enhanced else "beta_likeness", model, quasi_identifiers,
   sqlpriv._sensitive(sensitive, column_name), [], person, beta, "beta", show_values) }}
{% endtest %}

{#- The share of every value in every class is within a factor of e^delta of its share in the table. -#}
{% test delta_disclosure(model, quasi_identifiers, delta, sensitive=none, person=none, column_name=none, show_values=false) %}
{{ sqlpriv._by_value("delta_disclosure", model, quasi_identifiers, sqlpriv._sensitive(sensitive, column_name), [], person,
   delta, "delta", show_values) }}
{% endtest %}
