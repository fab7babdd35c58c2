-- epsilon_class1(tbl, qis, sensitive, prior, b [, predicates [, id]]) -> epsilon
-- The smallest epsilon for which the table is epsilon-private against a class I adversary, who knows b tuples of the table exactly. The prior is the table
-- prior(value, sigma), sigma(s) - 1 being the number of people with value s that this adversary has seen elsewhere (Machanavajjhala et al. 2009, Definition
-- 4). predicates(name, value) are sensitive SETS of values instead of single ones; predicates(id, name, value) are each person's own, and then id names the
-- person column of the table, by which people are counted. NULL for predicates keeps single values. With a column at_most, a bound for each set, epsilon is
-- a multiple of the bound of its set: at most 1 where all bounds hold. guarding_nodes makes such predicates.
-- nulls: NULL is a value of its own, also in prior and predicates.
-- guarantee: belief in a set grows by a factor of at most epsilon when a person is in the table, and disbelief shrinks
-- by no more. Computed from the beliefs, not by Theorem 1, whose closed form is off by one. sigma is taken exactly as
-- given; on tiny classes a less stubborn adversary can need more. Values missing from the prior are an error.
-- example: FROM priv.epsilon_class1('gotham', ['age', 'gender'], 'disease', 'metropolis', 0)
-- expect: [(4.00008,)]
CREATE MACRO epsilon_class1(tbl, qis, sensitive, prior, b, predicates, id) AS TABLE
SELECT _unless_empty(coalesce(max(value), 1.0)) AS epsilon
FROM _epsilon1_by_class(tbl, qis, sensitive, prior, b, predicates, id);

-- epsilon_class2(tbl, qis, sensitive, sigma, b [, predicates [, id]]) -> epsilon
-- The smallest epsilon against a class II adversary: any prior whose stubbornness is sigma, the worst of them
-- (Machanavajjhala et al. 2009). The worst prior has seen nobody with the set in question: sigma(S) = |S|.
-- nulls: NULL is a value of its own.
-- guarantee: as epsilon_class1, without knowing the adversary's prior. sigma must be at least the number of values.
-- example: FROM priv.epsilon_class2('gotham', ['age', 'gender'], 'disease', 30000, 0)
-- expect: [(60.998,)]
CREATE MACRO epsilon_class2(tbl, qis, sensitive, sigma, b, predicates, id) AS TABLE
SELECT _unless_empty(coalesce(max(value), 1.0)) AS epsilon
FROM _epsilon2_by_class(tbl, qis, sensitive, sigma, b, predicates, id);

-- epsilon_class3(tbl, qis, sensitive, shape, b [, predicates [, id]]) -> epsilon
-- The smallest epsilon against a class III adversary: one who believes the table shape(value, share) whatever the data
-- say (Machanavajjhala et al. 2009). With the uniform shape this is (c,2)-diversity, with the table's own it is near
-- t-closeness (Lemma 1).
-- nulls: NULL is a value of its own.
-- guarantee: as epsilon_class1, for an infinitely stubborn adversary of this shape. Shares must add up to 1.
-- example: FROM priv.epsilon_class3('gotham', ['age', 'gender'], 'disease', 'believed', 0)
-- expect: [(6.0,)]
CREATE MACRO epsilon_class3(tbl, qis, sensitive, shape, b, predicates, id) AS TABLE
SELECT _unless_empty(coalesce(max(value), 1.0)) AS epsilon
FROM _epsilon3_by_class(tbl, qis, sensitive, shape, b, predicates, id);

-- epsilon_class4(tbl, qis, sensitive [, b [, predicates [, id]]]) -> epsilon
-- Against class IV, every adversary there is, no generalized table is private (Machanavajjhala et al. 2009, Theorem 4):
-- epsilon is infinite as soon as a sensitive set occurs.
-- nulls: NULL is a value of its own.
-- guarantee: none, and that is the message. A randomized release can hold against such adversaries.
-- example: FROM priv.epsilon_class4('gotham', ['age', 'gender'], 'disease')
-- expect: [(inf,)]
CREATE MACRO epsilon_class4(tbl, qis, sensitive, b, predicates, id) AS TABLE
SELECT _unless_empty(coalesce(max(value), 1.0)) AS epsilon
FROM _epsilon4_by_class(tbl, qis, sensitive, _known(b), predicates, id);

