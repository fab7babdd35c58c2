-- hierarchy_ranges(tbl, attribute, widths, origin) -> value, level1, ..., top
-- A hierarchy of the numbers of a column: on level i every number stands in the range of width widths[i] that starts at
-- origin plus a whole number of widths; one more level is `*`. Each width is a whole multiple of the one before.
-- nulls: NULL gets a row of its own: NULL on every level, `*` at the top.
-- guarantee: levels nest, and every number is inside its range, also where doubles round. Whole numbers of at least 0 are
-- written 15-19, all others half-open: [-5, 0).
-- example: FROM priv.hierarchy_ranges('ages', 'age', [10, 20], 0)
-- expect: [('31', '30-39', '20-39', '*'), ('44', '40-49', '40-59', '*'), ('58', '50-59', '40-59', '*')]
CREATE MACRO hierarchy_ranges(tbl, attribute, widths, origin) AS TABLE
FROM query(_hierarchy_text(tbl, attribute,
  concat(_points(), ', __priv_labelled AS (SELECT value, cell, point', _low_ends(_widths(widths), _origin(origin)), ' FROM __priv_points)'),
  concat(' WHEN NOT bool_and(regexp_matches(typeof(cell), ''^(', _integers(), '|FLOAT|DOUBLE|DECIMAL[(][0-9]+,([0-9]|10)[)])$''))',
    ' THEN error(''sqlpriv: ranges need a column of numbers, with at most 10 decimals'')',
    ' WHEN count(cell) > count(point) THEN error(concat(''sqlpriv: '', count(cell) - count(point),',
    ' '' values are infinite, NaN or beyond 1e26: no range holds them''))'),
  _range_labels(_widths(widths), _origin(origin)), len(_widths(widths)) + 1));

