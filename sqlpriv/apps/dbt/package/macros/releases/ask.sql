{#- A question about a released model, as if its private rows were there: plain SQL that gives estimates, each x with its
    bounds x_low and x_high. Name the model by ref: sqlpriv.ask("select sex, count(*) as n from " ~ ref("stays") ~ " group by sex"). -#}
{% macro ask(question, confidence=0.95) %}
  {%- set releases = [] -%}
  {%- if execute -%}
    {%- for node in graph.nodes.values() if node.resource_type == "model" and node.config.materialized == "private_release" -%}
      {%- do releases.append({"database": node.database, "schema": node.schema, "name": node.alias,
          "policy": node.config.get("meta", {}).get("sqlpriv")}) -%}
    {%- endfor -%}
  {%- endif -%}
  {%- set answer = sqlpriv._python("ask", {"question": question, "confidence": confidence, "releases": releases,
      "builds": flags.WHICH in ["build", "run", "test", "retry", "clone"] and not flags.EMPTY}) -%}
  {{ return("(" ~ answer.get("sql", "select null") ~ ")") }}
{% endmacro %}
