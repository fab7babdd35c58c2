-- report(tbl, qis, sensitive [, person]) -> qis, sensitive, model, parameters, value, meaning, worst_class_size
-- Every model at once, one row each, from one aggregation of the table. sensitive may be a list of columns and qis a list
-- of lists: then every combination is reported. model and parameters name the macro that gives the same value and, with
-- _classes, the classes behind it.
-- nulls: NULL is a value of its own, in a quasi-identifier and in a sensitive column.
-- guarantee: each row that of its model; worst_class_size is the size of the smallest class that attains the value.
-- example: SELECT model, value FROM priv.report('patients', ['zip', 'age'], 'disease') WHERE model = 'k_anonymity'
-- expect: [('k_anonymity', 4.0)]
CREATE MACRO report(tbl, qis, sensitive, person) AS TABLE
WITH __priv_cells AS MATERIALIZED (FROM _cells(tbl, qis, sensitive, person)),
__priv_totals AS (
  SELECT part, value, sum(n) AS total, sum(sum(members)) OVER (PARTITION BY part) AS people
  FROM __priv_cells GROUP BY part, value
),
__priv_scale AS MATERIALIZED (
  SELECT s.part, s.value, place, cum, next_cum, before, through, total / people AS base,
    total / sum(total) OVER (PARTITION BY s.part) AS share,
    max(place) OVER (PARTITION BY s.part) AS kinds, max(through) OVER (PARTITION BY s.part) AS area
  FROM _scale(__priv_totals) AS s
  LEFT JOIN __priv_totals AS t ON place > 0 AND s.part = t.part AND s.value IS NOT DISTINCT FROM t.value
),
__priv_steps AS (
  SELECT c.part, class, size, pairs, n, r, base, share, kinds, place, before,
    max(r) OVER (PARTITION BY class) AS most,
    sum(n) OVER (PARTITION BY class ORDER BY place ROWS UNBOUNDED PRECEDING) / pairs AS own,
    coalesce(lead(place) OVER (PARTITION BY class ORDER BY place), kinds + 1) AS next_place,
    coalesce(lead(before) OVER (PARTITION BY class ORDER BY place), area) AS next_before
  FROM __priv_cells AS c
  JOIN __priv_scale AS s ON place > 0 AND c.part = s.part AND c.value IS NOT DISTINCT FROM s.value
),
__priv_classes AS (
  SELECT t.part, class, CAST(size AS BIGINT) AS size, most,
    CASE WHEN count(CASE WHEN r = most THEN 1 END) > 1 THEN most
      ELSE coalesce(max(CASE WHEN r < most THEN r END), 0) END AS second,
    _alpha(n, size) AS alpha, _distinct_l(r) AS distinct_l, _entropy_l(r, size) AS entropy_l,
    _t_equal(n / pairs, t.share) AS t_equal,
    _t_ordered(_stretch(own, t.place, t.before, next_place, next_before, s.place, through), t.before, t.kinds) AS t_ordered,
    _beta(n / size, t.base) AS beta, _enhanced_beta(n / size, t.base) AS enhanced_beta, _delta(n / size, t.base, t.kinds) AS delta,
    max(_epsilon(n, size, 0, n, size + 999999)) AS epsilon2, max(_epsilon(n, size, 0, 1 / t.kinds, 1)) AS epsilon3
  FROM __priv_steps AS t
  JOIN __priv_scale AS s ON 4 * t.part + own >= 4 * s.part + cum AND 4 * t.part + own < 4 * s.part + next_cum
  GROUP BY t.part, class, size, most, t.kinds
),
__priv_escapes AS (
  SELECT part, min((size - most) / size) AS least_escape FROM __priv_classes GROUP BY part
),
__priv_runners_up AS (
  SELECT c.part, least_escape, sum(CASE WHEN (size - most) / size = least_escape THEN 1 ELSE 0 END) AS leaders,
    min(CASE WHEN (size - most) / size > least_escape THEN (size - most) / size END) AS next_escape
  FROM __priv_classes AS c JOIN __priv_escapes AS e ON c.part = e.part
  GROUP BY c.part, least_escape
),
__priv_measured AS MATERIALIZED (
  SELECT c.part, size, alpha, distinct_l, entropy_l, t_equal, t_ordered, beta, enhanced_beta, delta, epsilon2, epsilon3,
    _recursive_c(most, size - most) AS recursive2, _recursive_c(most, size - most - second) AS recursive3,
    _negation_posterior(most, size - most) AS negation2, _negation_posterior(most, size - most - second) AS negation3,
    _one_implication(size, most, second, CASE WHEN (size - most) / size > least_escape OR leaders > 1 THEN least_escape
      ELSE coalesce(next_escape, 1) END) AS disclosure
  FROM __priv_classes AS c JOIN __priv_runners_up AS e ON c.part = e.part
),
__priv_worst AS (
  SELECT part, count(*) AS classes, sum(size) AS people, min(size) AS k, max(alpha) AS alpha, min(distinct_l) AS distinct_l,
    min(entropy_l) AS entropy_l, max(recursive2) AS recursive2, max(recursive3) AS recursive3, max(negation2) AS negation2,
    max(negation3) AS negation3, max(t_equal) AS t_equal, max(t_ordered) AS t_ordered, max(beta) AS beta,
    max(enhanced_beta) AS enhanced_beta, max(delta) AS delta, max(epsilon2) AS epsilon2, max(epsilon3) AS epsilon3,
    max(disclosure) AS disclosure, sum(CASE WHEN size = 1 THEN 1 ELSE 0 END) AS uniques
  FROM __priv_measured GROUP BY part
),
__priv_holders AS (
  SELECT m.part, min(CASE WHEN m.alpha = w.alpha THEN size END) AS alpha, min(CASE WHEN m.distinct_l = w.distinct_l THEN size END) AS distinct_l,
    min(CASE WHEN m.entropy_l = w.entropy_l THEN size END) AS entropy_l, min(CASE WHEN m.recursive2 = w.recursive2 THEN size END) AS recursive2,
    min(CASE WHEN m.recursive3 = w.recursive3 THEN size END) AS recursive3, min(CASE WHEN m.negation2 = w.negation2 THEN size END) AS negation2,
    min(CASE WHEN m.negation3 = w.negation3 THEN size END) AS negation3, min(CASE WHEN m.t_equal = w.t_equal THEN size END) AS t_equal,
    min(CASE WHEN m.t_ordered = w.t_ordered THEN size END) AS t_ordered, min(CASE WHEN m.beta = w.beta THEN size END) AS beta,
    min(CASE WHEN m.enhanced_beta = w.enhanced_beta THEN size END) AS enhanced_beta, min(CASE WHEN m.delta = w.delta THEN size END) AS delta,
    min(CASE WHEN m.epsilon2 = w.epsilon2 THEN size END) AS epsilon2, min(CASE WHEN m.epsilon3 = w.epsilon3 THEN size END) AS epsilon3,
    min(CASE WHEN m.disclosure = w.disclosure THEN size END) AS disclosure
  FROM __priv_measured AS m JOIN __priv_worst AS w ON m.part = w.part GROUP BY m.part
)
SELECT combinations[part]['fields'] AS qis, combinations[part]['secret'] AS sensitive,
  model, parameters, value,
  CASE WHEN value = CAST('Infinity' AS DOUBLE) THEN when_infinite
    ELSE before_value || CASE WHEN value = floor(value) AND abs(value) < 1e15 THEN CAST(CAST(value AS BIGINT) AS VARCHAR)
      ELSE CAST(CASE WHEN abs(value) < 0.0001 THEN value ELSE round(value, 4) END AS VARCHAR) END || after_value END AS meaning,
  worst_class_size
