-- disclosure_risk(tbl, dictionary, links, phi, psi) -> records, found, prohibited, risk, median, p90, p99, worst
-- How bad it is to disclose a table to one who holds the dictionary (Lebanon et al. 2009): the mean loss of its records, where the loss is phi if the person is
-- identified (see identification) and psi if not, p phi + (1 - p) psi. phi and psi are numbers, or expressions over the columns of the table, such as a column
-- made by sensitivity. found: records with a consistent entry; prohibited: those whose loss is infinite; and the distribution of the losses.
-- nulls: NULL and `*` match everything; phi and psi must not be NULL.
-- guarantee: exact for this dictionary. With the private table itself as dictionary it bounds the risk against every dictionary above that (see
-- dictionary_order), where phi is at least psi (Proposition 1). A k-anonymous table has no loss above phi / k (Proposition 2). infinity x 0 = 0; no
-- consistent entry: the loss is psi.
-- example: FROM priv.disclosure_risk('members', 'phone_book', [{record: 'city', entry: 'city', hierarchy: 'cities'}, {record: 'born', entry: 'born', hierarchy: 'births'}], 10, 0)
-- expect: [(4, 3, 0, 4.25, 2.0, 10.0, 10.0, 10.0)]
CREATE MACRO disclosure_risk(tbl, dictionary, links, phi, psi) AS TABLE
SELECT count(*) AS records, count(*) FILTER (entries > 0) AS found, count(*) FILTER (isinf(loss)) AS prohibited, _mean(loss) AS risk,
  quantile_disc(loss, 0.5) AS median, quantile_disc(loss, 0.9) AS p90, quantile_disc(loss, 0.99) AS p99, max(loss) AS worst
FROM query(_losses(tbl, [dictionary], links, _link_keys(), phi, psi, ''));

-- disclosure_risk_records(tbl, dictionary, links, phi, psi, threshold) -> record, entries, p, loss
-- The records whose loss is above the threshold, worst first, with the number of their consistent entries.
-- nulls: as in disclosure_risk.
-- guarantee: no row comes back exactly when the worst loss is at most the threshold.
-- example: SELECT record.id, entries, loss FROM priv.disclosure_risk_records('members', 'phone_book', [{record: 'city', entry: 'city', hierarchy: 'cities'}], 10, 0, 2.4)
-- expect: [(4, 1, 10.0), (1, 4, 2.5), (2, 4, 2.5)]
CREATE MACRO disclosure_risk_records(tbl, dictionary, links, phi, psi, threshold) AS TABLE
SELECT __priv_record AS record, entries, p, loss
FROM query(_losses(tbl, [dictionary], links, _link_keys(), phi, psi, '__priv_t AS __priv_record, '))
WHERE _above(loss, threshold) ORDER BY loss DESC, n;

-- bayes_risk(tbl, dictionaries, links, phi, psi) -> bayes, minimax, bound
-- The risk when it is not known which of several dictionaries an attacker holds: MAP {'phone_book': 0.7, 'voters': 0.3} gives each a prior. bayes is the risk by these
-- priors, minimax that against the worst of them, and bound the mean over the records of the worst loss of each. A link that only one dictionary has names it:
-- {record: 'born', entry: 'born', dictionary: 'voters'}; for the others that attribute is unknown.
-- nulls: as in disclosure_risk.
-- guarantee: bayes <= minimax <= bound, all exact. bound holds also against one who uses another dictionary for every record.
-- example: FROM priv.bayes_risk('members', MAP {'phone_book': 0.75, 'cities': 0.25}, [{record: 'city', entry: 'city', hierarchy: 'cities'}], 12, 0)
-- expect: [(6.45, 10.5, 10.5)]
CREATE MACRO bayes_risk(tbl, dictionaries, links, phi, psi) AS TABLE
WITH __priv_losses AS (
  FROM query(_losses(tbl, map_keys(_priors(dictionaries)), links, list_append(_link_keys(), 'dictionary'), phi, psi, ''))
),
__priv_dictionaries AS (SELECT map_values(_priors(dictionaries))[which] AS prior, _mean(loss) AS risk FROM __priv_losses GROUP BY which),
__priv_records AS (SELECT max(loss) AS loss FROM __priv_losses GROUP BY n)
SELECT _taken_together('bayes', prior, risk) AS bayes, max(risk) AS minimax, (SELECT _mean(loss) FROM __priv_records) AS bound
FROM __priv_dictionaries;

