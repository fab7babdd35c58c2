-- Helpers: to know a table again. A cell becomes a text that survives an export to CSV, and a keyed hash; the hashes of its cells, added
-- up, stand for a row, so that the order of the columns does not matter and a column less is a term less. The sketch of a table is its
-- smallest sums with the copies of each row. With the key, whoever guesses a row can test it against a sketch: it is private.

-- A cell as text: 1, 1.0 and '01' are one number, an empty text is like NULL, a day is like its midnight, case does not count.
CREATE MACRO _cell_text(value) AS _plain_cell(lower(trim(CAST(value AS VARCHAR))));
CREATE MACRO _plain_cell(cell) AS
CASE
  WHEN cell IS NULL THEN ''
  WHEN abs(TRY_CAST(cell AS DOUBLE)) < 9e15 THEN _number_text(TRY_CAST(cell AS DOUBLE))
  WHEN cell LIKE '____-__-__%' THEN regexp_replace(regexp_replace(cell, '^(.{10})t', '\1 '), ' 00:00:00$', '')
  ELSE cell
END;
CREATE MACRO _number_text(number) AS
CASE WHEN number = trunc(number) THEN CAST(CAST(number AS BIGINT) AS VARCHAR) ELSE CAST(number AS VARCHAR) END;

-- Word number 0, 1, ... of a cell's bits, and of a row from the sum of its cells' words: whole numbers below 2^52.
CREATE MACRO _cell_word(bits, place) AS CAST('0x' || substr(bits, 1 + 13 * (place), 13) AS BIGINT);
CREATE MACRO _row_word(added) AS ((added) & 4503599627370495);
-- A cell's word together with that of its column's name, where the rows (1, 2) and (2, 1) must not be the same.
CREATE MACRO _named_word(word, name_word) AS xor(word, name_word);

-- What a row adds to the digest of its table, from two of its words. A product: sums alone would see the columns one by one.
CREATE MACRO _row_digest(word, other) AS (CAST((word) % 1099511627776 AS HUGEINT) * ((other) % 1099511627776));

-- How two sketches resemble each other, from _copies_of_both. shared and smaller count distinct rows there; by_chance is how many would be shared if one were a fresh sample
-- of the population that the other comes from (Good and Turing: rows seen once come again as often as the rows seen twice say);
-- evenness says how much more alike the copies are than such a sample's, as a deviation of the standard normal distribution.
-- alike: half of the smaller one is in the other, and that is no chance, by what is shared or by the copies. Between tables whose
-- few kinds of rows every sample has, only the copies can tell; rare rows are proof by themselves.
CREATE MACRO _resemblances(cells) AS TABLE
SELECT first, second, shared, smaller, by_chance, evenness,
  shared >= 0.5 * smaller AND (shared - by_chance >= _telling_excess(by_chance) OR coalesce(evenness <= -3, false)) AS alike
FROM (
  SELECT c.first, c.second, c.shared, c.smaller, least(c.by_chance, c.smaller) AS by_chance, least(e.evenness, s.evenness) AS evenness
  FROM (FROM _shared_cells(cells)) AS c
  LEFT JOIN (FROM _evenness(cells, 1)) AS e ON e.first = c.first AND e.second = c.second
  LEFT JOIN (FROM _evenness((FROM cells WHERE a > 0 AND b > 0), 5)) AS s ON s.first = c.first AND s.second = c.second
);

-- Of two sketches that are alike, what distinguishes a list of possible rows from a copy of some; a: the private table, b: what is said to be public.
-- listed: each of its rows is there equally often, as no part of a table that has copies is. rare: most of them are the only ones of their
-- kind in the private table. held: with their copies they are half of the private table or more.
CREATE MACRO _listed_rows(cells) AS TABLE
SELECT first, second, min(b) FILTER (b > 0) = max(b) AS listed, 2 * count(*) FILTER (a = 1 AND b > 0) > count(*) FILTER (b > 0) AS rare,
  2 * count(*) FILTER (a > 0 AND b > 0) >= sum(a) AS held
FROM cells GROUP BY first, second;

-- Three standard deviations and three rows.
CREATE MACRO _telling_excess(by_chance) AS (3 * sqrt((by_chance) + 1));