FROM (
  SELECT w.part AS part, place, model, parameters, before_value, after_value, when_infinite,
    CAST(CASE place WHEN 1 THEN w.k WHEN 2 THEN w.alpha WHEN 3 THEN w.distinct_l WHEN 4 THEN w.entropy_l
      WHEN 5 THEN w.recursive2 WHEN 6 THEN w.recursive3 WHEN 7 THEN w.negation2 WHEN 8 THEN w.negation3
      WHEN 9 THEN w.t_equal WHEN 10 THEN w.t_ordered WHEN 11 THEN w.beta WHEN 12 THEN w.enhanced_beta WHEN 13 THEN w.delta
      WHEN 14 THEN w.epsilon2 WHEN 15 THEN w.epsilon3 WHEN 16 THEN CAST('Infinity' AS DOUBLE) WHEN 17 THEN w.disclosure
      WHEN 18 THEN 1 / w.k WHEN 19 THEN w.classes / w.people WHEN 20 THEN w.uniques END AS DOUBLE) AS value,
    CASE place WHEN 2 THEN h.alpha WHEN 3 THEN h.distinct_l WHEN 4 THEN h.entropy_l WHEN 5 THEN h.recursive2
      WHEN 6 THEN h.recursive3 WHEN 7 THEN h.negation2 WHEN 8 THEN h.negation3 WHEN 9 THEN h.t_equal WHEN 10 THEN h.t_ordered
      WHEN 11 THEN h.beta WHEN 12 THEN h.enhanced_beta WHEN 13 THEN h.delta WHEN 14 THEN h.epsilon2 WHEN 15 THEN h.epsilon3
      WHEN 17 THEN h.disclosure ELSE w.k END AS worst_class_size
  FROM __priv_worst AS w JOIN __priv_holders AS h ON w.part = h.part, (FROM _models())
  UNION ALL
  SELECT NULL, NULL, NULL, NULL, NULL, NULL, NULL, _unless_empty(NULL), NULL FROM __priv_worst HAVING count(*) = 0
), (SELECT _combinations(qis, sensitive) AS combinations)
ORDER BY part, place;

