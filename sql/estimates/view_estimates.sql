-- Estimates from randomized views that are plain tables: made by the macros of sql/operators/, or read out of a release. Same weights,
-- same intervals as of a release that is queried (estimate.sql); only the sums are taken here.
-- In all of them `value` is an expression to sum in place of counting rows, NULL for counting, and `confidence` that of the interval.

-- alpha_beta_estimate(view, domain, condition, alpha, beta [, value [, confidence]]) -> estimate, low, high
-- How many rows of the private table meet a condition, estimated from a view that priv.alpha_beta made with these probabilities: an estimate, and the
-- ends of its interval, for 95% unless another confidence is given. The domain is the one that the view was made with. The condition is one
-- SQL expression over its columns, given as text; 'true' asks for all rows. With a value, an expression as text, its sum is estimated; NULL counts.
-- nulls: a row for which the condition is NULL is not counted, and a value that is NULL adds nothing. Coins that are NULL give NULL.
-- guarantee: unbiased over the random noise, of distinct rows, which is what a view shows; the interval covers the true answer in about as many views as
-- it says. A row of the view that is not in the domain, or is there twice, is an error. Estimates of counts may be below 0.
-- example: SELECT estimate, round(low, 4), round(high, 4) FROM priv.alpha_beta_estimate('seen_patients', 'possible_patients', 'disease = ''Flu''', 0.4, 0.1)
-- expect: [(4.5, 0.3911, 12.4504)]
CREATE MACRO alpha_beta_estimate(view, domain, condition, alpha, beta, value, confidence) AS TABLE
FROM _noisy_estimates(query(_view_sums(view, domain, _all_rows(), condition, _summed(value), _plain_weight(), _no_row_twice())), _alpha_beta_weights(alpha, beta), _squared_quantile(confidence));

-- alpha_beta_estimates(view, domain, groups, condition, alpha, beta [, value [, confidence]]) -> the columns in groups, estimate, low, high
-- As alpha_beta_estimate, for each group of rows that are equal in the columns that the list `groups` names. There is one row for every group that the
-- domain has under the condition, also where the view has no row of it. Rows come sorted by the groups.
-- nulls: NULL is a group of its own where it is in the domain; otherwise as in alpha_beta_estimate.
-- guarantee: that of alpha_beta_estimate for each group by itself. Groups are about different rows, so their estimates add up to that of all.
-- example: SELECT zip, round(estimate, 4), round(low, 4), round(high, 4) FROM priv.alpha_beta_estimates('seen_patients', 'possible_patients', ['zip'], 'true', 0.4, 0.1)
-- expect: [('130**', 4.0, -0.3422, 12.1836), ('1485*', 1.5, -1.8331, 8.6745)]
CREATE MACRO alpha_beta_estimates(view, domain, groups, condition, alpha, beta, value, confidence) AS TABLE
FROM _noisy_estimates(query(_view_sums(view, domain, _group_names(groups), condition, _summed(value), _plain_weight(), _no_row_twice())), _alpha_beta_weights(alpha, beta), _squared_quantile(confidence));

-- noisy_counts_estimate(view, domain, condition, p, q [, value [, confidence]]) -> estimate, low, high
-- How many rows of the private table meet a condition, estimated from a view that priv.noisy_counts made with this p and q; the arguments
-- are those of alpha_beta_estimate.
-- nulls: a row for which the condition is NULL is not counted, and a value that is NULL adds nothing. Coins that are NULL give NULL.
-- guarantee: unbiased over the random noise, whatever the counts; the interval covers the true answer in about as many views as it says. A row of the
-- view that is not in the domain is an error. Estimates of counts may be below 0.
-- example: SELECT estimate, round(low, 4), round(high, 4) FROM priv.noisy_counts_estimate('seen_patients', 'possible_patients', 'disease = ''Flu''', 0.5, 0.2)
-- expect: [(3.0, -0.861, 10.7024)]
CREATE MACRO noisy_counts_estimate(view, domain, condition, p, q, value, confidence) AS TABLE
FROM _noisy_estimates(query(_view_sums(view, domain, _all_rows(), condition, _summed(value), _plain_weight(), _any_rows())), _bag_weights(p, q), _squared_quantile(confidence));

