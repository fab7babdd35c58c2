"""A scratch folder for releases that never leave it: only its owner can look into it, and it does not outlive its use.

It is removed at the end, whatever happens. What a process leaves that is killed, the next one removes: each folder has
a lock, SQLite's own, which the operating system takes from a process that dies.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import stat
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from sqlpriv.core.errors import InputError

_PREFIX = "sqlpriv-scratch-"
_LOCK = "lock"


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """A folder of one's own; those of dead processes are removed first."""
    _remove_leftovers()
    try:
        folder = Path(tempfile.mkdtemp(prefix=_PREFIX))
    except OSError:
        raise InputError("there is no folder for temporary files; set TMPDIR to one that can be written") from None
    try:
        with closing(_own_lock(folder)):
            yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _own_lock(folder: Path) -> sqlite3.Connection:
    try:
        return _locked(folder)
    except sqlite3.Error:
        raise InputError("the folder for temporary files cannot be used; set TMPDIR to another") from None


def _locked(folder: Path) -> sqlite3.Connection:
    con = sqlite3.connect(folder / _LOCK, timeout=0, isolation_level=None)
    try:
        con.execute("BEGIN EXCLUSIVE")
    except sqlite3.Error:
        con.close()
        raise
    return con


def _remove_leftovers() -> None:
    """Folders of ours whose lock nobody holds. One that was made just now, and is not locked yet, has no lock file."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        try:
            status = folder.lstat()
            if not stat.S_ISDIR(status.st_mode) or _is_of_others(status) or not (folder / _LOCK).is_file():
                continue
            with closing(_locked(folder)):
                shutil.rmtree(folder, ignore_errors=True)
        except (OSError, sqlite3.Error):  # it is gone, or in use
            continue


def _is_of_others(status: os.stat_result) -> bool:
    return hasattr(os, "geteuid") and status.st_uid != os.geteuid()
