{{ config(materialized='view') }}
select * from {{ sqlpriv.gen(ref('stays'), 'patient', 'diagnosis', ref('labels'), "sex = 'F'") }}
