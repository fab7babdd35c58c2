{{ config(materialized='view') }}
select sex, n, n_low, n_high
from {{ sqlpriv.ask("select sex, count(*) as n from " ~ ref('open_stays') ~ " group by sex") }}
