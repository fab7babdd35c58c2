"""The verdict on a plan and on a release: what the method contributes, and what only the private table shows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from sqlpriv.checks.verdict import NO, Evidence, Verdict, judge
from sqlpriv.core.facts import Facts, Line
from sqlpriv.methods.method import AnyMethod, AnyPlan
from sqlpriv.policy.file import Policy
from sqlpriv.release.file import ReleaseFile, open_file
from sqlpriv.table.source import Source


def plan_verdict(plan: AnyPlan, refused: Sequence[str] = ()) -> Verdict:
    """Whether what is planned may go out. What would be refused may not."""
    found = [*plan.evidence(), *plan.private_evidence(), *_owner_evidence(plan.source, plan.policy)]
    return judge([*(Evidence("refused", detail=why) for why in refused), *found])


def file_evidence(
    method: AnyMethod, file: ReleaseFile, policy: Policy | None = None, source: Source | None = None
) -> Iterator[Evidence]:
    """What the verdict on a release is judged by: its file, and the private table where it is open."""
    yield from method.evidence(file, policy)
    if policy is not None and source is not None:
        yield from _owner_evidence(source, policy)


def written_verdict(method: AnyMethod, plan: AnyPlan, path: Path) -> Verdict:
    """The verdict on the file that was made of a plan."""
    with open_file(path) as file:
        found = [*file_evidence(method, file, plan.policy, plan.source), *plan.private_evidence()]
    return judge(found)


def _owner_evidence(source: Source, policy: Policy) -> Iterator[Evidence]:
    """Identifiers that several rows have, where rows are protected: they name people with several rows."""
    if policy.person is None:
        for name in policy.named("identifier"):
            if name in source.columns:
                yield Evidence("repeated_identifier", float(source.sharing(name)), name)


def not_accepted(verdict: Verdict, policy: Policy) -> str:
    """Why a release is refused whose verdict is no; empty where it is another, or the owner accepts it."""
    if verdict.word != NO or policy.accept:
        return ""
    return (
        f"{verdict.sentence}. So it is not published. Mend that, or write in [release] why you accept it: "
        'accept = "...", which the release carries'
    )


def with_verdict(facts: Facts, verdict: Verdict, accept: str = "") -> Facts:
    """The facts with the verdict, for machines and for people; where it is no, with the reason of who accepts it."""
    content = {**facts.content, "verdict": verdict.to_json()}
    parts = verdict.parts()
    if verdict.word == NO and accept:
        content["accept"] = accept
        parts = (*parts, Line(f'the owner says: "{accept}"', "accepted"))
    return replace(facts, content=content, parts=(*parts, *facts.parts))
