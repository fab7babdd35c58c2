"""Releases: what is in the file, what must not be in it, and that a failure leaves the old one or none."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import duckdb
import pytest
from hypothesis import example, given, settings
from oracles.lattice import Require, measure_node
from oracles.lattice_measures import TABLE_LEVEL
from oracles.lattice_table import Table
from support.clients import command_line, needs_command_line
from support.lattice_cases import LatticeCase, lattice_cases
from support.lattice_runs import write_case
from support.policies import Generalized, generalize, policy_text, qi, role, write_policy
from support.strategies import EXAMPLES

from sqlpriv.core.errors import InternalError, PolicyError, ReleaseError
from sqlpriv.core.sqltext import quoted
from sqlpriv.macros.expand import expand
from sqlpriv.methods.generalized.generalize.policy import GeneralizePolicy
from sqlpriv.table.source import TableReference

METHOD = import_module("sqlpriv.methods.generalized.generalize.method")
PLAN = import_module("sqlpriv.methods.generalized.generalize.plan")
PUBLISHING = import_module("sqlpriv.publishing")
PATH = import_module("sqlpriv.publishing.path")
FILE = import_module("sqlpriv.release.file")
WRITE = import_module("sqlpriv.methods.generalized.generalize.write")
Row = tuple[object, ...]


def rows_of(file: Path, table: str, schema: str = "main") -> list[Row]:
    with duckdb.connect(str(file), read_only=True) as con:
        return con.execute(f"FROM {quoted(schema, table)}").fetchall()


def tables_of(file: Path) -> set[str]:
    with duckdb.connect(str(file), read_only=True) as con:
        found = con.execute("SELECT schema_name || '.' || table_name FROM duckdb_tables()").fetchall()
    return {str(name) for (name,) in found}


def types_of(file: Path, table: str) -> dict[str, str]:
    with duckdb.connect(str(file), read_only=True) as con:
        return {str(r[0]): str(r[1]) for r in con.execute(f"DESCRIBE {quoted(table)}").fetchall()}


def everything_in(file: Path) -> list[str]:
    """Every cell of every table and view and every type, as text."""
    with duckdb.connect(str(file), read_only=True) as con:
        found = con.execute(
            "SELECT schema_name, table_name FROM duckdb_tables() UNION ALL "
            "SELECT schema_name, view_name FROM duckdb_views() WHERE NOT internal"
        ).fetchall()
        texts = [str(con.execute("FROM duckdb_columns()").fetchall())]
        texts += [str(con.execute(f"FROM {quoted(*name)}").fetchall()) for name in found]
    return texts


# --- random searches ----------------------------------------------------------------------------


def published_by_the_oracle(case: LatticeCase, node: tuple[int, ...]) -> tuple[Counter[Row], list[Row]]:
    """The rows of the release as a multiset, with labels as text, and the private rows they come from."""
    table = case.table()
    kept = measure_node(table, node, case.requirements, case.suppression).published
    shown, origin = [], []
    width = len(case.qis)
    tops = dict(zip(case.qis, (table.height(q) for q in case.qis), strict=True))
    for values, numbers in table.members.items():
        if (labels := table.labels(values, node)) in kept:
            cells = ["*" if tops[q] == lv else at for q, lv, at in zip(case.qis, node, labels, strict=True)]
            for number in numbers:
                shown.append((*(None if c is None else str(c) for c in cells), *case.rows[number][width:]))
                origin.append(case.rows[number])
    return Counter(shown), origin


def write_file(folder: Path, case: LatticeCase, keep_suppressed: bool) -> GeneralizePolicy:
    """The case as a database file of its own, and its policy."""
    database = folder / "private.duckdb"
    database.unlink(missing_ok=True)
    (folder / "people-release.duckdb").unlink(missing_ok=True)
    with duckdb.connect(str(database)) as con:
        policy = write_case(con, case, "main")
    own = {"keep_suppressed": keep_suppressed, "output": "people-release.duckdb", "accept": "made-up people"}
    release = {**policy.release, **own}
    return replace(policy, table=replace(policy.table, folder=folder), release=release)


# The distance of a class from the table is that from the whole table, also where a part of it is suppressed.
FAR_WITHOUT_THE_SUPPRESSED = LatticeCase(
    rows=(
        (3, 3, 3, 3), (3, 3, 3, 3), (7, 3, 3, 3), (3, 3, 12, 3), (3, 3, 3, 3), (3, 3, 3, 3), (3, 7, 3, 7), (7, 3, 7, 3),
        (3, 3, 12, 7), (3, 3, 3, 3),
    ),
    columns={"age": "INTEGER", "zip": "INTEGER", "hour": "INTEGER", "disease": "INTEGER"},
    qis=("age", "zip", "hour"),
    sensitive=("disease",),
    hierarchies={
        "age": {3: (3, "*"), 7: (7, "*")},
        "zip": {3: (3, "*"), 7: (7, "*")},
        "hour": {3: (3, "3", "*"), 7: (7, "7", "*"), 12: (12, "12", "*")},
    },
    population=(),
    requirements=(Require("uniques", 1), Require("t_ordered", 0.3, "disease")),
    objective="height",
    suppression=0.1,
)  # fmt: skip


@settings(max_examples=min(20, EXAMPLES))
@example(case=FAR_WITHOUT_THE_SUPPRESSED)
@given(case=lattice_cases())
def test_a_release_is_what_the_oracle_publishes_and_passes_its_policy(
    tmp_path_factory: pytest.TempPathFactory, case: LatticeCase
) -> None:
    folder = tmp_path_factory.mktemp("random")
    policy = write_file(folder, case, keep_suppressed=False)
    expected = case.best()
    if expected is None:
        with pytest.raises(PolicyError, match="no node meets the requirements"):
            generalize(policy)
        assert not (folder / "people-release.duckdb").exists()
        return
    result = generalize(policy, ledger=folder / "ledger.db")
    assert tuple(result.node.values()) == expected.node
    shown, origin = published_by_the_oracle(case, expected.node)
    width = len(case.qis)
    written = rows_of(folder / "people-release.duckdb", "private")
    texts = [(*(None if c is None else str(c) for c in row[:width]), *row[width:]) for row in written]
    assert Counter(texts) == shown
    assert passes(case, expected.node, written)
    types = types_of(folder / "people-release.duckdb", "private")
    assert all(types[q] == case.columns[q] for q, level in result.node.items() if level == 0)
    assert only_published_labels(folder / "people-release.duckdb", case, origin)


def passes(case: LatticeCase, node: tuple[int, ...], written: list[Row]) -> bool:
    """The policy judged from the rows of the file alone, but for what refers to the private table: its shares.

    A release is a table whose labels are its values, so it is looked at at the bottom of one-level hierarchies.
    """
    width = len(case.qis)
    rows = [(*(None if c is None else str(c) for c in row[:width]), *row[width:]) for row in written]
    relative = {"t", "t_ordered", "t_hierarchical", "beta", "enhanced_beta", "delta", "epsilon_class2"}
    own = [r for r in case.requirements if r.measure not in relative and "population" not in r.arguments]
    flat = {q: {v: (v, "*") for v in {row[i] for row in rows}} if width else {} for i, q in enumerate(case.qis)}
    table = Table.read(rows, list(case.columns), case.qis, flat)
    outcome = measure_node(table, (0,) * width, own, 0)
    assert len(outcome.published) == len(
        measure_node(case.table(), node, case.requirements, case.suppression).published
    )
    assert all(r.measure in TABLE_LEVEL or not outcome.failing for r in own)
    return outcome.valid


def only_published_labels(file: Path, case: LatticeCase, origin: list[Row]) -> bool:
    """No table of the release tells a label that no published row has."""
    width = len(case.qis)
    for place, name in enumerate(case.qis):
        labels = {
            "*" if level == len(path) - 1 else None if label is None else str(label)
            for row in origin
            for path in [case.hierarchies[name][row[:width][place]]]
            for level, label in enumerate(path)
        }
        listed = rows_of(file, f"labels_{name}", "sqlpriv_release")
        told = {cell for label, _, above, *ends in listed for cell in (label, *above, *ends)}
        if not told <= labels:
            return False
    return True


@pytest.mark.slow
@settings(max_examples=min(10, EXAMPLES))
@given(case=lattice_cases())
def test_kept_rows_are_a_class_of_stars_that_passes_or_are_left_out(
    tmp_path_factory: pytest.TempPathFactory, case: LatticeCase
) -> None:
    folder = tmp_path_factory.mktemp("kept")
    policy = write_file(folder, case, keep_suppressed=True)
    expected = case.best()
    if expected is None:
        return
    generalize(policy, ledger=folder / "ledger.db")
    shown, origin = published_by_the_oracle(case, expected.node)
    width = len(case.qis)
    hidden = Counter(case.rows) - Counter(origin)
    stars = [(*("*" for _ in case.qis), *row[width:]) for row in hidden.elements()]
    if stars and not any("population" in r.arguments for r in case.requirements) and holds_with(case, shown, stars):
        shown += Counter(stars)
    texts = Counter(as_text(row) for row in rows_of(folder / "people-release.duckdb", "private"))
    expected_texts: Counter[Row] = Counter()
    for row, number in shown.items():
        expected_texts[as_text(row)] += number
    assert texts == expected_texts


def as_text(row: Row) -> Row:
    return tuple(None if c is None else str(c) for c in row)


def holds_with(case: LatticeCase, shown: Counter[Row], stars: list[Row]) -> bool:
    """Whether the published rows, with the suppressed ones as one class more, meet every requirement as they stand."""
    rows = [*shown.elements(), *stars]
    flat = {q: {v: (v, "*") for v in {row[i] for row in rows}} for i, q in enumerate(case.qis)}
    table = Table.read(rows, list(case.columns), case.qis, flat)
    outcome = measure_node(table, (0,) * len(case.qis), case.requirements, 0)
    return outcome.valid


# --- one table looked at closely ----------------------------------------------------------------

SECRET = "SECRET-42"
PEOPLE = f"""
CREATE TYPE kind AS ENUM ('a', 'b', '{SECRET}-enum');
CREATE TABLE people AS SELECT i AS id, '{SECRET}-ssn-' || i AS ssn, '{SECRET}-person-' || i AS person,
  '{SECRET}-note' AS note, 20 + i // 3 AS age,
  CASE WHEN i = 9 THEN '{SECRET}-zip' ELSE '1305' || i // 6 END AS zip,
  (CASE WHEN i = 9 THEN '{SECRET}-enum' WHEN i < 5 THEN 'a' ELSE 'b' END)::kind AS kind,
  CASE WHEN i = 9 THEN '{SECRET}-ill' ELSE 'ill' || i % 2 END AS ill,
  i * 1.5::DOUBLE AS cost, [i] AS visits, {{'x': 1}} AS details
