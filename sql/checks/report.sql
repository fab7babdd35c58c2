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
__priv_people AS MATERIALIZED (
  SELECT part, class, row_number() OVER () AS id, CAST(sum(members) AS BIGINT) AS size, sum(n) AS pairs, max(r) AS most
  FROM __priv_cells GROUP BY part, class
),
__priv_totals AS MATERIALIZED (
  SELECT part, value, sum(n) AS total, sum(sum(members)) OVER (PARTITION BY part) AS people
  FROM __priv_cells GROUP BY part, value
),
__priv_scale AS MATERIALIZED (FROM _scale(__priv_totals)),
__priv_escapes AS (
  SELECT part, escape AS least_escape, alike, lead(escape) OVER (PARTITION BY part ORDER BY escape) AS next_escape
  FROM (SELECT part, (size - most) / size AS escape, count(*) AS alike FROM __priv_people GROUP BY ALL)
  QUALIFY row_number() OVER (PARTITION BY part ORDER BY escape) = 1
),
__priv_measured AS MATERIALIZED (
  SELECT c.part, id, size, most / size AS alpha, distinct_l, entropy_l, t_equal, shift, reach, beta, enhanced_beta, delta,
    _recursive_c(most, size - most) AS recursive2, _recursive_c(most, size - most - second) AS recursive3,
    _epsilon(most, size, 0, most, size + greatest(1000000, kinds) - 1) AS epsilon2, _epsilon(most, size, 0, 1 / kinds, 1) AS epsilon3,
    _one_implication(size, most, second, CASE WHEN (size - most) / size > least_escape OR alike > 1 THEN least_escape
      ELSE coalesce(next_escape, 1) END) AS disclosure
  FROM (
    SELECT k.part, id, size, most, kinds, _second(r, most) AS second, _distinct_l(r) AS distinct_l, _entropy_l(r, size) AS entropy_l,
      _t_equal(n / pairs, share) AS t_equal, _shift(n / pairs, place, mean_place, kinds) AS shift,
      _reach(n / pairs, share, arm, mean_arm, kinds) AS reach,
      _beta(n, size, base) AS beta, _enhanced_beta(n, size, base, ceiling) AS enhanced_beta, _delta(n, size, base, kinds) AS delta
    FROM __priv_cells AS c
    JOIN __priv_people AS k ON c.class IS NOT DISTINCT FROM k.class
    JOIN __priv_scale AS s ON place > 0 AND c.part = s.part AND c.value IS NOT DISTINCT FROM s.value
    GROUP BY k.part, id, size, most, kinds, mean_place, mean_arm
  ) AS c JOIN __priv_escapes AS e ON c.part = e.part
),
__priv_worst AS MATERIALIZED (
  SELECT part, count(*) AS classes, sum(size) AS people, min(size) AS k, max(alpha) AS alpha, min(distinct_l) AS distinct_l,
    min(entropy_l) AS entropy_l, max(recursive2) AS recursive2, max(recursive3) AS recursive3, max(t_equal) AS t_equal, max(shift) AS shift,
    max(beta) AS beta, max(enhanced_beta) AS enhanced_beta, max(delta) AS delta, max(epsilon2) AS epsilon2, max(epsilon3) AS epsilon3,
    max(disclosure) AS disclosure, sum(CASE WHEN size = 1 THEN 1 ELSE 0 END) AS uniques
  FROM __priv_measured GROUP BY part
),
-- The ordered distance lies between shift and reach, so only a class whose reach comes up to the largest shift can be the worst.
__priv_steps AS MATERIALIZED (
  SELECT k.part, k.id, k.size, place, before, cum, kinds, area,
    sum(n) OVER (PARTITION BY k.id ORDER BY place ROWS UNBOUNDED PRECEDING) / pairs AS own,
    lead(place) OVER (PARTITION BY k.id ORDER BY place) AS next_place,
    lead(before) OVER (PARTITION BY k.id ORDER BY place) AS next_before
  FROM __priv_measured AS m
  JOIN __priv_worst AS w ON m.part = w.part AND m.reach + 2e-12 >= w.shift
  JOIN __priv_people AS k ON m.id = k.id
  JOIN __priv_cells AS c ON c.class IS NOT DISTINCT FROM k.class
  JOIN __priv_scale AS s ON place > 0 AND c.part = s.part AND c.value IS NOT DISTINCT FROM s.value
),
__priv_ordered AS (
  SELECT part, max(t_ordered) AS t_ordered, min(size) AS t_ordered_size
  FROM (
    SELECT part, size, t_ordered, max(t_ordered) OVER (PARTITION BY part) AS worst_ordered
    FROM (
      SELECT part, size, _t_ordered(own, cum, place, next_place, before, any_value(gap), kinds) AS t_ordered
      FROM __priv_steps AS t LEFT JOIN _gaps(__priv_steps, __priv_scale) AS g ON t.id = g.id
      GROUP BY part, t.id, size, kinds
    )
  )
  WHERE _attains(t_ordered, worst_ordered)
  GROUP BY part
),
__priv_figures AS (
  SELECT part, figures, [k, alpha, distinct_l, entropy_l, alpha, recursive3, alpha, recursive3, t_equal, t_ordered_size, beta, enhanced_beta,
    delta, epsilon2, alpha, k, disclosure, k, k, k] AS sizes
  FROM (
    SELECT part, k, min(CASE WHEN m.alpha = w.alpha THEN size END) AS alpha, min(CASE WHEN m.distinct_l = w.distinct_l THEN size END) AS distinct_l,
      min(CASE WHEN _attains(w.entropy_l, m.entropy_l) THEN size END) AS entropy_l, min(CASE WHEN m.recursive3 = w.recursive3 THEN size END) AS recursive3,
      min(CASE WHEN _attains(m.t_equal, w.t_equal) THEN size END) AS t_equal, min(CASE WHEN _attains(m.beta, w.beta) THEN size END) AS beta,
      min(CASE WHEN _attains(m.enhanced_beta, w.enhanced_beta) THEN size END) AS enhanced_beta, min(CASE WHEN _attains(m.delta, w.delta) THEN size END) AS delta,
      min(CASE WHEN m.epsilon2 = w.epsilon2 THEN size END) AS epsilon2, min(CASE WHEN _attains(m.disclosure, w.disclosure) THEN size END) AS disclosure
    FROM __priv_measured AS m JOIN __priv_worst AS w USING (part)
    GROUP BY part, k
  )
  JOIN (
    SELECT part, t_ordered_size, CAST([k, alpha, distinct_l, entropy_l, recursive2, recursive3, alpha, _negation_from(recursive3), t_equal, t_ordered,
      beta, enhanced_beta, delta, epsilon2, epsilon3, CAST('Infinity' AS DOUBLE), disclosure, 1 / k, classes / people, uniques] AS DOUBLE[]) AS figures
    FROM __priv_worst JOIN __priv_ordered USING (part)
  ) USING (part)
)
SELECT _list_of(_qi_lists(qis), _secrets(sensitive), part) AS qis, _secret_of(_secrets(sensitive), part) AS sensitive, model, parameters, value,
  _meaning(value, before_value, after_value, when_infinite) AS meaning, worst_class_size
