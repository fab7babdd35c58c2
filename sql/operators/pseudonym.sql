-- Helpers: pseudonyms of persons. Equal values have equal ones under one key, and others under another key; without the key
-- nobody can tell whose one is, nor which ones of two keys belong to one person. What the rows of a person show together may reveal it.

-- 20 hexadecimal digits of a keyed hash of the value as text: two of a million persons share one with a chance below 1e-12.
CREATE MACRO _pseudonym(value, secret) AS
CASE WHEN value IS NOT NULL THEN left(sha256(concat(sha256(concat('pseudonym|', secret)), '|', CAST(value AS VARCHAR))), 20) END;
