{{ config(enabled=var('failing', false)) }}
select age, sex from {{ ref('patients') }}