FROM (
  SELECT part, place, model, parameters, before_value, after_value, when_infinite,
    figures[place] AS value, sizes[place] AS worst_class_size
  FROM __priv_figures, (FROM _models())
  UNION ALL
  SELECT none, none, CAST(none AS VARCHAR), CAST(none AS VARCHAR), NULL, NULL, NULL, none, none
  FROM (SELECT _unless_empty(CAST(NULL AS BIGINT)) AS none FROM __priv_figures HAVING _unless_empty(false))
)
ORDER BY part, place;

-- Whether a measure is the worst one up to rounding: what several operations gave may differ in the last digit between
-- two classes that are equally bad. Single divisions do not.
CREATE MACRO _attains(measure, worst) AS (measure >= worst * (1 - _hair()) - _hair());

-- The sentence of a value: whole numbers as they are, others with four digits.
CREATE MACRO _meaning(value, before_value, after_value, when_infinite) AS
CASE WHEN value = CAST('Infinity' AS DOUBLE) THEN when_infinite
  ELSE before_value || CASE WHEN value = floor(value) AND abs(value) < 1e15 THEN CAST(CAST(value AS BIGINT) AS VARCHAR)
    ELSE CAST(CASE WHEN abs(value) < 0.0001 THEN value ELSE round(value, 4) END AS VARCHAR) END || after_value END;

