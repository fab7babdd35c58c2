-- How often the guesses of a reader who learns from a release may be right. A promise that nobody believes a value more than `promised` is broken where a share of people that is surely
-- larger than twice its odds is guessed right: 2 promised / (1 + promised). Twice is a convention.
CREATE MACRO _learned_limit(promised) AS 2 * promised / (1 + promised);

-- So many people must be guessed for the share to count: 20, and 1% of everybody. Both are conventions.
CREATE MACRO _learned_enough(everybody) AS greatest(20, 0.01 * everybody);

-- The lower end of the Wilson score interval of a share among n.
CREATE MACRO _wilson_low(share, n, z) AS
  (share + z * z / (2 * n) - z * sqrt(share * (1 - share) / n + z * z / (4 * n * n))) / (1 + z * z / n);
