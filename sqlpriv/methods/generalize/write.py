"""Write a node as a release: the published rows, what is guaranteed about them, and the labels that occur.

Schema main holds a view of the rows under the private table's own name; schema sqlpriv_release says what they are:

    published      the rows
    attributes     each published column: type, role, level it stands on, levels there are
    requirements   what was required, and what it guarantees
    hierarchy_<c>  the labels of column c that occur, with the labels above them

It never holds an identifier, a value that no published row has, a count beside the number of suppressed rows, or a
path. Rows are sorted by what they show, so their order says nothing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path

from sqlpriv.engine import attached, fetch
from sqlpriv.errors import ReleaseError
from sqlpriv.macros.catalog import macro
from sqlpriv.methods.generalize.evaluate import Node, Outcome, class_ctes, evaluate, write_nodes
from sqlpriv.methods.generalize.measures import ClassMeasure
from sqlpriv.methods.generalize.plan import GeneralizePlan
from sqlpriv.methods.generalize.scan import Scan, number_rows
from sqlpriv.methods.method import Made
from sqlpriv.policy.require import public_argument
from sqlpriv.release.file import SCHEMA, WRITTEN, double, write_about, write_numbers, write_values, written
from sqlpriv.sqltext import folded, literal, quoted
from sqlpriv.table.digest import rows_digest
from sqlpriv.table.hierarchies import TOP

_ENUM = re.compile(r"ENUM\('(?:[^']|'')*'(?:, '(?:[^']|'')*')*\)")
# Types in which the number 1 and the text '1' are two values.
_TWO_OF_ONE_TEXT = re.compile(r"\b(UNION|VARIANT)\b")
_PUBLISHED = ("quasi-identifier", "sensitive", "other")
_ROWS = f"{WRITTEN}.{SCHEMA}.published"


def write(plan: GeneralizePlan, path: Path) -> Made:
    """Write the node into a file; the private table is read again here."""
    scan, best, con = plan.scan, plan.best, plan.source.con
    _write_suppressed(scan, plan.measures, best.node)
    if plan.policy.keep_suppressed and best.outcome.suppressed > 0:
        _refuse_stars(scan)
    with written(con, path):
        fetch(con, f"CREATE TABLE {_ROWS} AS {_published_rows(scan, best.node)}")
        table = quoted(WRITTEN, "main", plan.policy.table.name)
        fetch(con, view_of_rows(table))
        _write_tables(plan)
        rows = int(fetch(con, f"SELECT count(*) FROM {_ROWS}")[0][0])
    kept = plan.policy.keep_suppressed
    return Made(rows, float(scan.rows - (0 if kept else best.outcome.suppressed)))


def view_of_rows(name: str) -> str:
    """The statement that makes the view of the published rows, under the private table's own name."""
    return f"CREATE VIEW {name} AS FROM {SCHEMA}.published"


def published_columns(scan: Scan) -> list[str]:
    """The columns of the release, in the order of the private table."""
    names = {folded(n): n for n in scan.policy.named(*_PUBLISHED)}
    return [c for c in scan.source.columns if folded(c) in names]


def _write_suppressed(scan: Scan, measures: Sequence[ClassMeasure], node: Node) -> None:
    """Tables shown (each value's label and number under the node) and suppressed (numbers of the failing classes)."""
    con = scan.source.con
    listed = ", ".join(f"({a}, {level}, {h})" for a, (level, h) in enumerate(zip(node, scan.heights, strict=True)))
    fetch(
        con,
        f"CREATE OR REPLACE TABLE shown AS SELECT l.attribute, l.value, l.numbers[level + 1] AS number, "
        f"CASE WHEN level = height THEN {literal(TOP)} ELSE p.labels[level + 1] END AS label, "
        f"p.labels[level + 2 : height] || CASE WHEN level < height THEN [{literal(TOP)}] ELSE [] END AS above "
        f"FROM leaves AS l JOIN (VALUES {listed}) AS n(attribute, level, height) ON l.attribute = n.attribute "
        f"JOIN paths AS p ON l.attribute = p.attribute AND l.value IS NOT DISTINCT FROM p.labels[1]",
    )
    write_nodes(scan, [node])
    query = f"WITH {class_ctes(scan, measures)} SELECT class FROM __priv_classes WHERE fails"
    fetch(con, f"CREATE OR REPLACE TABLE suppressed AS {query}")


