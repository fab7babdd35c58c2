-- Estimates from a randomized release: the intervals around sums and ratios, and counts over its domain in pure SQL.
-- Every interval is centre - half, centre + half; zz is the square of the quantile, 3.84 for 95%. The interval of a ratio, or of a
-- combination of sums, is taken twice, with all of the variance and with that of the rows of the view alone, and the wider bounds count:
-- values that are rare in the table and large in the domain make a slope that fits only estimates in which they occur.

-- The score interval of a sum: the values theta whose estimate is within z standard deviations, where the variance at
-- theta is variance + slope (theta - estimate). A variance estimated below 0 counts as 0.
CREATE MACRO _score_centre(estimate, slope, zz) AS estimate + zz * slope / 2;
CREATE MACRO _score_half(variance, slope, jump, zz) AS sqrt(zz * (zz * slope * slope / 4 + greatest(variance, 0))) + jump;

-- The sum of values of both signs is the sum of those above 0 minus that of those below, which are about other rows and so
-- independent. How far the lower bound of a difference is below it, from the score intervals of both sums (the method of variance
-- estimates recovery); with the two sums exchanged, how far the upper bound is above it. One slope for both signs would be that of the
-- larger values, and lean away from the others: intervals for 95% covered as little as 43% of the sums that a few values of the rarer
-- sign decide.
CREATE MACRO _difference_below(half, slope, taken_half, taken_slope, zz) AS
sqrt(pow(half - zz * slope / 2, 2) + pow(taken_half + zz * taken_slope / 2, 2));

-- How the variance grows with the sum: third moment over second, where there is a second. Sums that cancel, of which parts is the
-- second moment before they do, leave rounding errors.
CREATE MACRO _slope(third, second, parts) AS CASE WHEN second > 1e-9 * greatest(parts, 0) THEN third / second ELSE 0 END;

-- Estimates of few rows jump: one row more or less moves them by its weight times the usual size of what is summed. Without 0.4
-- of a jump to each side, counts of a tuple or two are covered by 80% of the intervals for 95%; with it by 90% or more,
-- and by less than 98% where 30 rows are expected. rows_variance: the variance of the count of the rows that are summed.
CREATE MACRO _jump(variance, rows_variance, weight) AS
CASE WHEN rows_variance > 0 THEN 0.4 * weight * sqrt(greatest(variance, 0) / rows_variance) ELSE 0 END;
CREATE MACRO _with_jump(rows_variance, weight, zz) AS
CASE WHEN rows_variance > 0 THEN pow(sqrt(zz) + 0.4 * weight / sqrt(rows_variance), 2) ELSE zz END;

-- Fieller's interval of the ratio of two sums, NULL when the lower one may be 0: the ratios r + delta for which upper - (r + delta) lower is
-- within z standard deviations of 0, r being the estimated ratio. At r that difference is 0, its variance and its covariance with the lower
-- sum are moved there from those of the upper sum; elsewhere it is -delta lower, its variance
-- variance - 2 delta covariance + delta^2 lower_variance + slope delta lower. So square delta^2 - 2 pull delta <= zz variance.
CREATE MACRO _moved_covariance(covariance, minus_ratio, lower_variance) AS covariance + minus_ratio * lower_variance;
CREATE MACRO _moved_variance(upper_variance, covariance, minus_ratio, lower_variance) AS
upper_variance + minus_ratio * (2 * covariance + minus_ratio * lower_variance);
CREATE MACRO _ratio_square(lower, lower_variance, zz) AS lower * lower - zz * lower_variance;
CREATE MACRO _ratio_pull(lower, covariance, slope, zz) AS zz * (slope * lower / 2 - covariance);
CREATE MACRO _ratio_centre(ratio, pull, square) AS CASE WHEN square > 0 THEN ratio + pull / square END;
CREATE MACRO _ratio_half(variance, pull, square, zz) AS
CASE WHEN square > 0 THEN sqrt(pull * pull + square * zz * greatest(variance, 0)) / square END;

-- An average lies between the least and the greatest value of its column, whatever the random noise says: its bounds are cut to that range. Where
-- there are no bounds, or they lie beyond the range, it is all that is known. Of no rows, or of a column without values, there is none.
CREATE MACRO _within_low(ratio, low, high, bottom, top) AS
CASE WHEN ratio IS NULL OR bottom IS NULL THEN low WHEN low IS NULL OR low > top OR high < bottom THEN bottom ELSE greatest(low, bottom) END;
CREATE MACRO _within_high(ratio, low, high, bottom, top) AS
CASE WHEN ratio IS NULL OR top IS NULL THEN high WHEN high IS NULL OR low > top OR high < bottom THEN top ELSE least(high, top) END;

