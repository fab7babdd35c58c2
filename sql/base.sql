-- The shared floor of all checks: guards on names, the histogram of a table, comparisons, the order of the worst.
-- Everything here is a helper, inlined into the public macros. The one place where a table is read is a query()
-- whose text is built from the arguments: names are quoted as identifiers, columns qualified by __priv_t, so that
-- neither a column called n nor SQL inside a name can change its meaning, and an unknown column is an error.

-- A table name, refused where it could be captured by one of our own names, or where counts would be passed over.
CREATE MACRO _table(tbl) AS
CASE WHEN _is_counted(tbl) THEN error('sqlpriv: a counted table stands where rows are checked; give the name of a table here') ELSE _table_name(tbl) END;
CREATE MACRO _table_name(tbl) AS
CASE
  WHEN typeof(tbl) <> 'VARCHAR' THEN error('sqlpriv: the table must be given by its name, as text')
  WHEN contains(lower(split_part(CAST(tbl AS VARCHAR), chr(31), 1)), '__priv_') THEN error('sqlpriv: names that start with __priv_ are reserved')
  WHEN contains(CAST(tbl AS VARCHAR), '""') AND version() < 'v2'
    THEN error('sqlpriv: a table name with a double quote inside needs DuckDB 2.0; make a view with a plain name')
  WHEN current_schema() <> 'main' AND regexp_matches(CAST(tbl AS VARCHAR), '^"?main"?[.]([^.]*|"[^"]*")$', 'i')
    THEN error('sqlpriv: name the database too, as in db.main.t: query_table takes main for the current schema')
  ELSE split_part(CAST(tbl AS VARCHAR), chr(31), 1)
END;

-- A list of column names: not a string (DuckDB would take it for a regular expression), not empty, no name twice.
-- The names are handled as one text with a control character between them: lambdas would cost more than the check.
CREATE MACRO _columns(names) AS
CASE
  WHEN typeof(names) IN ('"NULL"[]', '"NULL"') THEN error('sqlpriv: no quasi-identifier is named')
  WHEN typeof(names) <> 'VARCHAR[]'
    THEN error('sqlpriv: the quasi-identifiers must be a list of column names, as in [''zip'', ''age'']')
  WHEN _joined(names) IS NULL THEN error('sqlpriv: no quasi-identifier is named')
  WHEN list_count(TRY_CAST(names AS VARCHAR[])) < len(TRY_CAST(names AS VARCHAR[]))
    THEN error('sqlpriv: the name of a quasi-identifier is NULL')
  WHEN contains(_joined(names), '__priv_') THEN error('sqlpriv: names that start with __priv_ are reserved')
  WHEN len(list_distinct(string_split(_joined(names), chr(31)))) <> len(TRY_CAST(names AS VARCHAR[]))
    THEN error('sqlpriv: a quasi-identifier is named twice, or a name holds a control character')
  ELSE TRY_CAST(names AS VARCHAR[])
END;
CREATE MACRO _joined(names) AS lower(list_aggr(TRY_CAST(names AS VARCHAR[]), 'string_agg', chr(31)));

-- One column name.
CREATE MACRO _column(name) AS
CASE
  WHEN typeof(name) <> 'VARCHAR' THEN error('sqlpriv: a column must be given by its name, as text')
  WHEN starts_with(lower(CAST(name AS VARCHAR)), '__priv_') THEN error('sqlpriv: names that start with __priv_ are reserved')
  ELSE CAST(name AS VARCHAR)
END;

-- The sensitive column, which may not be one of the quasi-identifiers: every class would hold a single value.
CREATE MACRO _sensitive(qis, sensitive) AS
CASE
  WHEN list_contains(string_split(_joined(qis), chr(31)), lower(CAST(sensitive AS VARCHAR)))
    THEN error('sqlpriv: the sensitive column is among the quasi-identifiers')
  WHEN contains(CAST(sensitive AS VARCHAR), chr(31)) THEN error('sqlpriv: the name of a column holds a control character')
  ELSE _column(sensitive)
END;

-- A whole number in a range.
CREATE MACRO _whole(number, least_one, complaint) AS
CASE
  WHEN TRY_CAST(number AS DOUBLE) BETWEEN least_one AND 9e18 AND TRY_CAST(number AS DOUBLE) = floor(TRY_CAST(number AS DOUBLE)) THEN CAST(number AS BIGINT)
  ELSE error(complaint)
END;

