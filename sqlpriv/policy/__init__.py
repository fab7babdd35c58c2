"""The policy: what the owner declares, in one TOML file; every message about it names its line.

file             reads it; Policy and Column
keys             what each key may be, as data
sections         the keys of the sections that every method takes
domains          the keys of a column's domain
require          the section [require]
compare_section  the section [compare], which only `sqlpriv compare` reads
line_numbers     where a key stands in the file
public_part      the part of a policy that a release carries
propose_policy   `sqlpriv init`: a policy for a table, to be reviewed
propose_roles    a role and a hierarchy for every column
propose_domains  a domain for every column that is published with noise
table_profile    the facts about a table that a proposal needs
value_lists      lists of values beside a table
"""
