-- t_closeness(tbl, qis, sensitive [, person]) -> t
-- The largest distance between the distribution of the sensitive value in a class and in the whole table, with the
-- same distance between any two values: half the L1 distance (Li et al. 2007).
-- nulls: NULL is a value of its own.
-- guarantee: no class tells much more about its people than the table as a whole. An average: a class may be
-- homogeneous and still close, see reference in docs/checks.md and epsilon_class3 for the pointwise form.
-- example: FROM priv.t_closeness('patients', ['zip', 'age'], 'disease')
-- expect: [(0.583333,)]
CREATE MACRO t_closeness(tbl, qis, sensitive, person) AS TABLE
SELECT _unless_empty(max(value)) AS t FROM _t_equal_by_class(tbl, qis, sensitive, person);

-- t_closeness_classes(tbl, qis, sensitive [, person], threshold) -> class, size, value
-- The classes farther than the threshold from the table, farthest first.
-- nulls: as in t_closeness.
-- guarantee: no row comes back exactly when t is at most the threshold.
-- example: FROM priv.t_closeness_classes('patients', ['zip', 'age'], 'disease', 0.5)
-- expect: [({'zip': '130**', 'age': '30-40'}, 4, 0.583333)]
CREATE MACRO t_closeness_classes(tbl, qis, sensitive, person, threshold) AS TABLE
WITH __priv_classes AS (FROM _t_equal_by_class(tbl, qis, sensitive, person))
FROM _largest_first(__priv_classes, _above(value, threshold));

-- t_closeness_ordered(tbl, qis, sensitive [, person]) -> t
-- The same with the values in their order: moving a share from one value to the next costs 1 / (m - 1), m the number
-- of values in the whole table. For salaries, ages, stages of a disease.
-- nulls: NULL comes last in the order.
-- guarantee: as t_closeness, and it sees that a class of low salaries differs from one of mixed salaries.
-- example: FROM priv.t_closeness_ordered('salaries', ['team'], 'salary')
-- expect: [(0.375,)]
CREATE MACRO t_closeness_ordered(tbl, qis, sensitive, person) AS TABLE
SELECT _unless_empty(max(value)) AS t FROM _t_ordered_by_class(tbl, qis, sensitive, person);

-- t_closeness_ordered_classes(tbl, qis, sensitive [, person], threshold) -> class, size, value
-- The classes farther than the threshold from the table, farthest first.
-- nulls: as in t_closeness_ordered.
-- guarantee: no row comes back exactly when t is at most the threshold.
-- example: FROM priv.t_closeness_ordered_classes('salaries', ['team'], 'salary', 0.3)
-- expect: [({'team': 'a'}, 3, 0.375)]
CREATE MACRO t_closeness_ordered_classes(tbl, qis, sensitive, person, threshold) AS TABLE
WITH __priv_classes AS (FROM _t_ordered_by_class(tbl, qis, sensitive, person))
FROM _largest_first(__priv_classes, _above(value, threshold));

-- t_closeness_hierarchical(tbl, qis, sensitive, hierarchy [, person]) -> t
-- The same with a taxonomy of the values: moving a share costs the height of the lowest common ancestor over the
-- height of the tree. The hierarchy is a table, one row a value: the value, then its label on each level, the last
-- column one label for all. Sums (height/H) min(surplus, deficit) over the inner nodes.
-- nulls: NULL is a value of its own and needs its row in the hierarchy.
-- guarantee: as t_closeness, and a class of all stomach diseases is seen to be alike. A value that the hierarchy
-- misses, a label with two parents or two top labels are errors.
-- example: FROM priv.t_closeness_hierarchical('patients', ['zip', 'age'], 'disease', 'diseases')
-- expect: [(0.458333,)]
CREATE MACRO t_closeness_hierarchical(tbl, qis, sensitive, hierarchy, person) AS TABLE
SELECT _unless_empty(max(value)) AS t FROM _t_hierarchical_by_class(tbl, qis, sensitive, hierarchy, person);

