"""What the files of releases with labels hold, as data: labels of columns, ranges, and the values below them.

    published      the rows
    attributes     each published column: type, role, level it stands on, levels there are; the type of its values, what
                   its labels are, and whether its domain is public
    requirements   what was required
    hierarchy_<c>  the labels of column c that occur, with the labels above them
    ends_<c>       where these are ranges, their ends
    domain.<c>     the public domain of c, if there is one
    leaves_<c>     of boxes, with a domain and a hierarchy: which values of the domain are below each label

Schema main holds a view of the rows under the private table's own name, with the ends of ranges beside their labels.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from sqlpriv.methods.labelled.kinds import BOXES, DATES, KINDS, OTHER, RANGES, VALUES, has_ends
from sqlpriv.methods.labelled.view import view_of_rows
from sqlpriv.release.file import SCHEMA, ReleaseFile
from sqlpriv.release.layout import Allowed, Contents, Layout, Names, ShownAs, Stored, one_of

ATTRIBUTES: Mapping[str, str] = {
    "position": "INTEGER",
    "name": "VARCHAR",
    "type": "VARCHAR",
    "role": "VARCHAR",
    "level": "INTEGER",
    "levels": "INTEGER",
    "original": "VARCHAR",
    "labels": "VARCHAR",
    "has_domain": "BOOLEAN",
}
"""The columns of table attributes."""
COUNTED = one_of("rows", "persons")
QI = "quasi-identifier"
NO_NUMBERS = Names()
_ROLES = (QI, "sensitive", "other")
Attribute = Mapping[str, Any]
"""A row of table attributes."""


def labels_layout(
    about: Mapping[str, Allowed],
    numbers: Names = NO_NUMBERS,
    *,
    may: Mapping[str, Allowed] | None = None,
    tables: Mapping[str, Mapping[str, str]] | None = None,
    requires: bool = True,
    from_policy: tuple[str, ...] = (),
) -> Layout:
    """What the files of a method hold whose columns all stand on one level."""
    return Layout(ATTRIBUTES, about, may or {}, numbers, tables or {}, _stands_on_a_level, requires, from_policy)


def boxes_layout(
    about: Mapping[str, Allowed],
    numbers: Names = NO_NUMBERS,
    *,
    roles: Collection[str] = (QI,),
    requires: bool = True,
    from_policy: tuple[str, ...] = (),
) -> Layout:
    """What the files of a method hold whose labels are of many levels, in columns of these roles."""
    return Layout(ATTRIBUTES, about, {}, numbers, {}, lambda column: _has_labels(column, roles), requires, from_policy)


def _is_described(column: Attribute) -> bool:
    described = isinstance(column["has_domain"], bool) and bool(column["original"]) and bool(column["type"])
    return column["role"] in _ROLES and column["labels"] in KINDS and described


def _stands_on_a_level(column: Attribute) -> bool:
    """A column that is not generalized shows its values, and what shows values is not generalized."""
    if not _is_described(column) or column["labels"] == BOXES:
        return False
    levels = (column["level"], column["levels"])
    if (column["role"] == QI) != all(isinstance(n, int) for n in levels) or (column["role"] != QI and any(levels)):
        return False
    is_generalized = column["level"] is not None and column["level"] > 0
    is_typed = is_generalized or column["type"] in (column["original"], "VARCHAR")
    return is_typed and (column["labels"] == VALUES) == (not is_generalized)


def _has_labels(column: Attribute, roles: Collection[str]) -> bool:
    """Columns of these roles are labels, of any level, and all else is values."""
    if not _is_described(column) or column["level"] is not None:
        return False
    if column["role"] not in roles:
        return column["labels"] == VALUES and column["levels"] is None and column["type"] == column["original"]
    if column["type"] != "VARCHAR" or column["labels"] not in (BOXES, RANGES, DATES, OTHER):
        return False
    if column["labels"] == BOXES:
        return column["levels"] is None and has_ends(BOXES, str(column["original"]))
    return isinstance(column["levels"], int) and column["levels"] > 0


def column_has_ends(column: Attribute) -> bool:
    """Whether the labels of a column are ranges."""
    return has_ends(str(column["labels"]), str(column["original"]))


def shown_ends(columns: Sequence[Attribute]) -> list[tuple[str, tuple[str, str] | None]]:
    """The columns, each with the names of its ends, where it has some."""
    return [
        (str(c["name"]), (f"{c['name']}_low", f"{c['name']}_high") if column_has_ends(c) else None) for c in columns
    ]


def rows_shown_as(name: str, columns: Sequence[Attribute], rows: str = "published", *, boxes: bool = False) -> ShownAs:
    """The view of a table of rows."""
    return ShownAs(name, lambda full: view_of_rows(full, shown_ends(columns), boxes=boxes, rows=rows))


def rows_stored(columns: Sequence[Attribute], table: str = "published") -> Stored:
    """A table of rows."""
    return Stored(SCHEMA, table, {str(c["name"]): str(c["type"]) for c in columns})


def labels_contents(file: ReleaseFile) -> Contents:
    """The file of a method whose columns all stand on one level."""
    columns = file.attributes
    return Contents(
        (rows_stored(columns),), tuple(label_tables(columns)), (rows_shown_as(file.about["table"], columns),)
    )


def label_tables(columns: Sequence[Attribute]) -> list[Stored]:
    """Tables of hierarchies, ends and domains of columns that stand on one level."""
    found = []
    for column in columns:
        name, original = str(column["name"]), str(column["original"])
        if column["role"] == QI:
            above = [f"level{i}" for i in range(int(column["level"]) + 1, int(column["levels"]) + 1)]
            found.append(Stored(SCHEMA, f"hierarchy_{name}", dict.fromkeys(["value", *above], "VARCHAR")))
        found += _ends_table(column)
        if column["has_domain"]:
            found.append(_counted_domain(name, original))
    return found


def _ends_table(column: Attribute) -> list[Stored]:
    if not column_has_ends(column):
        return []
    kind = str(column["original"])
    return [Stored(SCHEMA, f"ends_{column['name']}", {"label": "VARCHAR", "low": kind, "high": kind})]


def _counted_domain(name: str, kind: str) -> Stored:
    """A domain in which every value has one label."""
    counted = {"label": "VARCHAR", "share": "DOUBLE", "leaves": "BIGINT", "total": "DOUBLE"}
    return Stored("domain", name, {"value": kind, **counted})


def boxes_contents(file: ReleaseFile, roles: Collection[str] = (QI,)) -> Contents:
    """The file of a method whose labels are of many levels, in columns of these roles."""
    columns = file.attributes
    view = rows_shown_as(file.about["table"], columns, boxes=True)
    return Contents((rows_stored(columns),), tuple(_box_tables(columns, roles)), (view,))


def _box_tables(columns: Sequence[Attribute], roles: Collection[str]) -> list[Stored]:
    found = []
    for column in columns:
        name, kind = str(column["name"]), str(column["original"])
        is_tree = column["role"] in roles and column["labels"] != BOXES
        if is_tree:
            nodes = {"value": "VARCHAR", "level": "INTEGER", "above": "VARCHAR[]"}
            found.append(Stored(SCHEMA, f"hierarchy_{name}", nodes))
        found += _ends_table(column)
        if column["has_domain"] and column["role"] not in roles:
            found.append(_counted_domain(name, kind))
        elif column["has_domain"]:
            found.append(Stored("domain", name, {"value": kind, "share": "DOUBLE"}))
            found += [Stored(SCHEMA, f"leaves_{name}", {"label": "VARCHAR", "value": kind})] if is_tree else []
    return found