-- An estimate as it is shown: within what is possible, where that is known.
CREATE MACRO _clamped(estimate, bottom, top) AS
CASE WHEN estimate < bottom THEN bottom WHEN estimate > top THEN top ELSE estimate END;

-- Half the interval of a smooth function of sums, by its derivatives: the delta method.
CREATE MACRO _delta_half(variance, zz) AS sqrt(zz * greatest(variance, 0));

-- A correlation from a covariance and two variances; NULL where noise leaves no variance. Its bound on Fisher's scale: half is half
-- the interval of the correlation itself by the delta method, with a sign.
CREATE MACRO _correlation(covariance, variance, other) AS
CASE WHEN variance > 0 AND other > 0 THEN covariance / (sqrt(variance) * sqrt(other)) END;
CREATE MACRO _fisher_bound(r, half) AS CASE WHEN abs(r) < 1 THEN tanh(atanh(r) + half / (1 - r * r)) END;

-- A skewness from the third and the second central moment and the number of rows, as of a sample; NULL where noise leaves no
-- variance, or not three rows. And how its logarithm changes with the number of rows, the moments being the same.
CREATE MACRO _skewness(third, variance, rows) AS
CASE WHEN variance > 0 AND rows > 2 THEN sqrt(rows * (rows - 1)) / (rows - 2) * third / (variance * sqrt(variance)) END;
CREATE MACRO _skewness_by_rows(rows) AS CASE WHEN rows > 2 THEN 0.5e0 / rows + 0.5e0 / (rows - 1) - 1e0 / (rows - 2) END;

-- The bounds of a square, by those of what is squared: 0 is its least where they lie on both sides of 0.
CREATE MACRO _square_low(low, high) AS CASE WHEN low * high <= 0 THEN 0e0 ELSE least(low * low, high * high) END;
CREATE MACRO _square_high(low, high) AS greatest(low * low, high * high);

-- estimate(release, predicate, mentioned) -> estimate, low, high
-- How many rows of the private table meet a predicate, estimated from a randomized release, with a 95% score interval.
-- The release is the name under which its file is open, the predicate one SQL expression over the columns of the private
-- table, given as text, and mentioned lists its columns. Only their domains are multiplied.
-- nulls: a row for which the predicate is NULL is not counted; NULL is a value of a domain only where that was declared.
-- guarantee: unbiased over the random noise of the release; the interval covers the true count in about 95 of 100 releases. The
-- predicate must always answer the same for the same row. Where noise follows shares, all columns must be listed. A release without noise
-- has no weights: refused with what to use in its place.
-- example: FROM priv.estimate(current_database(), 'score < 3 * age', ['age', 'score'])
-- expect: [(3.51, -2.39265, 11.2565)]
CREATE MACRO estimate(release, predicate, mentioned) AS TABLE
SELECT estimate,
  _score_centre(estimate, slope, 3.8414588206941236e0) - _score_half(variance, slope, _jump(variance, raw, largest), 3.8414588206941236e0) AS low,
  _score_centre(estimate, slope, 3.8414588206941236e0) + _score_half(variance, slope, _jump(variance, raw, largest), 3.8414588206941236e0) AS high
FROM query(_estimate_text(_quoted(_catalog(release)), _truth(_condition(predicate)), _attributes(mentioned)));

CREATE MACRO _catalog(release) AS
CASE
  WHEN typeof(release) <> 'VARCHAR' OR release IS NULL
    THEN error('sqlpriv: the release must be given by the name under which its file is open, as text')
  ELSE CAST(release AS VARCHAR)
END;
CREATE MACRO _attributes(names) AS
CASE
  WHEN typeof(names) IN ('"NULL"[]', 'INTEGER[]') AND len(names) = 0 THEN CAST([] AS VARCHAR[])
  WHEN typeof(names) <> 'VARCHAR[]' OR list_count(TRY_CAST(names AS VARCHAR[])) < len(TRY_CAST(names AS VARCHAR[]))
    THEN error('sqlpriv: the attributes must be a list of column names, as in [''age'', ''score'']')
  WHEN len(list_distinct(list_transform(TRY_CAST(names AS VARCHAR[]), lambda name: lower(name)))) < len(names)
    THEN error('sqlpriv: an attribute is named twice')
  ELSE TRY_CAST(names AS VARCHAR[])