FROM range(10) AS r(i)
"""
COLUMNS = {
    "id": role("drop"),
    "ssn": role("identifier"),
    "person": role("person"),
    "note": role("drop"),
    "age": qi("ranges:5"),
    "zip": qi("suppression"),
    "kind": role("other"),
    "ill": role("sensitive"),
    "cost": role("other"),
    "visits": role("other"),
    "details": role("other"),
}
REQUIRE = "k = 2\ndistinct_l = 1"
SUPPRESSION = "suppression = 0.2"


def release_people(folder: Path, release: str = SUPPRESSION, sql: str = PEOPLE, require: str = REQUIRE) -> Generalized:
    return generalize(write_policy(folder, policy_text(COLUMNS, require, release), sql))


def test_the_columns_that_are_published(tmp_path: Path) -> None:
    result = release_people(tmp_path)
    assert (result.node, result.suppressed_rows) == ({"age": 0, "zip": 0}, 1)
    assert result.output == tmp_path / "people-release.duckdb"
    types = types_of(result.output, "people")
    assert types == {
        "age": "BIGINT",
        "zip": "VARCHAR",
        "kind": "VARCHAR",
        "ill": "VARCHAR",
        "cost": "DOUBLE",
        "visits": "BIGINT[]",
        "details": "STRUCT(x INTEGER)",
    }
    assert len(rows_of(result.output, "people")) == 9
    assert tables_of(result.output) == {
        "sqlpriv_release.about",
        "sqlpriv_release.attributes",
        "sqlpriv_release.digests",
        "sqlpriv_release.parameters",
        "sqlpriv_release.published",
        "sqlpriv_release.reasons",
        "sqlpriv_release.requirements",
        "sqlpriv_release.labels_age",
        "sqlpriv_release.labels_zip",
    }
    assert rows_of(result.output, "people") == rows_of(result.output, "published", "sqlpriv_release")
    assert dict(rows_of(result.output, "about", "sqlpriv_release"))["suppressed_rows"] == "1"
    attributes = rows_of(result.output, "attributes", "sqlpriv_release")
    assert (0, "age", "BIGINT", "quasi-identifier", 0, 2, "BIGINT", "values", False) in attributes
    assert (3, "ill", "VARCHAR", "sensitive", None, None, "VARCHAR", "values", False) in attributes
    requirements = rows_of(result.output, "requirements", "sqlpriv_release")
    assert requirements == [("k", None, "{}", 2.0), ("distinct_l", "ill", "{}", 1.0)]
    assert {p.name for p in tmp_path.iterdir()} == {"private.duckdb", "policy.toml", "people-release.duckdb"}


@pytest.mark.some(1)
@pytest.mark.parametrize("keep", ["", "\nkeep_suppressed = true"])
def test_nothing_of_identifiers_and_suppressed_rows_is_in_the_file(tmp_path: Path, keep: str) -> None:
    folder = tmp_path / "home-of-alice"
    folder.mkdir()
    result = release_people(folder, SUPPRESSION + keep)
    content = result.output.read_bytes()
    assert result.suppressed_rows == 1
    # One row alone is no class that could be kept.
    assert SECRET not in "".join(everything_in(result.output))
    for word in ("-ssn", "-person", "-note", "-zip", "-ill", "-enum"):
        assert f"{SECRET}{word}".encode() not in content
    for word in ("alice", str(tmp_path), "policy.toml", "private.duckdb", os.environ.get("USER") or "alice"):
        assert word.encode() not in content


def test_paths_of_files_that_requirements_name_are_not_published(tmp_path: Path) -> None:
    town = tmp_path / "home-of-alice" / "town.csv"
    town.parent.mkdir()
    town.write_text("q\n1\n1\n")
    require = f"k_map = {{ population = '{town}', at_least = 2 }}"
    path = write_policy(tmp_path, policy_text({"q": qi()}, require), "CREATE TABLE people AS SELECT 1 AS q")
    result = generalize(path)
    (requirement,) = PUBLISHING.show(result.output).content["requirements"]
    assert requirement["requirement"] == "k_map(population=town.csv)>=2"
    assert b"alice" not in result.output.read_bytes()


def test_a_suppressed_row_alone_is_not_kept(tmp_path: Path) -> None:
    """It would be a class of one, with the person's other columns beside the stars."""
    path = write_policy(tmp_path, policy_text(COLUMNS, REQUIRE, f"{SUPPRESSION}\nkeep_suppressed = true"), PEOPLE)
    facts = PUBLISHING.publish(path).facts
    output = tmp_path / "people-release.duckdb"
    assert [row for row in rows_of(output, "people") if row[0] == "*"] == []
    assert dict(rows_of(output, "about", "sqlpriv_release"))["kept_suppressed"] == "no"
    assert (facts.content["kept_suppressed"], facts.content["suppressed_rows"]) == (False, 1)
    told = [part.text for part in facts.parts if getattr(part, "mark", "") == "warning"]
    assert told == [
        "The 1 suppressed rows are left out although keep_suppressed is set: as one class with * in every "
        "quasi-identifier they would fail k>=2."
    ]


