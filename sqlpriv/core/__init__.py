"""What every room stands on: errors, facts, SQL text, and the one way to open DuckDB and to hand tables on.

errors     what is raised: one sentence that says what, where, and what to do
facts      what every command returns, for people and for machines
arguments  values that callers pass, checked
sqltext    names and values as SQL
engine     DuckDB opened, and queries run, in one way
folders    folders for what does not outlive a process
relation   tables handed from step to step, and the scopes that drop them
"""
