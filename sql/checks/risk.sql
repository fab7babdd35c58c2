-- risk(tbl, qis [, person]) -> prosecutor, marketer, uniques, unique_share
-- Re-identification risk for an attacker who knows that the person is in the table. prosecutor is the largest 1/n(q), marketer the share of records matched
-- right on average, classes over rows. Then come the classes of one and their share.
-- nulls: NULL is a value of its own.
-- guarantee: none beyond these numbers. Against an attacker who does not know who is in the table: population_risk.
-- example: FROM priv.risk('patients', ['zip', 'age'])
-- expect: [(0.25, 0.25, 0, 0.0)]
CREATE MACRO risk(tbl, qis, person) AS TABLE
SELECT max(_match_risk(size)) AS prosecutor, _marketer(count(*), sum(size)) AS marketer,
  count(CASE WHEN size = 1 THEN 1 END) AS uniques, count(CASE WHEN size = 1 THEN 1 END) / sum(size) AS unique_share
FROM _sizes(tbl, qis, person) HAVING _unless_empty(true);

-- risk_classes(tbl, qis [, person], threshold) -> class, size, value
-- The classes whose prosecutor risk 1/n(q) is above the threshold, riskiest first.
-- nulls: as in risk.
-- guarantee: no row comes back exactly when the prosecutor risk is at most the threshold.
-- example: FROM priv.risk_classes('patients', ['zip'], 0.2)
-- expect: [({'zip': '1485*'}, 4, 0.25)]
CREATE MACRO risk_classes(tbl, qis, person, threshold) AS TABLE
WITH __priv_classes AS (SELECT class, size, _match_risk(size) AS value FROM _sizes(tbl, qis, person))
FROM _largest_first(__priv_classes, _above(value, threshold));

-- class_sizes(tbl, qis [, person]) -> size, classes, rows
-- The histogram of class sizes: how many classes there are of each size, and how many rows (or persons) are in them.
-- nulls: NULL is a value of its own.
-- guarantee: none; a picture of where the table stands.
-- example: FROM priv.class_sizes('patients', ['zip'])
-- expect: [(4, 1, 4), (8, 1, 8)]
CREATE MACRO class_sizes(tbl, qis, person) AS TABLE
WITH __priv_sizes AS (FROM _sizes(tbl, qis, person))
SELECT size, classes, rows
FROM (
  SELECT size, count(*) AS classes, CAST(sum(size) AS BIGINT) AS rows FROM __priv_sizes GROUP BY size
  UNION ALL
  SELECT _unless_empty(max(size)), _unless_empty(count(*)), _unless_empty(count(*)) FROM __priv_sizes HAVING _unless_empty(false)
)
ORDER BY size;

-- The chance to match a person right among so many, and the share of all matches that are; the lattice search calls these, too.
CREATE MACRO _match_risk(people) AS (1 / people);
CREATE MACRO _marketer(classes, people) AS (classes / people);
