-- sdgs_delta(k, beta, epsilon)
-- The delta of sampled k-anonymity: sample each tuple with probability beta, generalize by a scheme fixed in advance,
-- suppress what occurs fewer than k times. This is (epsilon, delta)-differentially private (Li, Qardaji and Su 2011,
-- Theorem 1) for every epsilon >= -ln(1 - beta).
-- nulls: NULL in, NULL out.
-- guarantee: delta = max over n of P(Binomial(n, beta) > gamma n), gamma = 1 - (1 - beta) e^-epsilon, over all n, not only
-- the first. Needs a generalization that does not depend on the data: a lattice node found by searching them does not
-- qualify. Some tuple of n is exposed with a chance near delta n: see sdgs_guarantee.
-- example: SELECT round(priv.sdgs_delta(20, 0.1, 1.0) * 1e14, 2)
-- expect: [(4.07,)]
CREATE MACRO sdgs_delta(k, beta, epsilon) AS _sdgs_delta_checked(k, beta, epsilon);

-- sdgs_guarantee(k, beta, epsilon, n) -> epsilon, delta, exposed
-- The guarantee for a table of n tuples: delta, and the bound delta n on the chance that some tuple is exposed.
-- nulls: NULL in, NULL out.
-- guarantee: delta is per tuple; exposed is what a steward should look at (Section 6 of the paper).
-- example: SELECT epsilon, exposed < 1e-6 FROM priv.sdgs_guarantee(20, 0.1, 1.0, 1000000)
-- expect: [(1.0, True)]
CREATE MACRO sdgs_guarantee(k, beta, epsilon, n) AS TABLE
SELECT CAST(epsilon AS DOUBLE) AS epsilon, d AS delta,
  CASE
    WHEN NOT (n >= 0 AND n <= 1e300) THEN error('sqlpriv: n must be a number of at least 0')
    WHEN d * n IS NOT NULL THEN least(d * n, 1)
  END AS exposed
FROM (SELECT _sdgs_delta_checked(k, beta, epsilon) AS d);

-- sdgs_epsilon(k, beta, delta) -> epsilon
-- The smallest epsilon, to 12 digits, for which sampled k-anonymity has at most this delta.
-- nulls: NULL in, NULL out.
-- guarantee: the epsilon returned was checked: its delta is at most the one asked for. delta falls with epsilon, but
-- never below beta^k: a smaller delta is an error.
-- example: SELECT round(epsilon, 6) FROM priv.sdgs_epsilon(20, 0.1, 1e-6)
-- expect: [(0.291941,)]
CREATE MACRO sdgs_epsilon(k, beta, delta) AS TABLE
WITH RECURSIVE __priv_search AS (
  SELECT 0 AS step, -ln(1 - _sampling(beta)) AS low, ln((1 - _sampling(beta)) * (_copies(k) + 1)) + 40 AS high
  UNION ALL
  SELECT step + 1,
    CASE WHEN _sdgs_delta(k, beta, (low + high) / 2) <= delta THEN low ELSE (low + high) / 2 END,
    CASE WHEN _sdgs_delta(k, beta, (low + high) / 2) <= delta THEN (low + high) / 2 ELSE high END
  FROM __priv_search WHERE step < 60
)
SELECT CASE
    WHEN _sdgs_delta_checked(k, beta, -ln(1 - beta)) <= _asked(delta) THEN -ln(1 - beta)
    WHEN _sdgs_delta(k, beta, high) > delta THEN error('sqlpriv: no epsilon reaches this delta: the smallest delta is beta^k')
    WHEN delta IS NOT NULL THEN high
  END AS epsilon
FROM __priv_search WHERE step = 60;

