-- A step over the same step: DuckDB 2.0 runs no macro inside itself, so both are plain SQL.
{{ config(materialized='view') }}
select * from {{ sqlpriv.hide(ref('hidden'), 'diagnosis', "zip <> '04103'") }}
