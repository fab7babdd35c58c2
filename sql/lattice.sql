-- Helpers of the lattice search (sqlpriv/lattice/): hierarchies checked, labels and values numbered.
-- They read tables that the search has made: paths (attribute, labels from the value to the top) and counts (attribute,
-- value, rows of the table with that value).

-- Each value's label on each level, with the one above; rows is NULL where the table does not have the value.
CREATE MACRO _lattice_steps(paths, counts) AS TABLE
SELECT attribute, value, rows, level, len(labels) - 1 AS height, labels[level + 1] AS label, labels[level + 2] AS parent
FROM (
  SELECT p.attribute, labels, labels[1] AS value, rows, unnest(range(0, len(labels))) AS level
  FROM paths AS p
  LEFT JOIN counts AS c ON p.attribute = c.attribute AND labels[1] IS NOT DISTINCT FROM c.value
);

-- Every label: leaves below it (named: those that are not NULL), rows of the table below it, how many of the leaves the
-- table has, whether two labels stand above it, and its number on its level. Labels that the table has come first, so
-- that their numbers have no holes.
CREATE MACRO _lattice_labels(steps) AS TABLE
SELECT *, row_number() OVER (PARTITION BY attribute, level ORDER BY seen = 0, label) - 1 AS number
FROM (
  SELECT attribute, level, height, label, count(*) AS leaves, count(value) AS named, coalesce(sum(rows), 0) AS rows,
    count(rows) AS seen, min(parent) <> max(parent) OR count(parent) BETWEEN 1 AND count(*) - 1 AS forks
  FROM steps
  GROUP BY attribute, level, height, label
);

-- Every level: the number of its labels that the table has, and what is wrong with it. Values listed twice with
-- different labels; values without a label (NULL needs none below the top); labels with two different labels above them,
-- so that the levels do not nest; and the labels of the top, where one label must stand for all values.
CREATE MACRO _lattice_levels(labels) AS TABLE
SELECT attribute, level, count(nullif(seen, 0)) AS seen,
  count(CASE WHEN level = 0 AND leaves > 1 THEN 1 END) AS twice,
  sum(CASE WHEN level = 0 OR label IS NOT NULL THEN 0 WHEN level = height THEN leaves ELSE named END) AS unlabelled,
  count(CASE WHEN level BETWEEN 1 AND height - 1 AND forks THEN 1 END) AS forked,
  count(CASE WHEN level = height THEN label END) AS tops
FROM labels
GROUP BY attribute, level;

-- Every value of the hierarchies with the numbers of its labels times the radix of its attribute, one list entry a level
-- (NULL where the table has no such label).
CREATE MACRO _lattice_leaves(steps, labels, radices) AS TABLE
SELECT s.attribute, s.value, any_value(s.rows) AS rows,
  list(CASE WHEN l.seen > 0 THEN l.number * radices[s.attribute + 1] END ORDER BY s.level) AS numbers
FROM steps AS s
JOIN labels AS l ON s.attribute = l.attribute AND s.level = l.level AND s.label IS NOT DISTINCT FROM l.label
GROUP BY s.attribute, s.value;

-- The leaves with the costs of their cells, one list entry a level: loss, entropy, and the logarithm of the number of
-- seen values that the label stands for.
CREATE MACRO _lattice_costs(steps, labels, leaves) AS TABLE
SELECT v.attribute, v.value, any_value(v.rows) AS rows, any_value(v.numbers) AS numbers,
  list(CASE WHEN domain > 1 THEN (l.leaves - 1) / (domain - 1) ELSE 0 END ORDER BY s.level) AS loss,
  list(log2(l.rows / v.rows) ORDER BY s.level) AS entropy,
  list(CASE WHEN l.seen > 0 THEN ln(l.seen) END ORDER BY s.level) AS volume
FROM leaves AS v
JOIN (SELECT attribute, count(*) AS domain FROM leaves GROUP BY attribute) AS d ON v.attribute = d.attribute
JOIN steps AS s ON v.attribute = s.attribute AND v.value IS NOT DISTINCT FROM s.value
JOIN labels AS l ON s.attribute = l.attribute AND s.level = l.level AND s.label IS NOT DISTINCT FROM l.label
GROUP BY v.attribute, v.value;

-- The values of a sensitive column in their order, with their share of all values held, the belief that the whole
-- table gives, and the number of values.
CREATE MACRO _lattice_values(totals, people) AS TABLE
SELECT value, row_number() OVER (ORDER BY value NULLS LAST) AS id, total, total / sum(total) OVER () AS share,
  total / people AS base, count(*) OVER () AS kinds
FROM totals;
