"""Write a node as a release (generalized/layout.py), and compare the file with the private table.

Of values that only suppressed rows have, the file reveals nothing but the number of the rows. The file alone cannot
prove this, since it does not know those rows. Here they are known, so every column of the release is searched for their
values before it takes its place; and its classes must be those of the plan.
"""

from __future__ import annotations

import json
from pathlib import Path

from sqlpriv.core.engine import attached, fetch
from sqlpriv.core.errors import ReleaseError
from sqlpriv.core.relation import Relation, Scratch
from sqlpriv.core.sqltext import literal, quoted, rows_of
from sqlpriv.macros.catalog import inlined
from sqlpriv.methods.generalized.evaluate import evaluate
from sqlpriv.methods.generalized.generalize.node import one_class, reveals_values
from sqlpriv.methods.generalized.generalize.plan import GeneralizePlan
from sqlpriv.methods.generalized.scan import Scan, number_rows, published_columns
from sqlpriv.methods.generalized.write import (
    ROWS,
    PublishedTable,
    file_written,
    may_be_counted,
    node_labels,
    write_generalized,
)
from sqlpriv.methods.method import Made
from sqlpriv.release.file import COPIES, SCHEMA, WRITTEN, count_rows, written
from sqlpriv.table.engines.rows import COUNT
from sqlpriv.table.hierarchies import TOP, comes_from_a_table


def write(plan: GeneralizePlan, path: Path) -> Made:
    """Write the node into a file; the private table is read again here."""
    scan, con, policy = plan.scan, plan.source.con, plan.policy
    suppressed = plan.best.outcome.suppressed
    labels = node_labels(scan, plan.shown, plan.columns)
    about = {
        "objective": plan.objective.name,
        "node": json.dumps(plan.node),
        "suppressed_rows": str(suppressed),
        "kept_suppressed": "yes" if plan.stars else "no",
        "optimal": "yes" if plan.optimal else "no",
        "counts": "rows" if policy.person is None else "persons",
    }
    with written(con, path):
        rows = PublishedTable("published", plan.published_rows(), policy.table.name, may_be_counted(scan))
        count = write_generalized(con, policy, [rows], plan.columns, labels, about, requirements=policy.requirements)
    return Made(count, float(scan.rows - (0 if plan.stars else suppressed)))


def compare(plan: GeneralizePlan, path: Path) -> None:
    """Judge the file as it was written, against the shares and priors of the private table."""
    con = plan.source.con
    with attached(con, path, WRITTEN, error=ReleaseError):
        names = [c for c in file_written(con).columns(SCHEMA, "published") if c != COPIES]
        if names != published_columns(plan.scan):
            raise ReleaseError("the release does not have the columns it should have; nothing was published")
        if not plan.scan.frequencies.are_current() or not _is_the_same(plan):
            raise ReleaseError(
                "the table changed while it was being anonymized, so nothing was published; run it again"
            )
        if plan.best.outcome.suppressed:
            _refuse_values_of_suppressed(plan)


def _is_the_same(plan: GeneralizePlan) -> bool:
    """Whether the file has the classes that the plan has."""
    scan, expected = plan.scan, plan.best.outcome
    if plan.policy.person is not None:
        # Persons are not published, so they cannot be counted again; that no row came or went can be checked.
        rows = count_rows(file_written(plan.source.con))
        return bool(rows == scan.rows - (0 if plan.stars else expected.suppressed))
    if plan.starred is not None and plan.starred.kept:
        assert plan.starred.outcome is not None
        expected = plan.starred.outcome
    with scan.source.scratch.nested() as scratch:
        (found,) = evaluate(scan, plan.measures, [plan.best.node], base=_read_back(plan, scratch))
    wanted = (expected.suppressed, expected.classes, expected.squares, False)
    return (found.suppressed, found.classes, found.squares, found.table_fails) == wanted


