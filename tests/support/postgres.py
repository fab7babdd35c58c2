"""A PostgreSQL server of a test's own, from a wheel."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def postgres() -> Iterator[str]:
    """The address of a server without tables.

    Its files are in no folder of pytest's: for root the server runs as another user, who must get there, and every
    pytest that starts closes the folder of all of them again.
    """
    pgserver = pytest.importorskip("pgserver", reason="no PostgreSQL server for this Python")
    folder = Path(tempfile.mkdtemp(prefix="sqlpriv-postgres-"))
    try:
        server = pgserver.get_server(folder / "data")
        try:
            yield server.get_uri()
        finally:
            server.cleanup()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
