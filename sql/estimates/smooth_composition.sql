-- smooth_composition(ks, betas, noisy, epsilon) -> delta, epsilons
-- The delta at epsilon of several releases of the same data together: releases by sampled k-anonymity, one k and one beta each, and releases without a delta, the
-- epsilon of each in noisy. A sample is private for every epsilon at once (f-smooth: Li, Qardaji and Su 2011, Theorems 5 and 6). So epsilon is split among them
-- as it serves best: the least sum of sdgs_delta(k, beta, a) over epsilons a of the samples that add up to epsilon less noisy. epsilons are these.
-- nulls: NULL for epsilon, NULL out; a NULL in a list is an error.
-- guarantee: (epsilon, delta)-differential privacy of all together, rows added or left out (give noisy in that kind, too). No k, beta or noise may be chosen
-- by what an earlier release shows. Where one is, record one (epsilon, delta) of each as it is published, and add up by composition. The split is the best
-- of those in 200 steps of what is left above the least epsilons, -ln(1 - beta). It is never better than true, and at least as good as any split of n steps
-- less among n samples.
-- example: SELECT round(delta * 1e16, 1) AS best, round((priv.sdgs_delta(20, 0.1, 1) + priv.sdgs_delta(20, 0.05, 1)) * 1e16) AS even FROM priv.smooth_composition([20, 20], [0.1, 0.05], [], 2)
-- expect: [(8.2, 407.0)]
CREATE MACRO smooth_composition(ks, betas, noisy, epsilon) AS TABLE
WITH RECURSIVE __priv_given AS MATERIALIZED (
  SELECT TRY_CAST(ks AS DOUBLE[]) AS ks_, TRY_CAST(betas AS DOUBLE[]) AS betas_, TRY_CAST(noisy AS DOUBLE[]) AS noisy_, TRY_CAST(epsilon AS DOUBLE) AS total
),
__priv_asked AS MATERIALIZED (
  SELECT ks_, betas_, CASE
      WHEN coalesce(len(ks_) <> len(betas_) OR len(ks_) + len(noisy_) = 0, true) THEN error('sqlpriv: smooth_composition needs one beta for each k, a list of the epsilons of other releases, and one release at least')
      WHEN list_count(ks_) + list_count(betas_) + list_count(noisy_) < len(ks_) + len(betas_) + len(noisy_) THEN error('sqlpriv: a k, beta or epsilon is NULL or not a number')
      WHEN NOT coalesce(list_min(noisy_) >= 0 AND list_max(noisy_) <= 1e300, true) THEN error('sqlpriv: an epsilon in noisy is negative or not a number')
      WHEN epsilon IS NOT NULL AND NOT coalesce(total >= 0 AND total <= 1e300, false) THEN error('sqlpriv: epsilon must be a number of at least 0')
      ELSE total - coalesce(list_sum(noisy_), 0)
    END AS shared
  FROM __priv_given
),
__priv_samples AS MATERIALIZED (
  SELECT i, _copies(k) AS k, _sampling(beta) AS beta, -ln(1 - _sampling(beta)) AS least
  FROM (SELECT unnest(range(1, len(ks_) + 1)) AS i, unnest(ks_) AS k, unnest(betas_) AS beta FROM __priv_asked WHERE shared IS NOT NULL) AS __priv_lists
),
__priv_left AS MATERIALIZED (
  SELECT CASE
      WHEN shared - total >= -_hair() THEN greatest(shared - total, 0)
      WHEN shared IS NOT NULL THEN error('sqlpriv: epsilon must be at least the sum of those in noisy and of -ln(1 - beta) for each sample')
    END AS slack
  FROM __priv_asked, (SELECT coalesce(sum(least), 0) AS total FROM __priv_samples) AS __priv_total
),
__priv_curves AS MATERIALIZED (
  SELECT i, step, a, _sdgs_delta_checked(k, beta, a) AS delta
  FROM (SELECT i, k, beta, step, least + slack * step / 200 AS a FROM __priv_samples, __priv_left, (SELECT unnest(range(201)) AS step) AS __priv_steps) AS __priv_points
),
__priv_best AS (
  SELECT CAST(0 AS BIGINT) AS i, CAST(0 AS BIGINT) AS step, CAST(0 AS DOUBLE) AS delta, CAST([] AS DOUBLE[]) AS parts FROM __priv_left WHERE slack IS NOT NULL
  UNION ALL
  SELECT i, step, delta, list_append(parts, a) FROM (
    SELECT c.i, b.step + c.step AS step, b.delta + c.delta AS delta, b.parts, c.a,
      row_number() OVER (PARTITION BY b.step + c.step ORDER BY b.delta + c.delta, c.step) AS place
    FROM __priv_best AS b JOIN __priv_curves AS c ON c.i = b.i + 1 AND b.step + c.step <= 200
  ) AS __priv_sums WHERE place = 1
)
SELECT CASE WHEN b.delta > 1 THEN 1 ELSE b.delta END AS delta, b.parts AS epsilons
FROM __priv_left LEFT JOIN (FROM __priv_best WHERE i = (SELECT len(ks_) FROM __priv_given) ORDER BY delta, step LIMIT 1) AS b ON true;

-- The delta of several releases at the sum of their epsilons: the sum of all deltas or, if that is less, of the best split among samples and of the others.
CREATE MACRO _smaller_delta(summed, split, others) AS least(CAST(summed AS DOUBLE), CAST(split AS DOUBLE) + coalesce(list_sum(CAST(others AS DOUBLE[])), 0e0));
