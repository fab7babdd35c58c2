-- bag_noise(p, factor [, rows_each]) -> q
-- The noise of noisy counts. Every row of the table is kept with probability p, and EVERY tuple of the domain, in the table or not, gets N
-- copies of noise, P(N = j) = (1 - q) q^j. For the odds to change by at most `factor`, q = p / ((1 - p) (factor - 1)). A person with
-- up to rows_each rows needs factor^(1 / rows_each) in its place, see row_factor; one row is the default.
-- nulls: NULL in, NULL out.
-- guarantee: against one who knows all other persons' rows, the odds of any statement about a person's rows change by at most
-- `factor`, up or down, exactly reached: replace-one differential privacy with epsilon = ln(factor). Refused unless p < 1 - 1 / factor,
-- where q would reach 1. Persons whose rows are tied to each other, and what the population teaches, are not covered.
-- example: SELECT round(q, 6) FROM priv.bag_noise(0.375, 6.4)
-- expect: [(0.111111,)]
CREATE MACRO bag_noise(p, factor, rows_each) AS TABLE
SELECT _hiding(keep, limit_of_row) AS q
FROM (SELECT _keeping(p) AS keep, _row_factor(_factor(factor), _each(rows_each)) AS limit_of_row) AS __priv_p;

-- bag_choice(n_public, domain, factor [, most_rows]) -> p, q, expected_rows, noise_rows, standard_error, half_domain_error
-- The p, with its q as of bag_noise, that makes the error of count(*) smallest for n_public rows in a domain of `domain` tuples, and what the release will
-- be like. Its expected rows are given, how many of them are noise, the standard error of count(*), and that of a count over half the rows and half the
-- domain. most_rows bounds the expected rows of noise: p is smaller where that needs it. For persons with several rows pass row_factor.
-- nulls: NULL in, NULL out.
-- guarantee: that of bag_noise. The variance is n (1 - p) / p + m q / ((1 - q)^2 p^2). With u = 1 - p / (1 - 1 / L) that is (1 - p) / p (n + m / ((L - 1)
-- u^2)). Its slope has the sign of a cubic in u that has one root between 0 and 1, which is found by halving. n_public, not the true number: p reveals it.
-- example: SELECT round(p, 4), round(q, 4), round(expected_rows), round(standard_error) FROM priv.bag_choice(24000, 5760, 6.4)
-- expect: [(0.6424, 0.3326, 18288.0, 154.0)]
CREATE MACRO bag_choice(n_public, domain, factor, most_rows) AS TABLE
SELECT keep AS p, keep / ((1 - keep) * (l - 1)) AS q, n * keep + m * keep / ((l - 1) * u) AS expected_rows, m * keep / ((l - 1) * u) AS noise_rows,
  sqrt(_bag_variance(n, m, l, u)) AS standard_error, sqrt(_bag_variance(n, m, l, u) / 2) AS half_domain_error
FROM (
  SELECT n, m, l, u, _keeping_of(l, u) AS keep
  FROM (
    SELECT n, m, l, CASE WHEN n + m + l + most IS NOT NULL THEN _bag_rest(n, m, l, most) END AS u
    FROM (SELECT _amount(n_public, 1, 'n_public') AS n, _amount(domain, 1, 'domain') AS m, _factor(factor) AS l, _most_noise(most_rows) AS most) AS __priv_n
  ) AS __priv_u
) AS __priv_p;

