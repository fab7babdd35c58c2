-- l_diversity(tbl, qis, sensitive [, person]) -> distinct_l, entropy_l
-- The number of different sensitive values in the poorest class, and the effective number exp(H) of the class with
-- the least entropy H (Machanavajjhala et al. 2006). entropy_l is a real number, never rounded.
-- nulls: NULL is a value of its own, so an unknown diagnosis adds to the diversity; decide whether it should.
-- guarantee: distinct_l = 1 means that somebody's value is known for certain. Neither number bounds the belief of
-- an attacker who knows more: see negation_diversity and epsilon_class1.
-- example: FROM priv.l_diversity('patients', ['zip'], 'disease')
-- expect: [(3, 2.828427)]
CREATE MACRO l_diversity(tbl, qis, sensitive, person) AS TABLE
SELECT min(distinct_l) AS distinct_l, min(entropy_l) AS entropy_l
FROM _diversity_by_class(tbl, qis, sensitive, person) HAVING _unless_empty(true);

-- l_diversity_classes(tbl, qis, sensitive [, person], threshold) -> class, size, value
-- The classes with fewer different values than the threshold, fewest first.
-- nulls: as in l_diversity.
-- guarantee: no row comes back exactly when distinct_l is at least the threshold.
-- example: FROM priv.l_diversity_classes('patients', ['zip', 'age'], 'disease', 2)
-- expect: [({'zip': '130**', 'age': '30-40'}, 4, 1)]
CREATE MACRO l_diversity_classes(tbl, qis, sensitive, person, threshold) AS TABLE
WITH __priv_classes AS (
  SELECT class, size, distinct_l AS value FROM _diversity_by_class(tbl, qis, sensitive, person)
)
FROM _smallest_first(__priv_classes, value < _bar(threshold));

-- entropy_diversity_classes(tbl, qis, sensitive [, person], threshold) -> class, size, value
-- The classes whose entropy_l is below the threshold, lowest first. Compared with a tolerance, so a class of counts
-- 2, 2, 2 is 3-diverse.
-- nulls: as in l_diversity.
-- guarantee: no row comes back exactly when entropy_l is at least the threshold.
-- example: FROM priv.entropy_diversity_classes('patients', ['zip', 'age'], 'disease', 2)
-- expect: [({'zip': '130**', 'age': '30-40'}, 4, 1.0)]
CREATE MACRO entropy_diversity_classes(tbl, qis, sensitive, person, threshold) AS TABLE
WITH __priv_classes AS (
  SELECT class, size, entropy_l AS value FROM _diversity_by_class(tbl, qis, sensitive, person)
)
FROM _smallest_first(__priv_classes, _below(value, threshold));

