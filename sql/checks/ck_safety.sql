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
CREATE MACRO _disclosure_by_class(tbl, buckets, sensitive, k, person) AS TABLE
WITH __priv_counted AS (FROM _histogram(tbl, buckets, sensitive, person)),
__priv_each AS (SELECT 0 AS part, * FROM _escapes_of(__priv_counted, k))
SELECT class, members AS size, value FROM _disclosure_of(__priv_each, k);

-- What an attacker can do in each class of a histogram: class, members, top (its largest count) and escapes.
-- What matters of a bucket is its profile: its size and the sums of its k + 1 largest counts. Buckets of one profile
-- are computed once. escapes[i + 1] is the smallest probability that none of i atoms holds in the bucket, i <= k + 1.
CREATE MACRO _escapes_of(histogram, k) AS TABLE
WITH RECURSIVE __priv_tops AS (
  SELECT class, CAST(size AS BIGINT) AS size, r, place,
    CAST(sum(r) OVER (PARTITION BY class ORDER BY place ROWS UNBOUNDED PRECEDING) AS BIGINT) AS top
  FROM (SELECT class, size, r, row_number() OVER (PARTITION BY class ORDER BY r DESC) AS place FROM histogram)
),
__priv_buckets AS (
  SELECT class, size, list(top ORDER BY place) AS tops FROM __priv_tops WHERE place <= k + 1 GROUP BY class, size
),
__priv_profiles AS (SELECT DISTINCT size, tops FROM __priv_buckets),
__priv_placements AS (
  SELECT size, tops, CAST(k + 1 AS BIGINT) AS atoms_each, CAST(0 AS BIGINT) AS placed_on, CAST(0 AS BIGINT) AS placed, CAST(1 AS DOUBLE) AS escape
  FROM __priv_profiles
  UNION ALL
  SELECT size, tops, atoms_each - fewer, placed_on + 1 - fewer, placed + (1 - fewer) * atoms_each,
    min(CASE WHEN fewer = 1 THEN escape
      ELSE escape * greatest(size - coalesce(tops[atoms_each], size) - placed_on, 0) / (size - placed_on) END)
  FROM __priv_placements, (VALUES (0), (1)) AS choice(fewer)
  WHERE CASE WHEN fewer = 1 THEN atoms_each > 1 ELSE placed + atoms_each <= k + 1 AND placed_on < size END
  GROUP BY ALL
),
__priv_escapes AS (
  SELECT size, tops, list(escape ORDER BY placed) AS escapes
  FROM (SELECT size, tops, placed, min(escape) AS escape FROM __priv_placements GROUP BY size, tops, placed)
  GROUP BY size, tops
)
SELECT class, b.size AS members, b.tops[1] AS top, escapes
FROM __priv_buckets AS b JOIN __priv_escapes AS e ON b.size = e.size AND b.tops = e.tops;

