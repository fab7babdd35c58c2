{{ config(materialized='view') }}
select * from {{ sqlpriv.hide(ref('stays'), 'diagnosis', "decade < 60 and sex = 'F'") }}
