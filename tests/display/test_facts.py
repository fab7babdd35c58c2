"""Facts for a notebook, numbers for people, and sentences that are true."""

from __future__ import annotations

import math
from html.parser import HTMLParser
from pathlib import Path

import pytest
from support.commands import run

from sqlpriv.core.facts import Facts, Grid, Line, cell, reads_as_number, shown_number

pytestmark = pytest.mark.one_version

EVIL = "<script>alert('x')</script> & more"


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.open.append(tag)
        self.seen.add(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_html_is_whole_and_escaped() -> None:
    grid = Grid((EVIL, "n"), ((EVIL, 1234), (None, 0.5)), title=EVIL, caption=EVIL, marked=(0,))
    html = Facts(
        EVIL, {}, (Line(EVIL, EVIL), Line(EVIL, quiet=True), grid, Grid((), ((EVIL, 1),))), (EVIL,)
    )._repr_html_()
    tags = _Tags()
    tags.feed(html)
    assert tags.open == []
    assert {"table", "th", "td", "p", "caption"} <= tags.seen
    assert "script" not in tags.seen
    assert html.count("&lt;script&gt;") == 10
    assert "<td><b>1,234</b></td>" in html


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (39999.6, "40,000"), (1234567.8, "1,234,568"), (215.9612, "216"), (0.0126708, "0.01267"), (6.4, "6.4"),
        (-345.114, "-345.1"), (99.996, "100"), (0.0, "0"), (-0.0, "0"), (math.nan, "nan"), (-math.inf, "-inf"),
        (0.00001234, "1.234e-05"), (1e20, "1e+20"),
    ],
)  # fmt: skip
def test_digits_go_by_magnitude(value: float, text: str) -> None:
    assert shown_number(value) == text
    assert reads_as_number(text)


@pytest.mark.parametrize("text", ["", "1 of 1", "yes", "e", "1 !", "2026-11-17", "one"])
def test_other_texts_are_no_numbers(text: str) -> None:
    assert not reads_as_number(text)


def test_cells_keep_what_was_asked_for() -> None:
    assert [cell(v) for v in (0.0606, 1e-9, True, 12345, ["a", None])] == [
        "0.0606",
        "1e-09",
        "True",
        "12,345",
        "a, NULL",
    ]


@pytest.mark.parametrize(("size", "said"), [(1, "single people"), (3, "no more than 3 people"), (144, "not printed")])
def test_nearly_unique_is_said_only_where_it_is_true(tmp_path: Path, size: int, said: str) -> None:
    rows = [f"{group}\n" * size for group in ("a", "b")]
    (tmp_path / "t.csv").write_text("g\n" + "".join(rows))
    text = run(tmp_path, "check", "t.csv", "--qi", "g").stdout
    assert said in text
    assert "nearly unique" not in text