STRANGERS = """
CREATE TABLE people AS
SELECT i // 5 AS q, i % 3 AS s, i % 2 AS v FROM range(20) AS r(i)
UNION ALL SELECT 100 + i, {ill}, 7 + i FROM range(3) AS r(i)
"""


def kept(folder: Path, require: str, ill: str) -> list[Row]:
    """The rows with stars, where three rows are alone by themselves and together have the values `ill`."""
    columns = {"q": qi(), "s": role("sensitive"), "v": role("other")}
    text = policy_text(columns, require, "suppression = 0.2\nkeep_suppressed = true")
    output = generalize(write_policy(folder, text, STRANGERS.format(ill=ill))).output
    with duckdb.connect(str(output), read_only=True) as con:
        (k,) = con.execute("SELECT min(n) FROM (SELECT count(*) AS n FROM people GROUP BY q)").fetchall()[0]
    assert k >= 2
    return [row for row in rows_of(output, "people") if row[0] == "*"]


def test_suppressed_rows_that_meet_the_requirements_together_are_kept_as_a_class(tmp_path: Path) -> None:
    assert kept(tmp_path, "k = 3\ndistinct_l = 3", "i") == [("*", 0, 7), ("*", 1, 8), ("*", 2, 9)]
    about = dict(rows_of(tmp_path / "people-release.duckdb", "about", "sqlpriv_release"))
    assert about["kept_suppressed"] == "yes"
    assert types_of(tmp_path / "people-release.duckdb", "people")["q"] == "VARCHAR"


