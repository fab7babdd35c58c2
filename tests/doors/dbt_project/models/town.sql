-- Everybody who might be in the hospital.
select zip, age - age % 10 as decade, sex from {{ ref('patients') }}, range(3)
