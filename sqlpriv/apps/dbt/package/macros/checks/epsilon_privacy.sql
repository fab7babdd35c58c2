{#- No belief grows by more than a factor of epsilon. adversary: class1 (a prior: a table of value and sigma), class2 (any
    prior of stubbornness sigma), class3 (a shape: a table of value and share), class4 (everybody). All know b rows. -#}
{% test epsilon_privacy(model, quasi_identifiers, epsilon, sensitive=none, adversary="class2", prior=none, sigma=1000000, shape=none, b=0, predicates=none, person=none, column_name=none, show_values=false) %}
{%- do sqlpriv._one_of(adversary, ["class1", "class2", "class3", "class4"], "adversary") -%}
{%- set extra = [] -%}
{%- if adversary == "class1" -%}{%- do extra.append(sqlpriv._table(prior, "prior")) -%}{%- endif -%}
{%- if adversary == "class2" -%}{%- do extra.append(sqlpriv._number(sigma, "sigma")) -%}{%- endif -%}
{%- if adversary == "class3" -%}{%- do extra.append(sqlpriv._table(shape, "shape")) -%}{%- endif -%}
{%- do extra.append(sqlpriv._number(b, "b")) -%}
{%- if predicates -%}{%- do extra.append(sqlpriv._table(predicates, "predicates")) -%}
{%- elif person -%}{%- do extra.append("null") -%}{%- endif -%}
{{ sqlpriv._by_value("epsilon_" ~ adversary, model, quasi_identifiers, sqlpriv._sensitive(sensitive, column_name), extra, person,
   epsilon, "epsilon", show_values) }}
{% endtest %}
