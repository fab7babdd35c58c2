"""The benchmarks that reproduce the papers run, and find what they should."""

from __future__ import annotations

import math
import statistics
from pathlib import Path

import duckdb
import pytest

from benchmarks import alpha_beta, decision_figures
from benchmarks.adult_releases import DISTINCT, FRAPP, PAPER, Variant

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
