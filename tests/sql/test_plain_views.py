"""Tables published in plain SQL: every coin against the oracle, what is fresh, what is refused."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence

import duckdb
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from oracles import operators, plain_views, sampled_estimates, view_estimates
from oracles.counting import canon, text
from oracles.views import Tuple, written
from support import strategies
from support.agreement import SORTING_KEEPS_SIGNS, literal
from support.strategies import Case, quote

TESTED = {"suppress", "sdgs", "anatomy_rows", "anatomy_values", "noisy_counts", "signed_noisy_counts"}
ESTIMATED = ("alpha_beta", "noisy_counts", "signed_noisy_counts", "frapp")
TESTED |= {f"{family}_{kind}" for family in (*ESTIMATED, "sdgs") for kind in ("estimate", "estimates")}
Con = duckdb.DuckDBPyConnection
KEY = "sixteen letters!"
COINS: dict[str, tuple[float, ...]] = {
    "alpha_beta": (0.375, 0.125),
    "noisy_counts": (0.5, 0.25),
    "signed_noisy_counts": (0.4,),
    "frapp": (0.5,),
}


def call(name: str, *arguments: object) -> str:
    return f"FROM priv.{name}({', '.join(a.text if isinstance(a, Raw) else literal(a) for a in arguments)})"


class Raw:
    """SQL as it is."""

    def __init__(self, text: str) -> None:
        self.text = text


def bag(rows: Sequence[Tuple]) -> Counter[str]:
    """By text, which tells apart what a reader tells apart: 0.0 and -0.0, NaN and NULL."""
    return Counter(map(written, rows))


def plain(case: Case) -> tuple[list[Tuple], list[Tuple]]:
    """The rows and the domain of a table over its quasi-identifiers."""
    rows = [tuple(row[name] for name in case.qis) for row in case.rows]
    return rows, list(itertools.product(*(case.domains[name] for name in case.qis)))


def create_both(con: Con, case: Case) -> tuple[list[Tuple], list[Tuple]]:
    rows, domain = plain(case)
    assume(not any("STRUCT" in case.columns[name] for name in case.qis) and len(domain) > 1)
    strategies.create(con, "t", case)
    strategies.create_table(con, "d", {name: case.columns[name] for name in case.qis}, domain)
    return rows, domain


@strategies.fewer(8)
@given(case=strategies.cases(), p=st.floats(0.02, 0.98), q=st.floats(1e-6, 0.9), key=st.text(min_size=16))
def test_noisy_counts_are_those_of_the_oracle(con: Con, case: Case, p: float, q: float, key: str) -> None:
    assume(len(key.strip(" ")) >= 16 and "\0" not in key)
    rows, domain = create_both(con, case)
    drawn = con.execute(call("noisy_counts", "t", "d", case.qis, p, q, key))
    assert [column[0] for column in drawn.description or []] == list(case.qis)
    assert bag(drawn.fetchall()) == bag(plain_views.noisy_counts(rows, domain, p, q, key))
    drawn = con.execute(call("signed_noisy_counts", "t", "d", case.qis, q, key))
    assert [column[0] for column in drawn.description or []] == [*case.qis, "__weight"]
    assert bag(drawn.fetchall()) == bag(plain_views.signed_noisy_counts(rows, domain, q, key))


@strategies.fewer(8)
@given(case=strategies.cases(), k=st.integers(1, 4), beta=st.floats(0.05, 0.95))
def test_a_sample_is_that_of_the_oracle(con: Con, case: Case, k: int, beta: float) -> None:
    """On level 0 of every hierarchy, and with a column at its top."""
    assume(not any("STRUCT" in kind for kind in case.columns.values()))
    strategies.create(con, "t", case)
    first = case.qis[0]
    con.execute(f"CREATE OR REPLACE TABLE h AS FROM priv.hierarchy_suppression('t', {literal(first)})").fetchall()
    for level in (0, 1):
        node = Raw(f"MAP {{{literal(first)}: {level}}}")
        hierarchies = Raw(f"MAP {{{literal(first)}: 'h'}}")
        labelled = con.execute(call("generalize", "t", node, hierarchies)).fetchall()
        drawn = con.execute(call("sdgs", "t", node, hierarchies, k, beta, KEY))
        assert [column[0] for column in drawn.description or []] == list(case.columns)
        assert bag(drawn.fetchall()) == bag(plain_views.sdgs(labelled, k, beta, KEY))


@strategies.fewer(4)
@given(case=strategies.cases(), k=st.integers(1, 4), of_persons=st.booleans())
def test_suppression_is_that_of_the_oracle(con: Con, case: Case, k: int, of_persons: bool) -> None:
    strategies.create(con, "t", case)
    person = [case.person] if of_persons else []
    drawn = con.execute(call("suppress", "t", case.qis, k, *person))
    assert [column[0] for column in drawn.description or []] == list(case.columns)
    found = Counter(repr([canon(cell) for cell in row]) for row in drawn.fetchall())
    kept = plain_views.suppress(case.rows, case.qis, k, *person)
    assert found == Counter(repr([canon(row[name]) for name in case.columns]) for row in kept)
    if kept:
        con.execute("CREATE OR REPLACE TABLE left_over AS " + call("suppress", "t", case.qis, k, *person)).fetchall()
        (least,) = con.execute(call("k_anonymity", "left_over", case.qis, *person)).fetchall()[0]
        assert least >= k


@strategies.fewer(8)
@given(case=strategies.cases(), l_wanted=st.integers(2, 4))
def test_groups_of_anatomy_are_those_of_the_oracle(con: Con, case: Case, l_wanted: int) -> None:
    assume(not any("STRUCT" in kind for kind in case.columns.values()))
    # DuckDB 1.5 forgets the sign of a zero when it sorts.
    assume(SORTING_KEEPS_SIGNS or not any(repr(cell) == "-0.0" for row in case.rows for cell in row.values()))
    strategies.create(con, "t", case)
    others = [name for name in case.columns if name != case.sensitive]
    rows = [(tuple(row[name] for name in others), row[case.sensitive]) for row in case.rows]
    arguments = ("t", case.sensitive, l_wanted, KEY)
    try:
        expected = plain_views.anatomy(rows, l_wanted, KEY)
    except ValueError:
        for name in ("anatomy_rows", "anatomy_values"):
            with pytest.raises(duckdb.Error, match=r"fewer rows than l|more than a share of 1 / l"):
                con.execute(call(name, *arguments)).fetchall()
        return
    shown = con.execute(call("anatomy_rows", *arguments))
    assert [column[0] for column in shown.description or []] == ["group_id", *others]
    assert bag(shown.fetchall()) == bag([(group, *cells) for group, cells, _ in expected])
    values = con.execute(call("anatomy_values", *arguments))
    assert [column[0] for column in values.description or []] == ["group_id", case.sensitive]
    found = values.fetchall()
    assert bag(found) == bag([(group, value) for group, _, value in expected])
    assert len(bag(found)) == len(found), "a value is twice in a group"
    assert min(Counter(group for group, _ in found).values()) >= l_wanted


@strategies.fewer(8)
@given(
    case=strategies.cases(), family=st.sampled_from(ESTIMATED), confidence=st.floats(0.05, 0.99), number=st.booleans()
)
def test_estimates_are_those_of_the_oracle(con: Con, case: Case, family: str, confidence: float, number: bool) -> None:
    """Of views that the macros made themselves: odd names, NULLs, one group for each value of a column."""
    _, domain = create_both(con, case)
    coins: tuple[float, ...] = COINS[family]
    if family == "frapp":
        coins = ((1 + 1 / len(domain)) / 2,)
    con.execute("CREATE OR REPLACE TABLE v AS " + call(family, "t", "d", case.qis, *coins, KEY)).fetchall()
    first = case.qis[0]
    names = [*case.qis, *(["__weight"] if family.startswith("signed") else [])]
    view = [dict(zip(names, row, strict=True)) for row in con.execute("FROM v").fetchall()]
    elements = [dict(zip(case.qis, row, strict=True)) for row in domain]
    condition = f"{quote(first)} IS NULL OR {quote(case.qis[-1])} IS NOT NULL"
    value = f"CASE WHEN {quote(first)} IS NULL THEN -2.5 ELSE 3 END" if number else None

    def added(row: view_estimates.Row) -> float | None:
        if row[first] is not None and row[case.qis[-1]] is None:
            return None
        return 1.0 if not number else -2.5 if row[first] is None else 3.0

    oracle = getattr(view_estimates, f"{family}_estimate")
    found = con.execute(call(f"{family}_estimate", "v", "d", condition, *coins, value, confidence)).fetchall()
    assert found == [pytest.approx(tuple(oracle(view, elements, added, *coins, confidence)), rel=1e-9, abs=1e-6)]
    answer = con.execute(call(f"{family}_estimates", "v", "d", [first], condition, *coins, value, confidence))
    assert [column[0] for column in answer.description or []] == [first, "estimate", "low", "high"]
    groups = {repr(canon(row[0])): row[1:] for row in answer.fetchall()}
    keys = {repr(canon(row[first])) for row in elements if added(row) is not None}
    assert set(groups) == keys
    for key in keys:

        def of_group(row: view_estimates.Row, key: str = key) -> float | None:
            return added(row) if repr(canon(row[first])) == key else None

        alone = oracle(view, elements, of_group, *coins, confidence)
        assert groups[key] == pytest.approx(tuple(alone), rel=1e-9, abs=1e-6)


Leaves = list[sampled_estimates.Leaf]


def create_sample(con: Con, case: Case, level: int, k: int) -> tuple[list[view_estimates.Row], Leaves]:
    """Labels with at least k rows as table v, all tuples as d, a hierarchy of the first column as h; the same as rows.

    Values are put together by twos on level 1, and all on level 2.
    """
    first, tuples = case.qis[0], plain(case)[1]
    assume(not any("STRUCT" in case.columns[name] for name in case.qis))
    assume(not any(repr(cell) == "-0.0" for cell in case.domains[first]))  # its text has a sign in DuckDB alone
    cells = list(dict.fromkeys(map(text, case.domains[first])))
    paths = [(cell, None if cell is None else f"o'{place // 2}", "*") for place, cell in enumerate(cells)]
    strategies.create_table(con, "h", {"value": "VARCHAR", "level1": "VARCHAR", "level2": "VARCHAR"}, paths)
    strategies.create_table(con, "d", {name: case.columns[name] for name in case.qis}, tuples)
    leaves = [dict(zip(case.qis, row, strict=True)) for row in tuples]
    node, hierarchies = {first: level}, {first: paths}
    rows = [{name: row[name] for name in case.qis} for row in case.rows]
    labels, labelled = (operators.generalize(given, node, hierarchies) for given in (leaves, rows))
    copies = Counter(written(tuple(row.values())) for row in labelled)
    view = [row for row in labelled if copies[written(tuple(row.values()))] >= k]
    kinds = {name: "VARCHAR" if level and name == first else case.columns[name] for name in case.qis}
    strategies.create_table(con, "v", kinds, [list(row.values()) for row in view])
    return view, list(zip(leaves, labels, strict=True))


ONE_ROW = Case(({'say "x"': "o'x", "o'c": None},), {'say "x"': "VARCHAR", "o'c": "INTEGER"}, ('say "x"', "o'c"), "", "",
               {'say "x"': ["o'x", '"q"', None], "o'c": [1, None]})  # fmt: skip


@pytest.mark.slow
@strategies.fewer(8)
@example(case=ONE_ROW, level=1, k=1, beta=0.5, confidence=0.95, asked=0)
@example(case=strategies.with_rows(ONE_ROW, ()), level=0, k=2, beta=0.25, confidence=0.95, asked=1)
@given(
    case=strategies.cases_or_empty(),
    level=st.integers(0, 2),
    k=st.integers(1, 4),
    beta=st.floats(0.02, 0.98),
    confidence=st.floats(0.05, 0.99),
    asked=st.integers(0, 3),
)
def test_estimates_of_a_sample_are_those_of_the_oracle(
    con: Con, case: Case, level: int, k: int, beta: float, confidence: float, asked: int
) -> None:
    """By the classes themselves: with NULLs, names with quotes, one row, no row, sums below and above 0."""
    view, leaves = create_sample(con, case, level, k)
    first, last = case.qis[0], case.qis[-1]
    value = [None, "-1.5", f"CASE WHEN {quote(last)} IS NULL THEN -2.5 ELSE 3 END",
             f"CASE WHEN {quote(first)} IS NOT NULL THEN 2 END"][asked]  # fmt: skip
    condition = f"{quote(first)} IS NULL OR {quote(last)} IS NOT NULL"

    def added(row: view_estimates.Row) -> float | None:
        if row[first] is not None and row[last] is None:
            return None
        return [1.0, -1.5, -2.5 if row[last] is None else 3.0, 0.0 if row[first] is None else 2.0][asked]

    def agrees(found: Sequence[object], expected: sampled_estimates.Sampled) -> bool:
        return list(found) == [x if x is None else pytest.approx(x, rel=1e-9, abs=1e-7) for x in expected]

    counts = value is None
    node, h = Raw(f"MAP {{{literal(first)}: {level}}}"), Raw(f"MAP {{{literal(first)}: 'h'}}")
    (found,) = con.execute(call("sdgs_estimate", "v", condition, k, beta, "d", node, h, value, confidence)).fetchall()
    assert agrees(found, sampled_estimates.sdgs_estimate(view, leaves, added, k, beta, confidence, counts))
    groups = [first] if asked % 2 else list(case.qis)
    answer = con.execute(call("sdgs_estimates", "v", "d", groups, condition, k, beta, node, h, value, confidence))
    assert [column[0] for column in answer.description or []] == [*groups, "estimate", "low", "high"]
    by_group = {repr([canon(cell) for cell in row[:-3]]): row[-3:] for row in answer.fetchall()}
    expected = sampled_estimates.sdgs_estimates(view, leaves, groups, added, k, beta, confidence, counts)
    assert by_group.keys() == expected.keys()
    assert all(agrees(by_group[group], own) for group, own in expected.items())
    asked_of_labels = call("sdgs_estimate", "v", condition, k, beta, None, None, None, value, confidence)
    (alone,) = con.execute(asked_of_labels).fetchall()
    assert agrees(alone, sampled_estimates.sdgs_estimate(view, None, added, k, beta, confidence, counts))