-- The models of the report with their sentences: the value goes between the two halves, infinity has its own.
CREATE MACRO _models() AS TABLE
SELECT place, model, parameters, before_value, after_value, when_infinite FROM (VALUES
  (1, 'k_anonymity', '', 'The smallest class has ', ' members: nobody can be singled out among fewer by the quasi-identifiers alone.', ''),
  (2, 'alpha_k_anonymity', '', 'In some class one value has a share of ', ': so sure an attacker can be of it.', ''),
  (3, 'l_diversity', 'distinct', 'The poorest class has ', ' different sensitive values; 1 means that somebody''s value is known.', ''),
  (4, 'l_diversity', 'entropy', 'The least mixed class is as uncertain as ', ' equally likely values.', ''),
  (5, 'recursive_diversity', 'l = 2', 'Recursive (c, 2)-diversity holds for every c above ', '.', 'Some class has a single sensitive value: no c gives (c, 2)-diversity.'),
  (6, 'recursive_diversity', 'l = 3', 'Recursive (c, 3)-diversity holds for every c above ', '.', 'Some class has fewer than 3 sensitive values: no c gives (c, 3)-diversity.'),
  (7, 'negation_diversity', 'l = 2', 'An attacker who rules out no value believes the right one with up to ', '.', ''),
  (8, 'negation_diversity', 'l = 3', 'An attacker who can rule out one value believes the right one with up to ', '.', ''),
  (9, 't_closeness', '', 'The farthest class is ', ' away from the table as a whole, all values equally far apart.', ''),
  (10, 't_closeness_ordered', '', 'The farthest class is ', ' away from the table as a whole, the values taken in their order.', ''),
  (11, 'beta_likeness', '', 'Belief in a value grows by at most ', ' of itself over what the table as a whole tells.', ''),
  (12, 'enhanced_beta_likeness', '', 'Enhanced beta-likeness holds from beta = ', ' on.', 'Belief in some value grows beyond -ln p: no beta gives enhanced beta-likeness.'),
  (13, 'delta_disclosure', '', 'Beliefs change by a factor below e^delta for every delta above ', '.', 'Some class lacks a value of the table: no delta gives delta-disclosure privacy.'),
  (14, 'epsilon_class2', 'sigma = 1000000, b = 0', 'An attacker of any prior and stubbornness 10^6 changes belief by a factor of at most ', '.', 'Some class has a single value: no epsilon holds against an attacker of stubbornness 10^6.'),
  (15, 'epsilon_class3', 'shape = uniform, b = 0', 'An attacker who stubbornly believes all values equally likely changes belief by a factor of at most ', '.', 'Some class has a single value: no epsilon holds against an attacker with a uniform prior.'),
  (16, 'epsilon_class4', '', '', '', 'Against all attackers at once no generalized table is private.'),
  (17, 'ck_safety', 'k = 1', 'Knowing one implication between people, an attacker believes a value with up to ', '.', ''),
  (18, 'risk', 'prosecutor', 'Who knows that a person is in the table finds the record with a chance of ', '.', ''),
  (19, 'risk', 'marketer', 'Matching everybody, an attacker gets on average a share of ', ' right.', ''),
  (20, 'risk', 'uniques', '', ' classes hold a single member.', '')
) AS m(place, model, parameters, before_value, after_value, when_infinite);

-- The worst belief in a value given one implication (ck_safety with k = 1, in closed form): the atom goes on the same class,
-- on the same person or on another, or on the class of the rest where it is most likely to hold.
CREATE MACRO _one_implication(size, most, second, escape_elsewhere) AS
(1 / (1 + least(
  greatest(size - most - second, 0) / most,
  CASE WHEN size > 1 THEN (size - most) * greatest(size - most - 1, 0) / (most * (size - 1)) ELSE 0 END,
  (size - most) / most * escape_elsewhere)));

