-- depends_on: {{ ref('monthly_stays') }}
select *
from {{ sqlpriv.ask("select chapter, count(*) as n from monthly_stays join chapters using (diagnosis) group by chapter", confidence=0.9) }}