-- The disclosure by class, of the classes of each part together, from what _escapes_of says of them: part, class,
-- members, value. A bucket that holds the consequent spends one atom more on it. The others among the k + 1 best
-- buckets for each number of atoms are all that k atoms can need, so the size of a part does not matter to the final
-- convolution.
CREATE MACRO _disclosure_of(classes, k) AS TABLE
WITH RECURSIVE __priv_kinds AS (
  SELECT part, members, top, escapes, count(*) AS buckets_alike, row_number() OVER () AS profile
  FROM classes GROUP BY part, members, top, escapes
),
__priv_best AS (
  SELECT part, row_number() OVER (PARTITION BY part) AS turn, profile, escapes
  FROM (
    SELECT DISTINCT part, profile, alike, escapes
    FROM (
      SELECT part, profile, alike, escapes,
        row_number() OVER (PARTITION BY part, spent ORDER BY escapes[spent + 1], profile, alike) AS rank_for_spent
      FROM (
        SELECT part, profile, escapes, unnest(range(1, least(buckets_alike, k + 1) + 1)) AS alike FROM __priv_kinds
      ), (SELECT unnest(range(1, k + 1)) AS spent)
    )
    WHERE rank_for_spent <= k + 1
  )
),
__priv_others AS (
  SELECT part, without, CAST(1 AS BIGINT) AS turn, list_transform(range(0, k + 1), lambda __priv_i: CAST(1 AS DOUBLE)) AS others, false AS left_out
  FROM (SELECT DISTINCT part, profile AS without FROM __priv_best UNION ALL SELECT DISTINCT part, NULL FROM __priv_kinds)
  UNION ALL
  SELECT o.part, without, o.turn + 1,
    CASE WHEN profile = without AND NOT left_out THEN others
      ELSE list_transform(range(0, k + 1), lambda __priv_i: list_min(list_transform(range(0, __priv_i + 1),
        lambda __priv_a: others[__priv_i - __priv_a + 1] * escapes[__priv_a + 1]))) END,
    left_out OR coalesce(profile = without, false)
  FROM __priv_others AS o JOIN __priv_best AS c ON o.turn = c.turn AND o.part = c.part
),
__priv_last AS (
  SELECT p.part, without, others
  FROM __priv_others AS p
  LEFT JOIN (SELECT part, count(*) AS turns FROM __priv_best GROUP BY part) AS b ON p.part = b.part
  WHERE p.turn = coalesce(turns, 0) + 1
),
__priv_valued AS (
  SELECT n.part, members, top, escapes, 1 / (1 + list_min(list_transform(range(0, k + 1),
      lambda __priv_i: escapes[__priv_i + 2] * members / top * others[k - __priv_i + 1]))) AS value
  FROM __priv_kinds AS n
  JOIN __priv_last AS o ON o.part = n.part AND o.without IS NOT DISTINCT FROM
    CASE WHEN profile IN (SELECT profile FROM __priv_best) THEN profile END
)
SELECT c.part, class, c.members, value
FROM classes AS c
JOIN __priv_valued AS v ON c.part = v.part AND c.members = v.members AND c.top = v.top AND c.escapes = v.escapes;

-- The disclosure of a class that is the only one: no table with this class, among others, has less.
CREATE MACRO _disclosure_alone(members, top, escapes) AS 1 / (1 + escapes[-1] * members / top);

-- What the disclosure in a class is at most, whatever the other classes are, if theirs is below 1 for the same rho:
-- i atoms in any of them are escaped with probability rho^i or more. So the largest over classes bounds that of all.
CREATE MACRO _disclosure_bound(members, top, escapes, rho) AS
CASE WHEN _escapes_by(escapes, rho) THEN
  1 / (1 + list_min(list_transform(range(0, len(escapes) - 1),
    lambda __priv_i: escapes[__priv_i + 2] * members / top * pow(rho, len(escapes) - 2 - __priv_i))))
ELSE 1 END;
CREATE MACRO _escapes_by(escapes, rho) AS
len(list_filter(range(0, len(escapes) - 1), lambda __priv_i: escapes[__priv_i + 1] < pow(rho, __priv_i))) = 0;

-- A rho for the bound to be at most c. Any is sound; this one allows the largest share of one value, or as many equal
-- values as there must be, and is between the least and the greatest that all rows as one class allow.
CREATE MACRO _disclosure_rho(members, top, escapes, c) AS
greatest(
  list_max(list_transform(range(0, len(escapes) - 2), lambda __priv_i:
    pow((1 - c) / c / (escapes[__priv_i + 2] * members / top), 1 / (len(escapes) - 2 - __priv_i)))),
  least(
    list_min(list_transform(range(1, len(escapes) - 1), lambda __priv_i: pow(escapes[__priv_i + 1], 1 / __priv_i))),
    _rho_of_shares(len(escapes) - 2, c),
    pow(1 + (len(escapes) - 2) * c, -1 / (len(escapes) - 2))
  )
);
-- The rho with rho^(k + 1) = (1 - c) / c (1 - rho), to 40 binary places.
CREATE MACRO _rho_of_shares(k, c) AS
list_reduce(list_transform(range(0, 41), lambda __priv_i: CASE WHEN __priv_i = 0 THEN 0 ELSE pow(2.0, -__priv_i) END),
  lambda __priv_low, __priv_step: __priv_low + CASE WHEN pow(__priv_low + __priv_step, k + 1)
    <= (1 - c) / c * (1 - __priv_low - __priv_step) THEN __priv_step ELSE 0 END);
