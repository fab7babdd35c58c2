"""A picture: what it is called, the same in words and in numbers, and a chart that is made when somebody looks.

Altair and vl-convert are imported then, and not before; both draw without a network.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from html import escape
from importlib.util import find_spec
from pathlib import Path
from textwrap import wrap
from typing import Any

from sqlpriv.core.errors import InputError
from sqlpriv.core.facts import Grid, legible, plain
from sqlpriv.display.charts.marks import HEIGHT, SCALE, WIDTH, Rows, letters, on_any_page, on_paper

KINDS = ("svg", "png", "html", "json")
_NEEDED = ("altair", "vl_convert")


@dataclass(frozen=True)
class Picture:
    """What is drawn into files, into the page to sign, and into notebooks, always by the same chart."""

    title: str
    description: str
    """What is to be seen in it, for who cannot see it; it stands below the title, too."""
    rows: Rows = field(repr=False)
    """The same in numbers."""
    paint: Callable[[], Any] = field(repr=False)
    """Makes the Altair chart, without a title."""
    width: int = WIDTH
    elastic: bool = True
    """Whether a page may make it wider or narrower: several panels, or boxes with text in them, keep their size."""

    @property
    def numbers(self) -> Grid:
        """The same as a table."""
        headings = tuple(self.rows[0]) if self.rows else ()
        return Grid(headings, tuple(tuple(row.values()) for row in self.rows))

    def spec(self) -> dict[str, Any]:
        """The chart as Vega-Lite, for a page that has titles and colours of its own."""
        made = self._made()
        made.pop("config", None)
        return made | ({"width": "container"} if self.elastic else {})

    def inline_svg(self) -> str:
        """The picture as a part of an HTML page, light or dark; nothing where the extra is not installed."""
        if not can_draw():
            return ""
        import vl_convert

        said = escape(legible(f"{self.title}. {self.description}"), quote=True)
        opening = f'<svg role="img" aria-label="{said}" style="max-width: 100%; height: auto; overflow: visible" '
        drawn = str(vl_convert.vegalite_to_svg(self._whole(on_any_page()), allowed_base_urls=[]))
        return drawn.replace("<svg ", opening, 1)

    def written(self, kind: str) -> bytes:
        """The picture as a file of this kind."""
        import vl_convert

        spec = self._whole(on_paper())
        if kind == "png":
            return bytes(vl_convert.vegalite_to_png(spec, scale=SCALE, allowed_base_urls=[]))
        if kind == "html":
            # Vega's menu would offer an editor elsewhere, and take the numbers there.
            menu = {"actions": {"export": True, "source": False, "compiled": False, "editor": False}}
            return str(vl_convert.vegalite_to_html(spec | {"usermeta": {"embedOptions": menu}}, bundle=True)).encode()
        if kind == "json":
            return json.dumps(spec, indent=2).encode()
        return str(vl_convert.vegalite_to_svg(spec, allowed_base_urls=[])).encode()

    def _whole(self, look: dict[str, Any]) -> dict[str, Any]:
        lines = wrap(legible(self.description), letters(self.width))
        titled = {"title": {"text": legible(self.title), "subtitle": lines}, "config": look}
        return self._made() | titled

    def _made(self) -> dict[str, Any]:
        made: dict[str, Any] = plain(self.paint().to_dict())
        return {"width": self.width, "height": HEIGHT, **made} if self.elastic else made


def can_draw() -> bool:
    """Whether what draws pictures is installed: asked without importing it, which takes a second."""
    return all(find_spec(name) is not None for name in _NEEDED)


def if_any(picture: Callable[..., Picture], *given: Any) -> tuple[Picture, ...]:
    """The picture, where there is something to draw: for facts, which are no worse without."""
    try:
        return (picture(*given),)
    except InputError:
        return ()


def ready(*paths: str | Path) -> None:
    """Refuse pictures that could not be drawn: asked before the work, so that none of it is lost."""
    for target in map(Path, paths):
        if _kind(target) not in KINDS:
            endings = ", ".join(f".{kind}" for kind in KINDS[:-1])
            raise InputError(f"cannot draw {target.name!r}: pictures are written as {endings} or .{KINDS[-1]}")
        if not target.parent.is_dir():
            raise InputError(f"there is no folder for the picture {target.name!r}; make it first")
    if not can_draw():
        raise InputError("pictures need altair and vl-convert: pip install 'sqlpriv[report]'")


def draw(picture: Picture, path: str | Path) -> Path:
    """Write a picture, by the ending of the file."""
    target = Path(path)
    ready(target)
    made = picture.written(_kind(target))
    try:
        target.write_bytes(made)
    except OSError:
        raise InputError(f"cannot write the picture {target.name!r}; is its folder yours, and the disk full?") from None
    return target


def _kind(target: Path) -> str:
    return target.suffix.lower().removeprefix(".")
