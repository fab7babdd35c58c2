"""The pages: of a release alone, of a policy with its private table, and of two releases side by side."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

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
from sqlpriv.reports.claims import claims_among, covered, guarantee
from sqlpriv.reports.model import Code, Page, Section, Signature
from sqlpriv.reports.recheck import recheck_sql
from sqlpriv.reports.sections import FOUND, attack_section, choice_section, policy_section, table_section
from sqlpriv.table.source import Source
from sqlpriv.version import __version__

_OF_RELEASE = "Made from the release alone: it reveals nothing that the release does not."
_FOR_OWNER = "For the owner: this page reveals something of the private table, and does not go out with the release."


def report_release(path: Path) -> Page:
    """The page of a release, from its file alone."""
    shown, judged = publishing.show(path), publishing.verify(path)
    learnt = attack_section(path, None, False, with_chart=False)
    sections = (*_promised(path, shown, judged), learnt, *_evidence(path, shown, judged))
    verdict = _verdict(path, shown, judged, "what it says, as far as its file can tell")
    title = f"{shown.content['table']}: a release by {shown.content['method']}"
    return Page(title, verdict, judged.passed, _OF_RELEASE, sections)


def report_policy(
    policy: Policy,
    release: Path | None = None,
    workload: Path | None = None,
    show_values: bool = False,
    on_progress: OnProgress = None,
) -> Page:
    """The page of a policy: what it asks, what the table shows, what would be or was published."""
    path = release or _written(policy)
    with publishing.open_private(policy) as source:
        before = (policy_section(policy), table_section(source, policy, show_values))
        try:
            plan = METHODS[policy.method].plan(source, policy, Request(on_progress=on_progress))
            facts = plan.facts()
            done = (_done(facts, show_values), *_workload(policy, workload), choice_section(plan, on_progress))
        except CannotPublish as refused:
            facts = refused.facts
            done = (_done(facts, show_values),)
        except PolicyError as refused:  # what the table is, or the policy asks, leaves nothing to publish
            facts = Facts("", {}, (Line(str(refused), "REFUSED"),), passed=False)
            done = (_done(facts, show_values),)
    title = f"May {policy.table.name} go out?"
    if path is None:
        open_question, no = "Nothing is published yet: this is what would be", "It may not go out under this policy"
        verdict = open_question if facts.passed else no
        passed = None if facts.passed else False
        return Page(title, verdict, passed, _FOR_OWNER, (*done[:1], *before, *done[1:], _sign()))
    shown, judged = publishing.show(path), publishing.verify(path, policy)
    learnt = attack_section(path, policy, show_values, with_chart=True)
    sections = (*_promised(path, shown, judged), learnt, *before, *done, *_evidence(path, shown, judged))
    return Page(title, _verdict(path, shown, judged), judged.passed, _FOR_OWNER, sections)


def report_published(policy: Policy, path: Path, facts: Facts, found_then: Section) -> Page:
    """The page of a release that was just made. What takes longer than publishing it is left to `sqlpriv report`."""
    more = Line(
        "What attackers still learn, and the choice among others as charts, take longer than publishing itself: "
        f"sqlpriv report {path.name} with --policy and the policy writes the page that has them."
    )
    shown, judged = publishing.show(path), publishing.verify(path, policy)
    done = (found_then, _done(facts, False), Section("more", "What else there is", (more,)))
    sections = (*_promised(path, shown, judged), policy_section(policy), *done, *_evidence(path, shown, judged))
    return Page(f"{policy.table.name}: published", _verdict(path, shown, judged), judged.passed, _FOR_OWNER, sections)


def found_while_publishing(source: Source, policy: Policy) -> Section:
    """What the table shows, while it is open: a release that is out is not undone by what cannot be told of it."""
    try:
        return table_section(source, policy, False)
    except SqlprivError as error:
        return Section("found", FOUND, (Line(str(error), "warning"),))


def _verdict(path: Path, shown: Facts, judged: Facts, what: str = "what it says and what the policy requires") -> str:
    """Whether it holds; what its file cannot show is not passed off as shown."""
    if not judged.passed:
        return f"{path.name} does NOT hold {what}"
    claims, all_of_them = claims_among(shown, judged)
    said = f"; {claims} of {all_of_them} requirements are claims that its file cannot show" if claims else ""
    return f"{path.name} holds {what}{said}"


def report_two(one: Path, other: Path) -> Page:
    """Two releases side by side, from their files alone."""
    both = [(path, publishing.show(path), publishing.verify(path)) for path in (one, other)]
    rows = tuple(_differences(*((path, shown.content) for path, shown, _ in both)))
    names = tuple(path.name for path in (one, other))
    side = Section(
        "difference", "Side by side", (Grid(("", *names), rows, "What they say of themselves", folded=names),)
    )
    promised = [
        Section(f"{part.name}-{number}", f"{part.title}: {path.name}", part.pieces)
        for number, (path, shown, judged) in enumerate(both)
        for part in _promised(path, shown, judged)
    ]
    passed = all(judged.passed for _, _, judged in both)
    verdict = (
        "Both hold what they say"
        if passed
        else " and ".join(
            f"{path.name} {'holds' if judged.passed else 'does NOT hold'} what it says" for path, _, judged in both
        )
    )
    evidence = [
        Section(f"{part.name}-{number}", f"{part.title}: {path.name}", part.pieces)
        for number, (path, shown, judged) in enumerate(both)
        for part in _evidence(path, shown, judged, f"r{number + 1}")
        if part.name != "sign"
    ]
    return Page(f"{names[0]} and {names[1]}", verdict, passed, _OF_RELEASE, (side, *promised, *evidence, _sign()))


def _differences(*both: tuple[Path, Mapping[str, Any]]) -> list[tuple[str, str, str]]:
    def texts(path: Path, content: Mapping[str, Any]) -> dict[str, str]:
        columns = {f"column {c['name']}": _column(c) for c in content["columns"]}
        required = "; ".join(str(r["requirement"]) for r in content.get("requirements") or ())
        numbers = {name: f"{value:g}" for name, value in (content.get("parameters") or {}).items()}
        general = {"method": content["method"], "published on": content.get("date", ""), "required": required}
        more = {"suppressed rows": content.get("suppressed_rows", ""), "bytes": f"{path.stat().st_size:,}"}
        return {**general, **more, **columns, **numbers}

    first, second = (texts(path, content) for path, content in both)
    return [(name, str(first.get(name, "-")), str(second.get(name, "-"))) for name in dict.fromkeys([*first, *second])]


def _column(column: Mapping[str, Any]) -> str:
    level = f", level {column['level']} of {column['levels']}" if column.get("level") is not None else ""
    return f"{column.get('role', '')}{level}"


def _written(policy: Policy) -> Path | None:
    """The release that the policy names, if it is there."""
    target = publishing.target_of(policy, None)
    return target if target is not None and target.exists() else None


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


def _promised(path: Path, shown: Facts, judged: Facts) -> tuple[Section, ...]:
    with readable(path):
        return guarantee(shown, judged), covered(shown)


def _evidence(path: Path, shown: Facts, judged: Facts, alias: str = "r") -> tuple[Section, ...]:
    content = shown.content
    with readable(path):
        numbers = [(name, f"{value:g}") for name, value in (content.get("parameters") or {}).items()]
        sql = recheck_sql(path.name, content, alias)
    versions = (
        ("release", path.name),
        ("published on", str(content.get("date", ""))),
        ("published with", f"sqlpriv {content.get('sqlpriv', '')}"),
        ("reported with", f"sqlpriv {__version__}, DuckDB {duckdb.__version__}"),
        ("digest of its rows", str(content.get("digest", ""))),
        ("SHA-256 of the file", _digest(path)),
        *numbers,
    )
    return (
        Section("verified", "What was checked in the file", judged.shown()),
        Section("parameters", "Parameters, versions and digests", (Grid((), versions),)),
        _sign(),
        Section(
            "again",
            "Check it again in any DuckDB",
            (Line("Plain SQL: no Python, and nothing of ours to install."), Code(sql)),
        ),
    )


def _digest(path: Path) -> str:
    """Of the whole file, piece by piece: it may be larger than the memory."""
    found = hashlib.sha256()
    with path.open("rb") as file:
        while piece := file.read(1 << 20):
            found.update(piece)
    return found.hexdigest()


def _sign() -> Section:
    return Section("sign", "Signed", (Signature(("Name", "Office", "Date", "Signature")),))
