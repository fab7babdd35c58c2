-- Hard bounds from a generalized release: what a class of equal rows adds to a sum at least and at most, the greatest mean that some
-- choice of rows can have, and the ends of the ranges that labels name. Every row stands for any leaf below its labels, on its own,
-- so low and high of a sum are sums over classes; a leaf outside the group or the condition adds 0.

-- What a row of a class adds at least, and at most: of its `leaves`, `inside` are in the group, and add between least_inside and greatest_inside.
CREATE MACRO _class_low(least_inside, inside, leaves) AS CASE WHEN inside < leaves THEN least(least_inside, 0) ELSE least_inside END;
CREATE MACRO _class_high(greatest_inside, inside, leaves) AS CASE WHEN inside < leaves THEN greatest(greatest_inside, 0) ELSE greatest_inside END;

-- The mean of rows that must be in it together with others that may: the greatest mean is that with the largest of these, down to some
-- one of them, and so the greatest over all such beginnings of the sorted list; the least mean likewise from the smallest.
CREATE MACRO _mean_with(must_sum, must_rows, may_sum, may_rows) AS (must_sum + may_sum) / nullif(must_rows + may_rows, 0);

-- What a leaf adds that stands for values without bounds: so large a number stands for no bound.
CREATE MACRO _unbounded(added) AS
CASE WHEN added > CAST(1e290 AS DOUBLE) THEN CAST('inf' AS DOUBLE) WHEN added < CAST(-1e290 AS DOUBLE) THEN CAST('-inf' AS DOUBLE) ELSE added END;

-- The ratio of two sums that lie between bounds, the lower one not below 0: least and greatest of its corners; NULL where the lower one may be 0
-- and the upper one is not, since then there is no bound.
CREATE MACRO _quotient_low(low, high, divisor_low, divisor_high) AS
CASE WHEN divisor_low > 0 THEN least(low / divisor_low, low / divisor_high) END;
CREATE MACRO _quotient_high(low, high, divisor_low, divisor_high) AS
CASE WHEN divisor_low > 0 THEN greatest(high / divisor_low, high / divisor_high) END;

-- What a leaf weighs for a suppressed row, from each label that published rows have: rows_there of them, of whose leaves it has a share.
CREATE MACRO _spread(rows_there, leaf_weight, all_weights) AS rows_there * leaf_weight / all_weights;

-- The ends of the range that a label of hierarchy_ranges names: its first number, and the first beyond it. 15-19 is of whole numbers.
CREATE MACRO _range_from(label) AS
CASE WHEN regexp_full_match(label, '[0-9]+(-[0-9]+)?') THEN TRY_CAST(regexp_extract(label, '^[0-9]+') AS DECIMAL(38, 10))
  WHEN regexp_full_match(label, '\[-?[0-9.]+, -?[0-9.]+\)') THEN TRY_CAST(regexp_extract(label, '^\[(-?[0-9.]+)', 1) AS DECIMAL(38, 10)) END;
CREATE MACRO _range_to(label) AS
CASE WHEN regexp_full_match(label, '[0-9]+(-[0-9]+)?') THEN TRY_CAST(regexp_extract(label, '[0-9]+$') AS DECIMAL(38, 10)) + 1
  WHEN regexp_full_match(label, '\[-?[0-9.]+, -?[0-9.]+\)') THEN TRY_CAST(regexp_extract(label, '(-?[0-9.]+)\)$', 1) AS DECIMAL(38, 10)) END;

-- Likewise for a label of hierarchy_dates: its first day, and the first day beyond it.
CREATE MACRO _date_from(label) AS
CASE WHEN regexp_full_match(label, '[0-9]{4}-[0-9]{2}-[0-9]{2}') THEN TRY_CAST(label AS DATE)
  WHEN regexp_full_match(label, '[0-9]{4}-[0-9]{2}') THEN TRY_CAST(concat(label, '-01') AS DATE)
  WHEN regexp_full_match(label, '[0-9]{4}-Q[1-4]')
    THEN TRY_CAST(concat(left(label, 4), '-', lpad(CAST(3 * CAST(right(label, 1) AS INTEGER) - 2 AS VARCHAR), 2, '0'), '-01') AS DATE)
  WHEN regexp_full_match(label, '[0-9]{4}s?') THEN TRY_CAST(concat(left(label, 4), '-01-01') AS DATE) END;
