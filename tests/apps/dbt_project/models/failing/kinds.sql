select distinct diagnosis, 'any' as kind, '*' as top from {{ ref('stays') }}
