select patient, zip, age, sex, diagnosis from {{ ref('patients') }} where patient < 'p{{ 200 + 10 * var('month', 0) }}'
