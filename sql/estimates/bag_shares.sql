-- bag_share_factors(shares, times, gamma [, most_factor]) -> value, d, factor, covered
-- By how much noisy counts may change the odds of each value of a sensitive column, where it is public which share of people has it: a row for each of a
-- list of shares. d is as of linking_prior_of_share, and factor the one that takes it to gamma. A rarer value is believed in less, so its odds may
-- change more. Other sensitive columns allow most_factor, the least of theirs: no value gets more; left out, nothing else is hidden.
-- nulls: NULL in, NULL out; a list with a NULL in it is refused.
-- guarantee: a belief of at most d in a value with this share becomes at most gamma, also to one who knows every other column. Shares of ONE
-- sensitive column only: noise by the share of a whole tuple lets that one reach .81 for .3. A value with d >= gamma is not covered; it has the least
-- factor of the others, none if there are no others.
-- example: SELECT value, round(d, 6), round(factor, 4), covered FROM priv.bag_share_factors([0.05, 0.1, 0.85], 2, 0.3)
-- expect: [(1, 0.095238, 4.0714, True), (2, 0.181818, 1.9286, True), (3, 0.918919, 1.9286, False)]
CREATE MACRO bag_share_factors(shares, times, gamma, most_factor) AS TABLE
SELECT CASE WHEN covered IS NOT NULL THEN value END AS value, CASE WHEN covered IS NOT NULL THEN prior END AS d,
  CASE WHEN covered IS NULL THEN NULL WHEN covered AND own < most THEN own WHEN covered THEN most WHEN least_own < most THEN least_own WHEN most < CAST('Infinity' AS DOUBLE) THEN most END AS factor, covered
FROM (
  SELECT value, prior, bound, most, covered, own, min(own) OVER () AS least_own
  FROM (
    SELECT value, prior, bound, most, CASE WHEN most IS NOT NULL THEN prior < bound * (1 - 1e-9) END AS covered,
      CASE WHEN prior < bound * (1 - 1e-9) AND most IS NOT NULL THEN _factor_of(prior, bound) END AS own
    FROM (
      SELECT value, bound, most, _linking(list_extract(parts, value), more) AS prior
      FROM (
        SELECT parts, more, bound, most, unnest(range(1, coalesce(len(parts), 1) + 1)) AS value
        FROM (SELECT _share_list(shares) AS parts, _positive(times, 'times') AS more, _posterior_bound(gamma) AS bound, _most_factor(most_factor) AS most) AS __priv_c
      ) AS __priv_v
    ) AS __priv_d
  ) AS __priv_o
) AS __priv_l
ORDER BY value;

-- bag_share_noise(p, factors) -> value, q, noise
-- The noise of the tuples with each value, q as of bag_noise, by the factors of bag_share_factors; noise is how many copies that makes in the mean, q / (1 - q).
-- nulls: NULL in, NULL out; a list with a NULL in it is refused.
-- guarantee: the odds of a value of the column change by at most its factor upwards, and by the largest downwards, to one who knows all other rows and
-- columns. This is replace-one differential privacy with epsilon = ln of the largest factor. Refused unless p < 1 - 1 / factor for all of them.
-- example: SELECT value, round(q, 6), round(noise, 6) FROM priv.bag_share_noise(0.4, [4.0714, 1.9286])
-- expect: [(1, 0.217056, 0.277231), (2, 0.717927, 2.545177)]
CREATE MACRO bag_share_noise(p, factors) AS TABLE
SELECT CASE WHEN q IS NOT NULL THEN value END AS value, q, q / (1 - q) AS noise
FROM (
  SELECT value, _hiding(keep, list_extract(parts, value)) AS q
  FROM (
    SELECT keep, parts, unnest(range(1, coalesce(len(parts), 1) + 1)) AS value FROM (SELECT _keeping(p) AS keep, _factor_list(factors) AS parts) AS __priv_p
  ) AS __priv_v
) AS __priv_q
ORDER BY value;

-- bag_share_choice(n_public, domain, factors) -> p, expected_rows, noise_rows, standard_error, half_domain_error
-- As bag_choice, where noise follows shares. p makes the error of count(*) smallest for n_public rows in a domain of `domain` tuples, with the noise of
-- bag_share_noise. Each value has as many tuples as any other. The other columns say what the release will be like.
-- nulls: NULL in, NULL out; a list with a NULL in it is refused.
-- guarantee: that of bag_share_noise. With a = 1 - 1 / factor the variance is (1 - p) / p (n + m mean(a (1 - a) / (a - p)^2)). Its slope, times p^2, is m
-- mean(a (1 - a) (3 p - 2 p^2 - a) / (a - p)^3) - n. It grows with p, as each of the terms does, so that halving finds the one p where it is 0.
-- example: SELECT round(p, 4), round(expected_rows), round(standard_error) FROM priv.bag_share_choice(24000, 5760, [6.4, 20, 100])
-- expect: [(0.6988, 18529.0, 128.0)]
CREATE MACRO bag_share_choice(n_public, domain, factors) AS TABLE
SELECT keep AS p, n * keep + m * mu AS expected_rows, m * mu AS noise_rows,
  sqrt(n * keep * (1 - keep) + m * square) / keep AS standard_error, sqrt((n * keep * (1 - keep) + m * square) / 2) / keep AS half_domain_error
