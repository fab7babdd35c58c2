{{ config(materialized='view') }}
select * from {{ sqlpriv.ask("select count(*) as n from " ~ ref('grouped_stays') ~ " where age < 40 and diagnosis = 'angina'") }}
