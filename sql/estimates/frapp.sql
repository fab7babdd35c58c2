-- frapp_parameters(d, gamma, domain) -> stay, move
-- The probabilities of a view in which every record stays with probability `stay` and becomes any one of the other tuples of the
-- domain with probability `move` each. With R as in alpha_beta_parameters: stay = 1 / (1 + R (domain - 1)), move = R stay.
-- nulls: NULL in, NULL out.
-- guarantee: whoever believes at most d that a record is a tuple believes it at most gamma afterwards, exactly reached: no
-- published value makes one tuple more than 1/R times as likely as another (amplification). The number of rows is public.
-- example: SELECT round(stay, 6), round(move, 6) FROM priv.frapp_parameters(0.01, 0.2, 1000)
-- expect: [(0.024176, 0.000977)]
CREATE MACRO frapp_parameters(d, gamma, domain) AS TABLE
SELECT 1 / (1 + r * (m - 1)) AS stay, r / (1 + r * (m - 1)) AS move
FROM (SELECT _odds_ratio(d, gamma) AS r, _amount(domain, 2, 'domain') AS m) AS __priv_r;

-- frapp_comparison(d, gamma, domain, rows) -> stay, move
-- The level at which Rastogi, Suciu and Hong 2007 compare FRAPP with their algorithm: stay = 1 / (1 + R domain / (rows (1 - R))).
-- For benchmarks only: it is NOT (d, gamma)-private.
-- nulls: NULL in, NULL out.
-- guarantee: none. NOT private: with 8 tuples and 3 rows a posterior of .375 is reached where .3 was asked for. Publish with
-- frapp_parameters.
-- example: SELECT round(1 / stay, 2) FROM priv.frapp_comparison(0.0004654466, 0.2, 648023040, 30162)
-- expect: [(41.09,)]
CREATE MACRO frapp_comparison(d, gamma, domain, rows) AS TABLE
SELECT g AS stay, (1 - g) / (m - 1) AS move
FROM (
  SELECT m, CASE
      WHEN r * m / (n * (1 - r)) < m - 1 THEN 1 / (1 + r * m / (n * (1 - r)))
      WHEN r * m / (n * (1 - r)) >= m - 1 THEN error('sqlpriv: with so few rows a record would move more often to a tuple than stay; lower d or raise gamma')
    END AS g
  FROM (SELECT _odds_ratio(d, gamma) AS r, _amount(domain, 2, 'domain') AS m, _amount(rows, 1, 'rows') AS n) AS __priv_r
) AS __priv_g;

-- frapp_guarantee(d, gamma, stay, move) -> private, posterior, epsilon
-- What a given `stay` is worth: whether (d, gamma) is kept for every record, and the largest belief that a prior of d can become. epsilon is that of local
-- differential privacy, infinity when a record never moves.
-- nulls: NULL in, NULL out.
-- guarantee: posterior = d stay / (d stay + (1 - d) move), private when it is at most gamma to 12 digits; epsilon = ln(stay / move).
-- example: SELECT private, round(posterior, 6), round(epsilon, 6) FROM priv.frapp_guarantee(0.01, 0.2, 0.2, 0.01)
-- expect: [(True, 0.168067, 2.995732)]
CREATE MACRO frapp_guarantee(d, gamma, stay, move) AS TABLE
SELECT prior * g * (1 - posterior_bound) <= posterior_bound * (1 - prior) * q * (1 + _hair()) AS private,
  prior * g / (prior * g + (1 - prior) * q) AS posterior,
  CASE WHEN q = 0 THEN CAST('Infinity' AS DOUBLE) ELSE ln(g / q) END AS epsilon
FROM (
  SELECT prior, posterior_bound, CASE WHEN r IS NOT NULL THEN _stays(stay, move) END AS g, CASE WHEN r IS NOT NULL THEN _moves(stay, move) END AS q
  FROM (SELECT _odds_ratio(d, gamma) AS r, _prior_bound(d) AS prior, _posterior_bound(gamma) AS posterior_bound) AS __priv_r
) AS __priv_g;