-- epsilon_class1_classes(tbl, qis, sensitive, prior, b [, predicates [, id]], threshold) -> class, size, value
-- The classes that need an epsilon above the threshold, worst first.
-- nulls: as in epsilon_class1.
-- guarantee: no row comes back exactly when epsilon is at most the threshold.
-- example: FROM priv.epsilon_class1_classes('gotham', ['age', 'gender'], 'disease', 'metropolis', 0, 4)
-- expect: [({'age': '>= 40', 'gender': 'F'}, 20000, 4.00008)]
CREATE MACRO epsilon_class1_classes(tbl, qis, sensitive, prior, b, predicates, id, threshold) AS TABLE
WITH __priv_classes AS (FROM _epsilon1_by_class(tbl, qis, sensitive, prior, b, predicates, id))
FROM _largest_first(__priv_classes, _above(value, threshold));

-- epsilon_class2_classes(tbl, qis, sensitive, sigma, b [, predicates [, id]], threshold) -> class, size, value
-- The classes that need an epsilon above the threshold, worst first.
-- nulls: as in epsilon_class2.
-- guarantee: no row comes back exactly when epsilon is at most the threshold.
-- example: FROM priv.epsilon_class2_classes('gotham', ['age', 'gender'], 'disease', 30000, 0, 50)
-- expect: [({'age': '< 40', 'gender': 'M'}, 500, 60.998)]
CREATE MACRO epsilon_class2_classes(tbl, qis, sensitive, sigma, b, predicates, id, threshold) AS TABLE
WITH __priv_classes AS (FROM _epsilon2_by_class(tbl, qis, sensitive, sigma, b, predicates, id))
FROM _largest_first(__priv_classes, _above(value, threshold));

-- epsilon_class3_classes(tbl, qis, sensitive, shape, b [, predicates [, id]], threshold) -> class, size, value
-- The classes that need an epsilon above the threshold, worst first.
-- nulls: as in epsilon_class3.
-- guarantee: no row comes back exactly when epsilon is at most the threshold.
-- example: FROM priv.epsilon_class3_classes('gotham', ['age', 'gender'], 'disease', 'believed', 0, 5)
-- expect: [({'age': '>= 40', 'gender': 'F'}, 20000, 6.0)]
CREATE MACRO epsilon_class3_classes(tbl, qis, sensitive, shape, b, predicates, id, threshold) AS TABLE
WITH __priv_classes AS (FROM _epsilon3_by_class(tbl, qis, sensitive, shape, b, predicates, id))
FROM _largest_first(__priv_classes, _above(value, threshold));

-- epsilon_class4_classes(tbl, qis, sensitive [, b [, predicates [, id]]], threshold) -> class, size, value
-- Every class in which a sensitive set occurs.
-- nulls: as in epsilon_class4.
-- guarantee: none.
-- example: SELECT count(*) FROM priv.epsilon_class4_classes('gotham', ['age', 'gender'], 'disease', 100)
-- expect: [(3,)]
CREATE MACRO epsilon_class4_classes(tbl, qis, sensitive, b, predicates, id, threshold) AS TABLE
WITH __priv_classes AS (FROM _epsilon4_by_class(tbl, qis, sensitive, _known(b), predicates, id))
FROM _largest_first(__priv_classes, _above(value, threshold));

-- prior_from_counts(tbl, sensitive [, person]) -> value, sigma
-- The prior of an adversary who has seen another publication: its counts plus one (Section 2.3 of the paper). Keep it
-- as a table or view and pass its name to epsilon_class1; values that only the new table has must be added, with sigma 1.
-- nulls: NULL is a value of its own.
-- guarantee: none by itself.
-- example: FROM priv.prior_from_counts('patients', 'disease')
-- expect: [('Cancer', 6), ('Flu', 5), ('Heart', 4)]
CREATE MACRO prior_from_counts(tbl, sensitive, person) AS TABLE
SELECT value, n + 1 AS sigma FROM _counts(tbl, sensitive, person) ORDER BY value;