END;
-- True or false in a WHERE, where neither unnest nor a window function may stand.
CREATE MACRO _truth(condition) AS
concat('CASE WHEN typeof((', condition, ')) IN (''BOOLEAN'', ''"NULL"'') THEN TRY_CAST((', condition,
  ') AS BOOLEAN) ELSE error(''sqlpriv: the condition must be true or false'') END');
-- The listed domains as one relation, each value under the name of its column, and the product of their shares.
CREATE MACRO _domain_text(catalog, names) AS
concat('(SELECT *, 1e0', list_aggr(list_transform(names, lambda name, place: concat(' * coalesce(__priv_share', place, ', 1)')), 'string_agg', ''),
  ' AS __priv_share FROM (SELECT 1 AS __priv_one)',
  list_aggr(list_transform(names, lambda name, place: concat(', (SELECT "value" AS ', _quoted(name), ', "share" AS __priv_share', place,
    ' FROM ', catalog, '."domain".', _quoted(name), ')')), 'string_agg', ''), ') AS __priv_t');
CREATE MACRO _estimate_text(catalog, truth, names) AS
concat('WITH __priv_view AS (SELECT coalesce(sum("__weight"), 0e0) AS weight, coalesce(sum("__variance"), 0e0) AS variance,',
  ' coalesce(sum("__skew"), 0e0) AS skew FROM ', _weighted_rows(catalog), ' AS __priv_t WHERE ', truth, '),',
  ' __priv_others AS (SELECT count(*) AS columns, coalesce(product(size), 1e0) AS size FROM ', catalog, '."sqlpriv_release"."attributes" WHERE NOT list_contains(',
  _texts(names), ', lower(name))),',
  ' __priv_elements AS (SELECT __priv_t.__priv_share AS share, count(*) * (SELECT size FROM __priv_others) AS n FROM ', _domain_text(catalog, names),
  ' WHERE ', truth, ' GROUP BY 1),',
  ' __priv_domain AS (SELECT coalesce(sum(w.weight * e.n * pow(e.share, w.power)), 0e0) AS weight,',
  ' coalesce(sum(w.variance * e.n * pow(e.share, w.power)), 0e0) AS variance, coalesce(sum(w.skew * e.n * pow(e.share, w.power)), 0e0) AS skew,',
  ' (SELECT coalesce(sum(n), 0e0) FROM __priv_elements) AS plain FROM __priv_elements AS e, ', catalog, '."sqlpriv_release"."domain_weights" AS w),',
  ' __priv_sums AS (SELECT CASE WHEN o.columns > 0 AND (SELECT max(power) FROM ', catalog, '."sqlpriv_release"."domain_weights") > 0',
  ' THEN error(''sqlpriv: the noise of this release follows shares: list all columns as attributes'') ELSE v.weight + d.weight END AS estimate,',
  ' v.variance + d.variance AS variance, v.skew + d.skew AS skew, d.plain AS plain, ', _parameter_text(catalog, 'cross_estimate'), ' AS cross_estimate, ',
  _parameter_text(catalog, 'cross_square'), ' AS cross_square FROM __priv_view AS v, __priv_domain AS d, __priv_others AS o)',
  ' SELECT estimate, variance + cross_estimate * plain * estimate + cross_square * plain * plain AS variance,',
  ' CASE WHEN variance > 0 THEN skew / variance ELSE 0e0 END + cross_estimate * plain AS slope, variance AS raw,',
  ' (SELECT coalesce(max("__weight"), 0e0) FROM ', catalog, '."sqlpriv_release"."published") AS largest FROM __priv_sums');
-- A release of another method has no weights, and DuckDB sees that before anything runs. It then names the table: so that is what the message says.
CREATE MACRO _weighted_rows(catalog) AS
replace(concat('(SELECT <t>.* REPLACE (<t>."__weight" AS "__weight") FROM ', catalog, '."sqlpriv_release"."published" AS <t>)'), '<t>',
  '"sqlpriv: this release has no weights, which estimate needs; ask it with sqlpriv query, or, if its method is sdgs, read its rows as a table and use sdgs_estimate"');
CREATE MACRO _parameter_text(catalog, name) AS
concat('coalesce((SELECT max(value) FROM ', catalog, '."sqlpriv_release"."parameters" WHERE name = ''', name, '''), 0e0)');
CREATE MACRO _texts(names) AS
concat('CAST([', list_aggr(list_transform(names, lambda name: concat('''', replace(lower(name), '''', ''''''), '''')), 'string_agg', ', '), '] AS VARCHAR[])');

-- The weight (power 1), variance (2) or skew (3) that is left of one view when so many are taken together, each for its part: the
-- estimate is the mean of theirs.
CREATE MACRO _of_views(number, views, power) AS (number / pow(views, power));