-- noisy_counts_estimates(view, domain, groups, condition, p, q [, value [, confidence]]) -> the columns in groups, estimate, low, high
-- As noisy_counts_estimate, for each group of rows that are equal in the columns that the list `groups` names. There is one row for every group that the
-- domain has under the condition, also where the view has no row of it. Rows come sorted by the groups.
-- nulls: NULL is a group of its own where it is in the domain; otherwise as in noisy_counts_estimate.
-- guarantee: that of noisy_counts_estimate for each group by itself. Groups are about different rows, so their estimates add up to that of all.
-- example: SELECT zip, round(estimate, 4) FROM priv.noisy_counts_estimates('seen_patients', 'possible_patients', ['zip'], 'true', 0.5, 0.2)
-- expect: [('130**', 2.0), ('1485*', 0.0)]
CREATE MACRO noisy_counts_estimates(view, domain, groups, condition, p, q, value, confidence) AS TABLE
FROM _noisy_estimates(query(_view_sums(view, domain, _group_names(groups), condition, _summed(value), _plain_weight(), _any_rows())), _bag_weights(p, q), _squared_quantile(confidence));

-- signed_noisy_counts_estimate(view, domain, condition, a [, value [, confidence]]) -> estimate, low, high
-- How many rows of the private table meet a condition, estimated from a view that priv.signed_noisy_counts made with this a, its column
-- __weight among the columns; the other arguments are those of alpha_beta_estimate.
-- nulls: a row for which the condition is NULL is not counted, and a value that is NULL adds nothing. An a that is NULL gives NULL.
-- guarantee: unbiased over the random noise; the interval covers the true answer in about as many views as it says. A row of the view that is not in the
-- domain, or whose __weight is neither 1 nor -1, is an error. Estimates of counts may be below 0.
-- example: SELECT estimate, round(low, 4), round(high, 4) FROM priv.signed_noisy_counts_estimate('signed_patients', 'possible_patients', 'disease = ''Flu''', 0.4)
-- expect: [(2.0, -2.532, 6.532)]
CREATE MACRO signed_noisy_counts_estimate(view, domain, condition, a, value, confidence) AS TABLE
FROM _noisy_estimates(query(_view_sums(view, domain, _all_rows(), condition, _summed(value), _own_weight(), _one_row_each())), _signed_bag_weights(a), _squared_quantile(confidence));

-- signed_noisy_counts_estimates(view, domain, groups, condition, a [, value [, confidence]]) -> the columns in groups, estimate, low, high
-- As signed_noisy_counts_estimate, for each group of rows that are equal in the columns that the list `groups` names. There is one row for every group that
-- the domain has under the condition, also where the view has no row of it. Rows come sorted by the groups.
-- nulls: NULL is a group of its own where it is in the domain; otherwise as in signed_noisy_counts_estimate.
-- guarantee: that of signed_noisy_counts_estimate for each group by itself. Groups are about different rows, so their estimates add up to that of all.
-- example: SELECT zip, estimate FROM priv.signed_noisy_counts_estimates('signed_patients', 'possible_patients', ['zip'], 'true', 0.4)
-- expect: [('130**', 4.0), ('1485*', -1.0)]
CREATE MACRO signed_noisy_counts_estimates(view, domain, groups, condition, a, value, confidence) AS TABLE
FROM _noisy_estimates(query(_view_sums(view, domain, _group_names(groups), condition, _summed(value), _own_weight(), _one_row_each())), _signed_bag_weights(a), _squared_quantile(confidence));

