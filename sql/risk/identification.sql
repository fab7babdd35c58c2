-- identification(tbl, dictionary, links) -> record, entries, p
-- Each record of a table with the number of dictionary entries it could belong to. p = 1/entries is the chance that an attacker who picks one of them picks
-- the right one (Lebanon et al. 2009). A link says what is compared: [{record: 'birth', entry: '(2026 - age)', hierarchy: 'births'}], a column or an
-- expression of each side, and the hierarchy both are nodes of. An entry is consistent when on every link one cell is above the other, or both are equal. A
-- link without a hierarchy may say how similar they must be: {record: 'name', entry: 'name', similarity: 0.8}, by jaro_similarity.
-- nulls: NULL and `*` match everything, on both sides.
-- guarantee: exact for this attacker, who knows no more than the dictionary. Cells are compared as texts. A hierarchy that does not cover both sides, no link, or types
-- that never match are errors. No consistent entry: p is 0. A similarity compares all different texts of one side with all of the other: where they are many, see linkage.
-- example: SELECT record.city, record.born, entries, p FROM priv.identification('members', 'phone_book', [{record: 'city', entry: 'city', hierarchy: 'cities'}, {record: 'born', entry: 'born', hierarchy: 'births'}])
-- expect: [('Ithaca', '1975-05-10', 1, 1.0), ('Ithaca', '1975-05', 2, 0.5), ('New York', '*', 5, 0.2), ('Boston', '1980', 0, 0.0)]
CREATE MACRO identification(tbl, dictionary, links) AS TABLE
FROM query(list_transform([_links(links, _link_keys())], lambda __priv_links: concat(
  _both(tbl, [dictionary], __priv_links, 'row_number() OVER () AS __priv_n, __priv_t AS __priv_record, '),
  _nodes(__priv_links, 'SELECT __priv_v# AS node FROM __priv_r UNION SELECT __priv_v# FROM __priv_e', 'the hierarchy of link #'), _consistent(__priv_links),
  ' SELECT r.__priv_record AS record, coalesce(f.entries, 0) AS entries, ', _identified('f.entries'), ' AS p FROM __priv_sound AS s JOIN __priv_r AS r ON s.ok JOIN __priv_q AS q ON ',
  _repeated(len(__priv_links), 'r.__priv_v# IS NOT DISTINCT FROM q.v#', ' AND '), ' LEFT JOIN __priv_f AS f ON q.q = f.q ORDER BY r.__priv_n'))[1]);
