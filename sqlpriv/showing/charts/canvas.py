"""What all pictures share: the file, the size, the colours."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlpriv.errors import InputError

if TYPE_CHECKING:
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

# Okabe and Ito's colours, which people with any kind of colour vision can tell apart; yellow is too pale for lines.
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#000000", "#F0E442")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
INK, FAINT, PAPER = "#222222", "#8A8A8A", "#FFFFFF"
WIDTH, HEIGHT, DPI = 12.0, 8.0, 100  # 1200 x 800 pixels

_STYLE: dict[Any, Any] = {
    "font.size": 10,
    "text.parse_math": False,  # a column may be called $a$
    "svg.fonttype": "none",  # text stays text: it can be searched, read aloud and tested
    "svg.hashsalt": "sqlpriv",  # the same picture is the same file
    "axes.spines.top": False,
    "axes.spines.right": False,
}


KINDS = ("svg", "png")


def ready(*paths: str | Path) -> None:
    """Refuse pictures that could not be drawn: asked before the work, so that none of it is lost."""
    for target in map(Path, paths):
        if target.suffix.lower().removeprefix(".") not in KINDS:
            raise InputError(f"cannot draw {target.name!r}: pictures are written as .svg or .png")
        if not target.parent.is_dir():
            raise InputError(f"there is no folder for the picture {target.name!r}; make it first")
    if find_spec("matplotlib") is None:  # importing it takes half a second
        raise InputError("pictures need matplotlib: pip install 'sqlpriv[report]'")


def draw(path: str | Path, paint: Callable[[Figure], None], width: float = WIDTH, height: float = HEIGHT) -> Path:
    """Paint a figure (inches) and write it as SVG or PNG, by the suffix of the file."""
    target = Path(path)
    ready(target)
    import matplotlib as mpl
    from matplotlib.figure import Figure

    kind = target.suffix.lower().removeprefix(".")
    # A Figure of its own, without pyplot, never opens a window and leaves the caller's figures alone.
    with mpl.rc_context(_STYLE):
        figure = Figure(figsize=(width, height), facecolor=PAPER, layout="constrained")
        paint(figure)
        try:
            figure.savefig(target, format=kind, dpi=DPI, metadata={"Date": None} if kind == "svg" else None)
        except OSError:
            raise InputError(
                f"cannot write the picture {target.name!r}; is its folder yours, and the disk full?"
            ) from None
    return target


def shown(node: Sequence[int]) -> str:
    """A node as the paper writes it: [5,1,1,0]."""
    return f"[{','.join(str(level) for level in node)}]"


def plain_numbers(axis: Axis) -> None:
    """Ticks of a logarithmic axis as 0.01, 1, 200: powers would be set as mathematics, which is switched off."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_formatter(NullFormatter())
