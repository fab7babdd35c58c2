"""The numbers of the papers through SQL, the theorems that tie the checks together, and the Adult data set."""

import csv
import itertools
import math
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import oracles
import pytest
from hypothesis import event, given
from hypothesis import strategies as st
from oracles import INFINITY
from support import strategies
from support.agreement import as_row, assert_rows, call

pytestmark = pytest.mark.one_version

Con = duckdb.DuckDBPyConnection
Row = dict[str, object]


def one(con: Con, name: str, *arguments: object) -> Any:
    """The single value of a summary with one column."""
    ((value,),) = call(con, name, *arguments)
    return value


def exactly(fraction: str) -> Any:
    """A fraction that a double has to hit but for rounding."""
    return pytest.approx(float(Fraction(fraction)), rel=1e-14)


# --- Section 1: epsilon-privacy ---------------------------------------------------------------

GOTHAM = ("gotham", ["age", "gender"], "disease")


def test_table_3_class_1(example_tables: Con) -> None:
    assert one(example_tables, "epsilon_class1", *GOTHAM, "metropolis", 0) == exactly("200000/49999")


def test_table_3_class_2(example_tables: Con) -> None:
    found = call(example_tables, "epsilon_class2_classes", *GOTHAM, 30000, 0, 1)
    by_class = {(key["age"], key["gender"]): value for key, _, value in found}
    assert by_class["< 40", "M"] == exactly("60.998")
    assert f"{by_class['>= 40', 'F']:.5f}" == "6.39993"
    assert one(example_tables, "epsilon_class2", *GOTHAM, 30000, 0) == exactly("60.998")
    assert one(example_tables, "epsilon_class2", *GOTHAM, 1000, 0) == exactly("2.998")


def test_table_3_classes_3_and_4(example_tables: Con) -> None:
    assert one(example_tables, "epsilon_class3", *GOTHAM, "believed", 0) == exactly("6")
    assert one(example_tables, "epsilon_class4", *GOTHAM) == INFINITY


def test_a_sigma_below_1_is_refused_where_theorem_1_is_unsound(con: Con) -> None:
    rows = [[1, "s"], [1, "other"], [1, "other"]]
    strategies.create_table(con, "t", {"q": "INTEGER", "s": "VARCHAR"}, rows)
    prior = [["s", 0.25], ["other", 29]]
    strategies.create_table(con, "prior", {"value": "VARCHAR", "sigma": "DOUBLE"}, prior)
    with pytest.raises(duckdb.Error, match="at least 1"):
        call(con, "epsilon_class1", "t", ["q"], "s", "prior", 0)


# --- Section 2: what people get wrong ---------------------------------------------------------


def test_salaries(example_tables: Con) -> None:
    found = call(example_tables, "t_closeness_ordered_classes", "salaries", ["team"], "salary", 0)
    assert {key["team"]: value for key, _, value in found} == {
        "a": exactly("3/8"),
        "b": exactly("1/6"),
        "c": exactly("17/72"),
    }
    equal = call(example_tables, "t_closeness_classes", "salaries", ["team"], "salary", 0)
    assert [value for _, _, value in equal] == [exactly("2/3")] * 3


def create_counts(con: Con, *classes: Sequence[int]) -> None:
    """The table t, a class for each list of counts of the values 0, 1, 2, ..."""
    cells = [(q, s) for q, counts in enumerate(classes) for s, n in enumerate(counts) for _ in range(n)]
    strategies.create_table(con, "t", {"q": "INTEGER", "s": "INTEGER"}, cells)


def test_the_most_frequent_value_is_r1(con: Con) -> None:
    create_counts(con, [1000, 5, 2, 1, 1])
    assert one(con, "recursive_diversity", "t", ["q"], "s", 5) == 1000
    assert one(con, "recursive_diversity", "t", ["q"], "s", 2) == exactly("1000/9")
    assert one(con, "negation_diversity", "t", ["q"], "s", 5) == exactly("1000/1001")


def test_entropy_is_not_truncated(con: Con) -> None:
    create_counts(con, [3, 1])
    assert call(con, "l_diversity", "t", ["q"], "s") == [(2, pytest.approx(math.exp(0.5623351446188083)))]
    create_counts(con, [2, 2, 2])
    assert call(con, "entropy_diversity_classes", "t", ["q"], "s", 3) == []


def test_a_null_class_of_one_row_means_k_is_1(con: Con) -> None:
    strategies.create_table(con, "t", {"q": "VARCHAR"}, [["a"]] * 5 + [[None]])
    assert one(con, "k_anonymity", "t", ["q"]) == 1


# --- Section 3: (c,k)-safety ------------------------------------------------------------------


