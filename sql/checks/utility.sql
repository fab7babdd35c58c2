-- utility(tbl, qis [, person]) -> rows, classes, average_class_size, discernibility
-- What is left of a generalized table: the average size of a class, and the discernibility penalty, the sum of the
-- squared class sizes (Bayardo and Agrawal 2005). Smaller is more useful for both.
-- nulls: NULL is a value of its own.
-- guarantee: none; utility is the other side of the scales.
-- example: FROM priv.utility('patients', ['zip', 'age'])
-- expect: [(12, 3, 4.0, 48.0)]
CREATE MACRO utility(tbl, qis, person) AS TABLE
SELECT CAST(sum(size) AS BIGINT) AS rows, count(*) AS classes, _average_class_size(sum(size), count(*), 0) AS average_class_size,
  _discernibility(sum(CAST(size AS DOUBLE) * size), 0, sum(size)) AS discernibility
FROM _sizes(tbl, qis, person) HAVING _unless_empty(true);

-- kl_divergence(tbl, original, qis, id) -> kl
-- How far the generalized table is from the original, as a distribution over the quasi-identifiers. The records are
-- matched by id, and a class is spread evenly over the combinations of original values that its labels stand for
-- (Kifer and Gehrke 2006). In nats; 0 for the original itself.
-- nulls: NULL is a value of its own.
-- guarantee: none. The values a label stands for are those seen in the data; an id that is not unique or has no
-- match is an error.
-- example: FROM priv.kl_divergence('ages_published', 'ages', ['age'], 'id')
-- expect: [(0.0,)]
CREATE MACRO kl_divergence(tbl, original, qis, id) AS TABLE
WITH __priv_new AS (FROM _labels(tbl, qis, id)),
__priv_old AS (FROM _labels(original, qis, id)),
__priv_counts AS (
  SELECT (SELECT count(*) FROM __priv_new) AS records, (SELECT count(*) FROM __priv_old) AS originals,
    (SELECT count(DISTINCT record) FROM __priv_new) AS ids, (SELECT count(DISTINCT record) FROM __priv_old) AS original_ids
),
__priv_pairs AS (
  SELECT n.labels AS labels, o.labels AS leaves FROM __priv_new AS n JOIN __priv_old AS o ON n.record = o.record
),
__priv_cells AS (
  SELECT place, labels[place] AS label, count(DISTINCT leaves[place]) AS leaf_count
  FROM __priv_pairs, (SELECT unnest(range(1, len(_columns(qis)) + 1)) AS place)
  GROUP BY ALL
),
__priv_classes AS (
  SELECT labels, size, exp(sum(ln(leaf_count))) AS volume
  FROM (SELECT labels, size, unnest(range(1, len(labels) + 1)) AS place FROM (SELECT labels, count(*) AS size FROM __priv_pairs GROUP BY labels)) AS c
  JOIN __priv_cells AS l ON c.place = l.place AND c.labels[c.place] IS NOT DISTINCT FROM l.label
  GROUP BY labels, size
),
__priv_tuples AS (SELECT labels, leaves, count(*) AS copies FROM __priv_pairs GROUP BY labels, leaves),
__priv_shares AS (SELECT leaves, sum(copies) AS total FROM __priv_tuples GROUP BY leaves)
SELECT CASE
    WHEN max(records) IS NULL AND NOT EXISTS (FROM __priv_new) THEN error('sqlpriv: the table has no rows: there is nothing to check')
    WHEN max(records) <> max(ids) OR max(originals) <> max(original_ids) THEN error('sqlpriv: the id column is not unique')
    WHEN max(records) IS NULL OR sum(copies) <> max(records) THEN error('sqlpriv: a record of the table has no original with its id')
    ELSE sum(copies / records * ln(total * volume / size))
  END AS kl
FROM __priv_tuples AS t
JOIN __priv_shares AS s ON t.leaves IS NOT DISTINCT FROM s.leaves
JOIN __priv_classes AS c ON t.labels IS NOT DISTINCT FROM c.labels, __priv_counts;

-- The quasi-identifiers of each record as a list of numbers, equal exactly where the values are, with its id. As texts
-- 0.0 and -0.0 would differ.
CREATE MACRO _labels(tbl, qis, id) AS TABLE
FROM query('SELECT [dense_rank() OVER (ORDER BY ' || replace(_fields(_columns(qis)), '", __priv_t."', '"), dense_rank() OVER (ORDER BY __priv_t."')
  || ')] AS labels, CAST(' || _field(_column(id)) || ' AS VARCHAR) AS record' || _from(tbl));

