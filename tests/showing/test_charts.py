"""The pictures: written by suffix, readable as text in SVG, without a value of the table; and the curves they show."""

import itertools
import math
import re
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from oracles.epsilon import belief_in, belief_out, belief_ratio, exact
from support.policies import parse

from sqlpriv.errors import InputError, PolicyError
from sqlpriv.methods.generalize.nodes import NodeRow, all_nodes
from sqlpriv.methods.generalize.stubbornness import stubbornness_curves
from sqlpriv.methods.labelled.evaluate import Node, Outcome
from sqlpriv.methods.labelled.measures import ClassMeasure, write_measures
from sqlpriv.methods.labelled.scan import Scan, scan_table
from sqlpriv.publishing import open_private
from sqlpriv.showing.charts import draw_deltas, draw_lattice, draw_privacy_cost, draw_stubbornness, draw_tradeoff
from sqlpriv.showing.charts.canvas import COLOURS, shown
from sqlpriv.showing.charts.lattice import MOST_DRAWN, holds_suppressed
from sqlpriv.showing.charts.tradeoff import frontier

pytestmark = pytest.mark.one_version

POLICY = """
[table]
source = "{source}"
[columns]
{person}
age = {{ role = "quasi-identifier", hierarchy = ["age // 10"] }}
city = {{ role = "quasi-identifier", hierarchy = ["left(city, 1)"] }}
illness = {{ role = "sensitive" }}
[require]
k = 2
epsilon = [
  {{ column = "illness", adversary = "class1", sigma = 40, shape = "uniform", at_most = 3 }},
  {{ column = "illness", adversary = "class1", sigma = 40, shape = "table", at_most = 3 }},
  {{ column = "illness", adversary = "class2", sigma = 40, at_most = 9 }},
  {{ column = "illness", adversary = "class3", shape = "uniform", at_most = 3 }},
  {{ column = "illness", adversary = "class3", shape = "table", at_most = 3 }},
]
[release]
method = "generalize"
suppression = 0.3
"""
ILLNESSES = ("Xfluenza", "Xcold", "Xfluenza", "Xgout", "Xcold")
ROWS = [(30 + i % 17, ("Qaberdeen", "Qbath", "Zurich")[i % 3], ILLNESSES[i * i % 5 if i % 4 else 3]) for i in range(60)]
NODE = (1, 2)


@dataclass(frozen=True)
class Lattice:
    domain: Scan
    measures: tuple[ClassMeasure, ...]
    rows: list[NodeRow]

    @property
    def texts(self) -> list[str]:
        return [m.requirement.text for m in self.measures]

    @property
    def best(self) -> Node:
        return min((row for row in self.rows if row.valid), key=lambda row: row.objectives["loss"]).node