-- t_closeness_hierarchical_classes(tbl, qis, sensitive, hierarchy [, person], threshold) -> class, size, value
-- The classes farther than the threshold from the table, farthest first.
-- nulls: as in t_closeness_hierarchical.
-- guarantee: no row comes back exactly when t is at most the threshold.
-- example: FROM priv.t_closeness_hierarchical_classes('patients', ['zip', 'age'], 'disease', 'diseases', 0.4)
-- expect: [({'zip': '130**', 'age': '30-40'}, 4, 0.458333)]
CREATE MACRO t_closeness_hierarchical_classes(tbl, qis, sensitive, hierarchy, person, threshold) AS TABLE
WITH __priv_classes AS (FROM _t_hierarchical_by_class(tbl, qis, sensitive, hierarchy, person))
FROM _largest_first(__priv_classes, _above(value, threshold));

-- _t_equal_by_class(tbl, qis, sensitive [, person])
CREATE MACRO _t_equal_by_class(tbl, qis, sensitive, person) AS TABLE
WITH __priv_histogram AS (FROM _histogram(tbl, qis, sensitive, person))
SELECT class, CAST(size AS BIGINT) AS size, _t_equal(n / pairs, share) AS value
FROM __priv_histogram AS h
JOIN _shares(__priv_histogram) AS s ON h.value IS NOT DISTINCT FROM s.value
GROUP BY class, size;

-- Each value's share of the whole table.
CREATE MACRO _shares(histogram) AS TABLE
SELECT value, total / sum(total) OVER () AS share
FROM (SELECT value, sum(n) AS total FROM histogram GROUP BY value);

-- Half the L1 distance, for one class: values that the class lacks stand apart by their whole share.
CREATE MACRO _t_equal(own, share) AS greatest((sum(abs(own - share)) + 1 - sum(share)) / 2, 0);

-- _t_ordered_by_class(tbl, qis, sensitive [, person])
CREATE MACRO _t_ordered_by_class(tbl, qis, sensitive, person) AS TABLE
WITH __priv_histogram AS (FROM _histogram(tbl, qis, sensitive, person)),
__priv_scale AS (
  SELECT value, place, cum, before, through, next_cum, max(place) OVER () AS last_place, max(through) OVER () AS area
  FROM _scale((SELECT 1 AS part, value, sum(n) AS total FROM __priv_histogram GROUP BY value))
),
__priv_steps AS (
  SELECT class, size, place, before, last_place,
    sum(n) OVER (PARTITION BY class ORDER BY place ROWS UNBOUNDED PRECEDING) / pairs AS own,
    coalesce(lead(place) OVER (PARTITION BY class ORDER BY place), last_place + 1) AS next_place,
    coalesce(lead(before) OVER (PARTITION BY class ORDER BY place), area) AS next_before
  FROM __priv_histogram AS h
  JOIN __priv_scale AS s ON s.place > 0 AND h.value IS NOT DISTINCT FROM s.value
)
SELECT class, CAST(size AS BIGINT) AS size,
  _t_ordered(_stretch(own, t.place, t.before, next_place, next_before, s.place, through), t.before, t.last_place) AS value
FROM __priv_steps AS t JOIN __priv_scale AS s ON own >= cum AND own < next_cum
GROUP BY class, size, t.last_place;

-- The values in order, by part: place 1, 2, ..., cumulative share cum, prefix sums of cum before this place and
-- through it. A place 0 catches the classes whose first share is below that of the first value.
CREATE MACRO _scale(totals) AS TABLE
SELECT part, value, place, cum, coalesce(lead(cum) OVER (PARTITION BY part ORDER BY place), 2) AS next_cum,
  sum(cum) OVER (PARTITION BY part ORDER BY place ROWS UNBOUNDED PRECEDING) AS through,
  sum(cum) OVER (PARTITION BY part ORDER BY place ROWS UNBOUNDED PRECEDING) - cum AS before
FROM (
  SELECT part, value, row_number() OVER (PARTITION BY part ORDER BY value NULLS LAST) AS place,
    sum(total) OVER (PARTITION BY part ORDER BY value NULLS LAST ROWS UNBOUNDED PRECEDING)
      / sum(total) OVER (PARTITION BY part) AS cum
  FROM totals
  UNION ALL
  SELECT DISTINCT part, NULL, 0, 0 FROM totals
);

-- The sum of |own - cum| over the places from this value of a class up to its next one, where own, the class's
-- cumulative share, stands still: own - cum as far as the crossing, the last place with cum <= own, and cum - own
-- after it. A class so costs as many rows as it has values, however many the table has.
CREATE MACRO _stretch(own, place, before, next_place, next_before, crossing, through) AS
(own * (2 * least(greatest(crossing, place - 1), next_place - 1) - place + 1 - next_place + 1)
  + before + next_before - 2 * least(greatest(through, before), next_before));

