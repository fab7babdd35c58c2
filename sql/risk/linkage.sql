-- linkage(tbl, dictionary, links, blocks) -> record, entry, entries, p
-- Each record with each entry that it could belong to although names are misspelt. A link {record: 'name', entry: 'name', similarity: 0.8} holds where the texts are that
-- similar by jaro_similarity, one without similarity where they are equal. Only pairs that agree on one of the blocks are looked at, such as [{record: 'left(name, 2)', entry: 'left(name, 2)'}].
-- entries is how many a record has, p = 1/entries; a record that has none comes with NULL for an entry.
-- nulls: NULL and `*` match everything in a link, and nothing in a block.
-- guarantee: all consistent pairs within the blocks; pairs that agree on no block are never found, so p may be too large. A pair that agrees on several is one pair.
-- example: SELECT record.id, entry.name, p FROM priv.linkage('guests', 'phone_book', [{record: 'guest', entry: 'name', similarity: 0.7}], [{record: 'city', entry: 'city'}])
-- expect: [(1, 'Ann', 1.0), (2, None, 0.0)]
CREATE MACRO linkage(tbl, dictionary, links, blocks) AS TABLE
FROM query(list_transform([_links(links, ['record', 'entry', 'similarity'])], lambda __priv_links: list_transform([_links(blocks, ['record', 'entry'])], lambda __priv_blocks: concat(
  _both(tbl, [dictionary], list_concat(__priv_links, __priv_blocks), 'row_number() OVER () AS __priv_n, __priv_t AS __priv_record, '),
  ', __priv_o AS MATERIALIZED (SELECT row_number() OVER () AS __priv_n, __priv_t AS __priv_record, ', _link_cells(list_concat(__priv_links, __priv_blocks), 'entry'), _from(dictionary),
  _plainly(list_concat(__priv_links, __priv_blocks), 'entry'), '), __priv_pairs AS (',
  list_aggr(list_transform(__priv_blocks, lambda __priv_b, __priv_i: concat('SELECT r.__priv_n AS n, o.__priv_n AS m FROM __priv_r AS r JOIN __priv_o AS o ON ',
    _at_place('r.__priv_v# = o.__priv_v#', len(__priv_links) + __priv_i), coalesce(_repeated_from(len(__priv_links) + 1, len(__priv_links) + __priv_i - 1,
      ' AND (r.__priv_v# = o.__priv_v#) IS DISTINCT FROM true'), ''), ' AND ',
    list_aggr(list_transform(__priv_links, lambda __priv_m, __priv_j: _at_place(concat('(r.__priv_v# = o.__priv_v# OR r.__priv_v# IS NULL OR o.__priv_v# IS NULL',
      CASE WHEN __priv_m['similarity'] IS NULL THEN '' ELSE concat(' OR jaro_similarity(r.__priv_v#, o.__priv_v#) >= ', _alikeness(__priv_m['similarity'])) END, ')'), __priv_j)), 'string_agg', ' AND '))),
    'string_agg', ' UNION ALL '),
  '), __priv_sums AS (SELECT n, count(*) AS entries FROM __priv_pairs GROUP BY n)',
  ' SELECT r.__priv_record AS record, o.__priv_record AS entry, coalesce(f.entries, 0) AS entries, ', _identified('f.entries'), ' AS p FROM __priv_sound AS s JOIN __priv_r AS r ON s.ok',
  ' LEFT JOIN __priv_sums AS f ON r.__priv_n = f.n LEFT JOIN __priv_pairs AS p ON r.__priv_n = p.n LEFT JOIN __priv_o AS o ON p.m = o.__priv_n ORDER BY r.__priv_n, o.__priv_n'))[1])[1]);

