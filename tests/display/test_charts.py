"""The pictures: written by ending, readable as text in SVG, without a value of the table; and the curves they show."""

import itertools
import json
import math
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from html import unescape
from pathlib import Path

import pytest
from oracles.epsilon import belief_in, belief_out, belief_ratio, exact
from support.policies import parse

from sqlpriv.checks.requirements import Requirement
from sqlpriv.core.errors import InputError, PolicyError
from sqlpriv.display.charts import (
    Picture,
    deltas_picture,
    draw,
    lattice_picture,
    privacy_cost_picture,
    stubbornness_picture,
    tradeoff_picture,
)
from sqlpriv.display.charts.lattice import MOST_DRAWN, holds_suppressed
from sqlpriv.display.charts.marks import COLOURS, shown
from sqlpriv.display.charts.tradeoff import frontier
from sqlpriv.methods.generalized.generalize.lattice import all_nodes, lattice_of, stubbornness_curves
from sqlpriv.methods.generalized.measures import ClassMeasure, write_measures
from sqlpriv.methods.generalized.scan import Scan, scan_table
from sqlpriv.methods.lattice import Lattice, Node, NodeRow, Outcome
from sqlpriv.publishing import open_private

pytest.importorskip("altair", reason="the extra `report` is not installed")
pytest.importorskip("vl_convert", reason="the extra `report` is not installed")
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
class Searched:
    domain: Scan
    measures: tuple[ClassMeasure, ...]
    rows: list[NodeRow]

    @property
    def best(self) -> Node:
        return min((row for row in self.rows if row.valid), key=lambda row: row.objectives["loss"]).node

    @property
    def lattice(self) -> Lattice:
        return lattice_of(self.domain, self.measures, self.rows, self.best)


