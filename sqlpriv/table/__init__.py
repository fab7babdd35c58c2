"""The private table: where it is, how it is read, and what its columns, hierarchies and fingerprint are.

source         a file, a table of a database or a data frame, opened for reading only; the [table] of a policy
private_table  the private table of a policy as a view in which values are equal when a reader sees them as equal
named_tables   other tables that a policy names, and whether one of them is private
view_reads     what a view of the private database reads, through other views
hierarchies    from the words of a policy to tables of labels
profile        counts and shapes of every column
digest         a digest of rows, whatever their order
fingerprint    by which the ledger recognises a table and its changed copies
"""