CREATE MACRO _date_to(label) AS
CAST(CASE WHEN regexp_full_match(label, '[0-9]{4}-[0-9]{2}-[0-9]{2}') THEN _date_from(label) + INTERVAL 1 DAY
  WHEN regexp_full_match(label, '[0-9]{4}-[0-9]{2}') THEN _date_from(label) + INTERVAL 1 MONTH
  WHEN regexp_full_match(label, '[0-9]{4}-Q[1-4]') THEN _date_from(label) + INTERVAL 3 MONTH
  WHEN regexp_full_match(label, '[0-9]{4}') THEN _date_from(label) + INTERVAL 1 YEAR
  WHEN regexp_full_match(label, '[0-9]{4}s') THEN _date_from(label) + INTERVAL 10 YEAR END AS DATE);

-- The smallest and the largest whole number of a range, from its ends; those of the type where the range reaches beyond it.
CREATE MACRO _whole_from(low, kind) AS
greatest(CAST(ceil(low) AS HUGEINT), CASE WHEN starts_with(kind, 'U') THEN 0 WHEN kind = 'TINYINT' THEN -128 WHEN kind = 'SMALLINT' THEN -32768
  WHEN kind = 'INTEGER' THEN -2147483648 WHEN kind = 'BIGINT' THEN -9223372036854775808 ELSE CAST(ceil(low) AS HUGEINT) END);
CREATE MACRO _whole_to(high, kind) AS
least(CAST(ceil(high) AS HUGEINT) - 1, CASE kind WHEN 'TINYINT' THEN 127 WHEN 'UTINYINT' THEN 255 WHEN 'SMALLINT' THEN 32767
  WHEN 'USMALLINT' THEN 65535 WHEN 'INTEGER' THEN 2147483647 WHEN 'UINTEGER' THEN 4294967295 WHEN 'BIGINT' THEN 9223372036854775807
  WHEN 'UBIGINT' THEN 18446744073709551615 ELSE CAST(ceil(high) AS HUGEINT) - 1 END);

-- Likewise for a bin of numbers or dates, as texts: its first value, the value before which it stops, and where it is closed its last one. NULL
-- where the label says none: a bin may be open at either end.
CREATE MACRO _bin_from(label) AS
nullif(regexp_extract(label, concat('^\[?(', _day_text(), '|-?[0-9.]+)(?: or more| or later|, [^,]*[)]|-[0-9]+|-', _day_text(), ')?$'), 1), '');
CREATE MACRO _bin_before(label) AS
nullif(regexp_extract(label, concat('^(?:less than |before |\[[^,]*, )(', _day_text(), '|-?[0-9.]+)[)]?$'), 1), '');
CREATE MACRO _bin_to(label) AS
nullif(regexp_extract(label, concat('^(?:', _day_text(), '-|[0-9]+-)?(', _day_text(), '|[0-9]+)$'), 1), '');
CREATE MACRO _day_text() AS '[0-9]+-[0-9]{2}-[0-9]{2}(?: [(]BC[)])?';

-- Columns that are published apart, in buckets: every row of a side goes with one row of each other side, and nobody knows which.
-- docs/split.md proves the bounds. What the rows of a bucket are expected to add: all combinations of one row of each side are as
-- likely, and bucket_size of them are rows; all_added is what all of them add. For two sides and a condition on each that is a b / n.
CREATE MACRO _expected(all_added, bucket_size, sides) AS (all_added / pow(bucket_size, sides - 1));
-- Of so many rows of each side, added up, so many are together at least: max(0, a + b - n) for two sides.
CREATE MACRO _fewest_together(copies_added, bucket_size, sides) AS greatest(copies_added - (sides - 1) * bucket_size, 0);
-- What combinations add that all add the same, and of which at least and at most so many are rows.
CREATE MACRO _alike_low(added, fewest, most) AS
CASE WHEN added < 0 THEN most * added WHEN fewest > 0 THEN fewest * added ELSE CAST(0 AS DOUBLE) END;
CREATE MACRO _alike_high(added, fewest, most) AS
CASE WHEN added > 0 THEN most * added WHEN fewest > 0 THEN fewest * added ELSE CAST(0 AS DOUBLE) END;
-- What is left of what a combination adds, once a row of one side has taken its part.
CREATE MACRO _left_over(added, taken) AS (added - taken);
-- The better of two bounds. Differences of infinite values are no bound at all.
CREATE MACRO _higher_low(one, other) AS
greatest(CASE WHEN isnan(one) THEN CAST('-inf' AS DOUBLE) ELSE one END, CASE WHEN isnan(other) THEN CAST('-inf' AS DOUBLE) ELSE other END);
CREATE MACRO _lower_high(one, other) AS
least(CASE WHEN isnan(one) THEN CAST('inf' AS DOUBLE) ELSE one END, CASE WHEN isnan(other) THEN CAST('inf' AS DOUBLE) ELSE other END);
