{{ config(enabled=var('failing', false)) }}
select * from {{ ref('stays') }} where patient is null
