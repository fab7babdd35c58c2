-- alpha_beta_parameters(d, gamma, adversary, choice) -> alpha, beta
-- The alpha and beta of a view in which no belief of at most d becomes larger than gamma. The view keeps an element of the table with probability p = alpha
-- + beta, and adds any other element of the domain with probability beta. Let R = d (1 - gamma) / (gamma (1 - d)). The adversary 'exclusive', who knows who
-- is in the table (choice 'default'), has p = 1/2, beta = R / (1 + R). The adversary 'independent' has beta = p R, and p = 1/2 (choice 'paper', the default)
-- or p = 1 - d / gamma ('tight').
-- nulls: NULL in, NULL out.
-- guarantee: the posterior of any element is at most gamma, exactly reached. Against the independent adversary it is also at
-- least d / gamma of the prior (Rastogi, Suciu and Hong 2007, Definition 2.3); against the exclusive one it may fall to
-- nearly 0. 'tight' does not protect against the exclusive adversary at all: see exclusive_posterior of
-- alpha_beta_guarantee. With slots pass alpha_beta_slot_prior. d and gamma are published: make neither from private counts.
-- example: SELECT round(alpha, 6), round(beta, 6) FROM priv.alpha_beta_parameters(0.01, 0.2, 'exclusive', 'default')
-- expect: [(0.461165, 0.038835)]
CREATE MACRO alpha_beta_parameters(d, gamma, adversary, choice) AS TABLE
SELECT p - p * ratio AS alpha, p * ratio AS beta
FROM (
  SELECT _kept(d, gamma, adversary, choice) AS p,
    CASE WHEN CAST(adversary AS VARCHAR) = 'exclusive' THEN 2 * _odds_ratio(d, gamma) / (1 + _odds_ratio(d, gamma)) ELSE _odds_ratio(d, gamma) END AS ratio
) AS __priv_p;

-- alpha_beta_slot_prior(d, slots [, adversary]) -> d
-- The bound for one element, when equal rows are distinguished by a random free slot of 1..slots and a tuple has a prior of at most
-- d. To the 'independent' adversary, the default, the slots of a tuple exclude each other. The d to pass to the other macros is d' = (d / slots) / (1 - d +
-- d / slots). To the 'exclusive' one each person has one tuple, its prior spread over the slots: d / slots.
-- nulls: NULL in, NULL out.
-- guarantee: with d' the belief in a row, an element (tuple, slot), is at most gamma also when a tuple has one row at most. Its slots exclude each other
-- then; d / slots would let the independent adversary pass gamma by a hair. A tuple in several slots of the view is believed more than each of them, and
-- rows that come in pairs are out of scope.
-- example: SELECT round(d, 8) FROM priv.alpha_beta_slot_prior(0.01, 50)
-- expect: [(0.00020198,)]
CREATE MACRO alpha_beta_slot_prior(d, slots, adversary) AS TABLE
SELECT _slot_prior(prior, number, adversary) AS d
FROM (SELECT _prior_bound(d) AS prior, _amount(slots, 1, 'slots') AS number) AS __priv_d;

-- alpha_beta_guarantee(d, gamma, alpha, beta) -> independent, exclusive, independent_posterior, exclusive_posterior, retained, independent_gamma, epsilon
-- What given coins are worth. independent and exclusive say whether (d, gamma) is kept against that adversary. The posteriors are the largest beliefs that a
-- prior of d can become. retained is the smallest posterior / prior of the independent adversary. independent_gamma is the smallest gamma that holds for
-- this d, none if it is 1 or more; for the exclusive adversary it is exclusive_posterior. epsilon is that of differential privacy for one element more or
-- less, infinity when a draw has only one outcome.
-- nulls: NULL in, NULL out.
-- guarantee: independent holds when beta >= (alpha + beta) R and alpha + beta <= 1 - d / gamma (Theorem 4.3). exclusive holds when exclusive_posterior = d p
-- (1 - beta) / (d p (1 - beta) + (1 - d) (1 - p) beta) is at most gamma, p = alpha + beta. Both to 12 digits.
-- example: SELECT independent, exclusive, round(exclusive_posterior, 6) FROM priv.alpha_beta_guarantee(0.01, 0.2, 0.48, 0.02)
-- expect: [(False, False, 0.331081)]
CREATE MACRO alpha_beta_guarantee(d, gamma, alpha, beta) AS TABLE
SELECT b >= p * r * (1 - _hair()) AND p <= 1 - prior / posterior + _hair() AS independent,
  prior * p * (1 - b) * (1 - posterior) <= posterior * (1 - prior) * (1 - p) * b * (1 + _hair()) AS exclusive,
  prior * p / (prior * p + (1 - prior) * b) AS independent_posterior,
  prior * p * (1 - b) / (prior * p * (1 - b) + (1 - prior) * (1 - p) * b) AS exclusive_posterior,
  (1 - p) / (1 - b) AS retained,
  CASE WHEN p = 1 THEN CAST('Infinity' AS DOUBLE) ELSE greatest(prior * p / (prior * p + (1 - prior) * b), prior / (1 - p)) END AS independent_gamma,
  CASE WHEN b = 0 OR p = 1 THEN CAST('Infinity' AS DOUBLE) ELSE greatest(ln(p / b), ln((1 - b) / (1 - p))) END AS epsilon