-- For every sketch of `known` and of `given` (sketch, hash, copies) that share a hash: every hash up to where both sketches reach, with
-- its copies in each. `size` is how many hashes a sketch has at most; one with fewer is the whole table.
CREATE MACRO _copies_of_both(known, given, size) AS TABLE
SELECT first, second, hash, sum(a) AS a, sum(b) AS b
FROM (
  SELECT p.first, p.second, k.hash, k.copies AS a, 0 AS b
  FROM _meeting_sketches(known, given, size) AS p JOIN known AS k ON k.sketch = p.first AND k.hash <= p.reach
  UNION ALL
  SELECT p.first, p.second, g.hash, 0, g.copies
  FROM _meeting_sketches(known, given, size) AS p JOIN given AS g ON g.sketch = p.second AND g.hash <= p.reach
)
GROUP BY first, second, hash;

CREATE MACRO _meeting_sketches(known, given, size) AS TABLE
SELECT m.first, m.second, least(k.reach, g.reach) AS reach
FROM (SELECT DISTINCT k.sketch AS first, g.sketch AS second FROM known AS k JOIN given AS g ON g.hash = k.hash) AS m
JOIN _sketch_reach(known, size) AS k ON k.sketch = m.first
JOIN _sketch_reach(given, size) AS g ON g.sketch = m.second;
CREATE MACRO _sketch_reach(sketches, size) AS TABLE
SELECT s.sketch, CASE WHEN count(*) < size THEN 9223372036854775807 ELSE max(s.hash) END AS reach FROM sketches AS s GROUP BY s.sketch;

-- How many distinct rows are in both, in the one with fewer, and by chance in both.
CREATE MACRO _shared_cells(cells) AS TABLE
SELECT s.first, s.second, s.shared, least(s.firsts, s.seconds) AS smaller,
  CASE WHEN s.firsts >= s.seconds THEN _seen_again(s.b / s.a, s.once_a, s.twice_a, s.more_a) ELSE _seen_again(s.a / s.b, s.once_b, s.twice_b, s.more_b) END AS by_chance
FROM (
  SELECT c.first, c.second, count(*) FILTER (c.a > 0 AND c.b > 0) AS shared, count(*) FILTER (c.a > 0) AS firsts, count(*) FILTER (c.b > 0) AS seconds,
    CAST(sum(c.a) AS DOUBLE) AS a, CAST(sum(c.b) AS DOUBLE) AS b,
    count(*) FILTER (c.a = 1) AS once_a, count(*) FILTER (c.a = 2) AS twice_a, count(*) FILTER (c.b = 1) AS once_b, count(*) FILTER (c.b = 2) AS twice_b,
    coalesce(sum(1 - exp(-c.a * t.ratio)) FILTER (c.a > 1), 0) AS more_a, coalesce(sum(1 - exp(-c.b / t.ratio)) FILTER (c.b > 1), 0) AS more_b
  FROM cells AS c
  JOIN (SELECT t.first, t.second, CAST(sum(t.b) AS DOUBLE) / sum(t.a) AS ratio FROM cells AS t GROUP BY t.first, t.second) AS t
    ON t.first = c.first AND t.second = c.second
  GROUP BY c.first, c.second
) AS s;
-- Of rows that were seen once, twice and more often, how many kinds a sample `ratio` times as large sees again.
CREATE MACRO _seen_again(ratio, once, twice, more) AS (CASE WHEN once = 0 THEN 0 ELSE once * (1 - exp(-ratio * 2 * twice / once)) END + more);

-- Pearson's statistic of the copies in both, over the rows of which enough are to be expected in each, and its lower tail by Wilson and
-- Hilferty. Over all rows, and over those in both: of a part that some condition chose, the others are all missing.
CREATE MACRO _evenness(cells, enough) AS TABLE
SELECT e.first, e.second, _chi_square_deviation(sum(_imbalance(e.a, e.b, e.share)), count(*) - 1) AS evenness
FROM (FROM _with_share((SELECT f.first, f.second, f.a, f.b FROM (FROM _with_share(cells)) AS f WHERE (f.a + f.b) * least(f.share, 1 - f.share) >= enough))) AS e
WHERE e.share > 0 AND e.share < 1
GROUP BY e.first, e.second HAVING count(*) > 1;
CREATE MACRO _with_share(cells) AS TABLE
SELECT c.first, c.second, c.a, c.b, CAST(sum(c.a) OVER (PARTITION BY c.first, c.second) AS DOUBLE) / sum(c.a + c.b) OVER (PARTITION BY c.first, c.second) AS share
FROM cells AS c;
CREATE MACRO _imbalance(a, b, share) AS (pow((a) - (share) * ((a) + (b)), 2) / ((share) * (1 - (share)) * ((a) + (b))));
CREATE MACRO _chi_square_deviation(statistic, degrees) AS ((cbrt((statistic) / (degrees)) - (1 - 2.0 / (9 * (degrees)))) / sqrt(2.0 / (9 * (degrees))));
