-- hierarchy_faults(tbl, attribute, hierarchy) -> fault, level, number
-- What is wrong with a hierarchy for a column, one row a fault: values it does not cover, values or labels with two
-- different labels above them, labels that are NULL, more than one top. number counts the values or labels concerned, a value
-- with two rows twice where both have no label.
-- nulls: NULL in the column needs no row in the hierarchy, and a row for NULL may hold NULL below the top.
-- guarantee: no row comes back exactly when the hierarchy covers the column and nests up to one top.
-- example: FROM priv.hierarchy_faults('wards', 'disease', 'diseases')
-- expect: [('values are not in the hierarchy', 0, 4)]
CREATE MACRO hierarchy_faults(tbl, attribute, hierarchy) AS TABLE
WITH __priv_values AS (
  SELECT 0 AS attribute, value, rows
  FROM query(concat('SELECT CAST(', _field(_column(attribute)), ' AS VARCHAR) AS value, count(*) AS rows', _from(tbl), ' GROUP BY 1'))
),
__priv_counts AS (FROM __priv_values WHERE value IS NOT NULL),
__priv_read AS (
  SELECT DISTINCT 0 AS attribute, list_value(*COLUMNS(*)) AS labels FROM (SELECT CAST(COLUMNS(*) AS VARCHAR) FROM query_table(_table(hierarchy)))
),
__priv_labels AS (FROM _hierarchy_labels(_hierarchy_steps(__priv_read, __priv_values))),
__priv_levels AS (FROM _hierarchy_levels(__priv_labels, __priv_counts)),
__priv_faults AS (
  SELECT place, level AS step, CASE place
      WHEN 1 THEN 'values are not in the hierarchy'
      WHEN 2 THEN 'values stand in the hierarchy twice, with different labels'
      WHEN 3 THEN 'labels have more than one label on the next level'
      WHEN 4 THEN 'values have no label'
      ELSE 'labels stand at the top, where there should be one' END AS fault,
    CASE place WHEN 1 THEN uncovered WHEN 2 THEN twice WHEN 3 THEN forked WHEN 4 THEN unlabelled ELSE tops END AS found
  FROM __priv_levels, (VALUES (1), (2), (3), (4), (5)) AS __priv_p(place)
  UNION ALL
  SELECT 6, 0, 'there is no level above the values', count(*) FROM __priv_read HAVING max(len(labels)) = 1
)
SELECT fault, CAST(step AS INTEGER) AS level, CAST(found AS BIGINT) AS number
FROM (
  SELECT place, fault, step, found FROM __priv_faults WHERE found > 0
  UNION ALL
  SELECT 0, _unless_empty(''), _unless_empty(0), _unless_empty(0) FROM __priv_values HAVING _unless_empty(false)
)
ORDER BY place, step;

-- What is wrong with hierarchies is found in their labels, which the lattice search has to list anyway. The relations: paths
-- (attribute, labels from the value to the top), no two alike, and counts (attribute, value, rows of the table with that value).
-- Columns called attribute are qualified: the public macro has a parameter of that name.

-- Each value's label on each level, with the one above; rows is NULL where the table does not have the value.
CREATE MACRO _hierarchy_steps(paths, counts) AS TABLE
SELECT t.attribute, value, rows, level, len(labels) - 1 AS height, labels[level + 1] AS label, labels[level + 2] AS parent
FROM (
  SELECT p.attribute, labels, labels[1] AS value, rows, unnest(range(0, len(labels))) AS level
  FROM paths AS p
  LEFT JOIN counts AS c ON p.attribute = c.attribute AND labels[1] IS NOT DISTINCT FROM c.value
) AS t;

-- Every label: leaves below it (named: those that are not NULL), rows of the table below it, how many of the leaves the
-- table has, and whether two labels stand above it, one of which may be NULL.
CREATE MACRO _hierarchy_labels(steps) AS TABLE
SELECT s.attribute, level, height, label, count(*) AS leaves, count(value) AS named, coalesce(sum(rows), 0) AS rows,
  count(rows) AS seen, min(parent) <> max(parent) OR count(parent) BETWEEN 1 AND count(*) - 1 AS forks
FROM steps AS s
GROUP BY s.attribute, level, height, label;

-- Every level: the number of its labels that the table has, and what is wrong with it. Values of the table that are not in the
-- hierarchy; values listed twice with different labels; values without a label (NULL needs none below the top); labels with two
-- different labels above them, so that the levels do not nest; and the labels of the top, if several stand where one must
-- stand for all values.
CREATE MACRO _hierarchy_levels(labels, counts) AS TABLE
SELECT coalesce(l.attribute, u.attribute) AS attribute, coalesce(level, 0) AS level, count(nullif(seen, 0)) AS seen,
  CASE WHEN coalesce(level, 0) = 0 THEN coalesce(any_value(uncovered), 0) ELSE 0 END AS uncovered,
  count(CASE WHEN level = 0 AND leaves > 1 THEN 1 END) AS twice,
  coalesce(sum(CASE WHEN level = 0 OR label IS NOT NULL THEN 0 WHEN level = height THEN leaves ELSE named END), 0) AS unlabelled,
  count(CASE WHEN level BETWEEN 1 AND height - 1 AND label IS NOT NULL AND forks THEN 1 END) AS forked,
  CASE WHEN count(CASE WHEN level = height AND level > 0 THEN label END) > 1 THEN count(CASE WHEN level = height THEN label END) ELSE 0 END AS tops
FROM labels AS l
FULL JOIN _uncovered(counts, (SELECT f.attribute, f.label AS value FROM labels AS f WHERE f.level = 0)) AS u ON l.attribute = u.attribute
GROUP BY 1, 2;

-- How many values of each attribute no hierarchy has; NULL is one of them.
CREATE MACRO _uncovered(listed, leaves) AS TABLE
SELECT v.attribute, count(*) AS uncovered
FROM listed AS v
WHERE NOT EXISTS (SELECT 1 FROM leaves AS w WHERE w.attribute = v.attribute AND w.value IS NOT DISTINCT FROM v.value)
GROUP BY v.attribute;
