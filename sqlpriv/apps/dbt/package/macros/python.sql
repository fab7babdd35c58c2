{#- Asks the plugin in profiles.yml (plugins: [{module: sqlpriv.dbt}]); what it says is put into `given`. -#}

{% macro _python(what, given) %}
  {%- if execute -%}
    {%- if adapter.type() != "duckdb" -%}
      {%- do sqlpriv._refuse("this needs dbt-duckdb, with plugins: [{module: sqlpriv.dbt}] in profiles.yml") -%}
    {%- endif -%}
    {%- do run_query("select 1") -%}{# a connection must be open for the plugin to be there #}
    {%- do given.update({"package": sqlpriv._package_version()}) -%}
    {%- do adapter.store_relation("sqlpriv", this, [], "", what, given) -%}
  {%- endif -%}
  {{ return(given) }}
{% endmacro %}

{#- Of which sqlpriv this copy of the package is: the plugin refuses one of another version. -#}
{% macro _package_version() %}{{ return("1.0.0rc1") }}{% endmacro %}