-- shape_from_counts(tbl, sensitive [, person]) -> value, share
-- The shape of an adversary who believes what another publication shows: its shares.
-- nulls: NULL is a value of its own.
-- guarantee: none by itself.
-- example: FROM priv.shape_from_counts('patients', 'disease')
-- expect: [('Cancer', 0.416667), ('Flu', 0.333333), ('Heart', 0.25)]
CREATE MACRO shape_from_counts(tbl, sensitive, person) AS TABLE
SELECT value, n / sum(n) OVER () AS share FROM _counts(tbl, sensitive, person) ORDER BY value;

-- uniform_shape(tbl, sensitive) -> value, share
-- The shape of an adversary to whom all values present in the table are equally likely.
-- nulls: NULL is a value of its own.
-- guarantee: none by itself.
-- example: FROM priv.uniform_shape('gotham', 'disease')
-- expect: [('Cancer', 0.5), ('Flu', 0.5)]
CREATE MACRO uniform_shape(tbl, sensitive) AS TABLE
SELECT value, 1 / count(*) OVER () AS share FROM _counts(tbl, sensitive) ORDER BY value;

-- Counts by value, in rows and in persons. A table without rows is an error here too: it gives no beliefs.
CREATE MACRO _counts(tbl, sensitive) AS TABLE FROM _some_counts(query(_counts_text(tbl, sensitive, _rows_in(tbl))));
CREATE MACRO _counts(tbl, sensitive, person) AS TABLE
FROM _some_counts(query(_counts_text(tbl, sensitive, 'count(DISTINCT ' || _holder(person) || ')')));
CREATE MACRO _some_counts(counts) AS TABLE
WITH __priv_counts AS (FROM counts)
SELECT value, n FROM __priv_counts
UNION ALL
SELECT NULL, NULL FROM __priv_counts HAVING _unless_empty(false);
CREATE MACRO _counts_text(tbl, sensitive, counted) AS
list_transform([_field(_column(sensitive))], lambda __priv_s:
  'SELECT ' || __priv_s || ' AS value, ' || counted || ' AS n' || _from_counted(tbl) || ' WHERE NOT ' || _has_members(__priv_s) || ' GROUP BY ' || __priv_s || ' UNION ALL SELECT '
  || __priv_s || ' AS value, ' || counted || ' AS n' || _read_alike(tbl, [sensitive]) || ' WHERE ' || _has_members(__priv_s) || ' GROUP BY ' || __priv_s)[1];

-- _epsilon1_by_class(tbl, qis, sensitive, prior, b [, predicates [, id]])
CREATE MACRO _epsilon1_by_class(tbl, qis, sensitive, prior, b, predicates, id) AS TABLE
FROM _epsilon1_of(_holdings(tbl, qis, sensitive, id), prior, b, predicates, id);

-- _epsilon1_of(holdings, prior, b [, predicates [, id]])
CREATE MACRO _epsilon1_of(holdings, prior, b, predicates, id) AS TABLE
WITH __priv_weights AS MATERIALIZED (SELECT CAST(__priv_p.value AS VARCHAR) AS item, TRY_CAST(__priv_p.sigma AS DOUBLE) AS weight FROM query_table(_table(prior)) AS __priv_p),
__priv_holdings AS MATERIALIZED (FROM holdings),
__priv_exposures AS MATERIALIZED (FROM _exposures(__priv_holdings, __priv_weights, predicates, id)),
__priv_total AS (
  SELECT CASE
      WHEN count(*) > count(DISTINCT item) + max(CASE WHEN item IS NULL THEN 1 ELSE 0 END) THEN error('sqlpriv: the prior has a value twice')
      WHEN sum(CASE WHEN weight BETWEEN 1 AND 1e300 THEN 0 ELSE 1 END) > 0 THEN error('sqlpriv: every sigma of the prior must be a number of at least 1')
      ELSE sum(weight)
    END AS stubbornness
  FROM __priv_weights
),
__priv_ratios AS (
  SELECT class, size, held, allowed, _likely1(held, weight) AS likely, _out_of1(size, stubbornness) AS out_of
  FROM _weighted(__priv_exposures, __priv_weights, predicates, id), __priv_total
)
FROM _worst_ratio(_covered(__priv_holdings, __priv_weights), __priv_ratios, _known(b));

