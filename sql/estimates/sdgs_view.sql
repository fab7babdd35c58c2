-- sdgs_estimate(view, condition, k, beta [, domain [, node [, hierarchies [, value [, confidence]]]]]) -> estimate, low, high
-- How many rows of the private table meet a condition, estimated from a table that priv.sdgs made with this k and beta, with limits for a confidence of 95%
-- unless another is given. The condition, one SQL expression as text, is about the labels of the table. With a domain, a public table of all tuples that rows
-- could be, and the node and hierarchies that priv.sdgs had, it is about the values below them. Without a node the tuples of the domain are labels. With a
-- value, an expression as text, its sum is estimated; NULL counts.
-- nulls: a tuple for which the condition is NULL is not counted, and a value that is NULL adds nothing. A domain or a node that is NULL is as none.
-- guarantee: a label counts for the share of the tuples below it that meet the condition. low and high are limits of a binomial number at what sampled rows
-- could be at least and at most. A class of the domain that is not shown had up to k - 1 of them. So they hold for a question fixed beforehand at least as
-- often as they say; without a domain nothing bounds a count from above, and a sum not at all. The estimate leaves out the classes not shown.
-- example: FROM priv.sdgs_estimate('sampled_ages', 'age = ''40-59''', 2, 0.5)
-- expect: [(6.0, 3.0, inf)]
CREATE MACRO sdgs_estimate(view, condition, k, beta, domain, node, hierarchies, value, confidence) AS TABLE
SELECT * EXCLUDE (__priv_all) FROM _sampled_estimates(query(_sampled_rows(view, _all_rows(), condition, _summed(value), domain, node, hierarchies)), _at_least_rows(k), _samples_some(beta),
  _counts_rows(value), _is_closed(domain), _shared_quantile(1, confidence), _shared_quantile(2, confidence));

-- sdgs_estimates(view, domain, groups, condition, k, beta [, node [, hierarchies [, value [, confidence]]]]) -> the columns in groups, estimate, low, high
-- As sdgs_estimate, for each group of tuples of the domain that are equal in the columns that the list `groups` names. There is one row for every group that
-- the domain has under the condition, also where nothing of it is shown. Rows come sorted by the groups.
-- nulls: NULL is a group of its own where it is in the domain; otherwise as in sdgs_estimate.
-- guarantee: that of sdgs_estimate for each group by itself.
-- example: FROM priv.sdgs_estimates('sampled_ages', 'age_values', ['age'], 'age > 40', 2, 0.5, MAP {'age': 2}, MAP {'age': 'age_ranges'})
-- expect: [(44, 3.0, 0.0, 15.7877), (58, 3.0, 0.0, 15.7877)]
CREATE MACRO sdgs_estimates(view, domain, groups, condition, k, beta, node, hierarchies, value, confidence) AS TABLE
FROM _sampled_estimates(query(_sampled_rows(view, _group_names(groups), condition, _summed(value), domain, node, hierarchies)), _at_least_rows(k), _samples_some(beta),
  _counts_rows(value), _is_closed(domain), _shared_quantile(1, confidence), _shared_quantile(2, confidence));

-- From the tuples that classes may stand for: bundle, the cells of the groups; inside, whether it meets the condition; added, what it adds; class;
-- copies, the rows shown of the class, NULL for none. What is positive in a sum and what is negative have limits of their own.
CREATE MACRO _sampled_estimates(leaves, least_rows, share, is_count, is_closed, zz, half_zz) AS TABLE
WITH __priv_leaves AS MATERIALIZED (SELECT *, count(*) OVER (PARTITION BY class) AS below, least_rows AS fewest FROM leaves),
__priv_classes AS (
  SELECT bundle, class, any_value(fewest) AS fewest, coalesce(any_value(copies), any_value(fewest) - 1) AS copies, any_value(copies) IS NULL AS absent, any_value(below) AS below, count(*) AS within, sum(added) AS total,
    min(greatest(added, 0)) AS least_above, max(greatest(added, 0)) AS most_above, min(greatest(-added, 0)) AS least_below, max(greatest(-added, 0)) AS most_below
  FROM __priv_leaves WHERE inside GROUP BY bundle, class
),
__priv_sums AS (
  SELECT bundle, CASE WHEN min(copies) FILTER (NOT absent AND copies > 0) < any_value(fewest) THEN error('sqlpriv: a row is in the table fewer than k times; take the k that it was made with')
      ELSE coalesce(sum(copies * total / below) FILTER (NOT absent), 0e0) END AS total,
    coalesce(sum(copies * _class_low(least_above, within, below)) FILTER (NOT absent), 0e0) AS low_above, coalesce(sum(copies * _class_high(most_above, within, below)), 0e0) AS high_above,
    coalesce(sum(copies * _class_low(least_below, within, below)) FILTER (NOT absent), 0e0) AS low_below, coalesce(sum(copies * _class_high(most_below, within, below)), 0e0) AS high_below,
    coalesce(max(most_above), 0e0) AS most_above, coalesce(max(most_below), 0e0) AS most_below
  FROM __priv_classes GROUP BY bundle
),
__priv_limits AS (SELECT *, CASE WHEN most_below > 0 THEN half_zz ELSE zz END AS spread, share AS rate FROM __priv_sums)
SELECT unnest(bundle), total / rate AS estimate,
  CASE WHEN is_count THEN _sampled_low(low_above, rate, spread)
    WHEN is_closed THEN _sampled_sum_low(low_above, most_above, rate, spread) - CASE WHEN most_below > 0 THEN _sampled_sum_high(high_below, most_below, rate, spread) ELSE 0 END END AS low,
  CASE WHEN is_count AND NOT is_closed THEN CAST('Infinity' AS DOUBLE) WHEN is_count THEN _sampled_high(high_above, rate, spread)
    WHEN is_closed THEN _sampled_sum_high(high_above, most_above, rate, spread) - CASE WHEN most_below > 0 THEN _sampled_sum_low(low_below, most_below, rate, spread) ELSE 0 END END AS high
