select patient, zip, age - age % 10 as decade, sex, diagnosis from {{ ref('patients') }}