-- linkage_risk(tbl, id, dictionary, links, phi, psi [, chance [, success]]) -> records, risk, worst, linked
-- The risk of records that were first linked with another source (R_link, section 6 of Lebanon et al. 2009): tbl has a row for each way to link a disclosed record, with the attributes gained
-- by it, as made from linkage, and id says which record it is. An attacker takes each way with a chance p(z|y): the same for all, or in proportion to `chance`, a number or an expression, such as
-- the similarity of two names. A record loses the mean of the losses by these chances. success says of each row whether it is the right link (W), where the truth is known: by a wrong
-- one nobody is found, and psi is lost. linked is the chance that a record's link is right, in the mean; without success all are taken for right.
-- nulls: as in disclosure_risk; an id that is NULL is an error. success is NULL where nothing was linked: then the row is what the record says by itself. A chance is never NULL.
-- guarantee: exact for these ways to link and these chances. With one row a record it is disclosure_risk. Without success a wrong link leads to other entries, or none, and
-- its losses are counted as if it were right. Chances of a record that are all 0, negative or infinite are errors.
-- example: FROM priv.linkage_risk('linked_guests', 'id', 'phone_book', [{record: 'city', entry: 'city'}, {record: 'born', entry: 'born'}], 12, 0)
-- expect: [(2, 6.0, 8.0, 1.0)]
CREATE MACRO linkage_risk(tbl, id, dictionary, links, phi, psi, chance, success) AS TABLE
WITH __priv_records AS (
  SELECT _by_chance(__priv_chance, CASE WHEN __priv_success IS NOT DISTINCT FROM false THEN __priv_psi ELSE loss END) AS loss,
    _by_chance(__priv_chance, CASE WHEN __priv_success THEN 1 ELSE 0 END) AS linked
  FROM query(_losses(tbl, [dictionary], links, _link_keys(), phi, psi, concat(_holder(id), ' AS __priv_id, ', _way_chance(chance), ' AS __priv_chance, ', _way_success(success), ' AS __priv_success, ')))
  GROUP BY __priv_id
)
SELECT count(*) AS records, _mean(loss) AS risk, max(loss) AS worst, avg(linked) AS linked FROM __priv_records;

-- SQL text of the chance of a way to link and of its success.
CREATE MACRO _way_chance() AS 'CAST(1 AS DOUBLE)';
CREATE MACRO _way_chance(chance) AS _harm(chance, 'the chance of a link');
CREATE MACRO _way_success() AS 'true';
CREATE MACRO _way_success(success) AS
CASE WHEN typeof(success) = 'VARCHAR' THEN list_transform([_reading(CAST(success AS VARCHAR))], lambda __priv_text: _read_plainly(__priv_text, _success_of(__priv_text)))[1]
  WHEN typeof(success) = 'BOOLEAN' AND success IS NOT NULL THEN CAST(success AS VARCHAR)
  ELSE error('sqlpriv: success must be a boolean column or expression of the table: whether a link is right') END;
CREATE MACRO _success_of(value_text) AS
concat('CASE WHEN ', value_text, ' IS NOT NULL AND TRY_CAST(', value_text, ' AS BOOLEAN) IS NULL THEN error(''sqlpriv: success must be true, false or NULL for every link'') ELSE TRY_CAST(', value_text, ' AS BOOLEAN) END');
-- The mean of what comes of all ways to link a record, by their chances; what has none may be infinite.
CREATE MACRO _by_chance(chance, outcome) AS
CASE WHEN sum(chance) > 0 AND isfinite(sum(chance)) THEN sum(CASE WHEN chance = 0 THEN 0 ELSE chance * outcome END) / sum(chance)
  ELSE error('sqlpriv: the chances of the links of a record must add up to a number above 0') END;

-- The template for all places from one to another.
CREATE MACRO _repeated_from(least_place, most_place, template) AS
list_aggr(list_transform(range(least_place, most_place + 1), lambda __priv_j: _at_place(template, __priv_j)), 'string_agg', '');

-- A threshold of similarity, with the tolerance of all comparisons.
CREATE MACRO _alikeness(similarity) AS
CASE WHEN TRY_CAST(similarity AS DOUBLE) > 0 AND TRY_CAST(similarity AS DOUBLE) <= 1 THEN _lower_limit(similarity)
  ELSE error('sqlpriv: the similarity of a link must be above 0 and at most 1') END;
