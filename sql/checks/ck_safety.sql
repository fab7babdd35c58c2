-- ck_safety(tbl, buckets, sensitive, k [, person]) -> disclosure
-- The worst probability that some person has some value, for an attacker who knows the buckets and any k implications
-- "if one person has this value, another has that" (Martin et al. 2007). The table is (c, k)-safe for every c above it.
-- Buckets are columns, as quasi-identifiers are: generalized values or the group number of an anatomized table.
-- nulls: NULL is a value of its own.
-- guarantee: no k implications lift the belief in any value of any person above the disclosure. Exact: the worst
-- knowledge is k implications with one consequent, and their best placement is a dynamic programme over buckets.
-- example: FROM priv.ck_safety('wards', ['ward'], 'disease', 1)
-- expect: [(0.666667,)]
CREATE MACRO ck_safety(tbl, buckets, sensitive, k, person) AS TABLE
SELECT _unless_empty(max(value)) AS disclosure FROM _disclosure_by_class(tbl, buckets, sensitive, _atoms(k), person);

-- ck_safety_classes(tbl, buckets, sensitive, k [, person], threshold) -> class, size, value
-- The buckets in which the disclosure reaches the threshold, worst first.
-- nulls: as in ck_safety.
-- guarantee: no row comes back exactly when the table is (threshold, k)-safe: disclosure below the threshold.
-- example: FROM priv.ck_safety_classes('wards', ['ward'], 'disease', 1, 0.6)
-- expect: [({'ward': 'men'}, 5, 0.666667)]
CREATE MACRO ck_safety_classes(tbl, buckets, sensitive, k, person, threshold) AS TABLE
WITH __priv_classes AS (FROM _disclosure_by_class(tbl, buckets, sensitive, _atoms(k), person))
FROM _largest_first(__priv_classes, NOT _below(value, threshold));

-- The number of implications.
CREATE MACRO _atoms(k) AS _whole(k, 0, 'sqlpriv: k, the number of implications, must be a whole number of at least 0');

-- _disclosure_by_class(tbl, buckets, sensitive, k [, person])
-- What matters of a bucket is its profile: its size and the sums of its k + 1 largest counts. Buckets of one profile
-- are computed once. escapes[i + 1] is the smallest probability that none of i atoms holds in the bucket; a bucket
-- that holds the consequent spends one atom more on it. The others among the k + 1 best buckets for each number of
-- atoms are all that k atoms can need, so the table's size does not matter to the final convolution.
CREATE MACRO _disclosure_by_class(tbl, buckets, sensitive, k, person) AS TABLE
WITH RECURSIVE __priv_tops AS (
  SELECT class, CAST(size AS BIGINT) AS size, r, place,
    CAST(sum(r) OVER (PARTITION BY class ORDER BY place ROWS UNBOUNDED PRECEDING) AS BIGINT) AS top
  FROM (
    SELECT class, size, r, row_number() OVER (PARTITION BY class ORDER BY r DESC) AS place
    FROM _histogram(tbl, buckets, sensitive, person)
  )
),
__priv_buckets AS (
  SELECT class, size, list(top ORDER BY place) AS tops FROM __priv_tops WHERE place <= k + 1 GROUP BY class, size
),
__priv_profiles AS (
  SELECT size, tops, count(*) AS buckets_alike, row_number() OVER () AS profile FROM __priv_buckets GROUP BY size, tops
),
__priv_placements AS (
  SELECT profile, size, tops, CAST(k + 1 AS BIGINT) AS atoms_each, CAST(0 AS BIGINT) AS placed_on, CAST(0 AS BIGINT) AS placed, CAST(1 AS DOUBLE) AS escape
  FROM __priv_profiles
  UNION ALL
  SELECT profile, size, tops, atoms_each - fewer, placed_on + 1 - fewer, placed + (1 - fewer) * atoms_each,
    min(CASE WHEN fewer = 1 THEN escape
      ELSE escape * greatest(size - coalesce(tops[atoms_each], size) - placed_on, 0) / (size - placed_on) END)
  FROM __priv_placements, (VALUES (0), (1)) AS choice(fewer)
  WHERE CASE WHEN fewer = 1 THEN atoms_each > 1 ELSE placed + atoms_each <= k + 1 AND placed_on < size END
  GROUP BY ALL
),
__priv_escapes AS (
  SELECT profile, list(escape ORDER BY placed) AS escapes
  FROM (SELECT profile, placed, min(escape) AS escape FROM __priv_placements GROUP BY profile, placed)
  GROUP BY profile
),
__priv_best AS (
  SELECT row_number() OVER () AS turn, profile, escapes
  FROM (
    SELECT DISTINCT profile, alike, escapes
    FROM (
      SELECT profile, alike, escapes, row_number() OVER (PARTITION BY spent ORDER BY escapes[spent + 1], profile, alike) AS rank_for_spent
      FROM (
        SELECT profile, escapes, unnest(range(1, least(buckets_alike, k + 1) + 1)) AS alike
        FROM __priv_escapes JOIN __priv_profiles USING (profile)
      ), (SELECT unnest(range(1, k + 1)) AS spent)
    )
    WHERE rank_for_spent <= k + 1
  )
),
__priv_others AS (
  SELECT without, CAST(1 AS BIGINT) AS turn, list_transform(range(0, k + 1), lambda __priv_i: CAST(1 AS DOUBLE)) AS others, false AS left_out
  FROM (SELECT DISTINCT profile AS without FROM __priv_best UNION ALL SELECT NULL)
  UNION ALL
  SELECT without, o.turn + 1,
    CASE WHEN profile = without AND NOT left_out THEN others
      ELSE list_transform(range(0, k + 1), lambda __priv_i: list_min(list_transform(range(0, __priv_i + 1),
        lambda __priv_a: others[__priv_i - __priv_a + 1] * escapes[__priv_a + 1]))) END,
    left_out OR coalesce(profile = without, false)
  FROM __priv_others AS o JOIN __priv_best AS c ON o.turn = c.turn
),
__priv_values AS (
  SELECT profile, 1 / (1 + list_min(list_transform(range(0, k + 1),
      lambda __priv_i: escapes[__priv_i + 2] * size / tops[1] * others[k - __priv_i + 1]))) AS value
  FROM __priv_escapes JOIN __priv_profiles USING (profile)
  JOIN __priv_others AS o ON o.without IS NOT DISTINCT FROM
    CASE WHEN profile IN (SELECT profile FROM __priv_best) THEN profile END
  WHERE o.turn = (SELECT count(*) + 1 FROM __priv_best)
)
SELECT class, b.size, value
FROM __priv_buckets AS b
JOIN __priv_profiles AS p ON b.size = p.size AND b.tops = p.tops
JOIN __priv_values USING (profile);
