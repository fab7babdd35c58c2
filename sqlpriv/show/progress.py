"""A progress bar on the error stream, for people only."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from sqlpriv.facts import OnProgress

_err = Console(stderr=True, highlight=False)


@contextmanager
def progress(doing: str) -> Iterator[OnProgress]:
    """What to call with the share that is done; None where nobody watches."""
    if not _err.is_terminal:
        yield None
        return
    bar = Progress(TextColumn(doing), BarColumn(), TimeElapsedColumn(), console=_err, transient=True)
    with bar:
        task = bar.add_task(doing, total=1.0)
        yield lambda share: bar.update(task, completed=share)
