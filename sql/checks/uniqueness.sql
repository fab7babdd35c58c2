-- uniqueness(tbl, columns, most [, person]) -> columns, classes, entropy, uniques, unique_share, special
-- How identifying each column is, and each set of up to `most` of them: its classes, their entropy in bits, the rows that are alone in their class, and
-- their share. Its special uniques are alone in it and in no smaller set that is part of it (Elliot et al. 2002). With a person column, people are counted
-- who are alone in a class. A set is left out where 95% or more are alone in a part of it: what it adds is known.
-- nulls: NULL is a value of its own.
-- guarantee: none; it shows by which columns people can be found, so that a check leaves none of them out.
-- example: FROM priv.uniqueness('patients', ['zip', 'disease'], 2)
-- expect: [(['disease'], 3, 1.554585, 0, 0.0, 0), (['zip'], 2, 0.918296, 0, 0.0, 0), (['zip', 'disease'], 6, 2.418296, 2, 0.166667, 2)]
CREATE MACRO uniqueness(tbl, columns, most, person) AS TABLE
WITH __priv_counted AS (FROM query(_counted_sets(_held_classes(tbl, _columns(columns), person), _places(columns), _sets_of_places(_places(columns), _most_columns(columns, most))))),
__priv_people AS (SELECT _unless_empty(sum(n)) AS total FROM (SELECT max(n) AS n FROM __priv_counted GROUP BY holder)),
__priv_classes AS (SELECT members, sum(n) AS size, min(holder) AS holder FROM __priv_counted GROUP BY members, cells),
__priv_lone AS (SELECT DISTINCT members, holder FROM __priv_classes WHERE size = 1),
__priv_special AS (
  SELECT members, count(*) AS special FROM __priv_lone AS l
  WHERE NOT EXISTS (FROM __priv_lone AS s WHERE s.holder = l.holder AND _is_part(s.members, l.members)) GROUP BY members
),
__priv_alone AS (SELECT members, count(*) AS uniques FROM __priv_lone GROUP BY members),
__priv_sets AS (
  SELECT members, count(*) AS classes, _entropy_of_sizes(sum(size), sum(size * log2(size))) AS entropy
  FROM __priv_classes GROUP BY members
),
__priv_found AS (
  SELECT members, classes, entropy, coalesce(uniques, 0) AS uniques, coalesce(uniques, 0) / total AS unique_share,
    coalesce(special, 0) AS special
  FROM __priv_sets LEFT JOIN __priv_alone USING (members) LEFT JOIN __priv_special USING (members), __priv_people
)
SELECT list_select(_columns(columns), members) AS columns, classes, entropy, uniques, unique_share, special
FROM __priv_found AS f
WHERE NOT EXISTS (FROM __priv_found AS s WHERE _near_unique(s.unique_share) AND _is_part(s.members, f.members))
ORDER BY len(members), uniques DESC, entropy DESC, members;

-- Whether a set of columns is a part of another; all are lists of their places, in order.
CREATE MACRO _is_part(part, whole) AS (len(part) < len(whole) AND list_has_all(whole, part));

-- From so large a share of lone rows on, a column or a set of them finds a row like an identifier does.
CREATE MACRO _near_unique(share) AS (share >= 0.95);

-- The entropy of the class of a row, in bits, from the sum of the sizes and the sum of size * log2(size).
CREATE MACRO _entropy_of_sizes(total, spread) AS greatest(log2(total) - spread / total, 0);

CREATE MACRO _places(columns) AS range(1, len(TRY_CAST(columns AS VARCHAR[])) + 1);
CREATE MACRO _most_columns(columns, most) AS
CASE WHEN pow(len(TRY_CAST(columns AS VARCHAR[])), least(TRY_CAST(most AS DOUBLE), len(TRY_CAST(columns AS VARCHAR[])))) > 65536
    THEN error('sqlpriv: there are too many sets of so many columns: name fewer columns, or smaller sets')
  ELSE _whole(most, 1, 'sqlpriv: the most columns of a set must be a whole number of at least 1') END;

-- SQL text of the combinations of values: class, holder and n. In rows each combination is its own holder, n times; in
-- persons each is there once for every person who has it.
CREATE MACRO _held_classes(tbl, names) AS
concat('SELECT class, row_number() OVER () AS holder, n FROM (', _grouped(tbl, names, names, 'count(*)', '__priv_t.__priv_n AS n'), ')');
CREATE MACRO _held_classes(tbl, names, person) AS
concat('SELECT class, unnest(holders) AS holder, 1 AS n FROM (',
  _grouped(tbl, names, names, concat('list(DISTINCT ', _holder(person), ')'), '__priv_t.__priv_n AS holders'), ')');

-- SQL text of the same for each set of columns: the places of its columns, the cells of a class, its holders.
CREATE MACRO _counted_sets(held, places, sets) AS
concat('SELECT list_where([', list_aggr(places, 'string_agg', ', '), '], [', _each_place(places, 'GROUPING(c', ') = 0'), ']) AS members, struct_pack(',
  _each_place(places, 'c', ''), ') AS cells, holder, max(n) AS n FROM (SELECT ', list_aggr(list_transform(places, lambda __priv_i: concat('struct_pack(v := struct_extract_at(class.__priv_class, ', __priv_i,
  '), m := class.__priv_marks[', __priv_i, ']) AS c', __priv_i)), 'string_agg', ', '), ', holder, n FROM (', held, ')) GROUP BY GROUPING SETS (',
  list_aggr(list_transform(sets, lambda __priv_set: concat('(', _each_place(__priv_set, 'c', ''), ', holder)')), 'string_agg', ', '), ')');
CREATE MACRO _each_place(places, before, after) AS
list_aggr(list_transform(places, lambda __priv_p: concat(before, __priv_p, after)), 'string_agg', ', ');

-- All sets of so many places at most.
CREATE MACRO _sets_of_places(places, most) AS
list_filter(list_reduce(list_transform(places, lambda __priv_p: [[__priv_p]]), lambda __priv_sets, __priv_own:
  list_concat(__priv_sets, list_concat(__priv_own, list_transform(list_filter(__priv_sets, lambda __priv_s: len(__priv_s) < most), lambda __priv_s: list_concat(__priv_s, __priv_own[1]))))),
  lambda __priv_set: len(__priv_set) <= most);
