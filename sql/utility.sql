-- utility(tbl, qis [, person]) -> rows, classes, average_class_size, discernibility
-- What is left of a generalized table: the average size of a class, and the discernibility penalty, the sum of the
-- squared class sizes (Bayardo and Agrawal 2005). Smaller is more useful for both.
-- nulls: NULL is a value of its own.
-- guarantee: none; utility is the other side of the scales.
-- example: FROM priv.utility('patients', ['zip', 'age'])
-- expect: [(12, 3, 4.0, 48)]
CREATE MACRO utility(tbl, qis, person) AS TABLE
SELECT CAST(sum(size) AS BIGINT) AS rows, count(*) AS classes, sum(size) / count(*) AS average_class_size,
  CAST(sum(size * size) AS BIGINT) AS discernibility
FROM _sizes(tbl, qis, person) HAVING _unless_empty(true);

-- kl_divergence(tbl, original, qis, id) -> kl
-- How far the generalized table is from the original, as a distribution over the quasi-identifiers: the records are
-- matched by id, and a class is spread evenly over the combinations of original values that its labels stand for
-- (Kifer and Gehrke 2006). In nats; 0 for the original itself.
-- nulls: NULL is a value of its own.
-- guarantee: none. The values a label stands for are those seen in the data; an id that is not unique or has no
-- match is an error.
-- example: FROM priv.kl_divergence('ages_published', 'ages', ['age'], 'id')
-- expect: [(0.0,)]
CREATE MACRO kl_divergence(tbl, original, qis, id) AS TABLE
WITH __priv_new AS (FROM _labels(tbl, qis, id)),
__priv_old AS (FROM _labels(original, qis, id)),
__priv_counts AS (
  SELECT (SELECT count(*) FROM __priv_new) AS records, (SELECT count(*) FROM __priv_old) AS originals,
    (SELECT count(DISTINCT record) FROM __priv_new) AS ids, (SELECT count(DISTINCT record) FROM __priv_old) AS original_ids
),
__priv_pairs AS (
  SELECT n.labels AS labels, o.labels AS leaves FROM __priv_new AS n JOIN __priv_old AS o ON n.record = o.record
),
__priv_cells AS (
  SELECT place, labels[place] AS label, count(DISTINCT leaves[place]) AS leaf_count
  FROM __priv_pairs, (SELECT unnest(range(1, len(_columns(qis)) + 1)) AS place)
  GROUP BY ALL
),
__priv_classes AS (
  SELECT labels, size, exp(sum(ln(leaf_count))) AS volume
  FROM (SELECT labels, size, unnest(range(1, len(labels) + 1)) AS place FROM (SELECT labels, count(*) AS size FROM __priv_pairs GROUP BY labels)) AS c
  JOIN __priv_cells AS l ON c.place = l.place AND c.labels[c.place] IS NOT DISTINCT FROM l.label
  GROUP BY labels, size
),
__priv_tuples AS (SELECT labels, leaves, count(*) AS copies FROM __priv_pairs GROUP BY labels, leaves),
__priv_shares AS (SELECT leaves, sum(copies) AS total FROM __priv_tuples GROUP BY leaves)
SELECT CASE
    WHEN max(records) IS NULL AND NOT EXISTS (FROM __priv_new) THEN error('sqlpriv: the table has no rows: there is nothing to check')
    WHEN max(records) <> max(ids) OR max(originals) <> max(original_ids) THEN error('sqlpriv: the id column is not unique')
    WHEN max(records) IS NULL OR sum(copies) <> max(records) THEN error('sqlpriv: a record of the table has no original with its id')
    ELSE sum(copies / records * ln(total * volume / size))
  END AS kl
FROM __priv_tuples AS t
JOIN __priv_shares AS s ON t.leaves IS NOT DISTINCT FROM s.leaves
JOIN __priv_classes AS c ON t.labels IS NOT DISTINCT FROM c.labels, __priv_counts;

-- The quasi-identifiers of each record as a list of numbers, equal exactly where the values are, with its id. As texts
-- 0.0 and -0.0 would differ.
CREATE MACRO _labels(tbl, qis, id) AS TABLE
FROM query('SELECT [dense_rank() OVER (ORDER BY ' || replace(_fields(_columns(qis)), '", __priv_t."', '"), dense_rank() OVER (ORDER BY __priv_t."')
  || ')] AS labels, CAST(' || _field(_column(id)) || ' AS VARCHAR) AS record' || _from(tbl));
