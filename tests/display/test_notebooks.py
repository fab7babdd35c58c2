"""Results in a notebook: tables, and under them their pictures, whole, described, and without a request to anywhere."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import duckdb
import pytest
from reports.conftest import BY_METHOD, NOISE, POLICY, VALUES

import sqlpriv
from sqlpriv.core.facts import Facts, Grid

pytest.importorskip("altair", reason="the extra `report` is not installed")
pytest.importorskip("vl_convert", reason="the extra `report` is not installed")
pytestmark = pytest.mark.one_version

NAMES = ("http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink")
SVG = f"{{{NAMES[0]}}}svg"


def pictures_in(facts: Facts) -> list[ElementTree.Element]:
    """The pictures of what a notebook shows, which is checked to be whole and to ask for nothing."""
    shown = facts._repr_html_()
    whole = ElementTree.fromstring(shown)
    assert set(re.findall(r"\w+:/?/[^\"' <>]*", shown)) <= set(NAMES), "an address that a browser might ask"
    assert not re.search(r"url\(|\bon\w+=|javascript:", shown)
    found = list(whole.iter(SVG))
    # They come after all tables, and say what is to be seen in them.
    kinds = [part.tag for part in whole]
    assert kinds[len(kinds) - len(found) :] == ["figure"] * len(found)
    assert all(picture.get("role") == "img" and len(picture.get("aria-label", "")) > 40 for picture in found)
    assert all(value not in shown for value in VALUES)
    return found


@pytest.fixture(scope="module")
def people() -> duckdb.DuckDBPyRelation:
    """As in the report's tests: ages, two places, three illnesses."""
    return duckdb.sql(
        """SELECT CAST(20 + i % 40 AS INTEGER) AS age, if(i % 2 = 1, '40219', '40288') AS "zip.code <b>",
        ['measles-of-one', 'mumps-of-many', 'flu'][i % 3 + 1] AS ill FROM range(480) AS r(i)"""
    )


@pytest.fixture(scope="module")
def planned(people: duckdb.DuckDBPyRelation, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Facts]:
    folder = tmp_path_factory.mktemp("planned")

    def plan(text: str) -> Facts:
        (folder / "policy.toml").write_text(text, encoding="utf-8")
        return sqlpriv.plan(folder / "policy.toml", data=people)

    return plan


def test_a_plan_shows_the_lattice_under_its_tables(
    planned: Callable[[str], Facts], monkeypatch: pytest.MonkeyPatch
) -> None:
    facts = planned(POLICY)
    labels = [str(picture.get("aria-label")) for picture in pictures_in(facts)]
    starts = ("Loss by column.", "Levels of [age, zip.code <b>].", "Risk against loss.")
    assert [label.startswith(start) for label, start in zip(labels, starts, strict=True)] == [True] * 3
    with_pictures = facts._repr_html_()
    # Where the extra is not installed there are the tables alone, and no error.
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    assert pictures_in(facts) == []
    assert with_pictures.startswith(facts._repr_html_().removesuffix("</div>"))
    assert pictures_in(planned(POLICY)) == []


def test_pictures_take_the_colour_of_the_page(planned: Callable[[str], Facts]) -> None:
    """So that they can be read in light and dark: nothing but the faces of boxes brings paper of its own."""
    (cost,) = planned(NOISE).pictures
    drawn = cost.inline_svg()
    assert "currentColor" in drawn
    assert not re.search(r'fill="(white|#fff|#FFFFFF)"', drawn)


def test_pictures_are_no_part_of_what_programs_get(planned: Callable[[str], Facts]) -> None:
    facts = planned(NOISE)
    assert "<svg" not in facts.to_json() + str(facts) + repr(facts)
    assert Facts("t", {}, (Grid((), (("a", 1),)),)).pictures == ()


EXPECTED = {"sdgs": 1, "disclose": 2}


@pytest.mark.slow
@pytest.mark.parametrize("method", BY_METHOD)
def test_plans_of_other_methods(planned: Callable[[str], Facts], method: str) -> None:
    assert len(pictures_in(planned(BY_METHOD[method]))) == EXPECTED.get(method, 0)


@pytest.mark.slow
def test_attacks_and_comparisons(people: duckdb.DuckDBPyRelation, tmp_path: Path) -> None:
    found = sqlpriv.attack(people, qis=["age", "zip.code <b>"], sensitive="ill", negations=1, implications=0)
    assert len(pictures_in(found)) == 1
    (tmp_path / "policy.toml").write_text(POLICY, encoding="utf-8")
    (tmp_path / "q.sql").write_text("SELECT count(*) FROM people WHERE age < 30", encoding="utf-8")
    given = {"methods": ["generalize"], "data": people, "tune": False}
    assert len(pictures_in(sqlpriv.compare(tmp_path / "policy.toml", tmp_path / "q.sql", **given))) == 1
