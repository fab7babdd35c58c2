"""Folders for what does not outlive a process: spilled rows, rehearsals, files that are looked at once.

Only their owner can look into them (0700), and nobody else can read the files in them (0600). A default access list
sees to that where the file system has such lists: DuckDB would write them as the umask says. Each is locked while its
process lives, by SQLite's own lock, which the operating system takes from a process that dies. The first folder that a
process makes removes those of dead ones.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import stat
import struct
import tempfile
from contextlib import closing, suppress
from pathlib import Path

PREFIX = "sqlpriv-"
_LOCK = "sqlpriv.lock"
_ATTEMPTS = 3
_ACCESS = "system.posix_acl_default"
# The second version of the list: all rights for the owner, none for the group and for others.
_OWNER_ONLY = struct.pack("<I", 2) + b"".join(
    struct.pack("<HHI", tag, rights, 0xFFFFFFFF) for tag, rights in ((0x01, 7), (0x04, 0), (0x20, 0))
)
_held: dict[str, sqlite3.Connection] = {}
_swept: set[str] = set()


def make_folder() -> str:
    """A locked folder of one's own; whoever makes it removes it. OSError where none can be made."""
    place = tempfile.gettempdir()
    if place not in _swept:
        _swept.add(place)
        remove_left_folders(Path(place))
    for _ in range(_ATTEMPTS):
        folder = tempfile.mkdtemp(prefix=PREFIX)
        if hasattr(os, "setxattr"):
            with suppress(OSError):  # a file system without access lists
                os.setxattr(folder, _ACCESS, _OWNER_ONLY)
        try:
            _held[folder] = hold_lock(Path(folder) / _LOCK)
        except sqlite3.Error:  # another process took it for one that was left before it was locked
            shutil.rmtree(folder, ignore_errors=True)
            continue
        return folder
    raise OSError


def remove_folder(folder: str) -> None:
    """Remove it, with all that is in it."""
    shutil.rmtree(folder, ignore_errors=True)
    if (lock := _held.pop(folder, None)) is not None:
        lock.close()


def hold_lock(file: Path) -> sqlite3.Connection:
    """SQLite's own lock of a file, held while the connection is open; sqlite3.Error where another process holds it."""
    con = sqlite3.connect(file, timeout=0, isolation_level=None, check_same_thread=False)
    try:
        con.execute("BEGIN EXCLUSIVE")
    except sqlite3.Error:
        con.close()
        raise
    return con


def remove_left_folders(place: Path) -> None:
    """Folders of ours whose lock nobody holds. One that was made just now, and is not locked yet, has no lock file."""
    for folder in place.glob(f"{PREFIX}*"):
        try:
            status = folder.lstat()
            if not stat.S_ISDIR(status.st_mode) or is_of_others(status) or not (folder / _LOCK).is_file():
                continue
            with closing(hold_lock(folder / _LOCK)):
                shutil.rmtree(folder, ignore_errors=True)
        except (OSError, sqlite3.Error):  # it is gone, or in use
            continue


def is_of_others(status: os.stat_result) -> bool:
    """Whether a file belongs to somebody else. Files without owners (Windows) do not."""
    return hasattr(os, "geteuid") and status.st_uid != os.geteuid()
