-- guarding_nodes(nodes, hierarchy, beliefs) -> id, name, value, at_most
-- The predicates of people who each name a node of the hierarchy of the sensitive column (the guarding nodes of Xiao and Tao 2006), for the checks
-- epsilon_class1 to epsilon_class4. nodes has the columns id, node, a label of the hierarchy on any level, and at_most, the epsilon that the person allows.
-- The hierarchy is a table as in t_closeness_hierarchical. beliefs, with a column value, has the values that the adversary knows: a prior, a shape, or what
-- uniform_shape says of the table.
-- nulls: NULL is below the top label, and below others where the hierarchy has a row for it. An id, a node or a bound that is NULL is an error.
-- guarantee: none by itself. A node stands for all values of the beliefs that have its label above them on some level, or are that label. The top makes no predicate: that somebody
-- has some value is known. A node that the hierarchy does not have is an error, since it may be misspelt, and so is a value of the beliefs that it does not have.
-- example: FROM priv.guarding_nodes('wishes', 'diseases', 'metropolis')
-- expect: [('Ann', 'chronic', 'Cancer', 2.0)]
CREATE MACRO guarding_nodes(nodes, hierarchy, beliefs) AS TABLE
WITH __priv_nodes AS MATERIALIZED (
  SELECT CAST(__priv_t.id AS VARCHAR) AS id, CAST(__priv_t.node AS VARCHAR) AS name, _bound(__priv_t.at_most) AS at_most FROM query_table(_table(nodes)) AS __priv_t
),
__priv_paths AS MATERIALIZED (FROM _paths(hierarchy)),
__priv_values AS (SELECT DISTINCT CAST(__priv_t.value AS VARCHAR) AS value FROM query_table(_table(beliefs)) AS __priv_t),
__priv_top AS (SELECT any_value(labels[-1]) AS top FROM __priv_paths),
__priv_below AS MATERIALIZED (
  SELECT v.value, CASE
      WHEN p.labels IS NOT NULL THEN p.labels
      WHEN v.value IS NULL THEN [t.top]
      ELSE error('sqlpriv: the hierarchy does not cover every sensitive value')
    END AS labels
  FROM __priv_values AS v LEFT JOIN __priv_paths AS p ON v.value IS NOT DISTINCT FROM p.labels[1], __priv_top AS t
),
__priv_labels AS (SELECT DISTINCT unnest(labels) AS label FROM __priv_paths),
__priv_faults AS (
  SELECT count(*) FILTER (id IS NULL OR name IS NULL) AS gaps, count(*) FILTER (name NOT IN (SELECT label FROM __priv_labels WHERE label IS NOT NULL)) AS unknown FROM __priv_nodes
)
SELECT n.id, n.name, b.value, n.at_most
FROM __priv_nodes AS n JOIN __priv_below AS b ON list_contains(b.labels, n.name) JOIN __priv_top AS t ON n.name <> t.top
UNION ALL
SELECT NULL, NULL, NULL, NULL FROM __priv_faults WHERE CASE
    WHEN gaps > 0 THEN error('sqlpriv: the id or the node of a guarding node is NULL')
    WHEN unknown > 0 THEN error(concat('sqlpriv: ', unknown, ' guarding nodes are not in the hierarchy; are they misspelt?'))
    ELSE false
  END
ORDER BY ALL;
