select distinct diagnosis as value, 1/6 as share from {{ ref('stays') }}
