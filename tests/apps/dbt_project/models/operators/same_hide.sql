-- What other warehouses get, and what DuckDB gets: the same rows.
{%- set standard = sqlpriv.default__hide(ref('stays'), 'diagnosis', "decade < 60 and sex = 'F'") %}
{%- set own = sqlpriv.duckdb__hide(ref('stays'), 'diagnosis', "decade < 60 and sex = 'F'") %}
(select * from {{ standard }} except all select * from {{ own }})
union all
(select * from {{ own }} except all select * from {{ standard }})
