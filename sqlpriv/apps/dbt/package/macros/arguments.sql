{#- What tests and macros are given, as SQL. Names and texts are quoted here and nowhere else. -#}

{#- An error of the node that is being compiled; while dbt only reads the project, nothing. -#}
{% macro _refuse(message) %}
  {%- if execute -%}{{ exceptions.raise_compiler_error("sqlpriv: " ~ message) }}{%- endif -%}
{% endmacro %}

{% macro _text(given, what) %}
  {%- if given is not string -%}
    {%- do sqlpriv._refuse(what ~ " must be a name, as text") -%}
  {%- endif -%}
  {{ return("'" ~ given | replace("'", "''") ~ "'") }}
{% endmacro %}

{% macro _texts(given, what) %}
  {%- set listed = [given] if given is string else given -%}
  {%- if listed is not iterable or listed is mapping or not listed -%}
    {%- do sqlpriv._refuse(what ~ " must be a column or a list of columns") -%}
  {%- endif -%}
  {%- set texts = [] -%}
  {%- for one in (listed if listed is iterable else []) -%}{%- do texts.append(sqlpriv._text(one, what)) -%}{%- endfor -%}
  {{ return("[" ~ texts | join(", ") ~ "]") }}
{% endmacro %}

{% macro _number(given, what) %}
  {%- if given is not number or given is boolean -%}
    {%- do sqlpriv._refuse(what ~ " must be a number (YAML reads 1e6 as text: write 1.0e+6)") -%}
  {%- endif -%}
  {{ return(given) }}
{% endmacro %}

{#- A table by its name in quotes, as the macros of the schema priv take it. -#}
{% macro _table(given, what) %}
  {%- if given is none or given is undefined -%}
    {%- do sqlpriv._refuse(what ~ " must be given: a model, as in ref('people')") -%}
  {%- endif -%}
  {%- set name = given | string -%}
  {%- if name.strip().startswith("(") -%}
    {%- do sqlpriv._refuse("these tests judge whole tables, so they take no `where` and no limit; "
       ~ "filter in a model and test that") -%}
  {%- endif -%}
  {{ return(sqlpriv._text(name, what)) }}
{% endmacro %}

{#- The sensitive column: the one that is named, or the one that the test stands at. -#}
{% macro _sensitive(sensitive, column_name) %}
  {%- if not sensitive and not column_name -%}
    {%- do sqlpriv._refuse("name the sensitive column in `sensitive`, or put the test at the column") -%}
  {%- endif -%}
  {{ return(sqlpriv._text(sensitive or column_name, "sensitive")) }}
{% endmacro %}

{#- The last argument of a check that counts persons instead of rows. -#}
{% macro _person(person) %}
  {{ return(", " ~ sqlpriv._text(person, "person") if person else "") }}
{% endmacro %}

{% macro _one_of(given, words, what) %}
  {%- if given not in words -%}
    {%- do sqlpriv._refuse(what ~ " must be one of " ~ words | join(", ")) -%}
  {%- endif -%}
{% endmacro %}
