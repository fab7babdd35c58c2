-- k_anonymity(tbl, qis [, person]) -> k
-- The size of the smallest class: the largest k for which the table is k-anonymous (Sweeney 2002). With a person
-- column the class is counted in distinct persons, so five rows of one patient are k = 1.
-- nulls: NULL is a value of its own; a class that is NULL throughout counts like any other.
-- guarantee: an attacker who knows only the quasi-identifiers of a person cannot distinguish them from k - 1 others. Says nothing about
-- what the class reveals: see l_diversity and epsilon_class1.
-- example: FROM priv.k_anonymity('patients', ['zip', 'age'])
-- expect: [(4,)]
CREATE MACRO k_anonymity(tbl, qis, person) AS TABLE
SELECT _unless_empty(min(size)) AS k FROM _sizes(tbl, qis, person);

-- k_anonymity_classes(tbl, qis [, person], threshold) -> class, size, value
-- The classes smaller than the threshold, smallest first.
-- nulls: as in k_anonymity.
-- guarantee: no row comes back exactly when k_anonymity is at least the threshold.
-- example: FROM priv.k_anonymity_classes('patients', ['zip'], 5)
-- expect: [({'zip': '1485*'}, 4, 4)]
CREATE MACRO k_anonymity_classes(tbl, qis, person, threshold) AS TABLE
WITH __priv_classes AS (SELECT class, size, size AS value FROM _sizes(tbl, qis, person))
FROM _smallest_first(__priv_classes, value < _bar(threshold));

-- alpha_k_anonymity(tbl, qis, sensitive [, person]) -> alpha, k
-- The largest share that one sensitive value has in a class, and the size of the smallest class: the table is
-- (alpha, k)-anonymous for these two (Wong et al. 2006).
-- nulls: NULL is a value of its own, sensitive or not.
-- guarantee: the belief that a person has any one value is at most alpha, for an attacker who knows nothing else.
-- example: FROM priv.alpha_k_anonymity('patients', ['zip', 'age'], 'disease')
-- expect: [(1.0, 4)]
CREATE MACRO alpha_k_anonymity(tbl, qis, sensitive, person) AS TABLE
SELECT max(value) AS alpha, min(size) AS k FROM _alpha_by_class(tbl, qis, sensitive, person) HAVING _unless_empty(true);

-- alpha_k_anonymity_classes(tbl, qis, sensitive [, person], threshold) -> class, size, value
-- The classes in which some value has a share above the threshold, largest share first.
-- nulls: as in alpha_k_anonymity.
-- guarantee: no row comes back exactly when alpha is at most the threshold.
-- example: FROM priv.alpha_k_anonymity_classes('patients', ['zip', 'age'], 'disease', 0.5)
-- expect: [({'zip': '130**', 'age': '30-40'}, 4, 1.0)]
CREATE MACRO alpha_k_anonymity_classes(tbl, qis, sensitive, person, threshold) AS TABLE
WITH __priv_classes AS (FROM _alpha_by_class(tbl, qis, sensitive, person))
FROM _largest_first(__priv_classes, _above(value, threshold));

-- _alpha_by_class(tbl, qis, sensitive [, person])
CREATE MACRO _alpha_by_class(tbl, qis, sensitive, person) AS TABLE
SELECT class, CAST(size AS BIGINT) AS size, _alpha(n, size) AS value
FROM _histogram(tbl, qis, sensitive, person)
GROUP BY class, size;

-- The largest share of a value in one class.
CREATE MACRO _alpha(n, size) AS max(n / size);
