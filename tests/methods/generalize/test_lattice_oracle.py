"""The oracle of the lattice search: examples worked out by hand, and Adult against ARX's optima."""

import csv
import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from oracles.lattice import (
    Best,
    Outcome,
    Require,
    best_node,
    best_of,
    measure_node,
    measure_nodes,
    minimal_nodes,
    objective_value,
)
from oracles.lattice_objectives import OBJECTIVES
from oracles.lattice_table import Node, Table

pytestmark = pytest.mark.one_version

COLUMNS = ["age", "sex", "disease"]
QIS = ["age", "sex"]
HIERARCHIES = {
    "age": {
        1: (1, "low", "*"),
        2: (2, "low", "*"),
        3: (3, "high", "*"),
        4: (4, "high", "*"),
        5: (5, "high", "*"),  # nobody is 5: a leaf of the hierarchy that the data do not have
    },
    "sex": {"M": ("M", "*"), "F": ("F", "*")},
}
ROWS = [(1, "M", "flu"), (1, "M", "cold"), (2, "M", "flu"), (3, "F", "flu"), (4, "F", "hiv"), (4, "M", "flu")]
TWO = [Require("k", 2)]
LETTERS = {letter: (letter, "*") for letter in "abcdefgh"}


def at(node: Node, requirements: Sequence[Require], suppression: float = 0.5, rows: Sequence[Any] = ROWS) -> Any:
    return measure_nodes(rows, COLUMNS, QIS, HIERARCHIES, requirements, suppression)[node]


def search(objective: str, suppression: float, requirements: Sequence[Require] = TWO) -> Best | None:
    return best_node(ROWS, COLUMNS, QIS, HIERARCHIES, requirements, objective, suppression)


def classes(*members: str) -> list[tuple[str, str]]:
    """Rows (q, s): the classes a, b, ... of these letters."""
    names = list(LETTERS)[: len(members)]
    return [(name, secret) for name, secrets in zip(names, members, strict=True) for secret in secrets]


def is_valid(members: Sequence[str], level: int, requirements: Sequence[Require], suppression: float = 0) -> bool:
    found = measure_nodes(classes(*members), ["q", "s"], ["q"], {"q": LETTERS}, requirements, suppression)
    return found[level,].valid


# --- By hand ----------------------------------------------------------------------------------


def test_suppressed_rows_of_every_node() -> None:
    outcomes = measure_nodes(ROWS, COLUMNS, QIS, HIERARCHIES, TWO, 0)
    suppressed = {node: found.suppressed for node, found in outcomes.items()}
    assert suppressed == {(0, 0): 4, (0, 1): 2, (1, 0): 1, (1, 1): 0, (2, 0): 0, (2, 1): 0}
    assert [node for node, found in outcomes.items() if found.valid] == [(1, 1), (2, 0), (2, 1)]
    assert outcomes[1, 0].published == {("low", "M"): 3, ("high", "F"): 2}
    assert outcomes[1, 0].failing == {("high", "M"): (TWO[0],)}


def test_every_objective_of_a_node_with_a_suppressed_row() -> None:
    table = Table.read(ROWS, COLUMNS, QIS, HIERARCHIES)
    outcome = at((1, 0), TWO)
    values = {name: objective_value(name, table, (1, 0), outcome) for name in OBJECTIVES}
    kl = math.log(4 / 3) / 3 + math.log(2 / 3) / 6 + math.log(8) / 6  # (1,M), (2,M), suppressed (4,M); the rest is 0
    bits = 3 * math.log2(3 / 2) + 2 * math.log2(3) + math.log2(6 / 2) + math.log2(6 / 4)
    assert values == {
        "loss": Fraction(3 * 1 + 2 * 2 + 2 * 4, 4 * 12),
        "height": 1,
        "precision": 1 - Fraction(5 * 1 + 2 * 2, 2 * 12),
        "discernibility": 9 + 4 + 6,
        "average_class_size": Fraction(6, 3),
        "kl": pytest.approx(kl, rel=1e-12),
        "entropy": pytest.approx(bits, rel=1e-12),
    }


