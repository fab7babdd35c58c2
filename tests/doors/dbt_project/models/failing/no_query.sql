{{ config(enabled=var('failing', false)) }}
select cast(patient as integer) as age from {{ ref('patients') }}
