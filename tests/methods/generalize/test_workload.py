"""The owner's own counting queries as an objective, against an oracle that enumerates all combinations of values."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles.lattice import measure_nodes
from oracles.workload import Condition, mean_error
from support import strategies as _profile  # noqa: F401  (sets the number of examples)
from support.lattice_cases import LatticeCase, random_case
from support.lattice_runs import source_of, write_case
from support.policies import policy_text, qi, role, write_policy
from support.strategies import EXAMPLES

from sqlpriv.errors import PolicyError
from sqlpriv.macros.calls import Calls
from sqlpriv.methods.generalize.plan import prepare
from sqlpriv.methods.generalize.search import search
from sqlpriv.methods.generalize.workload import Workload, read_workload
from sqlpriv.publishing import plan
from sqlpriv.sqltext import literal, quoted

SCHEMA = "memory.asked"


@pytest.fixture(scope="module")
def scratch() -> Iterator[Calls]:
    with duckdb.connect(config={"threads": 1}) as con:
        con.execute("CREATE SCHEMA priv; CREATE SCHEMA asked").fetchall()
        yield Calls(con)


@dataclass(frozen=True)
class Asked:
    """A condition as SQL and as Python."""

    sql: str
    holds: Condition


def both(one: object, other: object) -> object:
    if one is False or other is False:
        return False
    return None if one is None or other is None else True


def either(one: object, other: object) -> object:
    if one is True or other is True:
        return True
    return None if one is None or other is None else False


def opposite(one: object) -> object:
    return None if one is None else not one


def simple(chance: random.Random, case: LatticeCase, name: str, values: list[object]) -> Asked:
    """A comparison with a value, a set or NULL."""
    present = [v for v in values if v is not None] or [7 if case.columns[name] == "INTEGER" else "a"]
    column, value = quoted(name), chance.choice(present)
    some = chance.sample(present, chance.randint(1, len(present)))
    kind = chance.choice(["=", "<=", "IN", "IS NULL", "IS NOT NULL"])
    if kind == "=":
        return Asked(f"{column} = {literal(value)}", lambda row: None if row[name] is None else row[name] == value)
    if kind == "<=":
        below = {v: compare(v, value) for v in present}
        return Asked(f"{column} <= {literal(value)}", lambda row: None if row[name] is None else below[row[name]])
    if kind == "IN":
        listed = ", ".join(literal(v) for v in some)
        return Asked(f"t.{column} IN ({listed})", lambda row: None if row[name] is None else row[name] in some)
    if kind == "IS NULL":
        return Asked(f"{column} IS NULL", lambda row: row[name] is None)
    return Asked(f"{column} IS NOT NULL", lambda row: row[name] is not None)


def compare(one: object, other: object) -> bool:
    if isinstance(one, int) and isinstance(other, int):
        return one <= other
    return str(one).encode() <= str(other).encode()


def condition(chance: random.Random, case: LatticeCase, domains: Mapping[str, list[object]], depth: int = 2) -> Asked:
    kind = chance.choice(["AND", "AND", "OR", "NOT", ""]) if depth else ""
    if kind == "":
        name = chance.choice(list(domains))
        return simple(chance, case, name, domains[name])
    one = condition(chance, case, domains, depth - 1)
    if kind == "NOT":
        return Asked(f"NOT ({one.sql})", lambda row: opposite(one.holds(row)))
    other = condition(chance, case, domains, depth - 1)
    join = both if kind == "AND" else either
    return Asked(f"({one.sql}) {kind} ({other.sql})", lambda row: join(one.holds(row), other.holds(row)))


def asked_of(chance: random.Random) -> tuple[LatticeCase, list[Asked]]:
    """A random search and up to three queries about its table; one may have no condition."""
    case = random_case(chance)
    wide = {qi: [path[0] for path in paths.values()] for qi, paths in case.hierarchies.items()}
    columns = list(case.columns)
    seen = {s: list(dict.fromkeys(row[columns.index(s)] for row in case.rows)) for s in case.sensitive}
    queries = [condition(chance, case, wide | seen) for _ in range(chance.choice([1, 2, 3]))]
    return case, queries


@settings(max_examples=min(25, EXAMPLES))
@given(seed=st.integers(0, 2**32))
def test_the_error_of_every_node_is_that_of_the_oracle(
    scratch: Calls, tmp_path_factory: pytest.TempPathFactory, seed: int
) -> None:
    case, queries = asked_of(random.Random(seed))
    folder = tmp_path_factory.getbasetemp()
    (folder / "queries.sql").write_text(";\n".join(f"SELECT count(*) FROM t WHERE {q.sql}" for q in queries))
    policy = write_case(scratch.con, case, SCHEMA)
    asked = {**policy.release, "objective": "workload:queries.sql"}
    policy = replace(policy, table=replace(policy.table, folder=folder), release=asked)
    domain, measures, objective = prepare(source_of(scratch, case, SCHEMA, policy), policy)
    nodes = list(case.table().nodes())
    found = Workload(domain, measures, read_workload(policy, "queries.sql"), "queries.sql").errors(nodes)
    expected = {n: mean_error(case.table(), n, case.requirements, [q.holds for q in queries]) for n in nodes}
    for node in nodes:
        assert math.isclose(found[node], expected[node], rel_tol=1e-9, abs_tol=1e-9), (node, [q.sql for q in queries])
    outcomes = measure_nodes(
        case.rows, list(case.columns), case.qis, case.hierarchies, case.requirements, case.suppression
    )
    valid = [n for n in nodes if outcomes[n].valid]
    best = search(domain, measures, objective).best
    assert (best is None) == (not valid)
    if best is not None:
        assert math.isclose(best.cost, min(expected[n] for n in valid), rel_tol=1e-9, abs_tol=1e-9)


PEOPLE = "CREATE TABLE people AS SELECT i AS age, i % 2 AS sex, i % 3 AS ill, i AS id FROM range(12) AS r(i)"
COLUMNS = {"age": qi("ranges:3,6"), "sex": qi(), "ill": role("sensitive"), "id": role("identifier")}


def ask(folder: Path, queries: str) -> float:
    text = policy_text(COLUMNS, "k = 2", 'objective = "workload:w.sql"')
    return float(plan(write_policy(folder, text, PEOPLE, {"w.sql": queries})).content["value"])


@pytest.mark.parametrize(
    "query",
    [
        "SELECT count(*) FROM people",
        "select Count(*) as n from people where AGE between 3 and 5",
        'SELECT COUNT(*) FROM "people" AS p WHERE p.sex = 1 AND p."age" >= 6;',
        "-- a comment\nFROM people SELECT count(*) WHERE ill = 1",
    ],
)
def test_queries_that_a_node_answers_exactly(tmp_path: Path, query: str) -> None:
    assert ask(tmp_path, query) == 0


@pytest.mark.parametrize(
    ("queries", "message"),
    [
        ("", "w.sql holds no query"),
        ("-- nothing", "w.sql holds no query"),
        ("SELECT count(* FROM people", "w.sql is not SQL"),
        ("SELECT count(*) FROM people; SELECT sum(age) FROM people", "w.sql, query 2: only SELECT count"),
        ("SELECT count(*), count(*) FROM people", "query 1: only SELECT count"),
        ("SELECT count(age) FROM people", "query 1: only SELECT count"),
        ("SELECT count(*) FROM people GROUP BY sex", "query 1: only SELECT count"),
        ("SELECT count(*) FROM people AS p, people AS q", "query 1: only SELECT count"),
        ("SELECT count(*) FROM people WHERE age = (SELECT max(age) FROM people)", "query 1: only SELECT count"),
        ("SELECT count(*) FROM people WHERE EXISTS (FROM people)", "query 1: only SELECT count"),
        ("WITH p AS (FROM people) SELECT count(*) FROM p", "query 1: only SELECT count"),
        ("SELECT count(*) FROM people UNION SELECT count(*) FROM people", "query 1: only SELECT count"),
        ("DROP TABLE people", "query 1: only SELECT count"),
        ("SELECT count(*) FROM people WHERE id = 1", "'id' is not a published column"),
        ("SELECT count(*) FROM people WHERE nobody = 1", "'nobody' is not a published column"),
    ],
)
def test_what_is_no_workload_is_refused(tmp_path: Path, queries: str, message: str) -> None:
    with pytest.raises(PolicyError) as refused:
        ask(tmp_path, queries)
    assert message in str(refused.value)


def test_a_workload_that_is_not_there(tmp_path: Path) -> None:
    text = policy_text(COLUMNS, "k = 2", 'objective = "workload:no.sql"')
    with pytest.raises(PolicyError, match=r"there is no workload file 'no.sql'"):
        plan(write_policy(tmp_path, text, PEOPLE))


def test_a_condition_that_does_not_run_is_named(tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match=r"w.sql, query 1: the condition does not work on the columns of the table"):
        ask(tmp_path, "SELECT count(*) FROM people WHERE nofunction(age)")