-- frapp_estimate(view, domain, condition, stay [, value [, confidence]]) -> estimate, low, high
-- How many records of the private table meet a condition, estimated from a view that priv.frapp made with this `stay`; the other arguments are
-- those of alpha_beta_estimate. How many records there are the view shows itself.
-- nulls: a row for which the condition is NULL is not counted, and a value that is NULL adds nothing. A `stay` that is NULL gives NULL.
-- guarantee: unbiased over the random noise; the interval covers the true answer in about as many views as it says. A row of the view that is not in the
-- domain is an error. Estimates of counts may be below 0.
-- example: SELECT round(estimate, 4), round(low, 4), round(high, 4) FROM priv.frapp_estimate('seen_patients', 'possible_patients', 'disease = ''Flu''', 0.5)
-- expect: [(3.6667, -0.1108, 10.0051)]
CREATE MACRO frapp_estimate(view, domain, condition, stay, value, confidence) AS TABLE
FROM _record_estimates(query(_view_sums(view, domain, _all_rows(), condition, _summed(value), _plain_weight(), _any_rows())), _counted_coins(stay, view, domain), _squared_quantile(confidence));

-- frapp_estimates(view, domain, groups, condition, stay [, value [, confidence]]) -> the columns in groups, estimate, low, high
-- As frapp_estimate, for each group of records that are equal in the columns that the list `groups` names. There is one row for every group that the domain
-- has under the condition, also where the view has no record of it. Rows come sorted by the groups.
-- nulls: NULL is a group of its own where it is in the domain; otherwise as in frapp_estimate.
-- guarantee: that of frapp_estimate for each group by itself. Groups are not independent, but their estimates add up to that of all.
-- example: SELECT zip, round(estimate, 4) FROM priv.frapp_estimates('seen_patients', 'possible_patients', ['zip'], 'true', 0.5)
-- expect: [('130**', 2.6667), ('1485*', 0.3333)]
CREATE MACRO frapp_estimates(view, domain, groups, condition, stay, value, confidence) AS TABLE
FROM _record_estimates(query(_view_sums(view, domain, _group_names(groups), condition, _summed(value), _plain_weight(), _any_rows())), _counted_coins(stay, view, domain), _squared_quantile(confidence));

-- Estimates with their intervals, where the variance is a sum over rows: values above 0 and those below are bounded apart.
CREATE MACRO _noisy_estimates(sums, weights, quantile) AS TABLE
WITH __priv_moments AS (
  SELECT s.* EXCLUDE (__priv_sums), w.zz AS __priv_zz, _moments(s.__priv_sums, w) AS __priv_m FROM sums AS s, (FROM _both_weights(weights, quantile)) AS w
),
__priv_slopes AS (
  SELECT *, _slope(__priv_m.above3, __priv_m.above2, __priv_m.above2) AS __priv_rise, _slope(__priv_m.below3, __priv_m.below2, __priv_m.below2) AS __priv_fall,
    _jump(__priv_m.above2, __priv_m.counted, __priv_m.largest) AS __priv_jump_above, _jump(__priv_m.below2, __priv_m.counted, __priv_m.largest) AS __priv_jump_below
  FROM __priv_moments
),
__priv_halves AS (
  SELECT *, _score_half(__priv_m.above2, __priv_rise, __priv_jump_above, __priv_zz) AS __priv_half_above, _score_half(__priv_m.below2, __priv_fall, __priv_jump_below, __priv_zz) AS __priv_half_below FROM __priv_slopes
)
SELECT * EXCLUDE (__priv_m, __priv_zz, __priv_rise, __priv_fall, __priv_jump_above, __priv_jump_below, __priv_half_above, __priv_half_below), __priv_m.total AS estimate,
  __priv_m.total - _difference_below(__priv_half_above, __priv_rise, __priv_half_below, __priv_fall, __priv_zz) AS low,
  __priv_m.total + _difference_below(__priv_half_below, __priv_fall, __priv_half_above, __priv_rise, __priv_zz) AS high
FROM __priv_halves
ORDER BY ALL;

