"""Write boxes as a release, and compare it with the private table once more.

The file is like that of generalization (generalize/write.py); what it tells of labels is in box_leaves.py. It never
holds an identifier, a count, a path, or a value beyond the ends of boxes and the domains that the policy declares.
Rows are sorted by what they show, so their order says nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from sqlpriv.checks.requirements import Requirement
from sqlpriv.engine import attached, fetch
from sqlpriv.errors import ReleaseError
from sqlpriv.methods.labelled.axes import Axis, BoxScan
from sqlpriv.methods.labelled.box_leaves import write_box_leaves
from sqlpriv.methods.labelled.box_plan import BoxPlan
from sqlpriv.methods.labelled.boxes import Boxes, shown_nodes
from sqlpriv.methods.labelled.kinds import BOXES, without_values
from sqlpriv.methods.labelled.layout import ATTRIBUTES
from sqlpriv.methods.labelled.leaves import ShownColumn
from sqlpriv.methods.labelled.scan import published_columns
from sqlpriv.methods.labelled.view import view_of_rows
from sqlpriv.methods.method import Made
from sqlpriv.release.file import SCHEMA, WRITTEN, write_about, write_numbers, write_reasons, write_values, written
from sqlpriv.release.order import write_in_order
from sqlpriv.release.requirements import write_requirements
from sqlpriv.sqltext import folded, literal, quoted
from sqlpriv.table.digest import rows_digest
from sqlpriv.table.private_table import reads_apart

_ROWS = f"{WRITTEN}.{SCHEMA}.published"


def write_release(plan: BoxPlan, path: Path) -> Made:
    """Write the boxes into a file."""
    requirements = [m.requirement for m in plan.measures]
    nodes = shown_nodes(plan.scan, plan.boxed.classed) if plan.scan.trees else ""
    return write_boxed(plan.scan, plan.boxed, plan.columns, nodes, requirements, _about(plan), {}, path)


def write_boxed(
    scan: BoxScan,
    boxes: Boxes,
    columns: list[ShownColumn],
    nodes: str,
    requirements: Sequence[Requirement] | None,
    about: Mapping[str, str],
    numbers: Mapping[str, float],
    path: Path,
) -> Made:
    """Write rows with the labels of their boxes into a file; the private table is read again here.

    `nodes` is a query for the nodes that are shown: axis, label and level.
    """
    con = scan.source.con
    with written(con, path):
        write_in_order(con, _ROWS, _published_rows(scan, boxes))
        write_about(con, about)
        write_reasons(con, scan.policy.reasons)
        write_numbers(con, numbers)
        _write_attributes(scan, columns)
        if requirements is not None:
            write_requirements(con, requirements)
        write_box_leaves(scan, boxes, columns, nodes)
        shown = [(c.name, c.ends if c.has_ends else None) for c in columns]
        fetch(con, view_of_rows(quoted(WRITTEN, "main", scan.policy.table.name), shown, boxes=True))
        rows = int(fetch(con, f"SELECT count(*) FROM {_ROWS}")[0][0])
    return Made(rows, float(scan.rows))


def _published_rows(scan: BoxScan, boxes: Boxes) -> str:
    """The rows of the table, each with the labels of its box."""
    policy, source = scan.policy, scan.source
    place = {axis.column: axis.number for axis in scan.axes}
    kinds = {r[0]: r[1] for r in source.private.columns.items()}
    shown = []
    for column in published_columns(scan):
        a = place.get(column)
        cell = without_values(f"t.{quoted(column)}", kinds[column]) if a is None else f"b.label{a}"
        shown.append(f"{cell} AS {quoted(column)}")
    texts = {folded(name) for name, kind in kinds.items() if reads_apart(kind)}
    same = []
    for column in dict.fromkeys([*policy.qis, *policy.sensitive, *filter(None, [policy.person])]):
        same.append(f"t.{quoted(column)} IS NOT DISTINCT FROM f.{quoted(column)}")
        if column in policy.qis and folded(column) in texts:
            same.append(f"CAST(t.{quoted(column)} AS VARCHAR) IS NOT DISTINCT FROM CAST(f.{quoted(column)} AS VARCHAR)")
    return (
        f"SELECT {', '.join(shown)} FROM {source.private} AS t JOIN {scan.frequencies} AS f ON "
        f"{' AND '.join(same)} JOIN {boxes.classed} AS c ON c.row = f.rowid JOIN {boxes.relation} AS b "
        "ON b.class = c.class"
    )


def _about(plan: BoxPlan) -> dict[str, str]:
    policy = plan.policy
    return {
        "method": policy.method,
        "table": policy.table.name,
        "cuts": policy.cuts,
        "suppressed_rows": "0",
        "counts": "persons" if policy.person is not None else "rows",
    }


def _write_attributes(scan: BoxScan, columns: Sequence[ShownColumn]) -> None:
    con = scan.source.con
    roles = {folded(c.name): c.role for c in scan.policy.columns}
    axes = {axis.column: axis for axis in scan.axes}
    kinds = {r[0]: r[1] for r in fetch(con, f"DESCRIBE {_ROWS}")}
    listed = []
    for position, column in enumerate(columns):
        axis = axes.get(column.name)
        levels = "NULL" if axis is None or axis.labels == BOXES else str(axis.height)
        own = str(position), literal(column.name), literal(kinds[column.name]), literal(roles[folded(column.name)])
        told = literal(column.original), literal(column.labels), literal(column.domain is not None)
        # Labels of one column are on several levels.
        listed.append((*own, "CAST(NULL AS INTEGER)", f"CAST({levels} AS INTEGER)", *told))
    write_values(con, "attributes", ", ".join(ATTRIBUTES), listed)


def compare_release(scan: BoxScan, boxes: Boxes, path: Path) -> None:
    """Refuse a file whose rows are not those of the table in their boxes, or whose boxes do not hold their rows."""
    con = scan.source.con
    with attached(con, path, WRITTEN, error=ReleaseError):
        names = [r[0] for r in fetch(con, f"DESCRIBE {_ROWS}")]
        if names != published_columns(scan):
            raise ReleaseError("the release does not have the columns it should have; nothing was published")
        if rows_digest(con, _ROWS) != rows_digest(con, f"({_published_rows(scan, boxes)})"):
            raise ReleaseError(
                "the table changed while it was being anonymized, so nothing was published; run it again"
            )
        for axis in scan.axes:
            if axis.is_ordered and _are_outside(scan, boxes, axis):
                raise ReleaseError(f"some rows are outside their ranges of {axis.column!r}; nothing was published")


def _are_outside(scan: BoxScan, boxes: Boxes, axis: Axis) -> bool:
    """Whether a row is not between the ends that the file gives for its label."""
    a, ends = axis.number, quoted(WRITTEN, SCHEMA, f"ends_{axis.column}")
    cell = f"f.{quoted(axis.column)}"
    # A label that is not there holds no row; * holds NULL, too, and NULL is no range.
    held = (
        f"CASE WHEN {cell} IS NULL THEN b.label{a} IS NULL OR b.label{a} = '*' ELSE {cell} BETWEEN e.low AND e.high END"
    )
    outside = (
        f"SELECT count(*) FROM {scan.frequencies} AS f JOIN {boxes.classed} AS c ON c.row = f.rowid "
        f"JOIN {boxes.relation} AS b ON b.class = c.class LEFT JOIN {ends} AS e "
        f"ON e.label = b.label{a} WHERE ({held}) IS NOT TRUE"
    )
    return bool(fetch(scan.source.con, outside)[0][0])