@pytest.mark.parametrize(
    ("objective", "suppression", "expected"),
    [
        ("loss", 0, ((2, 0), Fraction(1, 2), 0, 2)),
        ("loss", 0.25, ((1, 0), Fraction(5, 16), 1, 2)),
        ("height", 0, ((2, 0), 2, 0, 2)),  # a tie with (1, 1), which loses more
        ("precision", 0, ((2, 0), Fraction(1, 2), 0, 2)),
        ("discernibility", 0, ((1, 1), 18, 0, 2)),
        ("average_class_size", 0, ((2, 0), 3, 0, 2)),
    ],
)
def test_the_best_node(objective: str, suppression: float, expected: Best) -> None:
    assert search(objective, suppression) == expected


def test_a_tie_of_objective_and_loss_goes_to_the_smaller_node() -> None:
    rows = [(x, y) for x in "ab" for y in "ab"]
    found = best_node(rows, ["x", "y"], ["x", "y"], {"x": LETTERS, "y": LETTERS}, TWO, "discernibility", 0)
    assert found == ((0, 1), 8, 0, 2)


def test_minimal_nodes_have_nothing_valid_below() -> None:
    assert minimal_nodes(ROWS, COLUMNS, QIS, HIERARCHIES, TWO, 0) == [(1, 1), (2, 0)]
    assert minimal_nodes(ROWS, COLUMNS, QIS, HIERARCHIES, TWO, 0.4) == [(0, 1), (1, 0)]


def test_nothing_is_valid() -> None:
    assert search("loss", 0.5, [Require("k", 7)]) is None
    assert not at((2, 1), [Require("k", 7)], 1).valid  # all may be suppressed, but something must be published


def test_the_limit_is_the_decimal_that_was_written() -> None:
    members = ["x" * 71, "x" * 29]
    assert 0.29 * 100 < 29
    assert is_valid(members, 0, [Require("k", 71)], 0.29)
    assert not is_valid(members, 0, [Require("k", 71)], 0.28)


def test_null_is_a_value_of_its_own() -> None:
    hierarchy = {"q": {"a": ("a", "*"), None: (None, "*")}}
    outcomes = measure_nodes([("a",), ("a",), (None,)], ["q"], ["q"], hierarchy, TWO, 0.5)
    assert outcomes[0,].published == {("a",): 2}
    assert outcomes[1,].published == {("*",): 3}


def test_a_class_is_compared_with_the_whole_table_before_suppression() -> None:
    # Without class b the table would be class a, at distance 0; with it the distance is 1/3.
    strict, loose = Require("t", 0.3, "s"), Require("t", 0.34, "s")
    assert not is_valid(["ff", "c"], 0, [*TWO, strict], 0.5)
    assert is_valid(["ff", "c"], 0, [*TWO, loose], 0.5)
    assert is_valid(["ff", "c"], 1, [*TWO, strict], 0.5)


def test_the_marketer_and_uniques_are_judged_on_what_is_published() -> None:
    members = ["xx", "xx", "y"]
    diverse = Require("distinct_l", 1, "s")
    assert not is_valid(members, 0, [diverse, Require("marketer", 0.5)], 0.25)  # 3 classes of 5 rows
    assert is_valid(members, 0, [*TWO, Require("marketer", 0.5)], 0.25)  # 2 of 4
    assert not is_valid(members, 0, [Require("uniques", 0)], 0.25)
    assert is_valid(members, 0, [Require("uniques", 1)])
    assert is_valid(members, 0, [*TWO, Require("uniques", 0)], 0.25)


def test_thresholds_that_are_met_exactly() -> None:
    even = ["xxyyzz"]
    assert is_valid(even, 0, [Require("entropy_l", 3, "s")])
    assert is_valid(even, 0, [Require("alpha", 1 / 3, "s")])
    assert not is_valid(even, 0, [Require("recursive_c", 0.5, "s", {"l": 2})])  # strictly below
    assert is_valid(even, 0, [Require("recursive_c", 0.51, "s", {"l": 2})])
    assert is_valid(["xy", "xy"], 0, [Require("delta", 1e-9, "s")])
    assert not is_valid(["xy", "xxy"], 0, [Require("delta", math.log(6 / 5), "s")])  # p_q = 1/2 against 2/5


def test_a_set_that_a_class_does_not_have_is_no_news_there() -> None:
    of_y = {"sigma": 10, "predicates": [{"y"}]}
    assert is_valid(["xxx", "xyyy"], 0, [Require("epsilon_class2", 10, "s", of_y)])
    assert not is_valid(["xxx", "xyyy"], 0, [Require("epsilon_class2", 10, "s", {"sigma": 10})])


