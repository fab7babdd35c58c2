-- Helpers of ranges (sqlpriv/methods/generalized/grid.py): the points at which they may end where no domain says it. They come from no data: numbers
-- with at most two significant digits, of which `finest` says how small the last digit may be as a power of ten. So an end reveals no person's value.

-- A whole number of powers of ten. Below 1 by a division, since that gives the number as it is written.
CREATE MACRO _grid_number(mantissa, exponent) AS
(CASE WHEN exponent >= 0 THEN mantissa * pow(CAST(10 AS DOUBLE), exponent) ELSE mantissa / pow(CAST(10 AS DOUBLE), -exponent) END);

-- About the power of ten that the second digit of a number stands for; a logarithm may be rounded.
CREATE MACRO _grid_near(number) AS
(floor(log10(greatest(abs(CAST(number AS DOUBLE)), CAST(1e-12 AS DOUBLE)))) - 1);

-- The power of ten of the step that leads upwards from the last point that is not above a number: of -1000 it is 10, of 1000 it is 100.
CREATE MACRO _grid_exponent(number, near, finest) AS
(greatest(finest, near
  + CASE WHEN pow(CAST(10 AS DOUBLE), near + 2) < abs(number) OR pow(CAST(10 AS DOUBLE), near + 2) = number THEN 1 ELSE 0 END
  - CASE WHEN pow(CAST(10 AS DOUBLE), near + 1) > abs(number) OR pow(CAST(10 AS DOUBLE), near + 1) = -number THEN 1 ELSE 0 END));

-- So many steps lead from 0 to the nearest point, and to the last point that is not above a number.
CREATE MACRO _grid_nearest(number, exponent) AS (round(_grid_number(number, -exponent)));
CREATE MACRO _grid_steps(number, exponent, nearest) AS
(nearest - CASE WHEN _grid_number(nearest, exponent) > number THEN 1 ELSE 0 END);

-- The label of a cell: a range that is closed, or that stops before a cut, or that is open at one end or at both.
CREATE MACRO _cell_label(low, high, cut, is_closed, more, less) AS
(CASE WHEN low IS NULL AND high IS NULL THEN '*' WHEN high IS NULL THEN concat(CAST(low AS VARCHAR), more)
  WHEN low IS NULL THEN concat(less, CAST(cut AS VARCHAR)) WHEN is_closed THEN _closed_label(low, high)
  ELSE concat('[', CAST(low AS VARCHAR), ', ', CAST(cut AS VARCHAR), ')') END);
