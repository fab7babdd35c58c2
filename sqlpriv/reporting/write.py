"""A page as a file, and its charts as pictures."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from sqlpriv.errors import InputError
from sqlpriv.facts import Facts, Line
from sqlpriv.reporting.page import render
from sqlpriv.reporting.sections import Chart, Page

NEEDED = ("altair", "vl_convert")
_MISSING = "reports need altair and vl-convert: pip install 'sqlpriv[report]'"


def can_report() -> bool:
    """Whether what draws the charts is installed."""
    return all(find_spec(name) is not None for name in NEEDED)


def ready() -> None:
    """Refuse a report whose charts could not be drawn: asked before the work."""
    if not can_report():
        raise InputError(_MISSING)


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
    import vl_convert

    folder.mkdir(parents=True, exist_ok=True)
    drawn = []
    for section in page.sections:
        for number, chart in enumerate(c for c in section.pieces if isinstance(c, Chart)):
            spec = {**chart.spec, "width": 800, "background": "white"}
            name = f"{section.name}-{number + 1}.png"
            (folder / name).write_bytes(vl_convert.vegalite_to_png(spec, scale=2))
            drawn.append(name)
    return drawn
