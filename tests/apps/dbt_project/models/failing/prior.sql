select diagnosis as value, 2 as sigma from {{ ref('stays') }} group by all
