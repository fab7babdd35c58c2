-- t_closeness(tbl, qis, sensitive [, person]) -> t
-- The largest distance between the distribution of the sensitive value in a class and in the whole table, with the
-- same distance between any two values: half the L1 distance (Li et al. 2007).
-- nulls: NULL is a value of its own.
-- guarantee: no class reveals much more about its people than the table as a whole. An average: a class may be
-- homogeneous and still close, see docs/definitions.md and epsilon_class3 for the pointwise form.
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
-- Between two neighbouring values of a class its cumulative share own stands still. Where they are also neighbours in
-- the table that is one term |own - cum|; the wider gaps are summed in _gaps. A class so costs as many rows as it has
-- values, however many the table has.
CREATE MACRO _t_ordered_by_class(tbl, qis, sensitive, person) AS TABLE
FROM _t_ordered_of(_histogram(tbl, qis, sensitive, person));
CREATE MACRO _t_ordered_of(histogram) AS TABLE
WITH __priv_histogram AS MATERIALIZED (FROM histogram),
__priv_totals AS (SELECT 1 AS part, value, sum(n) AS total, sum(sum(members)) OVER () AS people FROM __priv_histogram GROUP BY value),
__priv_scale AS MATERIALIZED (FROM _scale(__priv_totals)),
__priv_steps AS MATERIALIZED (
  SELECT 1 AS part, class AS id, size, place, before, cum, kinds, area,
    sum(n) OVER (PARTITION BY class ORDER BY place ROWS UNBOUNDED PRECEDING) / pairs AS own,
    lead(place) OVER (PARTITION BY class ORDER BY place) AS next_place,
    lead(before) OVER (PARTITION BY class ORDER BY place) AS next_before
  FROM __priv_histogram AS h
  JOIN __priv_scale AS s ON place > 0 AND h.value IS NOT DISTINCT FROM s.value
)
SELECT t.id AS class, CAST(size AS BIGINT) AS size,
  _t_ordered(t.own, cum, place, next_place, t.before, any_value(gap), kinds) AS value
FROM __priv_steps AS t LEFT JOIN _gaps(__priv_steps, __priv_scale) AS g ON t.id IS NOT DISTINCT FROM g.id
GROUP BY t.id, size, kinds;

-- The values of each part in order: place 1, 2, ..., kinds, their shares and beliefs, the cumulative share cum with its
-- prefix sums before this place and through it. A place 0 catches the classes whose first share is below the first value's.
CREATE MACRO _scale(totals) AS TABLE
SELECT part, value, place, share, base, _gain_ceiling(base) AS ceiling, cum,
  coalesce(lead(cum) OVER (PARTITION BY part ORDER BY place), 2) AS next_cum,
  sum(cum) OVER (PARTITION BY part ORDER BY place ROWS UNBOUNDED PRECEDING) AS through,
  sum(cum) OVER (PARTITION BY part ORDER BY place ROWS UNBOUNDED PRECEDING) - cum AS before,
  max(place) OVER (PARTITION BY part) AS kinds, sum(cum) OVER (PARTITION BY part) AS area,
  sum(share * place) OVER (PARTITION BY part) AS mean_place, abs(place - (places + 1) / 2) AS arm,
  sum(share * abs(place - (places + 1) / 2)) OVER (PARTITION BY part) AS mean_arm
FROM (
  SELECT part, value, row_number() OVER (PARTITION BY part ORDER BY value NULLS LAST) AS place,
    total / sum(total) OVER (PARTITION BY part) AS share, total / people AS base,
    sum(total) OVER (PARTITION BY part ORDER BY value NULLS LAST ROWS UNBOUNDED PRECEDING)
      / sum(total) OVER (PARTITION BY part) AS cum, count(*) OVER (PARTITION BY part) AS places
  FROM totals
  UNION ALL
  SELECT part, NULL, 0, NULL, NULL, 0, 0 FROM (SELECT DISTINCT part FROM totals)
);

-- The sums of |own - cum| over the gaps of each class: own - cum up to the crossing, the last place with cum <= own, and
-- cum - own after it, both by prefix sums. Parts are kept apart by shifting them, which leaves a pure range join.
CREATE MACRO _gaps(steps, scale) AS TABLE
SELECT id, sum(_stretch(own, t.place, t.before, coalesce(next_place, t.kinds + 1), coalesce(next_before, t.area), s.place, s.through)) AS gap
FROM (SELECT part, id, own, place, before, next_place, next_before, kinds, area FROM steps WHERE coalesce(next_place, kinds + 1) > place + 1) AS t
JOIN scale AS s ON 4 * t.part + own >= 4 * s.part + s.cum AND 4 * t.part + own < 4 * s.part + s.next_cum
GROUP BY id;
CREATE MACRO _stretch(own, place, before, next_place, next_before, crossing, through) AS
(own * (2 * least(greatest(crossing, place - 1), next_place - 1) - place - next_place + 2)
  + before + next_before - 2 * least(greatest(through, before), next_before));

-- Adds up one class: its single steps, its gaps, and what lies ahead of its first value, where own is 0.
CREATE MACRO _t_ordered(own, cum, place, next_place, before, gap, kinds) AS
CASE WHEN kinds <= 1 THEN 0.0
  ELSE (sum(CASE WHEN coalesce(next_place, kinds + 1) = place + 1 THEN abs(own - cum) ELSE 0 END)
    + coalesce(gap, 0) + min(before)) / (kinds - 1)
END;

-- _t_hierarchical_by_class(tbl, qis, sensitive, hierarchy [, person])
-- Only nodes with some share in the class can have a surplus, so the others are never looked at: what the table has
-- below a node in children that the class lacks is all deficit.
CREATE MACRO _t_hierarchical_by_class(tbl, qis, sensitive, hierarchy, person) AS TABLE
FROM _t_hierarchical_of(_histogram(tbl, qis, sensitive, person), hierarchy);
CREATE MACRO _t_hierarchical_of(histogram, hierarchy) AS TABLE
WITH __priv_paths AS (FROM _paths(hierarchy)),
__priv_histogram AS (
  SELECT h.class, h.value, h.size, h.n, h.pairs,
    CASE WHEN p.labels IS NULL THEN error('sqlpriv: the hierarchy does not cover every sensitive value') ELSE p.labels END AS labels
  FROM histogram AS h
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

-- A hierarchy as one list of labels a value, checked: labels nest, one top. Only NULL itself may have NULL labels, below the top.
CREATE MACRO _paths(hierarchy) AS TABLE
WITH __priv_read AS (
  SELECT DISTINCT list_value(*COLUMNS(*)) AS labels FROM (SELECT CAST(COLUMNS(*) AS VARCHAR) FROM query_table(_table(hierarchy)))
),
__priv_edges AS (
  SELECT height, labels[height] AS node, labels[height + 1] AS parent
  FROM __priv_read, (SELECT unnest(range(1, (SELECT max(len(labels)) FROM __priv_read))) AS height)
),
__priv_faults AS (
  SELECT max(parents) AS parents, (SELECT count(DISTINCT labels[-1]) FROM __priv_read) AS tops,
    (SELECT count(*) FROM __priv_read WHERE labels[1] IS NOT NULL AND list_count(labels) < len(labels) OR labels[-1] IS NULL) AS gaps
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
