-- Everybody who might be in the hospital.
select zip, decade, sex from {{ ref('stays') }}, range(3)
