"""The private table: where it is, how it is read, and what its columns, hierarchies and fingerprint are.

source         a file, a table of a database or a data frame, opened for reading only; the [table] of a policy
private_table  the private table of a policy as a view in which values are equal when a reader sees them as equal
files          files read as one table; imported: those that DuckDB does not read, such as sheets of Excel
duplicates     files with several columns of one name, refused
counted        rows that were counted before they came here
frequencies    its combinations of values with their counts, read once
named_tables   other tables that a policy names, and whether one of them is private
hierarchies    from the words of a policy to tables of labels
domains        every value that a row of a published column could have, with a number
profile        counts and shapes of every column
fingerprint    a digest of rows, whatever their order, and sketches by which the ledger recognises changed copies
digest         the digest of all rows
folded         digest and fingerprint of rows that never leave their engine
resemblance    which sketches of two tables are alike
cells          a sample of rows, cell by cell, by which the same people are known again in other columns
engines/       engines that keep the rows of a table
"""
