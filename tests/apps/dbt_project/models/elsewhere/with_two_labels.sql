select * from {{ sqlpriv.gen(ref('stays'), 'patient', 'diagnosis', ref('labels_twice')) }}
