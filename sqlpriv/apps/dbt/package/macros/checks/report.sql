{#- Several checks at once, as in require: {k: 5, distinct_l: 3, t: 0.2}. A row for each that fails: how many classes, the
    smallest of them, and the worst measure. -#}
{% test report(model, quasi_identifiers, require, sensitive=none, person=none, column_name=none) %}
{%- set checks = sqlpriv._python("measures", {}).get("measures", {}) -%}
{%- if require is not mapping or not require -%}
  {%- do sqlpriv._refuse("require is a mapping such as {k: 5, distinct_l: 3}") -%}
{%- endif -%}
{%- set parts = [] -%}
{%- for measure, threshold in (require.items() if require is mapping else []) -%}
  {%- do sqlpriv._one_of(measure, checks | list, "each key of require") -%}
  {%- set given = [sqlpriv._table(model, "model"), sqlpriv._texts(quasi_identifiers, "quasi_identifiers")] -%}
  {%- set check = checks.get(measure, {}) -%}
  {%- if check.needs_sensitive -%}{%- do given.append(sqlpriv._sensitive(sensitive, column_name)) -%}{%- endif -%}
  {%- do parts.append("select '" ~ measure ~ "' as measure, count(*) as classes, min(size) as smallest, "
     ~ check.worst ~ "(value) as worst from priv." ~ check.classes ~ "(" ~ given | join(", ")
     ~ sqlpriv._person(person) ~ ", " ~ sqlpriv._number(threshold, measure) ~ ") having count(*) > 0") -%}
{%- endfor -%}
{{ parts | join("\nunion all\n") }}
{% endtest %}
