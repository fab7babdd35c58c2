-- belief(tbl, qis, sensitive, who, known [, implications]) -> value, before, belief
-- What an attacker believes of a person's sensitive value after a release. who has the person's quasi-identifiers, {zip: '130**', age: '< 30'}. known is a
-- list of what else the attacker knows: {'not': 'Heart'}, {person: 'Tom', has: 'Flu'}, or {person: 'Tom', has: 'Flu', other: 'Ann', 'then': 'Flu'}, if Tom
-- has it Ann has it. Without a name it is about who. {'null': 'not'} says that the value is not NULL, {'null': 'has'} that it is: null names the parts of a
-- statement, one or more of not, has and then, whose value is NULL. implications is a list of {'if': [{person: 'Tom', has: 'Flu'}, {person: 'Ann', has:
-- 'Flu'}], 'then': [{has: 'Flu'}, {has: 'Heart'}]}: if all on the left are true, one on the right is. With nothing on the left, [], one on the right is
-- true; with nothing on the right, not all on the left are. Others are in the same class, unless a statement in known says their quasi-identifiers, too.
-- before is the belief with nothing known.
-- nulls: NULL is a value of its own. In known a part that is NULL is as if nothing were said; null names it, in implications, too: {'null': 'has'}.
-- guarantee: exact: the share of all assignments of the values of each class to its people, one row a person, that agree with what is known. Rows are counted, not persons: where some have
-- several, give it a view with one row of each, or what it says is about a row. Knowledge that no assignment agrees with is an error,
-- and so are so many people and values that the assignments to them could not be listed.
-- example: FROM priv.belief('patients', ['zip', 'age'], 'disease', {zip: '130**', age: '< 30'}, [{'not': 'Heart'}])
-- expect: [('Flu', 0.5, 1.0), ('Heart', 0.5, 0.0)]
CREATE MACRO belief(tbl, qis, sensitive, who, known, implications) AS TABLE
WITH RECURSIVE __priv_counts AS MATERIALIZED (
  FROM query(concat('SELECT [', list_aggr(list_transform(_columns(qis), lambda __priv_q: concat('CAST(', _field(__priv_q), ' AS VARCHAR)')), 'string_agg', ', '),
    '] AS class, CAST(', _field(_sensitive(qis, sensitive)), ' AS VARCHAR) AS word, first(', _field(sensitive), ') AS value, count(*) AS n', _from(tbl), ' GROUP BY ALL'))
),
__priv_known AS MATERIALIZED (
  SELECT m, row_number() OVER () AS number, _said(m, 'not') AS no, _said(m, 'has') AS has, _said(m, 'then') AS so FROM (SELECT unnest(_knowledge(known, qis)) AS m)
),
__priv_rules AS MATERIALIZED (SELECT r, -row_number() OVER () AS number FROM (SELECT unnest(_implications(implications)) AS r)),
-- A statement is true when one of its literals is: that somebody has a value (yes), or has not. Those on the left of an implication are denied.
__priv_literals AS MATERIALIZED (
  SELECT number, coalesce('=' || m['person'], '') AS name, coalesce(no, has) AS word, no IS NULL AND so IS NULL AS yes FROM __priv_known WHERE no IS NOT NULL OR has IS NOT NULL
  UNION ALL
  SELECT number, coalesce('=' || m['other'], ''), so, true FROM __priv_known WHERE so IS NOT NULL
  UNION ALL
  SELECT number, coalesce('=' || a['person'], ''), _said(a, 'has'), side = 'then' FROM (
    SELECT number, side, unnest(r[side]) AS a FROM __priv_rules, (VALUES ('if'), ('then')) AS __priv_sides(side)
  )
),
-- Everybody who is named, the person asked about first, and the class each is in.
__priv_named AS (
  SELECT '' AS name, _class_of(_who(who, qis), qis) AS class, true AS placed
  UNION ALL
  SELECT concat('=', m['person']), _class_of(m, qis), true FROM __priv_known WHERE m['person'] IS NOT NULL AND _placed_by(m, qis)
  UNION ALL
  SELECT name, _class_of(_who(who, qis), qis), false FROM __priv_literals
),
__priv_people AS MATERIALIZED (
  SELECT name, row_number() OVER (ORDER BY name) AS number, CASE WHEN count(DISTINCT class) FILTER (placed) > 1
    THEN error('sqlpriv: a person in known is given two classes') ELSE coalesce(any_value(class) FILTER (placed), any_value(class)) END AS class
  FROM __priv_named GROUP BY name
),
__priv_words AS MATERIALIZED (
  SELECT list(DISTINCT word) AS words FROM __priv_literals
),
-- In each class the values that are named, and all others as one: nothing is known that would tell these apart.
__priv_kinds AS MATERIALIZED (
  SELECT p.class, CASE WHEN list_contains((SELECT words FROM __priv_words), _coded(word)) THEN _coded(word) ELSE '' END AS kind, sum(n) AS n
  FROM __priv_counts AS c JOIN (SELECT DISTINCT class FROM __priv_people) AS p ON c.class = p.class GROUP BY ALL
),
__priv_size AS (
  SELECT CASE
      WHEN NOT EXISTS (FROM __priv_counts) THEN error('sqlpriv: the table has no rows: there is nothing to check')
      WHEN (SELECT count(DISTINCT class) FROM __priv_people) > (SELECT count(DISTINCT class) FROM __priv_kinds) THEN error('sqlpriv: nobody in the table has these quasi-identifiers')
      WHEN ln(1 + len(coalesce((SELECT words FROM __priv_words), []))) * (SELECT count(*) FROM __priv_people) > ln(1e7)
        THEN error('sqlpriv: too many people and values are named in known to list what each could have')
      ELSE true END AS ok
),
-- What is known, by the last of its people, in the order in which values are given to them.
__priv_facts AS (
  SELECT list({'person': p.number, 'word': l.word, 'yes': l.yes}) AS literals, max(p.number) AS last_person
  FROM __priv_literals AS l JOIN __priv_people AS p ON l.name = p.name GROUP BY l.number
),
__priv_steps AS MATERIALIZED (
  SELECT p.number, p.class, dense_rank() OVER (ORDER BY p.class) AS place, (SELECT list(literals) FROM __priv_facts WHERE last_person = p.number) AS facts
  FROM __priv_people AS p
),
__priv_worlds AS (
  SELECT CAST(0 AS BIGINT) AS number, CAST([] AS VARCHAR[]) AS kinds, CAST([] AS BIGINT[]) AS places, CAST(1 AS DOUBLE) AS ways FROM __priv_size WHERE ok
  UNION ALL
  SELECT w.number + 1, list_append(w.kinds, k.kind), list_append(w.places, s.place),
    w.ways * (k.n - len(list_filter(w.kinds, lambda __priv_x, __priv_i: __priv_x = k.kind AND w.places[__priv_i] = s.place)))
  FROM __priv_worlds AS w JOIN __priv_steps AS s ON s.number = w.number + 1 JOIN __priv_kinds AS k ON s.class = k.class
  WHERE k.n > len(list_filter(w.kinds, lambda __priv_x, __priv_i: __priv_x = k.kind AND w.places[__priv_i] = s.place))
    AND coalesce(list_bool_and(list_transform(s.facts, lambda __priv_f: list_bool_or(list_transform(__priv_f, lambda __priv_l:
      (list_append(w.kinds, k.kind)[__priv_l['person']] = __priv_l['word']) = __priv_l['yes'])))), true)
),
__priv_agreeing AS (
  SELECT kinds[1] AS kind, sum(ways) AS ways FROM __priv_worlds WHERE number = (SELECT count(*) FROM __priv_people) GROUP BY kinds[1]
),
__priv_all AS (SELECT CASE WHEN coalesce(sum(ways), 0) = 0 THEN error('sqlpriv: what is known contradicts the table: no assignment of its values agrees') ELSE sum(ways) END AS ways FROM __priv_agreeing)
SELECT c.value, n / sum(n) OVER () AS before, coalesce(g.ways, 0) / t.ways * n / k.kind_size AS belief
FROM (
  SELECT value, word, n, CASE WHEN list_contains((SELECT words FROM __priv_words), _coded(word)) THEN _coded(word) ELSE '' END AS kind
  FROM __priv_counts WHERE class = _class_of(_who(who, qis), qis)
) AS c
JOIN (SELECT kind, n AS kind_size FROM __priv_kinds WHERE class = _class_of(_who(who, qis), qis)) AS k ON c.kind = k.kind
CROSS JOIN __priv_all AS t LEFT JOIN __priv_agreeing AS g ON c.kind = g.kind
ORDER BY belief DESC, c.word;

