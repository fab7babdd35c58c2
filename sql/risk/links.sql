-- What the macros of risk share: links between a table and a dictionary, nodes of hierarchies, and the count of consistent
-- entries. Everything here is a helper. The text of a query is made once for all links: in a template # stands for the number of
-- a link, so v# is v1, v2, ... Only the reads of a user's table see names that are not ours, and there ours start with __priv_.

-- The template for link 1, 2, ...
CREATE MACRO _repeated(number, template, between) AS
list_aggr(list_transform(range(1, number + 1), lambda __priv_j: _at_place(template, __priv_j)), 'string_agg', between);

-- Links as maps with record, entry and, where there is one, hierarchy (or what else is allowed), checked. A list of names will do
-- where both tables call their columns alike.
CREATE MACRO _link_keys() AS ['record', 'entry', 'hierarchy', 'similarity'];
CREATE MACRO _links(links, allowed) AS _checked_links(_read_links(links), allowed);
CREATE MACRO _read_links(links) AS
CASE
  WHEN typeof(links) = 'VARCHAR[]' THEN list_transform(TRY_CAST(links AS VARCHAR[]), lambda __priv_name: MAP {'record': __priv_name, 'entry': __priv_name})
  WHEN regexp_matches(typeof(links), '^(STRUCT|MAP)[(].*[)][[]]$') THEN TRY_CAST(links AS MAP(VARCHAR, VARCHAR)[])
  WHEN typeof(links) IN ('"NULL"[]', 'INTEGER[]') AND len(TRY_CAST(links AS VARCHAR[])) = 0 THEN CAST([] AS MAP(VARCHAR, VARCHAR)[])
  ELSE error('sqlpriv: the links must be a list such as [{record: ''zip'', entry: ''zip'', hierarchy: ''zips''}], or of names that both tables have')
END;
CREATE MACRO _checked_links(maps, allowed) AS
CASE
  WHEN len(maps) = 0 THEN error('sqlpriv: the links name no attribute that the table and the dictionary share')
  WHEN list_bool_or(list_transform(maps, lambda __priv_m: coalesce(__priv_m['record'], '') = '' OR coalesce(__priv_m['entry'], '') = ''))
    OR list_count(maps) < len(maps) THEN error('sqlpriv: every link needs a record and an entry: a column or an expression of each table')
  WHEN list_bool_or(list_transform(maps, lambda __priv_m: len(list_filter(map_keys(__priv_m), lambda __priv_k: NOT list_contains(allowed, __priv_k))) > 0))
    THEN error(concat('sqlpriv: a link has ', list_aggr(allowed, 'string_agg', ', '), ' and nothing else'))
  ELSE maps
END;

-- SQL text of what a link reads: a plain name is a column, anything else one expression, in which odd names are quoted.
CREATE MACRO _reading(expression) AS
CASE
  WHEN contains(lower(expression), '__priv_') THEN error('sqlpriv: names that start with __priv_ are reserved')
  WHEN _is_name(expression) THEN _field(expression)
  ELSE concat('(', _one_expression(expression, 'expression of a link'), ')')
END;
CREATE MACRO _is_name(expression) AS NOT regexp_matches(expression, '^[0-9]|[\x{00}-/:-@[-^`{-\x{7F}]');

-- SQL text of the cells that links read, as texts: suppressed or missing is NULL. TRY_CAST, because a failing cast shows the cell.
CREATE MACRO _link_cells(links, side) AS
list_aggr(list_transform(links, lambda __priv_m, __priv_j:
  concat(_linked_cell(_reading(__priv_m[side])), ' AS __priv_v', __priv_j)), 'string_agg', ', ');
CREATE MACRO _linked_cell(read_text) AS concat('nullif(TRY_CAST(', read_text, ' AS VARCHAR), ''*'')');
-- Where a WHERE stands DuckDB accepts neither unnest nor a window nor an aggregate, so each expression stands there, too.
CREATE MACRO _plainly(links, side) AS
concat(' WHERE true', list_aggr(list_transform(links, lambda __priv_m:
  CASE WHEN _is_name(__priv_m[side]) THEN '' ELSE concat(' AND ((', _reading(__priv_m[side]), ' IS NULL) IS NOT NULL)') END), 'string_agg', ''));
