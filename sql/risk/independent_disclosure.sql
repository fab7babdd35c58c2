-- independent_disclosure(tbl, dictionary, weights, k) -> record, labels, entries, loss
-- Which k cells of each record to tell, and which to suppress, if attributes were independent of each other (section 4.2 of Lebanon et al. 2009). Then the consistent entries are a product over the
-- attributes, and the best choice needs no search: with the multiplicative form of sensitivity it is the k cells whose factors, e to the weight times the share of entries that they leave
-- turned upside down, are smallest. The arguments are those of optimal_disclosure.
-- nulls: a NULL or `*` cell can only be `*`, suppressed.
-- guarantee: none: entries and loss are what they would be under independence, which dictionaries seldom keep; optimal_disclosure is exact. A record with fewer than k cells is an error.
-- example: SELECT labels, entries, round(loss, 4) FROM priv.independent_disclosure('members', 'phone_book', [{attribute: 'city', weight: 0.5, hierarchy: 'cities', entry: 'city'}, {attribute: 'born', weight: 3, hierarchy: 'births', entry: 'born'}], 1)
-- expect: [(['Ithaca', '*'], 4.0, 0.4122), (['Ithaca', '*'], 4.0, 0.4122), (['New York', '*'], 5.0, 0.2568), (['Boston', '*'], 1.0, 1.6487)]
CREATE MACRO independent_disclosure(tbl, dictionary, weights, k) AS TABLE
FROM query(list_transform([_weights(weights, list_append(_weight_keys(), 'entry'))], lambda __priv_all: list_transform([_disclosable(_singles(__priv_all))], lambda __priv_own: concat(
  _both(tbl, [dictionary], __priv_own, 'row_number() OVER () AS __priv_n, __priv_t AS __priv_record, '),
  _nodes(__priv_own, 'SELECT __priv_v# AS node FROM __priv_r UNION SELECT __priv_v# FROM __priv_e', 'the hierarchy of attribute #'),
  list_aggr(list_transform(__priv_own, lambda __priv_m, __priv_j: _prices(__priv_m, __priv_j)), 'string_agg', ''),
  _entries_placed(len(__priv_own), 'the hierarchy of attribute #'),
  ', __priv_q AS MATERIALIZED (', _placed(len(__priv_own), _repeated(len(__priv_own), 't.v#', ', '),
    concat('(SELECT DISTINCT ', _repeated(len(__priv_own), '__priv_v# AS v#', ', '), ' FROM __priv_r)'), 'the hierarchy of attribute #', 'table'), ')',
  ', __priv_many AS MATERIALIZED (SELECT CAST(sum(copies) AS DOUBLE) AS everybody FROM __priv_d)', _repeated(len(__priv_own), _fitting_alone(), ''),
  ', __priv_factors AS MATERIALIZED (SELECT ', _repeated(len(__priv_own), 'q.v#', ', '), ', everybody, list_sort(list_filter([',
    list_aggr(list_transform(__priv_all, lambda __priv_m, __priv_j: _at_place(_factor_of(__priv_m), __priv_j)), 'string_agg', ', '),
    '], lambda __priv_f: __priv_f IS NOT NULL))[:', _whole(k, 0, 'sqlpriv: k, how many cells to tell, must be a whole number of at least 0'), '] AS told FROM __priv_q AS q CROSS JOIN __priv_many',
    _repeated(len(__priv_own), ' LEFT JOIN __priv_a# AS a# ON q.v# = a#.v LEFT JOIN __priv_w# AS w# ON q.v# = w#.node', ''), ')',
  ' SELECT r.__priv_record AS record, [', _repeated(len(__priv_own), 'CASE WHEN list_contains(list_transform(f.told, lambda __priv_f: __priv_f[''place'']), #) THEN r.__priv_v# ELSE ''*'' END', ', '), '] AS labels,',
  ' f.everybody * coalesce(list_product(list_transform(f.told, lambda __priv_f: __priv_f[''share''])), 1) AS entries,',
  ' CASE WHEN len(f.told) < ', _whole(k, 0, ''), ' THEN error(''sqlpriv: there is a record with fewer than k cells; ask for less'') WHEN len(f.told) > 0 AND f.told[1][''factor''] = 0 THEN CAST(0 AS DOUBLE)',
  ' ELSE coalesce(list_product(list_transform(f.told, lambda __priv_f: __priv_f[''factor''])), 1) / f.everybody END AS loss',
  ' FROM __priv_sound AS s JOIN __priv_r AS r ON s.ok JOIN __priv_factors AS f ON ', _repeated(len(__priv_own), 'r.__priv_v# IS NOT DISTINCT FROM f.v#', ' AND '), ' ORDER BY r.__priv_n'))[1])[1]);

-- SQL text of __priv_a#: of each cell of attribute #, how many entries are consistent with it alone. Depths are those of the cell (d) and of the entry (e); the two meet in the smaller one.
CREATE MACRO _fitting_alone() AS
concat(', __priv_a# AS MATERIALIZED (SELECT r.v, CAST(sum(e.copies) AS DOUBLE) AS copies FROM (SELECT t.v, t.d, x.e, t.p[least(t.d, x.e) + 1] AS key FROM (SELECT DISTINCT v# AS v, d# AS d, p# AS p FROM __priv_q) AS t',
  ' CROSS JOIN (SELECT DISTINCT d# AS e FROM __priv_d) AS x) AS r JOIN (SELECT x.d, t.d# AS e, t.p#[least(x.d, t.d#) + 1] AS key, sum(t.copies) AS copies FROM __priv_d AS t CROSS JOIN (SELECT DISTINCT d# AS d FROM __priv_q) AS x',
  ' GROUP BY ALL) AS e ON r.d = e.d AND r.e = e.e AND r.key = e.key GROUP BY r.v)');
-- SQL text of the factor of attribute #, by which a loss grows where its cell is told; NULL where there is none to tell. A cell that no entry fits finds nobody.
CREATE MACRO _factor_of(entry) AS
concat('CASE WHEN q.d# > 0 THEN {''factor'': CASE WHEN a#.copies IS NULL THEN CAST(0 AS DOUBLE) ELSE exp(', _product(concat('CAST(''', CASE WHEN entry['also'] IS NULL THEN _weight(coalesce(entry['weight'], '1'))
  ELSE error('sqlpriv: pairs of attributes are not independent; leave them out') END, ''' AS DOUBLE)'), 'w#.price'), ') * everybody / a#.copies END, ''place'': #, ''share'': coalesce(a#.copies, 0) / everybody} END');
