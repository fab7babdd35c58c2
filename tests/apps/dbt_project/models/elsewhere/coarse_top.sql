select * from {{ sqlpriv.generalize(ref('stays'), {'ZIP': 2}, {'ZIP': ref('hierarchy_zip')}) }}
