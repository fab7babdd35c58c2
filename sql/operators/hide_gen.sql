-- hide(tbl, attribute, condition) -> the columns of tbl
-- The table with the cells of one column hidden, that is NULL, wherever the condition is not true: Definition 6 of the
-- decision-theoretic framework (Lebanon et al. 2009). The condition is one SQL expression over the columns of the table,
-- given as text, and says who needs no protection. Rows and columns stay as they are.
-- nulls: a condition that is NULL hides the cell.
-- guarantee: a cell is shown only where the condition is true. Hiding twice on one column is hiding by both conditions,
-- and the order of hiding does not matter, unless a condition reads a column that another one has hidden. For a chain
-- of operators in views use hide_text and gen_text: DuckDB 2.0 does not run a table macro over a view made with the same macro.
-- example: FROM priv.hide('ages', 'age', 'id <> 3 AND age < 50') ORDER BY id
-- expect: [(1, 31), (2, 31), (3, None), (4, None)]
CREATE MACRO hide(tbl, attribute, condition) AS TABLE FROM query(_hide_text(tbl, attribute, condition));

-- hide_text(tbl, attribute, condition)
-- The SQL that priv.hide runs, as text, for views over views: CREATE VIEW v AS FROM query(priv.hide_text('t', 'age', 'age < 50')). DuckDB 2.0 does not run
-- a table macro over a view made with the same macro, but it runs query() over a view made with query().
-- nulls: as in priv.hide.
-- guarantee: that of priv.hide. The text reads tbl by its name: views of it are for the owner, as those of priv.hide are.
-- example: FROM query(priv.hide_text('ages', 'age', 'id <> 3 AND age < 50')) ORDER BY id
-- expect: [(1, 31), (2, 31), (3, None), (4, None)]
CREATE MACRO hide_text(tbl, attribute, condition) AS _hide_text(tbl, attribute, condition);
CREATE MACRO _hide_text(tbl, attribute, condition) AS
concat('SELECT __priv_t.* REPLACE (CASE WHEN ', _holds(_condition(condition)), ' THEN ', _field(_column(attribute)), ' END AS ', _quoted(attribute), ')', _from(tbl));

-- gen(tbl, id, attribute, generalized [, condition]) -> the columns of tbl
-- The table with cells of one column replaced by more general labels (Definition 7, Lebanon et al. 2009): generalized is a
-- table with a column called like the id and one called like the attribute, and a row whose id it holds gets the label it
-- holds. Other rows keep their cells, and so do rows for which the condition, one SQL expression as text, is true. The
-- column becomes text, as labels are.
-- nulls: a NULL label hides the cell; an id that is NULL matches nothing; a condition that is NULL keeps nothing.
-- guarantee: rows neither come nor go. An id that generalized holds twice is an error. Ids are compared as text.
-- example: FROM priv.gen('ages', 'id', 'age', 'age_labels') ORDER BY id
-- expect: [(1, '31'), (2, '31'), (3, '40-49'), (4, None)]
CREATE MACRO gen(tbl, id, attribute, generalized, condition) AS TABLE
FROM query(_gen_text(tbl, id, attribute, generalized, _exempt(condition)));

-- gen_text(tbl, id, attribute, generalized [, condition])
-- The SQL that priv.gen runs, as text, for views over views, as hide_text.
-- nulls: as in priv.gen.
-- guarantee: that of priv.gen.
-- example: FROM query(priv.gen_text('ages', 'id', 'age', 'age_labels')) ORDER BY id
-- expect: [(1, '31'), (2, '31'), (3, '40-49'), (4, None)]
CREATE MACRO gen_text(tbl, id, attribute, generalized, condition) AS _gen_text(tbl, id, attribute, generalized, _exempt(condition));

-- generalize(tbl, node [, hierarchies]) -> the columns of tbl
-- Full-domain generalization: the node, a map such as MAP {'age': 2, 'zip': 1}, says how many levels each column goes up
-- in its hierarchy. The hierarchy of a column x is the table hierarchy_x, or what a map from columns to tables says: the
-- value in its first column, its labels in the next ones (see hierarchy_ranges). On level 0 a column stays as it is.
-- nulls: NULL stays NULL below the top and becomes the top label there, unless the hierarchy has a row for NULL.
-- guarantee: equal cells get equal labels. Rows neither come nor go. A value that the hierarchy misses is an error, and so
-- is a level that it does not have.
-- example: FROM priv.generalize('ages', MAP {'age': 1}, MAP {'age': 'age_ranges'}) ORDER BY id
-- expect: [(1, '30-39'), (2, '30-39'), (3, '40-49'), (4, '50-59')]
CREATE MACRO generalize(tbl, node, hierarchies) AS TABLE
FROM query(_generalize_text(tbl, node, hierarchies));

