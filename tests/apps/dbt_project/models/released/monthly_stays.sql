select patient, sex, diagnosis from {{ ref('patients') }} where patient < 'p{{ 200 + 10 * env_var('MONTH', '0') | int }}'
