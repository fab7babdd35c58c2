-- Helpers of the lattice search (sqlpriv/methods/generalized/generalize/): labels and values numbered, and what they cost. They read tables
-- that the search has made; hierarchy.sql says what steps and labels are, and what is wrong with them.

-- The labels of hierarchy.sql with their number on their level. Labels that the table has come first, so that their numbers
-- have no holes.
CREATE MACRO _lattice_labels(steps) AS TABLE
SELECT *, row_number() OVER (PARTITION BY attribute, level ORDER BY seen = 0, label) - 1 AS number FROM _hierarchy_labels(steps);

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
  list(CASE WHEN domain > 1 THEN _cell_loss(l.leaves, domain) ELSE 0 END ORDER BY s.level) AS loss,
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
