-- sdgs_replaced(epsilon, delta) -> epsilon, delta
-- What an (epsilon, delta) for a row added or left out is worth when a row is replaced by another: it is left out, and the other is added.
-- nulls: NULL in, NULL out.
-- guarantee: (2 epsilon, (1 + e^epsilon) delta). The two kinds of epsilon are never added up: each release is taken in one of them.
-- example: SELECT epsilon, round(delta * 1e6, 6) FROM priv.sdgs_replaced(2.0, 1e-6)
-- expect: [(4.0, 8.389056)]
CREATE MACRO sdgs_replaced(epsilon, delta) AS TABLE
SELECT 2 * _spent(epsilon) AS epsilon, CASE WHEN epsilon IS NOT NULL AND delta IS NOT NULL THEN least((1 + exp(_spent(epsilon))) * _slipped(delta), 1) END AS delta;

-- sdgs_person(epsilon, delta, rows_each) -> epsilon, delta
-- What an (epsilon, delta) for one row is worth for a person with at most so many rows, which are sampled independently.
-- nulls: NULL in, NULL out.
-- guarantee: (r epsilon, delta (1 + e^epsilon + ... + e^((r-1) epsilon))), one row after the other. It does not hold where persons are sampled
-- as a whole: two rows of one class then come and go together.
-- example: SELECT epsilon, round(delta * 1e6, 6) FROM priv.sdgs_person(1.0, 1e-6, 2)
-- expect: [(2.0, 3.718282)]
CREATE MACRO sdgs_person(epsilon, delta, rows_each) AS TABLE
SELECT _copies(rows_each) * _spent(epsilon) AS epsilon,
  CASE WHEN epsilon IS NOT NULL AND delta IS NOT NULL AND rows_each IS NOT NULL THEN least(_slipped(delta) * list_sum(list_transform(
    range(TRY_CAST(_copies(rows_each) AS BIGINT)), lambda __priv_i: exp(__priv_i * _spent(epsilon)))), 1) END AS delta;

-- sdgs_groups(epsilon, delta, groups) -> epsilon, delta
-- What an (epsilon, delta) for one group of columns is worth for so many groups, each published from a sample of its own.
-- nulls: NULL in, NULL out.
-- guarantee: epsilons and deltas add up (Li, Qardaji and Su 2011, Theorem 2), since the coins of the groups are independent. It does not hold where
-- all groups show one sample: rows that are alike in one group and not in another can then be distinguished.
-- example: SELECT epsilon, round(delta * 1e6, 6) FROM priv.sdgs_groups(0.5, 1e-6, 3)
-- expect: [(1.5, 3.0)]
CREATE MACRO sdgs_groups(epsilon, delta, groups) AS TABLE
SELECT CASE WHEN delta IS NULL OR _slipped(delta) IS NOT NULL THEN _copies(groups) * _spent(epsilon) END AS epsilon,
  CASE WHEN _spent(epsilon) IS NOT NULL AND delta IS NOT NULL AND groups IS NOT NULL THEN least(_copies(groups) * _slipped(delta), 1) END AS delta;

-- sdgs_shown_rows(rows, k, beta)
-- How many rows of a class of so many are to be expected in a release by sampled k-anonymity: those that are sampled, if they are k at least.
-- nulls: NULL in, NULL out.
-- guarantee: rows beta P(Binomial(rows - 1, beta) >= k - 1). Summed over the classes it is the score of a node: it never falls when a row is added.
-- example: SELECT round(priv.sdgs_shown_rows(300, 20, 0.1), 4)
-- expect: [(29.6946,)]
CREATE MACRO sdgs_shown_rows(rows, k, beta) AS
CASE
  WHEN rows IS NULL OR _copies(k) IS NULL OR _sampling(beta) IS NULL THEN NULL
  WHEN NOT (rows >= 0 AND rows <= 1e15) THEN error('sqlpriv: a class has a number of rows of at least 0')
  WHEN rows < k THEN CAST(0 AS DOUBLE)
  ELSE rows * _sampling(beta) * _at_least(rows - 1, k - 1, beta)
END;

-- sdgs_sensitivity(k, beta)
-- By how much one row more raises the sum of sdgs_shown_rows over the classes, at most.
-- nulls: NULL in, NULL out.
-- guarantee: beta max over s of P(Binomial(s, beta) >= k) + k P(Binomial(s, beta) = k - 1), which is largest at s = ceil(k / beta) - 2. All nodes
-- rise with a row that is added, so that a node drawn with weights exp(epsilon score / sensitivity) is epsilon-differentially private.
-- example: SELECT round(priv.sdgs_sensitivity(20, 0.1), 4)
-- expect: [(0.2398,)]
CREATE MACRO sdgs_sensitivity(k, beta) AS
CASE WHEN _copies(k) IS NOT NULL AND _sampling(beta) IS NOT NULL THEN _sampling(beta) * list_max(list_transform(
  [-1, 0, 1], lambda __priv_i: _one_row_more(greatest(ceil(k / _sampling(beta)) - 2 + __priv_i, k - 1), k, beta))) END;
CREATE MACRO _one_row_more(rows, k, beta) AS (_at_least(rows, k, beta) + k * exp(_log_binomial(rows, k - 1, beta)));

