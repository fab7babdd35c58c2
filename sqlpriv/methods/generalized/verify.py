"""Judge the labels and requirements of a generalized release, from its file alone.

The values below a label decide the bounds of answers, so the file must not contradict itself. Labels are listed and
used, are on their level and nest; ends are those that labels name; every published label has leaves, which are values
of the domain. Requirements are judged by the published rows, with the macros.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from sqlpriv.checks.requirements import Requirement
from sqlpriv.core.engine import fetch
from sqlpriv.core.errors import SqlprivError
from sqlpriv.core.facts import shown_number
from sqlpriv.core.sqltext import literal, quoted
from sqlpriv.macros.calls import Calls
from sqlpriv.macros.catalog import inlined
from sqlpriv.methods.generalized.grid import after_end, cell_label, named_ends
from sqlpriv.methods.generalized.layout import (
    BOX_LEVELS,
    BOXES,
    QI,
    Attribute,
    column_has_ends,
    column_has_labels,
    counted_leaves,
    has_leaves,
)
from sqlpriv.methods.generalized.read import PublishedColumn
from sqlpriv.policy.file import Policy
from sqlpriv.release.file import ReleaseFile, declared_requirement
from sqlpriv.release.verify import Check, published
from sqlpriv.table.hierarchies import TOP

Fault = tuple[str, str]
"""A query that counts errors, and the words after the count."""
_STAR = literal(TOP)
_PERSONS = "it counts persons, who are not published"


def domains_beyond(file: ReleaseFile, policy: Policy) -> Iterator[str]:
    """A domain is public because the policy says so; only publishing can check that its values are those."""
    given = {c.name for c in policy.columns if c.given.get("domain") is not None}
    for column in file.attributes:
        if column["has_domain"] and column["name"] not in given:
            yield f"{column['name']!r} has no domain in the policy"


def check_levels(file: ReleaseFile) -> Check:
    """Levels of the quasi-identifiers and the node say the same."""
    title = "every quasi-identifier stands on the level of the node"
    node = json.loads(file.about["node"])
    levels = {c["name"]: c["level"] for c in file.attributes if c["role"] == QI}
    if node != levels:
        return Check(title, False, "the node has other levels")
    return Check(title, True)


def check_labels(file: ReleaseFile, columns: Sequence[Attribute], has_stars: bool = False) -> Iterator[Check]:
    """The labels of columns, their ends, and the values below them.

    `has_stars`: whether suppressed rows are kept. Their stars are no labels of the columns.
    """
    for column in columns:
        name = str(column["name"])
        if column_has_labels(column):
            title = f"every label of {name!r} is a label of its hierarchy"
            if "TIME ZONE" in str(column["type"]):
                yield Check(title, None, "times read differently in every time zone")
            else:
                yield _judged(file, title, _label_faults(file, column, has_stars))
        if column_has_ends(column):
            title = f"the ends of the ranges of {name!r} are those of their labels"
            yield _judged(file, title, _end_faults(file, column))
        if column["has_domain"]:
            title = f"the domain of {name!r} has a value below every label"
            yield _judged(file, title, _domain_faults(file, column, has_stars))


def _judged(file: ReleaseFile, title: str, faults: Sequence[Fault]) -> Check:
    """A check that passes where no fault is found."""
    for query, words in faults:
        number = fetch(file.con, query)[0][0]
        if number:
            return Check(title, False, f"{number:,} {words}")
    return Check(title, True)


def _cells(file: ReleaseFile, column: Attribute, has_stars: bool = False) -> str:
    """The cells that are shown, without the stars of suppressed rows."""
    cells = f"SELECT DISTINCT CAST({quoted(str(column['name']))} AS VARCHAR) AS label FROM {published(file)}"
    stars = has_stars and column["level"] is not None
    return f"(FROM ({cells}) WHERE label IS DISTINCT FROM {_STAR})" if stars else f"({cells})"


def _label_faults(file: ReleaseFile, column: Attribute, has_stars: bool) -> list[Fault]:
    """Every published label is listed, and no other, with its level and all that is above it."""
    labels, level = file.table(f"labels_{column['name']}"), column["level"]
    levels = BOX_LEVELS if column["labels"] == BOXES else int(column["levels"])
    lowest, highest = (0, levels) if level is None else (int(level), int(level))
    lowest = BOX_LEVELS - 1 if column["labels"] == BOXES else lowest
    top = f"CASE WHEN level = {levels} THEN label = {_STAR} ELSE above[-1] = {_STAR} END"
    placed = f"level BETWEEN {lowest} AND {highest} AND len(above) = {levels} - level AND {top}"
    nested = (
        f"SELECT count(*) FROM {labels} AS a JOIN {labels} AS b ON b.level > a.level AND "
        "a.above[b.level - a.level] = b.label WHERE a.above[b.level - a.level + 1 :] IS DISTINCT FROM b.above"
    )
    shown, every = _cells(file, column, has_stars), _cells(file, column)
    # The top stands for anything at all, so nothing is missing there.
    missing = "true" if level == levels else "label IS NOT NULL"
    listed = f"SELECT label FROM {labels} WHERE label IS NOT NULL"
    return [
        (f"SELECT count(*) FROM {shown} WHERE {missing} AND (label IN ({listed})) IS NOT TRUE", "are not listed"),
        (f"SELECT count(*) FROM {labels} WHERE (label IN (SELECT label FROM {every} WHERE label IS NOT NULL)) "
         "IS NOT TRUE", "labels are of no row"),
        (f"SELECT count(*) FROM {labels} WHERE ({placed}) IS NOT TRUE", "are not on a level"),
        (f"SELECT count(*) - count(DISTINCT (label, level)) FROM {labels}", "are there twice"),
        (nested, "do not nest"),
    ]  # fmt: skip


def _end_faults(file: ReleaseFile, column: Attribute) -> list[Fault]:
    """The ends are those that the labels name, or by which they are named; what * may be holds all ranges of rows."""
    labels, kind = file.table(f"labels_{column['name']}"), str(column["labels"])
    original = str(column["original"])
    if kind != BOXES:
        low, high = named_ends(kind, original)
        same = f"low IS NOT DISTINCT FROM {low} AND high IS NOT DISTINCT FROM {high}"
        return [(f"SELECT count(*) FROM {labels} WHERE NOT ({same})", "are others")]
    label = cell_label(original, "low", "high", after_end(original, "high"), bool(column["has_domain"]))
    named = f"label IN ({inlined('_closed_label(low, high)')}, {label}, {_STAR})"
    beyond = (
        f"s.label = {_STAR} AND (e.low < s.low OR e.high > s.high OR (e.low IS NULL AND s.low IS NOT NULL) OR "
        "(e.high IS NULL AND s.high IS NOT NULL))"
    )
    return [
        (f"SELECT count(*) FROM {labels} WHERE (coalesce(low <= high, true) AND ({named})) IS NOT TRUE", "are others"),
        (f"SELECT count(*) FROM {labels} AS e, {labels} AS s WHERE {beyond}", "are not within what * may be"),
    ]


def _domain_faults(file: ReleaseFile, column: Attribute, has_stars: bool) -> list[Fault]:
    """The domain has no value twice, shares are above 0, and every published label has a value below it."""
    domain, kind = quoted(file.catalog, "domain", str(column["name"])), str(column["labels"])
    faults = [
        (f"SELECT count(*) - count(DISTINCT coalesce('v' || CAST(value AS VARCHAR), '')) FROM {domain}",
         "values are there twice"),
        ("SELECT CAST(count(share) NOT IN (0, count(*)) OR count(*) FILTER (NOT (share > 0 AND isfinite(share))) > 0 "
         f"AS INTEGER) FROM {domain}", "share is missing, or not above 0"),
    ]  # fmt: skip
    if has_leaves(kind, True):
        leaves = file.table(f"leaves_{column['name']}")
        faults += _leaf_faults(leaves, domain)
        faults += _one_level(leaves, domain, column) if column["level"] is not None else _many_levels(file, column)
    below = PublishedColumn(file, dict(column)).leaves
    bare = f"SELECT count(*) FROM {_cells(file, column, has_stars)} AS p WHERE NOT EXISTS "
    return [*faults, (f"{bare}(FROM {below} AS l WHERE l.label IS NOT DISTINCT FROM p.label)", "labels have none")]


def _leaf_faults(leaves: str, domain: str) -> list[Fault]:
    """Leaves are values of the domain with its shares, none is there twice, and they are counted."""
    same = "m.value IS NOT DISTINCT FROM l.value AND m.share IS NOT DISTINCT FROM l.share"
    declared = f"SELECT label, value, leaves AS declared, total AS declared_total FROM {leaves}"
    counted = counted_leaves(f"SELECT label, value, share FROM {leaves}")
    unlike = "s.declared IS DISTINCT FROM c.leaves OR (abs(s.declared_total - c.total) <= 1e-9 * c.total) IS NOT TRUE"
    pairs = "s.label IS NOT DISTINCT FROM c.label AND s.value IS NOT DISTINCT FROM c.value"
    return [
        (f"SELECT count(*) - count(DISTINCT (label, coalesce('v' || CAST(value AS VARCHAR), ''))) FROM {leaves}",
         "leaves are there twice"),
        (f"SELECT count(*) FROM {leaves} AS l WHERE NOT EXISTS (FROM {domain} AS m WHERE {same})",
         "leaves are of no domain"),
        (f"SELECT count(*) FROM {leaves} WHERE label IS NULL AND value IS NOT NULL", "leaves are below NULL"),
        # Sums of doubles depend on their order.
        (f"SELECT count(*) FROM ({declared}) AS s JOIN ({counted}) AS c ON {pairs} WHERE {unlike}",
         "values below a label are miscounted"),
    ]  # fmt: skip


def _one_level(leaves: str, domain: str, column: Attribute) -> list[Fault]:
    """Every value of the domain has one label, which is * at the top."""
    text = "coalesce('v' || CAST(value AS VARCHAR), '')"
    faults = [
        (f"SELECT count(*) FROM {domain} WHERE {text} NOT IN (SELECT {text} FROM {leaves})", "values have no label"),
        (f"SELECT count(*) - count(DISTINCT {text}) FROM {leaves}", "values have several labels"),
    ]
    if column["level"] == column["levels"]:
        faults.append((f"SELECT count(*) FROM {leaves} WHERE label IS DISTINCT FROM {_STAR}", "values are not below *"))
    return faults


def _many_levels(file: ReleaseFile, column: Attribute) -> list[Fault]:
    """Leaves are below labels; a value has itself, * all, and a label no more than those above it."""
    name = str(column["name"])
    domain = quoted(file.catalog, "domain", name)
    leaves, labels = file.table(f"leaves_{name}"), file.table(f"labels_{name}")
    # To a reader, a label of the same name on two levels has the leaves of both.
    alone = f"SELECT label FROM {labels} GROUP BY label HAVING count(*) = 1"
    same = "m.value IS NOT DISTINCT FROM l.value"
    return [
        (f"SELECT count(*) FROM {leaves} WHERE label IS NOT NULL AND label NOT IN (SELECT label FROM {labels})",
         "leaves are below no label"),
        (f"SELECT count(*) FROM {domain} AS m WHERE EXISTS (FROM {labels} WHERE label = {_STAR}) AND NOT EXISTS "
         f"(FROM {leaves} AS l WHERE l.label = {_STAR} AND {same})", "values are not below *"),
        (f"SELECT count(*) FROM {leaves} AS l JOIN {labels} AS h ON h.label = l.label AND h.level = 0 WHERE l.label IN "
         f"({alone}) AND CAST(l.value AS VARCHAR) IS DISTINCT FROM l.label", "values have another below them"),
        (f"SELECT count(*) FROM {leaves} AS l JOIN {labels} AS h ON h.label = l.label JOIN {labels} AS o ON "
         f"list_contains(h.above, o.label) WHERE l.label IN ({alone}) AND NOT EXISTS (FROM {leaves} AS m WHERE "
         f"m.label = o.label AND {same})", "leaves are not below what is above their label"),
    ]  # fmt: skip


def differs_in_persons(file: ReleaseFile, policy: Policy) -> Iterator[str]:
    """Rows are counted, or persons where the policy names them."""
    counted = "rows" if policy.person is None else "persons"
    if file.about["counts"] != counted:
        yield f"the policy counts {counted}"


def check_requirements(file: ReleaseFile, is_whole: bool) -> Iterator[Check]:
    """Judge all requirements that the file declares; `is_whole`: whether it has all rows of the table."""
    required = file.rows("requirements")
    yield Check("something is required", bool(required))
    for row in required:
        yield _judge_requirement(file, row, is_whole)


def checked_requirement(file: ReleaseFile, row: Attribute) -> Requirement | Check:
    """A requirement as the file declares it, or why it cannot be judged."""
    requirement = declared_requirement(row)
    if requirement is None:
        return Check(str(row["measure"]), False, "this version does not know how to judge it")
    sensitive = [c["name"] for c in file.attributes if c["role"] == "sensitive"]
    if requirement.measure.needs_sensitive and requirement.sensitive not in sensitive:
        return Check(requirement.text, False, f"{requirement.sensitive!r} is not a sensitive column")
    return requirement


def _judge_requirement(file: ReleaseFile, row: Attribute, is_whole: bool) -> Check:
    """Judge a requirement that the file declares by its published rows; `is_whole`: whether no row is missing."""
    requirement, columns = checked_requirement(file, row), file.attributes
    if isinstance(requirement, Check):
        return requirement
    text, measure, column = requirement.text, requirement.measure, requirement.sensitive
    kind = next((str(c["type"]) for c in columns if c["name"] == column), "")
    why = _why_not(file, requirement, is_whole, kind)
    if why is not None and not (why == _PERSONS and measure.worse_for_persons):
        return Check(text, None, why)
    qis = [str(c["name"]) for c in columns if c["role"] == "quasi-identifier"]
    called = Calls(file.con).need(measure.macro)
    try:
        query = measure.select(called, file.checked, qis, requirement.sensitive, requirement.arguments)
        value = fetch(file.con, query)[0][0]
    except SqlprivError as error:
        return Check(text, False, str(error))
    holds, found = requirement.holds(float(value)), f"is {shown_number(float(value))}"
    if why is not None and holds:
        return Check(text, None, f"{why}; of rows it {found}")
    return Check(text, holds, found)


def _why_not(file: ReleaseFile, requirement: Requirement, is_whole: bool, kind: str) -> str | None:
    """Why the file alone cannot prove that a requirement holds; `kind` is the type of its sensitive column."""
    measure = requirement.measure
    if file.about.get("counts") == "persons":
        return _PERSONS
    if measure.reads_tables or set(requirement.arguments) != set(measure.names):
        return "what it is judged against is not in the file"
    if measure.against_table and not is_whole:
        return "it is about the whole table, and suppressed rows are not in the file"
    if measure.by_order and "VARCHAR" in kind:
        return "the order of the values may be that of an ENUM, which is published as text"
    return None
