-- Helpers: buckets of rows whose columns are published apart. Rows stand in an order and are numbered 0, 1, ..., n - 1.
-- docs/split.md proves what is said here about groups and buckets.

-- Into how many buckets rows go, so that none has fewer than `least`.
CREATE MACRO _bucket_count(table_rows, least_rows) AS (table_rows // least_rows);

-- Anatomy: the group of a row, by its number in the order of sensitive values. All values of a group differ exactly when no
-- value has more rows than there are groups: two rows of one group are at least so many places apart.
CREATE MACRO _group_of(place, groups) AS (place % groups);

-- The largest l for which that is so: the most frequent value has `most` rows.
CREATE MACRO _largest_l(table_rows, most) AS (table_rows // most);

-- Neighbours in the order together: bucket 0, 1, ..., whose sizes differ by one row at most.
CREATE MACRO _run_of(place, table_rows, buckets) AS (place * buckets // table_rows);

-- Four coins out of the bits of one hash: rows are many, and to hash takes longer than to sort.
CREATE MACRO _four_coins(bits) AS [_coin_word(bits, 0), _coin_word(bits, 1), _coin_word(bits, 2), _coin_word(bits, 3)];

-- Slicing: the mean-square contingency of two columns (Cramer), from 0, independent, to 1, one determines the other. Its parts are summed over
-- the pairs of values that occur: `together` rows have both, `ones` and `others` rows have the one or the other. What chance alone is
-- expected to give is taken off (Bergsma 2013), or columns of many values would always seem to go together.
CREATE MACRO _contingency_part(together, ones, others) AS (CAST(together AS DOUBLE) * together / (CAST(ones AS DOUBLE) * others));
CREATE MACRO _contingency(parts_sum, kinds, other_kinds, table_rows) AS
CASE WHEN least(kinds, other_kinds) < 2 THEN CAST(0 AS DOUBLE)
  ELSE greatest(parts_sum - 1 - (kinds - 1) * (other_kinds - 1) / (table_rows - 1), 0) / (least(kinds, other_kinds) - 1) END;
