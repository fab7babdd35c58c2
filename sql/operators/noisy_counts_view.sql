-- noisy_counts(tbl, domain, attributes, p, q, key) -> the attribute columns
-- Noisy counts of the tuples of tbl over the attributes, as rows. Each row of tbl is kept with probability p, and every tuple of the domain, a
-- public table with these columns, gets N rows of noise, P(N = j) = (1 - q) q^j. Make a table of it (CREATE TABLE AS), never a view. For a domain
-- small enough to be a table; `sqlpriv publish` draws from larger ones and keeps a ledger. key is a secret text of 16 characters or more.
-- nulls: NULL is a value of its own, and must be in the domain where it is in tbl. A NULL argument is an error.
-- guarantee: what bag_guarantee says of p and q, with q from bag_noise, for ONE table made ONCE with ONE key. Pure SQL keeps no ledger, and a second
-- one of the same or changed data is a breach. A view would keep the key and read the private table. The same key, arguments and data give the
-- same rows; any change of these gives fresh noise. Never publish the key. The domain must not be made from tbl. Rows come sorted.
-- example: SELECT zip, count(*) FROM priv.noisy_counts('patients', 'possible_patients', ['zip', 'disease'], 0.5, 0.2, 'a secret of my own') GROUP BY zip ORDER BY zip
-- expect: [('130**', 7), ('1485*', 3)]
CREATE MACRO noisy_counts(tbl, domain, attributes, p, q, key) AS TABLE
WITH __priv_table AS MATERIALIZED (FROM _table_tuples(tbl, attributes, key)),
__priv_domain AS MATERIALIZED (FROM _domain_tuples(domain, attributes, key)),
__priv_elements AS MATERIALIZED (FROM _elements(__priv_domain, __priv_table)),
__priv_coins AS MATERIALIZED (
  SELECT _view_prefix(__priv_elements, __priv_table, copies, key, concat('noisy_counts|', _chance_text(_keeps_some(p)), '|', _chance_text(_adds_some(q, 'q')))) AS prefix, _keeps_some(p) AS keep,
    _adds_some(q, 'q') AS noise
  FROM __priv_elements
),
__priv_steps AS MATERIALIZED (
  SELECT e.copies, _kept_steps(e.copies, c.keep) AS steps FROM (SELECT DISTINCT copies FROM __priv_elements WHERE copies > 0) AS e, __priv_coins AS c
),
__priv_drawn AS MATERIALIZED (
  SELECT e.tuple, e.bits, e.copies, s.steps, c.keep, c.noise, _coin_share(_coin_bits(c.prefix, concat('keep|', e.bits))) AS share, _coin_share(_coin_bits(c.prefix, concat('noise|', e.bits))) AS noise_share
  FROM __priv_coins AS c, __priv_elements AS e LEFT JOIN __priv_steps AS s ON s.copies = e.copies
)
SELECT unnest(tuple)
FROM (
  SELECT tuple, bits, unnest(range(CASE WHEN copies > 0 THEN _kept_copies(copies, keep, steps, share) ELSE 0 END + _geometric(noise_share, noise))) AS copy FROM __priv_drawn
) ORDER BY tuple, bits;

-- signed_noisy_counts(tbl, domain, attributes, a, key) -> the attribute columns, __weight
-- Signed noisy counts, for tables with more rows than the domain has tuples. The domain is a public table with these columns. Each of its tuples has as many
-- rows as it has in tbl plus two-sided geometric noise, P(Z = z) = (1 - a) / (1 + a) a^|z|. Where that is below 0, its rows have a __weight of -1, all
-- others 1. Make a table of it (CREATE TABLE AS), never a view. key is a secret text of 16 characters or more.
-- nulls: NULL is a value of its own, and must be in the domain where it is in tbl. A NULL argument is an error.
-- guarantee: what signed_bag_guarantee says of a, taken from signed_bag_noise, for ONE table made ONCE with ONE key: pure SQL keeps no ledger, and a
-- second one of the same or changed data is a breach. A view would keep the key and read the private table. The same key, arguments and data give
-- the same rows; any change of these gives fresh noise. Never publish the key. The domain must not be made from tbl. Rows come sorted.
-- example: SELECT zip, sum("__weight") FROM priv.signed_noisy_counts('patients', 'possible_patients', ['zip', 'disease'], 0.4, 'a secret of my own') GROUP BY zip ORDER BY zip
-- expect: [('130**', 10.0), ('1485*', 6.0)]
CREATE MACRO signed_noisy_counts(tbl, domain, attributes, a, key) AS TABLE
WITH __priv_table AS MATERIALIZED (FROM _table_tuples(tbl, _no_weight(attributes), key)),
__priv_domain AS MATERIALIZED (FROM _domain_tuples(domain, attributes, key)),
__priv_elements AS MATERIALIZED (FROM _elements(__priv_domain, __priv_table)),
__priv_coins AS MATERIALIZED (
  SELECT _view_prefix(__priv_elements, __priv_table, copies, key, concat('signed_noisy_counts|', _chance_text(_adds_some(a, 'a')))) AS prefix, _adds_some(a, 'a') AS noise
  FROM __priv_elements
),
__priv_drawn AS MATERIALIZED (
  SELECT e.tuple, e.bits, e.copies, c.noise, _coin_share(_coin_bits(c.prefix, concat('plus|', e.bits))) AS share, _coin_share(_coin_bits(c.prefix, concat('minus|', e.bits))) AS other_share
  FROM __priv_coins AS c, __priv_elements AS e
),
__priv_counts AS MATERIALIZED (SELECT tuple, bits, copies + _two_sided(share, other_share, noise) AS counted FROM __priv_drawn)
SELECT unnest(tuple), "__weight"
FROM (SELECT tuple, bits, CAST(sign(counted) AS DOUBLE) AS "__weight", unnest(range(abs(counted))) AS copy FROM __priv_counts)
ORDER BY tuple, bits;

-- Coins that can fall both ways: where all rows are kept, or nothing is added, a row is known to be true or not to be.
CREATE MACRO _keeps_some(p) AS
CASE WHEN TRY_CAST(p AS DOUBLE) > 0 AND TRY_CAST(p AS DOUBLE) < 1 THEN TRY_CAST(p AS DOUBLE)
  ELSE error('sqlpriv: p, the probability to keep a row, must be given and lie between 0 and 1: see bag_choice') END;
CREATE MACRO _adds_some(noise, label) AS
CASE WHEN TRY_CAST(noise AS DOUBLE) > 0 AND TRY_CAST(noise AS DOUBLE) < 1 THEN TRY_CAST(noise AS DOUBLE)
  ELSE error(concat('sqlpriv: ', label, ', the ratio of the geometric noise, must be given and lie between 0 and 1: without noise every row is known to be true')) END;
CREATE MACRO _no_weight(attributes) AS
CASE WHEN list_contains(string_split(_joined(attributes), chr(31)), '__weight') THEN error('sqlpriv: a column called __weight cannot be published: the rows have one of that name; rename it in a view')
  ELSE attributes END;
