select cast(patient as integer) as age from {{ ref('patients') }}