-- hierarchy_mask(tbl, attribute, length) -> value, level1, ..., top
-- A hierarchy of codes such as postcodes: level i keeps all but the last i of `length` characters and writes stars for the others. 13053 becomes 1305*,
-- 130**, 13***, 1**** and `*`. Shorter values are filled up with stars.
-- nulls: NULL gets a row of its own: NULL on every level, `*` at the top.
-- guarantee: levels nest. A value longer than the length is an error.
-- example: FROM priv.hierarchy_mask('wards', 'ward', 5)
-- expect: [('men', 'men**', 'men**', 'me***', 'm****', '*'), ('women', 'wome*', 'wom**', 'wo***', 'w****', '*')]
CREATE MACRO hierarchy_mask(tbl, attribute, length) AS TABLE
FROM query(_hierarchy_text(tbl, attribute, ', __priv_labelled AS (SELECT value, cell FROM __priv_values)',
  concat(' WHEN count(*) FILTER (length(value) > ', _mask_length(length), ') > 0 THEN error(concat(''sqlpriv: '', count(*) FILTER (length(value) > ',
    _mask_length(length), '), '' values are longer than the mask of length ', _mask_length(length), '''))'),
  list_aggr(list_transform(range(1, _mask_length(length)), lambda step:
    concat(', rpad(left(m.value, ', _mask_length(length) - step, '), ', _mask_length(length), ', ''*'') AS level', step)), 'string_agg', ''),
  _mask_length(length)));

-- hierarchy_dates(tbl, attribute, units) -> value, level1, ..., top
-- A hierarchy of dates: one level for each of the units, a list out of day, month, quarter, year, decade in that order
-- (2024-03-17, 2024-03, 2024-Q1, 2024, 2020s), then `*`.
-- nulls: NULL gets a row of its own: NULL on every level, `*` at the top.
-- guarantee: levels nest. The column is a DATE or a TIMESTAMP without time zone; text is an error, also where it looks
-- like a date.
-- example: FROM priv.hierarchy_dates('admissions', 'admitted', ['month', 'year'])
-- expect: [('2024-03-17', '2024-03', '2024', '*'), ('2025-11-02', '2025-11', '2025', '*')]
CREATE MACRO hierarchy_dates(tbl, attribute, units) AS TABLE
FROM query(_hierarchy_text(tbl, attribute, ', __priv_labelled AS (SELECT value, cell, TRY_CAST(cell AS DATE) AS date FROM __priv_values)',
  ' WHEN NOT bool_and(typeof(cell) IN (''DATE'', ''TIMESTAMP'', ''TIMESTAMP_S'', ''TIMESTAMP_MS'', ''TIMESTAMP_NS''))'
    || ' THEN error(''sqlpriv: dates need a column of type DATE or TIMESTAMP; cast it in a view'')',
  list_aggr(list_transform(_units(units), lambda unit, level: concat(', CASE WHEN isfinite(m.date) THEN ', CASE unit
      WHEN 'day' THEN 'CAST(m.date AS VARCHAR)'
      WHEN 'month' THEN 'strftime(m.date, ''%Y-%m'')'
      WHEN 'quarter' THEN 'concat(strftime(m.date, ''%Y-Q''), quarter(m.date))'
      WHEN 'year' THEN 'strftime(m.date, ''%Y'')'
      ELSE 'printf(''%03d0s'', CAST(floor(year(m.date) / 10) AS INTEGER))'
    END, ' ELSE m.value END AS level', level)), 'string_agg', ''),
  len(_units(units)) + 1));

-- hierarchy_bins(tbl, attribute, bins) -> value, level1, ..., top
-- A hierarchy of any ordered column by equal frequency: level i cuts its rows into at most bins[i] bins of about as many
-- rows each; one more level is `*`. A value goes to bin floor(bins * rows before it / rows); equal values stay together.
-- nulls: NULL gets a row of its own, counted in no bin: NULL on every level, `*` at the top.
-- guarantee: levels nest: each number of bins divides the one before. Bins of numbers and dates end at points of a public grid, which stay
-- together (at most two significant digits, first days of months), and the outermost are open. No end is read off a row. Bins of other types
-- are named by their smallest and their largest value, and so tell that somebody has these. Which points are ends depends on the rows.
-- example: FROM priv.hierarchy_bins('salaries', 'salary', [3])
-- expect: [('3', 'less than 6', '*'), ('4', 'less than 6', '*'), ('5', 'less than 6', '*'), ('6', '6-8', '*'), ('7', '6-8', '*'), ('8', '6-8', '*'), ('9', '9 or more', '*'), ('10', '9 or more', '*'), ('11', '9 or more', '*')]
CREATE MACRO hierarchy_bins(tbl, attribute, bins) AS TABLE
WITH __priv_points AS MATERIALIZED (FROM _bin_points((FROM query(_values_text(tbl, attribute))))),
__priv_ranked AS (
  SELECT value, cell, form, point, sum(copies) OVER () AS total, coalesce(sum(copies) OVER (ORDER BY point, CASE WHEN point IS NULL THEN cell END
    RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW EXCLUDE GROUP), 0) AS before
  FROM __priv_points WHERE cell IS NOT NULL
),
__priv_placed AS (
  SELECT value, cell, form, point, place, _bins(bins)[place] * before // total AS bin
  FROM __priv_ranked, (SELECT unnest(range(1, len(_bins(bins)) + 1)) AS place)
),
__priv_named AS (SELECT value AS text, list(label ORDER BY place) AS labels FROM _bins_named(__priv_placed) GROUP BY value),
__priv_labelled AS (SELECT value, cell, form, point, labels FROM __priv_points LEFT JOIN __priv_named ON value = text)
FROM query(_labelled_text('WITH ',
  concat(' WHEN count(*) FILTER (form IS NOT NULL AND cell IS NOT NULL AND point IS NULL) > 0 THEN error(concat(''sqlpriv: '',',
    ' count(*) FILTER (form IS NOT NULL AND cell IS NOT NULL AND point IS NULL),',
    ' '' values are infinite, NaN or beyond 1e24, or have more digits than can be cut rightly: no bin holds them''))'),
  list_aggr(list_transform(range(1, len(_bins(bins)) + 1), lambda place: concat(', m.labels[', place, '] AS level', place)), 'string_agg', ''),
  len(_bins(bins)) + 1));

-- hierarchy_suppression(tbl, attribute) -> value, level1
-- The hierarchy of a column that can only be kept or suppressed: each value, and `*` above it.
-- nulls: NULL gets a row of its own.
-- guarantee: the one level hides the value altogether.
-- example: FROM priv.hierarchy_suppression('wards', 'ward')
-- expect: [('men', '*'), ('women', '*')]
CREATE MACRO hierarchy_suppression(tbl, attribute) AS TABLE
FROM query(_hierarchy_text(tbl, attribute, ', __priv_labelled AS (SELECT value, cell FROM __priv_values)', '', '', 1));

-- hierarchy_tree(edges, levels) -> value, level1, ..., top
-- A hierarchy from a table of children and parents, its first two columns: each child that is nobody's parent is a value,
-- level i is its i-th ancestor. The root is written `*`, and stands on all levels above a shorter path.
-- nulls: NULL is an error.
-- guarantee: levels nest. Two roots, a child with two parents, a cycle or a path of more than `levels` steps are errors.
-- example: FROM priv.hierarchy_tree('disease_tree', 2)
-- expect: [('Cancer', 'chronic', '*'), ('Flu', '*', '*'), ('Heart', 'chronic', '*')]
CREATE MACRO hierarchy_tree(edges, levels) AS TABLE
FROM query(concat('WITH RECURSIVE __priv_read AS (SELECT DISTINCT labels[1] AS child, labels[2] AS parent, len(labels) AS width FROM ', _labels_of(edges), '),',
  ' __priv_tops AS (SELECT DISTINCT parent AS root FROM __priv_read WHERE parent NOT IN (SELECT child FROM __priv_read WHERE child IS NOT NULL)),',
  ' __priv_form AS (SELECT CASE WHEN count(*) = 0 THEN error(''sqlpriv: the table has no rows: there is nothing to check'')',
  ' WHEN max(width) < 2 THEN error(''sqlpriv: the tree needs two columns: child and parent'')',
  ' WHEN count(child) < count(*) OR count(parent) < count(*) THEN error(''sqlpriv: the tree holds a NULL; every child needs a parent, the root has no row'')',
  ' WHEN count(DISTINCT child) < count(*) THEN error(concat(''sqlpriv: '', count(*) - count(DISTINCT child), '' children of the tree have more than one parent''))',
  ' WHEN (SELECT count(*) FROM __priv_tops) > 1 THEN error(concat(''sqlpriv: the tree has '', (SELECT count(*) FROM __priv_tops), '' roots; put one above them''))',
  ' WHEN (SELECT count(*) FROM __priv_tops) = 0 THEN error(''sqlpriv: the tree has a cycle'')',
  ' WHEN count(*) FILTER (parent = ''*'' AND parent NOT IN (SELECT root FROM __priv_tops)) > 0 THEN error(''sqlpriv: only the root of the tree may be called *'')',
  ' ELSE count(*) END AS children FROM __priv_read),',
  -- One parent a child: from the root every node is reached once, and what lies on a cycle never.
  ' __priv_paths AS (SELECT root AS node, CAST([] AS VARCHAR[]) AS path, ''*'' AS name FROM __priv_tops, __priv_form WHERE children > 0',
  ' UNION ALL SELECT child, list_prepend(name, path), child FROM __priv_paths JOIN __priv_read ON parent = node),',
  ' __priv_sound AS (SELECT CASE WHEN count(*) <= max(children) THEN error(''sqlpriv: the tree has a cycle'')',
  ' WHEN max(len(path)) > ', _height(levels), ' THEN error(concat(''sqlpriv: the tree needs '', max(len(path)), '' levels'')) ELSE true END AS ok',
  ' FROM __priv_form LEFT JOIN __priv_paths ON children > 0)',
  ' SELECT m.node AS value', _listed(_height(levels), ', coalesce(m.path[', '], ''*'') AS level'),
  ' FROM __priv_sound AS s LEFT JOIN (FROM __priv_paths WHERE node NOT IN (SELECT parent FROM __priv_read)) AS m ON s.ok ORDER BY m.node'));

-- The text of a query for a hierarchy. Its stages lead from __priv_values (value, cell, copies) to __priv_labelled; the
-- faults, WHEN ... THEN error(...), are looked for among all values before the first row is given, whatever is asked.
CREATE MACRO _hierarchy_text(tbl, attribute, stages, faults, labels, height) AS
_labelled_text(concat('WITH __priv_values AS (', _values_text(tbl, attribute), ')', stages, ', '), faults, labels, height);
CREATE MACRO _values_text(tbl, attribute) AS
concat('SELECT CAST(', _field(_column(attribute)), ' AS VARCHAR) AS value, first(', _field(attribute), ') AS cell, count(*) AS copies', _from(tbl), ' GROUP BY 1');
CREATE MACRO _labelled_text(stages, faults, labels, height) AS
concat(stages, '__priv_sound AS (SELECT CASE WHEN count(*) = 0 THEN error(''sqlpriv: the table has no rows: there is nothing to check'')', faults,
  ' ELSE true END AS ok FROM __priv_labelled)',
  ' SELECT m.value', labels, ', CASE WHEN s.ok THEN ''*'' END AS level', height,
  ' FROM __priv_sound AS s LEFT JOIN __priv_labelled AS m ON s.ok ORDER BY m.cell NULLS LAST, m.value');

-- The rows of a table as lists of texts, for what the place of a column decides, not its name.
CREATE MACRO _labels_of(tbl) AS
concat('(SELECT list_value(*COLUMNS(*)) AS labels FROM (SELECT CAST(COLUMNS(*) AS VARCHAR) FROM query_table(''', replace(_table(tbl), '''', ''''''), ''')))');

-- The text `before` 1 `after` 1 `before` 2 `after` 2 ...
CREATE MACRO _listed(number, before, after) AS
list_aggr(list_transform(range(1, number + 1), lambda place: concat(before, place, after, place)), 'string_agg', '');

CREATE MACRO _integers() AS 'U?(TINY|SMALL|BIG|HUGE)INT|U?INTEGER';

-- Each number as the largest multiple of 1e-10 that is not above it: all ends of ranges are such multiples, so it stands
-- in the same range, and decimals do not round. By its text, because that is the number people see in a double.
CREATE MACRO _points() AS
concat(', __priv_near AS (SELECT value, cell, CASE WHEN abs(TRY_CAST(value AS DECIMAL(38, 10))) < 1e26 THEN TRY_CAST(value AS DECIMAL(38, 10)) END AS near',
  ' FROM __priv_values), __priv_points AS (SELECT value, cell, CASE WHEN CAST(CAST(near AS VARCHAR) AS DOUBLE) > TRY_CAST(value AS DOUBLE)',
  ' THEN near - CAST(''0.0000000001'' AS DECIMAL(38, 10)) ELSE near END AS point FROM __priv_near)');

CREATE MACRO _low_ends(widths, origin) AS
list_aggr(list_transform(widths, lambda width, place:
  concat(', point - ((point - ', origin, ') % ', width, ' + ', width, ') % ', width, ' AS low', place)), 'string_agg', '');
CREATE MACRO _range_labels(widths, origin) AS
list_aggr(list_transform(widths, lambda width, place: concat(', CASE WHEN ', widths[1], ' % 1 = 0 AND ', origin, ' % 1 = 0 AND m.low', place,
  ' >= 0 AND regexp_matches(typeof(m.cell), ''^(', _integers(), ')$'') THEN concat(', _short('m.low', place, ''),
  ', CASE WHEN ', width, ' > 1 THEN concat(''-'', ', _short('m.low', place, concat(' + ', width, ' - 1')), ') END) WHEN m.low', place, ' IS NOT NULL THEN concat(''['', ',
  _short('m.low', place, ''), ', '', '', ', _short('m.low', place, concat(' + ', width)), ', '')'') END AS level', place)), 'string_agg', '');
CREATE MACRO _short(name, place, more) AS concat('rtrim(rtrim(CAST(CAST(', name, place, more, ' AS DECIMAL(38, 10)) AS VARCHAR), ''0''), ''.'')');

-- The widths as texts of decimals, checked. A double means the number that it is written as.
CREATE MACRO _widths(widths) AS
CASE
  WHEN NOT regexp_matches(typeof(widths), concat('^(', _integers(), '|FLOAT|DOUBLE|DECIMAL.*)[[]]$'))
    THEN error('sqlpriv: the widths must be a list of numbers, as in [5, 10]')
  WHEN coalesce(len(TRY_CAST(widths AS DOUBLE[])), 0) = 0 THEN error('sqlpriv: the widths must be a list of numbers, as in [5, 10]')
  WHEN list_bool_and(list_transform(_exact(widths), lambda width: coalesce(width > 0 AND width < 1e26, false))) IS DISTINCT FROM true
    OR TRY_CAST(CAST(_exact(widths) AS VARCHAR[]) AS DOUBLE[]) <> TRY_CAST(widths AS DOUBLE[])
    THEN error('sqlpriv: every width must be a number greater than 0, with at most 10 decimals')
  WHEN len(_odd_steps(_exact(widths))) > 0
    THEN error(concat('sqlpriv: level ', _odd_steps(_exact(widths))[1], ' does not nest: each width must be a whole multiple of the one before'))
  ELSE list_transform(_exact(widths), lambda width: concat('CAST(''', width, ''' AS DECIMAL(38, 10))'))
END;
CREATE MACRO _exact(numbers) AS TRY_CAST(TRY_CAST(numbers AS VARCHAR[]) AS DECIMAL(38, 10)[]);
CREATE MACRO _odd_steps(numbers) AS list_filter(range(2, len(numbers) + 1), lambda place: numbers[place] % numbers[place - 1] <> 0);

CREATE MACRO _origin(origin) AS
CASE
  WHEN abs(TRY_CAST(TRY_CAST(origin AS VARCHAR) AS DECIMAL(38, 10))) < 1e26
    AND TRY_CAST(CAST(TRY_CAST(TRY_CAST(origin AS VARCHAR) AS DECIMAL(38, 10)) AS VARCHAR) AS DOUBLE) = TRY_CAST(origin AS DOUBLE)
    THEN concat('CAST(''', TRY_CAST(TRY_CAST(origin AS VARCHAR) AS DECIMAL(38, 10)), ''' AS DECIMAL(38, 10))')
  ELSE error('sqlpriv: the origin must be a number, with at most 10 decimals')
END;

-- How many levels, how many characters: each is a column, so there is an end to it.
CREATE MACRO _height(levels) AS
CASE WHEN _whole(levels, 1, 'sqlpriv: the number of levels must be a whole number from 1 to 100') <= 100 THEN CAST(levels AS BIGINT)
  ELSE error('sqlpriv: the number of levels must be a whole number from 1 to 100') END;
CREATE MACRO _mask_length(length) AS
CASE WHEN _whole(length, 1, 'sqlpriv: the length of a mask must be a whole number from 1 to 100') <= 100 THEN CAST(length AS BIGINT)
  ELSE error('sqlpriv: the length of a mask must be a whole number from 1 to 100') END;

CREATE MACRO _units(units) AS
CASE
  WHEN typeof(units) <> 'VARCHAR[]' OR coalesce(len(TRY_CAST(units AS VARCHAR[])), 0) = 0
    OR list_filter(['day', 'month', 'quarter', 'year', 'decade'], lambda unit: list_contains(TRY_CAST(units AS VARCHAR[]), unit)) <> TRY_CAST(units AS VARCHAR[])
    THEN error('sqlpriv: the units must be a list out of day, month, quarter, year, decade, in this order')
  ELSE TRY_CAST(units AS VARCHAR[])
END;

-- The numbers of bins, checked.
CREATE MACRO _bins(bins) AS
CASE
  WHEN NOT regexp_matches(typeof(bins), concat('^(', _integers(), '|FLOAT|DOUBLE|DECIMAL.*)[[]]$'))
    OR list_bool_and(list_transform(TRY_CAST(bins AS DOUBLE[]), lambda number: coalesce(number BETWEEN 1 AND 1e9 AND number = floor(number), false)))
      IS DISTINCT FROM true
    THEN error('sqlpriv: the bins must be a list of whole numbers of at least 1, as in [8, 4, 2]')
  WHEN len(_odd_halves(TRY_CAST(bins AS BIGINT[]))) > 0
    THEN error(concat('sqlpriv: level ', _odd_halves(TRY_CAST(bins AS BIGINT[]))[1], ' does not nest: each number of bins must divide the one before'))
  ELSE TRY_CAST(bins AS BIGINT[])
END;
CREATE MACRO _odd_halves(numbers) AS list_filter(range(2, len(numbers) + 1), lambda place: numbers[place - 1] % numbers[place] <> 0);

-- What labels name: a label itself, its words and its numbers, those with a sign where it is written as an interval. 3-5 names 3 and 5,
-- [-5, 2] names -5 and 2.
CREATE MACRO _values_in_labels(labels) AS TABLE
SELECT label, unnest(list_distinct([label]
  || regexp_extract_all(label, '[^][(){}<>=,;|[:space:]]+')
  || regexp_extract_all(label, CASE WHEN regexp_matches(label, '^[[(]') THEN '-?[0-9]+(?:[.][0-9]+)?' ELSE '[0-9]+(?:[.][0-9]+)?' END))) AS value
FROM labels WHERE label IS NOT NULL;
