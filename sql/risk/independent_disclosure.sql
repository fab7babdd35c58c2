-- independent_disclosure(tbl, dictionary, weights, k) -> record, labels, entries, loss
-- Which k cells of each record to disclose, and which to suppress, if attributes were independent of each other (section 4.2 of Lebanon et al. 2009). Then the consistent entries are a product over the
-- attributes, and with the multiplicative form of sensitivity so is the loss. Each cell multiplies it by e to its weight, over the share of entries that fit it. Attributes that depend on each other are a
-- cluster: {attribute: 'city', entry: 'city', cluster: 'place'}. The entries that fit the cells of one cluster are counted together, and the product is over the clusters. The other arguments are those of optimal_disclosure.
-- nulls: a NULL or `*` cell can only be `*`, suppressed.
-- guarantee: the best k cells, if clusters are independent of each other: entries and loss are what they would be then, which dictionaries seldom keep. With all attributes in one cluster both are
-- exact. A record with fewer than k cells is an error, and so is a set of attributes of several clusters.
-- example: SELECT labels, entries, round(loss, 4) FROM priv.independent_disclosure('members', 'phone_book', [{attribute: 'city', weight: 0.5, hierarchy: 'cities', entry: 'city'}, {attribute: 'born', weight: 3, hierarchy: 'births', entry: 'born'}], 1)
-- expect: [(['Ithaca', '*'], 4.0, 0.4122), (['Ithaca', '*'], 4.0, 0.4122), (['New York', '*'], 5.0, 0.2568), (['Boston', '*'], 1.0, 1.6487)]
CREATE MACRO independent_disclosure(tbl, dictionary, weights, k) AS TABLE
FROM query(list_transform([_weights(weights, list_concat(_weight_keys(), ['entry', 'cluster']))], lambda __priv_all: list_transform([_disclosable(_singles(__priv_all))], lambda __priv_own:
  list_transform([_clusters(__priv_all, __priv_own)], lambda __priv_clusters: concat(
  _both(tbl, [dictionary], __priv_own, 'row_number() OVER () AS __priv_n, __priv_t AS __priv_record, '),
  _nodes(__priv_own, 'SELECT __priv_v# AS node FROM __priv_r UNION SELECT __priv_v# FROM __priv_e', 'the hierarchy of attribute #'),
  list_aggr(list_transform(__priv_own, lambda __priv_m, __priv_j: _prices(__priv_m, __priv_j)), 'string_agg', ''),
  _entries_placed(len(__priv_own), 'the hierarchy of attribute #'), _told_within(len(__priv_own), __priv_clusters), _counted(__priv_own),
  _best_within(_summed('multiplicative', __priv_all, __priv_own, _factors(__priv_all)), len(__priv_own), __priv_clusters), _best_of_all(__priv_clusters, _whole(k, 0, 'sqlpriv: k, how many cells to tell, must be a whole number of at least 0')),
  ' SELECT r.__priv_record AS record, [', list_aggr(list_transform(range(1, len(__priv_own) + 1), lambda __priv_j:
    _at_place(concat('CASE WHEN b.best.told & ', _bit(__priv_j, len(__priv_own)), ' > 0 THEN r.__priv_v# ELSE ''*'' END'), __priv_j)), 'string_agg', ', '), '] AS labels,',
  ' everybody * b.best.share AS entries, CASE WHEN b.t IS NULL THEN error(''sqlpriv: there is a record with fewer than k cells; ask for less'') ELSE b.best.factor / everybody END AS loss',
  ' FROM __priv_sound AS s JOIN __priv_r AS r ON s.ok JOIN __priv_x AS x ON ', _repeated(len(__priv_own), 'r.__priv_v# IS NOT DISTINCT FROM x.v#', ' AND '),
  ' LEFT JOIN __priv_best AS b ON x.t = b.t CROSS JOIN __priv_many ORDER BY r.__priv_n'))[1])[1])[1]);

-- The clusters as sets of places, each a number whose bits are the places, the first one highest; an attribute without a cluster is one of its own.
CREATE MACRO _bit(place, number) AS CAST(pow(2, number - place) AS BIGINT);
CREATE MACRO _clusters(maps, singles) AS
list_transform([list_distinct(list_transform(singles, lambda __priv_s: _cluster(maps, singles, __priv_s)))], lambda __priv_found: CASE
  WHEN list_bool_or(list_transform(maps, lambda __priv_m: __priv_m['sets'] IS NOT NULL OR __priv_m['also'] IS NOT NULL AND NOT list_bool_or(list_transform(__priv_found, lambda __priv_c:
      list_bool_and(list_transform(_set_of(__priv_m), lambda __priv_a: __priv_c & _bit(_place_of(singles, __priv_a), len(singles)) > 0))))))
    THEN error('sqlpriv: pairs of attributes are not independent; leave them out, or put their attributes into one cluster') ELSE list_sort(__priv_found) END)[1];
CREATE MACRO _cluster(maps, singles, single) AS
CAST(list_sum(list_transform(singles, lambda __priv_o, __priv_j: CASE WHEN coalesce(_cluster_name(maps, __priv_o) = _cluster_name(maps, single), false) OR __priv_o['record'] = single['record']
  THEN _bit(__priv_j, len(singles)) ELSE 0 END)) AS BIGINT);
