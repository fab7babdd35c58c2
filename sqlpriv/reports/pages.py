"""The pages: of a release alone, of a policy with its private table, and of two releases side by side."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

import duckdb

from sqlpriv import publishing
from sqlpriv.comparison.facts import comparison_facts
from sqlpriv.comparison.run import CompareOptions, compare_methods
from sqlpriv.core.errors import PolicyError, SqlprivError
from sqlpriv.core.facts import Facts, Grid, Line, OnProgress
from sqlpriv.methods import METHODS
from sqlpriv.methods.method import CannotPublish, Request
from sqlpriv.policy.file import Policy
from sqlpriv.release.file import readable
from sqlpriv.reports.html import Code, Page, Section, Signature
from sqlpriv.reports.recheck import recheck_sql
from sqlpriv.reports.sections import (
    FOUND,
    attack_section,
    choice_section,
    claims_among,
    covered,
    guarantee,
    policy_section,
    table_section,
)
from sqlpriv.table.source import Source
from sqlpriv.version import __version__

_OF_RELEASE = "Made from the release alone: it reveals nothing that the release does not."
_FOR_OWNER = "For the owner: this page reveals something of the private table, and does not go out with the release."


_SIGN = Section("sign", "Signed", (Signature(("Name", "Office", "Date", "Signature")),))


@dataclass(frozen=True)
class JudgedRelease:
    """A release: its file, what it says of itself, and what was verified of that."""

    path: Path
    shown: Facts
    judged: Facts

    def verdict(self, what: str = "what it says and what the policy requires") -> str:
        """Whether it holds; what its file cannot show is not passed off as shown."""
        if not self.judged.passed:
            return f"{self.path.name} does NOT hold {what}"
        claims, all_of_them = claims_among(self.shown, self.judged)
        said = f"; {claims} of {all_of_them} requirements are claims that its file cannot show" if claims else ""
        return f"{self.path.name} holds {what}{said}"

    def promised(self) -> tuple[Section, ...]:
        """What is promised, and to whom."""
        with readable(self.path):
            return guarantee(self.shown, self.judged), covered(self.shown)

    def evidence(self, alias: str = "r") -> tuple[Section, ...]:
        """What was checked, and what it takes to check it again."""
        content = self.shown.content
        with readable(self.path):
            numbers = [(name, f"{value:g}") for name, value in (content.get("parameters") or {}).items()]
            sql = recheck_sql(METHODS[content["method"]], self.path.name, content, alias)
        versions = (
            ("release", self.path.name),
            ("published on", str(content.get("date", ""))),
            ("published with", f"sqlpriv {content.get('sqlpriv', '')}"),
            ("reported with", f"sqlpriv {__version__}, DuckDB {duckdb.__version__}"),
            ("digest of its rows", str(content.get("digest", ""))),
            ("SHA-256 of the file", _digest(self.path)),
            *numbers,
        )
        again = (Line("Plain SQL: no Python, and nothing of ours to install."), Code(sql))
        return (
            Section("verified", "What was checked in the file", self.judged.shown()),
            Section("parameters", "Parameters, versions and digests", (Grid((), versions),)),
            _SIGN,
            Section("again", "Check it again in any DuckDB", again),
        )

    def in_texts(self) -> dict[str, str]:
        """What two releases are compared by, by name."""
        content = self.shown.content
        found = {
            "method": content["method"],
            "published on": content.get("date", ""),
            "required": "; ".join(str(r["requirement"]) for r in content.get("requirements") or ()),
            "suppressed rows": str(content.get("suppressed_rows", "")),
            "bytes": f"{self.path.stat().st_size:,}",
        }
        for column in content["columns"]:
            level = f", level {column['level']} of {column['levels']}" if column.get("level") is not None else ""
            found[f"column {column['name']}"] = f"{column.get('role', '')}{level}"
        return found | {name: f"{value:g}" for name, value in (content.get("parameters") or {}).items()}


def _judge(path: Path, policy: Policy | None = None) -> JudgedRelease:
    return JudgedRelease(path, publishing.show(path), publishing.verify(path, policy))


def _digest(path: Path) -> str:
    """Of the whole file, piece by piece: it may be larger than the memory."""
    found = hashlib.sha256()
    with path.open("rb") as file:
        while piece := file.read(1 << 20):
            found.update(piece)
    return found.hexdigest()


def report_release(path: Path) -> Page:
    """The page of a release, from its file alone."""
    release = _judge(path)
    learnt = attack_section(path, None, False, with_chart=False)
    verdict = release.verdict("what it says, as far as its file shows it")
    title = f"{release.shown.content['table']}: a release by {release.shown.content['method']}"
    sections = (*release.promised(), learnt, *release.evidence())
    return Page(title, verdict, release.judged.passed, _OF_RELEASE, sections)


def report_policy(
    policy: Policy,
    release: Path | None = None,
    workload: Path | None = None,
    show_values: bool = False,
    on_progress: OnProgress = None,
) -> Page:
    """The page of a policy: what it asks, what the table shows, what would be or was published."""
    path = release or publishing.target_of(policy, None)
    with publishing.open_private(policy) as (source, spelt):
        before = (policy_section(policy), table_section(source, spelt, show_values))
        try:
            plan = METHODS[policy.method].plan(source, spelt, Request(on_progress=on_progress))
            facts = plan.facts()
            done = (_done(facts, show_values), *_workload(policy, workload), choice_section(plan, on_progress))
        except CannotPublish as refused:
            facts = refused.facts
            done = (_done(facts, show_values),)
        except PolicyError as refused:  # what the table is, or the policy asks, leaves nothing to publish
            facts = Facts("", {}, (Line(str(refused), "REFUSED"),), passed=False)
            done = (_done(facts, show_values),)
    title = f"May {policy.table.name} go out?"
    if path is None or (release is None and not path.exists()):
        open_question, no = "Nothing is published yet: this is what would be", "It may not go out under this policy"
        verdict = open_question if facts.passed else no
        passed = None if facts.passed else False
        return Page(title, verdict, passed, _FOR_OWNER, (*done[:1], *before, *done[1:], _SIGN))
    found = _judge(path, policy)
    learnt = attack_section(path, policy, show_values, with_chart=True)
    sections = (*found.promised(), learnt, *before, *done, *found.evidence())
    return Page(title, found.verdict(), found.judged.passed, _FOR_OWNER, sections)


def report_published(policy: Policy, path: Path, facts: Facts, found_then: Section) -> Page:
    """The page of a release that was just made. What takes longer than publishing it is left to `sqlpriv report`."""
    more = Line(
        "What attackers still learn, and the choice among others as charts, take longer than publishing itself: "
        f"sqlpriv report {path.name} with --policy and the policy writes the page that has them."
    )
    found = _judge(path, policy)
    done = (found_then, _done(facts, False), Section("more", "What is not on this page", (more,)))
    sections = (*found.promised(), policy_section(policy), *done, *found.evidence())
    return Page(f"{policy.table.name}: published", found.verdict(), found.judged.passed, _FOR_OWNER, sections)


def found_while_publishing(source: Source, policy: Policy) -> Section:
    """What the table shows, while it is open: an error here does not undo a release that is out."""
    try:
        return table_section(source, policy, False)
    except SqlprivError as error:
        return Section("found", FOUND, (Line(str(error), "warning"),))


def report_two(one: Path, other: Path) -> Page:
    """Two releases side by side, from their files alone."""
    both = [_judge(one), _judge(other)]
    names = (one.name, other.name)
    first, second = (release.in_texts() for release in both)
    rows = tuple((name, first.get(name, "-"), second.get(name, "-")) for name in {**first, **second})
    compared = Grid(("", *names), rows, "What they say of themselves", folded=names)

    def of_both(parts: list[tuple[Section, ...]]) -> list[Section]:
        return [
            Section(f"{part.name}-{number}", f"{part.title}: {names[number]}", part.pieces)
            for number, own in enumerate(parts)
            for part in own
            if part is not _SIGN
        ]

    passed = all(release.judged.passed for release in both)
    each = [f"{r.path.name} {'holds' if r.judged.passed else 'does NOT hold'} what it says" for r in both]
    sections = (
        Section("difference", "Side by side", (compared,)),
        *of_both([release.promised() for release in both]),
        *of_both([release.evidence(f"r{number + 1}") for number, release in enumerate(both)]),
        _SIGN,
    )
    verdict = "Both hold what they say" if passed else " and ".join(each)
    return Page(f"{names[0]} and {names[1]}", verdict, passed, _OF_RELEASE, sections)


def _done(facts: Facts, show_values: bool) -> Section:
    title = Line(facts.title) if facts.title else Line("")
    warnings = tuple(Line(w, "warning") for w in facts.warnings)
    return Section("done", "What was done", (title, *facts.shown(show_values), *warnings))


def _workload(policy: Policy, workload: Path | None) -> tuple[Section, ...]:
    """How far off the answers to these questions are."""
    if workload is None:
        return ()
    facts = comparison_facts(compare_methods(policy, (policy.method,), CompareOptions(workload, tune=False)))
    return (Section("utility", "How far off answers are", facts.shown()),)
