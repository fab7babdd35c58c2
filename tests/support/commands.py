"""The command line, run in this process."""

from __future__ import annotations

import io
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

import pytest

from sqlpriv.apps.cli.main import main


@dataclass
class Done:
    """How a run ended and what it printed."""

    returncode: int
    stdout: str
    stderr: str


def run(folder: Path, *arguments: str, columns: int = 120, stdin: str = "") -> Done:
    """The command line in this process, because starting Python takes longer than most checks."""
    out, err = io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
        patch.chdir(folder)
        patch.setenv("COLUMNS", str(columns))
        patch.setattr(sys, "stdin", io.StringIO(stdin))
        patch.setattr(sys, "argv", ["sqlpriv", *arguments])
        try:
            main()
            code = 0
        except SystemExit as stopped:
            code = int(stopped.code or 0)
    return Done(code, out.getvalue(), err.getvalue())