def test_measures_of_the_population() -> None:
    people = {"population": [("a",)] * 4 + [("b",)] * 2}
    for measure, strict, loose in [("k_map", 3, 2), ("delta_presence", 0.4, 0.5), ("journalist", 0.4, 0.5)]:
        assert is_valid(["xx", "x"], 0, [Require(measure, loose, None, people)])
        assert not is_valid(["xx", "x"], 0, [Require(measure, strict, None, people)])


@pytest.mark.parametrize(
    "hierarchy",
    [
        {"a": ("a", "g", "*"), "b": ("b", "*")},
        {"a": ("a", "*"), "b": ("b", "top")},
        {"a": ("b", "*"), "b": ("b", "*")},
        {"a": ("a", "g", "h", "*"), "b": ("b", "g", "i", "*")},
    ],
)
def test_what_is_not_a_hierarchy_is_refused(hierarchy: Mapping[str, Sequence[str]]) -> None:
    with pytest.raises(ValueError, match="q: "):
        measure_nodes([("a",)], ["q"], ["q"], {"q": hierarchy}, TWO, 0)


# --- Adult: the optima that ARX finds ---------------------------------------------------------


def read_lines(file: Path) -> list[list[str]]:
    with file.open(encoding="utf-8", newline="") as lines:
        return list(csv.reader(lines, delimiter=";"))


@pytest.fixture(scope="module")
def adult_table(shared_data: Path) -> Table:
    folder = shared_data / "adult"
    if not (folder / "adult.csv").is_file():
        pytest.skip("the Adult data set is not in ../shared/data/adult")
    columns, *rows = read_lines(folder / "adult.csv")
    qis = ["sex", "age", "race", "marital-status"]
    files = {qi: folder / f"adult_hierarchy_{qi}.csv" for qi in qis}
    hierarchies = {qi: {path[0]: tuple(path) for path in read_lines(file)} for qi, file in files.items()}
    return Table.read(rows, columns, qis, hierarchies)


def measure_all(table: Table, requirement: Require, suppression: float) -> dict[Node, Outcome]:
    return {node: measure_node(table, node, [requirement], suppression) for node in table.nodes()}


@pytest.mark.some(1)
@pytest.mark.parametrize(
    ("suppression", "optima"),
    [
        (
            0,
            {
                "loss": ((0, 4, 0, 1), 0.358290, 0, 20),
                "height": ((0, 1, 1, 2), 4, 0, 30),
                "discernibility": ((1, 1, 1, 1), 55170356, 0, 30),
                "average_class_size": ((0, 1, 1, 2), 1005.4, 0, 30),
            },
        ),
        (
            0.05,
            {
                "loss": ((0, 1, 0, 0), 0.025526, 470, 280),
                "height": ((0, 1, 0, 0), 1, 470, 280),
                "discernibility": ((0, 0, 1, 1), 9800845, 85, 233),
                "average_class_size": ((1, 0, 0, 0), 59.0254, 1013, 510),
            },
        ),
    ],
)
def test_adult_with_k_of_5(adult_table: Table, suppression: float, optima: Mapping[str, Best]) -> None:
    outcomes = measure_all(adult_table, Require("k", 5), suppression)
    for objective, (node, value, suppressed, number) in optima.items():
        found = best_of(adult_table, outcomes, objective)
        assert found == (node, pytest.approx(value, rel=1e-5), suppressed, number), objective


@pytest.mark.parametrize(
    ("requirement", "node"),
    [
        (Require("entropy_l", 3, "occupation"), (0, 4, 0, 1)),
        (Require("distinct_l", 3, "occupation"), (0, 4, 0, 1)),
        (Require("recursive_c", 4, "occupation", {"l": 2}), (0, 3, 0, 2)),
        (Require("t", 0.2, "occupation"), (1, 4, 1, 1)),
    ],
    ids=lambda given: given.measure if isinstance(given, Require) else None,
)
@pytest.mark.deep
def test_adult_with_occupation_as_the_secret(adult_table: Table, requirement: Require, node: Node) -> None:
    found = best_of(adult_table, measure_all(adult_table, requirement, 0), "loss")
    assert found is not None
    assert found.node == node