@pytest.mark.parametrize(("k", "expected"), [(0, "2/5"), (1, "2/3"), (2, "1")])
def test_two_buckets(example_tables: Con, k: int, expected: str) -> None:
    assert one(example_tables, "ck_safety", "wards", ["ward"], "disease", k) == exactly(expected)


# --- Section 5: sampled k-anonymity -----------------------------------------------------------

EPSILONS = (0.25, 0.5, 0.75, 1.0, 1.5, 2.0)
TABLE_1 = {
    0.05: ("6.83e-10", "2.50e-14", "3.19e-17", "1.76e-19", "3.97e-22", "2.00e-24"),
    0.1: ("4.19e-06", "1.61e-09", "3.44e-12", "4.07e-14", "3.22e-16", "1.89e-18"),
    0.2: ("2.16e-03", "8.02e-06", "1.89e-07", "6.03e-09", "4.79e-11", "1.59e-12"),
}
CELLS = [(beta, epsilon, cell) for beta, row in TABLE_1.items() for epsilon, cell in zip(EPSILONS, row, strict=True)]


@pytest.mark.parametrize(("beta", "epsilon", "expected"), CELLS)
def test_the_delta_table(con: Con, beta: float, epsilon: float, expected: str) -> None:
    assert f"{one(con, 'sdgs_delta', 20, beta, epsilon):.2e}" == expected


def test_the_first_n_is_not_the_worst(con: Con) -> None:
    assert f"{one(con, 'sdgs_delta', 20, 0.05, 3):.3e}" == "9.990e-27"


# --- Theorems ---------------------------------------------------------------------------------


def histograms(least: int) -> st.SearchStrategy[list[list[int]]]:
    """One to four classes with at least so many of each of two to four values."""
    counts = st.integers(2, 4).flatmap(lambda m: st.lists(st.integers(least, 9), min_size=m, max_size=m))
    return st.lists(counts.filter(any), min_size=1, max_size=4)


def create_shape(con: Con, macro: str) -> None:
    con.execute(f"CREATE OR REPLACE TABLE shape AS FROM priv.{macro}('t', 's')").fetchall()


@pytest.mark.slow
@strategies.fewer(2, deep=1)
@given(counts=histograms(0), up=st.integers(1, 40), down=st.integers(1, 40))
def test_c2_diversity_is_class_3_with_a_uniform_shape(con: Con, counts: list[list[int]], up: int, down: int) -> None:
    create_counts(con, *counts)
    create_shape(con, "uniform_shape")
    c, size = up / down, con.execute("SELECT count(DISTINCT s) FROM t").fetchall()[0][0]
    epsilon = max(size * c / (c + 1), (c + 1) * (size - 1) / size)
    exposed = call(con, "epsilon_class3_classes", "t", ["q"], "s", "shape", 0, epsilon)
    concentrated = call(con, "alpha_k_anonymity_classes", "t", ["q"], "s", c / (c + 1))
    recursive = call(con, "recursive_diversity_classes", "t", ["q"], "s", 2, c)
    assert {key["q"] for key, _, _ in exposed} == {key["q"] for key, _, _ in concentrated}
    # The recursive definition is strict: it also refuses a class that is at c exactly.
    assert {key["q"] for key, _, _ in exposed} == {key["q"] for key, _, value in recursive if value > c * (1 + 1e-12)}


@strategies.fewer(2, deep=1)
@given(counts=histograms(4))
def test_lemma_1(con: Con, counts: list[list[int]]) -> None:
    create_counts(con, *counts)
    create_shape(con, "shape_from_counts")
    t = one(con, "t_closeness", "t", ["q"], "s")
    shares = [share for (share,) in con.execute("SELECT share FROM shape").fetchall()]
    event("the lemma speaks" if t < min(shares) else "t is too large for it")
    if t < min(shares) * (1 - 1e-9):
        bound = max(max((p + t) / p, p / (p - t)) for p in shares)
        assert one(con, "epsilon_class3", "t", ["q"], "s", "shape", 0) <= bound * (1 + 1e-9)


@pytest.mark.slow
@strategies.fewer(2, deep=1)
@given(data=st.data(), case=strategies.text_cases())
def test_merging_classes_never_worsens_a_check(con: Con, data: st.DataObject, case: strategies.Case) -> None:
    """Definition 5: dropping a quasi-identifier merges classes."""
    strategies.create(con, "t", case)
    extra = [name for name in case.columns if name not in (*case.qis, case.sensitive)]
    fine = [*case.qis, data.draw(st.sampled_from(extra))]
    coarse = data.draw(st.permutations(fine))[: data.draw(st.integers(1, len(fine) - 1))]
    for check, more in data.draw(st.permutations(monotone_checks(con, data, case)))[:3]:
        before, after = (call(con, check, "t", qis, *more)[0] for qis in (fine, coarse))
        sign = -1 if check in ("k_anonymity", "l_diversity") else 1
        for worse, better in zip(before, after, strict=True):
            assert sign * better <= sign * worse + 1e-9 * abs(worse) or better == worse, (check, fine, coarse)


