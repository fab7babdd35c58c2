-- disclosure_offers(tbl, dictionaries, weights, form, psi, judge) -> record, labels, depths, entries, loss, utility
-- All that is worth disclosing of each record: for every utility that it can have, the choice of the least loss (Lebanon et al. 2009). The weights are those
-- of optimal_disclosure, whose choices are among these whatever the goal and its c. psi is the loss of a person who is not identified, a number, and
-- {attribute: 'city', weight: 0.3, psi: 0.1} adds what a cell weighs then. dictionaries is a table, or several with priors as in bayes_risk: judge 'bayes'
-- takes the mean of their losses by the priors, 'worst' that of the worst of them for the record.
-- nulls: a NULL or `*` cell can only be `*`, suppressed.
-- guarantee: exact: every combination of nodes is looked at. The loss is p times the sensitivity and 1 - p times psi, where p is 1 / entries, and 0 without any. entries are those of
-- the dictionary that has the fewest, but some. The mean of the worst losses is the bound of bayes_risk, not below its minimax.
-- example: SELECT labels, entries, loss, utility FROM priv.disclosure_offers('members', 'phone_book', [{attribute: 'city', weight: 0.5, hierarchy: 'cities', entry: 'city'}], 'linear', 0, 'bayes') WHERE record.id = 1
-- expect: [(['*'], 5, 0.0, 0), (['New York'], 5, 0.05, 1), (['Ithaca'], 4, 0.125, 2)]
CREATE MACRO disclosure_offers(tbl, dictionaries, weights, form, psi, judge) AS TABLE
FROM query(list_transform([_offers(weights)], lambda __priv_all: list_transform([_disclosable(_singles(__priv_all))], lambda __priv_own:
  _disclosures(tbl, _held(dictionaries), _chance_of(dictionaries), judge, __priv_all, __priv_own, form, psi, _factors(__priv_all), '', '', ', utility', 'true', 'ROW(loss, code)'))[1])[1]);

-- personal_disclosure_offers(tbl, dictionaries, weights, form, psi, judge, id, personal, total) -> record, labels, depths, entries, loss, utility
-- Likewise where people's weights differ: personal is a table of persons, attributes and weights as of personal_sensitivity, which stand in place of the weights given in the list, and id says whose record it is.
-- nulls: as in disclosure_offers; a person who is NULL is an error.
-- guarantee: as of disclosure_offers. A person of the table without a weight for some attribute, with two, or with more than total is an error.
-- example: SELECT labels, entries, loss, utility FROM priv.personal_disclosure_offers('members', 'phone_book', [{attribute: 'city', hierarchy: 'cities', entry: 'city'}, {attribute: 'born', hierarchy: 'births'}], 'linear', 0, 'bayes', 'id', 'minded', 4) WHERE record.id = 1 AND utility < 3
-- expect: [(['*', '*'], 5, 0.0, 0), (['New York', '*'], 5, 0.1, 1), (['Ithaca', '*'], 4, 0.25, 2)]
CREATE MACRO personal_disclosure_offers(tbl, dictionaries, weights, form, psi, judge, id, personal, total) AS TABLE
FROM query(list_transform([_offers(weights)], lambda __priv_all: list_transform([_disclosable(_singles(__priv_all))], lambda __priv_own:
  _disclosures(tbl, _held(dictionaries), _chance_of(dictionaries), judge, __priv_all, __priv_own, form, psi, _minds(__priv_all), _whose(id),
    concat(_minded(__priv_all, personal, total), _holders(__priv_all, len(__priv_own))), ', utility', 'true', 'ROW(loss, code)'))[1])[1]);