FROM (
  SELECT r, prior, posterior, CASE WHEN r IS NOT NULL THEN _kept_by(alpha, beta) END AS p, CASE WHEN r IS NOT NULL THEN _noise(alpha, beta) END AS b
  FROM (SELECT _odds_ratio(d, gamma) AS r, _prior_bound(d) AS prior, _posterior_bound(gamma) AS posterior) AS __priv_r
) AS __priv_p;

-- alpha_beta_error(rows, domain, alpha, beta, hits, domain_hits [, failure]) -> expected_rows, standard_error, bound, half_domain_error, possible
-- What a view with this alpha and beta will be like, for a table of `rows` elements in a domain of `domain` elements (tuples, or tuples times slots). It has
-- the expected rows, and the error of a count whose true answer is hits and that domain_hits elements of the domain satisfy. bound is the error that any
-- count exceeds in at most a share `failure` of the views, 0.05 by default (Theorem 4.4). half_domain_error is the standard error of a count over half the
-- rows and half the domain. possible says whether that is at most `rows`.
-- nulls: NULL in, NULL out.
-- guarantee: standard_error is exact. bound is sqrt(2 (rows + beta domain / alpha^2) ln(2 / failure)), and NULL where the theorem does not hold. That is
-- when alpha + beta is below 1/2, or when failure is below 0.05 and ln(2 / failure)^3 is above 4 (alpha^2 rows + beta domain). Noise in a small table has a
-- longer tail than the theorem says (1 row, failure 0.01: .0125). In all tables that were enumerated, up to 3,000 elements, the rest holds. Not possible:
-- the view says nothing (as Theorem 3.3 has it, whose constant is not known).
-- example: SELECT round(expected_rows, 2), round(standard_error, 4), possible FROM priv.alpha_beta_error(100, 10000, 0.45, 0.05, 40, 2000)
-- expect: [(545.0, 22.564, True)]
CREATE MACRO alpha_beta_error(rows, domain, alpha, beta, hits, domain_hits, failure) AS TABLE
SELECT n * p + (m - n) * b AS expected_rows,
  sqrt(h * p * (1 - p) + (m_h - h) * b * (1 - b)) / a AS standard_error,
  CASE WHEN p >= 0.5 - _hair() AND (tail <= ln(40) + _hair() OR pow(tail, 3) <= 4 * (a * a * n + b * m)) THEN sqrt(2 * (n + b * m / (a * a)) * tail) END AS bound,
  sqrt(n * p * (1 - p) + (m - n) * b * (1 - b)) / (a * sqrt(2)) AS half_domain_error,
  sqrt(n * p * (1 - p) + (m - n) * b * (1 - b)) / (a * sqrt(2)) <= n AS possible
FROM (
  SELECT n, h, m, m_h, tail, CASE WHEN sound THEN _difference(alpha, beta) END AS a, CASE WHEN sound THEN _noise(alpha, beta) END AS b,
    CASE WHEN sound THEN _kept_by(alpha, beta) END AS p
  FROM (
    SELECT n, h, m, m_h, tail, CASE
        WHEN n + m + h + m_h + tail IS NULL THEN NULL
        WHEN n > m THEN error('sqlpriv: rows, the number of elements in the table, cannot be more than the domain has')
        WHEN h > n OR h > m_h OR m_h > m OR n - h > m - m_h THEN error('sqlpriv: hits and domain_hits do not fit: of the rows hits, of the domain domain_hits elements satisfy the query')
        ELSE true END AS sound
    FROM (SELECT _amount(rows, 1, 'rows') AS n, _amount(domain, 1, 'domain') AS m, _amount(hits, 0, 'hits') AS h, _amount(domain_hits, 0, 'domain_hits') AS m_h, _log_failure(failure) AS tail) AS __priv_n
  ) AS __priv_s
) AS __priv_p;

