-- odds_factor(d, gamma) -> factor, epsilon
-- By how much a release may change the odds of a statement so that no belief of at most d becomes larger than gamma. It has factor = gamma (1 - d) / (d (1 -
-- gamma)), the 1/R of alpha_beta_parameters, and its logarithm.
-- nulls: NULL in, NULL out.
-- guarantee: exact: a belief of d becomes gamma when its odds grow by factor. Noisy counts with this factor are differentially private, one
-- person's row replaced by another, with this epsilon.
-- example: SELECT round(factor, 6), round(epsilon, 6) FROM priv.odds_factor(0.0625, 0.3)
-- expect: [(6.428571, 1.860752)]
CREATE MACRO odds_factor(d, gamma) AS TABLE
SELECT 1 / r AS factor, -ln(r) AS epsilon FROM (SELECT _odds_ratio(d, gamma) AS r) AS __priv_r;

-- posterior_bound(belief, factor) -> posterior, least_posterior
-- The curve of a release that changes odds by at most `factor`. It has the largest and the least belief that a belief can become, b L / (1 - b + b L) and b
-- / (b + (1 - b) L). (d, gamma) is one point of it: print it for the beliefs that people fear.
-- nulls: NULL in, NULL out.
-- guarantee: exact for every belief from 0 to 1, also above d: a belief of one half becomes L / (1 + L).
-- example: SELECT round(posterior, 6), round(least_posterior, 6) FROM priv.posterior_bound(0.5, 4)
-- expect: [(0.8, 0.2)]
CREATE MACRO posterior_bound(belief, factor) AS TABLE
SELECT CASE WHEN b IS NOT NULL THEN _belief_at_most(b, 1 / l) END AS posterior, CASE WHEN l IS NOT NULL THEN b / (b + (1 - b) * l) END AS least_posterior
FROM (
  SELECT _factor(factor) AS l, CASE WHEN belief IS NULL THEN NULL WHEN TRY_CAST(belief AS DOUBLE) BETWEEN 0 AND 1 THEN TRY_CAST(belief AS DOUBLE)
    ELSE error('sqlpriv: belief must lie between 0 and 1') END AS b
) AS __priv_b;

-- linking_prior(choices, times) -> d
-- The prior bound of an attacker who knows every other column of a person. To this attacker no value of the sensitive one is more than `times` times as
-- likely, in odds, as if its `choices` possible values were all alike. d = times / (choices - 1 + times).
-- nulls: NULL in, NULL out.
-- guarantee: none by itself: it is the d to ask the other macros for. choices are the values possible given the other columns: where some
-- are publicly ruled out, the fewest that are left, of two or more; NULL is one if the domain has it. Who knows less is covered by averaging.
-- example: SELECT round(d, 6) FROM priv.linking_prior(33, 2)
-- expect: [(0.058824,)]
CREATE MACRO linking_prior(choices, times) AS TABLE
SELECT _linking(1 / number, more) AS d FROM (SELECT _amount(choices, 2, 'choices') AS number, _positive(times, 'times') AS more) AS __priv_c;

-- linking_prior_of_share(public_share, times) -> d
-- As linking_prior, for a value that publicly has this share s among people: d = times s / (1 - s + times s).
-- nulls: NULL in, NULL out.
-- guarantee: as of linking_prior. The share must be public, not counted in the private table.
-- example: SELECT round(d, 6) FROM priv.linking_prior_of_share(0.05, 2)
-- expect: [(0.095238,)]
CREATE MACRO linking_prior_of_share(public_share, times) AS TABLE
SELECT _linking(part, more) AS d FROM (SELECT _public_share(public_share) AS part, _positive(times, 'times') AS more) AS __priv_c;

-- person_prior(d, rows_each) -> d
-- The prior bound for "one of the rows of this person has the value", when each of its up to rows_each rows has it with prior at most
-- d: 1 - (1 - d)^rows_each. It is the d of the person, and the factor comes from it: see row_factor.
-- nulls: NULL in, NULL out.
-- guarantee: exact when the rows are believed in independently. With d in its place two rows would reach .47 for .3.
-- example: SELECT round(d, 6) FROM priv.person_prior(0.1, 2)
-- expect: [(0.19,)]
CREATE MACRO person_prior(d, rows_each) AS TABLE
SELECT _noise_at(number * _minus_log(prior)) AS d FROM (SELECT _prior_bound(d) AS prior, _each(rows_each) AS number) AS __priv_d;

