"""(c,k)-safety required in a policy: every method meets the exact figure, or refuses in a sentence."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence
from fractions import Fraction
from pathlib import Path

import duckdb
import oracles
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.lattice_cases import LatticeCase, lattice_cases
from support.lattice_runs import source_of, write_case
from support.strategies import fewer

import sqlpriv
from sqlpriv.core.errors import PolicyError
from sqlpriv.macros.calls import Calls
from sqlpriv.macros.catalog import inlined
from sqlpriv.methods import METHODS
from sqlpriv.methods.generalized.generalize.lattice import all_nodes, minimal_nodes
from sqlpriv.methods.generalized.generalize.plan import prepare
from sqlpriv.methods.generalized.generalize.search import search
from sqlpriv.reports.recheck import recheck_sql

pytestmark = pytest.mark.slow

SCHEMA = "memory.given"
PEOPLE = "people.csv"
POLICY = """[table]
source = "people.csv"
[columns]
age = {{ role = "quasi-identifier", hierarchy = "ranges:5,10,20,40" }}
sex = {{ role = "quasi-identifier", hierarchy = "suppression" }}
ill = {{ role = "sensitive" }}
[require]
{require}
[release]
accept = "made-up people"
method = "{method}"
output = "out.duckdb"
{more}
"""
BOXES = ["mondrian", "hilbert"]
REQUIRE = "ck_safety = { ill = { k = 2, at_most = 0.7 } }"
Rows = list[dict[str, object]]


@pytest.fixture(scope="module")
def scratch() -> Iterator[Calls]:
    """A database of its own, with the macros that were created in it."""
    with duckdb.connect(config={"threads": 1}) as con:
        con.execute("CREATE SCHEMA priv; CREATE SCHEMA given").fetchall()
        yield Calls(con)


@fewer(4, deep=2)
@given(case=lattice_cases(always="disclosure"))
def test_the_search_finds_what_trying_every_node_finds(scratch: Calls, case: LatticeCase) -> None:
    policy = write_case(scratch.con, case, SCHEMA)
    domain, measures, objective, _ = prepare(source_of(scratch, case, SCHEMA, policy), policy)
    answer, expected = search(domain, measures, objective), case.best()
    assert answer.optimal
    if expected is None or answer.best is None:
        assert answer.best is expected
        return
    found = answer.best
    wanted = (expected.node, expected.suppressed_rows, expected.classes)
    assert (found.node, found.outcome.suppressed, found.outcome.classes) == wanted


@pytest.mark.slow
@fewer(8)
@given(case=lattice_cases(always="disclosure"))
def test_every_node_is_judged_as_the_oracle_judges_it(scratch: Calls, case: LatticeCase) -> None:
    policy = write_case(scratch.con, case, SCHEMA)
    domain, measures, *_ = prepare(source_of(scratch, case, SCHEMA, policy), policy)
    outcomes, table, at = case.outcomes(), case.table(), len(case.requirements) - 1
    (asked,) = (r for r in case.requirements if r.measure == "disclosure")
    for row in all_nodes(domain, measures):
        outcome = outcomes[row.node]
        assert (row.outcome.suppressed, row.valid) == (outcome.suppressed, outcome.valid)
        classes = table.classes(row.node, asked.sensitive)
        both = [(row.outcome.worst, classes)]
        both += [(row.outcome.published_worst, {key: classes[key] for key in outcome.published})] * outcome.valid
        for found, held in both:
            exact = max(oracles.disclosures(list(held.values()), asked.arguments["k"]))
            assert found[at] == pytest.approx(float(exact), rel=1e-9)
    assert sorted(r.node for r in minimal_nodes(domain, measures)) == case.minimal()


buckets = st.lists(
    st.lists(st.integers(0, 9), min_size=2, max_size=6).filter(lambda counts: sum(counts) > 0), min_size=1, max_size=4
)


@given(given_buckets=buckets, k=st.integers(1, 4), percent=st.integers(5, 99), c=st.integers(5, 95))
def test_the_bound_of_single_classes_is_never_below_the_figure_of_all(
    scratch: Calls, given_buckets: list[list[int]], k: int, percent: int, c: int
) -> None:
    """For any constant that is the same for all classes, and for the one that is chosen."""
    con = scratch.con
    counted = [[n for n in counts if n] for counts in given_buckets]
    rows = [{"b": b, "s": s} for b, counts in enumerate(counted) for s, n in enumerate(counts) for _ in range(n)]
    exact = oracles.ck_safety(rows, ["b"], "s", k)
    cells = ", ".join(f"({b}, {s}, {n}, {n}, {sum(counts)})"
                      for b, counts in enumerate(counted) for s, n in enumerate(counts))  # fmt: skip
    con.execute(f"CREATE OR REPLACE TABLE h AS FROM (VALUES {cells}) AS v(class, value, n, r, size)").fetchall()
    con.execute(f"CREATE OR REPLACE TABLE e AS {inlined(f'FROM _escapes_of(h, {k})')}").fetchall()
    rho = Fraction(percent, 100)
    bound = inlined(f"_disclosure_bound(members, top, escapes, {float(rho)!r}::DOUBLE)")
    found = dict(con.execute(f"SELECT class, {bound} FROM e").fetchall())
    for b, counts in enumerate(counted):
        n, r = sum(counts), sorted(counts, reverse=True)
        if all(abs(oracles.none_holds(n, r, j) - rho**j) > 1e-12 for j in range(1, k + 1)):
            assert found[b] == pytest.approx(float(oracles.disclosure_bound(counts, k, rho)), rel=1e-9)
    assert max(found.values()) >= float(exact) - 1e-9
    chosen = inlined(f"_disclosure_rho(members, top, escapes, {c / 100!r}::DOUBLE)")
    ((one,),) = con.execute(f"SELECT {chosen} FROM e WHERE class = 0 AND escapes[-1] > 0 "
                            "UNION ALL SELECT 0.5 WHERE NOT EXISTS (FROM e WHERE class = 0 AND escapes[-1] > 0)"
                            ).fetchall()  # fmt: skip
    assert one > 0
    bound = inlined(f"_disclosure_bound(members, top, escapes, {one!r}::DOUBLE)")
    assert con.execute(f"SELECT max({bound}) FROM e").fetchall()[0][0] >= float(exact) - 1e-9


def test_more_classes_than_one_decide() -> None:
    """The best three implications use both: neither class alone is as bad."""
    kinds = [[6, 3, 3, 2, 1, 1], [4, 4, 4, 1, 1]]
    rows = [{"b": b, "s": s} for b, counts in enumerate(kinds) for s, n in enumerate(counts) for _ in range(n)]
    together = oracles.ck_safety(rows, ["b"], "s", 3)
    assert together > max(oracles.ck_safety([r for r in rows if r["b"] == b], ["b"], "s", 3) for b in (0, 1))


def write(folder: Path, rows: Sequence[tuple[object, ...]], method: str, require: str, more: str = "") -> Path:
    (folder / "people.csv").write_text(
        "\n".join(["age,sex,ill", *(",".join(map(str, r)) for r in rows)]) + "\n", encoding="utf-8"
    )
    path = folder / "policy.toml"
    path.write_text(POLICY.format(require=require, method=method, more=more), encoding="utf-8")
    return path


def people(seed: int, rows: int = 150) -> list[tuple[object, ...]]:
    chance = random.Random(seed)
    ills = chance.choice(["abcdefgh", "aaabbcdefg", "aabbccddeefg"])
    return [(chance.randint(20, 59), chance.choice("MF"), chance.choice(ills)) for _ in range(rows)]


def published(file: Path, classes: Sequence[str], k: int, table: str = "published") -> tuple[Rows, float]:
    """The rows of a file, and their exact disclosure, which the oracle and the macro agree on."""
    with duckdb.connect() as con:
        sqlpriv.load(con)
        con.execute(f"ATTACH '{file}' AS f (READ_ONLY)").fetchall()
        names = [*classes, "ill"]
        listed = ", ".join(f'"{name}"' for name in names)
        con.execute(f"CREATE TABLE shown AS SELECT {listed} FROM f.sqlpriv_release.{table}").fetchall()
        rows = [dict(zip(names, row, strict=True)) for row in con.execute("FROM shown").fetchall()]
        exact = float(oracles.ck_safety(rows, classes, "ill", k))
        found = con.execute(f"FROM priv.ck_safety('shown', {list(classes)}, 'ill', {k})").fetchall()
    assert found[0][0] == pytest.approx(exact)
    return rows, exact


@pytest.mark.some(1)
@pytest.mark.parametrize("more", ["", "suppression = 0.2", "suppression = 0.2\nkeep_suppressed = true"])
@pytest.mark.parametrize("seed", range(2))
def test_a_generalized_release_meets_it(tmp_path: Path, seed: int, more: str) -> None:
    check_release(tmp_path, write(tmp_path, people(seed), "generalize", REQUIRE, more))


@pytest.mark.slow
@pytest.mark.parametrize("method", BOXES)
@pytest.mark.parametrize("seed", range(3))
def test_boxes_meet_it_and_are_more_than_one(tmp_path: Path, seed: int, method: str) -> None:
    assert check_release(tmp_path, write(tmp_path, people(seed), method, REQUIRE)) > 3


def check_release(folder: Path, path: Path, k: int = 2, at_most: float = 0.7) -> int:
    """Publish, and judge by the oracle and by the macro; how many classes there are."""
    said = sqlpriv.publish(path, ledger_file=folder / "ledger.db").content
    rows, exact = published(folder / "out.duckdb", ["age", "sex"], k)
    assert exact <= at_most + 1e-9
    (value,) = (r["value"] for r in said["requirements"] if r["requirement"].startswith("disclosure"))
    assert value == pytest.approx(exact)
    checks = {c["check"]: c["passed"] for c in sqlpriv.verify(folder / "out.duckdb", path).content["checks"]}
    assert checks[f"disclosure(ill, k={k})<={at_most}"] is True
    return len({(row["age"], row["sex"]) for row in rows})


@pytest.mark.some(1)
@pytest.mark.parametrize(("k", "at_most", "needed"), [(1, 0.5, 3), (2, 0.5, 4), (2, 0.6, 4), (3, 0.2, 8)])
def test_anatomy_takes_as_many_values_as_it_needs(tmp_path: Path, k: int, at_most: float, needed: int) -> None:
    rows = [(20 + i % 40, "MF"[i % 2], "abcdefghij"[i % 10]) for i in range(160)]
    path = write(tmp_path, rows, "anatomy", f"ck_safety = {{ ill = {{ k = {k}, at_most = {at_most} }} }}")
    said = sqlpriv.publish(path, ledger_file=tmp_path / "ledger.db").content
    assert said["numbers"]["l"] == needed
    _, exact = published(tmp_path / "out.duckdb", ["__bucket"], k, "side_2")
    assert said["requirements"][0]["value"] == pytest.approx(exact) == pytest.approx(1 / (needed - k))
    assert sqlpriv.verify(tmp_path / "out.duckdb", path).content["passed"]


def test_anatomy_refuses_what_too_frequent_values_do_not_allow(tmp_path: Path) -> None:
    rows = [(20 + i, "M", "a" if i % 3 == 0 else f"b{i}") for i in range(30)]
    path = write(tmp_path, rows, "anatomy", "ck_safety = { ill = { k = 2, at_most = 0.5 } }")
    with pytest.raises(PolicyError, match="the largest l that works is 3"):
        sqlpriv.plan(path)


@pytest.mark.parametrize("method", ["generalize", *BOXES])
def test_what_all_rows_as_one_class_fail_is_refused(tmp_path: Path, method: str) -> None:
    rows = [(20 + i, "M", "abc"[i % 3]) for i in range(30)]
    path = write(tmp_path, rows, method, "ck_safety = { ill = { k = 2, at_most = 0.9 } }")
    with pytest.raises(PolicyError, match=r"one class.* disclosure\(ill, k=2\)<=0.9 "):
        sqlpriv.plan(path)


def test_a_node_that_fails_it_is_refused_by_name(tmp_path: Path) -> None:
    more = "node = { age = 0, sex = 0 }"
    with pytest.raises(PolicyError, match=r"does not meet the policy: .*disclosure\(ill, k=2\)<=0.7"):
        sqlpriv.plan(write(tmp_path, people(0), "generalize", REQUIRE, more))


@pytest.mark.parametrize(
    ("require", "says"),
    [
        ("ck_safety = { ill = { k = 2 } }", "takes at_most, k"),
        ("ck_safety = { ill = { k = 0, at_most = 0.5 } }", "whole number of at least 1"),
        ("ck_safety = { ill = { k = 1, at_most = 1 } }", "above 0 and below 1"),
        ("ck_safety = { ill = 0 }", "above 0 and below 1"),
        ("ck_safety = { age = 0.5 }", "not a sensitive column"),
    ],
)
def test_what_makes_no_sense_is_refused(tmp_path: Path, require: str, says: str) -> None:
    with pytest.raises(PolicyError, match=says):
        sqlpriv.plan(write(tmp_path, people(0), "generalize", require))


def test_check_takes_it_as_before(tmp_path: Path) -> None:
    write(tmp_path, people(0), "generalize", REQUIRE)
    found = sqlpriv.check(tmp_path / "people.csv", "sex", "ill", require=["disclosure(k=2)<0.9", "disclosure<=0.9"])
    assert [r["passed"] for r in found.content["requirements"]] == [True, True]


@pytest.mark.some(1)
@pytest.mark.parametrize("method", ["generalize", *BOXES])
def test_a_file_that_was_changed_to_fail_it_fails(tmp_path: Path, method: str) -> None:
    path = write(tmp_path, people(1), method, REQUIRE)
    sqlpriv.publish(path, ledger_file=tmp_path / "ledger.db")
    file = tmp_path / "out.duckdb"
    with duckdb.connect(str(file)) as con:
        first = "(SELECT (age, sex) FROM sqlpriv_release.published LIMIT 1)"
        con.execute(f"UPDATE sqlpriv_release.published SET ill = 'a' WHERE (age, sex) = {first}").fetchall()
    checks = {c["check"]: c for c in sqlpriv.verify(file, path).content["checks"]}
    assert checks["disclosure(ill, k=2)<=0.7"]["passed"] is False
    assert checks["disclosure(ill, k=2)<=0.7"]["found"] == "is 1"


@pytest.mark.some(1)
@pytest.mark.parametrize("method", ["generalize", "mondrian", "anatomy"])
def test_the_page_prints_sql_that_finds_the_figure_again(tmp_path: Path, method: str) -> None:
    path = write(tmp_path, people(1), method, REQUIRE)
    said = sqlpriv.publish(path, ledger_file=tmp_path / "ledger.db").content["requirements"]
    file = tmp_path / "out.duckdb"
    sql = recheck_sql(METHODS[method], str(file), json.loads(json.dumps(sqlpriv.show(file).content)))
    head, _, judged = sql.partition("-- disclosure(ill, k=2)<=0.7")
    with duckdb.connect() as con:  # no macro is there: what the page prints is plain SQL
        con.execute(head.splitlines()[0]).fetchall()
        (value,) = con.execute(judged.split("\n", 1)[1].partition(";\n")[0]).fetchall()[0]
    assert value == pytest.approx(said[0]["value"])


def test_persons_are_counted_as_the_macro_counts_them(tmp_path: Path) -> None:
    """Every person has two rows, so that classes of so many rows have fewer people."""
    rows = [(*row[:2], f"{row[2]},{i // 2}") for i, row in enumerate(people(1))]
    path = write(tmp_path, rows, "generalize", REQUIRE)
    for file, old, new in ((path, "[require]", 'who = { role = "person" }\n[require]'), (PEOPLE, "ill\n", "ill,who\n")):
        named = tmp_path / file
        named.write_text(named.read_text(encoding="utf-8").replace(old, new, 1), encoding="utf-8")
    said = sqlpriv.plan(path).content
    node, width = said["node"], {0: 1, 1: 5, 2: 10, 3: 20, 4: 40, 5: 1000}
    label = f"age // {width[node['age']]} AS a, {'sex' if node['sex'] == 0 else 0} AS b"
    with duckdb.connect() as con:
        sqlpriv.load(con)
        con.execute(f"CREATE TABLE t AS SELECT {label}, ill, who FROM '{tmp_path / PEOPLE}'").fetchall()
        ((exact,),) = con.execute("FROM priv.ck_safety('t', ['a', 'b'], 'ill', 2, 'who')").fetchall()
    assert said["requirements"][0]["value"] == pytest.approx(exact)
    assert exact <= 0.7
