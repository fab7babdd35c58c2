{#- Several checks at once, as in require: {k: 5, distinct_l: 3, t: 0.2}. A row for each that fails: how many classes, the
    smallest of them, and the worst measure. -#}
{% test report(model, quasi_identifiers, require, sensitive=none, person=none, column_name=none) %}
{%- set checks = {
  "k": ["k_anonymity", "min"], "prosecutor": ["risk", "max"],
  "alpha": ["alpha_k_anonymity", "max"], "distinct_l": ["l_diversity", "min"], "entropy_l": ["entropy_diversity", "min"],
  "t": ["t_closeness", "max"], "t_ordered": ["t_closeness_ordered", "max"], "beta": ["beta_likeness", "max"],
  "enhanced_beta": ["enhanced_beta_likeness", "max"], "delta": ["delta_disclosure", "max"]} -%}
{%- if require is not mapping or not require -%}
  {%- do sqlpriv._refuse("require is a mapping such as {k: 5, distinct_l: 3}") -%}
{%- endif -%}
{%- set parts = [] -%}
{%- for measure, threshold in (require.items() if require is mapping else []) -%}
  {%- do sqlpriv._one_of(measure, checks | list, "each key of require") -%}
  {%- set given = [sqlpriv._table(model, "model"), sqlpriv._texts(quasi_identifiers, "quasi_identifiers")] -%}
  {%- if measure not in ["k", "prosecutor"] -%}{%- do given.append(sqlpriv._sensitive(sensitive, column_name)) -%}{%- endif -%}
  {%- do parts.append("select '" ~ measure ~ "' as measure, count(*) as classes, min(size) as smallest, "
     ~ checks.get(measure, ["", ""])[1] ~ "(value) as worst from priv." ~ checks.get(measure, ["", ""])[0] ~ "_classes(" ~ given | join(", ")
     ~ sqlpriv._person(person) ~ ", " ~ sqlpriv._number(threshold, measure) ~ ") having count(*) > 0") -%}
{%- endfor -%}
{{ parts | join("\nunion all\n") }}
{% endtest %}