-- Likewise for records that move: their counts are not independent, so products of sums are in the variance, and signs are not taken apart.
CREATE MACRO _record_estimates(sums, coins, quantile) AS TABLE
WITH __priv_moments AS (
  SELECT s.* EXCLUDE (__priv_sums), w.zz AS __priv_zz, _moments(s.__priv_sums, w) AS __priv_m, s.__priv_sums.domain1 AS __priv_everywhere, c.cross_estimate AS __priv_cross, c.cross_square AS __priv_square
  FROM sums AS s, (FROM _both_weights(_frapp_weights(coins), quantile)) AS w, (FROM _frapp_cross_terms(coins)) AS c
),
__priv_slopes AS (
  SELECT * EXCLUDE (__priv_cross, __priv_square, __priv_everywhere),
    __priv_m.above2 + __priv_m.below2 + __priv_cross * __priv_everywhere * __priv_m.total + __priv_square * __priv_everywhere * __priv_everywhere AS __priv_spread,
    _slope(__priv_m.above3 - __priv_m.below3, __priv_m.above2 + __priv_m.below2, __priv_m.above2 + __priv_m.below2) + __priv_cross * __priv_everywhere AS __priv_rise
  FROM __priv_moments
),
__priv_halves AS (
  SELECT *, _score_centre(__priv_m.total, __priv_rise, __priv_zz) AS __priv_centre, _score_half(__priv_spread, __priv_rise, _jump(__priv_spread, __priv_m.counted, __priv_m.largest), __priv_zz) AS __priv_half FROM __priv_slopes
)
SELECT * EXCLUDE (__priv_m, __priv_zz, __priv_spread, __priv_rise, __priv_centre, __priv_half), __priv_m.total AS estimate, __priv_centre - __priv_half AS low, __priv_centre + __priv_half AS high
FROM __priv_halves
ORDER BY ALL;

-- The weights of a row of the view and of a tuple of the domain beside each other.
CREATE MACRO _both_weights(weights, quantile) AS TABLE
SELECT max(weight) FILTER (source = 'view') AS view1, max(variance) FILTER (source = 'view') AS view2, max(skew) FILTER (source = 'view') AS view3,
  max(weight) FILTER (source = 'domain') AS domain1, max(variance) FILTER (source = 'domain') AS domain2, max(skew) FILTER (source = 'domain') AS domain3, quantile AS zz
FROM weights;

-- The estimate; second and third moments of values above 0 and below; the variance of the number of rows; what one row more adds to it.
CREATE MACRO _moments(s, w) AS
struct_pack(total := w.view1 * s.view1 + w.domain1 * s.domain1,
  above2 := w.view2 * s.view_above2 + w.domain2 * s.domain_above2, above3 := w.view3 * s.view_above3 + w.domain3 * s.domain_above3,
  below2 := w.view2 * s.view_below2 + w.domain2 * s.domain_below2, below3 := w.view3 * s.view_below3 + w.domain3 * s.domain_below3,
  counted := w.view2 * s.view_rows + w.domain2 * s.domain_rows, largest := w.view1 * s.largest);

-- The probabilities of records by what is counted: the records of the view, and the tuples of the domain.
CREATE MACRO _counted_coins(stay, view, domain) AS TABLE
SELECT TRY_CAST(_given_stay(stay) AS DOUBLE) AS __priv_stay, (1 - TRY_CAST(stay AS DOUBLE)) / greatest(__priv_tuples - 1, 1) AS __priv_move, __priv_records AS __priv_rows
FROM query(concat('SELECT (SELECT count(*)', _from(view), ') AS __priv_records, (SELECT count(*)', _from(domain), ') AS __priv_tuples'));
CREATE MACRO _given_stay(stay) AS
CASE WHEN stay IS NULL OR TRY_CAST(stay AS DOUBLE) IS NOT NULL THEN stay ELSE error('sqlpriv: stay must be greater than 0 and at most 1') END;