-- The quasi-identifiers of a person, checked, and as a list of texts.
CREATE MACRO _who(who, qis) AS
CASE WHEN regexp_matches(typeof(who), '^(STRUCT[(]|MAP[(]VARCHAR, )') AND list_sort(map_keys(TRY_CAST(who AS MAP(VARCHAR, VARCHAR)))) = list_sort(_columns(qis)) THEN TRY_CAST(who AS MAP(VARCHAR, VARCHAR))
  ELSE error('sqlpriv: who must give a value for each quasi-identifier, by the names in qis, as in {zip: ''130**'', age: ''< 30''}') END;
CREATE MACRO _class_of(person, qis) AS list_transform(TRY_CAST(qis AS VARCHAR[]), lambda __priv_q: person[__priv_q]);
CREATE MACRO _placed_by(statement, qis) AS list_count(_class_of(statement, qis)) > 0;

-- A value so that NULL is one that no text is, and what a part of a statement names.
CREATE MACRO _coded(word) AS coalesce('=' || word, 'null');
CREATE MACRO _said(statement, part) AS CASE WHEN list_contains(_null_parts(statement), part) THEN 'null' ELSE '=' || statement[part] END;
CREATE MACRO _null_parts(statement) AS coalesce(regexp_split_to_array(trim(statement['null']), '[ ,]+'), []);