CREATE MACRO _cluster_name(maps, single) AS list_filter(maps, lambda __priv_m: __priv_m['also'] IS NULL AND __priv_m['attribute'] = single['record'])[1]['cluster'];

-- SQL text of __priv_x, the distinct tuples of cells (t); __priv_told, all that could be disclosed of each within one cluster; __priv_q, the distinct tuples of it, with what _counted and the terms of sensitivity read.
CREATE MACRO _told_within(number, clusters) AS
concat(', __priv_many AS MATERIALIZED (SELECT CAST(sum(copies) AS DOUBLE) AS everybody FROM __priv_d)',
  ', __priv_x AS MATERIALIZED (SELECT row_number() OVER () AS t, * FROM (', _placed(number, _repeated(number, 't.v#', ', '),
    concat('(SELECT DISTINCT ', _repeated(number, '__priv_v# AS v#', ', '), ' FROM __priv_r)'), 'the hierarchy of attribute #', 'table'), '))',
  ', __priv_told AS MATERIALIZED (SELECT t, told, cluster, ', list_aggr(list_transform(range(1, number + 1), lambda __priv_j:
      _at_place(concat('CASE WHEN told & ', _bit(__priv_j, number), ' > 0 THEN v# END AS v#'), __priv_j)), 'string_agg', ', '),
    ' FROM __priv_x, (SELECT told, cluster FROM range(1, ', _bit(0, number), ') AS r(told), (SELECT unnest([', list_aggr(clusters, 'string_agg', ', '), ']) AS cluster) WHERE told & cluster = told) WHERE ',
    list_aggr(list_transform(range(1, number + 1), lambda __priv_j: _at_place(concat('(told & ', _bit(__priv_j, number), ' = 0 OR d# > 0)'), __priv_j)), 'string_agg', ' AND '), ')',
  ', __priv_q AS MATERIALIZED (SELECT t.*, ', _repeated(number, 'CASE WHEN t.d# = 0 THEN 0 ELSE w#.price END AS u#, CASE WHEN t.d# = 0 THEN 0 ELSE 1 / w#.leaves END AS g#', ', '), ' FROM (',
    _placed(number, concat('row_number() OVER () AS q, ', _repeated(number, 'v#', ', ')), concat('(SELECT DISTINCT ', _repeated(number, 'v#', ', '), ' FROM __priv_told)'), 'the hierarchy of attribute #', 'table'), ') AS t',
    _repeated(number, ' LEFT JOIN __priv_w# AS w# ON t.v# = w#.node', ''), ')');
-- SQL text of __priv_within: of each tuple, cluster and number of cells the smallest factor by which disclosing so many multiplies the loss, what is disclosed, and the share of entries that fit it. Cells that no entry fits find nobody.
CREATE MACRO _best_within(sensitivity_text, number, clusters) AS
concat(', __priv_within AS MATERIALIZED (SELECT t.t, t.cluster, bit_count(t.told) AS cells, arg_min({''told'': t.told, ''share'': f.share, ''factor'': f.factor}, ROW(f.factor, -t.told)) AS best FROM __priv_told AS t JOIN (SELECT q.*, coalesce(f.entries, 0) / everybody AS share,',
  ' CASE WHEN f.entries IS NULL THEN CAST(0 AS DOUBLE) ELSE ', sensitivity_text, ' * everybody / f.entries END AS factor FROM __priv_q AS q LEFT JOIN __priv_f AS f ON q.q = f.q CROSS JOIN __priv_many) AS f ON ',
  _repeated(number, 't.v# IS NOT DISTINCT FROM f.v#', ' AND '), ' GROUP BY ALL UNION ALL SELECT t, cluster, 0, {''told'': 0, ''share'': 1, ''factor'': 1} FROM __priv_x, (SELECT unnest([', list_aggr(clusters, 'string_agg', ', '), ']) AS cluster))');
-- SQL text of __priv_best: of each tuple the k cells of the smallest product over all clusters.
CREATE MACRO _best_of_all(clusters, k) AS
concat(', __priv_best AS (SELECT t, arg_min({''told'': told, ''share'': share, ''factor'': factor}, ROW(factor, -told)) AS best FROM (SELECT x.t, ', _repeated(len(clusters), 'b#.best.told', ' + '), ' AS told, ', _repeated(len(clusters), 'b#.best.share', ' * '), ' AS share,',
  ' CASE WHEN least(', _repeated(len(clusters), 'b#.best.factor', ', '), ') = 0 THEN CAST(0 AS DOUBLE) ELSE ', _repeated(len(clusters), 'b#.best.factor', ' * '), ' END AS factor FROM __priv_x AS x',
  list_aggr(list_transform(clusters, lambda __priv_c, __priv_j: _at_place(concat(' JOIN __priv_within AS b# ON b#.t = x.t AND b#.cluster = ', __priv_c), __priv_j)), 'string_agg', ''),
  ' WHERE ', _repeated(len(clusters), 'b#.cells', ' + '), ' = ', k, ') GROUP BY t)');
