"""The page in a real browser: it renders, nothing leaves it, charts respond, at three widths, in light and dark."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.browser import browser

import sqlpriv

pytest.importorskip("altair", reason="the extra `report` is not installed")
pytestmark = [pytest.mark.slow, pytest.mark.one_version]

WIDTHS = ((390, "light"), (820, "dark"), (1280, "light"))


@pytest.fixture(scope="module")
def opened() -> Iterator[Any]:
    with browser() as found:
        yield found


@pytest.fixture(scope="module")
def page_file(folder: Path) -> Path:
    sqlpriv.report(folder / "policy.toml", folder / "seen.html")
    return folder / "seen.html"


class Seen:
    """A page, and what it said and asked for while it was open."""

    def __init__(self, opened: Any, file: Path, width: int, scheme: str) -> None:
        self.context = opened.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
        self.page = self.context.new_page()
        self.said: list[str] = []
        self.asked: list[str] = []
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.goto(file.as_uri())
        self.page.wait_for_selector("html[data-drawn=yes]", timeout=20_000)

    def open_all(self) -> None:
        """Unfold all details, and wait until their charts are drawn."""
        self.page.evaluate("document.querySelectorAll('details.detail').forEach((d) => { d.open = true; })")
        wide = "(c) => c.querySelector('svg.marks')?.getBoundingClientRect().width > 50"
        self.page.wait_for_function(f"[...document.querySelectorAll('.chart')].every({wide})")


@pytest.mark.parametrize(("width", "scheme"), WIDTHS)
def test_it_renders_and_nothing_leaves_it(opened: Any, page_file: Path, width: int, scheme: str) -> None:
    seen = Seen(opened, page_file, width, scheme)
    assert seen.said == []
    assert seen.asked == [page_file.as_uri()]
    # Nothing but tables in their own frames is wider than the screen, folded or not.
    assert seen.page.evaluate("document.documentElement.scrollWidth") <= width
    assert not seen.page.locator(".chart").first.is_visible()
    seen.open_all()
    assert seen.page.locator(".chart svg.marks").count() == 4
    assert seen.page.evaluate("document.documentElement.scrollWidth") <= width
    assert seen.page.screenshot()[:4] == b"\x89PNG"
    seen.context.close()


def test_charts_respond(opened: Any, page_file: Path) -> None:
    seen = Seen(opened, page_file, 1280, "light")
    seen.open_all()
    charts = seen.page.locator(".chart")
    of_lattice, of_tradeoff = charts.nth(2), charts.nth(3)
    named = of_lattice.get_by_text("[3,5]", exact=True)
    last = of_tradeoff.locator("path[aria-roledescription=point]").last
    for pointed, told in ((named, "classes"), (last, "loss")):
        pointed.scroll_into_view_if_needed()
        place = pointed.bounding_box()
        seen.page.mouse.move(place["x"] + place["width"] / 2, place["y"] + place["height"] / 2)
        tip = seen.page.locator("#vg-tooltip-element.visible").filter(has_text=told)
        tip.wait_for(timeout=5_000)
        assert "node" in tip.inner_text()
    seen.context.close()


def test_the_first_screen_has_the_answer_the_figures_and_the_signature(opened: Any, page_file: Path) -> None:
    seen = Seen(opened, page_file, 1280, "light")
    assert seen.page.locator(".verdict").bounding_box()["y"] < 200
    for part in (".tiles", ".sign"):
        place = seen.page.locator(part).bounding_box()
        assert place["y"] + place["height"] <= 900
    seen.context.close()


def test_by_keyboard_and_screen_reader(opened: Any, page_file: Path) -> None:
    seen = Seen(opened, page_file, 1280, "light")
    seen.page.keyboard.press("Tab")
    assert seen.page.evaluate("document.activeElement.className") == "skip"
    unnamed = [
        part.evaluate("e => e.outerHTML")
        for part in seen.page.locator("section, .chart, .scroll").all()
        if not (part.get_attribute("aria-label") or part.get_attribute("aria-labelledby"))
    ]
    assert unnamed == []
    assert seen.page.evaluate("document.documentElement.lang") == "en"
    assert seen.page.locator("h1").count() == 1
    field = seen.page.get_by_label("Name")
    field.fill("A. Steward")
    assert field.input_value() == "A. Steward"
    seen.context.close()


def test_on_paper(opened: Any, page_file: Path) -> None:
    seen = Seen(opened, page_file, 1280, "dark")
    seen.page.emulate_media(media="print")
    assert seen.page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    # A4 with its margins, at 96 dots an inch: two pages, and then the appendix.
    seen.page.set_viewport_size({"width": 688, "height": 1017})
    assert seen.page.evaluate("document.querySelector('.appendix').getBoundingClientRect().top") <= 2 * 1017
    assert seen.page.pdf(format="A4")[:4] == b"%PDF"
    seen.context.close()