-- SQL text of a column of the table being read, of several, of the table itself.
-- concat and not ||: with || a NULL among the names would make the whole text NULL before its guard could speak.
CREATE MACRO _field(name) AS concat('__priv_t."', replace(CAST(name AS VARCHAR), '"', '""'), '"');
CREATE MACRO _fields(names) AS
concat('__priv_t."', replace(replace(list_aggr(TRY_CAST(names AS VARCHAR[]), 'string_agg', chr(31)), '"', '""'), chr(31), '", __priv_t."'), '"');
CREATE MACRO _from(tbl) AS
concat(' FROM ', CASE WHEN _is_counted(tbl) THEN concat('(SELECT __priv_c.* EXCLUDE (', _copies_column(tbl), ') FROM ') END, _opened(tbl),
  CASE WHEN _is_counted(tbl) THEN concat(' AS __priv_c, range(', _copies_of(tbl), '))') END, ' AS __priv_t');
CREATE MACRO _opened(tbl) AS concat('query_table(''', replace(_table_name(tbl), '''', ''''''), ''')');

-- A table whose rows say how often each is there (counted.sql): its name, a control character, the name of the column. _from
-- repeats the rows, so every macro is right with it. What counts rows by _rows_in reads them by _from_counted instead, each once.
CREATE MACRO _is_counted(tbl) AS coalesce(contains(CAST(tbl AS VARCHAR), chr(31)), false);
CREATE MACRO _copies_column(tbl) AS concat('"', replace(split_part(CAST(tbl AS VARCHAR), chr(31), 2), '"', '""'), '"');
CREATE MACRO _copies_of(tbl) AS
concat('CASE WHEN TRY_CAST(__priv_c.', _copies_column(tbl), ' AS DOUBLE) BETWEEN 1 AND 9e18 AND TRY_CAST(__priv_c.', _copies_column(tbl),
  ' AS BIGINT) = __priv_c.', _copies_column(tbl), ' THEN TRY_CAST(__priv_c.', _copies_column(tbl),
  ' AS BIGINT) ELSE error(''sqlpriv: the counts of a counted table must be whole numbers of at least 1'') END');
CREATE MACRO _from_counted(tbl) AS
concat(' FROM ', CASE WHEN _is_counted(tbl) THEN concat('(SELECT __priv_c.* EXCLUDE (', _copies_column(tbl), '), ', _copies_of(tbl), ' AS __priv_copies FROM ') END,
  _opened(tbl), CASE WHEN _is_counted(tbl) THEN ' AS __priv_c)' END, ' AS __priv_t');
CREATE MACRO _rows_in(tbl) AS CASE WHEN _is_counted(tbl) THEN 'CAST(sum(__priv_t.__priv_copies) AS BIGINT)' ELSE 'count(*)' END;

-- SQL text of the person of a row. A row without one could be anybody, so no count of persons would be right.
CREATE MACRO _holder(person) AS
('CASE WHEN ' || _field(_column(person)) || ' IS NULL THEN error(''sqlpriv: the person column holds NULL; give every row a person'') ELSE '
  || _field(_column(person)) || ' END');

-- Some values are equal to DuckDB and different to whoever reads them: the month and the 30 days of an INTERVAL, a zero or NaN
-- with a sign, numbers of a VARIANT, texts under a collation. Classes go by what a reader sees, so where a type can hold such
-- values the rows are grouped by their texts, too. SQL text of a condition that holds exactly there: it is about types alone, so
-- that DuckDB settles it while planning, and no other table pays for it. A collation shows in what it makes of constants.
CREATE MACRO _apart(names) AS
concat('(regexp_matches(typeof(ROW(', _fields(names), ')), ''INTERVAL|FLOAT|DOUBLE|VARIANT'') OR ', _collated(_fields(names)), ')');
CREATE MACRO _collated(fields) AS
concat('CASE WHEN false THEN CAST(', replace(fields, '", __priv_t."', '" AS VARCHAR) ELSE ''a'' END IN (''A'', ''ä'') OR CASE WHEN false THEN CAST(__priv_t."'),
  ' AS VARCHAR) ELSE ''a'' END IN (''A'', ''ä'')');

-- Other values read alike and differ to DuckDB: 1 and '1' of a UNION or a VARIANT. SQL text of the table with the first of them in
-- the place of each, in the columns named, and of a condition that holds where one of these columns, or of the classes, has such a type.
CREATE MACRO _read_alike(tbl, names) AS
concat(' FROM (SELECT * REPLACE (', list_aggr(list_transform(_once(TRY_CAST(names AS VARCHAR[])), lambda __priv_name: _first_alike(_field(__priv_name), tbl)), 'string_agg', ', '),
  ')', _from_counted(tbl), ') AS __priv_t');
-- Names without those that DuckDB takes for an earlier one: it folds the case of ASCII letters only.
CREATE MACRO _once(names) AS
list_filter(names, lambda __priv_name, __priv_i: list_position(list_transform(names, lambda __priv_other: _ascii_lower(__priv_other)), _ascii_lower(__priv_name)) = __priv_i);
CREATE MACRO _ascii_lower(name) AS translate(name, 'ABCDEFGHIJKLMNOPQRSTUVWXYZ', 'abcdefghijklmnopqrstuvwxyz');
CREATE MACRO _first_alike(field, tbl) AS
concat('CASE WHEN ', _has_members(field), ' THEN list_filter((SELECT list(DISTINCT ', field, ' ORDER BY ', field, ')', _from_counted(tbl), ' WHERE ', _has_members(field),
  '), lambda __priv_v: CAST(__priv_v AS VARCHAR) = CAST(', field, ' AS VARCHAR))[1] ELSE ', field, ' END AS ', substr(field, 10));
CREATE MACRO _has_members(fields) AS concat('regexp_matches(typeof(ROW(', fields, ')), ''UNION|VARIANT'')');
CREATE MACRO _by_text(qis, names) AS concat('(', _apart(qis), ' OR ', _has_members(_fields(names)), ')');

-- SQL text of a list with one mark for each column: what a reader sees beyond what DuckDB compares, NULL where that is nothing.
CREATE MACRO _marks(names) AS
concat('[', list_aggr(list_transform(TRY_CAST(names AS VARCHAR[]), lambda __priv_name: _mark(_field(__priv_name))), 'string_agg', ', '), ']');
CREATE MACRO _mark(field) AS
concat('CASE WHEN typeof(', field, ') IN (''FLOAT'', ''DOUBLE'') THEN CASE WHEN (TRY_CAST(', field, ' AS DOUBLE) = 0 OR isnan(TRY_CAST(', field,
  ' AS DOUBLE))) AND signbit(TRY_CAST(', field, ' AS DOUBLE)) THEN encode(''-'') END WHEN regexp_matches(typeof(', field,
  '), ''INTERVAL|FLOAT|DOUBLE|VARIANT'') OR ', _collated(field), ' THEN encode(CAST(', field, ' AS VARCHAR)) END');

-- SQL text of a class: its values, and their marks. Only the values leave a macro.
CREATE MACRO _class(names, marks) AS
concat('struct_pack(__priv_class := struct_pack(', _fields(names), '), __priv_marks := ', marks, ')');
CREATE MACRO _unmarked() AS 'CAST(NULL AS BLOB[])';

-- SQL text of the rows of a table, aggregated by names and by what a reader sees of the quasi-identifiers among them; the mark of
-- a row is __priv_marks. The aggregate is called __priv_n. The names are checked once, where they first stand: the text of the
-- check is long, and DuckDB reads every copy of it.
CREATE MACRO _grouped(tbl, qis, names, counted, columns) AS
concat('SELECT ', _class(_columns(qis), _unmarked()), ' AS class, ', columns, ' FROM (SELECT ', _fields(names), ', ', counted, ' AS __priv_n', _from_counted(tbl),
  ' WHERE NOT ', _by_text(qis, names), ' GROUP BY ALL) AS __priv_t UNION ALL SELECT ', _class(qis, '__priv_t.__priv_marks'), ' AS class, ', columns,
  ' FROM (SELECT ', _fields(names), ', ', _marks(qis), ' AS __priv_marks, ', counted, ' AS __priv_n', _read_alike(tbl, names), ' WHERE ', _by_text(qis, names), ' GROUP BY ALL) AS __priv_t');

-- The classes of a table with their sizes, in rows or in persons. Packed after the aggregation, because a struct made
-- beside a GROUP BY spells its fields as the caller does and not as the table does.
CREATE MACRO _sizes(tbl, qis) AS TABLE FROM query(_sizes_text(tbl, qis, _rows_in(tbl)));
CREATE MACRO _sizes(tbl, qis, person) AS TABLE FROM query(_sizes_text(tbl, qis, 'count(DISTINCT ' || _holder(person) || ')'));
CREATE MACRO _sizes_text(tbl, qis, counted) AS _grouped(tbl, qis, qis, counted, '__priv_t.__priv_n AS size');

-- The histogram: class, value, n = n(q,s), size = n(q), pairs = sum of n over the class, members that add up to
-- size, and r, the most concentrated count that fits (docs/definitions.md). In rows all of these are plain counts.
CREATE MACRO _histogram(tbl, qis, sensitive) AS TABLE
SELECT class, value, n, n AS members, n AS r,
  sum(n) OVER (PARTITION BY class) AS size, sum(n) OVER (PARTITION BY class) AS pairs
FROM query(_grouped(tbl, qis, list_append(TRY_CAST(qis AS VARCHAR[]), _sensitive(qis, sensitive)), _rows_in(tbl),
  concat(_field(sensitive), ' AS value, __priv_t.__priv_n AS n')));
CREATE MACRO _histogram(tbl, qis, sensitive, person) AS TABLE
FROM _concentrated(_tallied(_held_by_persons(tbl, qis, sensitive, person)));

-- Which person of which class has which value.
CREATE MACRO _held_by_persons(tbl, qis, sensitive, person) AS TABLE
FROM query(concat('SELECT DISTINCT ', _class(_columns(qis), _unmarked()), ' AS class, ', _held(qis, sensitive, person), _from_counted(tbl), ' WHERE NOT ', _by_text(qis, _and_sensitive(qis, sensitive)),
  ' UNION ALL SELECT DISTINCT ', _class(qis, _marks(qis)), ' AS class, ', _held(qis, sensitive, person),
  _read_alike(tbl, _and_sensitive(qis, sensitive)), ' WHERE ', _by_text(qis, _and_sensitive(qis, sensitive))));
CREATE MACRO _and_sensitive(qis, sensitive) AS list_append(TRY_CAST(qis AS VARCHAR[]), _sensitive(qis, sensitive));
CREATE MACRO _held(qis, sensitive, person) AS concat(_field(_sensitive(qis, sensitive)), ' AS value, ', _holder(person), ' AS holder');

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

-- The value of a summary, unless there was nothing to summarise. Summaries of several columns say HAVING
-- _unless_empty(true), since a guard on one column is gone when a query asks for another. Lists of classes guard both
-- the row that an empty table gives and each of its columns: DuckDB would drop a row of NULLs that a condition rules out.
CREATE MACRO _unless_empty(summary) AS
CASE WHEN count(*) = 0 THEN error('sqlpriv: the table has no rows: there is nothing to check') ELSE summary END;

-- Comparisons with the tolerance of docs/definitions.md: the one small number, what it is beside a threshold, and the threshold
-- moved by it. Policies ask for _limit: below a >= or at a < too little is missing to count, beyond a <= or > too much.
CREATE MACRO _below(number, threshold) AS (number < _lower_limit(threshold));
CREATE MACRO _above(number, threshold) AS (number > _upper_limit(threshold));
CREATE MACRO _limit(threshold, operator) AS CASE WHEN operator IN ('>=', '<') THEN _lower_limit(threshold) ELSE _upper_limit(threshold) END;
CREATE MACRO _lower_limit(threshold) AS (_bar(threshold) - _tolerance(threshold));
CREATE MACRO _upper_limit(threshold) AS (_bar(threshold) + _tolerance(threshold));
CREATE MACRO _tolerance(threshold) AS (_hair() * least(greatest(abs(TRY_CAST(threshold AS DOUBLE)), 1), 1e300));
CREATE MACRO _hair() AS 1e-12;

-- A threshold, which has to be a number: compared with NULL no class would fail, and with NaN, which is above infinity
-- to DuckDB, none would be above.
CREATE MACRO _bar(threshold) AS
CASE WHEN TRY_CAST(threshold AS DOUBLE) <= CAST('Infinity' AS DOUBLE) THEN TRY_CAST(threshold AS DOUBLE) ELSE error('sqlpriv: the threshold must be a number') END;

-- The classes that fail, smallest value first. A table without rows is an error here too: an empty answer means "all pass".
CREATE MACRO _smallest_first(classes, fails) AS TABLE
SELECT struct_extract(marked, '__priv_class') AS class, size, value
FROM (
  SELECT class AS marked, size, value FROM classes WHERE fails
  UNION ALL
  SELECT _unless_empty(any_value(class)), _unless_empty(max(size)), _unless_empty(max(value)) FROM classes HAVING _unless_empty(false)
)
ORDER BY value, size, marked;

-- The classes that fail, largest value first.
CREATE MACRO _largest_first(classes, fails) AS TABLE
SELECT struct_extract(marked, '__priv_class') AS class, size, value
FROM (
  SELECT class AS marked, size, value FROM classes WHERE fails
  UNION ALL
  SELECT _unless_empty(any_value(class)), _unless_empty(max(size)), _unless_empty(max(value)) FROM classes HAVING _unless_empty(false)
)
ORDER BY value DESC, size, marked;
