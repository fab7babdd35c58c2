-- k_map(tbl, population, qis [, person]) -> k
-- The smallest number of people in the population that share a class of the table (Sweeney 2002): k-anonymity against
-- an attacker who does not know who is in the table. 0 when a class of the table is missing from the population.
-- nulls: NULL is a value of its own in both tables.
-- guarantee: each person in the table looks like at least k people of the population; worth what the population table is.
-- example: FROM priv.k_map('wards', 'town', ['ward'])
-- expect: [(6,)]
CREATE MACRO k_map(tbl, population, qis, person) AS TABLE
SELECT _unless_empty(min(value)) AS k FROM _population_by_class(tbl, population, qis, person);

-- k_map_classes(tbl, population, qis [, person], threshold) -> class, size, value
-- The classes of the table with fewer people in the population than the threshold, fewest first.
-- nulls: as in k_map.
-- guarantee: no row comes back exactly when k_map is at least the threshold.
-- example: FROM priv.k_map_classes('wards', 'town', ['ward'], 7)
-- expect: [({'ward': 'women'}, 5, 6)]
CREATE MACRO k_map_classes(tbl, population, qis, person, threshold) AS TABLE
WITH __priv_classes AS (FROM _population_by_class(tbl, population, qis, person))
FROM _smallest_first(__priv_classes, value < _bar(threshold));

-- delta_presence(tbl, population, qis [, person]) -> delta_min, delta_max
-- The smallest and the largest probability that a person of the population is in the table, by class (Nergiz et al.
-- 2007). The table must be part of the population: a class with more people in the table is an error.
-- nulls: NULL is a value of its own in both tables.
-- guarantee: an attacker who knows the population learns of nobody that they are in the table with more than delta_max.
-- example: FROM priv.delta_presence('wards', 'town', ['ward'])
-- expect: [(0.0, 0.833333)]
CREATE MACRO delta_presence(tbl, population, qis, person) AS TABLE
SELECT min(value) AS delta_min, max(value) AS delta_max
FROM _presence_by_class(tbl, population, qis, person) HAVING _unless_empty(true);

-- delta_presence_classes(tbl, population, qis [, person], threshold) -> class, size, value
-- The classes of the population whose people are in the table with more than the threshold, most exposed first.
-- nulls: as in delta_presence.
-- guarantee: no row comes back exactly when delta_max is at most the threshold.
-- example: FROM priv.delta_presence_classes('wards', 'town', ['ward'], 0.5)
-- expect: [({'ward': 'women'}, 5, 0.833333), ({'ward': 'men'}, 5, 0.625)]
CREATE MACRO delta_presence_classes(tbl, population, qis, person, threshold) AS TABLE
WITH __priv_classes AS (FROM _presence_by_class(tbl, population, qis, person))
FROM _largest_first(__priv_classes, _above(value, threshold));

-- population_risk(tbl, population, qis [, person]) -> journalist, marketer
-- Re-identification risk when the attacker knows the population but not who was sampled: the largest 1/N(q) over the
-- classes of the table, and the average share of records a marketer gets right (Emam et al. 2009).
-- nulls: NULL is a value of its own in both tables.
-- guarantee: none beyond these numbers; a class missing from the population counts as risk 1.
-- example: FROM priv.population_risk('wards', 'town', ['ward'])
-- expect: [(0.166667, 0.145833)]
CREATE MACRO population_risk(tbl, population, qis, person) AS TABLE
SELECT max(_journalist(value)) AS journalist, sum(size / greatest(value, 1)) / sum(size) AS marketer
FROM _population_by_class(tbl, population, qis, person) HAVING _unless_empty(true);

-- _population_by_class(tbl, population, qis [, person])
-- coalesce refuses columns of two types before any row is read: a failed cast would show a value of the table. The
-- population stands in a CTE because in a join DuckDB looks for its missing columns on the other side. The value asks
-- for t.size so that the persons of the table are looked at, and a NULL among them refused, also where only it is wanted.
CREATE MACRO _population_by_class(tbl, population, qis, person) AS TABLE
WITH __priv_people AS (FROM _sizes(population, qis, person))
SELECT coalesce(t.class, p.class) AS class, t.size, CASE WHEN t.size > 0 THEN coalesce(p.size, 0) END AS value
FROM _sizes(tbl, qis, person) AS t
LEFT JOIN __priv_people AS p ON t.class IS NOT DISTINCT FROM p.class;

-- _presence_by_class(tbl, population, qis [, person])
CREATE MACRO _presence_by_class(tbl, population, qis, person) AS TABLE
WITH __priv_table AS (FROM _sizes(tbl, qis, person)),
__priv_people AS (FROM _sizes(population, qis, person))
SELECT coalesce(p.class, t.class) AS class, coalesce(t.size, 0) AS size,
  _presence(t.size, p.size) AS value
FROM __priv_table AS t
FULL JOIN __priv_people AS p ON t.class IS NOT DISTINCT FROM p.class
WHERE EXISTS (FROM __priv_table);

-- The lattice search calls these, too. A class missing from the population counts as risk 1; people in the table that the
-- population does not have are an error, since no share of it would be right.
CREATE MACRO _journalist(people) AS _match_risk(greatest(people, 1));
CREATE MACRO _presence(size, people) AS
CASE WHEN people IS NULL OR size > people
  THEN error('sqlpriv: the table is not part of the population: a class has more people in the table')
  ELSE coalesce(size, 0) / people END;
