-- hierarchy_weights(hierarchy, weight) -> node, depth, leaves, weight
-- How sensitive each node of a hierarchy is (Lebanon et al. 2009): a value has the weight given, a number for all of them or a table of values and weights.
-- A node above it has 1 / sum(1 / weight) of its children, and the top, where nothing is disclosed, 0. depth counts the steps below the top, leaves the
-- values below the node.
-- nulls: the row of NULL is left out: a missing cell weighs nothing.
-- guarantee: a node never weighs more than what is below it. A value of weight 0 makes all above it 0; an infinite one, which must never be disclosed, makes a
-- node infinite where all its values are. A weight that is missing, negative or no number is an error.
-- example: FROM priv.hierarchy_weights('cities', 0.5)
-- expect: [('*', 0, 3, 0.0), ('Massachusetts', 1, 1, 0.5), ('New York', 1, 2, 0.25), ('Albany', 2, 1, 0.5), ('Boston', 2, 1, 0.5), ('Ithaca', 2, 1, 0.5)]
CREATE MACRO hierarchy_weights(hierarchy, weight) AS TABLE
FROM query(concat('WITH ', substr(concat(_at_place(_tree_head(), 1), _labels_of(hierarchy), _at_place(_tree('the hierarchy'), 1), _prices(MAP {'hierarchy': 'given', 'values':
    CASE WHEN typeof(weight) = 'VARCHAR' AND TRY_CAST(weight AS DOUBLE) IS NULL THEN CAST(weight AS VARCHAR) END}, 1)), 3),
  ' SELECT w.node, h.depth, leaves, ', _product(concat('CAST(''', CASE WHEN typeof(weight) = 'VARCHAR' AND TRY_CAST(weight AS DOUBLE) IS NULL THEN 1 ELSE _weight(weight) END,
    ''' AS DOUBLE)'), 'price'), ' AS weight FROM __priv_w1 AS w JOIN __priv_h1 AS h ON w.node = h.node ORDER BY depth, w.node'));

-- sensitivity(tbl, weights, form) -> record, sensitivity
-- How much it would harm each person that the record is known to be theirs (Lebanon et al. 2009): the sum of the weights of its cells (form 'linear'), or e to that sum
-- ('multiplicative'). The weights are a list: [{attribute: 'city', weight: 0.3, hierarchy: 'cities'}], where the weight is that of a value and nodes of the
-- hierarchy weigh less, as in hierarchy_weights. The key values: 'table' gives the values weights of their own, times the weight. Attributes that are worse
-- together (equation 4) are a pair, {attribute: 'city', also: 'born', weight: 1}, or a set of any size, {attribute: 'city', also: ['born', 'race'], weight:
-- 1}. In one list `also` is a name everywhere, or a list everywhere. Many sets are a table of attributes (a list of names) and weight: {sets:
-- 'worse_together'}.
-- nulls: NULL and `*` weigh nothing.
-- guarantee: exact. The weight of a set is shared as the places of its cells are: divided by the number of values below each of them. A weight may be 'infinity':
-- never to be disclosed; infinity x 0 = 0. Weights that are missing, negative or no numbers are errors, and so is a cell that the hierarchy misses.
-- example: SELECT record.id, sensitivity FROM priv.sensitivity('members', [{attribute: 'city', weight: 0.5, hierarchy: 'cities'}, {attribute: 'born', weight: 3, hierarchy: 'births'}], 'linear')
-- expect: [(1, 3.5), (2, 2.0), (3, 0.25), (4, 3.5)]
CREATE MACRO sensitivity(tbl, weights, form) AS TABLE
FROM query(list_transform([_weights(weights, _weight_keys())], lambda __priv_all: list_transform([_singles(__priv_all)], lambda __priv_own: concat(
  _priced(tbl, __priv_own, ''), ' SELECT r.__priv_record AS record, ',
  _summed(form, __priv_all, __priv_own, _factors(__priv_all)),
  ' AS sensitivity', _from_priced(len(__priv_own)), ' ORDER BY r.__priv_n'))[1])[1]);

-- personal_sensitivity(tbl, weights, form, id, personal, total) -> record, sensitivity
-- Likewise where people's weights differ: personal is a table of persons, attributes and weights, which stand in place of the weights given in the list. The
-- attribute of a set is called 'city and born', in the order of the list. No person's weights may add up to more than total, so that nobody counts for more than others; 'infinity' is no bound.
-- nulls: NULL and `*` weigh nothing; a person who is NULL is an error.
-- guarantee: as of sensitivity. A person of the table without a weight for some attribute, with two, or with more than total is an error.
-- example: SELECT record.id, sensitivity FROM priv.personal_sensitivity('members', [{attribute: 'city', hierarchy: 'cities'}, {attribute: 'born', hierarchy: 'births'}], 'linear', 'id', 'minded', 4)
-- expect: [(1, 4.0), (2, 2.0), (3, 1.0), (4, 4.0)]
CREATE MACRO personal_sensitivity(tbl, weights, form, id, personal, total) AS TABLE
FROM query(list_transform([_weights(weights, _weight_keys())], lambda __priv_all: list_transform([_singles(__priv_all)], lambda __priv_own: concat(
  _priced(tbl, __priv_own, _whose(id)),
  _minded(__priv_all, personal, total), ' SELECT r.__priv_record AS record, CASE WHEN ', _unminded(__priv_all), ' ELSE ',
  _summed(form, __priv_all, __priv_own, _minds(__priv_all)), ' END AS sensitivity', _from_priced(len(__priv_own)), ' LEFT JOIN __priv_g AS g ON r.__priv_person = g.person ORDER BY r.__priv_n'))[1])[1]);

-- disclosure_utility(tbl, weights) -> record, utility
-- How much each record still says (Lebanon et al. 2009): the steps of its cells below the tops of their hierarchies, added up. The list is that of sensitivity, or one of
-- names; its weights do not matter here. A column without a hierarchy is disclosed, 1, or not, 0.
-- nulls: NULL and `*` say nothing.
-- guarantee: none; utility is the other side of the scales. A label that stands on two levels is one step.
-- example: SELECT record.id, utility FROM priv.disclosure_utility('members', [{attribute: 'city', hierarchy: 'cities'}, {attribute: 'born', hierarchy: 'births'}])
-- expect: [(1, 5), (2, 4), (3, 1), (4, 3)]
CREATE MACRO disclosure_utility(tbl, weights) AS TABLE
FROM query(list_transform([_singles(_weights(weights, _weight_keys()))], lambda __priv_own: concat(
  _priced(tbl, __priv_own, ''), ' SELECT r.__priv_record AS record, CAST(', _repeated(len(__priv_own), 'q.d#', ' + '), ' AS BIGINT) AS utility', _from_priced(len(__priv_own)), ' ORDER BY r.__priv_n'))[1]);

-- The list of weights as maps, checked.
CREATE MACRO _weights(weights, allowed) AS
list_transform([CASE
    WHEN typeof(weights) = 'VARCHAR[]' THEN list_transform(TRY_CAST(weights AS VARCHAR[]), lambda __priv_name: MAP {'attribute': __priv_name})
    WHEN regexp_matches(typeof(weights), '^(STRUCT|MAP)[(].*[)][[]]$') THEN TRY_CAST(weights AS MAP(VARCHAR, VARCHAR)[])
    ELSE error('sqlpriv: the weights must be a list such as [{attribute: ''city'', weight: 0.3, hierarchy: ''cities''}]') END], lambda __priv_maps: CASE
  WHEN len(_singles(__priv_maps)) = 0 OR list_count(__priv_maps) < len(__priv_maps) OR list_bool_or(list_transform(__priv_maps, lambda __priv_m: coalesce(__priv_m['attribute'], __priv_m['sets'], '') = ''))
    THEN error('sqlpriv: every weight needs an attribute: a column of the table, or an expression')
  WHEN list_bool_or(list_transform(__priv_maps, lambda __priv_m: len(list_filter(map_keys(__priv_m),
      lambda __priv_k: NOT list_contains(allowed, __priv_k))) > 0))
    THEN error(concat('sqlpriv: a weight has ', list_aggr(allowed, 'string_agg', ', '), ' and nothing else'))
  WHEN list_bool_or(list_transform(__priv_maps, lambda __priv_m: __priv_m['sets'] IS NOT NULL AND list_count(map_values(__priv_m)) > 1)) OR len(list_filter(__priv_maps, lambda __priv_m: __priv_m['sets'] IS NOT NULL)) > 1
    THEN error('sqlpriv: the table of sets is named once, by itself, as in {sets: ''worse_together''}')
  WHEN len(list_distinct(list_transform(__priv_maps, lambda __priv_m: list_sort(_set_of(__priv_m))))) < len(__priv_maps) THEN error('sqlpriv: an attribute has two weights')
  WHEN list_bool_or(list_transform(__priv_maps, lambda __priv_m: __priv_m['also'] IS NOT NULL AND NOT (
      len(_set_of(__priv_m)) > 1 AND len(list_distinct(_set_of(__priv_m))) = len(_set_of(__priv_m))
      AND list_has_all(list_transform(_singles(__priv_maps), lambda __priv_s: __priv_s['record']), _set_of(__priv_m)))))
    THEN error('sqlpriv: a set needs at least two attributes that stand in the list themselves, each of them once')
  ELSE __priv_maps END)[1];
CREATE MACRO _weight_keys() AS ['attribute', 'also', 'weight', 'hierarchy', 'values', 'sets'];
-- The attributes of a weight: one, or those of a set, and the name that people's own weights have for them. A list among texts is written as DuckDB writes lists.
CREATE MACRO _set_of(entry) AS
list_concat([entry['attribute']], CASE WHEN entry['also'] IS NULL THEN [] WHEN entry['also'] LIKE '[%]' THEN TRY_CAST(entry['also'] AS VARCHAR[]) ELSE [entry['also']] END);
CREATE MACRO _entry_name(entry) AS list_aggr(_set_of(entry), 'string_agg', ' and ');
-- Those of single attributes, as links have them.
CREATE MACRO _singles(maps) AS
list_transform(list_filter(maps, lambda __priv_m: __priv_m['also'] IS NULL AND __priv_m['sets'] IS NULL), lambda __priv_m:
  MAP {'record': __priv_m['attribute'], 'hierarchy': __priv_m['hierarchy'], 'values': __priv_m['values'], 'entry': coalesce(__priv_m['entry'], '(NULL)'), 'similarity': __priv_m['similarity']});
CREATE MACRO _place_of(singles, name) AS list_position(list_transform(singles, lambda __priv_s: __priv_s['record']), name);
CREATE MACRO _quoted_text(words) AS concat('''', replace(words, '''', ''''''), '''');

-- A weight given as a number, and SQL text of one that is read.
CREATE MACRO _weight(number) AS
CASE WHEN TRY_CAST(number AS DOUBLE) BETWEEN 0 AND CAST('Infinity' AS DOUBLE) THEN TRY_CAST(number AS DOUBLE) ELSE error('sqlpriv: a weight must be a number of at least 0, or infinity') END;
CREATE MACRO _weight_text(cell, what) AS
concat('CASE WHEN TRY_CAST(', cell, ' AS DOUBLE) BETWEEN 0 AND CAST(''Infinity'' AS DOUBLE) THEN TRY_CAST(', cell, ' AS DOUBLE) ELSE error(''sqlpriv: ', what,
  ' is missing, negative or no number'') END');

-- SQL text of __priv_w#, by node: leaves, the number of values below it, and price, what it weighs where its values weigh 1, or what their table says. A value that is no
-- node's child weighs by itself; sums of 1 / weight over all values below are what the mean comes to, level by level.
CREATE MACRO _prices(entry, place) AS
concat(CASE WHEN entry['values'] IS NULL THEN '' ELSE concat(_at_place(', __priv_t# AS MATERIALIZED (SELECT value, ', place), _weight_text('weight', _at_place('a weight of attribute #', place)),
      _at_place(' AS weight, CASE WHEN count(*) OVER (PARTITION BY value) > 1 THEN error(''sqlpriv: the weights of attribute # name a value twice'') ELSE true END AS once FROM (SELECT labels[1] AS value, labels[2] AS weight FROM ', place),
      _labels_of(entry['values']), '))') END,
  _at_place(concat(', __priv_v# AS MATERIALIZED (SELECT l.node, l.chain, ', CASE WHEN entry['values'] IS NULL THEN 'CAST(1 AS DOUBLE)'
      ELSE 'CASE WHEN t.once IS NULL THEN error(''sqlpriv: the weights of attribute # miss a value'') WHEN t.weight = 0 THEN CAST(''Infinity'' AS DOUBLE) WHEN isinf(t.weight) THEN 0 ELSE 1 / t.weight END' END,
    ' AS inverse FROM ', CASE WHEN entry['hierarchy'] IS NULL THEN '(SELECT node, [node] AS chain FROM __priv_h# WHERE node IN (SELECT __priv_v# FROM __priv_r))'
      ELSE '(SELECT node, chain FROM __priv_i# WHERE node NOT IN (SELECT chain[-2] FROM __priv_i# WHERE len(chain) > 1))' END, ' AS l',
    CASE WHEN entry['values'] IS NULL THEN '' ELSE ' LEFT JOIN __priv_t# AS t ON l.node = t.value' END, ')',
    ', __priv_w# AS MATERIALIZED (SELECT a.node, count(*) AS leaves, CASE WHEN h.depth = 0 OR bool_or(isinf(inverse)) THEN 0 WHEN sum(inverse) = 0 THEN CAST(''Infinity'' AS DOUBLE) ELSE 1 / sum(inverse) END AS price',
    ' FROM (SELECT unnest(chain) AS node, inverse FROM __priv_v#) AS a JOIN __priv_h# AS h ON a.node = h.node GROUP BY a.node, h.depth)'), place));

-- SQL text that reads the records and gives the distinct tuples of their cells (__priv_q) depth d#, price u# and share g#, 1 / leaves, of each cell.
CREATE MACRO _priced(tbl, singles, more) AS
concat('WITH __priv_r AS MATERIALIZED (SELECT row_number() OVER () AS __priv_n, __priv_t AS __priv_record, ', more, _link_cells(singles, 'record'), _from(tbl), _plainly(singles, 'record'), ')',
  _nodes(singles, 'SELECT DISTINCT __priv_v# AS node FROM __priv_r', 'the hierarchy of attribute #'),
  list_aggr(list_transform(singles, lambda __priv_m, __priv_j: _prices(__priv_m, __priv_j)), 'string_agg', ''),
  ', __priv_q AS MATERIALIZED (SELECT ', _repeated(len(singles), 't.v#, t.d#, CASE WHEN t.d# = 0 THEN 0 ELSE w#.price END AS u#, CASE WHEN t.d# = 0 THEN 0 ELSE 1 / w#.leaves END AS g#', ', '), ' FROM (',
  _placed(len(singles), _repeated(len(singles), 't.v#', ', '), concat('(SELECT DISTINCT ', _repeated(len(singles), '__priv_v# AS v#', ', '), ' FROM __priv_r)'), 'the hierarchy of attribute #', 'table'), ') AS t',
  _repeated(len(singles), ' LEFT JOIN __priv_w# AS w# ON t.v# = w#.node', ''), ')');
CREATE MACRO _from_priced(number) AS
concat(' FROM (SELECT CASE WHEN count(*) = 0 THEN error(''sqlpriv: the table has no rows: there is nothing to check'') ELSE true END AS ok FROM __priv_r) AS s JOIN __priv_r AS r ON s.ok JOIN __priv_q AS q ON ',
  _repeated(number, 'r.__priv_v# IS NOT DISTINCT FROM q.v#', ' AND '));

-- SQL text of whose record it is; of __priv_g, the weights of each person (f#, by the place in the list), checked; of the refusal where somebody is missing in it; and of the factors.
CREATE MACRO _whose(id) AS concat('TRY_CAST(', _holder(id), ' AS VARCHAR) AS __priv_person, ');
CREATE MACRO _minded(maps, personal, total) AS
concat(CASE WHEN list_bool_or(list_transform(maps, lambda __priv_m: __priv_m['sets'] IS NOT NULL)) THEN error('sqlpriv: where weights are personal, sets stand in the list, with also') ELSE '' END,
  ', __priv_l AS MATERIALIZED (SELECT labels[1] AS person, labels[2] AS attribute, ', _weight_text('labels[3]', 'a personal weight'), ' AS weight FROM ', _labels_of(personal), ')',
  ', __priv_g AS MATERIALIZED (SELECT person, ', list_aggr(list_transform(maps, lambda __priv_m, __priv_j: concat(
    'max(CASE WHEN attribute = ', _quoted_text(_entry_name(__priv_m)), ' THEN weight END) AS f', __priv_j)), 'string_agg', ', '),
  ', CASE WHEN count(*) > count(DISTINCT attribute) THEN error(''sqlpriv: a person has two weights for one attribute'')',
  ' WHEN sum(weight) > CAST(''', _weight(total), ''' AS DOUBLE) * (1 + 1e-9) THEN error(''sqlpriv: the weights of a person add up to more than the total'') ELSE true END AS fair FROM __priv_l GROUP BY person)');
CREATE MACRO _unminded(maps) AS
concat('g.fair IS NULL', list_aggr(list_transform(maps, lambda __priv_m, __priv_j: concat(' OR g.f', __priv_j, ' IS NULL')), 'string_agg', ''), ' THEN error(''sqlpriv: a person of the table has no weight for an attribute'')');
CREATE MACRO _minds(maps) AS list_transform(maps, lambda __priv_m, __priv_j: concat('g.f', __priv_j));

-- SQL text of the sum of all weights, each its factor times the price of the cell, or the shares of a set, in one of the forms.
CREATE MACRO _summed(form, maps, singles, factors) AS _formed(form, list_aggr(_terms(maps, singles, factors), 'string_agg', ' + '));
CREATE MACRO _formed(form, sum_text) AS
concat(CASE WHEN lower(form) = 'linear' THEN '(' WHEN lower(form) = 'multiplicative' THEN 'exp(' ELSE error('sqlpriv: the form must be linear or multiplicative') END, sum_text, ')');
CREATE MACRO _terms(maps, singles, factors) AS
list_transform(maps, lambda __priv_m, __priv_j: CASE WHEN __priv_m['sets'] IS NOT NULL THEN _sets_term(__priv_m['sets'], singles) ELSE _product(factors[__priv_j], CASE WHEN __priv_m['also'] IS NULL THEN concat('q.u', _place_of(singles, __priv_m['attribute']))
  ELSE concat('(', list_aggr(list_transform(_set_of(__priv_m), lambda __priv_a: concat('q.g', _place_of(singles, __priv_a))), 'string_agg', ' * '), ')') END) END);
-- SQL text of the sum over a table of sets: the weight of each, times the shares of its cells.
CREATE MACRO _sets_term(sets, singles) AS
concat('coalesce(list_sum(list_transform((SELECT list({''places'': places, ''weight'': weight}) FROM (', _read_sets(sets, singles), ')), lambda __priv_s: CASE WHEN __priv_s.weight = 0 OR ', _share_product(len(singles)),
  ' = 0 THEN CAST(0 AS DOUBLE) ELSE __priv_s.weight * ', _share_product(len(singles)), ' END)), 0)');
CREATE MACRO _share_product(number) AS concat('list_product(list_transform(__priv_s.places, lambda __priv_p: [', _repeated(number, 'CAST(q.g# AS DOUBLE)', ', '), '][__priv_p]))');
CREATE MACRO _read_sets(sets, singles) AS
concat('SELECT CASE WHEN coalesce(len(places) > 1 AND len(list_distinct(places)) = len(places), false) THEN places ELSE error(''sqlpriv: a set of the table needs at least two attributes that stand in the list of weights, each of them once'') END AS places,',
  ' CASE WHEN count(*) OVER (PARTITION BY list_sort(places)) > 1 THEN error(''sqlpriv: the table of sets names a set twice'') ELSE ', _weight_text('weight', 'the weight of a set'), ' END AS weight',
  ' FROM (SELECT list_transform(TRY_CAST(__priv_t."attributes" AS VARCHAR[]), lambda __priv_a: list_position([', list_aggr(list_transform(singles, lambda __priv_m: _quoted_text(__priv_m['record'])), 'string_agg', ', '),
  '], __priv_a)) AS places, __priv_t."weight" AS weight', _from(sets), ')');
CREATE MACRO _factors(maps) AS _numbers(maps, 'weight');
CREATE MACRO _numbers(maps, key) AS list_transform(maps, lambda __priv_m: concat('CAST(''', _weight(coalesce(__priv_m[key], '1')), ''' AS DOUBLE)'));