-- What is known, as maps, checked.
CREATE MACRO _knowledge(known, qis) AS
list_transform([CASE
    WHEN typeof(known) IN ('"NULL"[]', 'INTEGER[]') AND len(TRY_CAST(known AS VARCHAR[])) = 0 THEN CAST([] AS MAP(VARCHAR, VARCHAR)[])
    WHEN regexp_matches(typeof(known), '^(STRUCT|MAP)[(].*[)][[]]$') THEN TRY_CAST(known AS MAP(VARCHAR, VARCHAR)[])
    ELSE error('sqlpriv: known must be a list of statements, as in [{''not'': ''Heart''}]') END], lambda __priv_maps: CASE
  WHEN len(list_filter(_columns(qis), lambda __priv_q: list_contains(['person', 'not', 'has', 'other', 'then', 'null'], lower(__priv_q)))) > 0
    THEN error('sqlpriv: a quasi-identifier is called like a part of a statement; rename it in a view')
  WHEN list_bool_or(list_transform(__priv_maps, lambda __priv_m: len(list_filter(_null_parts(__priv_m), lambda __priv_k: NOT list_contains(['not', 'has', 'then'], __priv_k) OR __priv_m[__priv_k] IS NOT NULL)) > 0))
    THEN error('sqlpriv: null in a statement in known names the parts whose value is NULL, not, has or then, which have no other value')
  WHEN list_bool_or(list_transform(__priv_maps, lambda __priv_m: coalesce(len(list_filter(map_keys(__priv_m), lambda __priv_k: NOT list_contains(list_concat(['person', 'not', 'has', 'other', 'then', 'null'], _columns(qis)), __priv_k))) > 0, true)
      OR _said(__priv_m, 'not') IS NOT NULL AND (_said(__priv_m, 'has') IS NOT NULL OR _said(__priv_m, 'then') IS NOT NULL) OR _said(__priv_m, 'then') IS NOT NULL AND _said(__priv_m, 'has') IS NULL
      OR __priv_m['other'] IS NOT NULL AND _said(__priv_m, 'then') IS NULL OR coalesce(_said(__priv_m, 'not'), _said(__priv_m, 'has')) IS NULL AND NOT (__priv_m['person'] IS NOT NULL AND _placed_by(__priv_m, qis))
      OR __priv_m['person'] IS NULL AND _placed_by(__priv_m, qis)))
    THEN error('sqlpriv: a statement in known has not, or has, or has and then, with the person and the other it is about, and the quasi-identifiers of the person')
  ELSE __priv_maps END)[1];

-- Implications, as maps from their two sides to lists of maps, checked. A cast that fails leaves NULL.
CREATE MACRO _implications() AS CAST([] AS MAP(VARCHAR, MAP(VARCHAR, VARCHAR)[])[]);
CREATE MACRO _implications(implications) AS
list_transform([CASE
    WHEN typeof(implications) IN ('"NULL"[]', 'INTEGER[]') AND len(TRY_CAST(implications AS VARCHAR[])) = 0 THEN _implications()
    WHEN regexp_matches(typeof(implications), '^(STRUCT|MAP)[(].*[)][[]]$') THEN TRY_CAST(implications AS MAP(VARCHAR, MAP(VARCHAR, VARCHAR)[])[]) END], lambda __priv_maps: CASE
  WHEN __priv_maps IS NULL OR list_bool_or(list_transform(__priv_maps, lambda __priv_m: coalesce(list_sort(map_keys(__priv_m)) <> ['if', 'then'] OR len(__priv_m['if']) + len(__priv_m['then']) = 0, true)
      OR list_bool_or(list_transform(list_concat(__priv_m['if'], __priv_m['then']), lambda __priv_a: coalesce(len(list_filter(map_keys(__priv_a), lambda __priv_k: NOT list_contains(['person', 'has', 'null'], __priv_k))) > 0, true)
        OR __priv_a['has'] IS NULL AND _null_parts(__priv_a) <> ['has'] OR __priv_a['has'] IS NOT NULL AND __priv_a['null'] IS NOT NULL))))
    THEN error('sqlpriv: implications is a list of implications, each with two lists, if and then, of what people have, as in {''if'': [{person: ''Tom'', has: ''Flu''}], ''then'': [{has: ''Flu''}]}')
  ELSE __priv_maps END)[1];
