-- What other warehouses get, and what DuckDB gets: the same rows.
{%- set standard = sqlpriv.default__gen(ref('stays'), 'patient', 'diagnosis', ref('labels'), none) %}
{%- set own = sqlpriv.duckdb__gen(ref('stays'), 'patient', 'diagnosis', ref('labels'), none) %}
(select * from {{ standard }} except all select * from {{ own }})
union all
(select * from {{ own }} except all select * from {{ standard }})