-- frapp_error(rows, domain, stay, hits, domain_hits) -> standard_error, half_domain_error, possible
-- The error of a count over a view with this `stay`, whose true answer is hits and which domain_hits tuples of the domain satisfy. half_domain_error is that
-- of a count over half the rows and half the domain, and possible says whether that is at most `rows`.
-- nulls: NULL in, NULL out.
-- guarantee: standard_error is exact. Let g = stay, q = (1 - stay) / (domain - 1) and F = domain_hits. It is the square root of ((g - q) (1 - g + q) hits +
-- rows q F - 2 (g - q) q F hits - rows q^2 F^2) / (g - q)^2. Rows may be equal: hits may exceed domain_hits.
-- example: SELECT round(standard_error, 4), possible FROM priv.frapp_error(1000, 100, 0.3, 80, 10)
-- expect: [(30.3354, True)]
CREATE MACRO frapp_error(rows, domain, stay, hits, domain_hits) AS TABLE
SELECT _record_error(n, g, q, h, m_h) AS standard_error, _record_error(n, g, q, n / 2, m / 2) AS half_domain_error,
  _record_error(n, g, q, n / 2, m / 2) <= n AS possible
FROM (
  SELECT n, h, m, m_h, CASE WHEN sound THEN _stays(stay, (1 - TRY_CAST(stay AS DOUBLE)) / (m - 1)) END AS g,
    CASE WHEN sound THEN _moves(stay, (1 - TRY_CAST(stay AS DOUBLE)) / (m - 1)) END AS q
  FROM (
    SELECT n, h, m, m_h, CASE
        WHEN n + m + h + m_h IS NULL THEN NULL
        WHEN h > n OR m_h > m OR h > 0 AND m_h = 0 OR h < n AND m_h = m
          THEN error('sqlpriv: hits and domain_hits do not fit: of the rows hits, of the domain domain_hits tuples satisfy the query')
        ELSE true END AS sound
    FROM (SELECT _amount(rows, 1, 'rows') AS n, _amount(domain, 2, 'domain') AS m, _amount(hits, 0, 'hits') AS h, _amount(domain_hits, 0, 'domain_hits') AS m_h) AS __priv_n
  ) AS __priv_s
) AS __priv_g;

-- frapp_weights(stay, move, rows) -> source, weight, variance, skew
-- The weights by which sum(weight f), over the rows of the view and all of the domain, estimates the sum of f over the private table. The view has 1 / (stay
-- - move), the domain -rows move / (stay - move). sum(variance f^2) is the part of the estimate's variance that is such a sum, too; the rest is
-- frapp_cross_terms. skew is variance times the slope (1 - stay + move) / (stay - move), by which a record of f = 1 changes the variance, for a score
-- interval.
-- nulls: NULL in, NULL out.
-- guarantee: unbiased over the random noise; with the cross terms the variance, too, is unbiased. See frapp_error for that of a count.
-- example: SELECT source, round(weight, 6), round(variance, 6), round(skew, 6) FROM priv.frapp_weights(0.3, 0.05, 20)
-- expect: [('view', 4.0, 12.0, 36.0), ('domain', -4.0, 4.0, 12.0)]
CREATE MACRO frapp_weights(stay, move, rows) AS TABLE FROM _frapp_weights(_these_coins(stay, move, rows));
CREATE MACRO _frapp_weights(coins) AS TABLE
SELECT CASE WHEN g >= 0 THEN kind END AS source,
  CASE kind WHEN 'view' THEN 1 / _gap(g, q) ELSE -n * q / _gap(g, q) END AS weight,
  CASE kind WHEN 'view' THEN _record_slope(g, q) ELSE n * q END / _gap(g, q) AS variance,
  _record_slope(g, q) * CASE kind WHEN 'view' THEN _record_slope(g, q) ELSE n * q END / _gap(g, q) AS skew
FROM (
  FROM _frapp_coins(coins)
) AS __priv_g, (VALUES ('view'), ('domain')) AS __priv_s(kind);