-- SQL text of the sums over a view and its domain under a condition, for each group: of the values, of squares and cubes of those above and below 0
-- apart, and of the rows. Nothing is summed before all is checked. Marks in the text are replaced by what they stand for, the texts of the user
-- last, so that nothing is looked for in these: the checks of an argument are long, and stand here once.
CREATE MACRO _view_sums(view, domain, names, condition, summed, row_weight, fault) AS
replace(replace(replace(replace(replace(replace(
  concat('WITH __priv_sound AS (SELECT CASE', _domain_faults(), fault, ' ELSE true END AS ok),',
    ' __priv_rows AS (SELECT <__priv_names><__priv_value> AS __priv_value, ', row_weight, ' AS __priv_weight, false AS __priv_public<__priv_view> WHERE <__priv_condition>',
    ' UNION ALL SELECT <__priv_names><__priv_value>, 1e0, true<__priv_domain> WHERE <__priv_condition>)',
    ' SELECT <__priv_names>struct_pack(', _sums_of('view', 'NOT __priv_public'), ', ', _sums_of('domain', '__priv_public'),
    ', largest := coalesce((SELECT max(', row_weight, ')<__priv_view>), 0e0)) AS __priv_sums FROM __priv_rows AS __priv_t WHERE (SELECT ok FROM __priv_sound)<__priv_groups>'),
  '<__priv_view>', _from(view)), '<__priv_domain>', _from(domain)), '<__priv_groups>', _grouped_by(names)), '<__priv_names>', _name_list(names)),
  '<__priv_value>', summed), '<__priv_condition>', _true_text(condition));
CREATE MACRO _true_text(condition) AS replace(_truth('<__priv_condition>'), '<__priv_condition>', _condition(condition));
CREATE MACRO _name_list(names) AS
coalesce(list_aggr(list_transform(names, lambda name: concat('__priv_t.', _quoted(name), ' AS ', _quoted(name), ', ')), 'string_agg', ''), '');
CREATE MACRO _grouped_by(names) AS
list_transform([names], lambda listed: CASE WHEN len(listed) = 0 THEN ' HAVING (SELECT ok FROM __priv_sound)'
  ELSE concat(' GROUP BY ', list_aggr(range(1, len(listed) + 1), 'string_agg', ', '), ' HAVING count(*) FILTER (__priv_public) > 0') END)[1];
CREATE MACRO _sums_of(prefix, filter_text) AS
replace(replace('<s>_rows := count(*) FILTER (<f>), <s>1 := coalesce(sum(__priv_weight * __priv_value) FILTER (<f>), 0e0),'
  || ' <s>_above2 := coalesce(sum(pow(greatest(__priv_value, 0), 2)) FILTER (<f>), 0e0), <s>_above3 := coalesce(sum(pow(greatest(__priv_value, 0), 3)) FILTER (<f>), 0e0),'
  || ' <s>_below2 := coalesce(sum(pow(greatest(-__priv_value, 0), 2)) FILTER (<f>), 0e0), <s>_below3 := coalesce(sum(pow(greatest(-__priv_value, 0), 3)) FILTER (<f>), 0e0)',
  '<s>', prefix), '<f>', filter_text);