-- alpha_beta_weights(alpha, beta) -> source, weight, variance, skew
-- The weights that make ordinary sums over a view and its domain estimates of sums over the private table. For a column f, sum(weight f) over the rows of
-- the view and all of the domain estimates the sum of f, and sum(variance f^2) its variance. sum(skew f^3) / sum(variance f^2) says how much that variance
-- grows with each unit of the true sum, for a score interval.
-- nulls: NULL in, NULL out.
-- guarantee: both estimates are unbiased over the random noise. With noise of its own beta(t) for each tuple, the weights of a tuple are
-- those of (alpha, beta(t)). beta = 0 is a plain sample.
-- example: SELECT source, round(weight, 6), round(variance, 6), round(skew, 6) FROM priv.alpha_beta_weights(0.4, 0.1)
-- expect: [('view', 2.5, 2.5, 2.5), ('domain', -0.25, 0.3125, 0.3125)]
CREATE MACRO alpha_beta_weights(alpha, beta) AS TABLE FROM _alpha_beta_weights(alpha, beta);
CREATE MACRO _alpha_beta_weights(alpha, beta) AS TABLE
SELECT CASE WHEN a IS NOT NULL THEN kind END AS source,
  CASE kind WHEN 'view' THEN 1 / a ELSE -b / a END AS weight,
  CASE kind WHEN 'view' THEN _view_variance(p, b) ELSE _domain_variance(p, b) END AS variance,
  CASE kind WHEN 'view' THEN _view_variance(p, b) ELSE _domain_variance(p, b) END * (1 - p - b) / a AS skew
FROM (SELECT _difference(alpha, beta) AS a, _noise(alpha, beta) AS b, _kept_by(alpha, beta) AS p) AS __priv_p,
  (VALUES ('view'), ('domain')) AS __priv_s(kind);

-- sequence_parameters(d, gamma, views) -> alpha, beta, persist
-- The coins of a sequence of at most `views` views of a table whose rows come and go. An element of the table is in a view with
-- p = alpha + beta. One that is not in the table with p persist if it was in an earlier view of the sequence, else with beta.
-- p = min(1/2, 1 - (d / gamma)^(1/views)), beta = exp((views - 1) / views) p R, persist = exp(-1/views).
-- nulls: NULL in, NULL out.
-- guarantee: (d, gamma)-privacy against the independent adversary after all the views together, whatever rows were added or
-- removed between them, R as in alpha_beta_parameters. The single-view parameters, or the fading noise of the paper's Algorithm
-- 4, do not give it: a row added at the second view then reaches 1/3 for gamma = 0.2.
-- example: SELECT round(alpha, 6), round(beta, 6), round(persist, 6) FROM priv.sequence_parameters(0.01, 0.2, 2)
-- expect: [(0.466692, 0.033308, 0.606531)]
CREATE MACRO sequence_parameters(d, gamma, views) AS TABLE
SELECT p - b AS alpha, b AS beta, CASE WHEN b IS NOT NULL THEN exp(-1 / v) END AS persist
FROM (
  SELECT p, v, CASE
      WHEN exp((v - 1) / v) * r < 1 - 1e-9 THEN exp((v - 1) / v) * r * p
      WHEN exp((v - 1) / v) * r >= 1 - 1e-9 THEN error('sqlpriv: so many views cannot be private: exp((views - 1) / views) R must be below 1; lower d, raise gamma or publish fewer')
    END AS b
  FROM (
    SELECT r, v, CASE WHEN pow(prior / posterior, 1 / v) <= 0.5 THEN CAST(0.5 AS DOUBLE) ELSE 1 - pow(prior / posterior, 1 / v) END AS p
    FROM (SELECT _odds_ratio(d, gamma) AS r, _prior_bound(d) AS prior, _posterior_bound(gamma) AS posterior, _amount(views, 1, 'views') AS v) AS __priv_v
  ) AS __priv_p
) AS __priv_b;

