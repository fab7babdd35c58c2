"""The policy: what the owner declares, in one TOML file; every message about it names its line.

file             reads it; Policy and Column; the part of a policy that a release carries
keys             what each key may be, as data, and the keys that every method takes
require          the section [require]
output           where a release goes, and the tables that are written with it
line_numbers     where a key stands in the file
propose_policy   `sqlpriv init`: a policy for a table, to be reviewed
propose_roles    a role and a hierarchy for every column
propose_domains  a domain for every column that is published with noise
propose_levels   levels and columns left out of a proposal until it can be planned quickly
levels_beside    hierarchies in files and tables next to the data
words            what names and contents of columns say (words.toml)
table_profile    the facts about a table that a proposal needs, such as lists of values next to it
"""
