-- Helpers of epsilon_privacy.sql and of the lattice search: beliefs, and by how much a release changes them.

-- What the adversary of each class, who has seen a class but for one of its rows, takes as likely for that row, and out of how much
-- (docs/definitions.md): with a prior of sigma(s) for what is held, `weight`, and of `stubbornness` in all; with the worst prior of a
-- stubbornness, which has seen one person with each of the values held, or with the only one; with a shape that no row can
-- change; and with any shape. A shape that gives a value a share has sigma(s) = stubbornness share. The lattice search and its curves call these, too.
CREATE MACRO _sigma_of(stubbornness, share) AS (stubbornness * share);
CREATE MACRO _likely1(held, weight) AS (held + weight - 1);
CREATE MACRO _out_of1(size, stubbornness) AS (size + stubbornness - 1);
CREATE MACRO _likely2(held) AS held;
CREATE MACRO _likely2(held, kinds) AS (held + kinds - 1);
CREATE MACRO _out_of2(size, stubbornness) AS (size - 1 + stubbornness);
CREATE MACRO _likely3(weight) AS weight;
CREATE MACRO _out_of3() AS 1.0;
CREATE MACRO _likely4() AS 0.0;
CREATE MACRO _out_of4() AS 1.0;

-- The worst epsilon of each class, each as a multiple of what is allowed for its set; NULL where no sensitive set occurs.
CREATE MACRO _worst_ratio(holdings, ratios, b) AS TABLE
SELECT c.class, c.size, max(_epsilon(held, r.size, b, likely, out_of) / allowed) AS value
FROM (SELECT DISTINCT class, size FROM holdings) AS c
LEFT JOIN ratios AS r ON c.class IS NOT DISTINCT FROM r.class
GROUP BY c.class, c.size;

-- max(p_in/p_out, (1-p_out)/(1-p_in)) with p_in = held/(size - b) and p_out = likely/out_of. NULL where nothing is held.
CREATE MACRO _epsilon(held, size, b, likely, out_of) AS
_epsilon_of(held / (size - b), size - b, size - b - held, likely, out_of);

-- The same with unknown = size - b and rest = unknown - held given. 1 - p_in is 0 once the known tuples are all those
-- without the set; x/0 is infinity and 0/0 is 1.
CREATE MACRO _epsilon_of(p_in, unknown, rest, likely, out_of) AS
CASE
  WHEN rest <= 0 THEN CASE WHEN out_of - likely > _hair() * out_of THEN CAST('Infinity' AS DOUBLE) ELSE 1.0 END
  WHEN likely <= 0 THEN CAST('Infinity' AS DOUBLE)
  ELSE greatest(p_in * out_of / likely, (out_of - likely) / out_of * unknown / rest)
END;
