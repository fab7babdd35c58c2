"""A release that is there: whether it holds what it says, and its views, of which there may be more or less.

Every method's releases alike; which method made one, its file says.
"""

from __future__ import annotations

from pathlib import Path

from sqlpriv.core.arguments import checked
from sqlpriv.core.errors import ReleaseError
from sqlpriv.core.facts import Facts
from sqlpriv.methods import METHODS
from sqlpriv.methods.method import AnyMethod
from sqlpriv.policy.file import Policy
from sqlpriv.release.change_views import add_to_file, added, drop_from_file
from sqlpriv.release.file import ReleaseFile, readable
from sqlpriv.release.verify import verify_release
from sqlpriv.release.verify_views import check_views
from sqlpriv.release.views import CONFIDENCE, View, without_comments


def judged_file(method: AnyMethod, file: ReleaseFile, policy: Policy | None) -> Facts:
    """What the method says of a file, and whether its views are what they say."""
    return verify_release(method, file, policy, lambda: check_views(method, file, policy))


@checked
def add_view(
    path: str | Path, name: str, question: str, *, confidence: float = CONFIDENCE, replace: bool = False
) -> Facts:
    """Keep a question as a view in a release: any DuckDB client then reads the estimates by its name.

    The release is verified before and with the view, in a copy that takes its place.
    """
    view = View(name, without_comments(question), confidence)
    with readable(Path(path)):
        sql = add_to_file(Path(path), view, _method_and_facts, replace)
    return added(Path(path), view, sql)


@checked
def drop_view(path: str | Path, name: str) -> Facts:
    """Take a view out of a release."""
    with readable(Path(path)):
        drop_from_file(Path(path), name, _method_and_facts)
    return Facts(f"{name} is no longer a view in {Path(path).name}", {"release": Path(path).name, "dropped": name})


def _method_and_facts(file: ReleaseFile) -> tuple[AnyMethod, Facts]:
    method = method_of(file)
    return method, judged_file(method, file, None)


def method_of(file: ReleaseFile) -> AnyMethod:
    """The method that made a release."""
    name = file.about.get("method", "")
    if name not in METHODS:
        raise ReleaseError(f"{file.name} is a release by {name!r}, which this version does not know; upgrade it")
    return METHODS[name]
