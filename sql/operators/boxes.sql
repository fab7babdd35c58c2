-- Helpers of methods that publish boxes (sqlpriv/methods/generalized/boxes.py): how wide a box is on an axis, and where it is cut in half.

-- How much of an axis a range takes: 0 is one value, 1 the whole of it. An axis of one value has no width to lose.
CREATE MACRO _normalised_width(low, high, first, last) AS
(CASE WHEN last > first THEN (high - low) / CAST(last - first AS DOUBLE) ELSE CAST(0 AS DOUBLE) END);

-- Likewise for a node of a hierarchy, by the values below it and below the top: what a cell loses.
CREATE MACRO _node_width(leaves, domain) AS
(CASE WHEN domain > 1 THEN CAST(_cell_loss(leaves, domain) AS DOUBLE) ELSE CAST(0 AS DOUBLE) END);

-- What is cut first: how many of all values a node stands for.
CREATE MACRO _node_share(leaves, domain) AS (leaves / CAST(domain AS DOUBLE));

-- The last whole number of the lower half of a range.
CREATE MACRO _middle(low, high) AS (low + (high - low) // 2);

-- A closed range as its label: both ends, or the one value that it has. From a negative number on it is -110 to -76, since nobody reads -110--76.
CREATE MACRO _closed_label(low, high) AS
(CASE WHEN low = high THEN CAST(low AS VARCHAR)
  ELSE concat(CAST(low AS VARCHAR), CASE WHEN starts_with(CAST(low AS VARCHAR), '-') THEN ' to ' ELSE '-' END, CAST(high AS VARCHAR)) END);

-- How many bits tell the numbers from 0 to the last apart.
CREATE MACRO _bits_for(last) AS (CASE WHEN last > 0 THEN length(bin(last)) ELSE 0 END);

-- Where ways of bits part: twice the highest bit that some of them have and others do not, or 1. The bits below another one
-- are taken away first, so that the logarithm is never rounded up to the next whole number.
CREATE MACRO _top_bit(all_bits, any_bits) AS
(CAST(1 AS BIGINT) << CAST(floor(log2((xor(all_bits, any_bits) * 2 + 1) & ~xor(all_bits, any_bits))) AS INTEGER));

-- The number of the place where ways part: what they have in common, a one, and zeros.
CREATE MACRO _mark(way, top_bit) AS (way * 2 - (way * 2) % (top_bit * 2) + top_bit);

-- In which order columns are tried: the wider the earlier, and of those that are as wide the first.
CREATE MACRO _eagerness(width, axis) AS (width * (1 - axis * CAST(0.00000000000001 AS DOUBLE)));
