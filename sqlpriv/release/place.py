"""Files of releases on their way: copies that do not outlive their use, and the last rename.

A finished file is put where it belongs by a rename, so that nobody ever sees half of it. A copy of a release next to
it, while it is changed, can only be read by its owner. It is removed at the end, whatever happens; what a process
leaves that is killed, the next one removes. It knows the files of a process that lives by their lock, which the
operating system takes from a process that dies.
"""

from __future__ import annotations

import errno
import os
import re
import shutil
import stat
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_COPY, _PARTIAL = "views-", ".partial"


def remove_partial(partial: Path) -> None:
    """Remove a release that is not finished, with what DuckDB keeps next to it."""
    for path in (partial, partial.with_name(partial.name + ".wal")):
        path.unlink(missing_ok=True)


def file_state(path: Path) -> tuple[int, int, int]:
    """Which file is there: it is another once the file was replaced or changed."""
    found = path.stat()
    return found.st_ino, found.st_mtime_ns, found.st_size


def put_in_place(partial: Path, copy: Path, target: Path, reached: Callable[[str], None]) -> None:
    """By a rename. To another file system it is copied first, to a name and with rights that nobody else looks at.

    The rename is the last that can fail: an error says that the release is not in its place.
    """
    try:
        os.replace(partial, target)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        try:
            copy.unlink(missing_ok=True)
            flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY
            with partial.open("rb") as read, open(os.open(copy, flags, 0o600), "wb") as written:
                shutil.copyfileobj(read, written)
                written.flush()
                os.fsync(written.fileno())
            reached("copied")
            copy.chmod(stat.S_IMODE(partial.stat().st_mode))
            os.replace(copy, target)
        except OSError:
            with suppress(OSError):  # where it cannot be removed, the next start does it
                copy.unlink(missing_ok=True)
            raise
    # So that the release is there before its entry says so, also after a loss of power; not everywhere possible.
    with suppress(OSError):
        folder = os.open(target.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


# -------------------- a copy next to a release


@contextmanager
def copy_beside(target: Path) -> Iterator[tuple[Path, int]]:
    """An empty file next to a release, with a handle to write it by; gone in the end, unless it was renamed."""
    remove_left_copies(target)
    while True:
        handle, name = tempfile.mkstemp(prefix=f".{target.name}.{_COPY}", suffix=_PARTIAL, dir=target.parent)
        copy = Path(name)
        try:
            is_ours = _locked(handle, copy)
        except OSError:  # on this file system there are no locks, and nobody removes what is left
            is_ours = True
        if is_ours:
            break
        os.close(handle)  # another process took it for one that was left before it was locked: make it again
        remove_partial(copy)
    try:
        yield copy, handle
    finally:
        remove_partial(copy)
        with suppress(OSError):  # closed already
            os.close(handle)


def remove_left_copies(target: Path) -> None:
    """Remove the copies of processes that died. What cannot be removed stays: it holds nothing but what is public."""
    if sys.platform == "win32":
        return
    ours = re.compile(rf"\.{re.escape(target.name)}\.{_COPY}[a-z0-9_]{{8}}{re.escape(_PARTIAL)}")
    with suppress(OSError):
        for copy in [p for p in target.parent.iterdir() if ours.fullmatch(p.name)]:
            with suppress(OSError):
                handle = os.open(copy, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0))
                try:
                    if _locked(handle, copy):
                        remove_partial(copy)
                finally:
                    os.close(handle)


def _locked(handle: int, path: Path) -> bool:
    """Whether no other process holds the file; this one does from now on. An error where there are no locks.

    It may have been renamed or removed before it was locked: then it is not ours, either.
    """
    if sys.platform != "win32":
        import fcntl

        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
    try:
        return os.path.samestat(os.fstat(handle), path.lstat())
    except OSError:
        return False
