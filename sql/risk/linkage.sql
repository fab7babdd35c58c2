-- linkage(tbl, dictionary, links, blocks) -> record, entry, entries, p
-- Each record with each entry that it could belong to although names are misspelt: a link {record: 'name', entry: 'name', similarity: 0.8} holds where the texts are that
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

-- linkage_risk(tbl, id, dictionary, links, phi, psi) -> records, risk, worst
-- The risk of records that were first linked with another source (R_link, Lebanon et al. 2009): tbl has a row for each way to link a disclosed record, with the attributes gained
-- by it, as made from linkage, and id says which record it is. An attacker takes each of these ways with the same chance, so a record loses the mean of their losses.
-- nulls: as in disclosure_risk; an id that is NULL is an error.
-- guarantee: exact for these ways to link. With one row a record it is disclosure_risk. Gained attributes only help the attacker where the link is right: where it is
-- wrong they lead to other entries, or none.
-- example: FROM priv.linkage_risk('linked_guests', 'id', 'phone_book', [{record: 'city', entry: 'city'}, {record: 'born', entry: 'born'}], 12, 0)
-- expect: [(2, 6.0, 8.0)]
CREATE MACRO linkage_risk(tbl, id, dictionary, links, phi, psi) AS TABLE
WITH __priv_records AS (
  SELECT _mean(loss) AS loss FROM query(_losses(tbl, [dictionary], links, ['record', 'entry', 'hierarchy'], phi, psi, concat(_holder(id), ' AS __priv_id, '))) GROUP BY __priv_id
)
SELECT count(*) AS records, _mean(loss) AS risk, max(loss) AS worst FROM __priv_records;

-- The template for all places from one to another.
CREATE MACRO _repeated_from(least_place, most_place, template) AS
list_aggr(list_transform(range(least_place, most_place + 1), lambda __priv_j: _at_place(template, __priv_j)), 'string_agg', '');

-- A threshold of similarity, with the tolerance of all comparisons.
CREATE MACRO _alikeness(similarity) AS
CASE WHEN TRY_CAST(similarity AS DOUBLE) > 0 AND TRY_CAST(similarity AS DOUBLE) <= 1 THEN _lower_limit(similarity)
  ELSE error('sqlpriv: the similarity of a link must be above 0 and at most 1') END;