-- The models of the report with their sentences: the value goes between the two halves, infinity has its own.
CREATE MACRO _models() AS TABLE
SELECT place, model, parameters, before_value, after_value, when_infinite FROM (VALUES
  (1, 'k_anonymity', '', 'Size of the smallest class of people with the same quasi-identifiers: ', '.', ''),
  (2, 'alpha_k_anonymity', '', 'In some class one value has a share of ', ': an attacker can be that sure of it.', ''),
  (3, 'l_diversity', 'distinct', 'Number of different sensitive values in the poorest class: ', '; 1 means that somebody''s value is known.', ''),
  (4, 'l_diversity', 'entropy', 'The least mixed class is as uncertain as ', ' equally likely values.', ''),
  (5, 'recursive_diversity', 'l = 2', 'Recursive (c, 2)-diversity holds for every c above ', '.', 'Some class has a single sensitive value: no c gives (c, 2)-diversity.'),
  (6, 'recursive_diversity', 'l = 3', 'Recursive (c, 3)-diversity holds for every c above ', '.', 'Some class has fewer than 3 sensitive values: no c gives (c, 3)-diversity.'),
  (7, 'negation_diversity', 'l = 2', 'An attacker who rules out no value believes the right one with a probability of up to ', '.', ''),
  (8, 'negation_diversity', 'l = 3', 'An attacker who can rule out one value believes the right one with a probability of up to ', '.', ''),
  (9, 't_closeness', '', 'The farthest class is ', ' away from the table as a whole, all values equally far apart.', ''),
  (10, 't_closeness_ordered', '', 'The farthest class is ', ' away from the table as a whole, the values taken in their order.', ''),
  (11, 'beta_likeness', '', 'Belief in a value grows by at most ', ' times itself over what the table as a whole reveals.', ''),
  (12, 'enhanced_beta_likeness', '', 'Enhanced beta-likeness holds from beta = ', ' on.', 'Belief in some value grows beyond -ln p: no beta gives enhanced beta-likeness.'),
  (13, 'delta_disclosure', '', 'Beliefs change by a factor below e^delta for every delta above ', '.', 'Some class lacks a value of the table: no delta gives delta-disclosure privacy.'),
  (14, 'epsilon_class2', 'sigma = 1000000, b = 0', 'An attacker of any prior and stubbornness 10^6 changes belief by a factor of at most ', '.', 'Some class has a single value: no epsilon holds against an attacker of stubbornness 10^6.'),
  (15, 'epsilon_class3', 'shape = uniform, b = 0', 'An attacker who stubbornly believes all values equally likely changes belief by a factor of at most ', '.', 'Some class has a single value: no epsilon holds against an attacker with a uniform prior.'),
  (16, 'epsilon_class4', '', '', '', 'Against all attackers at once no generalized table is private.'),
  (17, 'ck_safety', 'k = 1', 'Knowing one implication between people, an attacker believes a value with a probability of up to ', '.', ''),
  (18, 'risk', 'prosecutor', 'An attacker who knows that a person is in the table finds the record with a chance of ', '.', ''),
  (19, 'risk', 'marketer', 'Matching everybody, an attacker gets on average a share of ', ' right.', ''),
  (20, 'risk', 'uniques', 'Number of classes with a single member: ', '.', '')
) AS m(place, model, parameters, before_value, after_value, when_infinite);

-- The worst belief in a value given one implication (ck_safety with k = 1, in closed form): the atom goes on the same class,
-- on the same person or on another, or on the class of the rest where it is most likely to hold.
CREATE MACRO _one_implication(size, most, second, escape_elsewhere) AS
(1 / (1 + least(
  greatest(size - most - second, 0) / most,
  CASE WHEN size > 1 THEN (size - most) * greatest(size - most - 1, 0) / (most * (size - 1)) ELSE 0 END,
  (size - most) / most * escape_elsewhere)));

