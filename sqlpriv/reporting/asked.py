"""What the policy asks, and what the private table shows before anything is done to it. For the owner."""

from __future__ import annotations

from collections.abc import Iterator

from sqlpriv.checks.run import Job, check
from sqlpriv.facts import Facts, Grid, Line, OnProgress, Part
from sqlpriv.policy.file import Policy
from sqlpriv.reporting.sections import Section
from sqlpriv.table.source import Source

FOUND = "What was found in the private table"


def asked(policy: Policy) -> Section:
    """Roles of columns, requirements and the options of the release."""
    roles = tuple((c.name, c.role, _keys(c.given)) for c in policy.columns)
    chosen = {name: value for name, value in policy.release.items() if name in policy.written}
    pieces: list[Part] = [Grid(("column", "role", "with"), roles, "Columns", folded=("with",))]
    pieces += [Line(r.text, "required") for r in policy.requirements]
    pieces.append(Grid((), tuple((k, str(v)) for k, v in {"method": policy.method, **chosen}.items()), "Release"))
    return Section("asked", "What was asked", tuple(pieces))


def _keys(given: object) -> str:
    return ", ".join(f"{k} = {v}" for k, v in dict(given).items() if v is not None)  # type: ignore[call-overload]


def found(source: Source, policy: Policy, on_progress: OnProgress, show_values: bool) -> Section:
    """Every model on the private table as it is: sizes of the worst classes, and no value of them."""
    facts = examined(source, policy, on_progress, show_values)
    if facts is None:
        return Section("found", FOUND, (Line("No column is a quasi-identifier."),))
    lead = Line(f"The private table as it is, before anything is done to it. {facts.title}.")
    return Section("found", FOUND, (lead, *_told(facts, show_values)))


def examined(source: Source, policy: Policy, on_progress: OnProgress, show_values: bool) -> Facts | None:
    """The check of the table by its quasi-identifiers; None where there are none."""
    if not policy.qis:
        return None
    job = Job((policy.qis,), policy.sensitive, policy.person, show_values=show_values)
    return check(source, job, on_progress).facts()


def _told(facts: Facts, show_values: bool) -> Iterator[Part]:
    for part in facts.shown(show_values):
        if isinstance(part, Line) and "--show-values" in part.text:
            continue
        yield part
