-- Helpers: keyed coins. Every random choice is a function of a secret key and of what is chosen, never of a row's place,
-- so the same key gives the same release whatever the order of rows or threads, in every engine that has SHA-256.

-- 256 random-looking bits, as 64 hexadecimal digits.
CREATE MACRO _coin_bits(coin_key, purpose) AS sha256(coin_key || '|' || purpose);

-- A number from 0 to below 1, out of the first 52 bits.
CREATE MACRO _coin_share(bits) AS CAST('0x' || substr(bits, 1, 13) AS BIGINT) / CAST(4503599627370496.0 AS DOUBLE);

-- Word number 0, 1, 2 or 3: a whole number below 2^60.
CREATE MACRO _coin_word(bits, place) AS CAST('0x' || substr(bits, 1 + 15 * place, 15) AS BIGINT);

-- The value that a word draws by the alias table of udfs/draws.py: its cell's own below the cut, else the other one.
CREATE MACRO _alias_pick(word, size, cuts, others) AS
CASE WHEN word // size < cuts[1 + word % size] THEN word % size ELSE others[1 + word % size] END;
