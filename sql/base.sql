-- The shared floor of all checks: guards on names, the histogram of a table, comparisons, the order of the worst.
-- Everything here is a helper, inlined into the public macros. The one place where a table is read is a query()
-- whose text is built from the arguments: names are quoted as identifiers, columns qualified by __priv_t, so that
-- neither a column called n nor SQL inside a name can change its meaning, and an unknown column is an error.

-- A table name, refused where it could be captured by one of our own names.
CREATE MACRO _table(tbl) AS
CASE
  WHEN typeof(tbl) <> 'VARCHAR' THEN error('sqlpriv: the table must be given by its name, as text')
  WHEN contains(lower(CAST(tbl AS VARCHAR)), '__priv_') THEN error('sqlpriv: names that start with __priv_ are reserved')
  WHEN contains(CAST(tbl AS VARCHAR), '""') AND version() < 'v2'
    THEN error('sqlpriv: a table name with a double quote inside needs DuckDB 2.0; make a view with a plain name')
  ELSE CAST(tbl AS VARCHAR)
END;

-- A list of column names: not a string (DuckDB would take it for a regular expression), not empty, no name twice.
-- One lambda binds the list, so that the checks do not repeat it.
CREATE MACRO _columns(names) AS
CASE
  WHEN typeof(names) = '"NULL"[]' OR typeof(names) = '"NULL"' THEN error('sqlpriv: no quasi-identifier is named')
  WHEN typeof(names) <> 'VARCHAR[]'
    THEN error('sqlpriv: the quasi-identifiers must be a list of column names, as in [''zip'', ''age'']')
  ELSE list_transform([TRY_CAST(names AS VARCHAR[])], lambda __priv_l: CASE
    WHEN len(__priv_l) = 0 THEN error('sqlpriv: no quasi-identifier is named')
    WHEN list_count(__priv_l) < len(__priv_l) THEN error('sqlpriv: the name of a quasi-identifier is NULL')
    WHEN contains(lower(array_to_string(__priv_l, ' ')), '__priv_')
      THEN error('sqlpriv: names that start with __priv_ are reserved')
    WHEN len(list_distinct(list_transform(__priv_l, lambda __priv_c: lower(__priv_c)))) < len(__priv_l)
      THEN error('sqlpriv: a quasi-identifier is named twice')
    ELSE __priv_l END)[1]
END;

-- One column name.
CREATE MACRO _column(name) AS
CASE
  WHEN typeof(name) <> 'VARCHAR' THEN error('sqlpriv: a column must be given by its name, as text')
  WHEN starts_with(lower(CAST(name AS VARCHAR)), '__priv_') THEN error('sqlpriv: names that start with __priv_ are reserved')
  ELSE CAST(name AS VARCHAR)
END;

-- The sensitive column, which may not be one of the quasi-identifiers: every class would hold a single value.
CREATE MACRO _sensitive(names, sensitive) AS
CASE
  WHEN typeof(sensitive) <> 'VARCHAR' THEN error('sqlpriv: the sensitive column must be given by its name, as text')
  WHEN list_contains(list_transform(names, lambda __priv_c: lower(__priv_c)), lower(CAST(sensitive AS VARCHAR)))
    THEN error('sqlpriv: the sensitive column is among the quasi-identifiers')
  WHEN starts_with(lower(CAST(sensitive AS VARCHAR)), '__priv_') THEN error('sqlpriv: names that start with __priv_ are reserved')
  ELSE CAST(sensitive AS VARCHAR)
END;

-- A whole number in a range.
CREATE MACRO _whole(number, least_one, complaint) AS
CASE
  WHEN number IS NULL OR number <> floor(number) OR number < least_one THEN error(complaint)
  ELSE CAST(number AS BIGINT)
END;

