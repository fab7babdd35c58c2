-- What many records come to together, each with its number of copies.

-- A mean over all copies, which may be infinite; and a share of them.
CREATE MACRO _mean_of(one, copies) AS CASE WHEN max(one) = CAST('Infinity' AS DOUBLE) THEN max(CAST(one AS DOUBLE)) ELSE sum(one * copies) / sum(copies) END;
CREATE MACRO _share_of(part, whole) AS (coalesce(part, 0) / whole);
-- The next number of two digits that is not below this one: a bound that tells of a table no more than it must.
CREATE MACRO _rounded_up(number) AS
CASE WHEN number > 0 AND isfinite(number) THEN ceil(number / pow(10, floor(log10(number)) - 1) * (1 - 1e-12)) * pow(10, floor(log10(number)) - 1) ELSE number END;
