"""A progress bar on the error stream, for people only."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from sqlpriv.core.facts import OnProgress


@contextmanager
def progress(doing: str) -> Iterator[OnProgress]:
    """What to call with the share that is done; None where nobody watches."""
    if not sys.stderr.isatty():
        yield None
        return
    # Where nobody watches nobody waits for these.
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    console = Console(stderr=True, highlight=False)
    bar = Progress(TextColumn(doing), BarColumn(), TimeElapsedColumn(), console=console, transient=True)
    with bar:
        task = bar.add_task(doing, total=1.0)
        yield lambda share: bar.update(task, completed=share)
