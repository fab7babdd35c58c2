-- Helpers: which slots the copies of a tuple take. A tuple has an endless stream of keyed draws, each a slot from 0 to slots - 1, and copy number
-- j takes the j-th slot that is new in the stream. Whatever slots are taken, the next new one is any of the others with the same chance, so
-- the copies take a uniformly random list of different slots, exactly so but for 2^-40: a draw is a word of 60 bits modulo at most
-- a million. A copy more or less moves no other copy, and the cost goes by the copies, not by the slots.

-- The slot that a word of the coin draws; a block of the stream has one coin, and a coin four words. Of one slot nothing is drawn.
CREATE MACRO _slot_draw(bits, place, slots) AS CASE WHEN slots = 1 THEN CAST(0 AS BIGINT) ELSE _coin_word(bits, place) % slots END;

-- How many blocks of the stream to look at first: enough for nearly every tuple with so many copies, 3 deviations above the
-- mean slots (1/slots + ... + 1/(slots - copies + 1)). Nothing that is published depends on it: who finds too few slots looks further.
CREATE MACRO _slot_blocks(copies, slots) AS
CAST(ceil((_slot_draws(copies, slots) + 3 * sqrt(greatest(CAST(copies AS DOUBLE) * slots / (greatest(slots - copies, 0) + 0.5) - _slot_draws(copies, slots), 0))) / 4) AS BIGINT);
CREATE MACRO _slot_draws(copies, slots) AS (slots * ln((slots + 0.5) / (greatest(slots - copies, 0) + 0.5)));
