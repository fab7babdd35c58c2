-- optimal_disclosure(tbl, dictionary, weights, form, goal, c) -> record, labels, depths, entries, loss, utility
-- For each record the best choice of how much to disclose of every attribute (Lebanon et al. 2009): of its cells or any nodes above them, the best for a
-- goal. 'utility' (7) is the most utility with a loss of at most c, 'risk' (8) the least loss with a utility of at least c, and 'both' (9) the least loss -
-- c utility. weights are those of sensitivity, with the hierarchy along which an attribute may be disclosed, and entry, what the dictionary knows of it:
-- {attribute: 'city', weight: 0.3, hierarchy: 'cities', entry: 'city'}. An attribute without a hierarchy may have a similarity as a link of identification
-- has: {attribute: 'name', entry: 'name', similarity: 0.8}.
-- nulls: a NULL or `*` cell can only be `*`, suppressed.
-- guarantee: exact: every combination of nodes is looked at. The loss is the sensitivity over the number of consistent entries, 0 without any; the utility that of
-- disclosure_utility. A record for which no choice keeps c is an error. What the choice itself reveals about a person is not in the loss.
-- example: SELECT record.id, labels, entries, loss, utility FROM priv.optimal_disclosure('members', 'phone_book', [{attribute: 'city', weight: 0.5, hierarchy: 'cities', entry: 'city'}, {attribute: 'born', weight: 3, hierarchy: 'births', entry: 'born'}], 'linear', 'risk', 1)
-- expect: [(1, ['New York', '*'], 5, 0.05, 1), (2, ['New York', '*'], 5, 0.05, 1), (3, ['New York', '*'], 5, 0.05, 1), (4, ['Boston', '1980'], 0, 0.0, 3)]
CREATE MACRO optimal_disclosure(tbl, dictionary, weights, form, goal, c) AS TABLE
FROM query(list_transform([_choices(weights)], lambda __priv_all: list_transform([_disclosable(_singles(__priv_all))], lambda __priv_own:
  _disclosures(tbl, [dictionary], [CAST(1 AS DOUBLE)], 'bayes', __priv_all, __priv_own, form, 0, _factors(__priv_all), '', '', '', _kept_choices(goal, c), _better(goal, c)))[1])[1]);