-- The lists of quasi-identifiers and the sensitive columns to report, whichever way they are given. Combination i pairs
-- list (i - 1) // len(secrets) + 1 with secret (i - 1) % len(secrets) + 1.
CREATE MACRO _qi_lists(qis) AS
CASE WHEN typeof(qis) = 'VARCHAR[][]' THEN TRY_CAST(qis AS VARCHAR[][]) ELSE [TRY_CAST(qis AS VARCHAR[])] END;
CREATE MACRO _secrets(sensitive) AS
CASE WHEN typeof(sensitive) = 'VARCHAR[]' THEN TRY_CAST(sensitive AS VARCHAR[]) ELSE [CAST(sensitive AS VARCHAR)] END;
CREATE MACRO _list_of(lists, secrets, number) AS (lists[(number - 1) // len(secrets) + 1]);
CREATE MACRO _secret_of(secrets, number) AS (secrets[(number - 1) % len(secrets) + 1]);

-- An empty text, or the refusal of what _columns and _sensitive refuse, for lists. A NULL or a control character in
-- a name shows in the count of the names put together and taken apart again.
CREATE MACRO _checked(qis, sensitive, lists, secrets) AS
CASE
  WHEN typeof(qis) NOT IN ('VARCHAR[]', 'VARCHAR[][]', '"NULL"[]')
    THEN error('sqlpriv: the quasi-identifiers must be a list of column names, or a list of such lists')
  WHEN typeof(sensitive) NOT IN ('VARCHAR', 'VARCHAR[]')
    THEN error('sqlpriv: the sensitive column must be given by its name, or several in a list')
  WHEN len(lists) = 0 OR list_contains(lists, []) OR list_count(lists) < len(lists) THEN error('sqlpriv: no quasi-identifier is named')
  WHEN len(secrets) = 0 THEN error('sqlpriv: no sensitive column is named')
  WHEN coalesce(len(string_split(_joined(flatten(lists)), chr(31))) <> len(flatten(lists)), true)
    OR coalesce(len(string_split(_joined(secrets), chr(31))) <> len(secrets), true)
    THEN error('sqlpriv: the name of a column is NULL or holds a control character')
  WHEN contains(_joined(flatten(lists)) || chr(31) || _joined(secrets), '__priv_')
    THEN error('sqlpriv: names that start with __priv_ are reserved')
  WHEN list_has_any(string_split(_joined(flatten(lists)), chr(31)), string_split(_joined(secrets), chr(31)))
    THEN error('sqlpriv: the sensitive column is among the quasi-identifiers')
  ELSE ''
END;

-- SQL text that gives the histogram of every combination, the number of the combination as part. The table is
-- aggregated once, by all columns that are named; with one combination that is already the answer, else classes and
-- values are numbered, so that those of all combinations are of one type. The two lambdas only name the lists.
CREATE MACRO _cells_text(tbl, qis, sensitive) AS
list_transform([_qi_lists(qis)], lambda __priv_l: list_transform([_secrets(sensitive)], lambda __priv_s:
  list_transform([_fields(_named(__priv_l, __priv_s))], lambda __priv_f: _checked(qis, sensitive, __priv_l, __priv_s)
  || CASE WHEN len(__priv_l) * len(__priv_s) = 1
    THEN 'SELECT 1 AS part, ROW(' || _fields(__priv_l[1]) || ', ' || _unmarked() || ') AS class, ' || _field(__priv_s[1]) || ' AS value, ' || _rows_in(tbl) || ' AS n'
      || _from_counted(tbl) || ' WHERE NOT ' || _by_text(__priv_l[1], _named(__priv_l, __priv_s)) || ' GROUP BY ' || __priv_f
      || ' UNION ALL SELECT 1 AS part, ROW(' || _fields(__priv_l[1]) || ', __priv_t.__priv_marks) AS class, ' || _field(__priv_s[1]) || ' AS value, __priv_t.__priv_n AS n'
      || ' FROM (SELECT ' || __priv_f || ', ' || _marks(__priv_l[1]) || ' AS __priv_marks, ' || _rows_in(tbl) || ' AS __priv_n' || _read_alike(tbl, _named(__priv_l, __priv_s)) || ' WHERE ' || _by_text(__priv_l[1], _named(__priv_l, __priv_s))
      || ' GROUP BY ALL) AS __priv_t'
    ELSE 'WITH __priv_joint AS MATERIALIZED (SELECT ' || __priv_f || _no_marks(flatten(__priv_l)) || ', ' || _rows_in(tbl) || ' AS __priv_n' || _from_counted(tbl)
      || ' WHERE NOT ' || _by_text(flatten(__priv_l), _named(__priv_l, __priv_s)) || ' GROUP BY ' || __priv_f
      || ' UNION ALL SELECT ' || __priv_f || _own_marks(flatten(__priv_l)) || ', ' || _rows_in(tbl) || ' AS __priv_n' || _read_alike(tbl, _named(__priv_l, __priv_s)) || ' WHERE ' || _by_text(flatten(__priv_l), _named(__priv_l, __priv_s)) || ' GROUP BY ALL) '
      || list_aggr(list_transform(range(1, len(__priv_l) * len(__priv_s) + 1), lambda __priv_i:
      _part_text(_marked_fields(_list_of(__priv_l, __priv_s, __priv_i)), _field(_secret_of(__priv_s, __priv_i)), __priv_i,
        'sum(__priv_t.__priv_n) AS n', '')), 'string_agg', ' UNION ALL ') END)[1])[1])[1];

-- The same for persons: who of which class has which value, in every combination.
CREATE MACRO _people_text(tbl, qis, sensitive, person) AS
list_transform([_qi_lists(qis)], lambda __priv_l: list_transform([_secrets(sensitive)], lambda __priv_s:
  _checked(qis, sensitive, __priv_l, __priv_s)
  || 'WITH __priv_joint AS MATERIALIZED (SELECT DISTINCT ' || _fields(_named(__priv_l, __priv_s)) || _no_marks(flatten(__priv_l)) || ', '
  || _holder(person) || ' AS __priv_holder' || _from_counted(tbl) || ' WHERE NOT ' || _by_text(flatten(__priv_l), _named(__priv_l, __priv_s))
  || ' UNION ALL SELECT DISTINCT ' || _fields(_named(__priv_l, __priv_s)) || _own_marks(flatten(__priv_l)) || ', '
  || _holder(person) || ' AS __priv_holder' || _read_alike(tbl, _named(__priv_l, __priv_s)) || ' WHERE ' || _by_text(flatten(__priv_l), _named(__priv_l, __priv_s)) || ') '
  || array_to_string(list_transform(range(1, len(__priv_l) * len(__priv_s) + 1), lambda __priv_i:
      _part_text(_marked_fields(_list_of(__priv_l, __priv_s, __priv_i)), _field(_secret_of(__priv_s, __priv_i)), __priv_i,
        '__priv_t.__priv_holder AS holder', ', __priv_t.__priv_holder')), ' UNION ALL '))[1])[1];

-- SQL text of the marks of columns, each in a column of its own: without any, as they are, and after the fields they belong to.
CREATE MACRO _no_marks(names) AS
list_aggr(list_transform(list_distinct(names), lambda __priv_n: concat(', CAST(NULL AS BLOB) AS ', _quoted('__priv_m' || __priv_n))), 'string_agg', '');
CREATE MACRO _own_marks(names) AS
list_aggr(list_transform(list_distinct(names), lambda __priv_n: concat(', ', _mark(_field(__priv_n)), ' AS ', _quoted('__priv_m' || __priv_n))), 'string_agg', '');
CREATE MACRO _marked_fields(names) AS concat(_fields(names), ', ', replace(_fields(names), '__priv_t."', '__priv_t."__priv_m'));

-- All columns that the combinations name.
CREATE MACRO _named(lists, secrets) AS list_distinct(list_concat(flatten(lists), secrets));

-- SQL text of one combination: its classes and values numbered in their order.
CREATE MACRO _part_text(fields, secret, number, measure, grouped) AS
list_transform([fields], lambda __priv_f: 'SELECT ' || number || ' AS part, ROW(' || number || ', dense_rank() OVER (ORDER BY ' || __priv_f
  || ')) AS class, dense_rank() OVER (ORDER BY ' || secret || ' NULLS LAST) AS value, ' || measure
  || ' FROM __priv_joint AS __priv_t GROUP BY ' || __priv_f || ', ' || secret || grouped)[1];

-- The histograms of all combinations with the columns of _histogram but size and pairs.
CREATE MACRO _cells(tbl, qis, sensitive) AS TABLE
SELECT part, class, value, n, n AS members, n AS r FROM query(_cells_text(tbl, qis, sensitive));
CREATE MACRO _cells(tbl, qis, sensitive, person) AS TABLE
WITH __priv_people AS MATERIALIZED (FROM query(_people_text(tbl, qis, sensitive, person)))
SELECT parts.part, c.class, c.value, c.n, c.members, c.r
FROM _concentrated(_tallied(__priv_people)) AS c
JOIN (SELECT DISTINCT part, class FROM __priv_people) AS parts ON c.class IS NOT DISTINCT FROM parts.class;

-- How far the mean place of a class lies from the table's: a lower bound of the ordered distance, and cheap.
CREATE MACRO _shift(own, place, mean_place, kinds) AS
CASE WHEN kinds <= 1 THEN 0.0 ELSE abs(sum(own * place) - mean_place) / (kinds - 1) END;

-- An upper bound of it, as cheap: what it costs to bring every surplus to the middle place and every deficit from there.
CREATE MACRO _reach(own, share, arm, mean_arm, kinds) AS
CASE WHEN kinds <= 1 THEN 0.0 ELSE (mean_arm + sum((abs(own - share) - share) * arm)) / (kinds - 1) END;

-- The belief that belongs to a recursive c: r1 / (r1 + tail) where c is r1 / tail.
CREATE MACRO _negation_from(c) AS CASE WHEN c = CAST('Infinity' AS DOUBLE) THEN 1.0 ELSE c / (1 + c) END;

-- The second largest count of one class, 0 if there is none.
CREATE MACRO _second(r, most) AS
CASE WHEN count(CASE WHEN r = most THEN 1 END) > 1 THEN most ELSE coalesce(max(CASE WHEN r < most THEN r END), 0) END;