-- generalize_text(tbl, node [, hierarchies])
-- The SQL that priv.generalize runs, as text, for views over views, as hide_text.
-- nulls: as in priv.generalize.
-- guarantee: that of priv.generalize.
-- example: FROM query(priv.generalize_text('ages', MAP {'age': 1}, MAP {'age': 'age_ranges'})) ORDER BY id
-- expect: [(1, '30-39'), (2, '30-39'), (3, '40-49'), (4, '50-59')]
CREATE MACRO generalize_text(tbl, node, hierarchies) AS _generalize_text(tbl, node, hierarchies);

-- The ids are counted in all of generalized, also where none matches. It is read in a WITH, because in the join DuckDB
-- would look for a column that it lacks in the table to its left.
CREATE MACRO _gen_text(tbl, id, attribute, generalized, exempt) AS
concat('WITH __priv_g AS (SELECT CASE WHEN max(count(*)) OVER () > 1 THEN error(''sqlpriv: an id has two rows in the table of generalized values'')',
  ' ELSE CAST(', _field(_column(id)), ' AS VARCHAR) END AS __priv_id, first(CAST(', _field(_column(attribute)), ' AS VARCHAR)) AS __priv_label',
  _from(generalized), ' WHERE ', _field(id), ' IS NOT NULL GROUP BY CAST(', _field(id), ' AS VARCHAR))',
  ' SELECT __priv_t.* REPLACE (CASE WHEN __priv_g.__priv_id IS NULL', exempt, ' THEN CAST(', _field(attribute),
  ' AS VARCHAR) ELSE __priv_g.__priv_label END AS ', _quoted(attribute), ')', _from(tbl),
  ' LEFT JOIN __priv_g ON CAST(', _field(id), ' AS VARCHAR) = __priv_g.__priv_id');
CREATE MACRO _exempt() AS '';
CREATE MACRO _exempt(condition) AS concat(' OR ', _holds(_condition(condition)));

-- As a subquery in a WHERE, because there DuckDB accepts neither unnest, which would multiply the rows, nor a window
-- function, which would see one row only. TRY_CAST, because a failing cast would show the cell in its message.
CREATE MACRO _holds(condition) AS
concat('(SELECT true WHERE CASE WHEN typeof((', condition, ')) IN (''BOOLEAN'', ''"NULL"'') THEN TRY_CAST((', condition,
  ') AS BOOLEAN) ELSE error(''sqlpriv: the condition must be true or false'') END)');

CREATE MACRO _condition(condition) AS
CASE
  WHEN typeof(condition) <> 'VARCHAR' THEN error('sqlpriv: the condition must be given as text, as in ''age < 50''')
  ELSE _one_expression(condition, 'condition')
END;
-- A text that is one expression, or at least cannot leave the parentheses it is put in. Where our reading of quotes and
-- DuckDB's differ, the cause is a comment, a dollar quote or an escape string, and these are refused.
CREATE MACRO _one_expression(expression, what) AS
CASE
  WHEN regexp_matches(CAST(expression AS VARCHAR), '[^\x{20}-\x{10FFFF}\t\n\r]') THEN error(concat('sqlpriv: the ', what, ' holds a control character'))
  WHEN trim(_unquoted(expression), ' ' || chr(9) || chr(10) || chr(13)) = '' THEN error(concat('sqlpriv: the ', what, ' is empty'))
  WHEN regexp_matches(_unquoted(expression), '[''";$]|--|/[*]|[*]/|[A-Za-z0-9_&]\x{1E}')
    THEN error(concat('sqlpriv: the ', what, ' must be one expression: no semicolon, comment, dollar sign or open quote, and a space before quotes'))
  WHEN list_min(_depths(_parentheses(expression))) < 0 OR coalesce(_depths(_parentheses(expression))[-1], 0) <> 0
    THEN error(concat('sqlpriv: the parentheses of the ', what, ' do not match'))
  ELSE CAST(expression AS VARCHAR)
END;
-- Quoted texts and names become a mark.
CREATE MACRO _unquoted(condition) AS
regexp_replace(CAST(condition AS VARCHAR), '''([^'']|'''')*''|"([^"]|"")*"', chr(30), 'g');
CREATE MACRO _parentheses(condition) AS regexp_replace(_unquoted(condition), '[^()]', '', 'g');
CREATE MACRO _depths(parentheses) AS
list_transform(range(1, length(parentheses) + 1), lambda place: place - 2 * length(replace(left(parentheses, place), '(', '')));

CREATE MACRO _quoted(name) AS concat('"', replace(CAST(name AS VARCHAR), '"', '""'), '"');