FROM __priv_limits
ORDER BY ALL;

-- SQL text of these tuples. Without a domain every row of the view stands for itself; with one each of its tuples is below the labels that it gets. A
-- question without groups has one row more, which adds nothing, so that it always has an answer. Marks as in view_estimates.sql.
CREATE MACRO _sampled_rows(view, names, condition, summed) AS replace(_shown_alone(view), '<__priv_cells>', _leaf_cells(names, condition, summed));
CREATE MACRO _sampled_rows(view, names, condition, summed, domain) AS
replace(CASE WHEN typeof(domain) = '"NULL"' THEN _shown_alone(view) ELSE _sampled_leaves(view, names, _labels_alone(domain)) END, '<__priv_cells>', _leaf_cells(names, condition, summed));
CREATE MACRO _sampled_rows(view, names, condition, summed, domain, node) AS _sampled_rows(view, names, condition, summed, domain, node, CAST(MAP {} AS MAP(VARCHAR, VARCHAR)));
CREATE MACRO _sampled_rows(view, names, condition, summed, domain, node, hierarchies) AS
replace(CASE WHEN typeof(domain) = '"NULL"' THEN _shown_alone(view)
  ELSE _sampled_leaves(view, names, CASE WHEN typeof(node) = '"NULL"' THEN _labels_alone(domain) ELSE _generalize_beside('<__priv_cells>', domain, node, hierarchies) END) END,
  '<__priv_cells>', _leaf_cells(names, condition, summed));
CREATE MACRO _leaf_cells(names, condition, summed) AS
concat('struct_pack(', list_transform([names], lambda listed: CASE WHEN len(listed) = 0 THEN '__priv_all := 1' ELSE _fields(listed) END)[1], ') AS __priv_bundle, coalesce(', _true_text(condition),
  ', false) AS __priv_inside, ', summed, ' AS __priv_added, ');
CREATE MACRO _labels_alone(domain) AS concat('SELECT <__priv_cells>__priv_t.*', _from(domain));
CREATE MACRO _shown_alone(view) AS
concat('SELECT bundle, inside, added, class, count(*) AS copies FROM (SELECT __priv_bundle AS bundle, __priv_inside AS inside, __priv_added AS added,',
  ' list_value(*COLUMNS(* EXCLUDE (__priv_bundle, __priv_inside, __priv_added))) AS class FROM (SELECT <__priv_cells>encode(coalesce(''='' || CAST(COLUMNS(*) AS VARCHAR), ''''))', _from(view),
  ')) GROUP BY ALL UNION ALL ', _nothing_added());
CREATE MACRO _sampled_leaves(view, names, leaves) AS
replace(replace(concat('WITH __priv_l AS (SELECT __priv_bundle, __priv_inside, __priv_added, encode(coalesce(''='' || CAST(COLUMNS(* EXCLUDE (__priv_bundle, __priv_inside, __priv_added)) AS VARCHAR), ''''))',
  ' FROM (<__priv_leaves>)), __priv_v AS (SELECT *, count(*) AS __priv_copies FROM (', _row_texts('<__priv_view>'), ') GROUP BY ALL), __priv_sound AS (SELECT CASE',
  ' WHEN (SELECT count(*) FROM __priv_l) = 0 THEN error(''sqlpriv: the domain has no rows'')',
  ' WHEN (SELECT count(*) FROM (DESCRIBE FROM __priv_v) WHERE column_name <> ''__priv_copies'' AND lower(column_name) NOT IN (SELECT lower(column_name) FROM (DESCRIBE FROM __priv_l))) > 0',
  ' THEN error(''sqlpriv: the view has columns that the domain does not have'')',
  ' WHEN (SELECT count(*) FROM __priv_v NATURAL ANTI JOIN __priv_l) > 0',
  ' THEN error(concat(''sqlpriv: '', (SELECT count(*) FROM __priv_v NATURAL ANTI JOIN __priv_l), '' tuples of the view are not in the domain; take the node and hierarchies that it was made with, and a domain of all tuples'')) ELSE true END AS ok)',
  ' SELECT __priv_bundle AS bundle, __priv_inside AS inside, __priv_added AS added, list_value(*COLUMNS(* EXCLUDE (__priv_bundle, __priv_inside, __priv_added, __priv_copies))) AS class,',
  ' __priv_copies AS copies FROM __priv_l NATURAL LEFT JOIN __priv_v WHERE (SELECT ok FROM __priv_sound)'),
  '<__priv_view>', _from(view)), '<__priv_leaves>', leaves) || list_transform([names], lambda listed: CASE WHEN len(listed) = 0 THEN concat(' UNION ALL ', _nothing_added()) ELSE '' END)[1];
CREATE MACRO _nothing_added() AS 'SELECT struct_pack(__priv_all := 1), true, 0e0, CAST([] AS BLOB[]), 0';
CREATE MACRO _is_closed() AS false;
CREATE MACRO _is_closed(domain) AS (typeof(domain) <> '"NULL"');
CREATE MACRO _counts_rows() AS true;
CREATE MACRO _counts_rows(value) AS (typeof(value) = '"NULL"');