-- bag_guarantee(d, gamma, p, q [, rows_each]) -> private, factor, epsilon_replace_one, epsilon_add_remove, posterior
-- What noisy counts with given p and q are worth. private says whether a belief of at most d about a person's rows stays at most gamma. factor is by how
-- much odds may change, posterior the largest belief that d can become. The two epsilons of differential privacy are for one person's rows replaced by
-- others, and for a person more or less. rows_each is the largest number of rows of a person, 1 by default.
-- nulls: NULL in, NULL out.
-- guarantee: factor = (1 + p / (q (1 - p)))^rows_each, exactly reached. For one row more or less epsilon is max(ln(1 - p + p / q), -ln(1 - p)). That is
-- below ln(factor), so that one who does not know who is in the table is covered. Infinite when q = 0 or p = 1. private to 12 digits.
-- example: SELECT private, round(factor, 6), round(epsilon_replace_one, 6), round(epsilon_add_remove, 6), round(posterior, 6) FROM priv.bag_guarantee(0.1, 0.5, 0.4, 0.1)
-- expect: [(True, 7.666667, 2.036882, 1.526056, 0.46)]
CREATE MACRO bag_guarantee(d, gamma, p, q, rows_each) AS TABLE
SELECT private, reached AS factor, epsilon_replace_one, epsilon_add_remove, posterior
FROM _judged((
  SELECT l, prior, CASE WHEN keep + noise + each IS NULL THEN NULL WHEN keep = 1 OR noise = 0 THEN CAST('Infinity' AS DOUBLE) ELSE each * ln(1 + keep / (noise * (1 - keep))) END AS replaced,
    CASE WHEN keep + noise + each IS NULL THEN NULL WHEN keep = 1 OR noise = 0 THEN CAST('Infinity' AS DOUBLE) ELSE each * greatest(ln(1 - keep + keep / noise), _minus_log(keep)) END AS added
  FROM (
    SELECT prior, l, CASE WHEN l IS NOT NULL THEN _keeping(p) END AS keep, CASE WHEN l IS NOT NULL THEN _noisy(q, 'q') END AS noise, _each(rows_each) AS each
    FROM (SELECT _prior_bound(d) AS prior, 1 / _odds_ratio(d, gamma) AS l) AS __priv_l
  ) AS __priv_p
));

-- bag_weights(p, q) -> source, weight, variance, skew
-- The weights that make ordinary sums over noisy counts and their domain estimates of sums over the private table, as of alpha_beta_weights. sum(weight f)
-- estimates the sum of f, sum(variance f^2) its variance, and sum(skew f^3) the covariance of the two, for a score interval. Let mu = q / (1 - q). A row of
-- the view has 1 / p and (1 - p) / p^2, a tuple of the domain -mu / p and mu (mu + p) / p^2.
-- nulls: NULL in, NULL out.
-- guarantee: all three are unbiased over the random noise, whatever the counts. skew is variance (1 - p) / p for both sources. Where noise
-- follows shares, a tuple has the weights of its own q, see bag_share_weights. q = 0 is a plain sample.
-- example: SELECT source, round(weight, 6), round(variance, 6), round(skew, 6) FROM priv.bag_weights(0.5, 0.2)
-- expect: [('view', 2.0, 2.0, 2.0), ('domain', -0.5, 0.75, 0.75)]
CREATE MACRO bag_weights(p, q) AS TABLE FROM _bag_weights(p, q);
CREATE MACRO _bag_weights(p, q) AS TABLE
SELECT CASE WHEN keep IS NOT NULL THEN source END AS source,
  CASE source WHEN 'view' THEN 1 / keep ELSE -mu / keep END AS weight,
  CASE source WHEN 'view' THEN 1 - keep ELSE mu * (mu + keep) END / (keep * keep) AS variance,
  CASE source WHEN 'view' THEN 1 - keep ELSE mu * (mu + keep) END / (keep * keep) * (1 - keep) / keep AS skew
FROM (
  SELECT CASE WHEN noise IS NOT NULL THEN keep END AS keep, CASE WHEN keep IS NOT NULL THEN noise / (1 - noise) END AS mu
  FROM (SELECT _keeping(p) AS keep, _noisy(q, 'q') AS noise) AS __priv_p
) AS __priv_m, (VALUES ('view'), ('domain')) AS __priv_s(source);

