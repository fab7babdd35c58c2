-- public_size(rows) -> n_public
-- The number of rows of a private table that may be published: rounded up to two digits and zeros, and at least 1.
-- nulls: NULL in, NULL out.
-- guarantee: at least `rows`, so that a prior bound made from it is no lower than it says. It does reveal the two digits: declare a
-- size of your own where these are private.
-- example: FROM priv.public_size(30162)
-- expect: [(31000.0,)]
CREATE MACRO public_size(rows) AS TABLE
SELECT CASE WHEN n IS NOT NULL THEN greatest(ceil(n / unit) * unit, 1) END AS n_public
FROM (
  SELECT n, pow(10, greatest(length(format('{:.0f}', n)) - 2, 0)) AS unit FROM (SELECT _amount(rows, 0, 'rows') AS n) AS __priv_n
) AS __priv_u;

-- prior_of_multiple(k, rows, tuples) -> d
-- The prior bound d = k rows / tuples of an adversary to whom no tuple is more than k times as likely as if `rows` rows had been
-- drawn from the domain. `tuples` is the number of tuples in the domain; where they have shares, 1 over the largest share.
-- nulls: NULL in, NULL out.
-- guarantee: none by itself: it is the d to ask the other macros for. It may be 1 or more, which they refuse. Take public numbers:
-- d is published, and with it whatever it is made from.
-- example: SELECT round(d, 8) FROM priv.prior_of_multiple(10, 31000, 648023040)
-- expect: [(0.00047838,)]
CREATE MACRO prior_of_multiple(k, rows, tuples) AS TABLE
SELECT times * n / size AS d
FROM (SELECT _positive(k, 'k') AS times, _amount(rows, 0, 'rows') AS n, _positive(tuples, 'tuples') AS size) AS __priv_k;

-- alpha_beta_draws(domain, beta) -> draws
-- How many draws from a domain of so many elements, with replacement, make every element noise with probability beta: a Poisson number
-- of them with this mean, -domain ln(1 - beta). Drawn twice an element is noise once.
-- nulls: NULL in, NULL out.
-- guarantee: exact: elements are then noise independently of each other, each with probability beta, whatever the others are.
-- example: SELECT round(draws, 4) FROM priv.alpha_beta_draws(10000, 0.05)
-- expect: [(512.9329,)]
CREATE MACRO alpha_beta_draws(domain, beta) AS TABLE
SELECT m * _minus_log(b) AS draws
FROM (SELECT _amount(domain, 1, 'domain') AS m, _noise_bound(beta) AS b) AS __priv_m;

-- sequence_rows(alpha, beta, persist, rows, gone, domain) -> expected_rows, variance
-- The expected rows of a view of a sequence (see sequence_parameters), and how far their number may be off. Of a domain of `domain` elements `rows` are in
-- the table, and `gone` others were in an earlier view. The first are in the view with alpha + beta, the second with (alpha + beta) persist, all others with
-- beta, each by a coin of its own. Where nothing is gone, it is the first view, or the only one.
-- nulls: NULL in, NULL out.
-- guarantee: exact.
-- example: SELECT round(expected_rows, 4), round(variance, 4) FROM priv.sequence_rows(0.4, 0.1, 0.5, 100, 20, 1000)
-- expect: [(143.0, 107.95)]
CREATE MACRO sequence_rows(alpha, beta, persist, rows, gone, domain) AS TABLE
SELECT p * n + _persists(p, e) * g + b * (m - n - g) AS expected_rows,
  p * (1 - p) * n + _persists(p, e) * (1 - _persists(p, e)) * g + b * (1 - b) * (m - n - g) AS variance
FROM (
  SELECT n, g, m, e, CASE WHEN sound THEN _kept_by(alpha, beta) END AS p, CASE WHEN sound THEN _noise(alpha, beta) END AS b
  FROM (
    SELECT n, g, m, e, CASE WHEN n + g + m + e IS NULL THEN NULL WHEN n + g <= m * (1 + _hair()) THEN true
      ELSE error('sqlpriv: rows and gone, elements of the domain, cannot be more than the domain has') END AS sound
    FROM (SELECT _amount(rows, 0, 'rows') AS n, _amount(gone, 0, 'gone') AS g, _amount(domain, 1, 'domain') AS m, _persistence(persist) AS e) AS __priv_n
  ) AS __priv_s
) AS __priv_p;

-- bag_rows(rows, domain, p, q) -> expected_rows, variance
-- The expected rows of noisy counts (see bag_noise) of a table of `rows` rows in a domain of `domain` tuples, and how far their number may be off.
-- nulls: NULL in, NULL out.
-- guarantee: exact: rows are kept, and noise falls, by random numbers of their own.
-- example: FROM priv.bag_rows(100, 1000, 0.5, 0.2)
-- expect: [(300.0, 337.5)]
CREATE MACRO bag_rows(rows, domain, p, q) AS TABLE
SELECT n * keep + m * mu AS expected_rows, n * keep * (1 - keep) + m * mu * (1 + mu) AS variance
FROM (
  SELECT n, m, keep, noise / (1 - noise) AS mu
  FROM (SELECT _amount(rows, 0, 'rows') AS n, _amount(domain, 1, 'domain') AS m, _keeping(p) AS keep, _noisy(q, 'q') AS noise) AS __priv_n
) AS __priv_p;

-- small_count(rows, domain) -> hits, domain_hits
-- The count by which a release is called useful: one of a twentieth of the rows and a twentieth of the domain, both rounded up.
-- nulls: NULL in, NULL out.
-- guarantee: none: its error, by bag_error, alpha_beta_error or frapp_error, is what people can picture.
-- example: FROM priv.small_count(24000, 5760)
-- expect: [(1200.0, 288.0)]
CREATE MACRO small_count(rows, domain) AS TABLE
SELECT CASE WHEN m IS NOT NULL THEN ceil(n / 20) END AS hits, CASE WHEN n IS NOT NULL THEN ceil(m / 20) END AS domain_hits
FROM (SELECT _amount(rows, 1, 'rows') AS n, _amount(domain, 1, 'domain') AS m) AS __priv_n;

-- The probability that a tuple of signed noisy counts has noise at all, above or below 0.
CREATE MACRO _noisy_share(a) AS (2 * a / (1 + a));

-- With uniform noise: the probability that an element of the table is in the view, and, in a sequence, that one is which was in
-- an earlier view and is not in the table; keep is the _keeps of the probabilities.
CREATE MACRO _keeps(alpha, beta) AS (alpha + beta);
CREATE MACRO _persists(keep, persist) AS (keep * persist);

CREATE MACRO _relative_error(error, hits) AS (error / hits);

-- About how large a file is: DuckDB keeps what a row says, `bits` of it, in a little more; domains and empty blocks are there besides.
CREATE MACRO _release_bytes(rows, bits) AS (rows * (bits + 4) / 8 + 300000);

-- A number above 0.
CREATE MACRO _positive(number, label) AS
CASE WHEN number IS NULL THEN NULL WHEN TRY_CAST(number AS DOUBLE) > 0 AND TRY_CAST(number AS DOUBLE) <= 1e300 THEN TRY_CAST(number AS DOUBLE)
  ELSE error(concat('sqlpriv: ', label, ' must be a number greater than 0')) END;