-- Adds up the stretches of one class; ahead of its first value own is 0 and only cum counts.
CREATE MACRO _t_ordered(stretch, before, last_place) AS
CASE WHEN last_place <= 1 THEN 0.0 ELSE greatest((sum(stretch) + min(before)) / (last_place - 1), 0) END;

-- _t_hierarchical_by_class(tbl, qis, sensitive, hierarchy [, person])
-- Only nodes with some share in the class can have a surplus, so the others are never looked at: what the table has
-- below a node in children that the class lacks is all deficit.
CREATE MACRO _t_hierarchical_by_class(tbl, qis, sensitive, hierarchy, person) AS TABLE
WITH __priv_paths AS (FROM _paths(hierarchy)),
__priv_histogram AS (
  SELECT h.class, h.value, h.size, h.n, h.pairs,
    CASE WHEN p.labels IS NULL THEN error('sqlpriv: the hierarchy does not cover every sensitive value') ELSE p.labels END AS labels
  FROM _histogram(tbl, qis, sensitive, person) AS h
  LEFT JOIN __priv_paths AS p ON CAST(h.value AS VARCHAR) IS NOT DISTINCT FROM p.labels[1]
),
__priv_levels AS (SELECT unnest(range(1, (SELECT len(labels) FROM __priv_paths LIMIT 1))) AS height),
__priv_table AS (
  SELECT height, labels[height] AS node, labels[height + 1] AS parent, sum(n) / (SELECT sum(n) FROM __priv_histogram) AS share
  FROM __priv_histogram, __priv_levels GROUP BY ALL
),
__priv_parents AS (SELECT height, parent, sum(share) AS share FROM __priv_table GROUP BY ALL),
__priv_nodes AS (
  SELECT class, size, height, labels[height] AS node, labels[height + 1] AS parent, sum(n) / max(pairs) AS own
  FROM __priv_histogram, __priv_levels GROUP BY ALL
),
__priv_costs AS (
  SELECT class, size, n.height,
    least(
      sum(greatest(own - t.share, 0)),
      greatest(sum(greatest(t.share - own, 0)) + max(p.share) - sum(t.share), 0)
    ) AS moved
  FROM __priv_nodes AS n
  JOIN __priv_table AS t ON n.height = t.height AND n.node IS NOT DISTINCT FROM t.node AND n.parent IS NOT DISTINCT FROM t.parent
  JOIN __priv_parents AS p ON n.height = p.height AND n.parent IS NOT DISTINCT FROM p.parent
  GROUP BY class, size, n.height, n.parent
)
SELECT class, CAST(size AS BIGINT) AS size, sum(height * moved) / (SELECT max(height) FROM __priv_levels) AS value
FROM __priv_costs
GROUP BY class, size;

-- A hierarchy as one list of labels a value, checked: labels nest, one top. NULL labels only at the bottom.
CREATE MACRO _paths(hierarchy) AS TABLE
WITH __priv_read AS (
  SELECT DISTINCT CAST(list_value(*COLUMNS(*)) AS VARCHAR[]) AS labels FROM query_table(_table(hierarchy))
),
__priv_edges AS (
  SELECT height, labels[height] AS node, labels[height + 1] AS parent
  FROM __priv_read, (SELECT unnest(range(1, (SELECT max(len(labels)) FROM __priv_read))) AS height)
),
__priv_faults AS (
  SELECT max(parents) AS parents, (SELECT count(DISTINCT labels[-1]) FROM __priv_read) AS tops,
    (SELECT count(*) FROM __priv_edges WHERE parent IS NULL) AS gaps
  FROM (SELECT count(DISTINCT parent) AS parents FROM __priv_edges GROUP BY height, node)
)
SELECT CASE
    WHEN parents IS NULL THEN error('sqlpriv: the hierarchy needs rows and at least two columns: the value and a top label')
    WHEN parents > 1 THEN error('sqlpriv: the hierarchy does not nest: a label has two different labels above it')
    WHEN gaps > 0 THEN error('sqlpriv: the hierarchy has a NULL above the first column')
    WHEN tops <> 1 THEN error('sqlpriv: the last column of the hierarchy must hold one label for all values')
    ELSE labels
  END AS labels
FROM __priv_faults LEFT JOIN __priv_read ON true;
