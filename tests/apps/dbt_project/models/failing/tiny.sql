select * from {{ ref('stays') }} where patient is null