-- _epsilon2_by_class(tbl, qis, sensitive, sigma, b [, predicates [, id]])
CREATE MACRO _epsilon2_by_class(tbl, qis, sensitive, sigma, b, predicates, id) AS TABLE
FROM _epsilon2_of(_holdings(tbl, qis, sensitive, id), sigma, b, predicates, id);

-- _epsilon2_of(holdings, sigma, b [, predicates [, id]])
CREATE MACRO _epsilon2_of(holdings, sigma, b, predicates, id) AS TABLE
WITH __priv_holdings AS MATERIALIZED (FROM holdings),
__priv_exposures AS MATERIALIZED (FROM _exposures(__priv_holdings, __priv_holdings, predicates, id)),
__priv_domain AS (SELECT count(*) AS kinds FROM (SELECT DISTINCT item FROM __priv_holdings)),
__priv_ratios AS (
  SELECT class, size, held, allowed, _likely2(held, weight) AS likely,
    _out_of2(size, CASE
      WHEN TRY_CAST(sigma AS DOUBLE) BETWEEN kinds AND 1e300 AND TRY_CAST(sigma AS DOUBLE) >= weight THEN TRY_CAST(sigma AS DOUBLE)
      ELSE error('sqlpriv: sigma must be a number, at least the number of sensitive values, each of which has sigma(s) >= 1')
    END) AS out_of
  FROM _numbered(__priv_exposures, predicates, id), __priv_domain
)
FROM _worst_ratio(__priv_holdings, __priv_ratios, _known(b));

-- _epsilon3_by_class(tbl, qis, sensitive, shape, b [, predicates [, id]])
CREATE MACRO _epsilon3_by_class(tbl, qis, sensitive, shape, b, predicates, id) AS TABLE
FROM _epsilon3_of(_holdings(tbl, qis, sensitive, id), shape, b, predicates, id);

-- _epsilon3_of(holdings, shape, b [, predicates [, id]])
CREATE MACRO _epsilon3_of(holdings, shape, b, predicates, id) AS TABLE
WITH __priv_weights AS MATERIALIZED (SELECT CAST(__priv_p.value AS VARCHAR) AS item, TRY_CAST(__priv_p.share AS DOUBLE) AS weight FROM query_table(_table(shape)) AS __priv_p),
__priv_holdings AS MATERIALIZED (FROM holdings),
__priv_exposures AS MATERIALIZED (FROM _exposures(__priv_holdings, __priv_weights, predicates, id)),
__priv_total AS (
  SELECT CASE
      WHEN count(*) > count(DISTINCT item) + max(CASE WHEN item IS NULL THEN 1 ELSE 0 END) THEN error('sqlpriv: the shape has a value twice')
      WHEN sum(CASE WHEN weight >= 0 THEN 0 ELSE 1 END) > 0 THEN error('sqlpriv: every share of the shape must be a number of at least 0')
      WHEN abs(sum(weight) - 1) > 1e-9 THEN error('sqlpriv: the shares of the shape must add up to 1')
      ELSE _out_of3()
    END AS certainty
  FROM __priv_weights
),
__priv_ratios AS (
  SELECT class, size, held, allowed, _likely3(weight) AS likely, certainty AS out_of
  FROM _weighted(__priv_exposures, __priv_weights, predicates, id), __priv_total
)
FROM _worst_ratio(_covered(__priv_holdings, __priv_weights), __priv_ratios, _known(b));

