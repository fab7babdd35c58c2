-- Helpers: the tuples of a domain that is small enough to be a table, and how often each occurs in a private table. A tuple
-- goes by its text, hashed with the key: no cell is cast to another type, so no message can show one, and no collation
-- makes different texts equal.

-- The tuples of the domain, each with its bits.
CREATE MACRO _domain_tuples(domain, attributes, coin_key) AS TABLE
SELECT tuple, _tuple_bits(labels, coin_key) AS bits
FROM query(concat('SELECT struct_pack(', _fields(_columns(attributes)), ') AS tuple, ', _cell_texts(attributes), ' AS labels', _from(domain)));

-- The tuples of the table by their bits, each with the number of its rows.
CREATE MACRO _table_tuples(tbl, attributes, coin_key) AS TABLE
SELECT _tuple_bits(labels, coin_key) AS bits, count(*) AS copies
FROM query(concat('SELECT ', _cell_texts(attributes), ' AS labels', _from(tbl))) GROUP BY ALL;

-- SQL text of the list of the cells of a row, as texts.
CREATE MACRO _cell_texts(attributes) AS
concat('[CAST(', replace(_fields(_columns(attributes)), '", __priv_t."', '" AS VARCHAR), CAST(__priv_t."'), ' AS VARCHAR)]');

-- Each text after its length, so that no two tuples are written alike, nor NULL and a text.
CREATE MACRO _tuple_bits(labels, coin_key) AS
_coin_bits(_coin_key(coin_key), list_aggr(list_transform(labels, lambda cell: coalesce(length(cell) || ':' || cell, '-')), 'string_agg', ','));

CREATE MACRO _coin_key(coin_key) AS
CASE WHEN typeof(coin_key) = 'VARCHAR' AND coalesce(length(trim(CAST(coin_key AS VARCHAR))), 0) >= 16 THEN CAST(coin_key AS VARCHAR)
  ELSE error('sqlpriv: the key must be a text of at least 16 characters; make one with `openssl rand -hex 32`') END;

-- The number of rows for each tuple of the domain, 0 for most.
CREATE MACRO _elements(domain_tuples, table_tuples) AS TABLE
SELECT d.tuple, d.bits, coalesce(t.copies, 0) AS copies FROM domain_tuples AS d LEFT JOIN table_tuples AS t ON d.bits = t.bits;

-- What every coin of a view starts with: from the key, the method and its parameters, the domain and the tuples of the table
-- (each as often as `weight` says). Whatever changes, the random numbers are fresh. The tuples are hashed with the key and summed up, so
-- their order does not matter. Nothing is drawn before all is checked.
CREATE MACRO _view_prefix(elements, table_tuples, weight, coin_key, purpose) AS
CASE
  WHEN (SELECT count(*) FROM table_tuples) = 0 THEN error('sqlpriv: the table has no rows: there is nothing to publish')
  WHEN count(*) < 2 THEN error('sqlpriv: the domain must have at least two tuples')
  WHEN count(*) > count(DISTINCT bits)
    THEN error(concat('sqlpriv: ', count(*) - count(DISTINCT bits), ' rows of the domain repeat a tuple; make them distinct'))
  WHEN (SELECT sum(copies) FROM table_tuples) > sum(copies)
    THEN error(concat('sqlpriv: ', (SELECT sum(copies) FROM table_tuples) - sum(copies),
      ' rows of the table are not in the domain; widen the domain, or give both tables columns of the same types'))
  ELSE _coin_bits(_coin_key(coin_key), concat(purpose, '|', _bit_sum(0, 1), '|', _bit_sum(1, 1), '|', _bit_sum(0, weight), '|', _bit_sum(1, weight)))
END;
-- A probability as 12 digits: DuckDB 1.5 and 2.0 read the last ones of a decimal differently, and a view must not hang on that.
CREATE MACRO _chance_text(chance) AS CAST(round((chance) * 1e12) AS BIGINT);
CREATE MACRO _bit_sum(place, weight) AS sum(CAST(_coin_word(bits, place) AS HUGEINT) * (weight));
