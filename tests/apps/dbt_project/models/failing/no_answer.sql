select * from {{ sqlpriv.ask('select max(diagnosis) as last from ' ~ ref('monthly_stays')) }}
