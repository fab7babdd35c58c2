"""Attacks as facts: a sentence each, a table of their numbers, and what was not run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlpriv.attacks.findings import Figure, Finding, NotRun
from sqlpriv.attacks.target import Target
from sqlpriv.core.facts import Facts, Grid, Line, Part, shown_number

OWNER_ONLY = (
    "What attacks find is for you, the owner: with the numbers of the private table it is not for publication. Nothing "
    "was published."
)


def attack_facts(target: Target, found: Sequence[Finding | NotRun]) -> Facts:
    """The facts; they always pass, since an attack reports and does not judge."""
    run = [f for f in found if isinstance(f, Finding)]
    left = [f for f in found if isinstance(f, NotRun)]
    has_raw = any(figure.raw is not None for finding in run for figure in finding.figures)
    content: dict[str, Any] = {
        "attacked": target.name,
        "kind": "release" if target.files else "table",
        "counts": "persons" if target.counts_persons else "rows",
        "beside_private_table": has_raw,
        "attacks": [finding.to_json() for finding in run],
        "not_run": [{"attack": f.attack, "why": f.why} for f in left],
    }
    if target.method is not None:
        content["method"] = target.method.name
    if target.is_owners:
        content["owner_only"] = OWNER_ONLY
    parts: list[Part] = [Line(OWNER_ONLY, "private")] if target.is_owners else []
    parts.append(Line(_counted(target), quiet=True))
    for finding in run:
        parts.append(Line(finding.sentence, finding.attack))
        parts += finding.private
    if run:
        parts.append(_grid(run, has_raw))
    for why in dict.fromkeys(f.why for f in left):
        parts.append(Line(f"{', '.join(f.attack for f in left if f.why == why)}: {why}", "not run"))
    return Facts(f"Attacks on {target.name}", content, tuple(parts))


def _counted(target: Target) -> str:
    if target.counts_persons:
        return "People are counted by their person column."
    return "A row counts as a person."


def _grid(run: Sequence[Finding], has_raw: bool) -> Grid:
    """All numbers, those of the private table in a column of their own."""
    rows, before = [], ""
    for finding in run:
        of = f"{finding.attack}, {finding.about}" if finding.about else finding.attack
        for figure in finding.figures:
            words = f"{finding.case}: {figure.words}" if finding.case else figure.words
            row = (of if of != before else "", words, _shown(figure, figure.value))
            rows.append((*row, _shown(figure, figure.raw)) if has_raw else row)
            before = of
    headings = ("attack", "number", "here") + (("private table",) if has_raw else ())
    return Grid(headings, tuple(rows), "In numbers", folded=("attack", "number"))


def _shown(figure: Figure, value: float | None) -> str:
    if value is None:
        return ""
    return shown_number(value, 3 if figure.is_share else 4)
