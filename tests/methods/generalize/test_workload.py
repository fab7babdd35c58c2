"""The owner's own queries as an objective: what the release of each node would answer, held against the table."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import duckdb
import numpy as np
import pytest
from oracles.workload import group_sums, mean_error
from support.bounded_cases import COLUMNS, Asked, BoundedCase, answers, random_question
from support.policies import policy_text, qi, read, role, write_policy

from sqlpriv.core.errors import PolicyError
from sqlpriv.methods.generalized.evaluate import evaluate
from sqlpriv.methods.generalized.generalize.node import judge_stars, write_shown
from sqlpriv.methods.generalized.generalize.plan import prepare
from sqlpriv.methods.generalized.generalize.policy import GeneralizePolicy
from sqlpriv.methods.generalized.generalize.search import is_valid, search
from sqlpriv.methods.generalized.generalize.workload import counts_rows
from sqlpriv.methods.lattice import Node
from sqlpriv.publishing import open_private, open_release, plan

pytestmark = pytest.mark.slow

WORKLOAD = 'objective = "workload:w.sql"'
NODES = list(itertools.product(range(4), range(3)))


def questions(chance: random.Random) -> list[tuple[Asked, str]]:
    """Some questions for one number each, that have one in truth."""
    found = []
    while len(found) < 3:
        asked = random_question(chance)
        if not asked.joined:
            found.append((asked, chance.choice(COLUMNS)))
    return found


def numbers(case: BoundedCase, asked: Asked, name: str, kept: bool | None) -> dict[tuple[object, ...], Fraction | None]:
    """The estimates of a node by the oracle; of the table as it is, where nothing is said of suppressed rows."""
    case = copy(case)
    if kept is None:
        case.node, case.k = (0, 0), 1
    sums = group_sums(case.choices(bool(kept)), asked.adds, 4)
    nothing = (Fraction(0),) * 4
    return {key: answers(tuple(sums.get(key, nothing)))[name] for key in case.groups(asked)}


def expected(case: BoundedCase, queries: Sequence[tuple[Asked, str]], node: Node, kept: bool) -> float:
    at = copy(case)
    at.node = (node[0], node[1])
    errors = [mean_error(numbers(at, *query, kept), numbers(at, *query, None)) for query in queries]
    return float(sum(errors, Fraction(0)) / len(errors))


def found(policy: GeneralizePolicy) -> tuple[dict[Node, float], dict[Node, bool], float | None]:
    """The errors of all valid nodes, where suppressed rows are kept with stars, and the cost of the best node.

    No error is below what is known beforehand, and the search finds the best with bounds as without them.
    """
    with open_private(policy) as (source, spelt):
        scan, measures, objective, _ = prepare(source, spelt)
        outcomes = dict(zip(NODES, evaluate(scan, measures, NODES), strict=True))
        valid = {node: outcome for node, outcome in outcomes.items() if is_valid(scan, outcome)}
        assert objective.costs_of is not None
        errors = {node: objective.costs_of({node: outcome}, math.inf)[node] for node, outcome in valid.items()}
        kept = {}
        for node, outcome in valid.items():
            shown = write_shown(scan, measures, node)
            stars = policy.keep_suppressed and outcome.suppressed > 0
            kept[node] = stars and judge_stars(scan, measures, shown).kept
        best = search(scan, measures, objective).best
        assert objective.least_costs is not None
        least = objective.least_costs(None)
        assert least is None or all(least[node] <= error for node, error in errors.items())
        bounded = search(scan, measures, replace(objective, before=least)).best
        assert bounded == best or (bounded is not None and best is not None and bounded.node == best.node)
    return errors, kept, None if best is None else best.cost


def has_truth(case: BoundedCase, asked: Asked, name: str) -> bool:
    return any(number is not None for number in numbers(case, asked, name, None).values())


def written(case: BoundedCase, chance: random.Random, folder: Path) -> tuple[Path, list[tuple[Asked, str]]]:
    queries = [q for q in questions(chance) if has_truth(case, *q)]
    queries = queries or [(replace(random_question(chance), joined="", keys=()), "n")]
    texts = ";\n".join(asked.sql_of([name]) for asked, name in queries)
    return case.write(folder, WORKLOAD, {"w.sql": texts}), queries


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(60))
def test_the_error_of_every_node_is_that_of_the_oracle(seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)
    case = BoundedCase(chance)
    path, queries = written(case, chance, tmp_path)
    errors, kept, best = found(read(path))
    wanted = {node: expected(case, queries, node, kept[node]) for node in errors}
    for node, error in errors.items():
        assert math.isclose(error, wanted[node], rel_tol=1e-9, abs_tol=1e-9), (
            node,
            path.with_name("w.sql").read_text(),
        )
    assert best is None or math.isclose(best, min(wanted.values()), rel_tol=1e-9, abs_tol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_the_error_of_every_node_is_that_of_its_release(seed: int, tmp_path: Path) -> None:
    """Each node published and asked; the truth is what DuckDB answers on the table, in the groups that it has."""
    chance = random.Random(1000 + seed)
    case = BoundedCase(chance)
    path, queries = written(case, chance, tmp_path)
    errors, *_ = found(read(path))
    for node in chance.sample(list(errors), min(3, len(errors))):
        case.node = (node[0], node[1])
        (folder := tmp_path / f"node{node[0]}{node[1]}").mkdir()
        file = case.publish(folder)
        assert file is not None
        wanted = []
        with open_release(file) as release, duckdb.connect(str(folder / "private.duckdb"), read_only=True) as con:
            for asked, name in queries:
                sql, width = asked.sql_of([name]), len(asked.keys)
                estimates = {row[:width]: row[-1] for row in release.sql(sql, intervals=False).fetchall()}
                true = dict.fromkeys(estimates, None if name in ("m", "r") else 0)
                # A sum of nothing is 0 here, and NULL to DuckDB.
                true |= {r[:width]: r[-1] or true[r[:width]] for r in con.execute(sql).fetchall()}
                wanted.append(
                    mean_error(estimates, {k: v for k, v in true.items() if v is not None and not math.isnan(v)})
                )
        assert math.isclose(errors[node], float(sum(wanted)) / len(wanted), rel_tol=1e-9, abs_tol=1e-9), node


PEOPLE = """CREATE TABLE people AS SELECT i AS age, i % 2 AS sex, CAST(i AS VARCHAR) AS zip, i % 3 AS ill, i AS id,
CAST(i AS DOUBLE) + 0.5 AS pay, 1 AS "Beside", DATE '2020-01-01' + CAST(i AS INTEGER) AS born FROM range(12) AS r(i)"""
AGES = "CREATE TABLE people AS SELECT i AS age, i % 2 AS sex FROM range(12) AS r(i)"
PUBLIC = '{ role = "quasi-identifier", hierarchy = "suppression", domain = [0, 1] }'
COLUMNS_OF_PEOPLE = {
    "age": qi("ranges:3,6"),
    "sex": PUBLIC,
    "zip": qi(),
    "pay": qi("ranges:4"),
    "born": qi("bins:2"),
    "ill": role("sensitive"),
    "id": role("identifier"),
    "Beside": role("other"),
}


def ask(folder: Path, queries: str, require: str = "k = 1", release: str = "") -> float:
    text = policy_text(COLUMNS_OF_PEOPLE, require, f"{WORKLOAD}\n{release}")
    return float(plan(write_policy(folder, text, PEOPLE, {"w.sql": queries})).content["value"])


@pytest.mark.some(3)
@pytest.mark.parametrize(
    "query",
    [
        "SELECT sex, ill, count(*) AS n FROM people GROUP BY ALL ORDER BY n DESC",
        "SELECT count(*) FROM people",
        "select Count(*) as n from people where AGE between 3 and 5",
        'SELECT sum(pay) FROM "people" AS p WHERE p.sex = 1 AND p."age" >= 6;',
        "-- a comment\nFROM people SELECT avg(pay) WHERE ill = 1",
        "SELECT count(*) FILTER (WHERE beside = 1) / count(*) FROM people WHERE pay > 2.5",
        "SELECT median(age) FROM people; SELECT count(*) FROM people WHERE age = 3",
        "SELECT count(*) FROM (SELECT * FROM people) WHERE born < DATE '2020-01-07' AND \"beside\" = 1",
    ],
)
def test_queries_that_a_node_answers_exactly(tmp_path: Path, query: str) -> None:
    assert ask(tmp_path, query) == 0


def test_the_error_of_groups_is_their_mean(tmp_path: Path) -> None:
    levels = "node = { age = 1, sex = 1, zip = 1, pay = 2, born = 2 }"
    # Six of each in truth, as the release has it; of those from 3 to 5 there are 1 and 2 instead of 1.5 each.
    assert ask(tmp_path, "SELECT sex, count(*) FROM people GROUP BY sex", release=levels) == 0
    where = "WHERE age BETWEEN 3 AND 5"
    (tmp_path / "other").mkdir()
    assert ask(tmp_path / "other", f"SELECT sex, count(*) FROM people {where} GROUP BY sex", release=levels) == 0.5


@pytest.mark.some(6)
@pytest.mark.parametrize(
    ("queries", "message"),
    [
        (
            "SELECT count(*) FROM people;\n\n  SELECT max(age) FROM people",
            "w.sql, query 2: max() at line 3, column 10 cannot be estimated",
        ),
        ("", "w.sql holds no query"),
        ("-- nothing", "w.sql holds no query"),
        ("SELECT 'open", "w.sql is not SQL: write SELECT queries"),
        ("SELECT count(* FROM people", "w.sql, query 1: this is no SQL that can be read near line 1"),
        ("SELECT count(*), sum(age) FROM people", "w.sql, query 1 must ask for one number"),
        ("SELECT DISTINCT sex FROM people", "query 1 must ask for one number"),
        ("DESCRIBE people", "query 1 must ask for one number"),
        ("SELECT quantile_disc(born, 0.5) FROM people", "query 1 must ask for a number, and its answer is of another"),
        ("SELECT sum(CAST('inf' AS DOUBLE)) FROM people", "query 1: its answer is not finite"),
        ("SELECT avg(age) FROM people WHERE age > 99", "query 1: the table has no number to compare an estimate with"),
        ("SELECT count(*) FROM people AS p, people AS q", "query 1: the private table a second time at line 1"),
        ("DROP TABLE people", "query 1: the statement DROP at line 1, column 1 cannot be estimated"),
        ("SELECT count(*) FROM people WHERE id = 1", "query 1: there is no column 'id' at line 1, column 35"),
        ("SELECT count(*) FROM people WHERE nobody = 1", "query 1: there is no column 'nobody'"),
        ("SELECT count(*) FROM people WHERE nofunction(age)", "query 1: the function nofunction() at line 1"),
        ("SELECT count(*) FROM people WHERE age < 'x'", "query 1: a value of a column or a domain does not fit a cast"),
    ],
)
def test_what_is_no_workload_is_refused(tmp_path: Path, queries: str, message: str) -> None:
    with pytest.raises(PolicyError) as refused:
        ask(tmp_path, queries)
    assert message in str(refused.value)


def test_values_that_a_hierarchy_lists_can_be_asked_without_a_domain_and_the_table_by_any_name(tmp_path: Path) -> None:
    errors = []
    for name in ("people", "t"):
        (tmp_path / name).mkdir()
        errors.append(ask(tmp_path / name, f"SELECT count(*) FROM {name} WHERE zip LIKE '1%'", "k = 3"))
    assert errors[0] == errors[1]
    assert math.isfinite(errors[0])


def test_a_node_that_would_refuse_a_query_is_not_the_best(tmp_path: Path) -> None:
    """At its top nothing is known of ages; where all other nodes fail, the policy is refused."""
    query = "SELECT count(*) FROM people WHERE age < 4"
    (tmp_path / "other").mkdir()
    assert math.isfinite(ask(tmp_path / "other", query, "k = 3"))
    with pytest.raises(
        PolicyError, match=r"no node that meets the policy answers the workload: w.sql, query 1: the col"
    ):
        ask(tmp_path, query, "k = 12")


def test_a_node_is_refused_also_where_another_showed_that_a_query_has_no_answer(tmp_path: Path) -> None:
    """Of the second node with ages at their top nothing is asked again."""
    text = policy_text({"age": qi("ranges:3"), "sex": PUBLIC}, "k = 4", WORKLOAD)
    path = write_policy(tmp_path, text, AGES, {"w.sql": "SELECT count(*) FROM people WHERE age < 4"})
    with open_private(read(path)) as (source, policy):
        scan, measures, objective, _ = prepare(source, policy)
        nodes = [(2, 0), (2, 1)]
        assert objective.costs_of is not None
        outcomes = dict(zip(nodes, evaluate(scan, measures, nodes), strict=True))
        assert objective.costs_of(outcomes, math.inf) == dict.fromkeys(nodes, math.inf)
        for node in nodes:
            with pytest.raises(PolicyError, match="no node that meets the policy answers the workload"):
                objective.refuse(node)


def test_a_node_that_is_worse_than_enough_is_told_to_be_so(tmp_path: Path) -> None:
    """And asked no further: what is known of it lies between."""
    queries = ";".join(f"SELECT count(*) FROM people WHERE age < {age} AND sex = 0" for age in (1, 2, 4, 5))
    path = write_policy(
        tmp_path, policy_text({"age": qi("ranges:3"), "sex": PUBLIC}, "k = 1", WORKLOAD), AGES, {"w.sql": queries}
    )
    with open_private(read(path)) as (source, policy):
        scan, measures, objective, _ = prepare(source, policy)
        (outcome,) = evaluate(scan, measures, [(1, 0)])
        assert objective.costs_of is not None
        exact = objective.costs_of({(1, 0): outcome}, math.inf)[1, 0]
        assert objective.costs_of({(1, 0): outcome}, exact)[1, 0] == exact > 0
        assert exact / 4 < objective.costs_of({(1, 0): outcome}, exact / 4)[1, 0] <= exact


def test_what_a_count_is_off_at_least_rules_out_nodes_that_are_not_asked(tmp_path: Path) -> None:
    """Spread over twice as many ages, half of the counted rows are missed, whatever is suppressed."""
    age = '{ role = "quasi-identifier", hierarchy = "ranges:3", domain = "range:0..23" }'
    columns = {"age": age, "sex": PUBLIC}
    bounds = {}
    for value in ("count(*)", "sum(age)"):
        text = policy_text(columns, "k = 1", f"{WORKLOAD}\nsuppression = 0.1")
        (folder := tmp_path / value[:3]).mkdir()
        path = write_policy(folder, text, AGES, {"w.sql": f"SELECT {value} FROM people WHERE age < 2"})
        with open_private(read(path)) as (source, policy):
            *_, objective, _ = prepare(source, policy)
            assert objective.least_costs is not None
            bounds[value] = objective.least_costs(None)
    assert bounds["count(*)"] == pytest.approx(np.array([[0, 0], [0, 0], [1, 1]]))
    assert bounds["sum(age)"] is None


@pytest.mark.parametrize(
    ("sql", "counts"),
    [
        ("SELECT count(*) FROM t WHERE a > 1", True),
        ("SELECT a, count(*) AS n FROM t GROUP BY a ORDER BY a", True),
        ("FROM t SELECT count(*)", True),
        ("SELECT count(*) FROM t, u", False),
        ("SELECT count(*) FROM t JOIN u USING (a)", False),
        ("SELECT 2 * count(*) FROM t", False),
        ("SELECT count(DISTINCT a) FROM t", False),
        ("SELECT count(*) FROM t GROUP BY ROLLUP (a)", False),
        ("SELECT count(*) FROM t WHERE a IN (SELECT a FROM u)", False),
        ("SELECT count(*) FROM (SELECT * FROM t)", False),
        ("WITH u AS (FROM t) SELECT count(*) FROM u", False),
        ("SELECT count(*) FROM t HAVING count(*) > 3", False),
        ("SELECT count(*) FROM t UNION ALL SELECT count(*) FROM t", False),
        ("SELECT count(*) FROM t TABLESAMPLE 3 ROWS", False),
    ],
)
def test_which_queries_count_every_row_once_at_most(sql: str, counts: bool) -> None:
    assert counts_rows(sql) is counts


def test_a_workload_that_is_not_there(tmp_path: Path) -> None:
    text = policy_text(COLUMNS_OF_PEOPLE, "k = 2", 'objective = "workload:no.sql"')
    with pytest.raises(PolicyError, match=r"there is no workload file 'no.sql'"):
        plan(write_policy(tmp_path, text, PEOPLE))
