-- beta_likeness(tbl, qis, sensitive [, person]) -> beta
-- The largest relative gain of belief in a value, (p_q - p)/p over the classes q and their values, p the share in the
-- table: basic beta-likeness (Cao and Karras 2012). Unlike t_closeness it is pointwise, so rare values are not averaged away.
-- nulls: NULL is a value of its own.
-- guarantee: nobody's belief in a value grows by more than a factor of 1 + beta, starting from the table's shares.
-- example: FROM priv.beta_likeness('patients', ['zip', 'age'], 'disease')
-- expect: [(1.4,)]
CREATE MACRO beta_likeness(tbl, qis, sensitive, person) AS TABLE
SELECT _unless_empty(max(beta)) AS beta FROM _gains_by_class(tbl, qis, sensitive, person);

-- beta_likeness_classes(tbl, qis, sensitive [, person], threshold) -> class, size, value
-- The classes with a gain above the threshold, largest first.
-- nulls: as in beta_likeness.
-- guarantee: no row comes back exactly when beta is at most the threshold.
-- example: FROM priv.beta_likeness_classes('patients', ['zip', 'age'], 'disease', 1)
-- expect: [({'zip': '130**', 'age': '30-40'}, 4, 1.4)]
CREATE MACRO beta_likeness_classes(tbl, qis, sensitive, person, threshold) AS TABLE
WITH __priv_classes AS (SELECT class, size, beta AS value FROM _gains_by_class(tbl, qis, sensitive, person))
FROM _largest_first(__priv_classes, _above(value, threshold));

-- enhanced_beta_likeness(tbl, qis, sensitive [, person]) -> beta
-- As beta_likeness, but a gain may never pass -ln p either, so that frequent values cannot reach certainty: the
-- smallest beta, or infinity when some gain passes -ln p (enhanced beta-likeness, Cao and Karras 2012).
-- nulls: NULL is a value of its own.
-- guarantee: gain at most min(beta, -ln p) for every value.
-- example: FROM priv.enhanced_beta_likeness('patients', ['zip', 'age'], 'disease')
-- expect: [(inf,)]
CREATE MACRO enhanced_beta_likeness(tbl, qis, sensitive, person) AS TABLE
SELECT _unless_empty(max(enhanced_beta)) AS beta FROM _gains_by_class(tbl, qis, sensitive, person);

-- enhanced_beta_likeness_classes(tbl, qis, sensitive [, person], threshold) -> class, size, value
-- The classes that are not enhanced beta-like for the threshold, worst first.
-- nulls: as in enhanced_beta_likeness.
-- guarantee: no row comes back exactly when beta is at most the threshold.
-- example: FROM priv.enhanced_beta_likeness_classes('patients', ['zip', 'age'], 'disease', 1)
-- expect: [({'zip': '130**', 'age': '30-40'}, 4, inf)]
CREATE MACRO enhanced_beta_likeness_classes(tbl, qis, sensitive, person, threshold) AS TABLE
WITH __priv_classes AS (SELECT class, size, enhanced_beta AS value FROM _gains_by_class(tbl, qis, sensitive, person))
FROM _largest_first(__priv_classes, _above(value, threshold));

-- delta_disclosure(tbl, qis, sensitive [, person]) -> delta, delta_present
-- The largest |ln(p_q / p)| over classes and ALL values of the table (Brickell and Shmatikov 2008): infinity as soon as
-- a class lacks a value. delta_present looks only at the values a class has.
-- nulls: NULL is a value of its own.
-- guarantee: beliefs change by a factor below e^delta in either direction. The definition is strict: delta itself
-- does not hold. delta_present is not a guarantee: a class that lacks a value discloses that nobody has it.
-- example: FROM priv.delta_disclosure('patients', ['zip', 'age'], 'disease')
-- expect: [(inf, 0.875469)]
CREATE MACRO delta_disclosure(tbl, qis, sensitive, person) AS TABLE
SELECT max(delta) AS delta, max(delta_present) AS delta_present
FROM _gains_by_class(tbl, qis, sensitive, person) HAVING _unless_empty(true);

-- delta_disclosure_classes(tbl, qis, sensitive [, person], threshold) -> class, size, value
-- The classes that are not delta-disclosure private for the threshold, worst first.
-- nulls: as in delta_disclosure.
-- guarantee: no row comes back exactly when delta is below the threshold.
-- example: SELECT count(*) FROM priv.delta_disclosure_classes('patients', ['zip', 'age'], 'disease', 1)
-- expect: [(2,)]
CREATE MACRO delta_disclosure_classes(tbl, qis, sensitive, person, threshold) AS TABLE
WITH __priv_classes AS (SELECT class, size, delta AS value FROM _gains_by_class(tbl, qis, sensitive, person))
FROM _largest_first(__priv_classes, NOT _below(value, threshold));

-- _gains_by_class(tbl, qis, sensitive [, person])
CREATE MACRO _gains_by_class(tbl, qis, sensitive, person) AS TABLE
WITH __priv_histogram AS MATERIALIZED (FROM _histogram(tbl, qis, sensitive, person))
SELECT class, CAST(size AS BIGINT) AS size, _beta(n, size, base) AS beta,
  _enhanced_beta(n, size, base, _gain_ceiling(base)) AS enhanced_beta,
  _delta_present(n, size, base) AS delta_present, _delta(n, size, base, kinds) AS delta
FROM __priv_histogram AS h
JOIN (
  SELECT value, total / (SELECT sum(members) FROM __priv_histogram) AS base, count(*) OVER () AS kinds
  FROM (SELECT value, sum(n) AS total FROM __priv_histogram GROUP BY value)
) AS b ON h.value IS NOT DISTINCT FROM b.value
GROUP BY class, size, kinds;

-- The formulas, for one class; base is the belief that the whole table gives. With p_q = n / size, the largest and the
-- smallest n / base of a class tell its largest gain and loss.
CREATE MACRO _beta(n, size, base) AS greatest(max(n / base) / size - 1, 0);
CREATE MACRO _enhanced_beta(n, size, base, ceiling) AS
CASE WHEN max(n / ceiling) / size > 1 + _hair() THEN CAST('Infinity' AS DOUBLE) ELSE _beta(n, size, base) END;
CREATE MACRO _delta_present(n, size, base) AS greatest(ln(max(n / base) / size), -ln(min(n / base) / size));
CREATE MACRO _delta(n, size, base, kinds) AS
CASE WHEN count(*) < kinds THEN CAST('Infinity' AS DOUBLE) ELSE _delta_present(n, size, base) END;

-- The largest p_q that enhanced beta-likeness allows: (p_q - p)/p <= -ln p.
CREATE MACRO _gain_ceiling(base) AS (base * (1 - ln(base)));