-- loss(tbl, node [, hierarchies]) -> loss
-- How much a table has lost that was generalized to this node (see generalize). It is the mean over all cells of the node's columns of (leaves below the
-- label - 1) / (leaves of the domain - 1), the leaves being the rows of the hierarchy (Iyengar 2002). 0 for the original, 1 for a table of `*`.
-- nulls: NULL that has no row in the hierarchy is one more leaf of its domain.
-- guarantee: none. `*` counts 1 on every level, in a domain of one leaf nothing is lost; other labels have to stand on
-- their level of the hierarchy.
-- example: FROM priv.loss('ages_general', MAP {'age': 2}, MAP {'age': 'age_ranges'})
-- expect: [(0.25,)]
CREATE MACRO loss(tbl, node, hierarchies) AS TABLE
WITH __priv_cells AS (FROM query(_node_cells(tbl, node))),
__priv_leaves AS (FROM query(_leaves_text(node, hierarchies))),
__priv_domains AS (
  SELECT place, max(width) AS width, max(height) AS height, count(DISTINCT coalesce('=' || leaf, '')) AS leaves FROM __priv_leaves GROUP BY place
),
__priv_below AS (SELECT place, label, count(DISTINCT coalesce('=' || leaf, '')) AS leaves FROM __priv_leaves GROUP BY place, label),
__priv_costs AS (
  SELECT c.copies, CASE
      WHEN d.leaves IS NULL THEN error('sqlpriv: a hierarchy has no rows')
      WHEN d.width <= d.height THEN error('sqlpriv: a hierarchy does not have the level of the node')
      WHEN d.leaves + max(CASE WHEN c.label IS NULL AND b.place IS NULL THEN 1 ELSE 0 END) OVER (PARTITION BY c.place) = 1 THEN 0
      WHEN c.label = '*' THEN 1
      WHEN b.place IS NULL AND c.label IS NOT NULL THEN error('sqlpriv: a label of the table is not on its level of the hierarchy')
      ELSE _cell_loss(coalesce(b.leaves, 1), d.leaves + max(CASE WHEN c.label IS NULL AND b.place IS NULL THEN 1 ELSE 0 END) OVER (PARTITION BY c.place))
    END AS cost
  FROM __priv_cells AS c LEFT JOIN __priv_domains AS d ON c.place = d.place
  LEFT JOIN __priv_below AS b ON c.place = b.place AND c.label IS NOT DISTINCT FROM b.label
)
SELECT _unless_empty(_mean_loss(sum(copies * cost), sum(copies), 1)) AS loss FROM __priv_costs;

-- The cells of each column of the node, and the labels of its level with the leaves below them. Columns go by their place.
CREATE MACRO _node_cells(tbl, node) AS
list_aggr(list_transform(map_keys(_node(node)), lambda name, place:
  concat('SELECT ', place, ' AS place, CAST(', _field(name), ' AS VARCHAR) AS label, ', _rows_in(tbl), ' AS copies', _from_counted(tbl), ' GROUP BY 2')), 'string_agg', ' UNION ALL ');
CREATE MACRO _leaves_text(node) AS _leaves_text(node, CAST(MAP {} AS MAP(VARCHAR, VARCHAR)));
CREATE MACRO _leaves_text(node, hierarchies) AS
list_aggr(list_transform(map_entries(_node(node)), lambda entry, place: concat('SELECT ', place, ' AS place, ', entry['value'], ' AS height,',
  ' len(labels) AS width, labels[1] AS leaf, labels[', entry['value'], ' + 1] AS label FROM ',
  _labels_of(_hierarchy_name(_hierarchies(hierarchies), entry['key'])))), 'string_agg', ' UNION ALL ');

-- What a table costs, from its sums; the lattice search (sqlpriv/methods/generalized/generalize/objectives.py) asks for these, too. There some
-- rows may be suppressed: they are one class more that may be anything, and each is as if it were in a class of the whole table.
CREATE MACRO _average_class_size(rows, classes, suppressed) AS (rows / (classes + CASE WHEN suppressed > 0 THEN 1 ELSE 0 END));
CREATE MACRO _discernibility(squares, suppressed, rows) AS (squares + suppressed * rows);
CREATE MACRO _mean_loss(losses, rows, attributes) AS (losses / (rows * attributes));
CREATE MACRO _cell_loss(leaves, domain) AS ((leaves - 1) / (domain - 1));
-- Precision (Sweeney 2002) as a cost: what each cell has climbed of its hierarchy, a suppressed row all of it. First the part of one
-- attribute on a level, then that of a node whose attributes add up to `climbed`.
CREATE MACRO _climbed(level, height, attributes) AS (level / height / attributes);
CREATE MACRO _imprecision(climbed, suppressed, rows) AS (climbed * (1 - suppressed / rows) + suppressed / rows);
-- kl_divergence in another order, since the search knows sums over classes: of c ln(c) over the different tuples, of size ln(size) over
-- the classes, and of ln(volume) over the rows.
CREATE MACRO _kl_of_sums(tuple_logs, size_logs, volume_logs, suppressed, rows) AS
((tuple_logs - size_logs - CASE WHEN suppressed > 0 THEN suppressed * ln(suppressed) ELSE 0 END + volume_logs) / rows);
