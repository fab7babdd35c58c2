-- disclosure_offers(tbl, dictionary, weights, form, psi) -> record, labels, depths, entries, loss, utility
-- All that is worth disclosing of each record: for every utility that it can have, the choice of the least loss (Lebanon et al. 2009). The arguments are those of optimal_disclosure, whose
-- choices are among these whatever the goal and its c; psi is the loss of a person who is not identified, a number.
-- nulls: a NULL or `*` cell can only be `*`, suppressed.
-- guarantee: exact: every combination of nodes is looked at. The loss is p times the sensitivity and 1 - p times psi, where p is 1 / entries, and 0 without any.
-- example: SELECT labels, entries, loss, utility FROM priv.disclosure_offers('members', 'phone_book', [{attribute: 'city', weight: 0.5, hierarchy: 'cities', entry: 'city'}], 'linear', 0) WHERE record.id = 1
-- expect: [(['*'], 5, 0.0, 0), (['New York'], 5, 0.05, 1), (['Ithaca'], 4, 0.125, 2)]
CREATE MACRO disclosure_offers(tbl, dictionary, weights, form, psi) AS TABLE
FROM query(list_transform([_weights(weights, list_append(_weight_keys(), 'entry'))], lambda __priv_all: list_transform([_disclosable(_singles(__priv_all))], lambda __priv_own: concat(
  _both(tbl, [dictionary], __priv_own, 'row_number() OVER () AS __priv_n, __priv_t AS __priv_record, '),
  _nodes(__priv_own, 'SELECT __priv_v# AS node FROM __priv_r UNION SELECT __priv_v# FROM __priv_e', 'the hierarchy of attribute #'),
  list_aggr(list_transform(__priv_own, lambda __priv_m, __priv_j: _prices(__priv_m, __priv_j)), 'string_agg', ''),
  _entries_placed(len(__priv_own), 'the hierarchy of attribute #'), _ladders(len(__priv_own), _linked(__priv_own)), _offered(len(__priv_own), _linked(__priv_own)),
  ', __priv_priced AS (SELECT q.*, ', _product('q.p', _summed(form, __priv_all, __priv_own,
    list_transform(__priv_all, lambda __priv_m: concat('CAST(''', _weight(coalesce(__priv_m['weight'], '1')), ''' AS DOUBLE)')))),
    ' + ', _product('(1 - q.p)', concat('CAST(''', _weight(psi), ''' AS DOUBLE)')), ' AS loss FROM __priv_offered AS q)',
  ', __priv_best AS (SELECT t, arg_min({''code'': code, ''entries'': entries, ''loss'': loss, ''utility'': utility}, ROW(loss, code)) AS best FROM __priv_priced GROUP BY t, utility)',
  ' SELECT r.__priv_record AS record, [', _repeated(len(__priv_own), _label_at(), ', '), '] AS labels, [', _repeated(len(__priv_own), _depth_at(), ', '), '] AS depths, b.best.entries AS entries,',
  ' b.best.loss AS loss, b.best.utility AS utility FROM __priv_sound AS s JOIN __priv_r AS r ON s.ok JOIN __priv_x AS x ON ',
  _repeated(len(__priv_own), 'r.__priv_v# IS NOT DISTINCT FROM x.v#', ' AND '),
  ' JOIN __priv_best AS b ON x.t = b.t', _repeated(len(__priv_own), ' LEFT JOIN __priv_l# AS l# ON x.z# = l#.z', ''), ' ORDER BY r.__priv_n, b.best.utility'))[1])[1]);

-- average_disclosure(offers, goal, c) -> record, loss, utility, gap
-- The best choice of every record where only their mean has to keep c (Lebanon et al. 2009): the least risk with a mean utility of at least c (goal 'risk', 8), or the most utility with
-- a risk of at most c ('utility', 7). offers is a table of what may be chosen: record, copies (how many people have that record), loss and utility, such as disclosure_offers makes.
-- Records go up the lower edge of their offers, steepest last, until c is reached.
-- nulls: no cell may be NULL.
-- guarantee: c is kept. It is a knapsack, so the choice need not be the best: gap is by how much, in mean utility or risk, it may fall short of it, the distance to the best mixture of choices; at 0 it is
-- the best. Offers of an infinite loss are never taken. A c that no choices keep is an error, and so are numbers that are missing or below 0.
-- example: FROM priv.average_disclosure('offers', 'utility', 0.5) ORDER BY record
-- expect: [(1, 0.0, 1.0, 0.0), (2, 0.75, 4.0, 0.0)]
CREATE MACRO average_disclosure(offers, goal, c) AS TABLE
WITH __priv_read AS MATERIALIZED (
  SELECT record, copies, loss, utility FROM query(concat('SELECT __priv_t."record" AS record, TRY_CAST(__priv_t."copies" AS HUGEINT) AS copies, TRY_CAST(__priv_t."loss" AS DOUBLE) AS loss, TRY_CAST(__priv_t."utility" AS DOUBLE) AS utility', _from(offers)))
),
__priv_sound AS MATERIALIZED (
  SELECT CASE
    WHEN lower(goal) NOT IN ('risk', 'utility') OR goal IS NULL THEN error('sqlpriv: the goal must be risk or utility: one that takes both is the same for each record and for all')
    WHEN count(*) = 0 THEN error('sqlpriv: the table has no rows: there is nothing to check')
    WHEN count(*) FILTER (record IS NOT NULL AND copies >= 1 AND loss >= 0 AND NOT isnan(loss) AND utility >= 0 AND isfinite(utility)) < count(*)
      THEN error('sqlpriv: every offer needs a record, copies of at least 1, and a loss and a utility of at least 0')
    ELSE true END AS ok
  FROM __priv_read
),
-- The lower edge of what each record is offered, from its least loss on: u, l are its corners in order.
__priv_points AS MATERIALIZED (
  SELECT record, utility AS u, min(loss) AS l, min(copies) AS n, max(copies) AS most FROM __priv_read, __priv_sound WHERE ok AND isfinite(loss) GROUP BY record, utility
),
__priv_lists AS MATERIALIZED (
  SELECT record, CASE WHEN min(n) < max(most) THEN error('sqlpriv: a record has two numbers of copies') ELSE min(n) END AS n,
    list_filter(list({'u': u, 'l': l} ORDER BY u), lambda __priv_p: __priv_p['u'] >= arg_min(u, ROW(l, -u))) AS points
  FROM __priv_points GROUP BY record
),
__priv_corners AS MATERIALIZED (
  SELECT record, n, unnest(list_filter(points, lambda __priv_p:
    coalesce(list_max(list_transform(list_filter(points, lambda __priv_q: __priv_q['u'] < __priv_p['u']), lambda __priv_q: _slope(__priv_q, __priv_p))), CAST('-Infinity' AS DOUBLE))
    <= coalesce(list_min(list_transform(list_filter(points, lambda __priv_q: __priv_q['u'] > __priv_p['u']), lambda __priv_q: _slope(__priv_p, __priv_q))), CAST('Infinity' AS DOUBLE)))) AS corner
  FROM __priv_lists
),
__priv_ways AS MATERIALIZED (
  SELECT record, n, corner['u'] AS u, corner['l'] AS l, lag(corner) OVER (PARTITION BY record ORDER BY corner['u']) AS below FROM __priv_corners
),
__priv_start AS MATERIALIZED (
  SELECT CAST(sum(n) AS DOUBLE) AS people, sum(n * u) AS u0, sum(n * l) AS l0 FROM __priv_ways WHERE below IS NULL
),
-- Steps up, the cheapest first. A record's own are in order: what rounding makes of a slope never goes back.
__priv_steps AS MATERIALIZED (
  SELECT record, n, u, l, below, u0 + sum(n * (u - below['u'])) OVER __priv_up AS u_then, l0 + sum(n * (l - below['l'])) OVER __priv_up AS l_then
  FROM (SELECT *, max(_slope(below, {'u': u, 'l': l})) OVER (PARTITION BY record ORDER BY u) AS slope FROM __priv_ways WHERE below IS NOT NULL), __priv_start
  WINDOW __priv_up AS (ORDER BY slope, record, u ROWS UNBOUNDED PRECEDING)
),
-- The step on which c is reached, or beyond which it would be broken, and what is left for it.
__priv_last AS MATERIALIZED (
  SELECT record, n, u_then - n * (u - below['u']) AS u_before, l_then - n * (l - below['l']) AS l_before, below, _slope(below, {'u': u, 'l': l}) AS slope
  FROM __priv_steps, __priv_start
  WHERE CASE WHEN lower(goal) = 'risk' THEN u_then - n * (u - below['u']) < _lower_limit(c) * people AND u_then >= _lower_limit(c) * people
    ELSE l_then > _upper_limit(c) * people AND l_then - n * (l - below['l']) <= _upper_limit(c) * people END
  ORDER BY u_then LIMIT 1
),
__priv_state AS MATERIALIZED (
  SELECT w.record, any_value(w.n) AS n, max(w.u) AS u, arg_max(w.l, w.u) AS l
  FROM __priv_ways AS w LEFT JOIN __priv_steps AS s ON w.record = s.record AND w.u = s.u LEFT JOIN __priv_last AS x ON true CROSS JOIN __priv_start
  WHERE w.below IS NULL OR CASE WHEN x.record IS NOT NULL THEN s.u_then <= x.u_before
    ELSE CASE WHEN lower(goal) = 'risk' THEN u0 < _lower_limit(c) * people ELSE true END END
  GROUP BY w.record
),
-- The record of that step takes the best of all its offers that still keep c, also one that is no corner.
__priv_taken AS MATERIALIZED (
  SELECT arg_min({'u': p.u, 'l': p.l}, CASE WHEN lower(goal) = 'risk' THEN ROW(p.l, -p.u) ELSE ROW(-p.u, p.l) END) AS point
  FROM __priv_last AS x JOIN __priv_points AS p ON x.record = p.record CROSS JOIN __priv_start
  WHERE CASE WHEN lower(goal) = 'risk' THEN x.u_before + x.n * (p.u - x.below['u']) >= _lower_limit(c) * people ELSE x.l_before + x.n * (p.l - x.below['l']) <= _upper_limit(c) * people END
),
__priv_chosen AS MATERIALIZED (
  SELECT s.record, s.n, CASE WHEN x.record IS NULL THEN s.l ELSE t.point['l'] END AS l, CASE WHEN x.record IS NULL THEN s.u ELSE t.point['u'] END AS u
  FROM __priv_state AS s LEFT JOIN __priv_last AS x ON s.record = x.record LEFT JOIN __priv_taken AS t ON true
),
__priv_gap AS MATERIALIZED (
  SELECT CASE
      WHEN lower(goal) = 'risk' AND sum(n * u) / people < _lower_limit(c) OR lower(goal) = 'utility' AND sum(n * l) / people > _upper_limit(c) * (1 + 1e-9)
        THEN error('sqlpriv: no choices keep c on average; ask for less')
      WHEN (SELECT count(DISTINCT record) FROM __priv_read) > count(*) THEN error('sqlpriv: there is a record with no offer of a finite loss')
      WHEN (SELECT count(*) FROM __priv_last) = 0 THEN CAST(0 AS DOUBLE)
      WHEN lower(goal) = 'risk' THEN greatest(0, (sum(n * l) - (SELECT l_before + slope * (_bar(c) * people - u_before) FROM __priv_last)) / people)
      ELSE greatest(0, ((SELECT u_before + (_bar(c) * people - l_before) / slope FROM __priv_last) - sum(n * u)) / people) END AS gap
  FROM __priv_chosen CROSS JOIN __priv_start GROUP BY people
)
SELECT record, l AS loss, u AS utility, gap FROM __priv_chosen CROSS JOIN __priv_gap ORDER BY record;

-- The price of a step from one offer to one of more utility.
CREATE MACRO _slope(low, high) AS ((high['l'] - low['l']) / (high['u'] - low['u']));

-- What many records come to together: a mean over all copies, which may be infinite, and a share of them.
CREATE MACRO _mean_of(one, copies) AS CASE WHEN max(one) = CAST('Infinity' AS DOUBLE) THEN max(CAST(one AS DOUBLE)) ELSE sum(one * copies) / sum(copies) END;
CREATE MACRO _share_of(part, whole) AS (coalesce(part, 0) / whole);
-- The next number of two digits that is not below this one: a bound that tells of a table no more than it must.
CREATE MACRO _rounded_up(number) AS
CASE WHEN number > 0 AND isfinite(number) THEN ceil(number / pow(10, floor(log10(number)) - 1) * (1 - 1e-12)) * pow(10, floor(log10(number)) - 1) ELSE number END;

-- Whether an offer keeps c, where a record that has less than c to tell may tell all of it; and the order of those that do, best first.
CREATE MACRO _offer_keeps(goal, c, loss, utility, most) AS
CASE goal WHEN 'risk' THEN utility >= least(_lower_limit(c), most) WHEN 'utility' THEN loss <= _upper_limit(c) ELSE true END;
CREATE MACRO _offer_order(goal, c, loss, utility) AS
CASE goal WHEN 'risk' THEN ROW(CAST(loss AS DOUBLE), CAST(-utility AS DOUBLE)) WHEN 'utility' THEN ROW(CAST(-utility AS DOUBLE), CAST(loss AS DOUBLE))
  ELSE ROW(CAST(loss - c * utility AS DOUBLE), CAST(loss AS DOUBLE)) END;
-- What a step of utility costs in an offer: about what it is worth where such an offer is taken.
CREATE MACRO _price_of_utility(loss, utility) AS CASE WHEN utility > 0 THEN loss / utility END;