-- row_factor(factor, rows_each) -> factor
-- The factor left for each row when the odds of a person with up to rows_each rows may change by `factor`: factor^(1 / rows_each).
-- nulls: NULL in, NULL out.
-- guarantee: exact: rows_each rows, each changing odds by so much, change them by `factor`. rows_each must be public and kept: no person may have more.
-- example: SELECT round(factor, 6) FROM priv.row_factor(6.25, 2)
-- expect: [(2.5,)]
CREATE MACRO row_factor(factor, rows_each) AS TABLE
SELECT _row_factor(l, number) AS factor FROM (SELECT _factor(factor) AS l, _each(rows_each) AS number) AS __priv_l;

-- linking_factor(alpha, least_beta, most_beta, persist, views) -> factor
-- By how much an alpha-beta view may change the odds between two tuples that a person could have, for one who knows everybody else: the ratio of
-- seeing the one and not the other. Noise is beta for all, or lies between two bounds; for a sequence of views, with its persist, it is that of all views together.
-- nulls: NULL in, NULL out.
-- guarantee: ((alpha + b) / b) ((1 - B) / (1 - alpha - B)) for one view, b and B the bounds of beta. With views v and persist e, (p / b) e^(1 - v) ((1 - B) / (1 - P))^v. Reached
-- by tuples of one slot (unless B > P e, where P e stands for B); with slots an attacker sees less than the slot, so it is a bound. Infinite without noise, or where every row is kept.
-- example: SELECT round(factor, 6) FROM priv.linking_factor(0.4, 0.1, 0.1, 0.5, 1)
-- expect: [(9.0,)]
CREATE MACRO linking_factor(alpha, least_beta, most_beta, persist, views) AS TABLE
SELECT CASE WHEN p + b + most + e + v IS NULL THEN NULL WHEN b = 0 OR p - b + most >= 1 THEN CAST('Infinity' AS DOUBLE)
    WHEN most < b THEN error('sqlpriv: most_beta must be at least least_beta')
    ELSE p / b * pow(e, 1 - v) * pow((1 - CASE WHEN v = 1 THEN most ELSE least(most, (p - b + most) * e) END) / (1 - (p - b) - most), v) END AS factor
FROM (
  SELECT _kept_by(alpha, least_beta) AS p, _noise(alpha, least_beta) AS b, _noise(alpha, most_beta) AS most, _persistence(persist) AS e, _amount(views, 1, 'views') AS v
) AS __priv_p;

CREATE MACRO _factor(factor) AS
CASE WHEN factor IS NULL THEN NULL WHEN TRY_CAST(factor AS DOUBLE) BETWEEN 1 + 1e-9 AND 1e100 THEN TRY_CAST(factor AS DOUBLE)
  ELSE error('sqlpriv: factor, by which odds may change, must be a number greater than 1') END;
CREATE MACRO _factor_of(prior, bound) AS (bound * (1 - prior) / (prior * (1 - bound)));
CREATE MACRO _row_factor(l, number) AS pow(l, 1 / number);
-- By the inverse of the factor, which is 0 where the factor is infinite.
CREATE MACRO _belief_at_most(b, inverse) AS (CASE WHEN b = 0 THEN b ELSE b / (b + (1 - b) * inverse) END);
CREATE MACRO _linking(part, more) AS (more * part / (1 - part + more * part));
CREATE MACRO _each() AS CAST(1 AS DOUBLE);
CREATE MACRO _each(rows_each) AS _amount(rows_each, 1, 'rows_each');
CREATE MACRO _public_share(public_share) AS
CASE WHEN public_share IS NULL THEN NULL WHEN TRY_CAST(public_share AS DOUBLE) > 0 AND TRY_CAST(public_share AS DOUBLE) < 1 THEN TRY_CAST(public_share AS DOUBLE)
  ELSE error('sqlpriv: public_share, what a value has of all people, must lie between 0 and 1') END;
