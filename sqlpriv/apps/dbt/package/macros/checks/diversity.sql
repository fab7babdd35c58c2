{#- Every class has at least l well-represented sensitive values. kind: distinct (so many different ones), entropy (its
    exponential is at least l), recursive ((c,l): give c), negation (no belief above at_most against l - 2 negations). -#}
{% test l_diversity(model, quasi_identifiers, l, sensitive=none, kind="distinct", c=none, at_most=none, person=none, column_name=none, show_values=false) %}
{%- do sqlpriv._one_of(kind, ["distinct", "entropy", "recursive", "negation"], "kind") -%}
{%- set about = sqlpriv._sensitive(sensitive, column_name) -%}
{%- if kind == "recursive" -%}
{{ sqlpriv._by_value("recursive_diversity", model, quasi_identifiers, about, [sqlpriv._number(l, "l")], person, c, "c", show_values) }}
{%- elif kind == "negation" -%}
{{ sqlpriv._by_value("negation_diversity", model, quasi_identifiers, about, [sqlpriv._number(l, "l")], person, at_most, "at_most", show_values) }}
{%- else -%}
{{ sqlpriv._by_value("l_diversity" if kind == "distinct" else "entropy_diversity", model, quasi_identifiers, about, [], person,
   l, "l", show_values) }}
{%- endif -%}
{% endtest %}

{#- Nobody who knows k implications between people's values believes in a value with c or more. -#}
{% test ck_safety(model, quasi_identifiers, c, k, sensitive=none, person=none, column_name=none, show_values=false) %}
{{ sqlpriv._by_value("ck_safety", model, quasi_identifiers, sqlpriv._sensitive(sensitive, column_name), [sqlpriv._number(k, "k")],
   person, c, "c", show_values) }}
{% endtest %}
