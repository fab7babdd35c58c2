select patient, case when patient <> 'p007' then zip end as zip, age - age % 10 as decade, sex, diagnosis from {{ ref('patients') }}