CREATE MACRO _types(links, side) AS
list_aggr(list_transform(links, lambda __priv_m, __priv_j: concat('typeof(', _reading(__priv_m[side]), ') AS __priv_y', __priv_j)), 'string_agg', ', ');

-- SQL text of __priv_h#, the nodes of link #: node, depth below the top, and ids, the numbers of the nodes from the top (0) down to it. A node is
-- its text: a label that stands on two levels is one node, and one that stands above NULL alone says as little as the top. Without a hierarchy every cell stands directly below the top.
CREATE MACRO _nodes(links, cells, what) AS
list_aggr(list_transform(links, lambda __priv_m, __priv_j:
  CASE WHEN __priv_m['hierarchy'] IS NULL
    THEN _at_place(concat(', __priv_h# AS MATERIALIZED (SELECT node, 1 AS depth, [0, row_number() OVER ()] AS ids FROM (', cells, ') WHERE node IS NOT NULL)'), __priv_j)
    ELSE concat(_at_place(_tree_head(), __priv_j), _labels_of(__priv_m['hierarchy']), _at_place(_tree(what), __priv_j)) END), 'string_agg', '');
CREATE MACRO _at_place(template, place) AS replace(template, '#', CAST(place AS VARCHAR));
CREATE MACRO _tree_head() AS
', __priv_u# AS MATERIALIZED (SELECT DISTINCT labels FROM ';
CREATE MACRO _tree(what) AS
concat('), __priv_p# AS MATERIALIZED (SELECT DISTINCT list_reverse(list_filter(labels, lambda x, i: i = 1 OR x IS DISTINCT FROM labels[i - 1])) AS path FROM __priv_u# WHERE labels[1] IS NOT NULL AND labels[1] <> ''*'')',
  ', __priv_c# AS MATERIALIZED (SELECT DISTINCT path[depth + 1] AS node, depth, path[:depth + 1] AS chain FROM (SELECT path, unnest(range(0, len(path))) AS depth FROM __priv_p#))',
  ', __priv_i# AS MATERIALIZED (SELECT node, depth, chain, CASE WHEN depth = 0 THEN 0 ELSE row_number() OVER () END AS id FROM __priv_c#, (SELECT ',
  'CASE WHEN count(*) = 0 OR min(len(path)) < 2 THEN error(''sqlpriv: ', what, ' needs rows and at least two columns: the value and a top label'')',
  ' WHEN bool_or(list_count(path) < len(path)) THEN error(''sqlpriv: ', what, ' has a NULL above the first column'')',
  ' WHEN count(DISTINCT path[1]) > 1 THEN error(''sqlpriv: the last column of ', what, ' must hold one label for all values'')',
  ' WHEN (SELECT count(*) > count(DISTINCT node) FROM __priv_c#) THEN error(''sqlpriv: ', what, ' does not nest: a label has two different labels above it'')',
  ' WHEN bool_or(list_contains(path[2:], ''*'')) THEN error(''sqlpriv: only the top of ', what, ' may be called *'')',
  ' ELSE true END AS ok FROM __priv_p#) WHERE ok)',
  ', __priv_h# AS MATERIALIZED (SELECT a.node, a.depth, list(b.id ORDER BY b.depth) AS ids FROM (SELECT node, depth, unnest(chain) AS above FROM __priv_i#) AS a',
  ' JOIN __priv_i# AS b ON a.above = b.node GROUP BY ALL',
  ' UNION ALL SELECT DISTINCT node, 0, [0] FROM (SELECT unnest(labels) AS node FROM __priv_u# WHERE labels[1] IS NULL) WHERE node IS NOT NULL AND node NOT IN (SELECT node FROM __priv_i#))');