-- disclosure_choices(tbl, dictionaries, weights, form, psi) -> record, labels, depths, entries, loss, utility, losses
-- All that could be disclosed of each record, for rules that weigh the records together. losses has its loss against each dictionary, in the order of
-- dictionaries, and loss the largest of them (Lebanon et al. 2009). The arguments are those of disclosure_offers. Of choices with the same losses and
-- utility only the first is listed.
-- nulls: as in disclosure_offers.
-- guarantee: exact: every combination of nodes is looked at. The largest mean of losses[j] over the records of a rule is its worst risk; the rule that makes it smallest is not found record by record.
-- example: SELECT labels, losses, utility FROM priv.disclosure_choices('members', MAP {'phone_book': 0.5, 'members': 0.5}, [{attribute: 'city', weight: 0.5, hierarchy: 'cities', entry: 'city'}], 'linear', 0) WHERE record.id = 1
-- expect: [(['*'], [0.0, 0.0], 0), (['New York'], [0.05, 0.08333333333333333], 1), (['Ithaca'], [0.125, 0.16666666666666666], 2)]
CREATE MACRO disclosure_choices(tbl, dictionaries, weights, form, psi) AS TABLE
FROM query(list_transform([_offers(weights)], lambda __priv_all: list_transform([_disclosable(_singles(__priv_all))], lambda __priv_own:
  _disclosures(tbl, _held(dictionaries), _chance_of(dictionaries), 'worst', __priv_all, __priv_own, form, psi, _factors(__priv_all), '', '', ', utility, losses', 'true', 'code'))[1])[1]) ORDER BY record, utility, labels;

-- personal_disclosure_choices(tbl, dictionaries, weights, form, psi, id, personal, total) -> record, labels, depths, entries, loss, utility, losses
-- Likewise where people's weights differ, with the last arguments of personal_disclosure_offers. The loss of each record has the weights of its own person.
-- nulls: as in disclosure_offers; a person who is NULL is an error.
-- guarantee: as of disclosure_choices. A person of the table without a weight for some attribute, with two, or with more than total is an error.
-- example: SELECT labels, losses, utility FROM priv.personal_disclosure_choices('members', 'phone_book', [{attribute: 'city', hierarchy: 'cities', entry: 'city'}, {attribute: 'born', hierarchy: 'births'}], 'linear', 0, 'id', 'minded', 4) WHERE record.id = 1 AND utility < 2
-- expect: [(['*', '*'], [0.0], 0), (['*', '1975'], [0.2], 1), (['New York', '*'], [0.1], 1)]
CREATE MACRO personal_disclosure_choices(tbl, dictionaries, weights, form, psi, id, personal, total) AS TABLE
FROM query(list_transform([_offers(weights)], lambda __priv_all: list_transform([_disclosable(_singles(__priv_all))], lambda __priv_own:
  _disclosures(tbl, _held(dictionaries), _chance_of(dictionaries), 'worst', __priv_all, __priv_own, form, psi, _minds(__priv_all), _whose(id),
    concat(_minded(__priv_all, personal, total), _holders(__priv_all, len(__priv_own))), ', utility, losses', 'true', 'code'))[1])[1]) ORDER BY record, utility, labels;

CREATE MACRO _offers(weights) AS _weights(weights, list_concat(_weight_keys(), ['entry', 'psi', 'similarity']));
-- One table, or several with their priors.
CREATE MACRO _held(dictionaries) AS CASE WHEN typeof(dictionaries) = 'VARCHAR' THEN [CAST(dictionaries AS VARCHAR)] ELSE map_keys(_priors(dictionaries)) END;
CREATE MACRO _chance_of(dictionaries) AS CASE WHEN typeof(dictionaries) = 'VARCHAR' THEN [CAST(1 AS DOUBLE)] ELSE map_values(_priors(dictionaries)) END;
-- SQL text of __priv_holders: who has which tuple of cells. Who has no weights is an error.
CREATE MACRO _holders(maps, number) AS
concat(', __priv_holders AS MATERIALIZED (SELECT DISTINCT x.t, CASE WHEN ', _unminded(maps), ' ELSE r.__priv_person END AS person FROM __priv_r AS r JOIN __priv_x AS x ON ',
  _repeated(number, 'r.__priv_v# IS NOT DISTINCT FROM x.v#', ' AND '), ' LEFT JOIN __priv_g AS g ON r.__priv_person = g.person)');

