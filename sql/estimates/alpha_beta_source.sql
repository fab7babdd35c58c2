-- alpha_beta_source_parameters(d_max, share_max, gamma) -> alpha, rate
-- The probabilities for noise that follows a public distribution of the tuples, a product of one share for each attribute. The tuple t with
-- share s(t) is noise with probability beta(t) = 1 - exp(-rate s(t)) and kept with probability alpha + beta(t). share_max is the
-- largest share of a tuple, d_max the prior bound there; any other tuple has the prior bound d_max s(t) / share_max.
-- nulls: NULL in, NULL out.
-- guarantee: as of 'independent' in alpha_beta_parameters, but only for adversaries whose prior of every tuple is at
-- most d_max s(t) / share_max: one who knows better than the distribution is not bounded by gamma. p = 1/2 at the
-- largest share. The shares must be public, not counted in the private table.
-- example: SELECT round(alpha, 6), round(rate, 6) FROM priv.alpha_beta_source_parameters(0.01, 0.25, 0.2)
-- expect: [(0.479798, 0.081635)]
CREATE MACRO alpha_beta_source_parameters(d_max, share_max, gamma) AS TABLE
SELECT 0.5 - b AS alpha, _minus_log(b) / share AS rate
FROM (
  SELECT share, CASE WHEN share IS NOT NULL THEN p * r END AS b
  FROM (SELECT _kept(d_max, gamma, 'independent', 'paper') AS p, _odds_ratio(d_max, gamma) AS r, _share(share_max, 'share_max, the largest share of a tuple,') AS share) AS __priv_r
) AS __priv_b;

-- alpha_beta_source_noise(rate, share) -> beta
-- The probability 1 - exp(-rate share) with which a tuple of this share is noise, where noise follows shares. With slots an element
-- has the share of its tuple divided by their number. The noise of all elements, spread evenly, is that of share 1 / elements.
-- nulls: NULL in, NULL out.
-- guarantee: exact to the last digits also where it is tiny: 1 - exp(x) would have none left.
-- example: SELECT round(beta, 6) FROM priv.alpha_beta_source_noise(0.081635, 0.25)
-- expect: [(0.020202,)]
CREATE MACRO alpha_beta_source_noise(rate, share) AS TABLE
SELECT CASE WHEN speed * part = 0 THEN CAST(0 AS DOUBLE) ELSE _noise_at(speed * part) END AS beta
FROM (SELECT _rate(rate) AS speed, _share(share, 'share, what a tuple has of the distribution,') AS part) AS __priv_r;

-- alpha_beta_source_weights(alpha, rate, slots, beta) -> power, weight, variance, skew
-- The weights of a tuple of the domain, for all its slots together, where noise follows shares. For each of the three sum(number
-- s(t)^power) over the powers is what `slots` elements with noise of their own, 1 - exp(-rate s(t) / slots) each, have in
-- alpha_beta_weights. As powers of a product of shares are products of powers, sums over the domain factorise. beta is the
-- noise of an element at the largest share.
-- nulls: NULL in, NULL out.
-- guarantee: the series ends at the first power j >= 2 with (3 L)^j / j! <= 1e-17, L = -ln(1 - beta): what follows counts no more
-- in any tuple. It has at most 60 powers, and does not hold for noise above nearly 1.
-- example: SELECT power, round(weight, 6), round(variance, 6) FROM priv.alpha_beta_source_weights(0.4, 0.1, 2, 0.0001) ORDER BY power LIMIT 2
-- expect: [(1, -0.25, 0.25), (2, 0.00625, 0.025)]
CREATE MACRO alpha_beta_source_weights(alpha, rate, slots, beta) AS TABLE
SELECT power,
  -scale * linear / a AS weight,
  scale * (a * linear + square) / (a * a) AS variance,
  scale * ((1 - a) * (a * linear + square) - 2 * (a * square + cube)) / (a * a * a) AS skew
FROM _source_series(alpha, rate, slots, beta)
ORDER BY power;

-- Of beta(t), its square and its cube the coefficients for each power of the share of t, and `scale`, what they all are times.
CREATE MACRO _source_series(alpha, rate, slots, beta) AS TABLE
SELECT CASE WHEN a IS NOT NULL THEN CAST(j AS INTEGER) END AS power, a, number * pow(speed / number, j) AS scale,
  -- Combinations of exp(-x), exp(-2 x) and exp(-3 x).
  -_falling(j) AS linear, _falling(j) * (pow(2, j) - 2) AS square, _falling(j) * (3 * pow(2, j) - 3 - pow(3, j)) AS cube
FROM (
  SELECT speed, number, CASE WHEN number * speed IS NOT NULL THEN _difference(alpha, beta) END AS a,
    CASE WHEN number * speed IS NOT NULL THEN _minus_log(_noise(alpha, beta)) END AS largest
  FROM (SELECT _rate(rate) AS speed, _amount(slots, 1, 'slots') AS number) AS __priv_r
) AS __priv_a, (SELECT unnest(range(1, 61)) AS j) AS __priv_j
-- The first power is always there, also to say NULL; another if no smaller one from the second on ends the series.
WHERE j = 1 OR len(list_filter(range(2, j), lambda before: pow(3 * largest, before) / gamma(before + 1) <= 1e-17)) = 0 AND a > 0;

-- Helpers for the rows of a view whose noise follows shares: `share` is that of the tuple, `noise` the _source_noise of its element.
-- The probability that an element is noise, and that one of the table is kept, and what a row of the view weighs.
CREATE MACRO _source_noise(rate, slots, share) AS _noise_at(rate / slots * share);
CREATE MACRO _source_keep(alpha, noise) AS (alpha + noise);
CREATE MACRO _source_weight(alpha) AS (1 / alpha);
CREATE MACRO _source_variance(alpha, noise) AS _view_variance(alpha + noise, noise);
CREATE MACRO _source_skew(alpha, noise) AS (_source_variance(alpha, noise) * (1 - alpha - 2 * noise) / alpha);

-- 1 - exp(-x) for x > 0, with all digits of a small x; x stands in it once, because it may be a long text.
CREATE MACRO _noise_at(x) AS (2 / (1 + 1 / tanh(x / 2)));

-- (-1)^j / j!, the coefficients of exp(-x).
CREATE MACRO _falling(j) AS (pow(-1, j) / gamma(j + 1));

CREATE MACRO _rate(rate) AS
CASE WHEN rate IS NULL THEN NULL WHEN TRY_CAST(rate AS DOUBLE) BETWEEN 0 AND 1e300 THEN TRY_CAST(rate AS DOUBLE)
  ELSE error('sqlpriv: rate, the amount of noise in all, must be a number of at least 0') END;
CREATE MACRO _share(share, label) AS
CASE WHEN share IS NULL THEN NULL WHEN TRY_CAST(share AS DOUBLE) > 0 AND TRY_CAST(share AS DOUBLE) <= 1 THEN TRY_CAST(share AS DOUBLE)
  ELSE error(concat('sqlpriv: ', label, ' must be greater than 0 and at most 1')) END;