-- recursive_diversity(tbl, qis, sensitive, l [, person]) -> c
-- The smallest c: the table is recursive (c', l)-diverse for every c' greater than c, that is r1 < c' (r_l + ... + r_m)
-- in every class, r1 the count of the MOST frequent value (Machanavajjhala et al. 2006). Infinity when a class has
-- fewer than l values.
-- nulls: NULL is a value of its own.
-- guarantee: after ruling out l - 2 values the most frequent one left is not much more likely than the rest. The
-- definition is strict, so c itself does not hold.
-- example: FROM priv.recursive_diversity('patients', ['zip'], 'disease', 2)
-- expect: [(1.0,)]
CREATE MACRO recursive_diversity(tbl, qis, sensitive, l, person) AS TABLE
SELECT _unless_empty(max(value)) AS c FROM _recursion_by_class(tbl, qis, sensitive, l, person);

-- recursive_diversity_classes(tbl, qis, sensitive, l [, person], threshold) -> class, size, value
-- The classes that are not recursive (threshold, l)-diverse, worst first.
-- nulls: as in recursive_diversity.
-- guarantee: no row comes back exactly when the table is recursive (threshold, l)-diverse.
-- example: FROM priv.recursive_diversity_classes('patients', ['zip'], 'disease', 2, 1.0)
-- expect: [({'zip': '1485*'}, 4, 1.0), ({'zip': '130**'}, 8, 1.0)]
CREATE MACRO recursive_diversity_classes(tbl, qis, sensitive, l, person, threshold) AS TABLE
WITH __priv_classes AS (FROM _recursion_by_class(tbl, qis, sensitive, l, person))
FROM _largest_first(__priv_classes, NOT _below(value, threshold));

-- negation_diversity(tbl, qis, sensitive, l [, person]) -> posterior
-- The worst belief that a person has a value, held by an attacker who knows l - 2 values that the person does not have. This is the lecture's form of
-- l-diversity, r1 / (r1 + r_l + ... + r_m). At l = 2 it is the largest share.
-- nulls: NULL is a value of its own.
-- guarantee: no attacker with at most l - 2 negation statements about a person believes any value more than this.
-- example: FROM priv.negation_diversity('patients', ['zip'], 'disease', 3)
-- expect: [(0.666667,)]
CREATE MACRO negation_diversity(tbl, qis, sensitive, l, person) AS TABLE
SELECT _unless_empty(max(value)) AS posterior FROM _negation_by_class(tbl, qis, sensitive, l, person);

-- negation_diversity_classes(tbl, qis, sensitive, l [, person], threshold) -> class, size, value
-- The classes in which that belief passes the threshold, worst first.
-- nulls: as in negation_diversity.
-- guarantee: no row comes back exactly when the posterior is at most the threshold.
-- example: FROM priv.negation_diversity_classes('patients', ['zip'], 'disease', 3, 0.6)
-- expect: [({'zip': '1485*'}, 4, 0.666667), ({'zip': '130**'}, 8, 0.666667)]
CREATE MACRO negation_diversity_classes(tbl, qis, sensitive, l, person, threshold) AS TABLE
WITH __priv_classes AS (FROM _negation_by_class(tbl, qis, sensitive, l, person))
FROM _largest_first(__priv_classes, _above(value, threshold));

-- _diversity_by_class(tbl, qis, sensitive [, person])
CREATE MACRO _diversity_by_class(tbl, qis, sensitive, person) AS TABLE
SELECT class, CAST(size AS BIGINT) AS size, _distinct_l(r) AS distinct_l, _entropy_l(r, size) AS entropy_l
FROM _histogram(tbl, qis, sensitive, person)
GROUP BY class, size;

-- _recursion_by_class(tbl, qis, sensitive, l [, person])
CREATE MACRO _recursion_by_class(tbl, qis, sensitive, l, person) AS TABLE
SELECT class, size, _recursive_c(most, tail) AS value
FROM _tails(tbl, qis, sensitive, _whole(l, 1, 'sqlpriv: l must be a whole number of at least 1'), person);

-- _negation_by_class(tbl, qis, sensitive, l [, person])
CREATE MACRO _negation_by_class(tbl, qis, sensitive, l, person) AS TABLE
SELECT class, size, _negation_posterior(most, tail) AS value
FROM _tails(tbl, qis, sensitive, _whole(l, 2, 'sqlpriv: l must be a whole number of at least 2'), person);

-- _tails(tbl, qis, sensitive, first [, person])
-- Per class the largest count r1 and the tail r_first + ... + r_m.
CREATE MACRO _tails(tbl, qis, sensitive, first, person) AS TABLE
SELECT class, CAST(size AS BIGINT) AS size, max(r) AS most,
  sum(CASE WHEN place >= first THEN r ELSE 0 END) AS tail
FROM (
  SELECT class, size, r, row_number() OVER (PARTITION BY class ORDER BY r DESC) AS place
  FROM _histogram(tbl, qis, sensitive, person)
)
GROUP BY class, size;

-- The formulas, for one class.
CREATE MACRO _distinct_l(r) AS count(CASE WHEN r > 0 THEN 1 END);
CREATE MACRO _entropy_l(r, size) AS exp(sum(CASE WHEN r > 0 THEN -r / size * ln(r / size) ELSE 0 END));
CREATE MACRO _recursive_c(most, tail) AS
CASE WHEN tail = 0 THEN CAST('Infinity' AS DOUBLE) ELSE most / tail END;
CREATE MACRO _negation_posterior(most, tail) AS (most / (most + tail));