def monotone_checks(con: Con, data: st.DataObject, case: strategies.Case) -> list[tuple[str, list[object]]]:
    """The checks of Definition 5 with their arguments after the quasi-identifiers."""
    prior, shape = data.draw(strategies.priors(case)), data.draw(strategies.shapes(case))
    for name, column, weights in (("prior", "sigma", prior), ("shape", "share", shape)):
        strategies.create_table(con, name, {"value": "VARCHAR", column: "DOUBLE"}, list(weights.items()))
    secret = case.sensitive
    return [
        ("k_anonymity", []),
        ("l_diversity", [secret]),
        ("recursive_diversity", [secret, data.draw(st.integers(1, 4))]),
        ("t_closeness", [secret]),
        ("t_closeness_ordered", [secret]),
        ("epsilon_class1", [secret, "prior", 0]),
        ("epsilon_class2", [secret, data.draw(strategies.sigmas(case)), 0]),
        ("epsilon_class3", [secret, "shape", 0]),
    ]


# --- The Adult data set -----------------------------------------------------------------------

ADULT_QIS = (["sex", "race"], ["age", "sex", "marital-status"], ["education", "native-country", "workclass"])
ADULT_CHECKS: dict[str, list[object]] = {
    "alpha_k_anonymity": [],
    "l_diversity": [],
    "recursive_diversity": [3],
    "negation_diversity": [3],
    "t_closeness": [],
    "t_closeness_ordered": [],
    "beta_likeness": [],
    "enhanced_beta_likeness": [],
    "delta_disclosure": [],
    "epsilon_class2": [10**6, 1],
    "ck_safety": [1],
}


@pytest.fixture(scope="module")
def adult_rows(con: Con, adult: str) -> list[Row]:
    answer = con.execute(f"FROM {adult}")
    names = [column[0] for column in answer.description or []]
    return [dict(zip(names, row, strict=True)) for row in answer.fetchall()]


@pytest.mark.slow
@pytest.mark.parametrize("qis", ADULT_QIS, ids=" ".join)
def test_adult_agrees(con: Con, adult: str, adult_rows: list[Row], qis: list[str]) -> None:
    assert len(adult_rows) == 30162
    for check in ("k_anonymity", "risk"):
        assert_rows(call(con, check, adult, qis), [as_row(getattr(oracles, check)(adult_rows, qis))], check)
    for check, more in ADULT_CHECKS.items():
        if check == "ck_safety" and len(qis) > 2:
            continue  # the oracle tries all pairs of classes
        expected = getattr(oracles, check)(adult_rows, qis, "occupation", *more)
        assert_rows(call(con, check, adult, qis, "occupation", *more), [as_row(expected)], check)


def test_adult_hierarchies_agree(con: Con, adult: str, adult_rows: list[Row], shared_data: Path) -> None:
    file = shared_data / "adult" / "adult_hierarchy_occupation.csv"
    if not file.is_file():
        pytest.skip("the hierarchy of occupations is not in ../shared/data/adult")
    with file.open(encoding="utf-8") as lines:
        paths = list(csv.reader(lines, delimiter=";"))
    columns = {f"level {level}": "VARCHAR" for level in range(len(paths[0]))}
    strategies.create_table(con, "occupations", columns, paths)
    for qis in ADULT_QIS[:2]:
        expected = oracles.t_closeness_hierarchical(adult_rows, qis, "occupation", paths)
        found = call(con, "t_closeness_hierarchical", adult, qis, "occupation", "occupations")
        assert_rows(found, [(expected,)], qis)


def test_adult_merging_never_worsens(con: Con, adult: str) -> None:
    """All subsets of four quasi-identifiers: k only grows as they are dropped, t only shrinks."""
    names = ["sex", "race", "education", "age"]
    subsets = [list(found) for size in range(1, 5) for found in itertools.combinations(names, size)]
    k = {frozenset(qis): one(con, "k_anonymity", adult, qis) for qis in subsets}
    t = {frozenset(qis): one(con, "t_closeness", adult, qis, "occupation") for qis in subsets}
    for fine, coarse in itertools.permutations(k, 2):
        if coarse < fine:
            assert k[coarse] >= k[fine]
            assert t[coarse] <= t[fine] + 1e-12
