select patient, diagnosis from {{ ref('labels') }}
union all
select patient, 'well' as diagnosis from {{ ref('labels') }} where patient < 'p007'
