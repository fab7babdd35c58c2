"""A release: one DuckDB file with the published table, what is guaranteed about it, and the macros to check it.

Schema main holds the table under the private table's own name; schema release says what it is:

    about          method, version, objective, suppressed rows
    columns        each published column: role, level it stands on, levels there are
    requirements   what was required, and what it guarantees
    hierarchy_<c>  the labels of column c that occur, with the labels above them

It never holds an identifier, a value that no published row has, a count beside the number of suppressed rows, or a
path. Rows are sorted by what they show, so their order says nothing. The file is written under another name, checked
again from what was written, and only then renamed: a crash leaves the old release or none.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path

import duckdb

from sqlpriv.engine import fetch, translate
from sqlpriv.errors import ReleaseError
from sqlpriv.macros.catalog import SCHEMA, macro
from sqlpriv.macros.expand import table_parts
from sqlpriv.macros.install import STORAGE, load, locked_by, may_hold_a_database
from sqlpriv.methods.generalize.evaluate import Node, Outcome, class_ctes, evaluate, write_nodes
from sqlpriv.methods.generalize.measures import ClassMeasure
from sqlpriv.methods.generalize.scan import Domain, number_rows
from sqlpriv.policy.reader import TablePolicy
from sqlpriv.sqltext import folded, literal, quoted
from sqlpriv.table.hierarchies import TOP
from sqlpriv.version import __version__

_FILE = "release_file"
_ENUM = re.compile(r"ENUM\('(?:[^']|'')*'(?:, '(?:[^']|'')*')*\)")
# Types in which the number 1 and the text '1' are two values.
_TWO_OF_ONE_TEXT = re.compile(r"\b(UNION|VARIANT)\b")
_PUBLISHED = ("quasi-identifier", "sensitive", "other")


def check_target(output: Path, policy: TablePolicy) -> None:
    """Refuse what cannot be written, and to write over anything but an earlier release."""
    if not output.parent.is_dir():
        raise ReleaseError(f"there is no folder for the release {output.name!r}")
    if folded(output.name).partition(".")[0] in {"release", SCHEMA}:
        # DuckDB calls an open file by its name up to the first dot, and could not tell it from a schema inside.
        raise ReleaseError(f"a release cannot be called {output.name!r}, like a schema in it; give it another name")
    if not output.exists() or (output.is_file() and output.stat().st_size == 0):
        return
    if (
        policy.database is not None
        and policy.is_file(policy.database)
        and output.samefile(policy.path(policy.database))
    ):
        raise ReleaseError(f"{output.name!r} is the private database itself; give the release another name")
    if not output.is_file() or not may_hold_a_database(output) or not _is_release(output):
        raise ReleaseError(f"{output.name!r} is there already and is no release; give the release another name")


def _is_release(path: Path) -> bool:
    try:
        with duckdb.connect(str(path), read_only=True) as con:
            found = con.execute(
                "FROM duckdb_tables() WHERE schema_name = 'release' AND table_name = 'about'"
            ).fetchall()
    except duckdb.Error as error:
        raise ReleaseError(f"cannot replace {path.name!r}: {locked_by(error)}") from None
    return bool(found)


def write_release(
    domain: Domain,
    measures: tuple[ClassMeasure, ...],
    node: Node,
    outcome: Outcome,
    output: Path,
    about: dict[str, str],
    is_unchanged: Callable[[], bool],
) -> None:
    """Write the node as a release file, check it from the file, and put it in its place.

    The private table is read again here, so it has to be the same before and after.
    """
    _refuse_change(is_unchanged)
    partial = output.with_name(f".{output.name}.{os.getpid()}.partial")
    try:
        remove_partial(partial)
        _write_suppressed(domain, measures, node)
        if domain.policy.keep_suppressed and outcome.suppressed > 0:
            _refuse_stars(domain)
        _write(domain, measures, node, partial, about)
        _check(domain, measures, node, outcome, partial)
        _refuse_change(is_unchanged)
        os.replace(partial, output)
    except duckdb.Error as error:
        raise translate(error) from None
    except OSError:
        raise ReleaseError(f"cannot write {output.name} in its folder") from None
    finally:
        remove_partial(partial)


def _refuse_change(is_unchanged: Callable[[], bool]) -> None:
    if not is_unchanged():
        raise ReleaseError("the file changed while it was read, so nothing was published; run it again")


def table_name(policy: TablePolicy) -> str:
    """The name of the published table: that of the private one."""
    source = policy.source
    if policy.database:
        return table_parts(source)[-1].replace('""', '"')
    return Path(source).name.lstrip(".").partition(".")[0] or "data"


def published_columns(domain: Domain) -> list[str]:
    """The columns of the release, in the order of the private table."""
    names = {folded(n): n for n in domain.policy.named(*_PUBLISHED)}
    return [c for c in domain.source.columns if folded(c) in names]


def _write(
    domain: Domain, measures: tuple[ClassMeasure, ...], node: Node, partial: Path, about: dict[str, str]
) -> None:
    con = domain.source.con
    try:
        con.execute(f"ATTACH {literal(str(partial))} AS {_FILE} (STORAGE_VERSION {literal(STORAGE)})").fetchall()
    except duckdb.Error:
        raise ReleaseError("the folder of the release cannot be written") from None
    try:
        fetch(
            con, f"CREATE TABLE {quoted(_FILE, 'main', table_name(domain.policy))} AS {_published_rows(domain, node)}"
        )
        fetch(con, f"CREATE SCHEMA {_FILE}.release")
        _write_tables(domain, measures, node, about)
    finally:
        fetch(con, f"DETACH {_FILE}")
    with duckdb.connect(str(partial), config={"storage_compatibility_version": STORAGE}) as released:
        load(released)


def _write_suppressed(domain: Domain, measures: Sequence[ClassMeasure], node: Node) -> None:
    """Tables shown (each value's label and number under the node) and suppressed (numbers of the failing classes)."""
    con = domain.source.con
    listed = ", ".join(f"({a}, {level}, {h})" for a, (level, h) in enumerate(zip(node, domain.heights, strict=True)))
    fetch(
        con,
        f"CREATE OR REPLACE TABLE shown AS SELECT l.attribute, l.value, l.numbers[level + 1] AS number, "
        f"CASE WHEN level = height THEN {literal(TOP)} ELSE p.labels[level + 1] END AS label, "
        f"p.labels[level + 2 : height] || CASE WHEN level < height THEN [{literal(TOP)}] ELSE [] END AS above "
        f"FROM leaves AS l JOIN (VALUES {listed}) AS n(attribute, level, height) ON l.attribute = n.attribute "
        f"JOIN paths AS p ON l.attribute = p.attribute AND l.value IS NOT DISTINCT FROM p.labels[1]",
    )
    write_nodes(domain, [node])
    query = f"WITH {class_ctes(domain, measures)} SELECT class FROM __priv_classes WHERE fails"
    fetch(con, f"CREATE OR REPLACE TABLE suppressed AS {query}")


def _refuse_stars(domain: Domain) -> None:
    """Kept rows are told from the others by their stars, so the others must not show stars in all columns, too."""
    starred = fetch(domain.source.con, f"SELECT count(DISTINCT attribute) FROM shown WHERE label = {literal(TOP)}")
    if starred[0][0] == len(domain.policy.qis):
        raise ReleaseError(
            f"rows that are published could show {TOP} in every quasi-identifier, like the suppressed rows that are "
            "kept; call that value or label something else, or set keep_suppressed = false"
        )


def _published_rows(domain: Domain, node: Node) -> str:
    policy = domain.policy
    place = {folded(qi): a for a, qi in enumerate(policy.qis)}
    number = " + ".join(f"l{a}.number" for a in range(len(policy.qis)))
    hidden = f"({number}) IN (FROM suppressed)"
    sensitive = {folded(c) for c in policy.sensitive}
    shown, starred = [], []
    kinds = {r[0]: r[1] for r in fetch(domain.source.con, f"DESCRIBE FROM {domain.source.table}")}
    for column in published_columns(domain):
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
    rows = number_rows(policy, domain.source.table, ", ".join(shown), "shown") + f" WHERE NOT {hidden}"
    if policy.keep_suppressed:
        rows += " UNION ALL " + number_rows(policy, domain.source.table, ", ".join(starred), "shown")
        rows += f" WHERE {hidden}"
    return f"FROM ({rows}) ORDER BY ALL"


def _without_enums(cell: str, kind: str) -> str:
    """A cell as text where its type would tell all values that there are, also those of suppressed rows."""
    plain = _ENUM.sub("VARCHAR", kind)
    return cell if plain == kind else f"CAST({cell} AS {plain})"


def _write_tables(domain: Domain, measures: Sequence[ClassMeasure], node: Node, about: dict[str, str]) -> None:
    con, policy = domain.source.con, domain.policy
    facts = ", ".join(f"({literal(k)}, {literal(v)})" for k, v in {"sqlpriv": __version__, **about}.items())
    fetch(con, f"CREATE TABLE {_FILE}.release.about AS FROM (VALUES {facts}) AS a(name, value)")
    roles = {folded(c.name): c.role for c in policy.columns}
    place = {folded(qi): a for a, qi in enumerate(policy.qis)}
    columns = ", ".join(
        f"({literal(c)}, {literal(roles[folded(c)])}, "
        + (f"{node[place[folded(c)]]}, {domain.heights[place[folded(c)]]})" if folded(c) in place else "NULL, NULL)")
        for c in published_columns(domain)
    )
    fetch(con, f'CREATE TABLE {_FILE}.release.columns AS FROM (VALUES {columns}) AS c("column", role, level, levels)')
    promises = ", ".join(
        f"({literal(m.requirement.text)}, {literal(_guarantee(m.requirement.measure.macro))})" for m in measures
    )
    fetch(con, f"CREATE TABLE {_FILE}.release.requirements AS FROM (VALUES {promises}) AS r(requirement, guarantee)")
    for a, qi in enumerate(policy.qis):
        above = "".join(f", above[{i}] AS level{node[a] + i}" for i in range(1, domain.heights[a] - node[a] + 1))
        fetch(
            con,
            f"CREATE TABLE {quoted(_FILE, 'release', f'hierarchy_{qi}')} AS SELECT DISTINCT label AS value{above} "
            f"FROM shown WHERE attribute = {a} AND label IN (SELECT CAST({quoted(qi)} AS VARCHAR) "
            f"FROM {quoted(_FILE, 'main', table_name(domain.policy))}) ORDER BY ALL",
        )


def _guarantee(name: str) -> str:
    return macro(name).header.fields["guarantee"].replace("\n", " ")


def _check(domain: Domain, measures: tuple[ClassMeasure, ...], node: Node, outcome: Outcome, partial: Path) -> None:
    """Judge the file as it was written, against the shares and priors of the private table."""
    con = domain.source.con
    fetch(con, f"ATTACH {literal(str(partial))} AS {_FILE} (READ_ONLY)")
    try:
        table = quoted(_FILE, "main", table_name(domain.policy))
        names = [r[0] for r in fetch(con, f"DESCRIBE {table}")]
        if names != published_columns(domain):
            raise ReleaseError("the release does not have the columns it should have; nothing was published")
        if domain.policy.person is not None:
            # Persons are not published, so they cannot be counted again; that no row came or went can be checked.
            rows = fetch(con, f"SELECT count(*) FROM {table} WHERE {_is_judged(domain, outcome)}")[0][0]
            holds = rows == domain.rows - outcome.suppressed
        else:
            _read_back(domain, node, outcome, table)
            expected = (outcome.suppressed, outcome.classes, outcome.squares, False)
            found = evaluate(domain, measures, [node], base="published")
            holds = [(o.suppressed, o.classes, o.squares, o.table_fails) for o in found] == [expected]
    finally:
        fetch(con, f"DETACH {_FILE}")
    if not holds:
        raise ReleaseError("the table changed while it was being anonymized, so nothing was published; run it again")


def _is_judged(domain: Domain, outcome: Outcome) -> str:
    """SQL that tells the published rows from suppressed ones that are kept, by their stars."""
    if not domain.policy.keep_suppressed or outcome.suppressed == 0:
        return "true"
    return "NOT (" + " AND ".join(f"{quoted(q)} IS NOT DISTINCT FROM '*'" for q in domain.policy.qis) + ")"


def _read_back(domain: Domain, node: Node, outcome: Outcome, table: str) -> None:
    """Table published: the release as a base. A label or value that the private table does not have gets no number."""
    policy = domain.policy
    columns, joins = [], []
    for a, qi in enumerate(policy.qis):
        # The number stands on every level, so that the one that is looked at is right.
        columns.append(f"list_transform(range(0, {domain.heights[a] + 1}), lambda i: n{a}.number) AS a{a}")
        joins.append(
            f" LEFT JOIN (SELECT DISTINCT label, number FROM shown WHERE attribute = {a}) AS n{a} "
            f"ON CAST(t.{quoted(qi)} AS VARCHAR) IS NOT DISTINCT FROM n{a}.label"
        )
    for j, column in enumerate(policy.sensitive):
        columns.append(f"v{j}.id AS s{j}")
        joins.append(f" LEFT JOIN values_{j} AS v{j} ON t.{quoted(column)} IS NOT DISTINCT FROM v{j}.value")
    rows = f"SELECT {', '.join(columns)} FROM {table} AS t{''.join(joins)} WHERE {_is_judged(domain, outcome)}"
    fetch(
        domain.source.con,
        f"CREATE OR REPLACE TABLE published AS SELECT *, count(*) AS n FROM ({rows}) GROUP BY ALL",
    )
    # What is published is compared with the whole private table, so its suppressed rows are put beside it.
    number = " + ".join(f"a{a}[{level + 1}]" for a, level in enumerate(node))
    listed = ", ".join([*(f"a{a}" for a in range(len(node))), *(f"s{j}" for j in range(len(policy.sensitive))), "n"])
    fetch(
        domain.source.con,
        f"INSERT INTO published SELECT {listed} FROM base WHERE ({number}) IN (FROM suppressed)",
    )


def remove_partial(partial: Path) -> None:
    """Remove a release that is not finished, with what DuckDB keeps beside it."""
    for path in (partial, partial.with_name(partial.name + ".wal")):
        path.unlink(missing_ok=True)