-- The text of a generalization: on each level above 0 a join with the labels, and one with the height of the hierarchy
-- and its top, for NULL.
CREATE MACRO _generalize_text(tbl, node) AS _generalize_text(tbl, node, CAST(MAP {} AS MAP(VARCHAR, VARCHAR)));
CREATE MACRO _generalize_text(tbl, node, hierarchies) AS _generalize_beside('', tbl, node, hierarchies);
-- The same with expressions before the columns of the table.
CREATE MACRO _generalize_beside(beside, tbl, node, hierarchies) AS
concat('SELECT ', beside, '__priv_t.* REPLACE (',
  list_aggr(list_transform(map_entries(_node(node)), lambda entry, place: concat(
    CASE WHEN entry['value'] = 0 THEN _field(entry['key']) ELSE _label_text(entry['key'], place, entry['value']) END, ' AS ', _quoted(entry['key']))), 'string_agg', ', '),
  ')', _from(tbl),
  list_aggr(list_transform(map_entries(_node(node)), lambda entry, place:
    CASE WHEN entry['value'] > 0 THEN _label_join(entry['key'], place, entry['value'], _labels_of(_hierarchy_name(_hierarchies(hierarchies), entry['key']))) END),
    'string_agg', ''));
CREATE MACRO _label_text(name, place, height) AS
concat('CASE WHEN __priv_s', place, '.__priv_width IS NULL THEN error(''sqlpriv: the hierarchy of ', _in_text(name), ' has no rows'')',
  ' WHEN __priv_s', place, '.__priv_width <= ', height, ' THEN error(concat(''sqlpriv: there is no level ', height, ' in the hierarchy of ', _in_text(name),
  ', its top is level '', __priv_s', place, '.__priv_width - 1))',
  ' WHEN __priv_h', place, '.__priv_kinds > 1 THEN error(''sqlpriv: a value stands twice in the hierarchy of ', _in_text(name), ', with different labels'')',
  ' WHEN __priv_h', place, '.__priv_kinds = 1 THEN __priv_h', place, '.__priv_label',
  ' WHEN ', _field(name), ' IS NULL THEN CASE WHEN __priv_s', place, '.__priv_width = ', height, ' + 1 THEN __priv_s', place, '.__priv_top END',
  ' ELSE error(''sqlpriv: the hierarchy of ', _in_text(name), ' does not cover every value; hierarchy_faults counts them'') END');
CREATE MACRO _label_join(name, place, height, labels_text) AS
concat(' LEFT JOIN (SELECT labels[1] AS __priv_value, first(labels[', height, ' + 1]) AS __priv_label,',
  ' count(DISTINCT coalesce(''='' || labels[', height, ' + 1], '''')) AS __priv_kinds FROM ', labels_text, ' GROUP BY 1) AS __priv_h', place,
  ' ON CAST(', _field(name), ' AS VARCHAR) IS NOT DISTINCT FROM __priv_h', place, '.__priv_value',
  ' CROSS JOIN (SELECT max(len(labels)) AS __priv_width, min(labels[-1]) AS __priv_top FROM ', labels_text, ') AS __priv_s', place);
CREATE MACRO _in_text(name) AS replace(name, '''', '''''');

-- The node as a map from columns to levels, checked. A struct will do, which is what a program passes for a dictionary.
CREATE MACRO _node(node) AS
CASE
  WHEN NOT regexp_matches(typeof(node), '^(MAP[(]VARCHAR, |STRUCT[(])') OR coalesce(len(_node_names(node)), 0) = 0
    THEN error('sqlpriv: the node must be a map from columns to levels, as in MAP {''age'': 2, ''zip'': 1}')
  WHEN list_bool_or(list_transform(_node_names(node), lambda name: starts_with(name, '__priv_'))) THEN error('sqlpriv: names that start with __priv_ are reserved')
  WHEN len(list_distinct(_node_names(node))) < len(_node_names(node)) THEN error('sqlpriv: a column is named twice in the node')
  WHEN list_bool_and(list_transform(map_values(TRY_CAST(node AS MAP(VARCHAR, DOUBLE))), lambda height:
      coalesce(height BETWEEN 0 AND 100 AND height = floor(height), false))) IS DISTINCT FROM true
    THEN error('sqlpriv: every level of the node must be a whole number from 0 to 100')
  ELSE TRY_CAST(node AS MAP(VARCHAR, BIGINT))
END;
CREATE MACRO _node_names(node) AS list_transform(map_keys(TRY_CAST(node AS MAP(VARCHAR, VARCHAR))), lambda name: lower(name));

-- The names of hierarchies by column, checked, and the name for one column.
CREATE MACRO _hierarchies(hierarchies) AS
CASE
  WHEN regexp_matches(typeof(hierarchies), '^(MAP[(](VARCHAR, VARCHAR|"NULL", "NULL")[)]$|STRUCT[(])')
      AND len(list_filter(map_values(TRY_CAST(hierarchies AS MAP(VARCHAR, VARCHAR))), lambda name: name IS NULL)) = 0
    THEN TRY_CAST(hierarchies AS MAP(VARCHAR, VARCHAR))
  ELSE error('sqlpriv: the hierarchies must be a map from columns to tables, as in MAP {''age'': ''age_ranges''}')
END;
CREATE MACRO _hierarchy_name(hierarchies, name) AS
coalesce(map_values(hierarchies)[list_position(list_transform(map_keys(hierarchies), lambda own: lower(own)), lower(name))], _quoted(concat('hierarchy_', name)));
