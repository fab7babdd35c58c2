"""The pages: of a release alone, of a policy with its private table, and of two releases side by side."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import duckdb

from sqlpriv import publishing
from sqlpriv.checks.verdict import NO, ONLY_IF, YES, Verdict, judge
from sqlpriv.comparison.facts import comparison_facts
from sqlpriv.comparison.run import CompareOptions, compare_methods
from sqlpriv.comparison.typical import Answers, typical_answers
from sqlpriv.core.errors import PolicyError, ReleaseError, SqlprivError
from sqlpriv.core.facts import Facts, Grid, Line, OnProgress
from sqlpriv.methods import METHODS
from sqlpriv.methods.method import CannotPublish, Request
from sqlpriv.policy.file import Policy
from sqlpriv.publishing.verdicts import file_evidence, plan_verdict
from sqlpriv.release.file import count_rows, open_file, readable
from sqlpriv.reports.columns import readers_see
from sqlpriv.reports.figures import Numbers, bars, of_plan, of_private_table, of_release, tiles, unanswered
from sqlpriv.reports.html import FAILS, HOLDS, OPEN, Cards, Code, Page, Piece, Section, Signature
from sqlpriv.reports.recheck import recheck_sql
from sqlpriv.reports.sections import (
    FOUND,
    attack_section,
    attacked,
    choice_section,
    claims_among,
    covered,
    file_section,
    not_covered,
    policy_section,
    promises,
    table_section,
)
from sqlpriv.table.source import Source
from sqlpriv.version import __version__

_OF_RELEASE = "Made from the release alone: it reveals nothing that the release does not."
_FOR_OWNER = "For the owner: this page reveals something of the private table, and does not go out with the release."
_SIGN = Signature(("Name", "Office", "Date", "Signature"))
_NONE = Numbers()
_KINDS = {NO: FAILS, ONLY_IF: OPEN, YES: HOLDS}


@dataclass(frozen=True)
class JudgedRelease:
    """A release: its file, what it says of itself, what was verified of that, and what its rows show."""

    path: Path
    shown: Facts
    judged: Facts
    verdict: Verdict
    numbers: Numbers = _NONE
    seen: Cards | None = None
    """None where the file does not hold what it says: then nothing of it is believed."""
    answers: Answers | None = None

    @property
    def holds(self) -> bool:
        """Whether the file holds what it says."""
        return self.judged.passed is not False

    @property
    def table(self) -> str:
        """The private table, as the release calls it."""
        return str(self.shown.content["table"])

    @property
    def accepted(self) -> str:
        """Why it is published although the verdict is no."""
        return str(self.shown.content.get("accept", "")) if self.verdict.word == NO else ""

    @property
    def kind(self) -> str:
        """The colour of its verdict."""
        return _KINDS[self.verdict.word] if self.holds else FAILS

    @property
    def sentence(self) -> str:
        """Whether it may go out: not where its file does not hold what it says."""
        if not self.holds:
            return f"It may not go out: {self.path.name} does NOT hold what it says"
        return self.verdict.sentence

    def checked(self, what: str = "what it says and what the policy requires") -> str:
        """Whether the file holds; what it cannot show is not passed off as shown."""
        if not self.holds:
            return f"{self.path.name} does NOT hold {what}"
        claims, all_of_them = claims_among(self.shown, self.judged)
        said = f"; {claims} of {all_of_them} requirements are claims that its file cannot show" if claims else ""
        return f"{self.path.name} holds {what}{said}"

    def first(self, private: Numbers | None, what: str) -> tuple[Piece, ...]:
        """What stands on the first screen below the answer."""
        figures = (tiles(self.numbers, private, self.answers),) if self.holds else ()
        own = None if self.numbers.counts_persons else self.numbers.people
        people = own if private is None else private.people
        whom = _whom(self.table, self.verdict, people) if self.holds else ()
        return (*whom, *figures, Line(f"{self.checked(what)}."), _SIGN)

    def front(self, private: Numbers | None) -> Iterator[Section]:
        """What readers see, what attackers learn, what is not covered, and the parameters."""
        content = self.shown.content
        if self.seen is not None:
            yield Section("readers", "What readers see", (self.seen, *unanswered(self.answers)))
        if drawn := bars(self.numbers, private) if self.holds else ():
            yield Section("learnt", "What attackers learn", drawn)
        yield not_covered(self.shown, self.verdict.because if self.verdict.word == ONLY_IF else ())
        numbers = ", ".join(f"{name} = {value:g}" for name, value in (content.get("parameters") or {}).items())
        required = ", ".join(str(r["requirement"]) for r in content.get("requirements") or ())
        about = [("method", str(content["method"])), ("release", self.path.name)]
        about += [(name, text) for name, text in (("required", required), ("numbers", numbers)) if text]
        yield Section("parameters", "Parameters", (Grid((), tuple(about)),))

    def details(self, alias: str = "r") -> tuple[Section, ...]:
        """What is promised, what was checked, and what it takes to check it again."""
        content, method = self.shown.content, METHODS[self.shown.content["method"]]
        with readable(self.path):
            sql = recheck_sql(method, self.path.name, content, alias)
            promised = promises(self.shown, self.judged, method.draws)
        versions = (
            ("published on", str(content.get("date", ""))),
            ("published with", f"sqlpriv {content.get('sqlpriv', '')}"),
            ("reported with", f"sqlpriv {__version__}, DuckDB {duckdb.__version__}"),
            ("digest of its rows", str(content.get("digest", ""))),
            ("SHA-256 of the file", _digest(self.path)),
        )
        again = (Line("Plain SQL: no Python, and nothing of ours to install."), Code(sql))
        return (
            promised,
            covered(self.shown),
            file_section(self.shown, self.judged),
            Section("versions", "Versions and digests", (Grid((), versions),)),
            Section("again", "Check it again in any DuckDB", again),
        )

    def in_texts(self) -> dict[str, str]:
        """What two releases are compared by, by name."""
        content = self.shown.content
        found = {
            "may it go out": self.verdict.word,
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


def _judge(path: Path, policy: Policy | None = None, verdict: Verdict | None = None) -> JudgedRelease:
    """A release with all that its page says of it; with the policy, how far its answers are off."""
    shown, judged = publishing.show(path), publishing.verify(path, policy)
    if not judged.passed:
        return JudgedRelease(path, shown, judged, verdict or Verdict(NO, ("its file does not hold what it says",)))
    with readable(path), open_file(path) as file:
        method = publishing.method_of(file)
        evidence = list(file_evidence(method, file, policy))
        seen = readers_see(method, file, policy)
        rows = float(count_rows(file))
        numbers = of_release(method, file, evidence, rows)
    answers, people = _asked(path, policy, shown)
    numbers = replace(numbers, people=rows if people is None else people)
    return JudgedRelease(path, shown, judged, verdict or judge(evidence), numbers, seen, answers)


def _asked(path: Path, policy: Policy | None, shown: Facts) -> tuple[Answers | None, float | None]:
    """What it answers of typical questions, and how many rows it says there are; a sequence by its last view."""
    try:
        with publishing.open_release(path) as release:
            _, rows = release.fetch(f'SELECT count(*) FROM "{release.table.replace(chr(34), chr(34) * 2)}"')
            counts_rows = shown.content.get("counts", "rows") in {"rows", "persons"}
            return typical_answers(release, policy if counts_rows else None), float(rows[0][0])
    except ReleaseError:  # of a method that answers no queries
        return None, None


def _whom(table: str, verdict: Verdict, people: float | None) -> tuple[Piece, ...]:
    """Who is protected from whom, and what else the answer rests on: its first reason stands in the answer itself."""
    many = "everybody" if people is None else f"the {round(people):,} people"
    rows = [("Protected", f"{many} in {table}")] if verdict.word != NO else []
    rows += [("from" if i == 0 else "", text) for i, text in enumerate(verdict.against)]
    word = "also not, since" if verdict.word == NO else "and only if"
    rows += [(word if i == 0 else "", text) for i, text in enumerate(verdict.because[1:])]
    starred = any("*" in text for text in (verdict.sentence, *(text for _, text in rows)))
    note = (Line("* a convention; others may draw the line elsewhere", quiet=True),) if starred else ()
    return (*((Grid((), tuple(rows)),) if rows else ()), *note)


def _digest(path: Path) -> str:
    """Of the whole file, piece by piece: it may be larger than the memory."""
    found = hashlib.sha256()
    with path.open("rb") as file:
        while piece := file.read(1 << 20):
            found.update(piece)
    return found.hexdigest()


def _page(
    release: JudgedRelease, private: Numbers | None, audience: str, appendix: Sequence[Section], what: str
) -> Page:
    may = release.verdict.word != NO or bool(release.accepted)
    return Page(
        f"May {release.table} go out?",
        release.sentence,
        release.kind,
        release.holds and may,
        audience,
        release.first(private, what),
        tuple(release.front(private)),
        tuple(appendix),
        release.accepted,
        release.verdict.to_json(),
    )


def report_release(path: Path) -> Page:
    """The page of a release, from its file alone."""
    attacks = attacked(path, None)
    release = _judge(path, verdict=attacks.verdict)
    learnt = attack_section(attacks, False, with_chart=False)
    what = "what it says, as far as the file shows it"
    return _page(release, None, _OF_RELEASE, (learnt, *release.details()), what)


def report_policy(
    policy: Policy,
    release: Path | None = None,
    workload: Path | None = None,
    show_values: bool = False,
    on_progress: OnProgress = None,
) -> Page:
    """The page of a policy: what it asks, what the table shows, what would be or was published."""
    path = release or publishing.target_of(policy, None)
    refused = ""
    planned, verdict = Numbers(), None
    with publishing.open_private(policy) as (source, spelt):
        private = of_private_table(source, spelt)
        before = (policy_section(policy), table_section(source, spelt, show_values))
        try:
            plan = METHODS[policy.method].plan(source, spelt, Request(on_progress=on_progress))
            facts = plan.facts()
            planned, verdict = of_plan(plan.evidence(), spelt), plan_verdict(plan, facts.content.get("refused", ()))
            done = (_done(facts, show_values), *_workload(policy, workload), choice_section(plan, on_progress))
        except CannotPublish as error:
            facts, refused = error.facts, str(error)
            done = (_done(facts, show_values),)
        except PolicyError as error:  # what the table is, or the policy asks, leaves nothing to publish
            facts, refused = Facts("", {}, (Line(str(error), "REFUSED"),), passed=False), str(error)
            done = (_done(facts, show_values),)
    if path is None or (release is None and not path.exists()):
        return _unpublished(policy, facts, planned, verdict or Verdict(NO, (refused,)), private, (*done, *before))
    attacks = attacked(path, policy)
    found = _judge(path, policy, verdict if verdict is not None and verdict.word == NO else attacks.verdict)
    learnt = attack_section(attacks, show_values, with_chart=True)
    appendix = (learnt, *before, *done, *found.details())
    return _page(found, private, _FOR_OWNER, appendix, "what it says and what the policy requires")


def _unpublished(
    policy: Policy, facts: Facts, planned: Numbers, verdict: Verdict, private: Numbers, appendix: Sequence[Section]
) -> Page:
    """The page of what would be published."""
    may = facts.passed and (verdict.word != NO or bool(policy.accept))
    nothing_yet = "Nothing is published yet: this is what would be." if may else "It may not go out under this policy."
    whom = _whom(policy.table.name, verdict, private.people)
    drawn = bars(planned, private)
    learnt = (Section("learnt", "What attackers would learn", drawn),) if drawn else ()
    return Page(
        f"May {policy.table.name} go out?",
        verdict.sentence,
        _KINDS[verdict.word],
        None if may else False,
        _FOR_OWNER,
        (*whom, tiles(planned, private, None), Line(nothing_yet), _SIGN),
        learnt,
        tuple(appendix),
        policy.accept if verdict.word == NO else "",
        verdict.to_json(),
    )


@dataclass(frozen=True)
class FoundThen:
    """What the private table showed while it was published."""

    section: Section
    numbers: Numbers | None


def report_published(policy: Policy, path: Path, facts: Facts, then: FoundThen) -> Page:
    """The page of a release that was just made. What takes longer than publishing it is left to `sqlpriv report`."""
    more = Line(
        "What each attack finds, the true errors of typical answers, and charts of the choice among others take longer "
        f"than publishing itself. sqlpriv report {path.name} with --policy and the policy writes the page that has "
        "them."
    )
    said = facts.content["verdict"]
    found = _judge(path, verdict=Verdict(said["word"], tuple(said["because"]), tuple(said["against"])))
    done = (then.section, _done(facts, False), Section("more", "What is not on this page", (more,)))
    appendix = (policy_section(policy), *done, *found.details())
    return _page(found, then.numbers, _FOR_OWNER, appendix, "what it says and what the policy requires")


def found_while_publishing(source: Source, policy: Policy) -> FoundThen:
    """What the table shows, while it is open: an error here does not undo a release that is out."""
    try:
        return FoundThen(table_section(source, policy, False), of_private_table(source, policy))
    except SqlprivError as error:
        return FoundThen(Section("found", FOUND, (Line(str(error), "warning"),)), None)


def report_two(one: Path, other: Path) -> Page:
    """Two releases side by side, from their files alone."""
    both = [_judge(one), _judge(other)]
    names = (one.name, other.name)
    first, second = (release.in_texts() for release in both)
    rows = tuple((name, first.get(name, "-"), second.get(name, "-")) for name in {**first, **second})
    compared = Grid(("", *names), rows, "What they say of themselves", folded=names)
    appendix = [
        Section(f"{part.name}-{number}", f"{part.title}: {names[number]}", part.pieces)
        for number, release in enumerate(both)
        for part in (*release.front(None), *release.details(f"r{number + 1}"))
    ]
    passed = all(release.holds for release in both)
    each = [f"{r.path.name}: {r.sentence}" for r in both]
    return Page(
        f"{names[0]} and {names[1]}",
        "Both hold what they say" if passed else " and ".join(r.checked("what it says") for r in both),
        HOLDS if passed else FAILS,
        passed,
        _OF_RELEASE,
        (*map(Line, each), _SIGN),
        (Section("difference", "Side by side", (compared,)),),
        tuple(appendix),
    )


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
