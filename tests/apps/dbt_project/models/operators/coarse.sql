{{ config(materialized='view') }}
select * from {{ sqlpriv.generalize(ref('stays'), {'zip': 1}, {'zip': ref('hierarchy_zip')}) }}