-- What may be wrong with a view and a domain, WHEN ... THEN error(...): they must go together, or estimates are off without a sign of it.
CREATE MACRO _domain_faults() AS
concat(' WHEN (SELECT count(*)<__priv_domain>) < 2 THEN error(''sqlpriv: the domain must have at least two tuples'')',
  ' WHEN (SELECT count(*) FROM (DESCRIBE<__priv_view>) WHERE lower(column_name) NOT IN (''__weight'', ''__variance'', ''__skew'')',
  ' AND lower(column_name) NOT IN (SELECT lower(column_name) FROM (DESCRIBE<__priv_domain>))) > 0',
  ' THEN error(''sqlpriv: the view has columns that the domain does not have; take the domain that it was made with'')',
  ' WHEN (SELECT count(*) FROM (', _row_texts('<__priv_domain>'), ' GROUP BY ALL HAVING count(*) > 1)) > 0 THEN error(''sqlpriv: rows of the domain repeat a tuple; make them distinct'')',
  ' WHEN (SELECT count(*) FROM (', _row_texts('<__priv_view>'), ') AS __priv_v NATURAL ANTI JOIN (', _row_texts('<__priv_domain>'), ') AS __priv_d) > 0',
  ' THEN error(concat(''sqlpriv: '', (SELECT count(*) FROM (', _row_texts('<__priv_view>'), ') AS __priv_v NATURAL ANTI JOIN (', _row_texts('<__priv_domain>'), ') AS __priv_d),',
  ' '' rows of the view are not in the domain; take the domain that it was made with''))',
  ' WHEN (SELECT count(*) FROM (', _row_texts('<__priv_view>'), ') AS __priv_v NATURAL JOIN (', _row_texts('<__priv_domain>'), ') AS __priv_d) > (SELECT count(*)<__priv_view>)',
  ' THEN error(''sqlpriv: rows of the domain repeat a tuple of the view; make them distinct'')');
-- The rows of a table with every cell as bytes of its text, so that NULL is equal to NULL, and no collation makes different texts equal.
CREATE MACRO _row_texts(tbl) AS concat('SELECT encode(coalesce(''='' || CAST(COLUMNS(*) AS VARCHAR), ''''))', tbl);

CREATE MACRO _any_rows() AS '';
CREATE MACRO _no_row_twice() AS
concat(' WHEN (SELECT count(*) FROM (', _row_texts('<__priv_view>'), ' GROUP BY ALL HAVING count(*) > 1)) > 0',
  ' THEN error(''sqlpriv: rows of the view are there twice, which a view of distinct tuples never has; see noisy_counts_estimate and frapp_estimate'')');
CREATE MACRO _one_row_each() AS
concat(' WHEN NOT (SELECT coalesce(bool_and(coalesce(abs(', _own_weight(), ') = 1, false)), true)<__priv_view>) THEN error(''sqlpriv: the __weight of a row of the view must be 1 or -1'')');

-- What a row counts for before it is weighted, and what of it is summed, as SQL text.
CREATE MACRO _plain_weight() AS '1e0';
CREATE MACRO _own_weight() AS '__priv_t."__weight"';
CREATE MACRO _summed() AS '1e0';
CREATE MACRO _summed(value) AS
CASE
  WHEN typeof(value) = '"NULL"' THEN '1e0'
  WHEN typeof(value) <> 'VARCHAR' THEN error('sqlpriv: the value must be given as text, as in ''age'', or be NULL to count rows')
  ELSE replace(concat('coalesce((SELECT CASE WHEN regexp_matches(typeof((<__priv_value>)), ''^(', _integers(), '|FLOAT|DOUBLE|DECIMAL.*|"NULL")$'')',
    ' THEN TRY_CAST((<__priv_value>) AS DOUBLE) ELSE error(''sqlpriv: the value must be a number'') END), 0e0)'), '<__priv_value>', _one_expression(value, 'value'))
END;
CREATE MACRO _all_rows() AS CAST([] AS VARCHAR[]);
CREATE MACRO _group_names(groups) AS
CASE
  WHEN typeof(groups) <> 'VARCHAR[]' OR coalesce(len(TRY_CAST(groups AS VARCHAR[])), 0) = 0 OR list_count(TRY_CAST(groups AS VARCHAR[])) < len(TRY_CAST(groups AS VARCHAR[]))
    THEN error('sqlpriv: the groups must be a list of column names, as in [''zip'', ''age'']')
  WHEN contains(_joined(groups), '__priv_') THEN error('sqlpriv: names that start with __priv_ are reserved')
  WHEN len(list_distinct(list_transform(TRY_CAST(groups AS VARCHAR[]), lambda name: lower(name)))) < len(groups) THEN error('sqlpriv: a column is named twice in the groups')
  ELSE TRY_CAST(groups AS VARCHAR[])
END;