FROM (
  SELECT n, m, keep, list_avg(list_transform(parts, lambda l: _copies_of(keep, l))) AS mu,
    list_avg(list_transform(parts, lambda l: _copies_of(keep, l) * (1 + _copies_of(keep, l)))) AS square
  FROM (
    SELECT n, m, parts, (1 - most) * (1 - CASE WHEN n + m IS NOT NULL THEN _share_rest(n / m, parts, most) END) AS keep
    FROM (
      SELECT n, m, parts, 1 / list_min(parts) AS most
      FROM (SELECT _amount(n_public, 1, 'n_public') AS n, _amount(domain, 1, 'domain') AS m, _factor_list(factors) AS parts) AS __priv_n
    ) AS __priv_m
  ) AS __priv_k
) AS __priv_p;

-- bag_share_weights(p) -> source, power, weight, variance, skew
-- The weights of bag_weights where noise follows shares: for a row of the view, and for a tuple of the domain by powers of its noise, the mean number of
-- copies mu of bag_share_noise. For each of the three, sum(number mu^power) over the powers is what a tuple of its own q has in bag_weights.
-- nulls: NULL in, NULL out.
-- guarantee: as of bag_weights: unbiased, whatever the counts.
-- example: SELECT source, power, round(weight, 6), round(variance, 6), round(skew, 6) FROM priv.bag_share_weights(0.5)
-- expect: [('view', 0, 2.0, 2.0, 2.0), ('domain', 1, -2.0, 2.0, 2.0), ('domain', 2, 0.0, 4.0, 4.0)]
CREATE MACRO bag_share_weights(p) AS TABLE
SELECT CASE WHEN keep IS NOT NULL THEN source END AS source, CASE WHEN keep IS NOT NULL THEN power END AS power,
  CASE power WHEN 0 THEN 1 / keep WHEN 1 THEN -1 / keep ELSE 0 * keep END AS weight,
  CASE power WHEN 0 THEN 1 - keep WHEN 1 THEN keep ELSE 1 END / (keep * keep) AS variance,
  CASE power WHEN 0 THEN 1 - keep WHEN 1 THEN keep ELSE 1 END / (keep * keep) * (1 - keep) / keep AS skew
FROM (SELECT _keeping(p) AS keep) AS __priv_p, (VALUES ('view', 0), ('domain', 1), ('domain', 2)) AS __priv_s(source, power)
ORDER BY power;

-- bag_share_error(rows, domain, p, ratios, hits, domain_hits) -> expected_rows, standard_error, half_domain_error, possible
-- As bag_error, where noise follows shares: ratios are the q of every value, and of the domain, and of the tuples that satisfy a query, each value has
-- as many as any other.
-- nulls: NULL in, NULL out; a list with a NULL in it is refused.
-- guarantee: exact, however the rows lie, for a query that does not ask for the column of the shares: about a rare value errors are smaller.
-- example: SELECT round(expected_rows, 2), round(standard_error, 4), possible FROM priv.bag_share_error(100, 1000, 0.5, [0.1, 0.2], 40, 200)
-- expect: [(230.56, 14.6418, True)]
CREATE MACRO bag_share_error(rows, domain, p, ratios, hits, domain_hits) AS TABLE
SELECT n * keep + m * mu AS expected_rows, sqrt(h * (1 - keep) * keep + m_h * square) / keep AS standard_error,
  sqrt((n * (1 - keep) * keep + m * square) / 2) / keep AS half_domain_error, sqrt((n * (1 - keep) * keep + m * square) / 2) / keep <= n AS possible
FROM (
  SELECT n, m, h, m_h, CASE WHEN sound THEN keep END AS keep, CASE WHEN sound THEN _mean_copies(noise) END AS mu, _mean_square(noise) AS square
  FROM (
    SELECT n, m, h, m_h, keep, noise, CASE WHEN keep IS NOT NULL AND noise IS NOT NULL THEN _hits_fit(n, m, h, m_h) END AS sound
    FROM (SELECT _amount(rows, 1, 'rows') AS n, _amount(domain, 1, 'domain') AS m, _amount(hits, 0, 'hits') AS h, _amount(domain_hits, 0, 'domain_hits') AS m_h,
      _keeping(p) AS keep, _ratio_list(ratios) AS noise) AS __priv_n
  ) AS __priv_s
) AS __priv_p;

