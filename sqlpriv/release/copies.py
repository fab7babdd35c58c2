"""A copy of a release beside it while it is changed: only its owner can read it, and it goes with its process.

A process that is killed cannot remove its copy, so the next one that changes or publishes the same release does. The
copy of a process that lives is held by a lock, which dies with the process.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from sqlpriv.release.file import remove_partial

_PREFIX, _SUFFIX = "views-", ".partial"


@contextmanager
def copy_beside(target: Path) -> Iterator[tuple[Path, int]]:
    """An empty file beside a release, with a handle to write it by; gone in the end, unless it was renamed."""
    remove_left_copies(target)
    handle, copy = _held(target)
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
    ours = re.compile(rf"\.{re.escape(target.name)}\.{_PREFIX}[a-z0-9_]{{8}}{re.escape(_SUFFIX)}")
    with suppress(OSError):
        for found in [p for p in target.parent.iterdir() if ours.fullmatch(p.name)]:
            _remove_if_left(found)


def _remove_if_left(copy: Path) -> None:
    with suppress(OSError):
        handle = os.open(copy, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0))
        try:
            if _locked(handle) and _is_at(handle, copy):
                remove_partial(copy)
        finally:
            os.close(handle)


def _held(target: Path) -> tuple[int, Path]:
    """A new file that nobody takes for one that was left: one that was taken before it was locked is made again."""
    while True:
        handle, name = tempfile.mkstemp(prefix=f".{target.name}.{_PREFIX}", suffix=_SUFFIX, dir=target.parent)
        try:
            is_ours = _locked(handle) and _is_at(handle, Path(name))
        except OSError:  # on this file system there are no locks, and nobody removes what is left
            is_ours = True
        if is_ours:
            return handle, Path(name)
        os.close(handle)
        remove_partial(Path(name))


def _is_at(handle: int, path: Path) -> bool:
    """Whether a file is still the one at its place: it may have been renamed or removed before it was locked."""
    try:
        return os.path.samestat(os.fstat(handle), path.lstat())
    except OSError:
        return False


def _locked(handle: int) -> bool:
    """Whether no other process holds the file; this one does from now on. An error where there are no locks."""
    if sys.platform == "win32":
        return True
    import fcntl

    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
