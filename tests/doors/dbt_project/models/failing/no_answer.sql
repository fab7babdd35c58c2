{{ config(enabled=var('failing', false)) }}
select * from {{ sqlpriv.ask('select max(age) as oldest, diagnosis from ' ~ ref('open_stays')) }}
