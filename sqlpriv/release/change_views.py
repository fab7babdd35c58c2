"""A view more or less in a release that is there: a copy beside it is changed, verified, and put in its place."""

from __future__ import annotations

import os
import shutil
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TypeVar

from sqlpriv.core.errors import InputError, ReleaseError
from sqlpriv.core.facts import Facts, Line
from sqlpriv.core.sqltext import folded
from sqlpriv.release.copies import copy_beside
from sqlpriv.release.file import ReleaseFile, open_file, refuse_no_file
from sqlpriv.release.open import Opens
from sqlpriv.release.put import put_in_place
from sqlpriv.release.views import Rewriter, View, make_views, put_views, stated_views

Method = TypeVar("Method", bound=Opens)
Judge = Callable[[ReleaseFile], tuple[Method, Facts]]
"""The method of a file, and what verifying it finds."""


def add_to_file(path: Path, view: View, judge: Judge[Method], replace: bool) -> str:
    """Add a view to a release, and return its SQL."""
    made: dict[View, str] = {}

    def change(method: Method, file: ReleaseFile) -> tuple[dict[View, str], list[str]]:
        before = _named(file, view.name) if replace else []
        made.update(make_views(file, Rewriter(method, file), [view], before))
        return made, before

    _changed(path, judge, change)
    return made[view]


def drop_from_file(path: Path, name: str, judge: Judge[Method]) -> None:
    """Take a view out of a release."""

    def change(_: Method, file: ReleaseFile) -> tuple[dict[View, str], list[str]]:
        found = _named(file, name)
        if not found:
            listed = ", ".join(v.name for v in stated_views(file)) or "none"
            raise InputError(f"there is no view {name!r} in {path.name}: there is {listed}")
        return {}, found

    _changed(path, judge, change)


def _named(file: ReleaseFile, name: str) -> list[str]:
    return [v.name for v in stated_views(file) if folded(v.name) == folded(name)]


def _changed(
    path: Path, judge: Judge[Method], change: Callable[[Method, ReleaseFile], tuple[dict[View, str], list[str]]]
) -> None:
    """Put a copy with other views in the place of a release; a link stays a link to the file."""
    refuse_no_file(path)
    target = path.resolve()
    state = target.stat()
    with _copied(target) as copy:
        with open_file(copy) as file:
            method, judged = judge(file)
            _refuse_unverified(path.name, judged)
            made, dropped = change(method, file)
        put_views(copy, made, dropped)
        with open_file(copy) as file:
            _refuse_unverified(path.name, judge(file)[1])
        copy.chmod(stat.S_IMODE(state.st_mode))
        if _differs(state, target.stat()):
            raise ReleaseError(f"{path.name} was changed meanwhile, so its views were not; run it again")
        try:
            put_in_place(copy, copy.with_suffix(".copy"), target, lambda _: None)
        except OSError:
            raise ReleaseError(f"cannot write {path.name} in its folder, so its views were not changed") from None


def added(path: Path, view: View, sql: str) -> Facts:
    """What was done."""
    content = {"release": path.name, "view": view.name, "question": view.question, "confidence": view.confidence}
    read = Line(f"Any DuckDB client that opens the file reads it: FROM {view.name}")
    return Facts(f"{view.name} is a view in {path.name}", {**content, "sql": sql}, (read,))


@contextmanager
def _copied(target: Path) -> Iterator[Path]:
    """A copy beside it, gone when it is not put in its place."""
    with ExitStack() as stack:
        try:
            copy, handle = stack.enter_context(copy_beside(target))
        except OSError:
            raise ReleaseError(f"cannot write in the folder of {target.name}, so its views were not changed") from None
        # Open for reading meanwhile: nobody else writes, and an error names the release and not its copy.
        with os.fdopen(handle, "wb", closefd=sys.platform == "win32") as written, open_file(target):
            _refuse_unfinished(target)
            with target.open("rb") as read:
                shutil.copyfileobj(read, written)
            written.flush()
            os.fsync(written.fileno())
        yield copy


def _refuse_unfinished(target: Path) -> None:
    """What stands in a log beside a file would not be verified, and come into the file that takes its place."""
    if target.with_name(f"{target.name}.wal").exists():
        raise ReleaseError(
            f"{target.name} was changed by hand, and not closed: {target.name}.wal is beside it, so its views were not "
            "changed; publish the release again"
        )


def _refuse_unverified(name: str, judged: Facts) -> None:
    if not judged.passed:
        failed = "; ".join(f"{c['check']}: {c['found']}" for c in judged.content["checks"] if c["passed"] is False)
        raise ReleaseError(f"{name} does not hold what it says ({failed}), so its views were not changed")


def _differs(before: os.stat_result, now: os.stat_result) -> bool:
    return (before.st_ino, before.st_mtime_ns, before.st_size) != (now.st_ino, now.st_mtime_ns, now.st_size)