-- bag_share_rows(rows, domain, p, ratios) -> expected_rows, variance
-- As bag_rows, where noise follows shares: ratios are the q of every value, and each value has as many tuples of the domain as any other.
-- nulls: NULL in, NULL out; a list with a NULL in it is refused.
-- guarantee: exact: rows are kept, and noise falls, by random numbers of their own.
-- example: SELECT round(expected_rows, 2), round(variance, 2) FROM priv.bag_share_rows(100, 1000, 0.5, [0.1, 0.2])
-- expect: [(230.56, 242.98)]
CREATE MACRO bag_share_rows(rows, domain, p, ratios) AS TABLE
SELECT n * keep + m * _mean_copies(noise) AS expected_rows, n * keep * (1 - keep) + m * _mean_square(noise) AS variance
FROM (SELECT _amount(rows, 0, 'rows') AS n, _amount(domain, 1, 'domain') AS m, _keeping(p) AS keep, _ratio_list(ratios) AS noise) AS __priv_n;

-- bag_share_beliefs(shares, factors, times, others) -> value, prior, posterior
-- What one may believe of a tuple with each value, before and at most after noisy counts. Before, its odds are at most `times` times those of its public
-- share; noisy counts change them by its factor of bag_share_factors. `others` are the tuples of the other columns that it may be, all alike: 1 for one who
-- knows them.
-- nulls: NULL in, NULL out; a list with a NULL in it is refused.
-- guarantee: exact, as of posterior_bound.
-- example: SELECT value, round(prior, 6), round(posterior, 6) FROM priv.bag_share_beliefs([0.05, 0.1], [4.0714, 1.9286], 2, 1)
-- expect: [(1, 0.095238, 0.299999), (2, 0.181818, 0.300003)]
CREATE MACRO bag_share_beliefs(shares, factors, times, others) AS TABLE
SELECT CASE WHEN b + l IS NOT NULL THEN value END AS value, CASE WHEN l IS NOT NULL THEN b END AS prior, CASE WHEN l IS NOT NULL THEN _belief_at_most(b, 1 / l) END AS posterior
FROM (
  SELECT value, _linking(list_extract(parts, value) / number, more) AS b, list_extract(changes, value) AS l
  FROM (
    SELECT parts, changes, more, number, unnest(range(1, coalesce(len(parts), 1) + 1)) AS value
    FROM (SELECT _share_list(shares) AS parts, _positive(times, 'times') AS more, _amount(others, 1, 'others') AS number,
      CASE WHEN len(_number_list(shares, 'shares')) <> len(_number_list(factors, 'factors')) THEN error('sqlpriv: there must be a factor for each share')
        ELSE _factor_list(factors) END AS changes) AS __priv_c
  ) AS __priv_v
) AS __priv_b
ORDER BY value;

-- u = 1 - p / a of the least a, in which the slope of the variance falls; found by halving, as in _bag_rest. inverse is 1 / factor, 1 - a.
CREATE MACRO _share_rest(dense, parts, most) AS
list_reduce(
  list_transform(range(64), lambda x: CAST([0, 1] AS DOUBLE[])),
  lambda x, y: CASE WHEN list_avg(list_transform(parts, lambda l: _share_slope(1 / l, most, (x[1] + x[2]) / 2))) > dense THEN [(x[1] + x[2]) / 2, x[2]] ELSE [x[1], (x[1] + x[2]) / 2] END
)[2];
CREATE MACRO _share_slope(inverse, most, u) AS
((1 - inverse) * inverse * (3 * _share_keep(most, u) - 2 * _share_keep(most, u) * _share_keep(most, u) - (1 - inverse)) / pow(most - inverse + (1 - most) * u, 3));
CREATE MACRO _share_keep(most, u) AS ((1 - most) * (1 - u));

-- The mean noise of the tuples with a factor, q / (1 - q) for the q of bag_noise; and of all values, its mean and that of its variance.
CREATE MACRO _copies_of(keep, l) AS (keep / ((1 - keep) * (l - 1) - keep));
CREATE MACRO _mean_copies(noise) AS list_avg(list_transform(noise, lambda q: q / (1 - q)));
CREATE MACRO _mean_square(noise) AS list_avg(list_transform(noise, lambda q: q / ((1 - q) * (1 - q))));

CREATE MACRO _most_factor() AS CAST('Infinity' AS DOUBLE);
CREATE MACRO _most_factor(most_factor) AS _factor(most_factor);
CREATE MACRO _share_list(shares) AS
list_transform(CASE WHEN list_sum(_number_list(shares, 'shares')) <= 1 + 1e-6 OR shares IS NULL THEN _number_list(shares, 'shares')
  ELSE error('sqlpriv: shares, what values have of all people, must not be more than 1 in all') END, lambda x: _public_share(x));
CREATE MACRO _factor_list(factors) AS list_transform(_number_list(factors, 'factors'), lambda x: _factor(x));
CREATE MACRO _ratio_list(ratios) AS list_transform(_number_list(ratios, 'ratios'), lambda x: _noisy(x, 'q'));
CREATE MACRO _number_list(listed, label) AS
CASE WHEN listed IS NULL THEN NULL WHEN len(list_filter(TRY_CAST(listed AS DOUBLE[]), lambda x: x IS NOT NULL)) = greatest(len(TRY_CAST(listed AS DOUBLE[])), 1) THEN TRY_CAST(listed AS DOUBLE[])
  ELSE error(concat('sqlpriv: ', label, ' must be a list of numbers, one for each value')) END;