-- The combinations to report: each list of quasi-identifiers with each sensitive column.
CREATE MACRO _combinations(qis, sensitive) AS
flatten(list_transform(
  CASE WHEN typeof(qis) = 'VARCHAR[][]'
    THEN CASE WHEN len(qis) = 0 THEN error('sqlpriv: no quasi-identifier is named') ELSE TRY_CAST(qis AS VARCHAR[][]) END
    ELSE [TRY_CAST(CASE WHEN typeof(qis) = 'VARCHAR[]' THEN qis
      ELSE error('sqlpriv: the quasi-identifiers must be a list of column names, or a list of such lists') END AS VARCHAR[])] END,
  lambda __priv_q: list_transform(
    CASE WHEN typeof(sensitive) = 'VARCHAR[]'
      THEN CASE WHEN len(sensitive) = 0 THEN error('sqlpriv: no sensitive column is named') ELSE TRY_CAST(sensitive AS VARCHAR[]) END
      ELSE [_column(sensitive)] END,
    lambda __priv_s: {'fields': _columns(__priv_q), 'secret': _sensitive(__priv_q, __priv_s)})));

-- SQL text that gives the histogram of every combination, the number of the combination as part. The table is
-- aggregated once, by all columns that are named; with one combination that is already the answer.
CREATE MACRO _cells_text(tbl, combinations) AS
list_transform([combinations], lambda __priv_all: list_transform([_named(__priv_all)], lambda __priv_names:
  CASE WHEN len(__priv_all) = 1
    THEN 'SELECT 1 AS part, ROW(' || _fields(__priv_all[1]['fields']) || ') AS class, ' || _field(__priv_all[1]['secret'])
      || ' AS value, count(*) AS n' || _from(tbl) || ' GROUP BY ' || _fields(list_concat(__priv_all[1]['fields'], [__priv_all[1]['secret']]))
    ELSE 'WITH __priv_joint AS MATERIALIZED (SELECT ' || _fields(__priv_names) || ', count(*) AS __priv_n'
      || _from(tbl) || ' GROUP BY ' || _fields(__priv_names) || ') '
      || array_to_string(list_transform(__priv_all, lambda __priv_combination, __priv_i:
        'SELECT ' || _part_text(__priv_names, __priv_combination, __priv_i) || ', sum(__priv_t.__priv_n) AS n FROM __priv_joint AS __priv_t GROUP BY '
        || _fields(list_concat(__priv_combination['fields'], [__priv_combination['secret']]))), ' UNION ALL ') END)[1])[1];

-- The same for persons: who of which class has which value, in every combination.
CREATE MACRO _people_text(tbl, combinations, person) AS
list_transform([combinations], lambda __priv_all: list_transform([_named(__priv_all)], lambda __priv_names:
  'WITH __priv_joint AS MATERIALIZED (SELECT DISTINCT ' || _fields(__priv_names) || ', '
  || _field(_column(person)) || ' AS __priv_holder' || _from(tbl) || ') '
  || array_to_string(list_transform(__priv_all, lambda __priv_combination, __priv_i:
    'SELECT DISTINCT ' || _part_text(__priv_names, __priv_combination, __priv_i)
    || ', __priv_t.__priv_holder AS holder FROM __priv_joint AS __priv_t'), ' UNION ALL '))[1])[1];

-- All columns that the combinations name.
CREATE MACRO _named(combinations) AS
list_sort(list_distinct(flatten(list_transform(combinations, lambda __priv_combination: list_concat(__priv_combination['fields'], [__priv_combination['secret']])))));

-- SQL text of part, class and value of one combination. Class and value are rows over all columns, NULL where a column is
-- not theirs, so that those of all combinations are of one type and, numbered, never equal across combinations.
CREATE MACRO _part_text(names, combination, number) AS
(number || ' AS part, ' || _only(names, combination['fields'], number) || ' AS class, '
  || _only(names, [combination['secret']], number) || ' AS value');
CREATE MACRO _only(names, own, number) AS
('ROW(' || number || ', ' || array_to_string(list_transform(names, lambda __priv_k:
  CASE WHEN list_contains(own, __priv_k) THEN _field(__priv_k) ELSE 'NULL' END), ', ') || ')');

-- The histograms of all combinations with the columns of _histogram.
CREATE MACRO _cells(tbl, qis, sensitive) AS TABLE
SELECT part, class, value, n, n AS members, n AS r,
  sum(n) OVER (PARTITION BY class) AS size, sum(n) OVER (PARTITION BY class) AS pairs
FROM query(_cells_text(tbl, _combinations(qis, sensitive)));
CREATE MACRO _cells(tbl, qis, sensitive, person) AS TABLE
WITH __priv_people AS (FROM query(_people_text(tbl, _combinations(qis, sensitive), person)))
SELECT parts.part, c.class, c.value, c.n, c.members, c.r, c.size, c.pairs
FROM _concentrated(_tallied(__priv_people)) AS c
JOIN (SELECT DISTINCT part, class FROM __priv_people) AS parts ON c.class IS NOT DISTINCT FROM parts.class;
