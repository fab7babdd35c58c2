-- signed_bag_noise(factor [, rows_each]) -> a
-- The noise of signed noisy counts, for dense tables. All rows are kept, and every tuple of the domain gets two-sided geometric noise, P(Z = z) =
-- (1 - a) / (1 + a) a^|z|, with a = factor^(-1/2). A count below 0 is published as rows that count -1. With up to rows_each rows of
-- a person a = factor^(-1 / (2 rows_each)); one row is the default.
-- nulls: NULL in, NULL out.
-- guarantee: that of bag_noise, with the same factor, exactly reached; a person more or less only changes odds by its square root.
-- example: SELECT round(a, 6) FROM priv.signed_bag_noise(6.25)
-- expect: [(0.4,)]
CREATE MACRO signed_bag_noise(factor, rows_each) AS TABLE
SELECT CASE WHEN l > 1 + 1e-9 THEN 1 / sqrt(l) WHEN l IS NOT NULL THEN error('sqlpriv: with so many rows of a person nothing may be said; allow a larger factor') END AS a
FROM (SELECT _row_factor(_factor(factor), _each(rows_each)) AS l) AS __priv_l;

-- signed_bag_guarantee(d, gamma, a [, rows_each]) -> private, factor, epsilon_replace_one, epsilon_add_remove, posterior
-- What signed noisy counts with given noise are worth; the columns are those of bag_guarantee.
-- nulls: NULL in, NULL out.
-- guarantee: factor = a^(-2 rows_each), exactly reached, ln of it for a person's rows replaced by others, and half of that for a person more or
-- less. Infinite when a = 0. private to 12 digits.
-- example: SELECT private, factor, round(epsilon_add_remove, 6), round(posterior, 6) FROM priv.signed_bag_guarantee(0.1, 0.5, 0.5)
-- expect: [(True, 4.0, 0.693147, 0.307692)]
CREATE MACRO signed_bag_guarantee(d, gamma, a, rows_each) AS TABLE
SELECT private, reached AS factor, epsilon_replace_one, epsilon_add_remove, posterior
FROM _judged((
  SELECT l, prior, CASE WHEN noise + each IS NULL THEN NULL WHEN noise = 0 THEN CAST('Infinity' AS DOUBLE) ELSE -2 * each * ln(noise) END AS replaced,
    CASE WHEN noise + each IS NULL THEN NULL WHEN noise = 0 THEN CAST('Infinity' AS DOUBLE) ELSE -each * ln(noise) END AS added
  FROM (
    SELECT prior, l, CASE WHEN l IS NOT NULL THEN _noisy(a, 'a') END AS noise, _each(rows_each) AS each
    FROM (SELECT _prior_bound(d) AS prior, 1 / _odds_ratio(d, gamma) AS l) AS __priv_l
  ) AS __priv_p
));

-- signed_bag_weights(a) -> source, weight, variance, skew
-- The weights of signed noisy counts, as of bag_weights: 1 for a row of the view, -1 for one that stands for a count below 0 ('negative'). A tuple of the
-- domain has 0, and alone carries the variance 2 a / (1 - a)^2.
-- nulls: NULL in, NULL out.
-- guarantee: unbiased; the variance is known and does not depend on the table, so there is no skew.
-- example: SELECT source, weight, round(variance, 6), skew FROM priv.signed_bag_weights(0.4)
-- expect: [('view', 1.0, 0.0, 0.0), ('negative', -1.0, 0.0, 0.0), ('domain', 0.0, 2.222222, 0.0)]
CREATE MACRO signed_bag_weights(a) AS TABLE FROM _signed_bag_weights(a);
CREATE MACRO _signed_bag_weights(a) AS TABLE
SELECT CASE WHEN noise IS NOT NULL THEN kind END AS source, CASE WHEN noise IS NOT NULL THEN CAST(counts AS DOUBLE) END AS weight,
  CASE WHEN kind = 'domain' THEN _signed_variance(noise) ELSE noise * 0 END AS variance, noise * 0 AS skew
FROM (SELECT _noisy(a, 'a') AS noise) AS __priv_a, (VALUES ('view', 1), ('negative', -1), ('domain', 0)) AS __priv_s(kind, counts);

-- signed_bag_error(rows, domain, a, domain_hits) -> expected_rows, standard_error, half_domain_error, possible
-- What signed noisy counts will be like. expected_rows are the most that can be expected for a table of `rows` rows in a domain of `domain` tuples.
-- standard_error is of a count that domain_hits tuples of the domain satisfy. half_domain_error is of a count over half the domain, and possible says
-- whether that is at most `rows`.
-- nulls: NULL in, NULL out.
-- guarantee: the errors are exact, whatever the table. A tuple with c rows has c + 2 a^(c + 1) / (1 - a^2) expected rows in the view. expected_rows is for
-- all rows in one tuple, and hardly less for a sparse table.
-- example: SELECT round(expected_rows, 2), round(standard_error, 4), possible FROM priv.signed_bag_error(1000, 100, 0.5, 50)
-- expect: [(1132.0, 14.1421, True)]
CREATE MACRO signed_bag_error(rows, domain, a, domain_hits) AS TABLE
SELECT n + 2 * noise / (1 - noise * noise) * (m - 1 + pow(noise, n)) AS expected_rows, sqrt(m_h * _signed_variance(noise)) AS standard_error,
  sqrt(m / 2 * _signed_variance(noise)) AS half_domain_error, sqrt(m / 2 * _signed_variance(noise)) <= n AS possible
FROM (
  SELECT n, m, m_h, CASE WHEN n + m + m_h IS NULL THEN NULL WHEN m_h <= m THEN _noisy(a, 'a')
    ELSE error('sqlpriv: domain_hits, tuples of the domain, cannot be more than the domain has') END AS noise
  FROM (SELECT _amount(rows, 1, 'rows') AS n, _amount(domain, 1, 'domain') AS m, _amount(domain_hits, 0, 'domain_hits') AS m_h) AS __priv_n
) AS __priv_a;

CREATE MACRO _signed_variance(noise) AS (2 * noise / ((1 - noise) * (1 - noise)));
