-- frapp(tbl, domain, attributes, stay, key) -> the attribute columns
-- A view with as many rows as tbl. Every record, as its tuple over the attributes, stays with probability `stay` and
-- else becomes any other tuple of the domain, a public table with these columns, all equally likely. For a domain small enough
-- to be a table; `sqlpriv publish` draws from larger ones and keeps a ledger. key is a secret text of 16 characters or more.
-- nulls: NULL is a value of its own, and must be in the domain where it is in tbl. A NULL argument is an error.
-- guarantee: make a table of it (CREATE TABLE AS), never a view, which would keep the key and read tbl; frapp_estimate answers from it. What
-- frapp_guarantee says of stay, taken from frapp_parameters, and move = (1 - stay) / (tuples of the domain - 1), holds for ONE table made
-- ONCE with ONE key. Pure SQL keeps no ledger, and a second view of the same or changed data is a breach, since true rows are in both
-- more often. The same key, arguments and data give the same view; any change of these gives fresh coins. Take a fresh key
-- for every release and never publish it. The domain must not be made from tbl. Values are compared as text. Rows come sorted.
-- example: SELECT zip, count(*) FROM priv.frapp('patients', 'possible_patients', ['zip', 'disease'], 0.5, 'a secret of my own') GROUP BY zip ORDER BY zip
-- expect: [('130**', 8), ('1485*', 4)]
CREATE MACRO frapp(tbl, domain, attributes, stay, key) AS TABLE
WITH __priv_table AS MATERIALIZED (FROM _table_tuples(tbl, attributes, key)),
__priv_domain AS MATERIALIZED (FROM _domain_tuples(domain, attributes, key)),
__priv_elements AS MATERIALIZED (
  SELECT tuple, bits, copies, row_number() OVER (ORDER BY bits) - 1 AS place FROM _elements(__priv_domain, __priv_table)
),
__priv_coins AS MATERIALIZED (
  SELECT _view_prefix(__priv_elements, __priv_table, copies, key, concat('frapp|', _chance_text(_view_stays(stay, count(*))))) AS prefix, count(*) AS size,
    _view_stays(stay, count(*)) AS kept
  FROM __priv_elements
),
-- Equal records are distinguished by a number; which is which does not matter.
__priv_records AS (
  SELECT e.place, c.size, c.kept, _coin_bits(c.prefix, concat(e.bits, '|', e.copy)) AS bits
  FROM __priv_coins AS c, (SELECT place, bits, unnest(range(copies)) AS copy FROM __priv_elements) AS e
)
SELECT unnest(tuple)
FROM (
  SELECT e.tuple, e.bits
  FROM __priv_records AS r
  JOIN __priv_elements AS e ON e.place = CASE WHEN _coin_share(r.bits) < r.kept THEN r.place ELSE (r.place + 1 + _coin_word(r.bits, 1) % (r.size - 1)) % r.size END
) ORDER BY tuple, bits;

-- A record that never moves is published as it is.
CREATE MACRO _view_stays(stay, size) AS
CASE WHEN _stays(stay, (1 - TRY_CAST(stay AS DOUBLE)) / greatest(size - 1, 1)) < 1 THEN TRY_CAST(stay AS DOUBLE)
  ELSE error('sqlpriv: stay must be given, and be below 1: see frapp_parameters') END;
