-- population_uniques(tbl, qis, fraction [, person]) -> people, uniques, population_uniques, population_share, estimator
-- How many people of a population are alone in their class, estimated from a table that is a random sample of it: up to a
-- tenth by Pitman's model (Hoshino 2001), above by Zayatz's (1991). `fraction` is the share of the population that is in
-- the table. Of the people who are alone in the table, about population_share are alone in the population, too. Where
-- everybody in the table is alone, all are.
-- nulls: NULL is a value of its own.
-- guarantee: none: an estimate, for a simple random sample, and below a fraction of 0.4 no more than an order of magnitude.
-- It says nothing of an attacker who knows who is in the table.
-- example: FROM priv.population_uniques('patients', ['zip', 'disease'], 0.5)
-- expect: [(24, 2, 1.421634, 0.355408, 'zayatz')]
CREATE MACRO population_uniques(tbl, qis, fraction, person) AS TABLE
WITH __priv_sizes AS (SELECT CAST(size AS DOUBLE) AS j, CAST(count(*) AS DOUBLE) AS c FROM _sizes(tbl, qis, person) GROUP BY size)
FROM _population_uniques(__priv_sizes, _fraction(fraction));

CREATE MACRO _fraction(fraction) AS
CASE WHEN TRY_CAST(fraction AS DOUBLE) > 0 AND TRY_CAST(fraction AS DOUBLE) <= 1 THEN CAST(fraction AS DOUBLE)
  ELSE error('sqlpriv: the fraction is the share of the population that is in the table: above 0, and 1 at most') END;

-- The same from the sizes of the classes, j, with their number, c.
CREATE MACRO _population_uniques(sizes, fraction) AS TABLE
WITH RECURSIVE __priv_counts AS (
  SELECT _unless_empty(sum(j * c)) AS n, sum(c) AS u, coalesce(sum(c) FILTER (j = 1), 0) AS c1, round(sum(j * c) / fraction) AS people,
    fraction AS f, list(j ORDER BY j) AS js, list(c ORDER BY j) AS cs
  FROM sizes
),
-- The grid around the likeliest parameters so far: each step looks closer.
__priv_fits AS (
  SELECT 0 AS step, 0.5e0 AS a, 0.5e0 * ln(n) AS b, 0.5e0 AS da, 0.5e0 * ln(n) + 14 AS db FROM __priv_counts
  UNION ALL
  SELECT step + 1, best.x, best.y, da * CASE WHEN best.x = a AND best.y = b THEN 0.5 ELSE 1 END, db * CASE WHEN best.x = a AND best.y = b THEN 0.5 ELSE 1 END
  FROM (
    SELECT step, a, b, da, db, arg_max({'x': x, 'y': y}, likelihood) AS best
    FROM (
      SELECT *, _pitman_likelihood(x, exp(y) - x, n, u, js, cs) AS likelihood
      FROM (
        SELECT *, least(greatest(a + da * i / 5, 0.0005), 0.9995) AS x, least(greatest(b + db * k / 5, -14), ln(n) + 14) AS y
        FROM __priv_fits, __priv_counts, range(-5, 6) AS r(i), range(-5, 6) AS s(k) WHERE step < 500 AND da > 1e-6
      )
    ) WHERE isfinite(likelihood) GROUP BY step, a, b, da, db
  )
),
__priv_estimates AS (
  SELECT people, c1, n, f, _pitman_uniques(people, a, exp(b) - a) AS pitman,
    c1 / f * c1 * _single_draw(people, 1, n) / list_sum(list_transform(range(1, len(js) + 1), lambda __priv_i: cs[__priv_i] * _single_draw(people, js[__priv_i], n))) AS zayatz
  FROM __priv_counts, (FROM __priv_fits ORDER BY step DESC LIMIT 1)
)
SELECT CAST(people AS BIGINT) AS people, CAST(c1 AS BIGINT) AS uniques, found AS population_uniques,
  CASE WHEN c1 > 0 THEN least(found * f / c1, 1) ELSE 0 END AS population_share, estimator
FROM (
  SELECT people, c1, f, estimator, CASE WHEN c1 = 0 THEN 0 WHEN c1 = n THEN people WHEN estimator = 'pitman' THEN pitman ELSE zayatz END AS found
  FROM (SELECT *, CASE WHEN f <= 0.1 AND isfinite(pitman) THEN 'pitman' ELSE 'zayatz' END AS estimator FROM __priv_estimates)
);

-- Pitman's model: the logarithm of how likely u classes of n rows are, of which cs have the sizes js, up to what does not
-- depend on its parameters; and how many of so many people are then alone in their class.
CREATE MACRO _pitman_likelihood(alpha, theta, n, u, js, cs) AS
(u - 1) * ln(alpha) + lgamma(theta / alpha + u) - lgamma(theta / alpha + 1) - lgamma(theta + n) + lgamma(theta + 1)
  + list_sum(list_transform(range(1, len(js) + 1), lambda __priv_i: cs[__priv_i] * (lgamma(js[__priv_i] - alpha) - lgamma(1 - alpha))));
CREATE MACRO _pitman_uniques(people, alpha, theta) AS
exp(ln(people) + lgamma(theta + alpha + people - 1) + lgamma(theta + 1) - lgamma(theta + alpha) - lgamma(theta + people));

-- The chance that a random sample of n people has exactly one of j people of a population.
CREATE MACRO _single_draw(people, j, n) AS
CASE WHEN people - j < n - 1 THEN 0
  ELSE exp(ln(j) + lgamma(people - j + 1) - lgamma(people - j - n + 2) - lgamma(n) - lgamma(people + 1) + lgamma(people - n + 1) + lgamma(n + 1)) END;
