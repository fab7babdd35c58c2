"""The sections of a page: what a release promises and to whom, what is not covered, what the policy asks, the table
shows, attacks found, and else could be chosen.

What a release promises is what it says of itself (`shown`), and what was verified of that (`judged`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from sqlpriv.attacks.findings import AttackFinding, AttackReport
from sqlpriv.attacks.run import run_attacks
from sqlpriv.attacks.target import AttackOptions, Inputs
from sqlpriv.checks.run import Job, check
from sqlpriv.core.errors import InputError
from sqlpriv.core.facts import Facts, Grid, Line, OnProgress, Part
from sqlpriv.display.charts import (
    attacks_picture,
    choice_pictures,
    column_loss_picture,
    if_any,
    lattice_picture,
    tradeoff_picture,
)
from sqlpriv.methods import METHODS
from sqlpriv.methods.charts import SearchCharts
from sqlpriv.methods.method import AnyPlan
from sqlpriv.policy.file import Policy
from sqlpriv.reports.html import Listed, Piece, Section
from sqlpriv.table.source import Source

FOUND = "What was found in the private table"
MOST_NODES = 5000
"""More are searched, but not listed: nobody could look at them."""
_WORLDS = 10
"""In how many other worlds the search runs again: a page should not take longer than publishing."""


def promises(shown: Facts, judged: Facts, is_drawn: bool) -> Section:
    """What is promised, each with how it was verified or why it is a claim; `is_drawn`: by random noise."""
    content = shown.content
    found = {str(c["check"]).partition(" (")[0]: c for c in judged.content["checks"]}
    rows = []
    if guaranteed := content.get("guarantee") or content.get("promise"):
        how = "claimed: no file shows how its noise was drawn" if is_drawn else "made from the numbers in the file"
        rows.append((str(guaranteed), how))
    for required in content.get("requirements") or ():
        text, check = str(required["requirement"]), found.get(str(required["requirement"]))
        rows.append((f"{text}: {required['guarantee']}", _how(check)))
    if not rows:
        rows.append(("This release states no guarantee.", "nothing to verify"))
    pieces: list[Piece] = [Grid(("promise", "how it was verified"), tuple(rows), folded=("promise",)), *_in_full(shown)]
    return Section("promises", "What is promised, and how it was verified", tuple(pieces))


def _how(check: Mapping[str, Any] | None) -> str:
    if check is None:
        return "claimed"
    said = f": {check['found']}" if check["found"] else ""
    return {True: "verified from the file", False: "FAILS", None: "claimed"}[check["passed"]] + said


def file_section(shown: Facts, judged: Facts) -> Section:
    """What else was checked in the file: those that fail first, and the others in one sentence."""
    promised = {str(r["requirement"]) for r in shown.content.get("requirements") or ()}
    checks = [c for c in judged.content["checks"] if str(c["check"]).partition(" (")[0] not in promised]
    failed = [c for c in checks if c["passed"] is False]
    pieces: list[Piece] = [Line(f"{c['check']} ({c['found']})", "FAILS") for c in failed]
    pieces.append(Line(f"{sum(c['passed'] is True for c in checks)} of {len(checks)} checks of the file hold:"))
    marks = {True: "", False: " (FAILS)", None: " (claimed)"}
    pieces.append(Listed(tuple(f"{c['check']}{marks[c['passed']]}" for c in checks)))
    return Section("verified", "What else was checked in the file", tuple(pieces))


def claims_among(shown: Facts, judged: Facts) -> tuple[int, int]:
    """How many requirements are claims, and how many there are."""
    claimed = {str(c["check"]).partition(" (")[0] for c in judged.content["checks"] if c["passed"] is None}
    texts = [str(r["requirement"]) for r in shown.content.get("requirements") or ()]
    return sum(text in claimed for text in texts), len(texts)


def _in_full(shown: Facts) -> Iterator[Line]:
    """What the release adds to its promise, and warns of."""
    for part in shown.parts:
        if isinstance(part, Line) and part.text.startswith("- "):
            yield Line(part.text)
    declared = shown.content.get("warnings") or ()
    yield from (Line(warning, "warning") for warning in dict.fromkeys([*shown.warnings, *declared]))


def covered(shown: Facts) -> Section:
    """Who is covered, and who is not."""
    rows = (*_attackers(shown.content), *_people(shown.content))
    grid = Grid(("who", "covered?"), rows, "Attackers and people", folded=("who", "covered?"))
    return Section("covered", "Who is covered, and who is not", (grid,))


def not_covered(shown: Facts, conditions: Sequence[str]) -> Section:
    """Against whom nothing is promised: what the answer rests on, and who is not covered."""
    found = [f"It is assumed that {condition}." for condition in conditions]
    named = [(f"somebody who {who}", said) for who, said in _attackers(shown.content)]
    for who, said in (*named, *_people(shown.content)):
        covers, _, why = said.partition(":")
        subject = f"{who[:1].upper()}{who[1:]}"
        if covers == "NO":
            found.append(f"{subject}: not covered.{_sentence(why)}")
        elif not said.startswith("yes"):
            found.append(f"{subject}: {said}.")
    return Section("not-covered", "What is not covered", (Listed(tuple(found)),))


def _sentence(text: str) -> str:
    text = text.strip()
    return f" {text[:1].upper()}{text[1:]}." if text else ""


def _attackers(content: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    qis = ", ".join(c["name"] for c in content["columns"] if c.get("role") == "quasi-identifier")
    known = f"knows {qis or 'the published columns'} of a person who is in the table"
    if content.get("attackers"):
        for one in content["attackers"]:
            after = f"belief {one['prior']:.3g} becomes at most {one['posterior']:.3g}"
            yield f"knows {one['knows']}, wants {one['wants']}", f"{'yes' if one['covered'] else 'NO'}: {after}"
    elif content.get("promise"):
        yield "holds the dictionary that the promise speaks of, and picks by lot among the entries that fit", "yes"
        yield f"{known}, or holds another list of people", "NO: the promise is about one attacker"
        yield "knows the rule by which labels were chosen", "NO: the choice itself reveals something of a row"
    elif "total_epsilon" in (content.get("parameters") or {}):
        yield (
            "knows everybody else's rows, and correlations between values",
            "yes, as promised, but for a chance of delta",
        )
    else:
        yield known, "yes, as promised"
        for name in _unguarded(content):
            what = f"NO: no requirement speaks of {name!r}, and a whole class may have one value of it"
            yield f"knows that much, and wants {name}", what
        more = "knows more: another column, values of other people, or correlations between values"
        yield more, "covered only as far as a requirement speaks of it"
    reason = content.get("coexists_because")
    coexists = f'it may coexist with others, in the owner\'s words because "{reason}"'
    another = coexists if reason else "covered only as far as the ledger judged it"
    yield "holds another release of the same table", another
    yield "learns about people in general, and takes it for one of them", "NO: no release hides what is true of people"


def _unguarded(content: Mapping[str, Any]) -> list[str]:
    """Sensitive columns that nothing protects but the size of classes."""
    if content.get("guarantee"):
        return []
    spoken_of = {r["sensitive"] for r in content.get("requirements") or ()}
    return [c["name"] for c in content["columns"] if c.get("role") == "sensitive" and c["name"] not in spoken_of]


def _people(content: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    rows_each = float((content.get("parameters") or {}).get("rows_each", 1))
    if content.get("counts") == "persons":
        yield "a person with several rows", "as claimed: persons were counted, not rows; they are not in the file"
    elif rows_each > 1:
        yield f"a person with up to {rows_each:g} rows", "yes, all of them together; one with more is not"
    else:
        yield "a person with several rows", "NO: rows were counted; of several rows of a person each is covered alone"
    if int(content.get("suppressed_rows") or 0):
        kept = content.get("kept_suppressed") == "yes"
        fate = "their other columns are published, as one class under *" if kept else "their rows are not in the file"
        yield "people whose rows were suppressed", f"{fate}; their number is published"


def policy_section(policy: Policy) -> Section:
    """What the policy asks: roles of columns, requirements and the options of the release."""
    keys = METHODS[policy.method].roles
    roles = tuple(
        (c.name, c.role, ", ".join(f"{k.name} = {v}" for k in keys[c.role] if (v := c.given.get(k.name)) != k.default))
        for c in policy.columns
    )
    chosen = {name: value for name, value in policy.release.items() if name in policy.written}
    pieces: list[Part] = [Grid(("column", "role", "with"), roles, "Columns", folded=("with",))]
    pieces += [Line(r.text, "required") for r in policy.requirements]
    pieces.append(Grid((), tuple((k, str(v)) for k, v in {"method": policy.method, **chosen}.items()), "Release"))
    return Section("asked", "What was asked", tuple(pieces))


def table_section(source: Source, policy: Policy, show_values: bool) -> Section:
    """Every model on the private table as it is: sizes of the worst classes, and no value of them. For the owner."""
    if not policy.qis:
        return Section("found", FOUND, (Line("No column is a quasi-identifier."),))
    job = Job((policy.qis,), policy.sensitive, policy.person, show_values=show_values)
    facts = check(source, job).facts()
    lead = Line(f"The private table as it is, before anything is done to it. {facts.title}.")
    shown = [p for p in facts.shown(show_values) if not (isinstance(p, Line) and "--show-values" in p.text)]
    return Section("found", FOUND, (lead, *shown))


def attacked(path: Path, policy: Policy | None) -> AttackReport:
    """All attacks on a release; with its policy, with those on the private table beside them."""
    return run_attacks(Inputs(path, policy=policy), AttackOptions(worlds=_WORLDS))


def attack_section(report: AttackReport, show_values: bool, with_chart: bool) -> Section:
    """What every attack found: in a sentence, and its numbers."""
    run = [f for f in report.found if isinstance(f, AttackFinding)]
    pieces: list[Piece] = []
    for finding in run:
        pieces.append(Line(finding.sentence, finding.attack))
        pieces += finding.private if show_values else ()
    not_run = [f for f in report.found if not isinstance(f, AttackFinding)]
    for why in dict.fromkeys(f.why for f in not_run):
        pieces.append(Line(f"{', '.join(f.attack for f in not_run if f.why == why)}: {why}", "not run"))
    if with_chart:
        pieces += if_any(attacks_picture, "People reached by attacks", report.found)
    pieces += [p for p in report.facts().parts if isinstance(p, Grid)] if run else []
    return Section("attacks", "What each attack found", tuple(pieces))


def choice_section(plan: AnyPlan, on_progress: OnProgress) -> Section:
    """What else could have been published, with the chosen one marked: a lattice, or what privacy costs."""
    searched = plan.search_charts(MOST_NODES, on_progress=on_progress)
    pieces = _choice(plan) if searched is None else _searched(searched)
    return Section("choice", "The choice among others", tuple(pieces))


def _choice(plan: AnyPlan) -> Iterator[Piece]:
    try:
        pictures = choice_pictures(plan)
    except InputError as error:
        yield Line(f"The choice is not drawn: {error}")
        return
    yield from pictures
    if not pictures:
        yield Line("This method makes no choice among others that could be drawn.")


def _searched(charts: SearchCharts) -> Iterator[Piece]:
    yield column_loss_picture(charts.losses)
    if charts.lattice is None:
        yield Line(f"The lattice has {charts.nodes_total:,} nodes, too many to look at; the search saw to them.")
        return
    yield lattice_picture(charts.lattice)
    try:
        yield tradeoff_picture(charts.lattice)
    except InputError as error:
        yield Line(f"Risk against loss is not drawn: {error}")
