-- suppress(tbl, qis, k [, person]) -> the columns of tbl
-- The rows of tbl that are in classes of at least k rows, or of at least k persons: all others are left out. A class has the rows that are equal in
-- the quasi-identifiers. Make a table of it (CREATE TABLE AS): a view would read the private table.
-- nulls: NULL is a value like any other. A person that is NULL is an error.
-- guarantee: what is left is k-anonymous in these columns. It says nothing of sensitive values, and that rows are left out reveals that the people
-- missing are in small classes. Whether a hierarchy was chosen by looking at the data matters to an attacker who knows that.
-- example: SELECT DISTINCT zip, age FROM priv.suppress('patients', ['zip'], 5) ORDER BY age
-- expect: [('130**', '30-40'), ('130**', '< 30')]
CREATE MACRO suppress(tbl, qis, k, person) AS TABLE
FROM query(_suppress_text(tbl, _columns(qis), _at_least_rows(k), _members(person))) ORDER BY ALL;

-- Classes go by what a reader sees, as in base.sql. The second half is there for its error.
CREATE MACRO _suppress_text(tbl, qis, k, members) AS
concat('SELECT * EXCLUDE (__priv_n) FROM (SELECT __priv_t.*, ', members, ' OVER (PARTITION BY ', _fields(qis), ', ', _marks(qis), ') AS __priv_n', _from(tbl),
  ') WHERE __priv_n >= ', k, ' UNION ALL SELECT CASE WHEN count(*) = 0 THEN error(''sqlpriv: the table has no rows: there is nothing to publish'') ELSE any_value(COLUMNS(*)) END', _from(tbl),
  ' HAVING CASE WHEN count(*) = 0 THEN error(''sqlpriv: the table has no rows: there is nothing to publish'') ELSE false END');
CREATE MACRO _members() AS 'count(*)';
CREATE MACRO _members(person) AS concat('count(DISTINCT ', _holder(person), ')');