-- SQL text of a name, of a string, of a column of the table being read, of the table itself.
CREATE MACRO _identifier(name) AS ('"' || replace(name, '"', '""') || '"');
CREATE MACRO _literal(string) AS ('''' || replace(string, '''', '''''') || '''');
CREATE MACRO _field(name) AS ('__priv_t.' || _identifier(name));
CREATE MACRO _fields(names) AS
array_to_string(list_transform(names, lambda __priv_c: _field(__priv_c)), ', ');
CREATE MACRO _from(tbl) AS (' FROM query_table(' || _literal(_table(tbl)) || ') AS __priv_t');

-- SQL text of the class: the quasi-identifiers packed into one struct, so that no name of ours meets one of theirs.
CREATE MACRO _class(names) AS
('{' || array_to_string(list_transform(names,
  lambda __priv_c: _literal(__priv_c) || ': ' || _field(__priv_c)), ', ') || '}');

-- SQL text that counts the persons of a group: all rows without a person count as one.
CREATE MACRO _persons(person) AS
('count(DISTINCT ' || _field(_column(person)) || ') + max(CASE WHEN ' || _field(_column(person)) || ' IS NULL THEN 1 ELSE 0 END)');

-- The classes of a table with their sizes, in rows or in persons.
CREATE MACRO _sizes(tbl, qis) AS TABLE FROM query(_sizes_text(tbl, qis, 'count(*)'));
CREATE MACRO _sizes(tbl, qis, person) AS TABLE FROM query(_sizes_text(tbl, qis, _persons(person)));
CREATE MACRO _sizes_text(tbl, qis, counted) AS
list_transform([_columns(qis)], lambda __priv_q: 'SELECT ' || _class(__priv_q) || ' AS class, ' || counted || ' AS size'
  || _from(tbl) || ' GROUP BY ' || _fields(__priv_q))[1];

-- The histogram: class, value, n = n(q,s), size = n(q), pairs = sum of n over the class, members that add up to
-- size, and r, the most concentrated count that fits (docs/definitions.md). In rows all of these are plain counts.
CREATE MACRO _histogram(tbl, qis, sensitive) AS TABLE
SELECT class, value, n, n AS members, n AS r,
  sum(n) OVER (PARTITION BY class) AS size, sum(n) OVER (PARTITION BY class) AS pairs
FROM query(list_transform([_columns(qis)], lambda __priv_q: list_transform([_field(_sensitive(__priv_q, sensitive))], lambda __priv_s:
  'SELECT ' || _class(__priv_q) || ' AS class, ' || __priv_s || ' AS value, count(*) AS n'
  || _from(tbl) || ' GROUP BY ' || _fields(__priv_q) || ', ' || __priv_s)[1])[1]);
CREATE MACRO _histogram(tbl, qis, sensitive, person) AS TABLE
FROM _concentrated(_tallied(_held_by_persons(tbl, qis, sensitive, person)));

-- Which person of which class has which value.
CREATE MACRO _held_by_persons(tbl, qis, sensitive, person) AS TABLE
FROM query(list_transform([_columns(qis)], lambda __priv_q: 'SELECT DISTINCT ' || _class(__priv_q) || ' AS class, '
  || _field(_sensitive(__priv_q, sensitive)) || ' AS value, ' || _field(_column(person)) || ' AS holder' || _from(tbl))[1]);

-- Persons counted by class and value. Each person is a member of the class once, at the first of his values.
CREATE MACRO _tallied(holdings) AS TABLE
SELECT class, value, count(*) AS n, sum(first_of_holder) AS members
FROM (
  SELECT class, value,
    CASE WHEN row_number() OVER (PARTITION BY class, holder ORDER BY value) = 1 THEN 1 ELSE 0 END AS first_of_holder
  FROM holdings
)
GROUP BY class, value;

-- Adds size, pairs and r to counts of persons: the counts in descending order, cut where they reach the size.
CREATE MACRO _concentrated(tallied) AS TABLE
SELECT class, value, n, members, size, pairs,
  CASE WHEN reached >= size THEN 0 WHEN reached + n > size THEN size - reached ELSE n END AS r
FROM (
  SELECT class, value, n, members,
    sum(members) OVER (PARTITION BY class) AS size, sum(n) OVER (PARTITION BY class) AS pairs,
    sum(n) OVER (PARTITION BY class ORDER BY n DESC, value ROWS UNBOUNDED PRECEDING) - n AS reached
  FROM tallied
);

-- The value of a summary, unless there was nothing to summarise.
CREATE MACRO _unless_empty(summary) AS
CASE WHEN count(*) = 0 THEN error('sqlpriv: the table has no rows: there is nothing to check') ELSE summary END;

-- Comparisons with the tolerance of docs/definitions.md.
CREATE MACRO _below(number, threshold) AS (number < threshold - 1e-12 * abs(threshold));
CREATE MACRO _above(number, threshold) AS (number > threshold + 1e-12 * abs(threshold));

-- The classes that fail, smallest value first. A table without rows is an error here too: an empty answer means "all pass".
CREATE MACRO _smallest_first(classes, fails) AS TABLE
SELECT class, size, value
FROM (
  SELECT class, size, value FROM classes WHERE fails
  UNION ALL
  SELECT NULL, _unless_empty(NULL), NULL FROM classes HAVING count(*) = 0
)
ORDER BY value, size, class;

-- The classes that fail, largest value first.
CREATE MACRO _largest_first(classes, fails) AS TABLE
SELECT class, size, value
FROM (
  SELECT class, size, value FROM classes WHERE fails
  UNION ALL
  SELECT NULL, _unless_empty(NULL), NULL FROM classes HAVING count(*) = 0
)
ORDER BY value DESC, size, class;
