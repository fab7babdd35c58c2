select distinct zip, left(zip, 3) || '**' as district, '*' as top from {{ ref('stays') }} where zip is not null