def _refuse_stars(scan: Scan) -> None:
    """Kept rows are told from the others by their stars, so the others must not show stars in all columns, too."""
    starred = fetch(scan.source.con, f"SELECT count(DISTINCT attribute) FROM shown WHERE label = {literal(TOP)}")
    if starred[0][0] == len(scan.policy.qis):
        raise ReleaseError(
            f"rows that are published could show {TOP} in every quasi-identifier, like the suppressed rows that are "
            "kept; call that value or label something else, or set keep_suppressed = false"
        )


def _published_rows(scan: Scan, node: Node) -> str:
    policy = scan.policy
    place = {folded(qi): a for a, qi in enumerate(policy.qis)}
    number = " + ".join(f"l{a}.number" for a in range(len(policy.qis)))
    hidden = f"({number}) IN (FROM suppressed)"
    sensitive = {folded(c) for c in policy.sensitive}
    shown, starred = [], []
    kinds = {r[0]: r[1] for r in fetch(scan.source.con, f"DESCRIBE FROM {scan.source.table}")}
    for column in published_columns(scan):
        name, cell = quoted(column), _without_enums(f"t.{quoted(column)}", kinds[column])
        a = place.get(folded(column))
        if a is None:
            shown.append(f"{cell} AS {name}")
            starred.append(f"{'NULL' if folded(column) in sensitive else cell} AS {name}")
        else:
            # A column that was not generalized keeps its type, unless a star has to stand in it, or the type tells
            # values apart that are one text, and so one class.
            typed = node[a] == 0 and not policy.keep_suppressed and not _TWO_OF_ONE_TEXT.search(kinds[column])
            label = cell if typed else f"l{a}.label"
            shown.append(f"{label} AS {name}")
            starred.append(f"{literal(TOP)} AS {name}")
    rows = number_rows(policy, scan.source.table, ", ".join(shown), "shown") + f" WHERE NOT {hidden}"
    if policy.keep_suppressed:
        rows += " UNION ALL " + number_rows(policy, scan.source.table, ", ".join(starred), "shown")
        rows += f" WHERE {hidden}"
    return f"FROM ({rows}) ORDER BY ALL"


def _without_enums(cell: str, kind: str) -> str:
    """A cell as text where its type would tell all values that there are, also those of suppressed rows."""
    plain = _ENUM.sub("VARCHAR", kind)
    return cell if plain == kind else f"CAST({cell} AS {plain})"


def _write_tables(plan: GeneralizePlan) -> None:
    con, policy, scan, node = plan.source.con, plan.policy, plan.scan, plan.best.node
    write_about(con, _about(plan))
    write_numbers(con, {})
    roles = {folded(c.name): c.role for c in policy.columns}
    place = {folded(qi): a for a, qi in enumerate(policy.qis)}
    kinds = {r[0]: r[1] for r in fetch(con, f"DESCRIBE {_ROWS}")}
    listed = []
    for position, column in enumerate(published_columns(scan)):
        a = place.get(folded(column))
        levels = ("NULL", "NULL") if a is None else (str(node[a]), str(scan.heights[a]))
        listed.append((str(position), literal(column), literal(kinds[column]), literal(roles[folded(column)]), *levels))
    write_values(con, "attributes", "position, name, type, role, level, levels", listed)
    promised = ((*(literal(v) for v in _stated(m)), double(m.requirement.threshold)) for m in plan.measures)
    write_values(con, "requirements", "requirement, guarantee, measure, sensitive, arguments, threshold", promised)
    spelt = {folded(c): c for c in scan.source.columns}
    for a, qi in enumerate(spelt[folded(q)] for q in policy.qis):
        above = "".join(f", above[{i}] AS level{node[a] + i}" for i in range(1, scan.heights[a] - node[a] + 1))
        fetch(
            con,
            f"CREATE TABLE {quoted(WRITTEN, SCHEMA, f'hierarchy_{qi}')} AS SELECT DISTINCT label AS value{above} "
            f"FROM shown WHERE attribute = {a} AND label IN (SELECT CAST({quoted(qi)} AS VARCHAR) FROM {_ROWS}) "
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
        "kept_suppressed": "yes" if policy.keep_suppressed and suppressed else "no",
        "optimal": "yes" if plan.answer.optimal else "no",
        "counts": "persons" if policy.person is not None else "rows",
        # By what is published alone: a name made from the private table would let anyone test a guess at it.
        "release": rows_digest(plan.source.con, _ROWS),
    }
    return about | ({"beside": policy.beside} if policy.beside else {})


