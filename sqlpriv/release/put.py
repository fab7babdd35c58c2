"""A finished file put where it belongs, so that nobody ever sees half of it."""

from __future__ import annotations

import errno
import os
import shutil
import stat
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path


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
            _copy_privately(partial, copy)
            reached("copied")
            copy.chmod(stat.S_IMODE(partial.stat().st_mode))
            os.replace(copy, target)
        except OSError:
            _removed(copy)
            raise
    _sync_folder(target.parent)


def _copy_privately(source: Path, copy: Path) -> None:
    copy.unlink(missing_ok=True)
    with source.open("rb") as read, open(os.open(copy, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as written:
        shutil.copyfileobj(read, written)
        written.flush()
        os.fsync(written.fileno())


def _removed(copy: Path) -> None:
    """Where it cannot be removed, the next start does it; what went wrong before is to be said."""
    with suppress(OSError):
        copy.unlink(missing_ok=True)


def _sync_folder(folder: Path) -> None:
    """So that the release is there before its entry says so, also after a loss of power; not everywhere possible."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(handle)
    except OSError:
        pass
    finally:
        os.close(handle)
