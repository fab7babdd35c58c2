"""A release that is there, whichever method made it: opened for queries, shown, verified, its views changed.

Given is the path of its file, which names the method. A view is added or dropped in a copy next to the release, which
is verified and then put in its place.
"""

from __future__ import annotations

import os
import shutil
import stat
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from sqlpriv.core.arguments import checked
from sqlpriv.core.errors import InputError, ReleaseError
from sqlpriv.core.facts import Facts, Line
from sqlpriv.core.sqltext import folded
from sqlpriv.methods import METHODS
from sqlpriv.methods.method import AnyMethod
from sqlpriv.policy.file import Policy
from sqlpriv.publishing.planning import as_policy
from sqlpriv.release.file import ReleaseFile, open_file, readable, refuse_no_file
from sqlpriv.release.open import OpenRelease, open_files
from sqlpriv.release.place import copy_beside, file_state, put_in_place
from sqlpriv.release.show import show_release
from sqlpriv.release.verify import file_checks
from sqlpriv.release.verify_views import check_views
from sqlpriv.release.views import CONFIDENCE, Rewriter, View, declared_views, make_views, put_views, without_comments
from sqlpriv.rewrite.clauses import BUDGET


@checked
def open_release(
    path: str | Path, *more_views: str | Path, public: Mapping[str, Any] | None = None, budget: float = BUDGET
) -> OpenRelease:
    """Open a release file for queries; with more views of the same sequence, they answer together.

    `public` names tables that queries may join: files (Parquet, CSV, JSON), data frames or Arrow tables.
    """
    return open_files(METHODS, [Path(p) for p in (path, *more_views)], public or {}, budget)


@checked
def show(path: str | Path) -> Facts:
    """What a release says of itself: its guarantee as it claims it, columns, domains, what count(*) means."""
    with readable(Path(path)), open_file(Path(path)) as file:
        return show_release(method_of(file), file)


@checked
def verify(path: str | Path, policy: Policy | str | Path | None = None) -> Facts:
    """Judge a release from its file alone; with its policy, also that it holds nothing beyond it."""
    read = None if policy is None else as_policy(policy)
    with readable(Path(path)), open_file(Path(path)) as file:
        method = method_of(file)
        if read is not None and read.method != method.name:
            raise InputError(f"{file.name} is a release by {method.name}, and the policy is for {read.method}")
        return judged_file(method, file, read)


def method_of(file: ReleaseFile) -> AnyMethod:
    """The method that made a release."""
    return file.method_among(METHODS)


def judged_file(method: AnyMethod, file: ReleaseFile, policy: Policy | None) -> Facts:
    """The checks of a file, and of its views where all others hold."""
    checks = list(file_checks(method, file, policy))
    if all(c.passed is not False for c in checks):
        checks += check_views(method, file, policy)
    passed = all(c.passed is not False for c in checks)
    marks = {True: "verified", False: "FAILS", None: "claimed"}
    lines = tuple(Line(c.check + (f" ({c.found})" if c.found else ""), marks[c.passed]) for c in checks)
    content = {
        "release": file.name,
        "method": file.about.get("method"),
        "passed": passed,
        "checks": [asdict(c) for c in checks],
    }
    result = "holds what it says" if passed else "does NOT hold what it says"
    return Facts(f"{file.name}: {result}, as far as the file alone can tell", content, lines, passed=passed)


# -------------------- views


@checked
def add_view(
    path: str | Path, name: str, question: str, *, confidence: float = CONFIDENCE, replace: bool = False
) -> Facts:
    """Keep a question as a view in a release: any DuckDB client then reads the estimates by its name.

    The release is verified before and with the view, in a copy that takes its place.
    """
    view, release = View(name, without_comments(question), confidence), Path(path)
    with readable(release), _changed_copy(release) as copy:
        with open_file(copy) as file:
            method = _verified(file, release.name)
            replaced = _names_like(file, name) if replace else []
            made = make_views(file, Rewriter(method, file), [view], replaced)
        put_views(copy, made, replaced)
    content = {"release": release.name, "view": name, "question": view.question, "confidence": confidence}
    read = Line(f"Any DuckDB client that opens the file reads it: FROM {name}")
    return Facts(f"{name} is a view in {release.name}", {**content, "sql": made[view]}, (read,))


@checked
def drop_view(path: str | Path, name: str) -> Facts:
    """Take a view out of a release."""
    release = Path(path)
    with readable(release), _changed_copy(release) as copy:
        with open_file(copy) as file:
            _verified(file, release.name)
            dropped = _names_like(file, name)
            if not dropped:
                listed = ", ".join(v.name for v in declared_views(file)) or "none"
                raise InputError(f"there is no view {name!r} in {release.name}: there is {listed}")
        put_views(copy, {}, dropped)
    return Facts(f"{name} is no longer a view in {release.name}", {"release": release.name, "dropped": name})


def _names_like(file: ReleaseFile, name: str) -> list[str]:
    """The views of this name, whatever its case."""
    return [v.name for v in declared_views(file) if folded(v.name) == folded(name)]


def _verified(file: ReleaseFile, name: str) -> AnyMethod:
    """Refuse a file that does not hold what it says; its method."""
    method = method_of(file)
    judged = judged_file(method, file, None)
    if not judged.passed:
        failed = "; ".join(f"{c['check']}: {c['found']}" for c in judged.content["checks"] if c["passed"] is False)
        raise ReleaseError(f"{name} does not hold what it says ({failed}), so its views were not changed")
    return method


@contextmanager
def _changed_copy(path: Path) -> Iterator[Path]:
    """A copy of a release, to be changed; it is verified and takes the place of the release, or is removed.

    A link stays a link to the file.
    """
    refuse_no_file(path)
    target = path.resolve()
    state, rights = file_state(target), stat.S_IMODE(target.stat().st_mode)
    with ExitStack() as stack:
        try:
            copy, handle = stack.enter_context(copy_beside(target))
        except OSError:
            raise ReleaseError(f"cannot write in the folder of {target.name}, so its views were not changed") from None
        # Open for reading meanwhile: nobody else writes, and an error names the release and not its copy.
        with os.fdopen(handle, "wb", closefd=sys.platform == "win32") as written, open_file(target):
            if target.with_name(f"{target.name}.wal").exists():
                # What stands in the log would not be verified, and come into the file that takes its place.
                raise ReleaseError(
                    f"{target.name} was changed by hand, and not closed: {target.name}.wal is next to it, so its views "
                    "were not changed; publish the release again"
                )
            with target.open("rb") as read:
                shutil.copyfileobj(read, written)
            written.flush()
            os.fsync(written.fileno())
        yield copy
        with open_file(copy) as file:
            _verified(file, path.name)
        copy.chmod(rights)
        if file_state(target) != state:
            raise ReleaseError(f"{path.name} was changed meanwhile, so its views were not; run it again")
        try:
            put_in_place(copy, copy.with_suffix(".copy"), target, lambda _: None)
        except OSError:
            raise ReleaseError(f"cannot write {path.name} in its folder, so its views were not changed") from None