@pytest.mark.some(1)
@pytest.mark.parametrize(
    ("require", "ill"),
    [("k = 4", "i"), ("k = 3\ndistinct_l = 3", "i % 2"), ("k = 3\nt = 0.3", "0"), ("k = 2\nmarketer = 0.21", "i")],
)
def test_suppressed_rows_that_fail_any_requirement_together_are_left_out(
    tmp_path: Path, require: str, ill: str
) -> None:
    assert kept(tmp_path, require, ill) == []


def test_values_that_are_stars_are_not_taken_for_suppressed_rows(tmp_path: Path) -> None:
    sql = (
        "CREATE TABLE people AS SELECT CASE WHEN i < 4 THEN '*' WHEN i < 8 THEN 'b' ELSE 'c' END AS q, i % 2 AS s "
        "FROM range(9) AS r(i)"
    )
    text = policy_text({"q": qi(), "s": role("sensitive")}, "k = 2", "suppression = 0.2\nkeep_suppressed = true")
    with pytest.raises(ReleaseError, match="rows that are published could show \\* in every quasi-identifier"):
        generalize(write_policy(tmp_path, text, sql))
    assert not list(tmp_path.glob("*release*"))
    result = generalize(write_policy(tmp_path, text.replace("k = 2", "k = 1")))
    assert len(rows_of(result.output, "people")) == 9


