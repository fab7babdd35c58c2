"""The benchmarks that reproduce the papers run, and find what they should."""

from __future__ import annotations

import math
import statistics
from pathlib import Path

import duckdb
import oracles
import pytest

from benchmarks import alpha_beta, audit, decision_figures, peers, sampling_figures
from benchmarks.adult_releases import DISTINCT, FRAPP, PAPER, Variant
from sqlpriv.display.charts import draw

pytestmark = pytest.mark.one_version


@pytest.mark.slow
def test_alpha_beta_beats_frapp_as_in_the_paper(
    shared_data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if not (shared_data / "adult" / "adult.csv").is_file():
        pytest.skip("the Adult data set is not in ../shared/data/adult")
    pytest.importorskip("altair")
    errors = alpha_beta.run(quick=True, charts=tmp_path / "charts", seed=1)
    ratio = errors[Variant(DISTINCT, FRAPP)].overall / errors[Variant(DISTINCT, PAPER)].overall
    assert 3.5 < ratio < 6, "the paper finds about 4.3, over all queries it is 4.5"
    assert {p.name for p in (tmp_path / "charts").iterdir()} == {
        "alpha-beta-figure-2-distinct.svg",
        "alpha-beta-figure-3-distinct.svg",
    }
    assert all("NOT private" in p.read_text(encoding="utf-8") for p in (tmp_path / "charts").iterdir())
    assert "NOT private" in " ".join(capsys.readouterr().out.split())


def test_all_selections_of_up_to_three_attributes_are_asked() -> None:
    sizes = {"sex": 2, "age": 72, "race": 5, "marital-status": 7, "education": 16, "native-country": 41, "workclass": 7,
             "occupation": 14, "salary-class": 2}  # fmt: skip

    def queries(subset: tuple[str, ...]) -> int:
        product = 1
        for name in subset:
            product *= sizes[name]
        return product

    assert queries(tuple(sizes)) == alpha_beta.TUPLES
    assert sum(map(queries, alpha_beta.all_subsets())) == alpha_beta.QUERIES


@pytest.mark.slow
def test_section_7_2_of_the_decision_theory_paper_is_found_again() -> None:
    """Figures 7a and 7b of one run: names that are similar, weights by lot, dictionaries of several sizes."""
    weights = decision_figures.weights_by_lot(1)
    with duckdb.connect() as con:
        decision_figures.create_people(con, records=30, people=300)
        by_size = decision_figures.figure_7a(con, weights, parts=(1, 10))
        by_k = decision_figures.figure_7b(con, weights)
        both = "SELECT id, min(loss) FROM in_people WHERE utility >= 5 GROUP BY id"
        brute = con.execute(f"SELECT avg(loss) FROM ({both}) AS best(id, loss)").fetchall()[0][0]
    assert decision_figures.faults(by_size, by_k, 1.0) == []
    risk = {(row["form"], row["c"], row["entries"]): row["risk"] for row in by_size}
    assert len(risk) == 2 * 2 * 11
    assert {entries for _, _, entries in risk} == {30, 300}
    total = sum(float(own["weight"]) for own in weights)
    for entries in (30, 300):
        assert risk["linear", 0, entries] == 0
        assert risk["multiplicative", 0, entries] == pytest.approx(1 / entries)
        # With all of it told nobody is like another, so that the loss is the sensitivity itself.
        assert risk["linear", 10, entries] == pytest.approx(total)
        assert risk["multiplicative", 10, entries] == pytest.approx(math.exp(total))
    for form in decision_figures.FORMS:
        assert risk[form, 3, 30] > 3 * risk[form, 3, 300] > 0, "more entries hide a record"
    assert risk["multiplicative", 5, 300] == pytest.approx(brute), "the least of all choices, each priced by itself"
    assert [row["k"] for row in by_k] == [1, 2, 5, 10, 20]
    assert all(row["best"] <= row["risk"] + row["gap"] + 1e-12 for row in by_k)
    assert by_k[0]["risk"] > 5 * by_k[0]["best"], "the best rule is far better where k asks for little"
    utilities, risks = ([row[name] for row in by_k] for name in ("utility", "risk"))
    assert utilities == sorted(utilities, reverse=True)
    assert risks == sorted(risks, reverse=True)


@pytest.mark.slow
def test_risk_and_utility_of_rules_by_lot_go_together() -> None:
    """Figure 9c: the paper finds a correlation of 0.858 on tables that are not public."""
    with duckdb.connect() as con:
        points, correlation = decision_figures.figure_9c(con, members=40, people=1_000, rules=100)
    assert len(points) == 100
    assert correlation == pytest.approx(statistics.correlation(*zip(*(p.values() for p in points), strict=True)))
    assert 0.6 < correlation < 1
    assert all(0 <= point["utility"] <= 13 and point["risk"] <= math.exp(1.95) for point in points)


def test_the_tail_of_figure_1_is_delta(con: duckdb.DuckDBPyConnection) -> None:
    """Table 1 of the paper prints 2.16e-3 for k = 20, beta = 0.2 and epsilon = 0.25."""
    inner, outer, chances = sampling_figures.tail(con, *sampling_figures.FIGURE_1)
    n, beta = len(chances) - 1, sampling_figures.FIGURE_1[1]
    assert inner == pytest.approx(beta * n)
    assert inner < outer < n
    assert chances == [(j, pytest.approx(math.comb(n, j) * beta**j * (1 - beta) ** (n - j))) for j in range(n + 1)]
    assert sum(p for j, p in chances if j > outer) == pytest.approx(2.16e-3, rel=2e-3)


def test_pairs_of_figure_4_protect_alike(con: duckdb.DuckDBPyConnection) -> None:
    """15, 22, 35 and 60, of which the paper does not say by which epsilon: it is one from 1 to 2."""
    (first, *others), ends = sampling_figures.FIGURE_4, (1.0, 2.0)
    found = {beta: k for k, beta in others}
    assert found == {0.1: 22, 0.2: 35, 0.4: 60}
    alike = [oracles.sdgs_delta(*first, epsilon) for epsilon in ends]
    for beta, k in found.items():
        asked = "FROM priv.sdgs_k({}, {}, {!r})"
        most, least = (con.execute(asked.format(beta, *at)).fetchall()[0][0] for at in zip(ends, alike, strict=True))
        assert least <= k <= most
    drawn = sampling_figures.privacies(con, sampling_figures.FIGURE_4, ends)
    assert next(points[0][1] for points in drawn.values()) == pytest.approx(1 / alike[0])


def test_small_k_of_figure_5(con: duckdb.DuckDBPyConnection) -> None:
    """With k = 1 only the sample protects; from 2 on delta is below 0.001 at epsilon 2."""
    (alone, *others) = sampling_figures.privacies(con, sampling_figures.FIGURE_5, (2.0,)).values()
    assert alone == [(2.0, pytest.approx(1 / 0.025))]
    assert all(points[0][1] > 1000 for points in others)
    assert [points[0][1] for points in others] == [pytest.approx(40.0**k) for k in range(2, 6)]


@pytest.mark.slow
def test_epsilons_of_figure_6(con: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    """Smaller epsilons with larger k, larger ones with larger samples; each is where delta comes to 1e-6."""
    pytest.importorskip("altair")
    found = sampling_figures.pictures(con)
    rows = found["figure6"].rows
    by_beta = {name: {r["k"]: r["epsilon"] for r in rows if r["for"] == name} for name in {r["for"] for r in rows}}
    for name, curve in by_beta.items():
        beta, epsilons = float(name.split(" = ")[1]), [curve[k] for k in sorted(curve)]
        assert epsilons == sorted(epsilons, reverse=True)
        assert len(curve) >= 4
        assert all(e == pytest.approx(oracles.sdgs_epsilon(k, beta, 1e-6), rel=1e-9) for k, e in curve.items())
    ordered = [by_beta[f"beta = {beta:g}"][20] for beta in sampling_figures.FIGURE_6]
    assert ordered == sorted(ordered)
    for name, picture in found.items():
        text = draw(picture, tmp_path / f"{name}.svg").read_text(encoding="utf-8")
        assert f"Figure {name[-1]}" in text


@pytest.mark.slow
def test_the_audit_holds_on_a_few_releases(tmp_path: Path) -> None:
    """It takes minutes in full, so that nobody would notice for long that a part of it no longer runs."""
    shop = audit.Workshop(tmp_path)
    lines = [*audit.hard_bounds(shop, 50), *audit.coverage(shop, 4)]
    assert [line.what for line in lines if not line.holds] == []
    assert len(lines) == 14
    shown = audit.page(lines, 60.0)
    assert all(f"| {line.what} |" in shown for line in lines)


@pytest.mark.slow
def test_other_tools_are_compared_as_far_as_they_are_there(shared_data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if not (shared_data / "adult" / "adult.csv").is_file():
        pytest.skip("the Adult data set is not in ../shared/data/adult")
    monkeypatch.setattr(peers, "RELEASES", 1)
    monkeypatch.setattr(peers, "PEERS", ("pycanon", "no such library"))
    monkeypatch.setattr(peers, "_present", lambda peer: False)
    sections = [*peers.compare_levels(), *peers.compare_noise()]
    shown = peers.page(sections, 60.0)
    assert "no such library not installed" in shown
    assert "| loss of a cell, 0 to 1 | 0.270 |  |  |" in shown
    ours = {row[0]: row[1] for row in sections[1].rows}
    assert 4 < float(ours["1"].strip("*")) < 16