def _read_back(plan: GeneralizePlan, scratch: Scratch) -> Relation:
    """The release as a base. A label or value that the private table does not have gets no number."""
    scan, policy, con = plan.scan, plan.policy, plan.source.con
    starred = " AND ".join(f"t.{quoted(q)} IS NOT DISTINCT FROM {literal(TOP)}" for q in policy.qis)
    columns = one_class(scan, plan.shown, "hidden", [f"x{a}" for a in range(len(policy.qis))])
    found = [f"n{a}.number AS x{a}" for a in range(len(policy.qis))]
    joins = [
        f" LEFT JOIN (SELECT DISTINCT label, number FROM {plan.shown.labels.name} WHERE attribute = {a}) AS n{a} "
        f"ON CAST(t.{quoted(qi)} AS VARCHAR) IS NOT DISTINCT FROM n{a}.label"
        for a, qi in enumerate(policy.qis)
    ]
    for j, (column, values) in enumerate(zip(policy.sensitive, scan.values, strict=True)):
        columns.append(f"s{j}")
        found.append(f"v{j}.id AS s{j}")
        joins.append(f" LEFT JOIN {values.relation.name} AS v{j} ON t.{quoted(column)} IS NOT DISTINCT FROM v{j}.value")
    found.append(f"{starred if plan.stars else 'false'} AS hidden")
    counted, number = rows_of(file_written(con).checked)
    rows = f"SELECT {', '.join(found)}, {number} AS n FROM {counted} AS t{''.join(joins)} GROUP BY ALL"
    published = scratch.table(f"SELECT {', '.join(columns)}, n FROM ({rows})", "published")
    if plan.stars:
        return published
    # The release is compared with the whole private table, so the suppressed rows of that are added to it.
    node = plan.best.node
    number = " + ".join(f"a{a}[{level + 1}]" for a, level in enumerate(node))
    listed = ", ".join([*(f"a{a}" for a in range(len(node))), *(f"s{j}" for j in range(len(policy.sensitive))), "n"])
    fetch(
        con, f"INSERT INTO {published.name} SELECT {listed} FROM {scan.base.name} WHERE {plan.shown.is_hidden(number)}"
    )
    return published


def _refuse_values_of_suppressed(plan: GeneralizePlan) -> None:
    """Search every column of the release, and its labels, for values that only suppressed rows have."""
    scan, shown, (private, more) = plan.scan, plan.shown, plan.source.repeated
    all_rows, number = rows_of(plan.source.checked)
    of_left_out = f"CAST(sum({COUNT}) AS BIGINT)" if more else "count(*)"
    # Suppressed rows that are kept show all columns but the quasi-identifiers.
    names = [c for c in published_columns(scan) if c in scan.places or not plan.stars]
    cells = ", ".join(f"CAST(t.{quoted(c)} AS VARCHAR) AS c{i}" for i, c in enumerate(names))
    rows = number_rows(scan.policy, private, cells + more, shown.labels)
    left_out = scan.source.scratch.table(f"{rows} WHERE {shown.is_hidden()}", "left_out").name
    for i, column in enumerate(names):
        a, value = scan.places.get(column), f"CAST({quoted(column)} AS VARCHAR)"
        # Values that are in no other row: the table does not have them more often than the suppressed rows have.
        hidden = f"SELECT c{i} AS value, {of_left_out} AS n FROM {left_out} WHERE c{i} IS NOT NULL GROUP BY 1"
        among = (
            f"SELECT {value} AS value, {number} AS n FROM {all_rows} "
            f"WHERE {value} IN (SELECT c{i} FROM {left_out}) GROUP BY 1"
        )
        only = f"SELECT h.value FROM ({hidden}) AS h JOIN ({among}) AS a ON h.value = a.value AND h.n = a.n"
        if a is None or plan.best.node[a] == 0:
            found = f"SELECT count(*) FROM (SELECT {value} AS value FROM {ROWS}) WHERE value IN ({only})"
            if fetch(plan.source.con, found)[0][0]:
                raise ReleaseError(
                    f"the release would show values of {column!r} that only suppressed rows have; nothing was published"
                )
        if a is not None:
            _refuse_labels_of_suppressed(scan, column, a, only)


def _refuse_labels_of_suppressed(scan: Scan, column: str, attribute: int, only: str) -> None:
    """Look into labels for values, but not where words of the policy make them: anybody could write those."""
    con, binned = scan.source.con, reveals_values(scan, attribute)
    if not binned:
        if not comes_from_a_table(scan.policy.hierarchies[scan.policy.qis[attribute]]):
            return
        # A hierarchy that has values beyond those of the table was made without looking at it.
        beyond = f"attribute = {attribute} AND value IS NOT NULL AND rows IS NULL"
        if fetch(con, f"SELECT count(*) FROM {scan.labels.leaves.name} WHERE {beyond}")[0][0]:
            return
    labels = f"SELECT unnest(list_concat([label], above)) AS label FROM {quoted(WRITTEN, SCHEMA, f'labels_{column}')}"
    named = inlined(f"FROM _values_in_labels(({labels}))")
    # A label that is a value as a whole may be the name that the owner gave to a group.
    inside = "" if binned else " AND value <> label"
    found = fetch(con, f"SELECT count(DISTINCT label) FROM ({named}) WHERE value IN ({only}){inside}")[0][0]
    if found:
        why = "" if binned else ", and its hierarchy has the values of the table and no other, so it was made from it"
        raise ReleaseError(
            f"{found:,} label(s) of {column!r} hold a value that only suppressed rows have{why}; nothing was "
            "published. Take cut points that anybody may know, as in ranges:10,100"
            + ("" if binned else ", or list all values that there could be")
        )