-- sdgs_k(beta, epsilon, delta) -> k
-- The smallest k for which sampled k-anonymity is (epsilon, delta)-differentially private.
-- nulls: NULL in, NULL out.
-- guarantee: checked as in sdgs_epsilon; the search ends at the k for which the Chernoff bound of Theorem 6 suffices.
-- example: FROM priv.sdgs_k(0.1, 1.0, 1e-6)
-- expect: [(9,)]
CREATE MACRO sdgs_k(beta, epsilon, delta) AS TABLE
WITH RECURSIVE __priv_search AS (
  SELECT 0 AS step, CAST(0 AS BIGINT) AS low, TRY_CAST(greatest(ceil(ln(_asked(delta)) / ln(CASE WHEN _sdgs_sound(1, beta, epsilon) THEN _sdgs_smooth(1, beta, epsilon) END)), 1) AS BIGINT) AS high
  UNION ALL
  SELECT step + 1,
    CASE WHEN _sdgs_delta((low + high) // 2, beta, epsilon) <= delta THEN low ELSE (low + high) // 2 END,
    CASE WHEN _sdgs_delta((low + high) // 2, beta, epsilon) <= delta THEN (low + high) // 2 ELSE high END
  FROM __priv_search WHERE step < 62 AND high - low > 1
)
SELECT CASE WHEN _sdgs_delta_checked(high, beta, epsilon) <= delta THEN high
    WHEN _sdgs_delta_checked(high, beta, epsilon) > delta THEN error('sqlpriv: no k reaches this delta') END AS k
FROM __priv_search ORDER BY step DESC LIMIT 1;

-- sdgs_beta(k, epsilon, delta) -> beta
-- The largest sampling probability, to 12 digits, for which sampled k-anonymity is (epsilon, delta)-differentially private.
-- nulls: NULL in, NULL out.
-- guarantee: checked as in sdgs_epsilon, and at most 1 - e^-epsilon as Theorem 1 asks.
-- example: SELECT round(beta, 6) FROM priv.sdgs_beta(20, 1.0, 1e-6)
-- expect: [(0.297342,)]
CREATE MACRO sdgs_beta(k, epsilon, delta) AS TABLE
WITH RECURSIVE __priv_search AS (
  SELECT 0 AS step, CAST(0 AS DOUBLE) AS low, CASE WHEN _copies(k) > 0 THEN 1 - exp(-_budget(epsilon)) END AS high
  UNION ALL
  SELECT step + 1,
    CASE WHEN _sdgs_delta(k, (low + high) / 2, epsilon) <= delta THEN (low + high) / 2 ELSE low END,
    CASE WHEN _sdgs_delta(k, (low + high) / 2, epsilon) <= delta THEN high ELSE (low + high) / 2 END
  FROM __priv_search WHERE step < 60
)
SELECT CASE
    WHEN _sdgs_delta_checked(k, 1 - exp(-epsilon), epsilon) <= _asked(delta) THEN 1 - exp(-epsilon)
    WHEN k IS NOT NULL AND epsilon IS NOT NULL AND delta IS NOT NULL THEN low
  END AS beta
FROM __priv_search WHERE step = 60;

-- sdgs_smooth_delta(k, beta, epsilon)
-- The Chernoff bound on sdgs_delta, by which sampled k-anonymity is f-smooth (Li, Qardaji and Su 2011, Theorem 6). For every epsilon at once the chance of a
-- breach beyond it is at most this, so a worse breach is rarer.
-- nulls: NULL in, NULL out.
-- guarantee: never below sdgs_delta. f(z) = sdgs_smooth_delta(k, beta, z epsilon) / sdgs_smooth_delta(k, beta, epsilon).
-- example: SELECT priv.sdgs_smooth_delta(20, 0.1, 1.0) >= priv.sdgs_delta(20, 0.1, 1.0)
-- expect: [(True,)]
CREATE MACRO sdgs_smooth_delta(k, beta, epsilon) AS
CASE WHEN _sdgs_sound(k, beta, epsilon) THEN _sdgs_smooth(k, beta, epsilon) END;

-- amplified_epsilon(epsilon, beta)
-- The epsilon of an epsilon-differentially private algorithm run on a sample taken with probability beta:
-- ln(1 + beta (e^epsilon - 1)) (Li, Qardaji and Su 2011, Corollary 4). From one sampling rate to a smaller one, pass their ratio.
-- nulls: NULL in, NULL out.
-- guarantee: for pure differential privacy only; with a delta above 0 the paper leaves the question open.
-- example: SELECT round(exp(priv.amplified_epsilon(ln(2), 0.1)), 12)
-- expect: [(1.1,)]
CREATE MACRO amplified_epsilon(epsilon, beta) AS
CASE
  WHEN NOT (beta > 0 AND beta <= 1) THEN error('sqlpriv: beta, the sampling probability, must lie between 0 and 1')
  WHEN NOT (epsilon >= 0 AND epsilon <= CAST('Infinity' AS DOUBLE)) THEN error('sqlpriv: epsilon must be at least 0')
  ELSE ln(1 + beta * (exp(epsilon) - 1))
END;

-- composition(epsilons, deltas) -> epsilon, delta
-- The guarantee of several releases of the same data together: epsilons and deltas add up (Li, Qardaji and Su 2011, Theorem 2).
-- nulls: a NULL among them makes the answer an error.
-- guarantee: holds for differentially private releases. Generalized tables do not compose at all.
-- example: FROM priv.composition([0.5, 1.0], [1e-6, 1e-6])
-- expect: [(1.5, 2e-06)]
CREATE MACRO composition(epsilons, deltas) AS TABLE
SELECT sums[1] AS epsilon, sums[2] AS delta
FROM (SELECT CASE
    WHEN coalesce(len(epsilons), 0) = 0 OR coalesce(len(epsilons) <> len(deltas), true) THEN error('sqlpriv: composition needs one delta for each epsilon')
    WHEN list_count(epsilons) < len(epsilons) OR list_count(deltas) < len(deltas) THEN error('sqlpriv: an epsilon or delta is NULL')
    WHEN least(list_min(epsilons), list_min(deltas)) < 0 OR greatest(list_max(epsilons), list_max(deltas)) > CAST('Infinity' AS DOUBLE)
      THEN error('sqlpriv: an epsilon or delta is negative or not a number')
    ELSE [CAST(list_sum(epsilons) AS DOUBLE), CAST(list_sum(deltas) AS DOUBLE)]
  END AS sums);

-- delta, its arguments checked. greatest() ignores NULL, so a NULL has to be caught before the formula.
CREATE MACRO _sdgs_delta_checked(k, beta, epsilon) AS
CASE WHEN _sdgs_sound(k, beta, epsilon) THEN _sdgs_delta(k, beta, epsilon) END;

-- Whether the arguments make sense: an error if not, NULL if one is NULL. To DuckDB NaN is above infinity.
CREATE MACRO _sdgs_sound(k, beta, epsilon) AS
CASE
  WHEN CAST(_copies(k) AS DOUBLE) + _sampling(beta) + CAST(epsilon AS DOUBLE) IS NULL THEN NULL
  WHEN NOT (epsilon >= -ln(1 - _sampling(beta)) - _hair() AND epsilon <= CAST('Infinity' AS DOUBLE))
    THEN error('sqlpriv: epsilon must be at least -ln(1 - beta)')
  ELSE true
END;
CREATE MACRO _copies(k) AS
CASE WHEN k IS NULL OR k BETWEEN 1 AND 1e9 AND k = floor(k) THEN k ELSE error('sqlpriv: k must be a whole number of at least 1') END;
CREATE MACRO _sampling(beta) AS
CASE WHEN beta IS NULL OR beta > 0 AND beta < 1 THEN CAST(beta AS DOUBLE)
  ELSE error('sqlpriv: beta, the sampling probability, must lie between 0 and 1') END;
CREATE MACRO _budget(epsilon) AS
CASE WHEN epsilon IS NULL OR epsilon > 0 AND epsilon <= CAST('Infinity' AS DOUBLE) THEN CAST(epsilon AS DOUBLE)
  ELSE error('sqlpriv: epsilon must be greater than 0') END;
CREATE MACRO _asked(delta) AS
CASE WHEN delta IS NULL OR delta > 0 AND delta <= 1 THEN CAST(delta AS DOUBLE)
  ELSE error('sqlpriv: delta must be greater than 0 and at most 1') END;

-- Candidates are the largest n with the same smallest bad count j, n = ceil(j / gamma - 1), for j = k, k + 1, ... as long as
-- the Chernoff bound exp(-n rate) is not below the value at j = k.
CREATE MACRO _sdgs_delta(k, beta, epsilon) AS
exp(list_max(list_transform(
  range(TRY_CAST(k AS BIGINT), TRY_CAST(greatest(k, ceil(_gamma(beta, epsilon) * (-_log_tail(k, beta, epsilon) / _chernoff_rate(beta, _gamma(beta, epsilon)) + 1))) AS BIGINT) + 2),
  lambda __priv_j: _log_tail(__priv_j, beta, epsilon))));

CREATE MACRO _gamma(beta, epsilon) AS (1 - (1 - beta) * exp(-epsilon));
CREATE MACRO _chernoff_rate(beta, gamma) AS (gamma * ln(gamma / beta) - (gamma - beta));
CREATE MACRO _sdgs_smooth(k, beta, epsilon) AS
exp(-k * _chernoff_rate(beta, _gamma(beta, epsilon)) / _gamma(beta, epsilon));

-- ln P(Binomial(n, beta) >= j) for the n that belongs to j. Its terms fall at least as fast as powers of beta e^-epsilon / gamma,
-- so the sum stops where nothing is left of them in a double; everything relative to the first term.
CREATE MACRO _log_tail(j, beta, epsilon) AS
(_log_binomial(_trials(j, beta, epsilon), j, beta)
  + ln(list_sum(list_transform(
      range(TRY_CAST(j AS BIGINT), TRY_CAST(least(_trials(j, beta, epsilon), j + ceil(-42 / ln(greatest(beta * exp(-epsilon) / _gamma(beta, epsilon), 1e-300)))) AS BIGINT) + 1),
      lambda __priv_i: exp(_log_binomial(_trials(j, beta, epsilon), __priv_i, beta)
        - _log_binomial(_trials(j, beta, epsilon), j, beta))))));

-- The largest n whose smallest bad count is j.
CREATE MACRO _trials(j, beta, epsilon) AS greatest(ceil(j / _gamma(beta, epsilon) - 1), j);

CREATE MACRO _log_binomial(n, j, beta) AS
(lgamma(n + 1) - lgamma(j + 1) - lgamma(n - j + 1) + j * ln(beta) + (n - j) * ln(1 - beta));
