-- counted(tbl, copies)
-- A counted table in the place of a table's name: each of its rows stands for as many as its column `copies` says. Any macro takes it where it takes
-- the table that is checked, and answers as for the rows themselves; checks read each row once, so a table of any size costs what its combinations cost.
-- nulls: a count that is NULL, below 1 or no whole number is an error. The column of counts is no column of the rows.
-- guarantee: none by itself. A column of counts is a column like any other wherever the table is named without counted.
-- example: FROM priv.k_anonymity(priv.counted('patient_counts', 'number'), ['zip', 'age'])
-- expect: [(4,)]
CREATE MACRO counted(tbl, copies) AS
CASE WHEN typeof(copies) <> 'VARCHAR' OR contains(CAST(copies AS VARCHAR), chr(31)) THEN error('sqlpriv: the column of counts must be given by its name, as text')
  ELSE concat(_table(tbl), chr(31), _column(copies)) END;