def open_lattice(folder: Path, person: bool) -> Iterator[Lattice]:
    """The lattice of the table; every second row is another one of the same person, if there are persons."""
    header = ("person,age,city,illness" if person else "age,city,illness") + "\n"
    lines = [",".join(map(str, ((i // 2,) if person else ()) + row)) for i, row in enumerate(ROWS)]
    (folder / "people.csv").write_text(header + "\n".join(lines) + "\n")
    role = 'person = { role = "person" }' if person else ""
    policy = parse(POLICY.format(source="people.csv", person=role), folder)
    with open_private(policy) as source:
        domain = scan_table(source, policy)
        measures = write_measures(domain)
        yield Lattice(domain, measures, all_nodes(domain, measures))


@pytest.fixture(scope="module")
def lattice(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lattice]:
    yield from open_lattice(tmp_path_factory.mktemp("lattice"), person=False)


@pytest.fixture(scope="module")
def of_persons(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lattice]:
    yield from open_lattice(tmp_path_factory.mktemp("persons"), person=True)


def assert_no_value(svg: str) -> None:
    for value in {cell for row in ROWS for cell in row[1:]}:
        assert str(value) not in svg


def test_the_lattice_names_every_node_and_requirement(lattice: Lattice, tmp_path: Path) -> None:
    path = draw_lattice(lattice.rows, ["age", "city"], lattice.texts, tmp_path / "l.svg", lattice.best)
    svg = path.read_text()
    for row in lattice.rows:
        assert shown(row.node) in svg
    for text in lattice.texts:
        assert text.replace("<", "&lt;").replace(">", "&gt;") in svg
    assert "[age, city]" in svg
    assert f"chosen: {shown(lattice.best)}" in svg
    assert "minimal" in svg
    assert all(colour.lower() in svg for colour in COLOURS[: len(lattice.texts)])
    assert_no_value(svg)


def test_the_lattice_counts_suppression(tmp_path: Path) -> None:
    """A node that meets the policy with a few rows suppressed must not look like one that fails everything."""
    outcome = Outcome(7, 0, 3, 4, 1, 1, 0.0, 0.0, False, (7, 2, 0), (1.0, 1.0, 0.5))
    row = NodeRow((1, 0), outcome, (False, False, False), True, True, {"loss": 0.1})
    assert [holds_suppressed(row, i, 7) for i in range(3)] == [True, True, True]
    assert [holds_suppressed(row, i, 6) for i in range(3)] == [False, True, False]
    failing = replace(row, outcome=replace(outcome, table_fails=True))
    assert [holds_suppressed(failing, i, 7) for i in range(3)] == [True, True, False]
    texts = ["k>=2", "t<=0.1", "uniques<=0"]
    svg = draw_lattice([row], ["age", "city"], texts, tmp_path / "l.svg", None, 7).read_text()
    assert "half filled: holds once the rows that fail it are suppressed (-n; up to 7)" in svg
    assert ">-7<" in svg
    assert "half filled" not in draw_lattice([row], ["age", "city"], texts, tmp_path / "l.svg").read_text()


def test_the_tradeoff_shows_risk_where_k_is_measured(lattice: Lattice, tmp_path: Path) -> None:
    svg = draw_tradeoff(lattice.rows, lattice.best, "loss", tmp_path / "t.svg", lattice.measures).read_text()
    assert "re-identification risk" in svg
    assert f"chosen {shown(lattice.best)}" in svg
    assert_no_value(svg)
    svg = draw_tradeoff(lattice.rows, None, "discernibility", tmp_path / "t.svg").read_text()
    assert "share of rows suppressed" in svg
    assert "chosen" not in svg


@pytest.mark.parametrize("objective", ["loss", "precision", "kl", "height"])
def test_the_frontier_is_what_no_valid_node_beats(lattice: Lattice, objective: str) -> None:
    sign = -1 if objective == "precision" else 1
    points = [(r, r.objectives[objective], r.outcome.suppressed / len(ROWS)) for r in lattice.rows]
    valid = [p for p in points if p[0].valid]
    beaten = {
        p[0].node
        for p, q in itertools.product(valid, valid)
        if sign * q[1] <= sign * p[1] and q[2] <= p[2] and (q[1], q[2]) != (p[1], p[2])
    }
    line = frontier(points, objective == "precision")
    assert {p[0].node for p in line} <= {p[0].node for p in valid} - beaten
    assert {(p[1], p[2]) for p in line} == {(p[1], p[2]) for p in valid if p[0].node not in beaten}


def test_stubbornness_has_a_line_for_each_adversary(tmp_path: Path) -> None:
    curves = {"gentle": [(10.0, 1.1), (100.0, 1.4), (math.inf, 1.5)], "stern": [(10.0, math.inf)]}
    svg = draw_stubbornness(curves, tmp_path / "s.svg", "of a node", "least cost").read_text()
    for text in ("gentle", "stern (infinite)", "∞", "1e2", "of a node", "least cost"):
        assert text in svg


def test_pictures_are_written_by_their_suffix(lattice: Lattice, tmp_path: Path) -> None:
    draw_lattice(lattice.rows, ["age", "city"], lattice.texts, tmp_path / "l.PNG")
    draw_tradeoff(lattice.rows, None, "loss", tmp_path / "t.png")
    draw_stubbornness({"one": [(2.0, 1.0)]}, tmp_path / "s.png")
    assert {path.name for path in tmp_path.iterdir()} == {"l.PNG", "t.png", "s.png"}
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in tmp_path.iterdir())
    with pytest.raises(InputError, match=r"written as \.svg or \.png"):
        draw_stubbornness({"one": [(2.0, 1.0)]}, tmp_path / "s.pdf")
    with pytest.raises(InputError, match="no folder"):
        draw_stubbornness({"one": [(2.0, 1.0)]}, tmp_path / "nowhere" / "s.svg")


def test_the_same_picture_is_the_same_file(lattice: Lattice, tmp_path: Path) -> None:
    one, two = (draw_lattice(lattice.rows, ["$a$", "b"], [], tmp_path / f"{i}.svg").read_text() for i in "12")
    assert one == two
    assert "[$a$, b]" in one  # and no mathematics in names


def test_without_matplotlib_the_message_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(InputError, match=r"pip install 'sqlpriv\[report\]'"):
        draw_stubbornness({"one": [(2.0, 1.0)]}, tmp_path / "s.svg")
    assert not list(tmp_path.iterdir())


def grid(levels: int, minimal: set[Node]) -> list[NodeRow]:
    """Nodes of three attributes; valid is what lies above a minimal node."""
    outcome = Outcome(0, 0, 1, 1, 1, 1, 0.0, 0.0, False, (1,), ())
    return [
        NodeRow(node, outcome, (node in minimal,), any(all(map(int.__ge__, node, m)) for m in minimal),
                node in minimal, {"loss": sum(node) / 100})
        for node in itertools.product(range(levels), repeat=3)
    ]  # fmt: skip


def test_of_a_large_lattice_the_border_is_drawn(tmp_path: Path) -> None:
    svg = draw_lattice(grid(9, {(2, 3, 4), (5, 1, 6)}), "abc", ["k>=5"], tmp_path / "l.svg").read_text()
    assert "729" in svg
    assert "all minimal nodes and their neighbours (14 nodes)" in svg
    assert all(shown(node) in svg for node in [(2, 3, 4), (2, 3, 3), (2, 4, 4), (5, 1, 6), (5, 0, 6)])
    assert "[0,0,0]" not in svg


def test_of_a_long_border_the_least_lossy_part_is_drawn(tmp_path: Path) -> None:
    border = {node for node in itertools.product(range(20), repeat=3) if sum(node) == 19}
    chosen = (19, 0, 0)
    svg = draw_lattice(grid(20, border), "abc", ["k>=5"], tmp_path / "l.svg", chosen).read_text()
    assert f"least lossy of the {len(border)} minimal" in svg
    assert shown(chosen) in svg
    labels = re.findall(r">\[([\d,]+)\]<", svg)
    assert len(labels) <= MOST_DRAWN
    assert max(Counter(sum(map(int, label.split(","))) for label in labels).values()) <= 24


def test_a_large_lattice_without_a_border_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="none of them meets all requirements"):
        draw_lattice(grid(9, set()), "abc", ["k>=5"], tmp_path / "l.svg")


def test_nothing_to_draw_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no nodes"):
        draw_lattice([], "abc", [], tmp_path / "l.svg")
    with pytest.raises(InputError, match="no nodes"):
        draw_tradeoff([], None, "loss", tmp_path / "l.svg")
    with pytest.raises(InputError, match="no objective 'beauty'"):
        draw_tradeoff(grid(2, set()), None, "beauty", tmp_path / "l.svg")
    with pytest.raises(InputError, match="every sigma was too small"):
        draw_stubbornness({"one": []}, tmp_path / "l.svg")
    with pytest.raises(InputError, match="no epsilon holds"):
        draw_stubbornness({"one": [(10.0, math.inf)]}, tmp_path / "l.svg")
    assert not list(tmp_path.iterdir())


def test_curves_pass_through_what_the_policy_measures(lattice: Lattice, of_persons: Lattice) -> None:
    for each in (lattice, of_persons):
        curves = stubbornness_curves(each.domain, NODE, "illness", [40, math.inf])
        measured = next(row.outcome.worst for row in each.rows if row.node == NODE)[1:]
        uniform, shaped, any_shape = (dict(curve) for curve in curves.values())
        points = (uniform[40], shaped[40], any_shape[40], uniform[math.inf], shaped[math.inf])
        assert points == pytest.approx(measured, rel=1e-12)
        assert math.inf not in any_shape


def test_curves_agree_with_the_beliefs(lattice: Lattice) -> None:
    curves = stubbornness_curves(lattice.domain, (2, 2), "illness", [3, 1000])
    count = {value: [row[2] for row in ROWS].count(value) for value in ILLNESSES}
    expected = max(
        belief_ratio(belief_in(60, n, 0), belief_out(60, n, exact(1000), exact(1000) / 3)) for n in count.values()
    )
    assert dict(curves["class I, uniform"])[1000] == pytest.approx(float(expected), rel=1e-12)


def test_sigmas_too_small_for_the_values_are_skipped(lattice: Lattice) -> None:
    rarest = min([row[2] for row in ROWS].count(value) for value in ILLNESSES)
    curves = stubbornness_curves(lattice.domain, NODE, "illness", [100, 1, 2.9, 3, 60 / rarest, 3, 60 / rarest - 0.01])
    sigmas = [[sigma for sigma, _ in curve] for curve in curves.values()]
    assert sigmas == [[3, 60 / rarest - 0.01, 60 / rarest, 100], [60 / rarest, 100], sigmas[0]]
    with pytest.raises(PolicyError, match="not a sensitive column"):
        stubbornness_curves(lattice.domain, NODE, "age", [100])


def test_delta_is_drawn_against_epsilon_with_the_policys_own_pair(tmp_path: Path) -> None:
    curves = {"k = 20, beta = 0.1": [(0.5, 1e-5), (1.0, 1e-9)], "bound, k = 20, beta = 0.1": [(0.5, 1e-3), (1.0, 1e-5)]}
    text = draw_deltas(curves, (1.0, 1e-6), tmp_path / "deltas.svg").read_text(encoding="utf-8")
    assert all(word in text for word in (*curves, "this policy", "delta against epsilon", "1e-06"))


def test_what_privacy_costs_is_drawn_with_the_policys_own_gamma(tmp_path: Path) -> None:
    path = draw_privacy_cost([(0.1, 0.5), (0.2, 0.25), (0.5, 0.1)], 0.2, tmp_path / "cost.svg")
    text = path.read_text(encoding="utf-8")
    assert "this policy: gamma = 0.2" in text
    assert "standard error of a count over half the domain" in text
