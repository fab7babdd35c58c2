"""What a release says of itself, in sentences that are made from its numbers while it is read.

A method gives its own part as `Wording`; what all releases have in common is said here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from sqlpriv.core.facts import Facts, Grid, Line, Part
from sqlpriv.macros.calls import Calls
from sqlpriv.release.file import ReleaseFile
from sqlpriv.release.layout import TOGETHER
from sqlpriv.release.ledger.spent import posteriors, read_together, total_parts
from sqlpriv.release.requirements import described_requirements
from sqlpriv.release.stamp import declared_policy, stamped_line
from sqlpriv.release.views import with_views

_REASONS = {
    "uncovered": "Why it was published although an attacker is not covered",
    "coexists_because": "Why it may coexist with other releases of the table",
    "node_is_public": "Why the levels do not depend on the table",
    "accept": "Why it was accepted",
}


@dataclass(frozen=True)
class Wording:
    """What a method says of one of its releases, in words and as data."""

    guarantee: str = ""
    """What is promised, in a few sentences."""
    details: tuple[str, ...] = ()
    """What belongs to the promise, a sentence each."""
    warnings: tuple[str, ...] = ()
    before_columns: tuple[Part, ...] = ()
    after_columns: tuple[Part, ...] = ()
    content: Mapping[str, Any] = field(default_factory=dict)
    """What it adds to the JSON, or has there in the place of what all have."""


class Described(Protocol):
    """What showing a release needs to know of a method."""

    def wording(self, file: ReleaseFile) -> Wording:
        """What one of its releases says."""


def show_release(method: Described, file: ReleaseFile) -> Facts:
    """What a release says of itself: claims, that is, until it is verified."""
    words, columns, requirements = method.wording(file), file.attributes, described_requirements(file)
    public = sorted(table for schema, table in file.tables if schema == "public")
    content: dict[str, Any] = {
        **file.about,
        **file.reasons,
        "policy": declared_policy(file),
        **({"guarantee": words.guarantee, "details": list(words.details)} if words.guarantee else {}),
        "parameters": file.parameters,
        "columns": columns,
        "requirements": requirements,
        "public": public,
        "digests": {str(r["name"]): str(r["digest"]) for r in file.rows("digests")},
        "warnings": list(words.warnings),
        **words.content,
    }
    parts: list[Part] = [Line(words.guarantee, "claimed")] if words.guarantee else []
    parts += [Line(f"- {text}", quiet=True) for text in words.details]
    parts += [Line(f"{r['requirement']}: {r['guarantee']}", "claimed") for r in requirements]
    parts += words.before_columns
    parts += [Line(f'{_REASONS[name]}, in the owner\'s words: "{text}"') for name, text in file.reasons.items()]
    parts += [_columns(content["columns"]), *words.after_columns]
    parts += [Line(f"public tables: {', '.join(public)}")] if public else []
    parts += [stamped_line(file), Line(f"Whether it holds: sqlpriv verify {file.name}")]
    facts = Facts(f"{file.name}  {file.about['method']}", content, tuple(parts), words.warnings)
    return with_views(_with_together(facts, file), file)


def _columns(columns: list[dict[str, Any]]) -> Grid:
    names = [n for n in (columns[0] if columns else {}) if n != "position"]
    return Grid(tuple(names), tuple(tuple(c[n] for n in names) for c in columns))


def _with_together(facts: Facts, file: ReleaseFile) -> Facts:
    """With what it and the releases before it let one believe together."""
    total = read_together(file.about[TOGETHER]) if TOGETHER in file.about else None
    if total is None:
        return facts
    calls = Calls(file.con)
    content = {**facts.content, TOGETHER: {**total.to_json(), "posteriors": posteriors(calls, total)}}
    return Facts(facts.title, content, (*facts.parts, *total_parts(calls, total)), facts.warnings)
