-- possible_worlds(tbl, qis, sensitive) -> classes, digits
-- In how many ways the values of each class can be handed out to its people. These are the tables that a release with these classes may stand for, for one
-- who knows who is in which class. Their number is 10 to the power of digits. Values differ, rows with the same value do not.
-- nulls: NULL is a value of its own.
-- guarantee: exact up to the last digits of a double: the product over the classes of n! / (n_1! ... n_m!).
-- example: SELECT classes, digits FROM priv.possible_worlds('patients', ['zip', 'age'], 'disease')
-- expect: [(3, 1.857332)]
CREATE MACRO possible_worlds(tbl, qis, sensitive) AS TABLE
SELECT _unless_empty(count(*)) AS classes, _unless_empty(sum(ways)) / ln(10) AS digits
FROM (SELECT class, _log_ways(n) AS ways FROM _histogram(tbl, qis, sensitive) GROUP BY class);

-- minimality_bound(belief, excluded, worlds) -> share, belief
-- What a search reveals by its choice, at most: of so many worlds, drawn by lot from all that a release may stand for, the search would have chosen otherwise in `excluded`. share bounds the
-- share of all worlds in which it would have, and no belief, such as this one, becomes larger than belief / (1 - share) once they are ruled out.
-- nulls: NULL in, NULL out.
-- guarantee: share holds with a confidence of 95% (the exact binomial limit, rounded up to a thousandth); the belief follows from it for any statement. It holds whoever the statement is about.
-- example: SELECT share, round(belief, 6) FROM priv.minimality_bound(0.5, 0, 50)
-- expect: [(0.059, 0.53135)]
CREATE MACRO minimality_bound(belief, excluded, worlds) AS TABLE
SELECT CAST(share AS DOUBLE) AS share, CASE WHEN prior + share IS NULL THEN NULL WHEN share = 1 THEN 1 ELSE least(prior / (1 - share), 1) END AS belief
FROM (
  SELECT _prior_or_certain(belief) AS prior, CASE WHEN seen + trials IS NULL THEN NULL WHEN seen > trials THEN error('sqlpriv: excluded is a number of worlds, at most all') ELSE _most_share(seen, trials) END AS share
  FROM (
    SELECT CASE WHEN excluded IS NOT NULL THEN _whole(excluded, 0, 'sqlpriv: excluded must be a whole number of at least 0') END AS seen,
      CASE WHEN worlds IS NOT NULL THEN _whole(worlds, 1, 'sqlpriv: worlds must be a whole number of at least 1') END AS trials
  ) AS __priv_w
) AS __priv_s;

CREATE MACRO _prior_or_certain(belief) AS
CASE WHEN belief IS NULL THEN NULL WHEN TRY_CAST(belief AS DOUBLE) BETWEEN 0 AND 1 THEN TRY_CAST(belief AS DOUBLE) ELSE error('sqlpriv: belief must lie between 0 and 1') END;

-- The logarithm of the number of ways to hand out the values of one class.
CREATE MACRO _log_ways(n) AS (lgamma(sum(n) + 1) - sum(lgamma(n + 1)));

-- The smallest share, in thousandths, at which so few of so many would be seen once in twenty times at most; 1 where all were.
CREATE MACRO _most_share(seen, trials) AS
coalesce(list_min(list_filter(list_transform(range(1, 1000), lambda __priv_x: __priv_x / 1000), lambda __priv_p:
  list_sum(list_transform(range(0, seen + 1), lambda __priv_j: exp(_log_binomial(trials, __priv_j, __priv_p)))) <= 0.05 + _hair())), 1);
