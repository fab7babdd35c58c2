"""A page as a file, and its charts as pictures."""

from __future__ import annotations

from pathlib import Path

from sqlpriv.errors import InputError
from sqlpriv.facts import Facts, Line
from sqlpriv.reporting.page import render
from sqlpriv.reporting.sections import Page
from sqlpriv.showing.charts import Picture, draw


def refuse_target(target: Path) -> None:
    """A page is no table, policy or release: what is called otherwise may be one, and is never written over."""
    if target.suffix.lower() not in {".html", ".htm"}:
        raise InputError(f"a report is written as .html: {target.name!r} may be something else")


def write_page(page: Page, target: Path, pictures: Path | None = None) -> Facts:
    """Write the page, and each of its charts as a PNG where a folder is given for them."""
    refuse_target(target)
    try:
        target.write_text(render(page), encoding="utf-8")
        drawn = [] if pictures is None else _draw(page, pictures)
    except OSError:
        raise InputError(f"cannot write the report {target.name!r}; is its folder there and yours?") from None
    content = {"report": str(target), "passed": page.passed, "verdict": page.verdict, "charts": drawn}
    parts = (Line(page.verdict, {True: "holds", False: "FAILS", None: ""}[page.passed]), Line(page.audience))
    return Facts(f"Wrote {target}", content, parts, passed=page.passed is not False)


def _draw(page: Page, folder: Path) -> list[str]:
    folder.mkdir(parents=True, exist_ok=True)
    drawn = []
    for section in page.sections:
        for number, picture in enumerate(c for c in section.pieces if isinstance(c, Picture)):
            drawn.append(draw(picture, folder / f"{section.name}-{number + 1}.png").name)
    return drawn
