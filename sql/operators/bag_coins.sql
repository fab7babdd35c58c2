-- Helpers: how many copies of a tuple noisy counts show, from one coin a tuple, by inverting a distribution: the smallest number whose cumulative
-- probability is above the share (0 to below 1) that the coin gives. Nothing but + - * / and sqrt in a written order, which IEEE 754 rounds in
-- one way only, so that every engine draws the same copies from the same key; exp, ln and pow would differ in their last digits. A share
-- has 52 bits, so the chances are right to 2^-52, and what is rarer than that is never drawn.

-- Of so many equal rows, each kept with probability p, the number that is kept. `steps` is _kept_steps(copies, p), which is to be made once for
-- each number of copies; share and steps are to be columns, since they stand in a lambda and would be made again for each of its steps.
CREATE MACRO _kept_copies(copies, p, steps, share) AS
CASE
  WHEN copies = 1 THEN CASE WHEN share < 1 - p THEN CAST(0 AS BIGINT) ELSE 1 END
  ELSE CAST(_kept_lowest(copies, p) + list_transform([steps], lambda sums: len(list_filter(sums, lambda x: x <= share * sums[-1])))[1] AS BIGINT)
END;

-- The cumulative weights of the numbers from _kept_lowest on; the last is their total. The likeliest number has weight 1 and the others
-- follow from it step by step, up and down, where (1 - p)^copies would be 0 for a thousand rows; the smallest are added first.
CREATE MACRO _kept_steps(copies, p) AS
list_reduce(list_transform(list_concat(
  list_reverse(_running(list_transform(range(0, CAST(_kept_mode(copies, p) - _kept_lowest(copies, p) AS BIGINT)), lambda x: _kept_down(copies, p, _kept_mode(copies, p) - x)))),
  _running(list_transform(range(0, CAST(_kept_highest(copies, p) - _kept_mode(copies, p) AS BIGINT)), lambda x: _kept_up(copies, p, _kept_mode(copies, p) + x)))[2:]
), lambda x: [x]), lambda x, y: list_append(x, x[-1] + y[1]));
CREATE MACRO _running(ratios) AS list_reduce(list_prepend(CAST([1] AS DOUBLE[]), list_transform(ratios, lambda x: [x])), lambda x, y: list_append(x, x[-1] * y[1]));
-- The weight of k - 1 and of k + 1 beside that of k.
CREATE MACRO _kept_down(copies, p, k) AS ((k) * (1 - p) / ((copies - (k) + 1) * p));
CREATE MACRO _kept_up(copies, p, k) AS ((copies - (k)) * p / (((k) + 1) * (1 - p)));
-- The numbers further away weigh less than exp(-40) on each side, by Bernstein's inequality: less than a share can tell.
CREATE MACRO _kept_mode(copies, p) AS least(floor((copies + 1) * p), CAST(copies AS DOUBLE));
CREATE MACRO _kept_reach(copies, p) AS ceil(15 + sqrt(180 + 80 * (copies * p * (1 - p))));
CREATE MACRO _kept_lowest(copies, p) AS greatest(_kept_mode(copies, p) - _kept_reach(copies, p), 0);
CREATE MACRO _kept_highest(copies, p) AS least(_kept_mode(copies, p) + _kept_reach(copies, p), copies);

-- The number of copies of noise, P(N >= j) = q^j: the largest j with q^j >= 1 - share, put together from powers of two, the largest first. For a
-- q that is the same for all rows the powers are made once; share is to be a column. q^j is right to about j 2^-53, enough for q up to .999.
CREATE MACRO _geometric(share, q) AS _geometric_of(share, _squares(q));
CREATE MACRO _geometric_of(share, squares) AS
CAST(list_reduce(
  list_prepend(CAST([1, 0] AS DOUBLE[]), list_reverse(squares)),
  lambda x, y: CASE WHEN 1 - share <= x[1] * y[1] THEN [x[1] * y[1], x[2] + y[2]] ELSE x END
)[2] AS BIGINT);
-- [q, 1], [q^2, 2], [q^4, 4], ...
CREATE MACRO _squares(q) AS
list_reduce(list_transform(range(36), lambda x: [CAST([q, 1] AS DOUBLE[])]), lambda x, y: list_append(x, [x[-1][1] * x[-1][1], x[-1][2] * 2]));

-- Where noise is drawn with the probability `most` and a tuple is to have it with q: the share of what is drawn that is left.
CREATE MACRO _part_of_noise(q, most) AS (q / most);

-- The noise of signed noisy counts, from two coins: the difference of two geometric numbers.
CREATE MACRO _two_sided(share, other_share, a) AS (_geometric(share, a) - _geometric(other_share, a));
