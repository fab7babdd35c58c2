"""Write a node as a release: the published rows, what is guaranteed about them, and the labels that occur.

Schema main holds a view of the rows under the private table's own name; schema sqlpriv_release says what they are:

    published      the rows
    attributes     each published column: type, role, level it stands on, levels there are; the type of its values, what
                   its labels are, and whether its domain is public
    requirements   what was required, and what it guarantees
    hierarchy_<c>  the labels of column c that occur, with the labels above them
    ends_<c>       where these are ranges, their ends; and domain.<c> the public domain of c, if any (leaves.py)

It never holds an identifier, a value that no published row has (but those of domains that the policy declares), a count
beside the number of suppressed rows, or a path. Rows are sorted by what they show, so their order says nothing.
"""

from __future__ import annotations

import json
from pathlib import Path

from sqlpriv.engine import fetch
from sqlpriv.methods.generalize.plan import GeneralizePlan
from sqlpriv.methods.generalize.shown import shown_rows
from sqlpriv.methods.labelled.leaves import write_leaves
from sqlpriv.methods.labelled.scan import published_columns
from sqlpriv.methods.labelled.stated import ATTRIBUTES, write_requirements
from sqlpriv.methods.labelled.view import view_of_rows
from sqlpriv.methods.method import Made
from sqlpriv.release.file import SCHEMA, WRITTEN, write_about, write_numbers, write_values, written
from sqlpriv.sqltext import folded, literal, quoted

ROWS = f"{WRITTEN}.{SCHEMA}.published"


def write(plan: GeneralizePlan, path: Path) -> Made:
    """Write the node into a file; the private table is read again here."""
    scan, best, con = plan.scan, plan.best, plan.source.con
    stars = plan.stars
    with written(con, path):
        rows = shown_rows(scan, best.node, published_columns(scan), plan.policy.keep_suppressed, stars)
        fetch(con, f"CREATE TABLE {ROWS} AS FROM ({rows}) ORDER BY ALL")
        _write_tables(plan)
        write_leaves(scan, best.node, plan.columns, WRITTEN, SCHEMA)
        shown = [(c.name, c.ends if c.has_ends else None) for c in plan.columns]
        fetch(con, view_of_rows(quoted(WRITTEN, "main", plan.policy.table.name), shown))
        written_rows = int(fetch(con, f"SELECT count(*) FROM {ROWS}")[0][0])
    return Made(written_rows, float(scan.rows - (0 if stars else best.outcome.suppressed)))


def _write_tables(plan: GeneralizePlan) -> None:
    con, policy, scan, node = plan.source.con, plan.policy, plan.scan, plan.best.node
    write_about(con, _about(plan))
    write_numbers(con, {})
    roles = {folded(c.name): c.role for c in policy.columns}
    place = {folded(qi): a for a, qi in enumerate(policy.qis)}
    kinds = {r[0]: r[1] for r in fetch(con, f"DESCRIBE {ROWS}")}
    listed = []
    for position, column in enumerate(published_columns(scan)):
        a = place.get(folded(column))
        levels = ("NULL", "NULL") if a is None else (str(node[a]), str(scan.heights[a]))
        shown = plan.columns[position]
        told = literal(shown.original), literal(shown.labels), literal(shown.domain is not None)
        own = str(position), literal(column), literal(kinds[column]), literal(roles[folded(column)])
        listed.append((*own, *levels, *told))
    write_values(con, "attributes", ", ".join(ATTRIBUTES), listed)
    write_requirements(con, plan.measures)
    spelt = {folded(c): c for c in scan.source.columns}
    for a, qi in enumerate(spelt[folded(q)] for q in policy.qis):
        above = "".join(f", above[{i}] AS level{node[a] + i}" for i in range(1, scan.heights[a] - node[a] + 1))
        fetch(
            con,
            f"CREATE TABLE {quoted(WRITTEN, SCHEMA, f'hierarchy_{qi}')} AS SELECT DISTINCT label AS value{above} "
            f"FROM shown WHERE attribute = {a} AND label IN (SELECT CAST({quoted(qi)} AS VARCHAR) FROM {ROWS}) "
            "ORDER BY ALL",
        )


def _about(plan: GeneralizePlan) -> dict[str, str]:
    policy, suppressed = plan.policy, plan.best.outcome.suppressed
    about = {
        "method": policy.method,
        "table": policy.table.name,
        "objective": plan.objective.name,
        "node": json.dumps(plan.node),
        "suppressed_rows": str(suppressed),
        "kept_suppressed": "yes" if plan.stars else "no",
        "optimal": "yes" if plan.optimal else "no",
        "counts": "persons" if policy.person is not None else "rows",
    }
    return about | ({"beside": policy.beside} if policy.beside else {})