-- P(Binomial(n, beta) >= j), by what is below: right to the last digits of 1, which is what a score needs.
CREATE MACRO _at_least(n, j, beta) AS
CASE WHEN j <= 0 THEN CAST(1 AS DOUBLE) WHEN n < j THEN CAST(0 AS DOUBLE) ELSE greatest(1 - list_sum(list_transform(
  range(TRY_CAST(j AS BIGINT)), lambda __priv_b: exp(_log_binomial(n, __priv_b, beta)))), 0) END;

CREATE MACRO _spent(epsilon) AS
CASE WHEN epsilon IS NULL OR epsilon >= 0 AND epsilon <= CAST('Infinity' AS DOUBLE) THEN CAST(epsilon AS DOUBLE)
  ELSE error('sqlpriv: epsilon must be at least 0') END;
CREATE MACRO _slipped(delta) AS
CASE WHEN delta IS NULL OR delta >= 0 AND delta <= 1 THEN CAST(delta AS DOUBLE) ELSE error('sqlpriv: delta must lie between 0 and 1') END;

-- How many rows there are of a kind of which `seen` were sampled with probability beta, at least and at most: the numbers n for which
-- seen is within z deviations of n beta, sqrt(n beta (1 - beta)) each, and some room for what is skew about a binomial number. zz is z^2. Each
-- end fails no more often than half of what the confidence leaves, for all n and beta that were tried (.001 to .999, z to 3.3).
CREATE MACRO _sampled_low(seen, beta, zz) AS
greatest(seen, (greatest(seen - _skew_room(zz), 0) + zz * (1 - beta) / 2
  - sqrt(zz * (1 - beta) * greatest(seen - _skew_room(zz), 0) + zz * (1 - beta) * zz * (1 - beta) / 4)) / beta);
CREATE MACRO _sampled_high(seen, beta, zz) AS
((seen + _skew_room(zz) + zz * (1 - beta) / 2
  + sqrt(zz * (1 - beta) * (seen + _skew_room(zz)) + zz * (1 - beta) * zz * (1 - beta) / 4)) / beta);
CREATE MACRO _skew_room(zz) AS greatest((zz + 2) / 6, 1);
-- Likewise for a sum of values between 0 and `most`, as if they were rows that add `most` each: never narrower than it should be.
CREATE MACRO _sampled_sum_low(seen, most, beta, zz) AS CASE WHEN most > 0 THEN most * _sampled_low(seen / most, beta, zz) ELSE 0e0 END;
CREATE MACRO _sampled_sum_high(seen, most, beta, zz) AS CASE WHEN most > 0 THEN most * _sampled_high(seen / most, beta, zz) ELSE 0e0 END;

-- The smallest epsilon for which sampling with probability beta has a guarantee at all.
CREATE MACRO _least_epsilon(beta) AS -ln(1 - CAST(beta AS DOUBLE));
-- What choosing a node and publishing it cost together.
CREATE MACRO _both_spent(epsilon, node_epsilon) AS (CAST(epsilon AS DOUBLE) + CAST(node_epsilon AS DOUBLE));
-- A belief after a release that changes odds by at most e^epsilon, but for a chance of delta, which is added.
CREATE MACRO _belief_but_for(bounded, delta) AS least(CAST(bounded AS DOUBLE) + CAST(delta AS DOUBLE), 1);
-- A multiple of epsilon, for points of a curve.
CREATE MACRO _times(times, epsilon) AS (CAST(times AS DOUBLE) * CAST(epsilon AS DOUBLE));

-- Which of several is drawn by a share (0 to below 1), each with a weight of exp(epsilon score / sensitivity); a number from 1 on.
CREATE MACRO _exponential_draw(scores, epsilon, sensitivity, share) AS
(SELECT 1 + len(list_filter(sums[1:-2], lambda x: x <= coin * sums[-1])) FROM (SELECT _cumulative(list_transform(scores,
  lambda x: exp(CAST(epsilon AS DOUBLE) * (CAST(x AS DOUBLE) - CAST(list_max(scores) AS DOUBLE)) / CAST(sensitivity AS DOUBLE)))) AS sums, share AS coin));
CREATE MACRO _cumulative(weights) AS list_transform(range(1, len(weights) + 1), lambda i: list_sum(weights[1:i]));
-- The chance that some row of n is exposed, at most.
CREATE MACRO _exposed(delta, n) AS least(CAST(delta AS DOUBLE) * CAST(n AS DOUBLE), 1);
-- Whether so many of n rows sampled with probability beta are a sample at all: further off than this comes less often than once in 2^80 (Bernstein).
CREATE MACRO _is_a_sample(seen, n, beta) AS
(abs(seen - n * CAST(beta AS DOUBLE)) <= sqrt(2 * 56 * (n * CAST(beta AS DOUBLE) * (1 - CAST(beta AS DOUBLE)))) + 2 * 56 / 3e0);
-- The sampled rows that may be suppressed where so many classes could be there and so many are shown: fewer than k in each of the others.
CREATE MACRO _rows_not_seen(k, possible, shown) AS ((k - 1) * greatest(possible - shown, 0));
-- The points at which a curve is drawn: from the smallest epsilon that beta allows to twice the one that is asked for.
CREATE MACRO _epsilon_step(beta, epsilon, part) AS
(_least_epsilon(beta) * 1.0001e0 + part * greatest(2 * CAST(epsilon AS DOUBLE) - _least_epsilon(beta), CAST(epsilon AS DOUBLE)));