-- bag_error(rows, domain, p, q, hits, domain_hits) -> expected_rows, standard_error, half_domain_error, possible
-- What noisy counts with this p and q will be like, for a table of `rows` rows in a domain of `domain` tuples. standard_error is of a count whose true
-- answer is hits and that domain_hits tuples of the domain satisfy. half_domain_error is of a count over half the rows and half the domain, and possible
-- says whether that is at most `rows`. For a predicted one take a public number of rows.
-- nulls: NULL in, NULL out.
-- guarantee: exact, however the rows lie: the square root of hits (1 - p) / p + domain_hits q / ((1 - q)^2 p^2). Not possible: the release says nothing.
-- example: SELECT round(expected_rows, 2), round(standard_error, 4), possible FROM priv.bag_error(100, 1000, 0.5, 0.2, 40, 200)
-- expect: [(300.0, 17.0294, True)]
CREATE MACRO bag_error(rows, domain, p, q, hits, domain_hits) AS TABLE
SELECT n * keep + m * mu AS expected_rows, sqrt(h * (1 - keep) * keep + m_h * mu * (1 + mu)) / keep AS standard_error,
  sqrt((n * (1 - keep) * keep + m * mu * (1 + mu)) / 2) / keep AS half_domain_error,
  sqrt((n * (1 - keep) * keep + m * mu * (1 + mu)) / 2) / keep <= n AS possible
FROM (
  SELECT n, m, h, m_h, CASE WHEN sound THEN keep END AS keep, CASE WHEN sound THEN noise / (1 - noise) END AS mu
  FROM (
    SELECT n, m, h, m_h, keep, noise, CASE WHEN keep + noise IS NOT NULL THEN _hits_fit(n, m, h, m_h) END AS sound
    FROM (SELECT _amount(rows, 1, 'rows') AS n, _amount(domain, 1, 'domain') AS m, _amount(hits, 0, 'hits') AS h, _amount(domain_hits, 0, 'domain_hits') AS m_h,
      _keeping(p) AS keep, _noisy(q, 'q') AS noise) AS __priv_n
  ) AS __priv_s
) AS __priv_p;

-- bag_kind(n_public, domain, factor [, most_rows]) -> kind, bag_error, signed_bag_error
-- Whether one-sided or signed noisy counts answer count(*) better for n_public rows in a domain of `domain` tuples, and the standard error that each would
-- have. Both are for the same factor, one-sided ones with the p of bag_choice. Signed ones are for dense tables, roughly with more rows than tuples. Signed
-- noise whose expected rows exceed most_rows is not chosen; it has no p that could be smaller.
-- nulls: NULL in, NULL out.
-- guarantee: both errors are exact for n_public rows. The odds change by at most `factor` with either.
-- example: SELECT kind, round(bag_error), round(signed_bag_error) FROM priv.bag_kind(30162, 10000000, 428)
-- expect: [('bag', 344.0, 1033.0)]
CREATE MACRO bag_kind(n_public, domain, factor, most_rows) AS TABLE
SELECT CASE WHEN m * _signed_variance(r) < square AND m * 2 * r / (1 - r * r) <= most THEN 'signed bag' WHEN square IS NOT NULL THEN 'bag' END AS kind,
  sqrt(square) AS bag_error, CASE WHEN square IS NOT NULL THEN sqrt(m * _signed_variance(r)) END AS signed_bag_error
FROM (
  SELECT m, most, 1 / sqrt(l) AS r, CASE WHEN u IS NOT NULL THEN _bag_variance(n, m, l, u) END AS square
  FROM (
    SELECT n, m, l, most, CASE WHEN n + m + l + most IS NOT NULL THEN _bag_rest(n, m, l, most) END AS u
    FROM (SELECT _amount(n_public, 1, 'n_public') AS n, _amount(domain, 1, 'domain') AS m, _factor(factor) AS l, _most_noise(most_rows) AS most) AS __priv_n
  ) AS __priv_u
) AS __priv_s;

