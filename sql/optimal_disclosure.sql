-- optimal_disclosure(tbl, dictionary, weights, form, goal, c) -> record, labels, depths, entries, loss, utility
-- For each record the best choice of how much to disclose of every attribute (Lebanon et al. 2009): of its cells or any nodes above them, those with the most utility and a loss of
-- at most c (goal 'utility', 7), with the least loss and a utility of at least c ('risk', 8), or with the least loss - c utility ('both', 9). weights are those of sensitivity, with the
-- hierarchy along which an attribute may be disclosed, and entry, what the dictionary knows of it: {attribute: 'city', weight: 0.3, hierarchy: 'cities', entry: 'city'}.
-- nulls: a NULL or `*` cell can only be `*`, suppressed.
-- guarantee: exact: every combination of nodes is looked at. The loss is the sensitivity over the number of consistent entries, 0 without any; the utility that of
-- disclosure_utility. A record for which no choice keeps c is an error. What the choice itself tells about a person is not in the loss.
-- example: SELECT record.id, labels, entries, loss, utility FROM priv.optimal_disclosure('members', 'phone_book', [{attribute: 'city', weight: 0.5, hierarchy: 'cities', entry: 'city'}, {attribute: 'born', weight: 3, hierarchy: 'births', entry: 'born'}], 'linear', 'risk', 1)
-- expect: [(1, ['New York', '*'], 5, 0.05, 1), (2, ['New York', '*'], 5, 0.05, 1), (3, ['New York', '*'], 5, 0.05, 1), (4, ['Boston', '1980'], 0, 0.0, 3)]
CREATE MACRO optimal_disclosure(tbl, dictionary, weights, form, goal, c) AS TABLE
FROM query(list_transform([_weights(weights, list_append(_weight_keys(), 'entry'))], lambda __priv_all: list_transform([_disclosable(_singles(__priv_all))], lambda __priv_own: concat(
  _both(tbl, [dictionary], __priv_own, 'row_number() OVER () AS __priv_n, __priv_t AS __priv_record, '),
  _nodes(__priv_own, 'SELECT __priv_v# AS node FROM __priv_r UNION SELECT __priv_v# FROM __priv_e', 'the hierarchy of attribute #'),
  list_aggr(list_transform(__priv_own, lambda __priv_m, __priv_j: concat(_prices(__priv_m, __priv_j), _at_place(_ladders(__priv_m['hierarchy'] IS NOT NULL), __priv_j))), 'string_agg', ''),
  _entries_placed(len(__priv_own), 'the hierarchy of attribute #'), _choices(__priv_own), _counted(len(__priv_own)), _offered(__priv_own),
  ', __priv_priced AS (SELECT q.*, ', _product('q.p', _summed(form, __priv_all, __priv_own,
    list_transform(__priv_all, lambda __priv_m: concat('CAST(''', _weight(coalesce(__priv_m['weight'], '1')), ''' AS DOUBLE)')))), ' AS loss FROM __priv_offered AS q)',
  ', __priv_best AS (SELECT t, arg_min({''depths'': depths, ''entries'': entries, ''loss'': loss, ''utility'': utility}, ', _better(goal, c), ') AS best FROM __priv_priced WHERE ', _kept_choices(goal, c), ' GROUP BY t)',
  ' SELECT r.__priv_record AS record, [', _repeated(len(__priv_own), 'x.l#[b.best.depths[#] + 1]', ', '), '] AS labels, b.best.depths AS depths, b.best.entries AS entries,',
  ' CASE WHEN b.t IS NULL THEN error(''sqlpriv: there is a record for which no choice keeps c; ask for less'') ELSE b.best.loss END AS loss, b.best.utility AS utility',
  ' FROM __priv_sound AS s JOIN __priv_r AS r ON s.ok JOIN __priv_x AS x ON ', _repeated(len(__priv_own), 'r.__priv_v# IS NOT DISTINCT FROM x.v#', ' AND '),
  ' LEFT JOIN __priv_best AS b ON x.t = b.t ORDER BY r.__priv_n'))[1])[1]);

-- Some attribute must be one that the dictionary knows.
CREATE MACRO _disclosable(singles) AS
CASE WHEN len(_linked(singles)) = 0 THEN error('sqlpriv: the weights name no attribute that the table and the dictionary share; give one an entry') ELSE singles END;
CREATE MACRO _linked(singles) AS list_filter(range(1, len(singles) + 1), lambda __priv_j: singles[__priv_j]['entry'] <> '(NULL)');
CREATE MACRO _for_each(places, template, between) AS list_aggr(list_transform(places, lambda __priv_j: _at_place(template, __priv_j)), 'string_agg', between);

-- SQL text of __priv_a#: for each node what stands on the way from the top down to it: labels, prices and shares.
CREATE MACRO _ladders(has_hierarchy) AS
concat(', __priv_a# AS MATERIALIZED (SELECT c.node, list(CASE WHEN h.depth = 0 THEN ''*'' ELSE h.node END ORDER BY h.depth) AS labels, list(w.price ORDER BY h.depth) AS prices,',
  ' list(CASE WHEN h.depth = 0 THEN 0 ELSE 1 / w.leaves END ORDER BY h.depth) AS shares FROM (SELECT node, unnest(',
  CASE WHEN has_hierarchy THEN 'chain) AS above FROM __priv_i#) AS c JOIN __priv_h# AS h ON c.above = h.node JOIN __priv_w# AS w ON c.above = w.node GROUP BY c.node)'
    ELSE '[NULL, node]) AS above FROM __priv_h#) AS c JOIN (SELECT node, depth FROM __priv_h# UNION ALL SELECT NULL, 0) AS h ON c.above IS NOT DISTINCT FROM h.node'
      || ' JOIN (SELECT node, price, leaves FROM __priv_w# UNION ALL SELECT NULL, 0, 1) AS w ON c.above IS NOT DISTINCT FROM w.node GROUP BY c.node)' END);

-- SQL text of __priv_x, the distinct tuples of cells (t) with all that stands above them; __priv_c, for each pattern of depths all choices of depths k#; __priv_q, the tuples that these
-- would disclose of what the dictionary knows.
CREATE MACRO _choices(singles) AS
concat(', __priv_x AS MATERIALIZED (SELECT row_number() OVER () AS t, ', _repeated(len(singles), 't.v#, t.d#, t.p#, coalesce(a#.labels, [''*'']) AS l#, coalesce(a#.prices, [0]) AS u#, coalesce(a#.shares, [0]) AS g#', ', '), ' FROM (',
    _placed(len(singles), _repeated(len(singles), 't.v#', ', '), concat('(SELECT DISTINCT ', _repeated(len(singles), '__priv_v# AS v#', ', '), ' FROM __priv_r)'), 'the hierarchy of attribute #', 'table'), ') AS t',
    _repeated(len(singles), ' LEFT JOIN __priv_a# AS a# ON t.v# = a#.node', ''), ')',
  ', __priv_c AS MATERIALIZED (SELECT ', _repeated(len(singles), 'd#, k#', ', '), ' FROM (SELECT DISTINCT ', _repeated(len(singles), 'd#', ', '), ' FROM __priv_x) AS d',
    _repeated(len(singles), ' JOIN (SELECT unnest(range(0, (SELECT max(d#) FROM __priv_x) + 1)) AS k#) AS c# ON c#.k# <= d.d#', ''), ')',
  ', __priv_q AS MATERIALIZED (SELECT row_number() OVER () AS q, ', _repeated(len(singles), 'len(p#) - 1 AS d#, p#, p#[-1] AS e#', ', '), ' FROM (SELECT DISTINCT ',
    list_aggr(list_transform(range(1, len(singles) + 1), lambda __priv_j: _at_place(CASE WHEN list_contains(_linked(singles), __priv_j) THEN 'x.p#[:c.k# + 1] AS p#' ELSE '[0] AS p#' END, __priv_j)), 'string_agg', ', '),
    ' FROM __priv_x AS x JOIN __priv_c AS c ON ', _repeated(len(singles), 'x.d# = c.d#', ' AND '), '))');
-- SQL text of __priv_offered, every tuple with every choice.
CREATE MACRO _offered(singles) AS
concat(', __priv_offered AS (SELECT x.t, [', _repeated(len(singles), 'c.k#', ', '), '] AS depths, CAST(', _repeated(len(singles), 'c.k#', ' + '), ' AS BIGINT) AS utility, ',
    _repeated(len(singles), 'x.u#[c.k# + 1] AS u#, x.g#[c.k# + 1] AS g#', ', '), ', coalesce(f.entries, 0) AS entries, ', _identified('f.entries'), ' AS p',
    ' FROM __priv_x AS x JOIN __priv_c AS c ON ', _repeated(len(singles), 'x.d# = c.d#', ' AND '), ' JOIN __priv_q AS q ON ',
    _for_each(_linked(singles), 'x.p#[c.k# + 1] = q.e#', ' AND '), ' LEFT JOIN __priv_f AS f ON q.q = f.q)');

-- SQL text of what a choice must keep, and of the order of those that do, best first: ties go to the smaller loss, the larger utility, the smaller depths.
CREATE MACRO _kept_choices(goal, c) AS
CASE lower(goal) WHEN 'utility' THEN concat('loss <= CAST(''', _upper_limit(c), ''' AS DOUBLE)') WHEN 'risk' THEN concat('utility >= CAST(''', _lower_limit(c), ''' AS DOUBLE)') ELSE 'true' END;
CREATE MACRO _better(goal, c) AS
CASE lower(goal) WHEN 'utility' THEN 'ROW(-utility, loss, depths)' WHEN 'risk' THEN 'ROW(loss, -utility, depths)'
  WHEN 'both' THEN concat('ROW(loss - CAST(''', CASE WHEN _bar(c) BETWEEN 0 AND 1e300 THEN _bar(c) ELSE error('sqlpriv: c, what utility is worth, must be a number of at least 0') END, ''' AS DOUBLE) * utility, loss, depths)')
  ELSE error('sqlpriv: the goal must be utility, risk or both') END;
