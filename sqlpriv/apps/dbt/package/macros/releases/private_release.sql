{#- Publishes what a model selects by the policy in its meta, through the ledger: see docs/dbt.md of sqlpriv. The rows that
    it selects are private and never become a relation. The release is a file; its tables are copied into a schema of
    their own, and the model's relation is a view of the published rows. -#}
{% materialization private_release, adapter="duckdb" %}
  {%- set shown = this.incorporate(type="view") -%}
  {%- set existing = load_cached_relation(this) -%}
  {{ run_hooks(pre_hooks, inside_transaction=False) }}
  {{ run_hooks(pre_hooks, inside_transaction=True) }}

  {%- if flags.EMPTY -%}
    {#- Nothing is released of no rows: what there is stays, and where there is nothing yet, the names of the columns are. -#}
    {%- set unreleased = this.incorporate(type="table") if existing is none else existing -%}
    {% call statement("main") -%}
      {% if existing is none %}create table {{ unreleased }} as select * from ({{ compiled_code }}) limit 0
      {%- else %}select 1 where false{% endif %}
    {%- endcall %}
    {{ run_hooks(post_hooks, inside_transaction=True) }}
    {{ adapter.commit() }}
    {{ run_hooks(post_hooks, inside_transaction=False) }}
    {{ return({"relations": [unreleased]}) }}
  {%- endif -%}
  {%- set columns = {} -%}
  {%- for column in model.columns.values() -%}{%- do columns.update({column.name: column.meta.get("sqlpriv")}) -%}{%- endfor -%}
  {%- set release = sqlpriv._python("release", {"name": this.identifier, "database": this.database, "schema": this.schema,
      "sql": compiled_code, "policy": config.get("meta", {}).get("sqlpriv"), "columns": columns}) -%}
  {%- set place = adapter.quote(this.database) ~ "." ~ adapter.quote(release["schema"]) -%}

  {%- if existing is not none and not existing.is_view -%}{%- do adapter.drop_relation(existing) -%}{%- endif -%}
  {% call statement("main") -%}
    drop schema if exists {{ place }} cascade;
    create schema {{ place }};
    {% for original, called in release["tables"].items() -%}
    create table {{ place }}.{{ called }} as select * from {{ original }};
    comment on table {{ place }}.{{ called }} is {{ sqlpriv._text(release["comment"], "comment") }};
    {% endfor -%}
    create or replace view {{ shown }} as select * from {{ place }}."published";
    comment on view {{ shown }} is {{ sqlpriv._text("A release by sqlpriv. " ~ release["messages"][0], "guarantee") }};
  {%- endcall %}

  {{ run_hooks(post_hooks, inside_transaction=True) }}
  {%- do persist_docs(shown, model) -%}
  {{ adapter.commit() }}
  {%- do sqlpriv._python("detach", release) -%}
  {%- for sentence in release["messages"] -%}
    {%- if sentence.startswith("warning: ") -%}{%- do exceptions.warn("sqlpriv: " ~ sentence[9:]) -%}
    {%- else -%}{%- do log("sqlpriv: " ~ sentence, info=true) -%}{%- endif -%}
  {%- endfor -%}
  {{ run_hooks(post_hooks, inside_transaction=False) }}
  {{ return({"relations": [shown]}) }}
{% endmaterialization %}
