-- anatomy_rows(tbl, sensitive, l, key) -> group_id, the columns of tbl but the sensitive one
-- The first of the two tables of Anatomy: rows in groups whose l sensitive values or more all differ, without these values. anatomy_values with the
-- same arguments gives the second. Make tables of both (CREATE TABLE AS), never views. key is a secret text of 16 characters or more.
-- nulls: NULL is a sensitive value like any other. A NULL argument is an error.
-- guarantee: an attacker who knows everybody's other columns and learns nothing from other groups believes in a value with at most 1 / l. Refused where a
-- value has more than a share of 1 / l of the rows, and where tbl has fewer than l rows. Who learns how columns go together from all groups may believe
-- more. One row a person. ONE key, ONCE: pure SQL keeps no ledger, and other groups of the same people expose them. Rows come sorted, so that
-- their order reveals nothing.
-- example: SELECT group_id, count(*) FROM priv.anatomy_rows('wards', 'disease', 2, 'a secret of my own') GROUP BY group_id ORDER BY group_id
-- expect: [(1, 2), (2, 2), (3, 2), (4, 2), (5, 2)]
CREATE MACRO anatomy_rows(tbl, sensitive, l, key) AS TABLE
SELECT * EXCLUDE (__priv_hidden) FROM (SELECT group_id, unnest(tuple) FROM _anatomy_groups(query(_anatomy_text(tbl, sensitive)), l, key))
ORDER BY ALL;

-- anatomy_values(tbl, sensitive, l, key) -> group_id, the sensitive column
-- The second of the two tables of Anatomy: the sensitive values of every group of anatomy_rows with the same arguments.
-- nulls: NULL is a sensitive value like any other. A NULL argument is an error.
-- guarantee: that of anatomy_rows, for both tables together. The same key and arguments give the same groups.
-- example: SELECT count(*), count(DISTINCT (group_id, disease)) FROM priv.anatomy_values('wards', 'disease', 2, 'a secret of my own')
-- expect: [(10, 10)]
CREATE MACRO anatomy_values(tbl, sensitive, l, key) AS TABLE
SELECT group_id, unnest(hidden) FROM _anatomy_groups(query(_anatomy_text(tbl, sensitive)), l, key)
ORDER BY ALL;

-- SQL text of the rows: the cells as one struct, the sensitive one under a name of ours, that one by itself, and all of them as texts.
CREATE MACRO _anatomy_text(tbl, sensitive) AS
concat('SELECT __priv_tuple AS tuple, __priv_shown AS hidden, __priv_label AS hidden_label, list_value(*COLUMNS(* EXCLUDE (__priv_tuple, __priv_shown, __priv_label))) AS labels FROM (',
  'SELECT __priv_u AS __priv_tuple, struct_pack(', _quoted(_column(sensitive)), ' := __priv_u.__priv_hidden) AS __priv_shown, CAST(__priv_u.__priv_hidden AS VARCHAR) AS __priv_label,',
  ' CAST(COLUMNS(*) AS VARCHAR) FROM (SELECT __priv_t.* EXCLUDE (', _quoted(sensitive), ') FROM (SELECT CASE WHEN (SELECT count(*) FROM (DESCRIBE', _from(tbl), ') WHERE lower(column_name) = ''group_id'') > 0',
  ' THEN error(''sqlpriv: the table has a column called group_id; rename it in a view'') ELSE ', _field(sensitive), ' END AS __priv_hidden, __priv_t.*', _from(tbl), ') AS __priv_t) AS __priv_u)');

-- Rows stand in the order of their sensitive values and, of the same value, of their coins; the group of a row is its number modulo the groups.
CREATE MACRO _anatomy_groups(rows, l, key) AS TABLE
WITH __priv_rows AS MATERIALIZED (SELECT r.tuple, r.hidden, r.hidden_label, _tuple_bits(r.labels, key) AS bits FROM rows AS r),
__priv_most AS (SELECT max(copies) AS most FROM (SELECT count(*) AS copies FROM __priv_rows GROUP BY encode(hidden_label))),
__priv_sound AS MATERIALIZED (
  SELECT CASE
      WHEN count(*) = 0 THEN error('sqlpriv: the table has no rows: there is nothing to publish')
      WHEN count(*) < _several(l) THEN error('sqlpriv: the table has fewer rows than l: no group can have l of them')
      WHEN (SELECT most FROM __priv_most) > _bucket_count(count(*), _several(l))
        THEN error('sqlpriv: a sensitive value has more than a share of 1 / l of the rows, so that groups cannot have l different ones; take a smaller l')
      ELSE _coin_bits(_coin_key(key), concat('anatomy|', _several(l), '|', _bit_sum(0, 1), '|', _bit_sum(1, 1)))
    END AS prefix, _bucket_count(count(*), _several(l)) AS buckets
  FROM __priv_rows
),
__priv_numbered AS (
  SELECT r.tuple, r.hidden, _group_of(row_number() OVER (ORDER BY _coin_bits(s.prefix, concat('value|', coalesce('=' || r.hidden_label, ''))),
    _coin_bits(s.prefix, concat('row|', r.bits, '|', r.copy))) - 1, s.buckets) AS place
  FROM (SELECT *, row_number() OVER (PARTITION BY bits) AS copy FROM __priv_rows) AS r, __priv_sound AS s
),
-- Which group is which says nothing.
__priv_names AS (SELECT b.place, row_number() OVER (ORDER BY _coin_bits(s.prefix, concat('group|', b.place))) AS group_id FROM __priv_sound AS s, (SELECT unnest(range((SELECT buckets FROM __priv_sound))) AS place) AS b)
SELECT n.group_id, r.tuple, r.hidden FROM __priv_sound AS s, __priv_numbered AS r JOIN __priv_names AS n ON n.place = r.place WHERE s.prefix IS NOT NULL;
CREATE MACRO _several(l) AS _whole(l, 2, 'sqlpriv: l must be a whole number of at least 2');