-- SQL text of the best choices of every record: those that are kept, by the order given, one for each t and what else `apart` says. tables are the dictionaries, with their priors, and judge how several are taken together.
-- factors are what weighs: numbers, or columns of __priv_g where people's weights differ, which `people` reads, with __priv_person among what is read of a record.
CREATE MACRO _disclosures(tbl, tables, priors, judge, maps, singles, form, psi, factors, person, people, apart, kept, order_text) AS
concat(_both(tbl, tables, singles, concat('row_number() OVER () AS __priv_n, __priv_t AS __priv_record, ', person)),
  _nodes(singles, 'SELECT __priv_v# AS node FROM __priv_r UNION SELECT __priv_v# FROM __priv_e', 'the hierarchy of attribute #'),
  list_aggr(list_transform(singles, lambda __priv_m, __priv_j: _prices(__priv_m, __priv_j)), 'string_agg', ''),
  _entries_placed(len(singles), 'the hierarchy of attribute #'), _ladders(len(singles), _linked(singles)), _similar(singles), _offered(singles, _linked(singles), priors, judge), people,
  ', __priv_felt AS (SELECT q.*, ', CASE WHEN person = '' THEN '' ELSE 'h.person, ' END, _summed(form, maps, singles, factors), ' AS phi, ', _missed(form, maps, singles, psi), ' AS psi FROM __priv_offered AS q',
    CASE WHEN person = '' THEN '' ELSE ' JOIN __priv_holders AS h ON q.t = h.t JOIN __priv_g AS g ON h.person = g.person' END, ')',
  ', __priv_priced AS (SELECT q.*, ', _judged(priors, judge), ' AS loss', CASE WHEN apart LIKE '%losses' THEN concat(', ', _each_loss(priors), ' AS losses') ELSE '' END, ' FROM __priv_felt AS q)',
  ', __priv_best AS (SELECT t, ', CASE WHEN person = '' THEN '' ELSE 'person, ' END, 'arg_min({''code'': code, ''entries'': entries, ''loss'': loss, ''utility'': utility', CASE WHEN apart LIKE '%losses' THEN ', ''losses'': losses' ELSE '' END, '}, ', order_text, ') AS best FROM __priv_priced WHERE ', kept,
    ' GROUP BY t', CASE WHEN person = '' THEN '' ELSE ', person' END, apart, ')',
  ' SELECT r.__priv_record AS record, [', _repeated(len(singles), _label_at(), ', '), '] AS labels, [', _repeated(len(singles), _depth_at(), ', '), '] AS depths, b.best.entries AS entries,',
  ' CASE WHEN b.t IS NULL THEN error(''', _no_choice(), ''') ELSE b.best.loss END AS loss, b.best.utility AS utility', CASE WHEN apart LIKE '%losses' THEN ', b.best.losses AS losses' ELSE '' END,
  ' FROM __priv_sound AS s JOIN __priv_r AS r ON s.ok JOIN __priv_x AS x ON ', _repeated(len(singles), 'r.__priv_v# IS NOT DISTINCT FROM x.v#', ' AND '),
  ' LEFT JOIN __priv_best AS b ON x.t = b.t', CASE WHEN person = '' THEN '' ELSE ' AND r.__priv_person = b.person' END,
  _repeated(len(singles), ' LEFT JOIN __priv_l# AS l# ON x.z# = l#.z', ''), ' ORDER BY r.__priv_n, b.best.utility');

-- SQL text of the harm to who is not found: psi, and the weights that the list has for that, in the same form.
CREATE MACRO _missed(form, maps, singles, psi) AS
list_transform([list_filter(maps, lambda __priv_m: __priv_m['psi'] IS NOT NULL)], lambda __priv_missed:
  concat('CAST(''', _weight(psi), ''' AS DOUBLE)', CASE WHEN len(__priv_missed) = 0 THEN '' ELSE concat(' + ', _summed(form, __priv_missed, singles, _numbers(__priv_missed, 'psi'))) END))[1];
-- SQL text of the loss. It is a line in p, so that against the worst of several dictionaries it is that of the largest p, or of the least.
CREATE MACRO _judged(priors, judge) AS
CASE WHEN len(priors) > 1 AND judge = 'worst' THEN concat('greatest(', _expected('q.p'), ', ', _expected('q.least_p'), ')') ELSE _expected('q.p') END;
-- SQL text of the losses by each of the dictionaries.
CREATE MACRO _each_loss(priors) AS CASE WHEN len(priors) = 1 THEN concat('[', _expected('q.p'), ']') ELSE concat('[', _repeated(len(priors), _expected('q.p#'), ', '), ']') END;
CREATE MACRO _expected(p) AS concat(_product(p, 'q.phi'), ' + ', _product(concat('(1 - ', p, ')'), 'q.psi'));
-- SQL text of the chances by all dictionaries: the mean by their priors, or the largest, the least and each of them.
CREATE MACRO _chances(priors, judge) AS
CASE WHEN coalesce(judge NOT IN ('bayes', 'worst'), true) THEN error('sqlpriv: judge, how several dictionaries are taken together, must be bayes or worst')
  WHEN len(priors) = 1 THEN concat(_identified('n.e1'), ' AS p')
  WHEN judge = 'worst' THEN concat('greatest(', _repeated(len(priors), _identified('n.e#'), ', '), ') AS p, least(', _repeated(len(priors), _identified('n.e#'), ', '), ') AS least_p, ', _repeated(len(priors), concat(_identified('n.e#'), ' AS p#'), ', '))
  ELSE concat(list_aggr(list_transform(priors, lambda __priv_prior, __priv_j: concat('CAST(''', __priv_prior, ''' AS DOUBLE) * ', _at_place(_identified('n.e#'), __priv_j))), 'string_agg', ' + '), ' AS p') END;

CREATE MACRO _choices(weights) AS _weights(weights, list_concat(_weight_keys(), ['entry', 'similarity']));
-- Some attribute must be one that the dictionary knows. The others are as if it had none of their cells.
CREATE MACRO _disclosable(singles) AS
CASE WHEN len(_linked(singles)) = 0 THEN error('sqlpriv: the weights name no attribute that the table and the dictionary share; give one an entry')
  WHEN len(singles) > 9 THEN error('sqlpriv: at most 9 attributes can be chosen together') ELSE singles END;
CREATE MACRO _linked(singles) AS list_filter(range(1, len(singles) + 1), lambda __priv_j: singles[__priv_j]['entry'] <> '(NULL)');
CREATE MACRO _for_each(places, template, between) AS list_aggr(list_transform(places, lambda __priv_j: _at_place(template, __priv_j)), 'string_agg', between);
CREATE MACRO _others(number, places) AS list_filter(range(1, number + 1), lambda __priv_j: NOT list_contains(places, __priv_j));

-- A choice is one number, two digits for the depth of each attribute, the first ones leading. SQL text of its parts, and of what it shows.
CREATE MACRO _code(prefix, places) AS
list_aggr(list_transform(places, lambda __priv_j: concat(prefix, __priv_j, ' * CAST(', CAST(pow(100, 9 - __priv_j) AS BIGINT), ' AS BIGINT)')), 'string_agg', ' + ');
CREATE MACRO _depth_at() AS 'b.best.code // CAST(pow(100, 9 - #) AS BIGINT) % 100';
CREATE MACRO _label_at() AS concat('coalesce(l#.labels[', _depth_at(), ' + 1], ''*'')');

-- SQL text of __priv_x, the distinct tuples of cells (t), each cell by the number z# of its node; __priv_dp, __priv_rp and __priv_k as for identification, where the patterns of
-- records are all that could be chosen of what the dictionary knows; __priv_l#, the labels from the top down to each cell; and __priv_s#, one row for each step of that ladder: its depth k,
-- price u and share g, and for each depth e of the dictionary the key to be equal in.
CREATE MACRO _ladders(number, places) AS
concat(', __priv_x AS MATERIALIZED (SELECT row_number() OVER () AS t, *, ', _repeated(number, 'p#[-1] AS z#', ', '), ' FROM (',
    _placed(number, _repeated(number, 't.v#', ', '), concat('(SELECT DISTINCT ', _repeated(number, '__priv_v# AS v#', ', '), ' FROM __priv_r)'), 'the hierarchy of attribute #', 'table'), '))',
  ', __priv_rp AS MATERIALIZED (SELECT ', _code('d', places), ' AS rn, * FROM ', list_aggr(list_transform(range(1, number + 1), lambda __priv_j: _at_place(
    CASE WHEN list_contains(places, __priv_j) THEN '(SELECT unnest(range(0, (SELECT max(d#) FROM __priv_x) + 1)) AS d#)' ELSE '(SELECT 0 AS d#)' END, __priv_j)), 'string_agg', ', '), ')', _rolled(number),
  _repeated(number, concat(', __priv_g# AS MATERIALIZED (SELECT z, p, unnest(range(0, CASE WHEN len(p) > 100 THEN error(''sqlpriv: the hierarchy of attribute # has more than 99 levels'') ELSE len(p) END)) AS k FROM (SELECT DISTINCT z# AS z, p# AS p FROM __priv_x))',
    ', __priv_b# AS MATERIALIZED (SELECT h.ids[-1] AS id, h.node, w.price, 1 / w.leaves AS share FROM __priv_h# AS h JOIN __priv_w# AS w ON h.node = w.node WHERE h.depth > 0)',
    ', __priv_l# AS (SELECT g.z, list(coalesce(b.node, ''*'') ORDER BY g.k) AS labels FROM __priv_g# AS g LEFT JOIN __priv_b# AS b ON g.p[g.k + 1] = b.id GROUP BY g.z)',
    ', __priv_s# AS MATERIALIZED (SELECT g.z, g.k, e.e, g.p[least(g.k, e.e) + 1] AS key, coalesce(b.price, 0) AS u, coalesce(b.share, 0) AS g FROM __priv_g# AS g CROSS JOIN (SELECT DISTINCT d# AS e FROM __priv_dp) AS e',
    ' LEFT JOIN __priv_b# AS b ON g.p[g.k + 1] = b.id)'), ''));

-- SQL text of __priv_offered, every tuple with every choice. What dictionaries know is counted once for all tuples that share it; entries are those of the dictionary that has the fewest, but some.
CREATE MACRO _offered(singles, places, priors, judge) AS
concat(', __priv_y AS MATERIALIZED (SELECT row_number() OVER () AS y, * FROM (SELECT DISTINCT ', _for_each(places, 'z#', ', '), ' FROM __priv_x))',
  ', __priv_yd AS MATERIALIZED (SELECT * FROM __priv_y CROSS JOIN __priv_dp)',
  ', __priv_m AS (SELECT y, dn, ', _for_each(places, 's#.k AS k#, s#.key AS key#, s#.u AS u#, s#.g AS g#', ', '), ' FROM __priv_yd AS y',
    _for_each(places, ' JOIN __priv_s# AS s# ON y.z# = s#.z AND y.d# = s#.e', ''), ')', _matches(singles, places),
  ', __priv_n AS MATERIALIZED (SELECT m.y, ', _code('m.k', places), ' AS known_code, ', _for_each(places, 'any_value(m.k#) AS k#, any_value(m.u#) AS u#, any_value(m.g#) AS g#', ', '), ', ', _repeated(len(priors), 'CAST(coalesce(sum(k.copies) FILTER (k.which = #), 0) AS BIGINT) AS e#', ', '),
    ' FROM __priv_m AS m LEFT JOIN ', CASE WHEN _matches(singles, places) = '' THEN '__priv_k AS k ON ' ELSE '__priv_match AS k ON m.y = k.y AND ' END, 'k.rn = ', _code('m.k', places), ' AND m.dn = k.dn',
    CASE WHEN _matches(singles, places) = '' THEN _for_each(places, ' AND m.key# = k.k#', '') ELSE '' END, ' GROUP BY 1, 2)',
  ', __priv_offered AS (SELECT x.t, coalesce(least(', _repeated(len(priors), 'nullif(n.e#, 0)', ', '), '), 0) AS entries, ', _chances(priors, judge), ', ', _for_each(places, 'n.u#, n.g#', ', '), _for_each(_others(len(singles), places), ', s#.u AS u#, s#.g AS g#', ''),
    ', n.known_code', coalesce(' + ' || _for_each(_others(len(singles), places), 's#.k * CAST(pow(100, 9 - #) AS BIGINT)', ' + '), ''), ' AS code, CAST(', _for_each(places, 'n.k#', ' + '),
    coalesce(' + ' || _for_each(_others(len(singles), places), 's#.k', ' + '), ''), ' AS BIGINT) AS utility',
    ' FROM __priv_x AS x JOIN __priv_y AS y ON ', _for_each(places, 'x.z# = y.z#', ' AND '), ' JOIN __priv_n AS n ON y.y = n.y',
    _for_each(_others(len(singles), places), ' JOIN __priv_s# AS s# ON x.z# = s#.z', ''), ')');

-- SQL text of __priv_match, where some cells are compared by similarity: of each choice the counts that fit it. Elsewhere the counts are looked up by the keys themselves.
CREATE MACRO _matches(singles, places) AS
CASE WHEN list_bool_and(list_transform(places, lambda __priv_j: singles[__priv_j]['similarity'] IS NULL)) THEN ''
  ELSE concat(', __priv_match AS (SELECT m.y, k.rn, k.dn, k.which, k.copies FROM __priv_m AS m', _of_similar(singles, places, ' JOIN __priv_z# AS alike# ON m.key# = alike#.id', '', ''),
    ' JOIN __priv_k AS k ON k.rn = ', _code('m.k', places), ' AND m.dn = k.dn AND ', _of_similar(singles, places, 'alike#.other = k.k#', 'm.key# = k.k#', ' AND '), ')') END;

-- SQL text of what a choice must keep, and of the order of those that do, best first: ties go to the smaller loss, the larger utility, the smaller depths.
CREATE MACRO _kept_choices(goal, c) AS
CASE lower(goal) WHEN 'utility' THEN concat('loss <= CAST(''', _upper_limit(c), ''' AS DOUBLE)') WHEN 'risk' THEN concat('utility >= CAST(''', _lower_limit(c), ''' AS DOUBLE)') ELSE 'true' END;
CREATE MACRO _better(goal, c) AS
CASE lower(goal) WHEN 'utility' THEN 'ROW(-utility, loss, code)' WHEN 'risk' THEN 'ROW(loss, -utility, code)'
  WHEN 'both' THEN concat('ROW(', _balance(c, 'loss', 'utility'), ', loss, -utility, code)')
  ELSE error('sqlpriv: the goal must be utility, risk or both') END;
CREATE MACRO _balance(c, loss, utility) AS
concat(loss, ' - CAST(''', CASE WHEN _bar(c) BETWEEN 0 AND 1e300 THEN _bar(c) ELSE error('sqlpriv: c, what utility is worth, must be a number of at least 0') END, ''' AS DOUBLE) * ', utility);
CREATE MACRO _no_choice() AS 'sqlpriv: there is a record for which no choice keeps c; ask for less';

-- The same in steps, for tables of millions: what sqlpriv/risk asks for. First the attributes, checked, as links have them.
CREATE MACRO _chosen_from(weights) AS _disclosable(_singles(_weights(weights, list_append(_weight_keys(), 'entry'))));
CREATE MACRO _choices_sound(tbl, dictionary, weights) AS
concat('WITH __priv_one AS (SELECT 1)', _soundness(tbl, [dictionary], _chosen_from(weights)), ' SELECT ok FROM __priv_sound');
-- SQL text of the values of one attribute as they stand (raw) and as texts (cell), of rows with the values of all, and of every node.
CREATE MACRO _choice_cells(tbl, weights, side, place) AS
list_transform([_chosen_from(weights)[place]], lambda __priv_m:
  concat('SELECT raw, ', _linked_cell('raw'), ' AS cell FROM (SELECT DISTINCT ', _reading(__priv_m[side]), ' AS raw', _from(tbl), _plainly([__priv_m], side), ')'))[1];
CREATE MACRO _choice_rows(tbl, weights, side) AS
concat('SELECT ', list_aggr(list_transform(_chosen_from(weights), lambda __priv_m, __priv_j: concat(_reading(__priv_m[side]), ' AS raw', __priv_j)), 'string_agg', ', '), ', __priv_t AS record', _from(tbl));
CREATE MACRO _choice_nodes(weights, records, entries) AS
list_transform([_chosen_from(weights)], lambda __priv_own: concat('WITH __priv_r AS (FROM ', records, '), __priv_e AS (FROM ', entries, ')',
  _nodes(__priv_own, 'SELECT __priv_v# AS node FROM __priv_r UNION SELECT __priv_v# FROM __priv_e', 'the hierarchy of attribute #'),
  list_aggr(list_transform(__priv_own, lambda __priv_m, __priv_j: _prices(__priv_m, __priv_j)), 'string_agg', ''), ' ',
  _repeated(len(__priv_own), concat('SELECT # AS place, h.node, CAST(h.depth AS INTEGER) AS depth, h.ids, CASE WHEN h.depth = 0 THEN 0 ELSE coalesce(w.price, 0) END AS price,',
    ' CASE WHEN h.depth = 0 THEN 0 ELSE coalesce(1 / w.leaves, 0) END AS share FROM __priv_h# AS h LEFT JOIN __priv_w# AS w ON h.node = w.node'), ' UNION ALL ')))[1];
-- The chance of one of so many entries, when there are any, and the loss by it, as of _identified and _product.
CREATE MACRO _found_chance(entries) AS concat('1 / ', entries);
CREATE MACRO _found_loss(chance, sensitivity) AS concat(chance, ' * ', sensitivity);
