-- sdgs(tbl, node, hierarchies, k, beta, key) -> the columns of tbl
-- Algorithm 4 of Li, Qardaji and Su 2011. Each row is sampled with probability beta, generalized to the node, and left out unless at least k sampled
-- rows are equal to it in ALL columns then. node and hierarchies are as in priv.generalize; MAP {} looks for tables called hierarchy_ and the name
-- of the column. Make a table of it (CREATE TABLE AS), never a view. key is a secret text of 16 characters or more.
-- nulls: NULL is a value of its own, generalized as in priv.generalize. A NULL argument is an error.
-- guarantee: what sdgs_guarantee says of k and beta, epsilon and delta for one row more or less, where node and hierarchies were fixed without looking at
-- the data, and a person has one row. ONE table made ONCE with ONE key: pure SQL keeps no ledger, and samples of the same table add up. A view would
-- keep the key and read the private table. The same key, arguments and data give the same rows. Rows come sorted.
-- example: SELECT age, count(*) FROM priv.sdgs('ages', MAP {'age': 2, 'id': 1}, MAP {'age': 'age_ranges', 'id': 'id_labels'}, 2, 0.9, 'a secret of my own') GROUP BY age ORDER BY age
-- expect: [('40-59', 2)]
CREATE MACRO sdgs(tbl, node, hierarchies, k, beta, key) AS TABLE
WITH __priv_labelled AS MATERIALIZED (SELECT r.tuple, _tuple_bits(r.labels, key) AS bits FROM query(_row_and_texts(_generalize_text(tbl, node, hierarchies))) AS r),
-- One row of each class: any_value of a struct would lose the sign of a zero in it.
__priv_classes AS MATERIALIZED (
  SELECT tuple, bits, copies FROM (SELECT tuple, bits, count(*) OVER (PARTITION BY bits) AS copies, row_number() OVER (PARTITION BY bits) AS place FROM __priv_labelled) WHERE place = 1
),
__priv_coins AS MATERIALIZED (
  SELECT CASE WHEN count(*) = 0 THEN error('sqlpriv: the table has no rows: there is nothing to publish')
    ELSE _coin_bits(_coin_key(key), concat('sdgs|', _at_least_rows(k), '|', _chance_text(_samples_some(beta)), '|', _bit_sum(0, copies), '|', _bit_sum(1, copies))) END AS prefix,
    _samples_some(beta) AS keep, _at_least_rows(k) AS least_rows
  FROM __priv_classes
),
__priv_steps AS MATERIALIZED (SELECT e.copies, _kept_steps(e.copies, c.keep) AS steps FROM (SELECT DISTINCT copies FROM __priv_classes) AS e, __priv_coins AS c),
__priv_drawn AS MATERIALIZED (
  SELECT e.tuple, e.bits, e.copies, s.steps, c.keep, c.least_rows, _coin_share(_coin_bits(c.prefix, e.bits)) AS share
  FROM __priv_coins AS c, __priv_classes AS e JOIN __priv_steps AS s ON s.copies = e.copies
)
SELECT unnest(tuple)
FROM (SELECT tuple, bits, unnest(range(shown)) AS copy FROM (SELECT tuple, bits, least_rows, _kept_copies(copies, keep, steps, share) AS shown FROM __priv_drawn) WHERE shown >= least_rows)
ORDER BY tuple, bits;

-- SQL text of the rows of a query: each as a struct, and its cells as texts.
CREATE MACRO _row_and_texts(rows) AS
concat('SELECT __priv_tuple AS tuple, list_value(*COLUMNS(* EXCLUDE (__priv_tuple))) AS labels FROM (SELECT __priv_u AS __priv_tuple, CAST(COLUMNS(*) AS VARCHAR) FROM (', rows, ') AS __priv_u)');
CREATE MACRO _samples_some(beta) AS
CASE WHEN TRY_CAST(beta AS DOUBLE) > 0 AND TRY_CAST(beta AS DOUBLE) < 1 THEN TRY_CAST(beta AS DOUBLE)
  ELSE error('sqlpriv: beta, the sampling probability, must be given and lie between 0 and 1') END;
CREATE MACRO _at_least_rows(k) AS _whole(k, 1, 'sqlpriv: k must be a whole number of at least 1');
