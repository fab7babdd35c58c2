select patient, zip, decade, sex, diagnosis from {{ ref('stays') }}
