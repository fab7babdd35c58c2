-- Helpers of hierarchy_bins, and of releases that name bins once more by the rows that they publish (sqlpriv/methods/generalized/generalize/node.py).

-- _bin_points(listed) -> value, cell, copies, form, point
-- The values of a column (value as text, cell, copies), each with the last point of the grid (grid.sql) that is not above it. A point is a number, or the
-- days from 1970 to the first of its month. The form is whole, number, date or time; other types have neither. A value without a place on the grid has a
-- form and no point: one that is infinite, or is another number as a double.
CREATE MACRO _bin_points(listed) AS TABLE
WITH __priv_typed AS (
  SELECT value, cell, copies, CASE WHEN regexp_full_match(typeof(cell), _integers()) THEN 'whole'
    WHEN regexp_full_match(typeof(cell), 'FLOAT|DOUBLE|DECIMAL[(].*[)]') THEN 'number'
    WHEN typeof(cell) = 'DATE' THEN 'date' WHEN typeof(cell) = 'TIMESTAMP' THEN 'time' END AS form,
    CASE WHEN starts_with(typeof(cell), 'DECIMAL') THEN TRY_CAST(regexp_extract(typeof(cell), '([0-9]+)[)]$', 1) AS INTEGER) WHEN form = 'whole' THEN 0
      ELSE 10 END AS decimals, TRY_CAST(cell AS DATE) AS day, TRY_CAST(value AS DOUBLE) AS number
  FROM listed
),
__priv_numbers AS (
  SELECT * REPLACE (CASE WHEN form IN ('whole', 'number') AND decimals <= 10 AND abs(number) < 1e24
    AND TRY_CAST(CAST(number AS VARCHAR) AS DECIMAL(38, 10)) = TRY_CAST(value AS DECIMAL(38, 10)) THEN number END AS number)
  FROM __priv_typed
),
__priv_near AS (SELECT *, _grid_near(number) AS near FROM __priv_numbers),
__priv_exponents AS (SELECT *, _grid_exponent(number, near, -decimals) AS exponent FROM __priv_near),
__priv_nearest AS (SELECT *, _grid_nearest(number, exponent) AS nearest FROM __priv_exponents),
__priv_steps AS (SELECT *, _grid_steps(number, exponent, nearest) AS steps FROM __priv_nearest)
SELECT value, cell, copies, form, CASE WHEN form IN ('whole', 'number') THEN _grid_number(steps, exponent) + 0
  WHEN form IS NOT NULL AND isfinite(day) THEN CAST(day - DATE '1970-01-01' - day(day) + 1 AS DOUBLE) END AS point
FROM __priv_steps;

-- _bins_named(placed) -> value, place, label
-- The names of bins, given the values in them: value, cell, form, point, and on each level (place) the bin, from 0. With points a bin is
-- the cell from its first point up to that of the next bin, open where there is no bin beyond; else it is named by its values. Where two
-- bins of a level would then share a name, as texts with commas can, all names of the level get their number.
CREATE MACRO _bins_named(placed) AS TABLE
WITH __priv_bins AS (
  SELECT place, bin, CASE WHEN min(point) IS NULL THEN _bin_of_values(first(value ORDER BY cell, value), first(value ORDER BY cell DESC, value),
      first(cell ORDER BY cell) = first(cell ORDER BY cell DESC))
    ELSE _bin_cell(CASE WHEN bin > 0 THEN min(point) END, lead(min(point)) OVER (PARTITION BY place ORDER BY bin), any_value(form)) END AS name
  FROM placed GROUP BY place, bin
),
__priv_shared AS (SELECT place, count(*) > count(DISTINCT name) AS is_shared FROM __priv_bins GROUP BY place)
SELECT p.value, p.place, CASE WHEN s.is_shared THEN concat(b.name, ' #', b.bin + 1) ELSE b.name END AS label
FROM placed AS p JOIN __priv_bins AS b ON p.place = b.place AND p.bin = b.bin JOIN __priv_shared AS s ON p.place = s.place;

-- A bin of one value is written as that value, unless this could be the name of another bin, or the top.
CREATE MACRO _bin_of_values(least, most, is_one) AS
(CASE WHEN is_one AND NOT regexp_matches(least, '^([*]$|[[])') THEN least ELSE concat('[', least, ', ', most, ']') END);

-- The label of the cell from a point to the one that it stops before, either of which may be missing. Closed ranges are of whole numbers of at
-- least 0, and of days; all others are half-open.
CREATE MACRO _bin_cell(low, cut, form) AS
(_cell_label(_bin_end(low, form), _bin_end(cut - 1, form), _bin_end(cut, form), form = 'date' OR (form = 'whole' AND low >= 0),
  CASE WHEN form IN ('date', 'time') THEN ' or later' ELSE ' or more' END, CASE WHEN form IN ('date', 'time') THEN 'before ' ELSE 'less than ' END));
CREATE MACRO _bin_end(point, form) AS
(CASE WHEN form IN ('date', 'time') THEN CAST(DATE '1970-01-01' + TRY_CAST(point AS INTEGER) AS VARCHAR)
  ELSE rtrim(rtrim(CAST(TRY_CAST(CAST(point AS VARCHAR) AS DECIMAL(38, 10)) AS VARCHAR), '0'), '.') END);