-- _epsilon4_by_class(tbl, qis, sensitive, b [, predicates [, id]])
CREATE MACRO _epsilon4_by_class(tbl, qis, sensitive, b, predicates, id) AS TABLE
WITH __priv_holdings AS MATERIALIZED (FROM _holdings(tbl, qis, sensitive, id)),
__priv_exposures AS MATERIALIZED (FROM _exposures(__priv_holdings, __priv_holdings, predicates, id)),
__priv_ratios AS (SELECT class, size, held, allowed, _likely4() AS likely, _out_of4() AS out_of FROM __priv_exposures)
FROM _worst_ratio(__priv_holdings, __priv_ratios, b);

-- The number of tuples the adversary knows.
CREATE MACRO _known(b) AS _whole(b, 0, 'sqlpriv: b, the number of known tuples, must be a whole number of at least 0');
CREATE MACRO _known() AS 0;

-- Who holds what: class, its size, the value as text, the holder (NULL when rows are counted), how many.
CREATE MACRO _holdings(tbl, qis, sensitive) AS TABLE
SELECT class, CAST(size AS BIGINT) AS size, CAST(value AS VARCHAR) AS item, NULL AS holder, n
FROM _histogram(tbl, qis, sensitive);
CREATE MACRO _holdings(tbl, qis, sensitive, person) AS TABLE
SELECT class, CAST(sum(first_of_holder) OVER (PARTITION BY class) AS BIGINT) AS size, item, holder, 1 AS n
FROM (
  SELECT class, CAST(value AS VARCHAR) AS item, CAST(holder AS VARCHAR) AS holder,
    CASE WHEN row_number() OVER (PARTITION BY class, holder ORDER BY value) = 1 THEN 1 ELSE 0 END AS first_of_holder
  FROM _held_by_persons(tbl, qis, sensitive, person)
);

-- What is exposed: for each class and sensitive set the number of rows or persons that hold it. Single values first,
-- then the table's sets, then each person's own, in the classes where that person is.
CREATE MACRO _exposures(holdings, known) AS TABLE
SELECT class, size, item AS content, sum(n) AS held, 1e0 AS allowed FROM holdings GROUP BY class, size, item;
CREATE MACRO _exposures(holdings, known, predicates) AS TABLE
WITH __priv_sets AS (
  SELECT content, min(allowed) AS allowed FROM _spelt(_sets(predicates), known)
  WHERE CASE WHEN concerns IS NULL THEN true
    ELSE error('sqlpriv: the predicates are per person; name the id column as the last argument') END
  GROUP BY content
  UNION
  SELECT [item], 1e0 FROM holdings WHERE predicates IS NULL
)
SELECT class, size, content, sum(n) AS held, allowed
FROM holdings AS h
JOIN (SELECT content, allowed, unnest(content) AS item FROM __priv_sets) AS s ON h.item IS NOT DISTINCT FROM s.item
GROUP BY class, size, content, allowed;
CREATE MACRO _exposures(holdings, known, predicates, id) AS TABLE
WITH __priv_concerned AS (
  SELECT class, content, min(allowed) AS allowed
  FROM (SELECT DISTINCT class, holder FROM holdings) AS h
  JOIN _spelt(_sets(predicates), known) AS s ON s.concerns IS NULL OR s.concerns = h.holder
  GROUP BY class, content
  UNION
  SELECT class, [item], 1e0 FROM holdings WHERE predicates IS NULL
)
SELECT s.class, size, content, count(DISTINCT holder) AS held, allowed
FROM (SELECT class, content, allowed, unnest(content) AS item FROM __priv_concerned) AS s
JOIN holdings AS h ON s.class IS NOT DISTINCT FROM h.class AND s.item IS NOT DISTINCT FROM h.item
GROUP BY s.class, size, content, allowed;