def open_lattice(folder: Path, person: bool) -> Iterator[Searched]:
    """The lattice of the table; every second row is another one of the same person, if there are persons."""
    header = ("person,age,city,illness" if person else "age,city,illness") + "\n"
    lines = [",".join(map(str, ((i // 2,) if person else ()) + row)) for i, row in enumerate(ROWS)]
    (folder / "people.csv").write_text(header + "\n".join(lines) + "\n")
    role = 'person = { role = "person" }' if person else ""
    policy = parse(POLICY.format(source="people.csv", person=role), folder)
    with open_private(policy) as (source, policy):
        domain = scan_table(source, policy)
        measures = write_measures(domain)
        yield Searched(domain, measures, all_nodes(domain, measures))


@pytest.fixture(scope="module")
def lattice(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Searched]:
    yield from open_lattice(tmp_path_factory.mktemp("lattice"), person=False)


@pytest.fixture(scope="module")
def of_persons(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Searched]:
    yield from open_lattice(tmp_path_factory.mktemp("persons"), person=True)


def texts_of(picture: Picture) -> str:
    """What describes a picture, and all texts and colours of its SVG, a line each."""
    svg = picture.written("svg").decode()
    found = [unescape(text) for text in re.findall(r">([^<>]+)</t", svg)]
    return "\n".join([picture.description, *found, *sorted(set(re.findall(r"#[0-9A-Fa-f]{6}", svg)))])


def assert_no_value(svg: str) -> None:
    for value in {cell for row in ROWS for cell in row[1:]}:
        assert str(value) not in svg


def test_the_lattice_names_every_node_and_requirement(lattice: Searched) -> None:
    told = texts_of(lattice_picture(lattice.lattice))
    lines = told.splitlines()
    assert all(shown(row.node) in lines for row in lattice.rows)
    assert all(f"segment {i}: {text}" in lines for i, text in enumerate(lattice.lattice.texts, 1))
    assert "Levels of [age, city]" in lines
    assert f"chosen: {shown(lattice.best)}" in lines
    assert "meets all requirements" in lines
    assert set(COLOURS[: len(lattice.measures)]) <= set(lines)
    assert_no_value(told)


def test_the_lattice_counts_suppression() -> None:
    """A node that meets the policy with a few rows suppressed must not look like one that fails everything."""
    outcome = Outcome(7, 0, 3, 4, 1, 1, 0.0, 0.0, False, (7, 2, 0), (1.0, 1.0, 0.5))
    row = NodeRow((1, 0), outcome, (False, False, False), True, True, {"loss": 0.1})
    assert [holds_suppressed(row, i, 7) for i in range(3)] == [True, True, True]
    assert [holds_suppressed(row, i, 6) for i in range(3)] == [False, True, False]
    failing = replace(row, outcome=replace(outcome, table_fails=True))
    assert [holds_suppressed(failing, i, 7) for i in range(3)] == [True, True, False]
    texts = ("k>=2", "t<=0.1", "uniques<=0")
    lines = texts_of(lattice_picture(made_up([row], texts, allowed=7))).splitlines()
    assert "half filled: holds once the rows that fail it are suppressed (-n; up to 7)" in lines
    assert "-7" in lines
    assert "minimal: nothing below it does" in lines
    assert "half filled" not in texts_of(lattice_picture(made_up([row], texts)))


def test_the_tradeoff_shows_risk_where_k_is_measured(lattice: Searched) -> None:
    told = texts_of(tradeoff_picture(lattice.lattice))
    assert "re-identification risk" in told
    assert f"Chosen: {shown(lattice.best)}." in told
    assert "chosen" in told.splitlines()
    assert_no_value(told)
    told = texts_of(tradeoff_picture(made_up(lattice.rows), "discernibility"))
    assert "share of rows suppressed" in told
    assert "chosen" not in told.lower()


@pytest.mark.parametrize("objective", ["loss", "precision", "kl", "height"])
def test_the_frontier_is_what_no_valid_node_beats(lattice: Searched, objective: str) -> None:
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


def test_stubbornness_has_a_line_for_each_adversary() -> None:
    curves = {"gentle": [(10.0, 1.1), (100.0, 1.4), (math.inf, 1.5)], "stern": [(10.0, math.inf)]}
    lines = texts_of(stubbornness_picture(curves, "of a node", "least cost")).splitlines()
    for text in ("gentle", "stern (infinite)", "∞", "100", "of a node", "least cost"):
        assert text in lines


ONE = stubbornness_picture({"one": [(2.0, 1.0)]})


def test_pictures_are_written_by_their_ending(tmp_path: Path) -> None:
    for name in ("s.PNG", "s.svg", "s.json"):
        assert draw(ONE, tmp_path / name) == tmp_path / name
    assert (tmp_path / "s.PNG").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "s.svg").read_text().startswith("<svg ")
    assert json.loads((tmp_path / "s.json").read_text())["title"]["text"] == "Minimum epsilon against stubbornness"
    with pytest.raises(InputError, match=r"written as \.svg, \.png, \.html or \.json"):
        draw(ONE, tmp_path / "s.pdf")
    with pytest.raises(InputError, match="no folder"):
        draw(ONE, tmp_path / "nowhere" / "s.svg")
    (tmp_path / "folder.svg").mkdir()
    with pytest.raises(InputError, match=r"cannot write the picture 'folder\.svg'"):
        draw(ONE, tmp_path / "folder.svg")


@pytest.mark.slow
def test_a_page_of_one_picture_needs_no_network(tmp_path: Path) -> None:
    page = draw(ONE, tmp_path / "s.html").read_text()
    assert not re.search(r"""<(?:script|link|img)[^>]+(?:src|href)=["']?(?:https?:)?//""", page)
    assert "vegaEmbed" in page
    assert re.search(r'"editor":\s*false', page), "the menu takes nobody's numbers elsewhere"


def test_the_same_picture_is_the_same_file(lattice: Searched) -> None:
    one, two = (lattice_picture(made_up(lattice.rows, qis=["$a$", "b"])).written("svg").decode() for _ in "12")
    assert one == two
    assert "[$a$, b]" in one  # and no mathematics in names


def test_names_are_never_read_as_vega_or_html() -> None:
    evil = "a[0].b: <b>\x1b"
    picture = stubbornness_picture({evil: [(10.0, 1.1), (100.0, 1.4)], "datum.label": [(10.0, 1.2)]}, evil)
    lines = texts_of(picture).splitlines()
    assert lines.count("a[0].b: <b>\\x1b") == 2, "in the title and in the legend"
    assert "datum.label" in lines
    assert not re.search("<b>|\x1b", picture.written("svg").decode() + picture.inline_svg())


@pytest.mark.parametrize("missing", ["altair", "vl_convert"])
def test_without_the_extra_the_message_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, missing: str
) -> None:
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(InputError, match=r"pip install 'sqlpriv\[report\]'"):
        draw(ONE, tmp_path / "s.svg")
    assert not list(tmp_path.iterdir())
    assert ONE.inline_svg() == ""


def made_up(
    rows: Sequence[NodeRow],
    texts: Sequence[str] = (),
    chosen: Node | None = None,
    allowed: int = 0,
    qis: Sequence[str] = "abc",
) -> Lattice:
    return Lattice(tuple(qis), tuple(Requirement(t, t, {}, ">=", 1) for t in texts), rows, allowed, chosen)


def grid(levels: int, minimal: set[Node]) -> list[NodeRow]:
    """Nodes of three attributes; valid is what lies above a minimal node."""
    outcome = Outcome(0, 0, 1, 1, 1, 1, 0.0, 0.0, False, (1,), ())
    return [
        NodeRow(node, outcome, (node in minimal,), any(all(map(int.__ge__, node, m)) for m in minimal),
                node in minimal, {"loss": sum(node) / 100})
        for node in itertools.product(range(levels), repeat=3)
    ]  # fmt: skip


def test_of_a_large_lattice_the_border_is_drawn() -> None:
    told = texts_of(lattice_picture(made_up(grid(9, {(2, 3, 4), (5, 1, 6)}), ["k>=5"])))
    assert "729" in told
    assert "all minimal nodes and their neighbours (14 nodes)" in told
    assert {shown(n) for n in [(2, 3, 4), (2, 3, 3), (2, 4, 4), (5, 1, 6), (5, 0, 6)]} <= set(told.splitlines())
    assert "[0,0,0]" not in told


def test_of_a_long_border_the_least_lossy_part_is_drawn() -> None:
    border = {node for node in itertools.product(range(20), repeat=3) if sum(node) == 19}
    chosen = (19, 0, 0)
    told = texts_of(lattice_picture(made_up(grid(20, border), ["k>=5"], chosen)))
    assert f"with the least loss of the {len(border)} minimal" in told
    labels = re.findall(r"^\[([\d,]+)\]$", told, re.MULTILINE)
    assert shown(chosen)[1:-1] in labels
    assert len(labels) <= MOST_DRAWN
    assert max(Counter(sum(map(int, label.split(","))) for label in labels).values()) <= 24


def test_a_large_lattice_without_a_border_is_refused() -> None:
    with pytest.raises(InputError, match="None of them meets all requirements"):
        lattice_picture(made_up(grid(9, set()), ["k>=5"]))


def test_nothing_to_draw_is_refused() -> None:
    with pytest.raises(InputError, match="no nodes"):
        lattice_picture(made_up([]))
    with pytest.raises(InputError, match="no nodes"):
        tradeoff_picture(made_up([]))
    with pytest.raises(InputError, match="no objective 'beauty'"):
        tradeoff_picture(made_up(grid(2, set())), "beauty")
    with pytest.raises(InputError, match="every sigma was too small"):
        stubbornness_picture({"one": []})
    with pytest.raises(InputError, match="no epsilon holds"):
        stubbornness_picture({"one": [(10.0, math.inf)]})
    with pytest.raises(InputError, match="all of them are 0"):
        deltas_picture({"one": [(0.5, 0.0)]}, (0.5, 0.0))


def test_curves_pass_through_what_the_policy_measures(lattice: Searched, of_persons: Searched) -> None:
    for each in (lattice, of_persons):
        curves = stubbornness_curves(each.domain, NODE, "illness", [40, math.inf])
        measured = next(row.outcome.worst for row in each.rows if row.node == NODE)[1:]
        uniform, shaped, any_shape = (dict(curve) for curve in curves.values())
        points = (uniform[40], shaped[40], any_shape[40], uniform[math.inf], shaped[math.inf])
        assert points == pytest.approx(measured, rel=1e-12)
        assert math.inf not in any_shape


def test_curves_agree_with_the_beliefs(lattice: Searched) -> None:
    curves = stubbornness_curves(lattice.domain, (2, 2), "illness", [3, 1000])
    count = {value: [row[2] for row in ROWS].count(value) for value in ILLNESSES}
    expected = max(
        belief_ratio(belief_in(60, n, 0), belief_out(60, n, exact(1000), exact(1000) / 3)) for n in count.values()
    )
    assert dict(curves["class I, uniform"])[1000] == pytest.approx(float(expected), rel=1e-12)


def test_sigmas_too_small_for_the_values_are_skipped(lattice: Searched) -> None:
    rarest = min([row[2] for row in ROWS].count(value) for value in ILLNESSES)
    curves = stubbornness_curves(lattice.domain, NODE, "illness", [100, 1, 2.9, 3, 60 / rarest, 3, 60 / rarest - 0.01])
    sigmas = [[sigma for sigma, _ in curve] for curve in curves.values()]
    assert sigmas == [[3, 60 / rarest - 0.01, 60 / rarest, 100], [60 / rarest, 100], sigmas[0]]
    with pytest.raises(PolicyError, match="not a sensitive column"):
        stubbornness_curves(lattice.domain, NODE, "age", [100])


def test_delta_is_drawn_against_epsilon_with_the_policys_own_pair() -> None:
    curves = {"k = 20, beta = 0.1": [(0.5, 1e-5), (1.0, 1e-9)], "bound, k = 20, beta = 0.1": [(0.5, 1e-3), (1.0, 1e-5)]}
    lines = texts_of(deltas_picture(curves, (1.0, 1e-6))).splitlines()
    assert all(word in lines for word in (*curves, "this policy", "epsilon", "delta", "1e-6"))


def test_what_privacy_costs_is_drawn_with_the_policys_own_gamma() -> None:
    told = texts_of(privacy_cost_picture([(0.1, 0.5), (0.2, 0.25), (0.5, 0.1)], 0.2))
    assert "this policy: gamma = 0.2" in told.splitlines()
    assert "standard error of a count over half the domain" in told
