-- Helpers: to know the same people again in a table that has other columns. Of a keyed sample of the earlier table 16 bits a cell are
-- kept (sqlpriv/table/cells.py); they are projected on the columns that both tables have, and looked for in the later one.

-- How many of the copies of a row are among `size` rows drawn from all, by its word: a share of them, rounded up or down by chance.
CREATE MACRO _drawn_copies(copies, rows, size, word) AS
CAST(floor(copies * least(1, size / CAST(rows AS DOUBLE)) + (word) / 4503599627370496.0) AS BIGINT);

-- How much the values of each earlier column (known: sample, column, hash, share) are those of each column of a table (given: column, hash,
-- share): the overlap of both shares, by what a sample of `size` cells of the very same column would have. 1 is the same, 0 nothing in common.
CREATE MACRO _column_likeness(known, given, size) AS TABLE
SELECT k.sample, k.column AS known, g.column AS given, sum(least(k.share, g.share)) / any_value(e.expected) AS likeness
FROM known AS k JOIN given AS g ON g.hash = k.hash
JOIN (SELECT x.column, sum(x.share * (1 - exp(-size * x.share))) AS expected FROM given AS x GROUP BY x.column) AS e ON e.column = g.column
GROUP BY k.sample, k.column, g.column;

-- Whether the rows of an earlier sample are in a table more often than chance explains. `rows`: own (a row of the table itself, else one of the
-- earlier sample), weight (how often the row is there), others (how many other rows of the table equal it: of an earlier one, all that do), and
-- chance (the product of the shares of its values in the table, NULL where one does not occur: such a row is not there).
--   contained   c, the share of the earlier rows that is found
--   expected    e, the same if they were other people: in bins of chance the share of own rows that another row equals. Where rows repeat less than
--               `total` rows of independent columns would, as where each has a number of its own, it is what these would have, if that is more
--   distinct_   U, the share of own rows that no other equals: below .05 nobody can tell
--   excess      rho = (c - e) / (1 - e), and `score`, by how many standard deviations
CREATE MACRO _contained_people(rows, total) AS TABLE
WITH __priv_placed AS (
  SELECT p.own, p.weight, p.others, p.chance, 1 - exp(-total * p.chance) AS alone,
    sum(CASE WHEN p.own THEN p.weight ELSE 0 END) OVER (ORDER BY p.chance RANGE UNBOUNDED PRECEDING) AS below,
    sum(CASE WHEN p.own THEN p.weight ELSE 0 END) OVER () AS whole,
    greatest(1, least(20, count(*) FILTER (p.own) OVER () // 50)) AS bins
  FROM rows AS p WHERE p.chance IS NOT NULL
),
__priv_binned AS (
  SELECT p.own, p.weight, p.others, p.alone,
    sum(p.weight * (CASE WHEN p.others > 0 THEN 1 ELSE 0 END - p.alone)) FILTER (p.own) OVER () < 0 AS spread_out,
    greatest(ceil(p.bins * p.below / p.whole), min(ceil(p.bins * p.below / p.whole)) FILTER (p.own) OVER ()) AS bin
  FROM __priv_placed AS p
),
__priv_bins AS (
  SELECT b.bin, (count(*) * coalesce(sum(b.weight) FILTER (b.others > 0), 0) / sum(b.weight) + 0.5) / (count(*) + 1) AS again
  FROM __priv_binned AS b WHERE b.own GROUP BY b.bin
),
__priv_sums AS (
  SELECT CAST(sum(b.weight) FILTER (b.others > 0) AS DOUBLE) AS found, sum(b.weight * b.again) AS hoped,
    sum(b.weight * b.weight * b.again * (1 - b.again)) AS spread
  FROM (
    SELECT b.weight, b.others, CASE WHEN b.spread_out THEN greatest(e.again, b.alone) ELSE e.again END AS again
    FROM __priv_binned AS b JOIN __priv_bins AS e ON e.bin = b.bin WHERE NOT b.own
  ) AS b
),
__priv_all AS (
  SELECT CAST(sum(r.weight) FILTER (NOT r.own) AS DOUBLE) AS earlier, 1 + count(*) FILTER (NOT r.own) / CAST(count(*) FILTER (r.own) AS DOUBLE) AS more,
    coalesce(sum(r.weight) FILTER (r.own AND r.others = 0), 0) / CAST(sum(r.weight) FILTER (r.own) AS DOUBLE) AS distinct_
  FROM rows AS r
)
SELECT c.contained, c.expected, a.distinct_, (c.contained - c.expected) / (1 - c.expected) AS excess,
  (c.contained - c.expected) / nullif(sqrt(c.variance * a.more), 0) AS score
FROM __priv_all AS a, LATERAL (
  SELECT coalesce(s.found, 0) / a.earlier AS contained, coalesce(s.hoped, 0) / a.earlier AS expected,
    coalesce(s.spread, 0) / (a.earlier * a.earlier) AS variance FROM __priv_sums AS s
) AS c;