def test_the_order_of_the_rows_says_nothing(tmp_path: Path) -> None:
    answers, files = [], []
    for number, order in enumerate(("i", "-i", "hash(i)")):
        folder = tmp_path / str(number)
        folder.mkdir()
        shuffled = (
            PEOPLE.replace("CREATE TABLE people AS", "CREATE TABLE people AS FROM (")
            + f") ORDER BY {order.replace('i', 'id')}"
        )
        output = release_people(folder, sql=shuffled.replace("FROM ( SELECT", "FROM (SELECT")).output
        files.append(output)
        with duckdb.connect(str(output), read_only=True) as con:
            answers.append(con.execute("SELECT rowid, * FROM sqlpriv_release.published").fetchall())
            answers[-1] += con.execute("SELECT rowid, * FROM sqlpriv_release.labels_zip").fetchall()
    assert answers[0] == answers[1] == answers[2]


# --- failures -----------------------------------------------------------------------------------


def state(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def test_the_old_release_survives_a_policy_that_cannot_be_met(tmp_path: Path) -> None:
    release_people(tmp_path)
    write_policy(tmp_path, policy_text(COLUMNS, "k = 11", SUPPRESSION))
    before = state(tmp_path)
    with pytest.raises(PolicyError, match="no node meets the requirements"):
        generalize(tmp_path / "policy.toml")
    assert state(tmp_path) == before


def test_an_old_release_is_replaced(tmp_path: Path) -> None:
    release_people(tmp_path)
    write_policy(
        tmp_path, policy_text(COLUMNS, "k = 9", f'{SUPPRESSION}\ncoexists_because = "the first never went out"')
    )
    result = generalize(tmp_path / "policy.toml")
    assert result.node == {"age": 1, "zip": 1}
    assert {row[:4] for row in rows_of(tmp_path / "people-release.duckdb", "people")} == {("20-24", 20, 24, "*")}


@pytest.mark.some(3)
@pytest.mark.parametrize(
    ("function", "failure", "raised"),
    [
        ("run", duckdb.IOException("disk full of SECRET-42"), ReleaseError),
        ("attach_new", RuntimeError("a bug"), RuntimeError),
        ("_publish_file", KeyboardInterrupt(), KeyboardInterrupt),
        ("write_generalized", duckdb.IOException("disk full of SECRET-42"), InternalError),
        ("write_generalized", KeyboardInterrupt(), KeyboardInterrupt),
        ("write_shown", KeyboardInterrupt(), KeyboardInterrupt),
        ("compare", OSError("no space"), ReleaseError),
        ("compare", KeyboardInterrupt(), KeyboardInterrupt),
    ],
)
def test_a_failure_in_the_middle_leaves_what_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, function: str, failure: BaseException, raised: type
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise failure

    path = write_policy(tmp_path, policy_text(COLUMNS, REQUIRE, SUPPRESSION), PEOPLE)
    before = state(tmp_path)
    module = next(m for m in (METHOD, PLAN, WRITE, PATH, FILE) if hasattr(m, function))
    monkeypatch.setattr(module, function, fail)
    with pytest.raises(raised) as refused:
        generalize(path)
    assert SECRET not in str(refused.value)
    assert state(tmp_path) == before


def test_a_file_that_changes_meanwhile_is_not_published(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_policy(
        tmp_path, policy_text({"q": qi()}, "k = 2", table='source = "people.csv"'), files={"people.csv": "q\n1\n1\n"}
    )
    found = PLAN.search

    def change_after(text: str | None) -> None:
        def searched(*arguments: Any) -> object:
            answer = found(*arguments)
            if text is None:
                (tmp_path / "people.csv").unlink()
            else:
                (tmp_path / "people.csv").write_text(text)
            return answer

        monkeypatch.setattr(PLAN, "search", searched)

    for text in ("q\n1\n1\n2\n", "q\n1\n2\n", None):
        change_after(text)
        with pytest.raises(ReleaseError, match="the file changed while it was read, so nothing was published"):
            generalize(path)
        assert not list(tmp_path.glob("*release*"))
        (tmp_path / "people.csv").write_text("q\n1\n1\n")


def test_a_file_that_changes_while_it_is_written_is_not_published(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A new value would be left out of the release without a word: it has no label."""
    path = write_policy(
        tmp_path, policy_text({"q": qi()}, "k = 2", table='source = "people.csv"'), files={"people.csv": "q\n1\n1\n"}
    )
    prepared = PLAN.write_shown

    def change(*arguments: Any) -> object:
        shown = prepared(*arguments)
        (tmp_path / "people.csv").write_text("q\n1\n1\n3\n")
        return shown

    monkeypatch.setattr(PLAN, "write_shown", change)
    with pytest.raises(ReleaseError, match="the file changed while it was read, so nothing was published"):
        generalize(path)
    assert not list(tmp_path.glob("*release*"))


@pytest.mark.some(1)
@pytest.mark.parametrize("changed", ["q\n1\n2\n", "q\n1\n", "q\n2\n2\n", "q\n1\n1\n1\n"])
def test_a_file_that_changes_unnoticed_is_found_in_what_was_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, changed: str
) -> None:
    """As when a view of a database reads a file."""
    path = write_policy(
        tmp_path, policy_text({"q": qi()}, "k = 2", table='source = "people.csv"'), files={"people.csv": "q\n1\n1\n"}
    )
    monkeypatch.setattr(TableReference, "state", lambda _: None)
    found = PLAN.search

    def searched(*arguments: Any) -> object:
        (tmp_path / "people.csv").write_text(changed)
        return found(*arguments)

    monkeypatch.setattr(PLAN, "search", searched)
    with pytest.raises(ReleaseError, match="the table changed"):
        generalize(path)
    assert {p.name for p in tmp_path.iterdir()} == {"people.csv", "policy.toml"}


@pytest.mark.parametrize(
    ("output", "message"),
    [
        ("private.duckdb", "'private.duckdb' is the private database itself"),
        ("./x/../private.duckdb", "is the private database itself"),
        ("policy.toml", "'policy.toml' is there already and is no release"),
        ("data.csv", "'data.csv' is there already and is not of an earlier release; give the output another name"),
        ("other.duckdb", "'other.duckdb' is there already and is no release"),
        ("x", "'x' is there already and is no release"),
        ("no/people-release.duckdb", "there is no folder for the release 'people-release.duckdb'"),
        ("sqlpriv_release.duckdb", "a release cannot be called 'sqlpriv_release.duckdb'"),
        ("x/Priv.v2.duckdb", "a release cannot be called 'Priv.v2.duckdb'"),
        ("data.csv/release-1.duckdb", "there is no folder for the release"),
    ],
)
def test_nothing_else_is_written_over(tmp_path: Path, output: str, message: str) -> None:
    (tmp_path / "x").mkdir()
    with duckdb.connect(str(tmp_path / "other.duckdb")) as con:
        con.execute("CREATE TABLE mine AS SELECT 1 AS x").fetchall()
    text = policy_text(COLUMNS, REQUIRE, SUPPRESSION).replace('"people-release.duckdb"', f'"{output}"')
    path = write_policy(tmp_path, text, PEOPLE, {"data.csv": "a\n1\n"})
    before = state(tmp_path)
    with pytest.raises(ReleaseError) as refused:
        generalize(path)
    assert message in str(refused.value)
    assert state(tmp_path) == before


def test_an_empty_file_is_nothing_to_lose(tmp_path: Path) -> None:
    (tmp_path / "people-release.duckdb").touch()
    assert release_people(tmp_path).suppressed_rows == 1


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="there is no folder that nobody can write")
def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    path = write_policy(tmp_path, policy_text(COLUMNS, REQUIRE, SUPPRESSION), PEOPLE)
    with pytest.raises(ReleaseError, match=r"cannot write people.duckdb in its folder"):
        generalize(path, Path("/proc/people.duckdb"))


def test_no_output_at_all(tmp_path: Path) -> None:
    text = policy_text(COLUMNS, REQUIRE, SUPPRESSION).replace('output = "people-release.duckdb"', "")
    with pytest.raises(PolicyError, match="the policy names no output"):
        generalize(write_policy(tmp_path, text, PEOPLE))


@pytest.mark.slow
def test_control_c_leaves_nothing(tmp_path: Path) -> None:
    columns = {f"q{j}": qi("ranges:2,4,8,16") for j in range(8)} | {"s": role("sensitive")}
    listed = ", ".join(f"hash(i * {j + 1} + 7) % 40 AS q{j}" for j in range(8))
    sql = f"CREATE TABLE people AS SELECT {listed}, i % 9 AS s FROM range(30000) AS r(i)"
    write_policy(tmp_path, policy_text(columns, "t = 0.05", 'suppression = 0.1\nobjective = "discernibility"'), sql)
    before = state(tmp_path)
    # It says when it is in the midst of the search, so that the test need not guess. Ctrl-C raises KeyboardInterrupt as
    # in a terminal, also where the parent ignores it, as under nohup: what is ignored is inherited.
    script = """
import importlib, itertools, signal
signal.signal(signal.SIGINT, signal.default_int_handler)
searching, number = importlib.import_module("sqlpriv.methods.generalized.generalize.search"), itertools.count()
def evaluate(*given, evaluated=searching.evaluate, **named):
    if next(number) == 1:
        print("searching", flush=True)
    return evaluated(*given, **named)
searching.evaluate = evaluate
importlib.import_module("sqlpriv.apps.cli.main").main()
"""
    process = subprocess.Popen(
        [sys.executable, "-c", script, "publish", "policy.toml"],
        cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stdout.readline() == "searching\n"
    process.send_signal(signal.SIGINT)
    try:
        out, err = process.communicate(timeout=60)
    finally:
        process.kill()
    assert (process.returncode, out) == (130, "")
    assert "Traceback" not in err
    assert state(tmp_path) == before


# --- other clients ------------------------------------------------------------------------------


@pytest.mark.slow
@needs_command_line
def test_the_command_line_of_duckdb_checks_a_release(tmp_path: Path) -> None:
    output = release_people(tmp_path).output
    checks = (
        "FROM priv.k_anonymity('people', ['age', 'zip'])",
        "SELECT distinct_l FROM priv.l_diversity('people', ['age', 'zip'], 'ill')",
    )
    asked = "; ".join([*map(expand, checks), "SELECT value FROM sqlpriv_release.about WHERE name = 'method'"])
    done = subprocess.run(
        [str(command_line()), "-readonly", "-csv", "-noheader", str(output), asked],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.split() == ["3", "2", "generalize"]
