"""The policy of a dbt model: its sections stand in the model's meta, the role of each column in the column's."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sqlpriv.core.errors import PolicyError
from sqlpriv.core.sqltext import folded
from sqlpriv.methods import METHODS
from sqlpriv.policy.file import Policy, policy_of

RELEASES = "releases"
"""The folder of the project that releases go into where the policy names no output."""
KEY_FILE, ON_CHANGE, KEEP = "key_file", "on_change", "keep"
_OF_DBT = (KEY_FILE, ON_CHANGE)
"""The keys next to the sections of a policy."""
_NUMBER = re.compile(r"[+-]?\d+(\.\d*)?[eE][+-]?\d+")
"""What YAML reads as text, and everybody writes as a number: 1e-6."""
_FROM_DBT = ("table", "columns")
"""Sections of a policy that dbt has elsewhere: the model itself, and the meta of its columns."""


def model_policy(name: str, given: Any, columns: Mapping[str, Any], found: Sequence[str], folder: Path) -> Policy:
    """The policy of the model `name`, whose query has the columns `found`. File names start at `folder`."""
    sections = _sections(name, given)
    _refuse_without_role(name, columns, found)
    release = sections["release"]
    content = {
        **sections,
        "table": {"source": name},
        "columns": {column: meta for column, meta in columns.items() if meta is not None},
        "release": {**release, "output": release.get("output", default_output(name))},
    }
    return policy_of(content, folder, METHODS, f"the model {name!r}")


def default_output(name: str) -> str:
    """Where the release of a model goes if its policy names no output."""
    return f"{RELEASES}/{name}.duckdb"


def key_file(name: str, given: Mapping[str, Any], policy: Policy, folder: Path) -> Path | None:
    """The file of the key, where the model names one; it is no part of the policy, and never published.

    A model is built again and again. Without a key the noise would differ each time: refused by the ledger, or spent
    from its budget, for rows that did not change.
    """
    named = given.get(KEY_FILE)
    if named is None and METHODS[policy.method].draws:
        raise PolicyError(
            f"the model {name!r} is released by {policy.method}, which randomizes, and without a key the next build "
            "could not give the same release; name a file next to release, as in meta: {sqlpriv: {key_file: key, "
            "...}}, made by `openssl rand -hex 32`, and keep it secret"
        )
    return None if named is None else folder / str(named)


def _sections(name: str, given: Any) -> dict[str, Any]:
    if not isinstance(given, dict) or not isinstance(given.get("release"), dict):
        raise PolicyError(
            f"the model {name!r} says nothing of how to release it; write in its config, as in "
            "meta: {sqlpriv: {release: {method: generalize}, require: {k: 5}}}"
        )
    wrong = [section for section in _FROM_DBT if section in given]
    if wrong:
        raise PolicyError(
            f"the model {name!r} has {wrong[0]!r} in meta.sqlpriv; the table is the model itself, and a column says "
            "its role in its own meta: {sqlpriv: {role: ...}}"
        )
    inside = [name for name in _OF_DBT if name in given["release"]]
    if inside:
        raise PolicyError(
            f"the model {name!r} has {inside[0]!r} inside release; write it next to release, as in "
            f"meta: {{sqlpriv: {{release: {{...}}, {inside[0]}: ...}}}}"
        )
    return {section: _numbers(content) for section, content in given.items() if section not in _OF_DBT}


def keeps_on_change(name: str, given: Any) -> bool:
    """Whether the release that there is stays where the rows changed and there may be no second one."""
    word = given.get(ON_CHANGE) if isinstance(given, Mapping) else None
    if word not in {None, KEEP}:
        raise PolicyError(f"the model {name!r} has on_change: {word!r}; there is on_change: keep, or leave it out")
    return word == KEEP


def _numbers(content: Any) -> Any:
    """A section with its numbers as numbers."""
    if isinstance(content, str) and _NUMBER.fullmatch(content):
        return float(content)
    return {key: _numbers(value) for key, value in content.items()} if isinstance(content, Mapping) else content


def _refuse_without_role(name: str, columns: Mapping[str, Any], found: Sequence[str]) -> None:
    """A column without a role would be a guess, and a wrong guess a breach."""
    known = {folded(column) for column, meta in columns.items() if isinstance(meta, dict) and "role" in meta}
    missing = [column for column in found if folded(column) not in known]
    if missing:
        raise PolicyError(
            f"the model {name!r} does not say what {', '.join(map(repr, missing))} may reveal: give each column a "
            "role, as in columns: [{name: zip, config: {meta: {sqlpriv: {role: quasi-identifier, hierarchy: "
            "'mask:5'}}}}]; role: drop leaves it out"
        )