def _stated(measure: ClassMeasure) -> tuple[str | None, ...]:
    """A requirement as the file states it: of a file that it names, only the name."""
    required = measure.requirement
    arguments = {k: public_argument(v) for k, v in required.arguments.items()}
    promise = guarantee(required.measure.macro)
    return required.text, promise, required.name, required.sensitive, json.dumps(arguments)


def guarantee(name: str) -> str:
    """What a macro's number promises, in one sentence."""
    return macro(name).header.fields["guarantee"].replace("\n", " ")


def compare(plan: GeneralizePlan, path: Path) -> None:
    """Judge the file as it was written, against the shares and priors of the private table."""
    scan, measures, best, con = plan.scan, plan.measures, plan.best, plan.source.con
    node, outcome = best.node, best.outcome
    with attached(con, path, WRITTEN, error=ReleaseError):
        names = [r[0] for r in fetch(con, f"DESCRIBE {_ROWS}")]
        if names != published_columns(scan):
            raise ReleaseError("the release does not have the columns it should have; nothing was published")
        if plan.policy.person is not None:
            # Persons are not published, so they cannot be counted again; that no row came or went can be checked.
            rows = fetch(con, f"SELECT count(*) FROM {_ROWS} WHERE {_is_judged(scan, outcome)}")[0][0]
            holds = rows == scan.rows - outcome.suppressed
        else:
            _read_back(scan, node, outcome, _ROWS)
            expected = (outcome.suppressed, outcome.classes, outcome.squares, False)
            found = evaluate(scan, measures, [node], base="published")
            holds = [(o.suppressed, o.classes, o.squares, o.table_fails) for o in found] == [expected]
    if not holds:
        raise ReleaseError("the table changed while it was being anonymized, so nothing was published; run it again")


def _is_judged(scan: Scan, outcome: Outcome) -> str:
    """SQL that tells the published rows from suppressed ones that are kept, by their stars."""
    if not scan.policy.keep_suppressed or outcome.suppressed == 0:
        return "true"
    return "NOT (" + " AND ".join(f"{quoted(q)} IS NOT DISTINCT FROM '*'" for q in scan.policy.qis) + ")"


def _read_back(scan: Scan, node: Node, outcome: Outcome, table: str) -> None:
    """Table published: the release as a base. A label or value that the private table does not have gets no number."""
    policy = scan.policy
    columns, joins = [], []
    for a, qi in enumerate(policy.qis):
        # The number stands on every level, so that the one that is looked at is right.
        columns.append(f"list_transform(range(0, {scan.heights[a] + 1}), lambda i: n{a}.number) AS a{a}")
        joins.append(
            f" LEFT JOIN (SELECT DISTINCT label, number FROM shown WHERE attribute = {a}) AS n{a} "
            f"ON CAST(t.{quoted(qi)} AS VARCHAR) IS NOT DISTINCT FROM n{a}.label"
        )
    for j, column in enumerate(policy.sensitive):
        columns.append(f"v{j}.id AS s{j}")
        joins.append(f" LEFT JOIN values_{j} AS v{j} ON t.{quoted(column)} IS NOT DISTINCT FROM v{j}.value")
    rows = f"SELECT {', '.join(columns)} FROM {table} AS t{''.join(joins)} WHERE {_is_judged(scan, outcome)}"
    fetch(
        scan.source.con,
        f"CREATE OR REPLACE TABLE published AS SELECT *, count(*) AS n FROM ({rows}) GROUP BY ALL",
    )
    # What is published is compared with the whole private table, so its suppressed rows are put beside it.
    number = " + ".join(f"a{a}[{level + 1}]" for a, level in enumerate(node))
    listed = ", ".join([*(f"a{a}" for a in range(len(node))), *(f"s{j}" for j in range(len(policy.sensitive))), "n"])
    fetch(
        scan.source.con,
        f"INSERT INTO published SELECT {listed} FROM base WHERE ({number}) IN (FROM suppressed)",
    )
