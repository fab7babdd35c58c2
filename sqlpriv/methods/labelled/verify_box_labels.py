"""Judge what a release of boxes says of its labels: that each of them is explained, and by what it says itself.

What is below a label decides what answers are bounded by, so the file must not say other things in two places.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sqlpriv.engine import fetch
from sqlpriv.macros.catalog import inlined
from sqlpriv.methods.labelled.box_leaves import ends_of_nodes
from sqlpriv.methods.labelled.kinds import BOXES
from sqlpriv.methods.labelled.layout import Attribute, column_has_ends
from sqlpriv.release.file import ReleaseFile
from sqlpriv.release.verify import Check, published
from sqlpriv.sqltext import literal, quoted
from sqlpriv.table.hierarchies import TOP

Fault = tuple[str, str]
"""What is wrong, as a count in SQL, and in words after the count."""


def check_labels(file: ReleaseFile, column: Attribute) -> Iterator[Check]:
    """The labels of a quasi-identifier, their ends, and the values below them."""
    name, kind = str(column["name"]), str(column["original"])
    if column["labels"] == BOXES:
        yield _check_ranges(file, name)
    else:
        yield _check_nodes(file, name, int(column["levels"]))
        if column_has_ends(column):
            yield _check_node_ends(file, name, kind, str(column["labels"]))
    if column["has_domain"]:
        yield _check_leaves(file, name, column["labels"] == BOXES)


def _judged(file: ReleaseFile, title: str, faults: Sequence[Fault]) -> Check:
    """A check that passes where no fault is found."""
    for query, words in faults:
        number = fetch(file.con, query)[0][0]
        if number:
            return Check(title, False, f"{number:,} {words}")
    return Check(title, True)


def _cells(file: ReleaseFile, name: str) -> str:
    return f"(SELECT DISTINCT {quoted(name)} AS label FROM {published(file)})"


def _fit(file: ReleaseFile, name: str, listed: str, label: str) -> list[Fault]:
    """Every published label is listed, and no other."""
    cells = _cells(file, name)
    return [
        (f"SELECT count(*) FROM {cells} WHERE label IS NOT NULL AND label NOT IN (SELECT {label} FROM {listed})",
         "are not listed"),
        (f"SELECT count(*) FROM {listed} WHERE {label} IS NULL OR {label} NOT IN (SELECT label FROM {cells} "
         "WHERE label IS NOT NULL)", "are of no row"),
    ]  # fmt: skip


def _check_ranges(file: ReleaseFile, name: str) -> Check:
    """Closed ranges are named by their ends, and what * may be holds all of them."""
    title, ends, star = f"every label of {name!r} is a range with its ends", file.table(f"ends_{name}"), literal(TOP)
    named = inlined("_closed_label(low, high)")
    faults = [
        *_fit(file, name, ends, "label"),
        (f"SELECT count(*) FROM {ends} WHERE (low <= high AND (label = {star} OR label = {named})) IS NOT TRUE",
         "have other ends"),
        (f"SELECT count(*) - count(DISTINCT label) FROM {ends}", "are there twice"),
        (f"SELECT count(*) FROM {ends} AS e, {ends} AS s WHERE s.label = {star} AND (e.low < s.low OR e.high > s.high)",
         "are not within what * may be"),
    ]  # fmt: skip
    return _judged(file, title, faults)


def _check_nodes(file: ReleaseFile, name: str, levels: int) -> Check:
    """Labels of a hierarchy say their level and all that is above them."""
    title, nodes, star = f"every label of {name!r} is a label of its hierarchy", f"hierarchy_{name}", literal(TOP)
    table = file.table(nodes)
    top = f"CASE WHEN level = {levels} THEN value = {star} ELSE above[-1] = {star} END"
    placed = f"level BETWEEN 0 AND {levels} AND len(above) = {levels} - level AND {top}"
    listed = f"(SELECT DISTINCT value FROM {table})"
    nested = (
        f"SELECT count(*) FROM {table} AS a JOIN {table} AS b ON b.level > a.level AND "
        "a.above[b.level - a.level] = b.value WHERE a.above[b.level - a.level + 1 :] IS DISTINCT FROM b.above"
    )
    faults = [
        *_fit(file, name, listed, "value"),
        (f"SELECT count(*) FROM {table} WHERE ({placed}) IS NOT TRUE", "are not on a level"),
        (f"SELECT count(*) - count(DISTINCT (value, level)) FROM {table}", "are there twice"),
        (nested, "do not nest"),
    ]
    return _judged(file, title, faults)


def _check_node_ends(file: ReleaseFile, name: str, kind: str, labels: str) -> Check:
    title, ends = f"the ends of the ranges of {name!r} are those of their labels", f"ends_{name}"
    wanted, found = ends_of_nodes(labels, kind, file.table(f"hierarchy_{name}")), f"FROM {file.table(ends)}"
    faults = [
        (f"SELECT count(*) FROM ({a} EXCEPT ALL {b})", "are others") for a, b in ((wanted, found), (found, wanted))
    ]
    return _judged(file, title, faults)


def _check_leaves(file: ReleaseFile, name: str, is_range: bool) -> Check:
    """The domain has no value twice, and every published label a value below it."""
    title, domain = f"the domain of {name!r} has a value below every label", quoted(file.catalog, "domain", name)
    cells, star = _cells(file, name), literal(TOP)
    faults = [
        (f"SELECT count(*) - count(DISTINCT coalesce('v' || CAST(value AS VARCHAR), '')) FROM {domain}",
         "values are there twice"),
        ("SELECT CAST(count(share) NOT IN (0, count(*)) OR count(*) FILTER (NOT (share > 0 AND isfinite(share))) > 0 "
         f"AS INTEGER) FROM {domain}", "share is missing, or not above 0"),
        (f"SELECT count(*) FROM {cells} WHERE label IS NULL AND NOT EXISTS (FROM {domain} WHERE value IS NULL)",
         "label is NULL, and the domain has no NULL"),
    ]  # fmt: skip
    if is_range:
        bare = (
            f"SELECT count(*) FROM {file.table(f'ends_{name}')} AS e WHERE e.label <> {star} AND NOT EXISTS "
            f"(FROM {domain} AS d WHERE d.value BETWEEN e.low AND e.high)"
        )
        return _judged(file, title, [*faults, (bare, "labels have none")])
    return _judged(file, title, [*faults, *_leaf_faults(file, name, domain)])


def _leaf_faults(file: ReleaseFile, name: str, domain: str) -> list[Fault]:
    """Leaves are values of the domain; a value has itself, * all, and a label no more than those above it."""
    leaves, nodes = file.table(f"leaves_{name}"), file.table(f"hierarchy_{name}")
    star, text = literal(TOP), "CAST(l.value AS VARCHAR)"
    # What is called alike on two levels is all of it, to a reader.
    alone = f"SELECT value FROM {nodes} GROUP BY value HAVING count(*) = 1"
    same = "m.value IS NOT DISTINCT FROM l.value"
    return [
        (f"SELECT count(*) - count(DISTINCT (label, value)) FROM {leaves}", "leaves are there twice"),
        (f"SELECT count(*) FROM {leaves} AS l WHERE NOT EXISTS (FROM {domain} AS m WHERE {same})",
         "leaves are of no domain"),
        (f"SELECT count(*) FROM {leaves} AS l WHERE l.label IS NULL AND l.value IS NOT NULL", "leaves are below NULL"),
        (f"SELECT count(*) FROM {leaves} AS l WHERE l.label IS NOT NULL AND l.label NOT IN (SELECT value FROM {nodes})",
         "leaves are below no label"),
        (f"SELECT count(*) FROM {nodes} AS h WHERE h.value NOT IN (SELECT label FROM {leaves} WHERE label IS NOT NULL)",
         "labels have none"),
        (f"SELECT count(*) FROM {domain} AS m WHERE EXISTS (FROM {nodes} WHERE value = {star}) AND NOT EXISTS "
         f"(FROM {leaves} AS l WHERE l.label = {star} AND {same})", "values are not below *"),
        (f"SELECT count(*) FROM {leaves} AS l JOIN {nodes} AS h ON h.value = l.label AND h.level = 0 WHERE l.label IN "
         f"({alone}) AND {text} IS DISTINCT FROM l.label", "values have another below them"),
        (f"SELECT count(*) FROM {leaves} AS l JOIN {nodes} AS h ON h.value = l.label JOIN {nodes} AS o ON "
         f"list_contains(h.above, o.value) WHERE l.label IN ({alone}) AND NOT EXISTS (FROM {leaves} AS m WHERE "
         f"m.label = o.value AND {same})", "leaves are not below what is above their label"),
    ]  # fmt: skip
