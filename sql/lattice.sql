-- Helpers of the lattice search (sqlpriv/lattice/): hierarchies checked, labels and values numbered.
-- They read tables that the search has made: paths (attribute, labels from the value to the top), steps (the same, one
-- row a level), counts (attribute, value, rows of the table with that value).

-- What is wrong with hierarchies: fault, attribute, level, how many. NULL needs no labels below the top.
CREATE MACRO _lattice_faults(paths, steps, counts) AS TABLE
SELECT 'value(s) of the table are not in it' AS fault, c.attribute, 0 AS level, count(*) AS number
FROM counts AS c
WHERE NOT EXISTS (FROM paths AS p WHERE p.attribute = c.attribute AND p.labels[1] IS NOT DISTINCT FROM c.value)
GROUP BY c.attribute
UNION ALL
SELECT 'value(s) are listed twice with different labels', attribute, 0, count(*)
FROM (SELECT attribute, labels[1] FROM paths GROUP BY ALL HAVING count(*) > 1)
GROUP BY attribute
UNION ALL
SELECT 'value(s) have no label on it', attribute, level, count(*)
FROM steps
WHERE level > 0 AND label IS NULL AND (value IS NOT NULL OR level = height)
GROUP BY attribute, level
UNION ALL
SELECT 'label(s) have two different labels above them, so the levels do not nest', attribute, level, count(*)
FROM (
  SELECT attribute, level, label FROM steps WHERE level BETWEEN 1 AND height - 1
  GROUP BY ALL HAVING count(DISTINCT parent) + max(CASE WHEN parent IS NULL THEN 1 ELSE 0 END) > 1
)
GROUP BY attribute, level
UNION ALL
SELECT 'labels stand on it, the top, where one label must stand for all values', attribute, max(height), count(DISTINCT label)
FROM steps
WHERE level = height
GROUP BY attribute HAVING count(DISTINCT label) > 1;

-- Each value's label on each level, with the one above and the number of values in the hierarchy.
CREATE MACRO _lattice_steps(paths) AS TABLE
SELECT attribute, labels[1] AS value, level, len(labels) - 1 AS height, labels[level + 1] AS label, labels[level + 2] AS parent, leaves
FROM (
  SELECT attribute, labels, leaves, unnest(range(0, len(labels))) AS level
  FROM (SELECT attribute, labels, count(*) OVER (PARTITION BY attribute) AS leaves FROM paths)
);

-- Every label: leaves below it, rows of the table below it, how many of the leaves the table has, and its number on its
-- level. Labels that the table has come first, so that their numbers have no holes.
CREATE MACRO _lattice_labels(steps, counts) AS TABLE
SELECT attribute, level, label, leaves, rows, seen,
  row_number() OVER (PARTITION BY attribute, level ORDER BY seen = 0, label) - 1 AS number
FROM (
  SELECT s.attribute, s.level, s.label, count(*) AS leaves, coalesce(sum(c.rows), 0) AS rows, count(c.rows) AS seen
  FROM steps AS s
  LEFT JOIN counts AS c ON s.attribute = c.attribute AND s.value IS NOT DISTINCT FROM c.value
  GROUP BY s.attribute, s.level, s.label
);

-- Every value of the hierarchies with one list entry a level: the numbers of its labels times the radix of its
-- attribute (NULL where the table has no such label), and the costs of its cells: loss, entropy, and the logarithm of
-- the number of seen values that the label stands for.
CREATE MACRO _lattice_leaves(steps, counts, labels, radices) AS TABLE
SELECT s.attribute, s.value, any_value(c.rows) AS rows,
  list(CASE WHEN l.seen > 0 THEN l.number * radix END ORDER BY s.level) AS numbers,
  list(CASE WHEN s.leaves > 1 THEN (l.leaves - 1) / (s.leaves - 1) ELSE 0 END ORDER BY s.level) AS loss,
  list(log2(l.rows / c.rows) ORDER BY s.level) AS entropy,
  list(CASE WHEN l.seen > 0 THEN ln(l.seen) END ORDER BY s.level) AS volume
FROM steps AS s
JOIN labels AS l ON s.attribute = l.attribute AND s.level = l.level AND s.label IS NOT DISTINCT FROM l.label
JOIN radices AS r ON s.attribute = r.attribute
LEFT JOIN counts AS c ON s.attribute = c.attribute AND s.value IS NOT DISTINCT FROM c.value
GROUP BY s.attribute, s.value;

-- The values of a sensitive column in their order, with their share of all values held, the belief that the whole
-- table gives, and the number of values.
CREATE MACRO _lattice_values(totals, people) AS TABLE
SELECT value, row_number() OVER (ORDER BY value NULLS LAST) AS id, total, total / sum(total) OVER () AS share,
  total / people AS base, count(*) OVER () AS kinds
FROM totals;