-- dictionary_order(dictionary, other, id, links) -> entries, absent, sharper, precedes
-- Whether a dictionary precedes another (Definition 5, Lebanon et al. 2009): each of its entries stands in the other one with the same id, and no cell there says
-- more than here. absent counts the entries that the other one lacks, sharper those it has only with a cell that says more, or something else.
-- nulls: a NULL or `*` says least. An id is never NULL.
-- guarantee: where it precedes, the risk against the other one is at most the risk against this one, for each record that this one holds, if phi is at least psi
-- (Proposition 1). The links must name all attributes by which the other one is linked. An id that this one holds twice is an error.
-- example: FROM priv.dictionary_order('phone_book', 'town_book', 'name', [{record: 'city', entry: 'city', hierarchy: 'cities'}])
-- expect: [(5, 1, 1, False)]
CREATE MACRO dictionary_order(dictionary, other, id, links) AS TABLE
FROM query(list_transform([_links(links, ['record', 'entry', 'hierarchy'])], lambda __priv_links: concat(
  _both(dictionary, [other], __priv_links, concat('TRY_CAST(', _field(_column(id)), ' AS VARCHAR) AS __priv_id, ')),
  ', __priv_o AS MATERIALIZED (SELECT TRY_CAST(', _field(id), ' AS VARCHAR) AS __priv_id, ', _link_cells(__priv_links, 'entry'), _from(other), _plainly(__priv_links, 'entry'), ')',
  _nodes(__priv_links, 'SELECT __priv_v# AS node FROM __priv_r UNION SELECT __priv_v# FROM __priv_o', 'the hierarchy of link #'),
  ', __priv_a AS MATERIALIZED (', _placed(len(__priv_links), 't.id', concat('(SELECT __priv_id AS id, ', _repeated(len(__priv_links), '__priv_v# AS v#', ', '), ' FROM __priv_r)'), 'the hierarchy of link #', 'dictionary'), ')',
  ', __priv_b AS MATERIALIZED (', _placed(len(__priv_links), 't.id', concat('(SELECT __priv_id AS id, ', _repeated(len(__priv_links), '__priv_v# AS v#', ', '), ' FROM __priv_o)'), 'the hierarchy of link #', 'other dictionary'), ')',
  ', __priv_m AS (SELECT a.id, count(b.id) AS standing, bool_or(', _repeated(len(__priv_links), 'a.p#[b.d# + 1] IS NOT DISTINCT FROM b.p#[-1]', ' AND '), ') AS covered',
  ' FROM __priv_a AS a LEFT JOIN __priv_b AS b ON a.id = b.id GROUP BY a.id)',
  ' SELECT count(*) AS entries, count(*) FILTER (standing = 0) AS absent, count(*) FILTER (standing > 0 AND NOT covered) AS sharper, bool_and(standing > 0 AND covered) AS precedes',
  ' FROM __priv_m, (SELECT CASE WHEN count(__priv_id) < count(*) OR count(DISTINCT __priv_id) < count(*) THEN error(''sqlpriv: the id of the dictionary is NULL, or stands twice'') ELSE true END AS once',
  ' FROM __priv_r) AS o, __priv_sound AS s WHERE once AND s.ok'))[1]);

