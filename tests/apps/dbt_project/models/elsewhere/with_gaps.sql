select * from {{ sqlpriv.generalize(ref('stays'), {'Sex': 1}, {'Sex': ref('hierarchy_sex')}) }}