-- Of given probabilities, from a relation with l, the factor allowed, prior, and the epsilons of persons replaced and added, whatever the probabilities are.
CREATE MACRO _judged(coins) AS TABLE
SELECT CASE WHEN added IS NOT NULL THEN exp(replaced) <= l * (1 + _hair()) END AS private, CASE WHEN l IS NOT NULL THEN exp(replaced) END AS reached,
  CASE WHEN l IS NOT NULL THEN replaced END AS epsilon_replace_one, CASE WHEN l IS NOT NULL THEN added END AS epsilon_add_remove,
  CASE WHEN l IS NOT NULL THEN _belief_at_most(prior, exp(-replaced)) END AS posterior
FROM coins AS __priv_c;

-- q, refused where no noise can hide a row.
CREATE MACRO _hiding(keep, l) AS
CASE WHEN keep * l < (l - 1) * (1 - _hair()) THEN keep / ((1 - keep) * (l - 1))
  WHEN keep + l IS NOT NULL THEN error('sqlpriv: p must be below 1 - 1 / factor, or no noise can hide a row; keep fewer rows or allow a larger factor') END;

-- u = 1 - p / (1 - 1 / L), what p leaves of its largest value. The variance of count(*) falls in u where the cubic is below 0 and rises from its
-- only root on (by Descartes' rule of signs), so a bound on the noise rows m p / ((L - 1) u) moves u up to where it is kept, and no further.
-- Halving needs no function but + - * /, so every engine finds the same number.
CREATE MACRO _bag_rest(n, m, l, most) AS
greatest(m / (m + most * l), list_reduce(
  list_transform(range(110), lambda x: CAST([0, 1] AS DOUBLE[])),
  lambda x, y: CASE WHEN _bag_slope(n, m, l, (x[1] + x[2]) / 2) < 0 THEN [(x[1] + x[2]) / 2, x[2]] ELSE [x[1], (x[1] + x[2]) / 2] END
)[2]);
CREATE MACRO _bag_slope(n, m, l, u) AS (((n / m * l * (l - 1) * u + 2 * (l - 1)) * u + (4 - l)) * u - 2);
CREATE MACRO _keeping_of(l, u) AS ((1 - 1 / l) * (1 - u));
CREATE MACRO _bag_variance(n, m, l, u) AS ((1 - _keeping_of(l, u)) / _keeping_of(l, u) * (n + m / ((l - 1) * u * u)));
CREATE MACRO _most_noise() AS CAST('Infinity' AS DOUBLE);
CREATE MACRO _most_noise(most_rows) AS _amount(most_rows, 1, 'most_rows');

CREATE MACRO _keeping(p) AS
CASE WHEN p IS NULL THEN NULL WHEN TRY_CAST(p AS DOUBLE) > 0 AND TRY_CAST(p AS DOUBLE) <= 1 THEN TRY_CAST(p AS DOUBLE)
  ELSE error('sqlpriv: p, the probability to keep a row, must be greater than 0 and at most 1') END;
CREATE MACRO _noisy(noise, label) AS
CASE WHEN noise IS NULL THEN NULL WHEN TRY_CAST(noise AS DOUBLE) >= 0 AND TRY_CAST(noise AS DOUBLE) < 1 THEN TRY_CAST(noise AS DOUBLE)
  ELSE error(concat('sqlpriv: ', label, ', the ratio of the geometric noise, must be at least 0 and below 1')) END;
-- Rows may be equal: hits may exceed domain_hits.
CREATE MACRO _hits_fit(n, m, h, m_h) AS
CASE
  WHEN n + m + h + m_h IS NULL THEN NULL
  WHEN h > n OR m_h > m OR h > 0 AND m_h = 0 OR h < n AND m_h = m
    THEN error('sqlpriv: hits and domain_hits do not fit: of the rows hits, of the domain domain_hits tuples satisfy the query')
  ELSE true
END;