-- frapp_cross_terms(stay, move, rows) -> cross_estimate, cross_square
-- What is left of the variance of an estimate with frapp_weights. It is cross_estimate F S + cross_square F^2, F the sum of f over the domain and S that
-- over the private table, for which the estimate is taken. A record that lands on one tuple does not land on another, so the counts of two tuples are not
-- independent, and the variance is no weighted sum.
-- nulls: NULL in, NULL out.
-- guarantee: exact. Let g = stay and q = move, and S(f^2) and F(f^2) the sums of f^2. The whole variance is ((g - q) (1 - g + q) S(f^2) + rows q F(f^2) - 2
-- (g - q) q F S - rows q^2 F^2) / (g - q)^2.
-- example: SELECT round(cross_estimate, 6), round(cross_square, 6) FROM priv.frapp_cross_terms(0.3, 0.05, 20)
-- expect: [(-0.4, -0.8)]
CREATE MACRO frapp_cross_terms(stay, move, rows) AS TABLE FROM _frapp_cross_terms(_these_coins(stay, move, rows));
CREATE MACRO _frapp_cross_terms(coins) AS TABLE
SELECT -2 * q / _gap(g, q) AS cross_estimate, -n * q * q / (_gap(g, q) * _gap(g, q)) AS cross_square
FROM (
  FROM _frapp_coins(coins)
) AS __priv_g;

-- The probabilities of records, checked, out of a relation of one row: numbers, or what is counted in a view.
CREATE MACRO _these_coins(stay, move, rows) AS TABLE SELECT stay AS __priv_stay, move AS __priv_move, rows AS __priv_rows;
CREATE MACRO _frapp_coins(coins) AS TABLE
SELECT n, CASE WHEN n IS NOT NULL THEN _stays(__priv_stay, __priv_move) END AS g, CASE WHEN n IS NOT NULL THEN _moves(__priv_stay, __priv_move) END AS q
FROM (SELECT __priv_stay, __priv_move, _amount(__priv_rows, 0, 'rows') AS n FROM coins) AS __priv_n;

-- A record may also be thought to go to any tuple, its own among them, with the chance `move` each: then it stays for another
-- reason than this with stay - move. That is how it is drawn, and what is left of a count in the view.
CREATE MACRO _gap(stay, move) AS (stay - move);
-- By how much a record of f = 1 changes the variance.
CREATE MACRO _record_slope(stay, move) AS ((1 - _gap(stay, move)) / _gap(stay, move));

-- stay and move, each refused where both together make no probabilities.
CREATE MACRO _stays(stay, move) AS CASE WHEN _record_coins(stay, move) THEN TRY_CAST(stay AS DOUBLE) END;
CREATE MACRO _moves(stay, move) AS CASE WHEN _record_coins(stay, move) THEN TRY_CAST(move AS DOUBLE) END;
CREATE MACRO _record_coins(stay, move) AS
CASE
  WHEN stay IS NOT NULL AND NOT coalesce(TRY_CAST(stay AS DOUBLE) > 0 AND TRY_CAST(stay AS DOUBLE) <= 1, false)
    THEN error('sqlpriv: stay must be greater than 0 and at most 1')
  WHEN move IS NOT NULL AND NOT coalesce(TRY_CAST(move AS DOUBLE) >= 0 AND TRY_CAST(move AS DOUBLE) < 1, false)
    THEN error('sqlpriv: move must be at least 0 and below 1')
  WHEN stay IS NULL OR move IS NULL THEN NULL
  WHEN TRY_CAST(stay AS DOUBLE) + TRY_CAST(move AS DOUBLE) > 1 + _hair() THEN error('sqlpriv: stay + move must be at most 1')
  WHEN TRY_CAST(move AS DOUBLE) < TRY_CAST(stay AS DOUBLE) THEN true
  ELSE error('sqlpriv: stay must be greater than move, or the view says nothing about the table')
END;
-- Rounding may leave a little less than nothing of a variance of 0, as of all rows.
CREATE MACRO _record_error(n, g, q, h, m_h) AS
(sqrt(greatest((g - q) * (1 - g + q) * h + n * q * m_h - 2 * (g - q) * q * m_h * h - n * q * q * m_h * m_h, 0)) / (g - q));