-- The sets, refused when one holds a value that is not among the known items: it may be misspelt, and a set that is
-- never found would pass for a safe one.
CREATE MACRO _spelt(sets, known) AS TABLE
WITH __priv_given AS MATERIALIZED (FROM sets)
SELECT concerns, content, allowed
FROM __priv_given, (
  SELECT count(*) AS unknown FROM (SELECT DISTINCT unnest(content) AS item FROM __priv_given) AS g
  WHERE NOT EXISTS (SELECT 1 FROM known AS w WHERE w.item IS NOT DISTINCT FROM g.item)
)
WHERE CASE WHEN unknown > 0
  THEN error('sqlpriv: a value of the predicates is neither in the table nor in the prior or shape; is it misspelt?') ELSE true END;

-- The sensitive sets: whom each concerns (NULL: everyone), its values, sorted, and the bound that its epsilon is measured by, 1 where the
-- table has none. The columns id and at_most are optional.
CREATE MACRO _sets(predicates) AS TABLE
SELECT CAST(concerned AS VARCHAR) AS concerns, list_sort(list(DISTINCT CAST(value AS VARCHAR))) AS content, min(allowed) AS allowed
FROM (
  SELECT concerned, name, value, CASE WHEN count(bound) OVER () = 0 THEN 1e0 ELSE _bound(bound) END AS allowed
  FROM query(CASE WHEN predicates IS NULL THEN 'SELECT NULL AS concerned, NULL AS name, NULL AS value, NULL AS bound WHERE false'
    ELSE 'SELECT id AS concerned, name, value, at_most AS bound FROM (SELECT CAST(NULL AS VARCHAR) AS id, CAST(NULL AS DOUBLE) AS at_most WHERE false UNION ALL BY NAME SELECT *'
      || _from(coalesce(predicates, '')) || ')' END)
)
GROUP BY concerned, name;

-- A bound that somebody allows.
CREATE MACRO _bound(at_most) AS
CASE WHEN TRY_CAST(at_most AS DOUBLE) BETWEEN 1 AND 1e300 THEN TRY_CAST(at_most AS DOUBLE)
  ELSE error('sqlpriv: at_most, the bound of a set, must be a number of at least 1: no belief can change by less') END;

-- Exposures with the weight of their set under a prior or shape: of a single value, or summed over a set.
CREATE MACRO _weighted(exposures, weights) AS TABLE
SELECT class, size, held, weight, allowed
FROM exposures AS e LEFT JOIN weights AS w ON e.content IS NOT DISTINCT FROM w.item;
CREATE MACRO _weighted(exposures, weights, predicates) AS TABLE
SELECT class, size, held, weight, allowed
FROM exposures AS e
JOIN (
  SELECT content, sum(weight) AS weight
  FROM (SELECT content, unnest(content) AS item FROM (SELECT DISTINCT content FROM exposures)) AS s
  JOIN weights AS w ON s.item IS NOT DISTINCT FROM w.item
  GROUP BY content
) AS s ON e.content IS NOT DISTINCT FROM s.content;
CREATE MACRO _weighted(exposures, weights, predicates, id) AS TABLE
FROM _weighted(exposures, weights, predicates);

-- Exposures with the number of values in their set.
CREATE MACRO _numbered(exposures) AS TABLE SELECT class, size, held, 1 AS weight, allowed FROM exposures;
CREATE MACRO _numbered(exposures, predicates) AS TABLE SELECT class, size, held, len(content) AS weight, allowed FROM exposures;
CREATE MACRO _numbered(exposures, predicates, id) AS TABLE FROM _numbered(exposures, predicates);

-- Holdings, refused when a value of the table is missing from the prior or shape.
CREATE MACRO _covered(holdings, weights) AS TABLE
SELECT class, size
FROM holdings, (
  SELECT count(*) AS missing FROM (SELECT DISTINCT item FROM holdings) AS h
  WHERE NOT EXISTS (SELECT 1 FROM weights AS w WHERE w.item IS NOT DISTINCT FROM h.item)
)
WHERE CASE WHEN missing > 0
  THEN error('sqlpriv: a sensitive value of the table is missing from the prior or shape') ELSE true END;
