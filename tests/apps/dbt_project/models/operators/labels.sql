select patient, 'ill' as diagnosis from {{ ref('stays') }} where patient < 'p050'
