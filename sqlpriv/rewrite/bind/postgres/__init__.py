"""PostgreSQL's SQL, for those who connect as to a PostgreSQL.

parser      a text as a tree
names       what columns without an alias are called
types       types of expressions, as far as their meaning hangs on them
texts       patterns, formats of dates and arrays, which are languages of their own inside texts
functions   functions that DuckDB has not, or not as such
rules       each expression as DuckDB has it, or refused
translate   a whole statement, from its tables to its expressions
"""
