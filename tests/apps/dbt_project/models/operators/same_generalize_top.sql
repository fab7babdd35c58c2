-- What other warehouses get, and what DuckDB gets: the same rows.
{%- set standard = sqlpriv.default__generalize(ref('stays'), {'ZIP': 2}, {'ZIP': ref('hierarchy_zip')}) %}
{%- set own = sqlpriv.duckdb__generalize(ref('stays'), {'ZIP': 2}, {'ZIP': ref('hierarchy_zip')}) %}
(select * from {{ standard }} except all select * from {{ own }})
union all
(select * from {{ own }} except all select * from {{ standard }})