-- sequence_weights(alpha, beta, persist) -> source, weight, variance, skew
-- The weights of alpha_beta_weights for a later view of a sequence, by the kind of a row. 'both' is for rows in this view and an earlier one, 'earlier' for
-- those of earlier views only. 'view' is for those in this view alone, and 'domain' for all elements of the domain. The first view has no earlier one and
-- the weights of alpha_beta_weights.
-- nulls: NULL in, NULL out.
-- guarantee: unbiased given the earlier views, whatever the history of the table: the elements of earlier views are a
-- domain with noise p persist of their own, the others one with noise beta. The variance, too, is the one given the earlier views.
-- example: SELECT source, round(weight, 6) FROM priv.sequence_weights(0.4, 0.1, 0.5)
-- expect: [('both', 3.25), ('earlier', -0.75), ('view', 2.5), ('domain', -0.25)]
CREATE MACRO sequence_weights(alpha, beta, persist) AS TABLE
SELECT CASE WHEN a IS NOT NULL THEN kind END AS source,
  CASE kind WHEN 'both' THEN (1 - b1) / a1 + b / a WHEN 'earlier' THEN -b1 / a1 + b / a WHEN 'view' THEN 1 / a ELSE -b / a END AS weight,
  CASE kind
    WHEN 'both' THEN _view_variance(p, b1) + _domain_variance(p, b1) - _domain_variance(p, b)
    WHEN 'earlier' THEN _domain_variance(p, b1) - _domain_variance(p, b)
    WHEN 'view' THEN _view_variance(p, b) ELSE _domain_variance(p, b) END AS variance,
  CASE kind
    WHEN 'both' THEN (_view_variance(p, b1) + _domain_variance(p, b1)) * (1 - p - b1) / a1 - _domain_variance(p, b) * (1 - p - b) / a
    WHEN 'earlier' THEN _domain_variance(p, b1) * (1 - p - b1) / a1 - _domain_variance(p, b) * (1 - p - b) / a
    WHEN 'view' THEN _view_variance(p, b) * (1 - p - b) / a ELSE _domain_variance(p, b) * (1 - p - b) / a END AS skew
FROM (
  SELECT a, b, p, p * e AS b1, p * (1 - e) AS a1
  FROM (
    SELECT e, CASE WHEN e IS NOT NULL THEN _difference(alpha, beta) END AS a, CASE WHEN e IS NOT NULL THEN _noise(alpha, beta) END AS b,
      CASE WHEN e IS NOT NULL THEN _kept_by(alpha, beta) END AS p
    FROM (SELECT _persistence(persist) AS e) AS __priv_e
  ) AS __priv_p
) AS __priv_w, (VALUES ('both'), ('earlier'), ('view'), ('domain')) AS __priv_s(kind);

-- ln(2 / failure): what a failure probability adds to a bound of both tails.
CREATE MACRO _log_failure() AS ln(40);
CREATE MACRO _log_failure(failure) AS
CASE WHEN failure IS NULL THEN NULL WHEN TRY_CAST(failure AS DOUBLE) > 0 AND TRY_CAST(failure AS DOUBLE) < 1 THEN ln(2 / TRY_CAST(failure AS DOUBLE))
  ELSE error('sqlpriv: failure, the share of views in which a count may be further off, must lie between 0 and 1') END;

-- The prior of one slot of a tuple.
CREATE MACRO _slot_prior(prior, number) AS (prior / number / (1 - prior + prior / number));
CREATE MACRO _slot_prior(prior, number, adversary) AS
CASE
  WHEN CAST(adversary AS VARCHAR) = 'exclusive' THEN prior / number
  WHEN CAST(adversary AS VARCHAR) = 'independent' THEN _slot_prior(prior, number)
  WHEN adversary IS NOT NULL THEN error('sqlpriv: the adversary is exclusive or independent')
END;

-- p, the probability to keep an element of the table, all arguments checked.
CREATE MACRO _kept(d, gamma, adversary, choice) AS
CASE
  WHEN adversary IS NULL OR choice IS NULL OR _odds_ratio(d, gamma) IS NULL THEN NULL
  WHEN CAST(adversary AS VARCHAR) NOT IN ('exclusive', 'independent') THEN error('sqlpriv: the adversary is exclusive or independent')
  WHEN CAST(choice AS VARCHAR) NOT IN ('default', 'paper', 'tight') THEN error('sqlpriv: the choice of parameters is default, paper or tight')
  WHEN CAST(adversary AS VARCHAR) = 'exclusive' AND CAST(choice AS VARCHAR) <> 'default'
    THEN error('sqlpriv: paper and tight protect against the independent adversary only; the exclusive one needs default')
  WHEN CAST(adversary AS VARCHAR) = 'exclusive' THEN CAST(0.5 AS DOUBLE)
  WHEN CAST(choice AS VARCHAR) = 'tight' THEN 1 - _prior_bound(d) / _posterior_bound(gamma)
  WHEN _prior_bound(d) / _posterior_bound(gamma) <= 0.5 THEN CAST(0.5 AS DOUBLE)
  ELSE error('sqlpriv: to keep every second row d must be at most gamma / 2; lower d, raise gamma or choose tight')
END;

