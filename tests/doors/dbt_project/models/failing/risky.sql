{{ config(enabled=var('failing', false)) }}
select patient, zip, decade, sex, diagnosis from {{ ref('stays') }}
