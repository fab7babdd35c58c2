-- expected_weights(weight, variance, skew, domain_weight, domain_variance, domain_skew) -> source, weight, variance, skew
-- The error that an estimate will have, before anything is drawn. It is computed from the weights of a row of the view and of a tuple of the domain:
-- alpha_beta_weights, bag_weights, signed_bag_weights, frapp_weights. The answer has the weights of a row of the private table itself ('table') and of a
-- tuple of the domain ('domain'). Over both, sum(weight f) is the true sum of f, and sum(variance f^2) the variance of its estimate.
-- nulls: NULL in, NULL out.
-- guarantee: exact wherever sum(weight f) and sum(variance f^2) over the view and the domain are unbiased. Then a row of the table makes
-- 1 / weight rows of the view in the mean, and noise makes -domain_weight / weight of each tuple. FRAPP's cross terms stay as they are. For
-- the owner alone: what comes out depends on the private table.
-- example: SELECT source, weight, round(variance, 6) FROM priv.expected_weights(2, 2, 2, -0.5, 0.75, 0.75)
-- expect: [('table', 1.0, 1.0), ('domain', 0.0, 1.25)]
CREATE MACRO expected_weights(weight, variance, skew, domain_weight, domain_variance, domain_skew) AS TABLE
SELECT CASE WHEN w + v + s + dw + dv + ds IS NOT NULL THEN kind END AS source,
  CASE WHEN w + v + s + dw + dv + ds IS NULL THEN NULL WHEN kind = 'table' THEN _of_a_row(w, w) ELSE _of_its_noise(dw, dw, w, w) END AS weight,
  CASE WHEN w + v + s + dw + dv + ds IS NULL THEN NULL WHEN kind = 'table' THEN _of_a_row(v, w) ELSE _of_its_noise(dv, dw, v, w) END AS variance,
  CASE WHEN w + v + s + dw + dv + ds IS NULL THEN NULL WHEN kind = 'table' THEN _of_a_row(s, w) ELSE _of_its_noise(ds, dw, s, w) END AS skew
FROM (
  SELECT _expected_weight(weight) AS w, _expected_number(variance, 'variance') AS v, _expected_number(skew, 'skew') AS s,
    _expected_number(domain_weight, 'domain_weight') AS dw, _expected_number(domain_variance, 'domain_variance') AS dv,
    _expected_number(domain_skew, 'domain_skew') AS ds
) AS __priv_w, (VALUES ('table'), ('domain')) AS __priv_s(kind);

-- expected_source_weights(alpha, rate, slots, beta) -> power, weight, variance, skew
-- The weights of a tuple of the domain as of expected_weights, where noise follows shares. For each of the three sum(number s(t)^power)
-- over the powers is what its `slots` elements, with noise 1 - exp(-rate s(t) / slots) each, have. beta is the noise of an element at
-- the largest share, as in alpha_beta_source_weights. A row of the table has the variance (1 - alpha - 2 beta(t)) / alpha.
-- nulls: NULL in, NULL out.
-- guarantee: an element that is not in the table adds beta(t) (1 - beta(t)) / alpha^2 to the variance; the series of that ends where that of
-- alpha_beta_source_weights does.
-- example: SELECT power, weight, round(variance, 6) FROM priv.expected_source_weights(0.4, 0.1, 2, 0.0001) ORDER BY power LIMIT 2
-- expect: [(1, 0.0, 0.625), (2, 0.0, -0.046875)]
CREATE MACRO expected_source_weights(alpha, rate, slots, beta) AS TABLE
SELECT power, CASE WHEN power IS NOT NULL THEN CAST(0 AS DOUBLE) END AS weight, scale * (linear - square) / (a * a) AS variance,
  scale * ((1 - a) * (linear - square) - 2 * (square - cube)) / (a * a * a) AS skew
FROM _source_series(alpha, rate, slots, beta)
ORDER BY power;

-- What a row of the table comes to, of a number that each row of the view has; and a tuple of the domain with the noise on it.
CREATE MACRO _of_a_row(number, weight) AS (number / weight);
CREATE MACRO _of_its_noise(number, domain_weight, view_number, weight) AS (number - domain_weight * view_number / weight);

-- Of an interval that reaches one standard deviation to each side. What is left by rounding, where there is none, counts as none.
CREATE MACRO _deviation(low, high) AS
CASE WHEN high - low > 1e-8 * greatest(abs(low), abs(high)) THEN (high - low) / 2 WHEN high - low IS NOT NULL THEN CAST(0 AS DOUBLE) END;

-- What is divided by, NULL unless it is four standard deviations from 0: the delta method is then 10% off at most, about, and closer
-- to 0 it may be off by any factor, since a ratio has no variance where its lower sum may be 0.
CREATE MACRO _divisor(lower, lower_variance) AS CASE WHEN lower * lower > 16 * lower_variance THEN lower END;

CREATE MACRO _expected_weight(weight) AS
CASE WHEN weight IS NULL THEN NULL WHEN TRY_CAST(weight AS DOUBLE) > 0 AND isfinite(TRY_CAST(weight AS DOUBLE)) THEN TRY_CAST(weight AS DOUBLE)
  ELSE error('sqlpriv: weight, what a row of the view counts for, must be a number greater than 0') END;
CREATE MACRO _expected_number(number, label) AS
CASE WHEN number IS NULL THEN NULL WHEN isfinite(TRY_CAST(number AS DOUBLE)) THEN TRY_CAST(number AS DOUBLE)
  ELSE error(concat('sqlpriv: ', label, ' must be a number')) END;