-- R = d (1 - gamma) / (gamma (1 - d)): what of the odds of gamma the prior odds are. Near 1 nothing would be left of alpha.
CREATE MACRO _odds_ratio(d, gamma) AS
CASE
  WHEN _prior_bound(d) IS NULL OR _posterior_bound(gamma) IS NULL THEN NULL
  WHEN _prior_bound(d) * (1 - _posterior_bound(gamma)) < _posterior_bound(gamma) * (1 - _prior_bound(d)) * (1 - 1e-9)
    THEN _prior_bound(d) * (1 - _posterior_bound(gamma)) / (_posterior_bound(gamma) * (1 - _prior_bound(d)))
  ELSE error('sqlpriv: d must be below gamma: a belief as large as gamma cannot be kept below it')
END;
CREATE MACRO _prior_bound(d) AS
CASE WHEN d IS NULL THEN NULL WHEN TRY_CAST(d AS DOUBLE) > 0 AND TRY_CAST(d AS DOUBLE) < 1 THEN TRY_CAST(d AS DOUBLE)
  ELSE error('sqlpriv: d, the bound on the prior, must lie between 0 and 1') END;
CREATE MACRO _posterior_bound(gamma) AS
CASE WHEN gamma IS NULL THEN NULL WHEN TRY_CAST(gamma AS DOUBLE) > 0 AND TRY_CAST(gamma AS DOUBLE) < 1 THEN TRY_CAST(gamma AS DOUBLE)
  ELSE error('sqlpriv: gamma, the bound on the posterior, must lie between 0 and 1') END;
CREATE MACRO _persistence(persist) AS
CASE WHEN persist IS NULL THEN NULL WHEN TRY_CAST(persist AS DOUBLE) > 0 AND TRY_CAST(persist AS DOUBLE) < 1 THEN TRY_CAST(persist AS DOUBLE)
  ELSE error('sqlpriv: persist, what is left of p for a row of an earlier view, must lie between 0 and 1') END;

-- A number of rows or elements; a domain may be larger than any whole number type, so it stays a double.
CREATE MACRO _amount(number, lowest, label) AS
CASE WHEN number IS NULL THEN NULL
  WHEN TRY_CAST(number AS DOUBLE) BETWEEN lowest AND 1e300 AND TRY_CAST(number AS DOUBLE) = floor(TRY_CAST(number AS DOUBLE)) THEN TRY_CAST(number AS DOUBLE)
  ELSE error(concat('sqlpriv: ', label, ' must be a whole number of at least ', lowest)) END;

-- alpha, beta and their sum, each refused where both together make no probabilities.
CREATE MACRO _difference(alpha, beta) AS CASE WHEN _coins(alpha, beta) THEN TRY_CAST(alpha AS DOUBLE) END;
CREATE MACRO _noise(alpha, beta) AS CASE WHEN _coins(alpha, beta) THEN TRY_CAST(beta AS DOUBLE) END;
CREATE MACRO _kept_by(alpha, beta) AS CASE WHEN _coins(alpha, beta) THEN least(TRY_CAST(alpha AS DOUBLE) + TRY_CAST(beta AS DOUBLE), 1) END;
CREATE MACRO _coins(alpha, beta) AS
CASE
  WHEN alpha IS NOT NULL AND NOT coalesce(TRY_CAST(alpha AS DOUBLE) > 0 AND TRY_CAST(alpha AS DOUBLE) <= 1, false)
    THEN error('sqlpriv: alpha must be greater than 0 and at most 1')
  WHEN _noise_bound(beta) IS NULL OR alpha IS NULL THEN NULL
  WHEN TRY_CAST(alpha AS DOUBLE) + TRY_CAST(beta AS DOUBLE) <= 1 + _hair() THEN true
  ELSE error('sqlpriv: alpha + beta, the probability to keep a row, must be at most 1')
END;

CREATE MACRO _noise_bound(beta) AS
CASE WHEN beta IS NULL THEN NULL WHEN TRY_CAST(beta AS DOUBLE) >= 0 AND TRY_CAST(beta AS DOUBLE) < 1 THEN TRY_CAST(beta AS DOUBLE)
  ELSE error('sqlpriv: beta, the probability of noise, must be at least 0 and below 1') END;

-- -ln(1 - b): written like that, the digits of a small b would be lost, and the noise of a large domain be none.
CREATE MACRO _minus_log(b) AS (2 * atanh(b / (2 - b)));

-- The variance that a row of the view and a row of the domain stand for.
CREATE MACRO _view_variance(p, b) AS ((1 - p - b) / ((p - b) * (p - b)));
CREATE MACRO _domain_variance(p, b) AS (p * b / ((p - b) * (p - b)));
