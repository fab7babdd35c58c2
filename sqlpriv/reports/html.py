"""A page: sections with sentences, tables and charts, in the order in which they are read; and its HTML.

It becomes one file, with its charts as pictures: no request leaves the file, everything in it is escaped.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from html import escape as escape_html
from importlib.resources import files
from pathlib import Path
from typing import Any

from sqlpriv.core.errors import InputError
from sqlpriv.core.facts import Facts, Grid, Line, Part, html_part, legible, plain
from sqlpriv.display.charts import Picture, draw

# No address may be asked, whatever a page holds; Vega compiles its expressions, which needs 'unsafe-eval'.
_POLICY = "default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval'; style-src 'unsafe-inline'; img-src data:"
_VERDICT = {True: "holds", False: "fails", None: "open"}


@dataclass(frozen=True)
class Code:
    """Text to copy, as it is."""

    text: str


@dataclass(frozen=True)
class Signature:
    """Places to fill in, by hand or by keyboard."""

    places: tuple[str, ...]


Piece = Part | Picture | Code | Signature


@dataclass(frozen=True)
class Section:
    """A part of the page: its anchor, its heading, and what stands in it."""

    name: str
    title: str
    pieces: tuple[Piece, ...]


@dataclass(frozen=True)
class Page:
    """All of it. `passed` is None where nothing was judged."""

    title: str
    verdict: str
    passed: bool | None
    audience: str
    """Who may read it."""
    sections: tuple[Section, ...]


def escape(text: str) -> str:
    """A text as it may stand in a page, whoever wrote it."""
    return escape_html(legible(text))


def render(page: Page) -> str:
    """The HTML of a page."""
    has_pictures = any(isinstance(piece, Picture) for section in page.sections for piece in section.pieces)
    body = "\n".join(_section(section) for section in page.sections)
    contents = "".join(f'<li><a href="#{s.name}">{escape(s.title)}</a></li>' for s in page.sections)
    scripts = f"<script>{_vega()}</script>\n<script>{_own('page.js')}</script>" if has_pictures else ""
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{_POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{escape(page.title)}</title>
<style>{_own("page.css")}</style>
</head>
<body>
<a class="skip" href="#{page.sections[0].name}">To the report</a>
<header>
<h1>{escape(page.title)}</h1>
<p class="verdict {_VERDICT[page.passed]}" role="status">{escape(page.verdict)}</p>
<p class="audience">{escape(page.audience)}</p>
<nav aria-label="Contents"><ol>{contents}</ol></nav>
</header>
<main>
{body}
</main>
{scripts}
</body>
</html>
"""


def _section(section: Section) -> str:
    inside = "\n".join(_piece(piece, f"{section.name}-{i}") for i, piece in enumerate(section.pieces))
    heading = f'<h2 id="{section.name}-title">{escape(section.title)}</h2>'
    return f'<section id="{section.name}" aria-labelledby="{section.name}-title">{heading}\n{inside}\n</section>'


def _piece(piece: Piece, name: str) -> str:
    if isinstance(piece, Picture):
        return "".join(_picture(piece, name))
    if isinstance(piece, Code):
        return f'<pre tabindex="0"><code>{escape_html(legible(piece.text, breaks=True))}</code></pre>'
    if isinstance(piece, Signature):
        fields = "".join(f'<label>{escape(place)}<input autocomplete="off"></label>' for place in piece.places)
        return f'<div class="sign">{fields}</div>'
    return _part(piece)


def _part(part: Part) -> str:
    if isinstance(part, Grid):
        # A wide table scrolls by itself on a phone, also by the keyboard.
        named = escape(part.title or part.caption or "table")
        return f'<div class="scroll" tabindex="0" role="region" aria-label="{named}">{html_part(part)}</div>'
    return html_part(part)


def _picture(picture: Picture, name: str) -> Iterator[str]:
    yield f"<figure><figcaption>{escape(picture.title)}</figcaption>"
    yield f'<div class="chart" id="{name}" role="img" tabindex="0" aria-label="{escape(picture.description)}"></div>'
    yield f'<script type="application/json" data-chart="{name}">{_json(picture.spec())}</script>'
    yield f"<p>{escape(picture.description)}</p>"
    yield f"<details><summary>The same in numbers</summary>{_part(picture.numbers)}</details></figure>"


def _json(value: object) -> str:
    """JSON that cannot end the element it stands in."""
    return json.dumps(plain(value), ensure_ascii=True, default=str).replace("<", "\\u003c")


@lru_cache(maxsize=1)
def _vega() -> str:
    """Vega, Vega-Lite and what embeds them, in one script."""
    import vl_convert

    bundle: Any = vl_convert.javascript_bundle  # its stub asks for what it does not need
    return str(bundle()).replace("</script", "<\\/script")


def _own(name: str) -> str:
    return (files("sqlpriv.reports") / name).read_text(encoding="utf-8")


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
