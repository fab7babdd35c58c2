-- alpha_beta(tbl, domain, attributes, alpha, beta, key) -> the attribute columns
-- A randomized view of the distinct tuples of tbl over the attributes. Each tuple of the domain, a public table with these
-- columns, is in it with probability alpha + beta if it occurs in tbl, else with probability beta. For a domain small enough to
-- be a table; `sqlpriv publish` draws from larger ones and keeps a ledger. key is a secret text of 16 characters or more.
-- nulls: NULL is a value of its own, and must be in the domain where it is in tbl. A NULL argument is an error.
-- guarantee: make a table of it (CREATE TABLE AS), never a view, which would keep the key and read tbl; alpha_beta_estimate answers from it.
-- What alpha_beta_guarantee says of alpha and beta, taken from alpha_beta_parameters, holds for ONE table made ONCE with ONE key. Pure SQL keeps no
-- ledger, and a second view of the same or changed data is a breach, since true rows are in both. The same key, arguments
-- and data give the same view; any change of these gives fresh noise. Take a fresh key for every release and never publish
-- it. The domain must not be made from tbl. Values are compared as text. Rows come sorted by their values.
-- example: FROM priv.alpha_beta('patients', 'possible_patients', ['zip', 'disease'], 0.4, 0.1, 'a secret of my own')
-- expect: [('130**', 'Flu'), ('1485*', 'Heart')]
CREATE MACRO alpha_beta(tbl, domain, attributes, alpha, beta, key) AS TABLE
WITH __priv_table AS MATERIALIZED (FROM _table_tuples(tbl, attributes, key)),
__priv_domain AS MATERIALIZED (FROM _domain_tuples(domain, attributes, key)),
__priv_elements AS MATERIALIZED (FROM _elements(__priv_domain, __priv_table)),
__priv_coins AS MATERIALIZED (
  SELECT _view_prefix(__priv_elements, __priv_table, least(copies, 1), key, concat('alpha_beta|', _chance_text(_view_keeps(alpha, beta)), '|', _chance_text(_view_adds(alpha, beta)))) AS prefix
  FROM __priv_elements
)
SELECT unnest(tuple)
FROM (
  SELECT e.tuple, e.bits FROM __priv_coins AS c, __priv_elements AS e
  WHERE _coin_share(_coin_bits(c.prefix, e.bits)) < CASE WHEN e.copies > 0 THEN _view_keeps(alpha, beta) ELSE _view_adds(alpha, beta) END
) ORDER BY tuple, bits;

-- Coins that can fall both ways: without noise a row of the view is known to be true, without loss a missing one not to be.
CREATE MACRO _view_keeps(alpha, beta) AS
CASE WHEN _kept_by(alpha, beta) < 1 THEN _kept_by(alpha, beta)
  ELSE error('sqlpriv: alpha and beta must be given, and their sum be below 1: see alpha_beta_parameters') END;
CREATE MACRO _view_adds(alpha, beta) AS
CASE WHEN _noise(alpha, beta) > 0 THEN _noise(alpha, beta)
  ELSE error('sqlpriv: beta must be greater than 0, or every row of the view is known to be true: see alpha_beta_parameters') END;