-- SQL text of tuples of cells with their depths d# and ids p#. A cell that the hierarchy misses is an error.
CREATE MACRO _not_covered(tree, what) AS concat('error(''sqlpriv: ', tree, ' does not cover the ', what, ''')');
CREATE MACRO _placed(number, columns, tuples, tree, what) AS
concat('SELECT ', columns, _repeated(number, concat(', CASE WHEN v# IS NULL THEN 0 WHEN h#.node IS NULL THEN ', _not_covered(tree, what), ' ELSE h#.depth END AS d#, coalesce(h#.ids, [0]) AS p#'), ''),
  ' FROM ', tuples, ' AS t', _repeated(number, ' LEFT JOIN __priv_h# AS h# ON t.v# = h#.node', ''));

-- SQL text of __priv_q, the distinct tuples of the records with their number q, and __priv_f: how many entries of each dictionary are consistent with them. Two cells are
-- consistent when one is above the other or both are one, that is, when they are equal at the smaller of their depths. So all
-- records of one pattern of depths meet all entries of one pattern in an equality of keys: a hash join, whatever the hierarchies.
CREATE MACRO _consistent(links) AS
concat(_entries_placed(len(links), 'the hierarchy of link #'), ', __priv_q AS MATERIALIZED (', _placed(len(links), concat('row_number() OVER () AS q, ', _repeated(len(links), 'v#', ', ')),
    concat('(SELECT DISTINCT ', _repeated(len(links), '__priv_v# AS v#', ', '), ' FROM __priv_r)'), 'the hierarchy of link #', 'table'), ')', _similar(links), _counted(links));
CREATE MACRO _entries_placed(number, tree) AS
concat(', __priv_d AS MATERIALIZED (', _placed(number, 'which, copies', concat('(SELECT __priv_which AS which, __priv_copies AS copies, ', _repeated(number, '__priv_v# AS v#', ', '), ' FROM __priv_e)'), tree, 'dictionary'), ')');
CREATE MACRO _counted(links) AS
concat(', __priv_rp AS MATERIALIZED (SELECT row_number() OVER () AS rn, * FROM (SELECT DISTINCT ', _repeated(len(links), 'd#', ', '), ' FROM __priv_q))', _rolled(len(links)),
  ', __priv_f AS (SELECT q, which, CAST(sum(k.copies) AS BIGINT) AS entries FROM (SELECT q, rn, dn, ', _repeated(len(links), 't.p#[least(t.d#, dp.d#) + 1] AS k#', ', '),
    ' FROM __priv_q AS t JOIN __priv_rp AS rp ON ', _repeated(len(links), 't.d# = rp.d#', ' AND '), ' CROSS JOIN __priv_dp AS dp) AS t',
    _of_similar(links, range(1, len(links) + 1), ' JOIN __priv_z# AS alike# ON t.k# = alike#.id', '', ''), ' JOIN __priv_k AS k ON t.rn = k.rn AND t.dn = k.dn AND ',
    _of_similar(links, range(1, len(links) + 1), 'alike#.other = k.k#', 't.k# = k.k#', ' AND '), ' GROUP BY q, which)');
-- SQL text of __priv_z# for each link by similarity: the numbers of a record's cell and of the entries' cells that are similar to it, each of which is counted as if it were equal. 0 is what
-- says nothing. Links that are compared by similarity have one template, the others another.
CREATE MACRO _similar(links) AS
coalesce(list_aggr(list_transform(links, lambda __priv_m, __priv_j: CASE WHEN __priv_m['similarity'] IS NULL THEN '' WHEN __priv_m['hierarchy'] IS NOT NULL
    THEN error('sqlpriv: a link has a hierarchy or a similarity, not both: texts that are similar need not be below similar nodes')
  ELSE _at_place(concat(', __priv_z# AS MATERIALIZED (SELECT 0 AS id, 0 AS other UNION ALL SELECT a.ids[-1], b.ids[-1] FROM (SELECT * FROM __priv_h# WHERE node IN (SELECT __priv_v# FROM __priv_r)) AS a',
    ' JOIN (SELECT * FROM __priv_h# WHERE node IN (SELECT __priv_v# FROM __priv_e)) AS b ON a.node = b.node OR jaro_similarity(a.node, b.node) >= ', _alikeness(__priv_m['similarity']), ')'), __priv_j) END), 'string_agg', ''), '');
CREATE MACRO _of_similar(links, places, template, other_template, between) AS
list_aggr(list_transform(places, lambda __priv_j: _at_place(CASE WHEN links[__priv_j]['similarity'] IS NULL THEN other_template ELSE template END, __priv_j)), 'string_agg', between);
-- SQL text of __priv_dp, the patterns of depths of the entries, and __priv_k, how many entries have which keys for each pattern of records (__priv_rp).
CREATE MACRO _rolled(number) AS
concat(', __priv_dp AS MATERIALIZED (SELECT row_number() OVER () AS dn, * FROM (SELECT DISTINCT ', _repeated(number, 'd#', ', '), ' FROM __priv_d))',
  ', __priv_k AS (SELECT rn, dn, which, ', _repeated(number, 't.p#[least(t.d#, rp.d#) + 1] AS k#', ', '), ', sum(copies) AS copies FROM __priv_d AS t JOIN __priv_dp AS dp ON ',
    _repeated(number, 't.d# = dp.d#', ' AND '), ' CROSS JOIN __priv_rp AS rp GROUP BY ALL)');

-- SQL text that reads all tables: __priv_r, the records with what else is wanted of them, __priv_e, the distinct entries of each dictionary (which),
-- and __priv_sound, one row, which refuses empty tables and cells that can never be equal as texts.
CREATE MACRO _both(tbl, dictionaries, links, more) AS
concat('WITH __priv_r AS MATERIALIZED (SELECT ', more, _link_cells(links, 'record'), _from(tbl), _plainly(links, 'record'), '), __priv_e AS MATERIALIZED (',
  list_aggr(list_transform(dictionaries, lambda __priv_name, __priv_w: list_transform([_own_links(links, __priv_name)], lambda __priv_own: concat(
    'SELECT ', __priv_w, ' AS __priv_which, count(*) AS __priv_copies, ', _link_cells(__priv_own, 'entry'), _from(__priv_name), _plainly(__priv_own, 'entry'), ' GROUP BY ALL'))[1]), 'string_agg', ' UNION ALL '),
  ')', _soundness(tbl, dictionaries, links));
-- SQL text of __priv_sound.
CREATE MACRO _soundness(tbl, dictionaries, links) AS
concat(', __priv_rt AS (SELECT ', _types(links, 'record'), _from(tbl), ' LIMIT 1), __priv_et AS (',
  list_aggr(list_transform(dictionaries, lambda __priv_name: concat('(SELECT ', _types(_own_links(links, __priv_name), 'entry'), _from(__priv_name), ' LIMIT 1)')), 'string_agg', ' UNION ALL '),
  '), __priv_sound AS MATERIALIZED (SELECT CASE WHEN count(rt.__priv_y1) = 0 THEN error(''sqlpriv: the table has no rows: there is nothing to check'')',
  ' WHEN count(et.__priv_y1) < ', len(dictionaries), ' THEN error(''sqlpriv: a dictionary has no rows'')',
  list_aggr(list_transform(links, lambda __priv_m, __priv_j: CASE WHEN __priv_m['hierarchy'] IS NULL THEN _at_place(
    concat(' WHEN bool_or(NOT ', _alike('rt.__priv_y#', 'et.__priv_y#'), ') THEN error(concat(''sqlpriv: link # compares '', any_value(rt.__priv_y#), '' with '', any_value(et.__priv_y#), '', which are never equal as texts; cast one of them''))'),
    __priv_j) END), 'string_agg', ''),
  ' ELSE true END AS ok FROM (SELECT 1) AS one LEFT JOIN __priv_rt AS rt ON true LEFT JOIN __priv_et AS et ON true)');
-- The links as one dictionary has them: what only another one has is missing here, and matches everything.
CREATE MACRO _own_links(links, name) AS
CASE WHEN list_bool_and(list_transform(links, lambda __priv_m: coalesce(__priv_m['dictionary'], name) <> name))
  THEN error('sqlpriv: the links name no attribute that the table and the dictionary share')
  ELSE list_transform(links, lambda __priv_m: MAP {'entry': CASE WHEN coalesce(__priv_m['dictionary'], name) = name THEN __priv_m['entry'] ELSE '(NULL)' END})
END;
-- Texts of one type are alike, those of all integers, and a text may be anything's label.
CREATE MACRO _alike(one, other) AS
concat('(', one, ' = ', other, ' OR regexp_matches(', one, ', ''^(VARCHAR|ENUM|"NULL")'') OR regexp_matches(', other, ', ''^(VARCHAR|ENUM|"NULL")'') OR regexp_matches(',
  one, ', ''^(', _integers(), ')$'') AND regexp_matches(', other, ', ''^(', _integers(), ')$''))');

-- The chance to pick the right one of so many entries, and the SQL text of it. None: the person is not in the dictionary, and nobody is found.
CREATE MACRO _picked(entries) AS CASE WHEN entries > 0 THEN 1 / entries ELSE CAST(0 AS DOUBLE) END;
CREATE MACRO _identified(entries) AS concat('CASE WHEN ', entries, ' > 0 THEN 1 / ', entries, ' ELSE CAST(0 AS DOUBLE) END');
