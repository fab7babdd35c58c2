"""A page: what is read at once, what is folded below it, and its HTML.

It becomes one file, with its charts as pictures: no request leaves the file, everything in it is escaped. Bars are
plain HTML, so that they print, fit a phone, and need no script.
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
HOLDS, FAILS, OPEN = "holds", "fails", "open"
"""What the colour of a verdict says."""


@dataclass(frozen=True)
class Code:
    """Text to copy, as it is."""

    text: str


@dataclass(frozen=True)
class Signature:
    """Places to fill in, by hand or by keyboard."""

    places: tuple[str, ...]


@dataclass(frozen=True)
class Tile:
    """A figure that is read at once, beside what it was before the release, and a few words."""

    name: str
    value: str
    before: str = ""
    note: str = ""


@dataclass(frozen=True)
class Tiles:
    """Figures side by side."""

    tiles: tuple[Tile, ...]


@dataclass(frozen=True)
class Bar:
    """A share of 1, or of the longest bar, with the number next to it."""

    name: str
    share: float
    shown: str
    kind: str
    """Whose it is: blind, before or after. It decides the colour."""


@dataclass(frozen=True)
class Bars:
    """Bars that are compared with each other, under what they are about."""

    title: str
    bars: tuple[Bar, ...]
    note: str = ""


@dataclass(frozen=True)
class Cards:
    """A table that becomes a list of cards where there is no room for it."""

    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    title: str


@dataclass(frozen=True)
class Listed:
    """Sentences, each with a dot."""

    items: tuple[str, ...]


Piece = Part | Picture | Code | Signature | Tiles | Bars | Cards | Listed


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
    """The answer in one sentence."""
    kind: str
    passed: bool | None
    audience: str
    """Who may read it."""
    first: tuple[Piece, ...]
    """What stands on the first screen, below the answer."""
    sections: tuple[Section, ...]
    appendix: tuple[Section, ...]
    """Details: folded on a screen, printed behind the rest."""
    accepted: str = ""
    """Why it is published although the answer is no, in the owner's words: it stands before everything else."""
    answer: Any = None
    """The verdict as JSON has it."""

    @property
    def parts(self) -> tuple[Section, ...]:
        """All sections, the appendix included."""
        return (*self.sections, *self.appendix)


def escape(text: str) -> str:
    """A text as it may stand in a page, whoever wrote it."""
    return escape_html(legible(text))


def render(page: Page) -> str:
    """The HTML of a page."""
    has_pictures = any(isinstance(piece, Picture) for section in page.parts for piece in section.pieces)
    first = "\n".join(_piece(piece, f"first-{i}") for i, piece in enumerate(page.first))
    body = "\n".join(_section(section) for section in page.sections)
    appendix = "\n".join(_folded(section) for section in page.appendix)
    accepted = (
        f'<p class="accepted">Published although the answer is no, since the owner says: “{escape(page.accepted)}”</p>'
        if page.accepted
        else ""
    )
    vega = f"<script>{_vega()}</script>\n" if has_pictures else ""
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
<a class="skip" href="#{page.parts[0].name}">To the details</a>
<header>
{accepted}
<h1>{escape(page.title)}</h1>
<p class="verdict {page.kind}" role="status">{escape(page.verdict)}</p>
{first}
<p class="audience">{escape(page.audience)}</p>
</header>
<main>
{body}
<div class="appendix"><h2>Appendix: details</h2>
{appendix}
</div>
</main>
{vega}<script>{_own("page.js")}</script>
</body>
</html>
"""


def _section(section: Section) -> str:
    heading = f'<h2 id="{section.name}-title">{escape(section.title)}</h2>'
    return (
        f'<section id="{section.name}" aria-labelledby="{section.name}-title">{heading}\n{_inside(section)}\n</section>'
    )


def _folded(section: Section) -> str:
    heading = f'<summary><h3 id="{section.name}-title">{escape(section.title)}</h3></summary>'
    return (
        f'<section id="{section.name}" aria-labelledby="{section.name}-title"><details class="detail">{heading}\n'
        f"{_inside(section)}\n</details></section>"
    )


def _inside(section: Section) -> str:
    return "\n".join(_piece(piece, f"{section.name}-{i}") for i, piece in enumerate(section.pieces))


def _piece(piece: Piece, name: str) -> str:
    match piece:
        case Picture():
            return "".join(_picture(piece, name))
        case Code():
            return f'<pre tabindex="0"><code>{escape_html(legible(piece.text, breaks=True))}</code></pre>'
        case Signature():
            fields = "".join(f'<label>{escape(place)}<input autocomplete="off"></label>' for place in piece.places)
            return f'<div class="sign">{fields}</div>'
        case Tiles():
            return f'<dl class="tiles">{"".join(map(_tile, piece.tiles))}</dl>'
        case Bars():
            return "".join(_bars(piece))
        case Cards():
            return "".join(_cards(piece))
        case Listed():
            return f"<ul>{''.join(f'<li>{escape(item)}</li>' for item in piece.items)}</ul>"
        case _:
            return _part(piece)


def _tile(tile: Tile) -> str:
    before = f'<span class="was">{escape(tile.before)} → </span>' if tile.before else ""
    return (
        f"<div><dt>{escape(tile.name)}</dt><dd><strong>{before}{escape(tile.value)}</strong>"
        f"<span>{escape(tile.note)}</span></dd></div>"
    )


def _bars(bars: Bars) -> Iterator[str]:
    yield f'<figure class="bars"><figcaption>{escape(bars.title)}</figcaption>'
    for bar in bars.bars:
        width = f"{100 * min(max(bar.share, 0.004), 1.0):.1f}"
        yield (
            f'<div class="bar {bar.kind}"><span>{escape(bar.name)}</span><svg viewBox="0 0 100 6" '
            f'preserveAspectRatio="none" aria-hidden="true"><rect width="{width}" height="6"/></svg>'
            f"<b>{escape(bar.shown)}</b></div>"
        )
    yield f"<p>{escape(bars.note)}</p></figure>" if bars.note else "</figure>"


def _cards(cards: Cards) -> Iterator[str]:
    yield f'<table class="cards"><caption>{escape(cards.title)}</caption><thead><tr>'
    yield "".join(f'<th scope="col">{escape(heading)}</th>' for heading in cards.headings)
    yield "</tr></thead><tbody>"
    for row in cards.rows:
        named = zip(cards.headings, row, strict=True)
        cells = "".join('<td data-label="' + f'{escape(heading)}">{escape(text)}</td>' for heading, text in named)
        yield f"<tr>{cells}</tr>"
    yield "</tbody></table>"


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
    figures = [t for piece in page.first if isinstance(piece, Tiles) for t in piece.tiles]
    content = {
        "report": str(target),
        "passed": page.passed,
        "answer": page.verdict,
        "verdict": page.answer,
        "figures": [vars(tile) for tile in figures],
        "charts": drawn,
    }
    if page.accepted:
        content["accept"] = page.accepted
    parts = (Line(page.verdict, {True: "holds", False: "FAILS", None: ""}[page.passed]), Line(page.audience))
    return Facts(f"Wrote {target}", content, parts, passed=page.passed is not False)


def _draw(page: Page, folder: Path) -> list[str]:
    folder.mkdir(parents=True, exist_ok=True)
    drawn = []
    for section in page.parts:
        for number, picture in enumerate(c for c in section.pieces if isinstance(c, Picture)):
            drawn.append(draw(picture, folder / f"{section.name}-{number + 1}.png").name)
    return drawn