-- average_disclosure(offers, goal, c) -> record, loss, utility, gap
-- The best choice of every record where only their mean has to keep c (Lebanon et al. 2009): the least risk with a mean utility of at least c (goal 'risk', 8), or the most utility with
-- a risk of at most c ('utility', 7). offers is a table of what may be chosen: record, copies (how many people have that record), loss and utility, such as disclosure_offers makes.
-- Records go up the lower edge of their choices, steepest last, until c is reached.
-- nulls: no cell may be NULL.
-- guarantee: c is kept. It is a knapsack, so the choice need not be the best. gap is by how much, in mean utility or risk, it may fall short of it, the
-- distance to the best mixture of choices; at 0 it is the best. Choices of an infinite loss are never taken. A c that no choices keep is an error, and so
-- are numbers that are missing or below 0.
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
      THEN error('sqlpriv: every choice needs a record, copies of at least 1, and a loss and a utility of at least 0')
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
-- The record of that step takes the best of all its choices that still keep c, also one that is no corner.
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
      WHEN (SELECT count(DISTINCT record) FROM __priv_read) > count(*) THEN error('sqlpriv: there is a record with no choice of a finite loss')
      WHEN (SELECT count(*) FROM __priv_last) = 0 THEN CAST(0 AS DOUBLE)
      WHEN lower(goal) = 'risk' THEN greatest(0, (sum(n * l) - (SELECT l_before + slope * (_bar(c) * people - u_before) FROM __priv_last)) / people)
      ELSE greatest(0, ((SELECT u_before + (_bar(c) * people - l_before) / slope FROM __priv_last) - sum(n * u)) / people) END AS gap
  FROM __priv_chosen CROSS JOIN __priv_start GROUP BY people
)
SELECT record, l AS loss, u AS utility, gap FROM __priv_chosen CROSS JOIN __priv_gap ORDER BY record;

-- The price of a step from one choice to one of more utility.
CREATE MACRO _slope(low, high) AS ((high['l'] - low['l']) / (high['u'] - low['u']));

-- What many records come to together: a mean over all copies, which may be infinite, and a share of them.
CREATE MACRO _mean_of(one, copies) AS CASE WHEN max(one) = CAST('Infinity' AS DOUBLE) THEN max(CAST(one AS DOUBLE)) ELSE sum(one * copies) / sum(copies) END;
CREATE MACRO _share_of(part, whole) AS (coalesce(part, 0) / whole);
-- The next number of two digits that is not below this one: a bound that reveals no more of a table than it must.
CREATE MACRO _rounded_up(number) AS
CASE WHEN number > 0 AND isfinite(number) THEN ceil(number / pow(10, floor(log10(number)) - 1) * (1 - 1e-12)) * pow(10, floor(log10(number)) - 1) ELSE number END;

-- Whether a choice keeps c, where a record that has less than c to disclose may disclose all of it; and the order of those that do, best first.
CREATE MACRO _offer_keeps(goal, c, loss, utility, most) AS
CASE goal WHEN 'risk' THEN utility >= least(_lower_limit(c), most) WHEN 'utility' THEN loss <= _upper_limit(c) ELSE true END;
CREATE MACRO _offer_order(goal, c, loss, utility) AS
CASE goal WHEN 'risk' THEN ROW(CAST(loss AS DOUBLE), CAST(-utility AS DOUBLE)) WHEN 'utility' THEN ROW(CAST(-utility AS DOUBLE), CAST(loss AS DOUBLE))
  ELSE ROW(CAST(loss - c * utility AS DOUBLE), CAST(loss AS DOUBLE)) END;
-- What a step of utility costs in a choice: about what it is worth where such a choice is taken.
CREATE MACRO _price_of_utility(loss, utility) AS CASE WHEN utility > 0 THEN loss / utility END;