-- SQL text of the losses, one row a record and dictionary: what is wanted of the record, which dictionary, entries, p, loss.
CREATE MACRO _losses(tbl, dictionaries, links, allowed, phi, psi, wanted) AS
list_transform([_links(links, allowed)], lambda __priv_links: concat(
  _both(tbl, dictionaries, __priv_links, concat('row_number() OVER () AS __priv_n, ', wanted, _harm(phi, 'phi'), ' AS __priv_phi, ', _harm(psi, 'psi'), ' AS __priv_psi, ')),
  _nodes(__priv_links, 'SELECT __priv_v# AS node FROM __priv_r UNION SELECT __priv_v# FROM __priv_e', 'the hierarchy of link #'), _consistent(__priv_links),
  ', __priv_x AS (SELECT r.*, w.which, coalesce(f.entries, 0) AS entries, ', _identified('f.entries'), ' AS p FROM __priv_sound AS s JOIN __priv_r AS r ON s.ok',
  ' CROSS JOIN (SELECT unnest(range(1, ', len(dictionaries), ' + 1)) AS which) AS w JOIN __priv_q AS q ON ',
  _repeated(len(__priv_links), 'r.__priv_v# IS NOT DISTINCT FROM q.v#', ' AND '), ' LEFT JOIN __priv_f AS f ON q.q = f.q AND w.which = f.which)',
  ' SELECT *, __priv_n AS n, ', _product('p', '__priv_phi'), ' + ', _product('(1 - p)', '__priv_psi'), ' AS loss FROM __priv_x'))[1];

-- SQL text of a product in which nothing times infinity is nothing.
CREATE MACRO _product(one, other) AS concat('CASE WHEN ', one, ' = 0 OR ', other, ' = 0 THEN CAST(0 AS DOUBLE) ELSE ', one, ' * ', other, ' END');

-- SQL text of what disclosure does to a record: a number, or an expression over its columns, which stands in a WHERE for the reason that _plainly gives.
CREATE MACRO _harm(expression, name) AS
list_transform([CASE WHEN typeof(expression) = 'VARCHAR' THEN _reading(CAST(expression AS VARCHAR))
    WHEN TRY_CAST(expression AS DOUBLE) IS NULL THEN error(concat('sqlpriv: ', name, ' must be a number, or an expression over the columns of the table'))
    ELSE concat('CAST(''', TRY_CAST(expression AS DOUBLE), ''' AS DOUBLE)') END], lambda __priv_text: _read_plainly(__priv_text, _harm_of(__priv_text, name)))[1];
CREATE MACRO _read_plainly(read_text, value_text) AS
CASE WHEN starts_with(read_text, '(') THEN concat('(SELECT ', value_text, ' WHERE ((', read_text, ' IS NULL) IS NOT NULL))') ELSE value_text END;
CREATE MACRO _harm_of(value_text, name) AS
concat('CASE WHEN TRY_CAST(', value_text, ' AS DOUBLE) BETWEEN 0 AND CAST(''Infinity'' AS DOUBLE) THEN TRY_CAST(', value_text,
  ' AS DOUBLE) ELSE error(''sqlpriv: ', name, ' must be a number of at least 0 for every record'') END');

-- The loss of a record against several dictionaries, an aggregate over them.
CREATE MACRO _taken_together(judge, prior, loss) AS CASE WHEN judge = 'bayes' THEN sum(CASE WHEN prior = 0 OR loss = 0 THEN 0 ELSE prior * loss END) ELSE max(loss) END;
-- The harm to who is not found: what it is for everybody, and what cells add to it.
CREATE MACRO _psi_with(cells, psi) AS (psi + cells);
-- A mean that may be infinite.
CREATE MACRO _mean(loss) AS CASE WHEN max(loss) = CAST('Infinity' AS DOUBLE) THEN max(loss) ELSE avg(loss) END;

-- Dictionaries with their priors, checked.
CREATE MACRO _priors(dictionaries) AS
CASE
  WHEN NOT regexp_matches(typeof(dictionaries), '^(MAP[(]VARCHAR, |STRUCT[(])') OR coalesce(len(map_keys(TRY_CAST(dictionaries AS MAP(VARCHAR, DOUBLE)))), 0) = 0
    THEN error('sqlpriv: the dictionaries must be a map from tables to priors, as in MAP {''voters'': 0.5, ''phone_book'': 0.5}')
  WHEN list_bool_and(list_transform(map_values(TRY_CAST(dictionaries AS MAP(VARCHAR, DOUBLE))), lambda __priv_p: coalesce(__priv_p >= 0, false)))
      AND abs(list_sum(map_values(TRY_CAST(dictionaries AS MAP(VARCHAR, DOUBLE)))) - 1) <= 1e-9 THEN TRY_CAST(dictionaries AS MAP(VARCHAR, DOUBLE))
  ELSE error('sqlpriv: the priors of the dictionaries must be at least 0 and add up to 1')
END;
