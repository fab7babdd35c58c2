"""Clients of DuckDB that know nothing of Python."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest


def command_line() -> str | None:
    """The command line of DuckDB 1.5.6 from PyPI, in the environment of the tests."""
    return shutil.which("duckdb", path=str(Path(sys.executable).parent))


needs_command_line = pytest.mark.skipif(
    command_line() is None, reason="duckdb-cli is not installed in this environment"
)
