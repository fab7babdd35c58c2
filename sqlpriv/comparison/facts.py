"""A comparison as facts: a table of methods, errors by size, what was assumed or left out, and a sentence of advice."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from sqlpriv.comparison.conversion import policy_lines, toml
from sqlpriv.comparison.run import Comparison, MethodResult
from sqlpriv.core.facts import Facts, Grid, Line, Part, shown_number
from sqlpriv.methods import METHODS
from sqlpriv.risk.learned_figures import LearnedFigures

OWNER_ONLY = (
    "These figures are made from the private table: they are for you, its owner, and not for publication. Nothing was "
    "published, and the ledger does not count it."
)
_LISTED = 3
_CHOICE = "what the choice of the classes itself reveals, for which the sensitive values were read"
_LISTED_REFUSALS = 8


def comparison_facts(comparison: Comparison) -> Facts:
    """The facts; they pass where some method can publish."""
    rows, advised = comparison.rows, best_row(comparison)
    advice = _advice(comparison, advised)
    lines = [] if advised is None else policy_lines(comparison.policy, advised.converted)
    content = {
        "owner_only": OWNER_ONLY,
        "questions": len(comparison.truth.known),
        "workload": "made up" if comparison.truth.made_up else "given",
        "left_out": [{"statement": left.number, "why": left.why} for left in comparison.truth.left_out],
        "compared": comparison.compared,
        "protection": comparison.protection.said,
        "attacker": _attacker(comparison),
        "methods": [
            _content(row, _tuned_of(row, rows)) for row in rows if row.chosen is None
        ],
        "advice": advice,
        "policy": lines,
    }  # fmt: skip
    parts: list[Part] = [
        Line(OWNER_ONLY, "private"),
        Line(_about_the_workload(comparison)),
        *_left_out(comparison),
        *_answers(rows, comparison),
        _promises(rows),
        *_guesses(rows),
        *_posteriors(comparison),
        *_refused_questions(rows),
        *_notes(rows),
        Line(advice, "advice"),
    ]
    if lines:
        parts.append(Line("\n".join(lines), breaks=True))
    return Facts("Methods compared", content, tuple(parts), passed=advised is not None)


def best_row(comparison: Comparison) -> MethodResult | None:
    """The row of the smallest error in the questions that all answer; what is read off the table is not advised.

    Where no question is answered by all, those that answer most are ranked, each by its own. Where not all answers are
    counts, errors have several units, and relative ones decide.
    """
    done = [row for row in comparison.rows if row.measured is not None and row.chosen is None]
    most = max((row.measured.answered for row in done if row.measured), default=0)
    least = 1 if comparison.compared else most
    able = [row for row in done if row.measured and row.measured.answered >= least > 0]
    return min(able, key=lambda row: _rank(comparison, row), default=None)


def _rank(comparison: Comparison, row: MethodResult) -> tuple[float, int, float]:
    assert row.measured is not None
    found = (row.measured.median_error, row.measured.p90_error)
    if not _all_counts(comparison):
        found = (row.measured.median_relative_error, row.measured.median_error)
    first, second = (math.inf if number is None else number for number in found)
    return first, -row.measured.answered, second


def _all_counts(comparison: Comparison) -> bool:
    asked = [known.question for known in comparison.truth.known]
    return all(c or not v for q in asked for c, v in zip(q.is_count, q.is_value, strict=True))


def _tuned_of(row: MethodResult, rows: Sequence[MethodResult]) -> MethodResult | None:
    return next((other for other in rows if other.method == row.method and other.chosen is not None), None)


def _content(row: MethodResult, tuned: MethodResult | None) -> dict[str, Any]:
    """A row for machines."""
    found = row.measured
    holds = None if row.posterior is None else f"of an attacker who {METHODS[row.method].posterior_holds}"
    content: dict[str, Any] = {
        "method": row.method,
        "median_error": found and found.median_error,
        "p90_error": found and found.p90_error,
        "median_relative_error": found and found.median_relative_error,
        "inside": found and found.inside,
        "width": found and found.width,
        "by_size": [vars(size) for size in found.by_size] if found else [],
        "answered": found.answered if found else 0,
        "refused_questions": [{"statement": r.number, "why": r.why} for r in found.refused] if found else [],
        "seconds": row.seconds if found else None,
        "publish_seconds": row.publish_seconds if found else None,
        "ask_seconds": row.ask_seconds if found else None,
        "bytes": row.bytes,
        "posterior": row.posterior,
        "posterior_holds": holds,
        "posterior_leaves_out": _leaves_out(row),
        "learned": None if row.learned is None else _learned(row.learned),
        "against": row.against or None,
        "protection": row.converted and row.converted.protection,
        "assumed": bool(row.converted and row.converted.assumed),
    }
    if row.refused is not None:
        content["refused"] = row.refused
    if row.chosen is not None:
        content |= {"options": dict(row.chosen), "read_off_the_table": True}
    if tuned is not None:
        content["tuned"] = _content(tuned, None)
    return content


def _learned(found: LearnedFigures) -> dict[str, int]:
    """The figures that the attack `learned` has, too."""
    return {
        "people": found.people,
        "certain_90": found.certain_90,
        "certain_99": found.certain_99,
        "guessed_right": found.right,
    }


def _about_the_workload(comparison: Comparison) -> str:
    truth = comparison.truth
    many = f"{len(truth.known):,} question{'s' if len(truth.known) != 1 else ''}"
    if not truth.made_up:
        unit = "" if _all_counts(comparison) else "; sums and averages are off in their own units, counts in rows"
        return f"{many} of the workload about {truth.rows:,} rows{unit}."
    read = f" Values of {', '.join(truth.unlisted)} are those of the table, for want of a domain." * bool(
        truth.unlisted
    )
    return (
        f"{many}, made up (seed {comparison.options.seed}): counts of {truth.rows:,} rows by 1, 2 and 3 columns.{read} "
        "Your own: --workload queries.sql"
    )


def _left_out(comparison: Comparison) -> Iterator[Line]:
    left = comparison.truth.left_out
    for each in left[:_LISTED]:
        yield Line(f"statement {each.number} is left out: {each.why}", "warning")
    if len(left) > _LISTED:
        yield Line(f"and {len(left) - _LISTED:,} more statements, which --json lists", "warning")


def _answers(rows: Sequence[MethodResult], comparison: Comparison) -> Iterator[Grid]:
    """What the answers are worth and cost, in all and by size: a row for each method that answers."""
    done = [(row, row.measured) for row in rows if row.measured is not None]
    if not done:
        return
    errors = [
        (
            row.name,
            found.answered,
            _number(found.median_error),
            _number(found.p90_error),
            _number(found.width),
            "" if found.inside is None else f"{100 * found.inside:.1f}%",
            _number(row.posterior) or "n/a",
        )
        for row, found in done
    ]
    caption = "Errors and width in rows; posterior: the worst belief of the linking attacker."
    if comparison.compared:
        by = f"the {comparison.compared:,} questions that all of them answer"
    else:
        by = "the questions that it answers itself, since none is answered by all"
    caption = f"Each by {by}. {caption} Answers: of the {len(comparison.truth.known):,} questions."
    headings = ("method", "answers", "median", "90%", "width", "inside", "posterior")
    yield Grid(headings, tuple(errors), title="Error of an answer", caption=caption)
    sizes = done[0][1].by_size
    if any(size.numbers for size in sizes):
        by_size = ("method", *(f"{size.size} ({size.numbers:,})" for size in sizes))
        medians = [(row.name, *(_number(s.median_error) for s in found.by_size)) for row, found in done]
        yield Grid(by_size, tuple(medians), title="Median error by the size of the true count (so many counts)")
    costs = [(row.name, f"{row.publish_seconds:.1f}", f"{row.ask_seconds:.1f}", row.bytes) for row, found in done]
    yield Grid(("method", "publishing, s", "asking, s", "bytes"), tuple(costs), title="Cost")


def _promises(rows: Sequence[MethodResult]) -> Grid:
    """What each protects against, at which bound; or why there is no release by it."""
    listed = []
    for row in rows:
        if row.chosen is None:
            bound = row.converted.protection if row.converted else ""
            listed.append((row.method, row.against, bound if row.refused is None else f"REFUSED: {row.refused}"))
    headings = ("method", "protects against", "by")
    return Grid(headings, tuple(listed), title="Protection", folded=headings[-1:])


def _guesses(rows: Sequence[MethodResult]) -> Iterator[Grid]:
    """How many people are guessed from the whole release, where noise does not bound it."""
    found = [(row.name, row.learned) for row in rows if row.learned is not None]
    if found:
        listed = [(name, f.people, f.certain_90, f.certain_99, f.right) for name, f in found]
        headings = ("method", "people", "believed .9", "believed .99", "guessed right")
        title = "People whose value a reader believes who learns from the whole release"
        yield Grid(headings, tuple(listed), title=title)


def _attacker(comparison: Comparison) -> str:
    """The attacker whose posterior is reported of every method."""
    return (
        "the linking attacker knows the quasi-identifiers of a person, and that the person is in the table. At first "
        f"this attacker believes in no value with more than {shown_number(comparison.options.times)} times the odds "
        "of an even guess, or of its public share"
    )


def _posteriors(comparison: Comparison) -> Iterator[Line]:
    """Whose beliefs the posteriors are; a bound for a stronger attacker is one for this one, too."""
    holds: dict[str, list[str]] = {}
    for row in comparison.rows:
        if row.posterior is not None and row.chosen is None:
            holds.setdefault(METHODS[row.method].posterior_holds, []).append(row.method)
    if holds:
        yield Line(f"{_attacker(comparison)}.", "posterior")
    for words, methods in holds.items():
        yield Line(f"of {', '.join(methods)}: of an attacker who {words}", "posterior")
    left: dict[str, list[str]] = {}
    for row in comparison.rows:
        if (what := _leaves_out(row)) is not None:
            left.setdefault(what, []).append(row.name)
    for what, names in left.items():
        yield Line(f"of {', '.join(names)}: it leaves out {what}", "posterior")


def _leaves_out(row: MethodResult) -> str | None:
    """What the posterior of a row does not count: classes found by sensitive values.

    A requirement may read them, and so may questions that classes are tuned to.
    """
    if row.posterior is None or row.converted is None:
        return None
    method, tuned = METHODS[row.method], row.chosen is not None
    by_values = not method.draws and (tuned or method.looks_at_values(row.converted.policy))
    return _CHOICE if by_values else None


def _refused_questions(rows: Sequence[MethodResult]) -> Iterator[Line]:
    """Which statements methods do not answer, and why: the same reason of several methods once."""
    asked = [row for row in rows if row.measured is not None and row.chosen is None]
    refusing: dict[tuple[int, str], list[str]] = {}
    for row in asked:
        for each in row.measured.refused if row.measured else ():
            refusing.setdefault((each.number, each.why), []).append(row.method)
    for (number, why), methods in sorted(refusing.items())[:_LISTED_REFUSALS]:
        by = "any method" if len(methods) == len(asked) > 1 else ", ".join(methods)
        yield Line(f"statement {number} is not answered by {by}: {why}", "warning")
    left = len(refusing) - _LISTED_REFUSALS
    if left > 0:
        yield Line(f"and {left:,} more reasons, which --json lists as refused_questions of each method", "warning")


def _notes(rows: Sequence[MethodResult]) -> Iterator[Line]:
    for row in rows:
        if row.chosen is not None:
            chosen = ", ".join(f"{name} = {toml(value)}" for name, value in row.chosen.items())
            yield Line(f"{row.name} has {chosen}: read off the private table, so it reveals something of it", "best")
        if row.chosen is None and row.converted is not None and row.converted.assumed and row.measured:
            yield Line(f"{row.method} is compared at a bound that the policy does not state", "assumed")


def _advice(comparison: Comparison, best: MethodResult | None) -> str:
    """One sentence."""
    if best is None:
        return "No method can publish under this policy: the reasons say what to change."
    assert best.measured is not None
    relative = not _all_counts(comparison)
    half = best.measured.median_relative_error if relative else best.measured.median_error
    off = "an amount that is not known" if half is None else f"{shown_number(half)} of the truth" if relative else (
        f"{shown_number(half)} rows"
    )  # fmt: skip
    sentence = f"For these questions take {best.method}: half of its answers are off by at most {off}"
    others = [r for r in comparison.rows if r.measured and r.chosen is None and r is not best]
    safer = [r for r in others if r.posterior is not None and r.posterior < (best.posterior or 1.0) - 1e-9]
    if best.posterior is None:
        return f"{sentence}; what a linking attacker may come to believe of it is not known."
    sentence += f", and a linking attacker comes to believe no value with more than {shown_number(best.posterior)}"
    if safer:
        least = min(safer, key=lambda r: r.posterior or 1.0)
        sentence += f" ({least.method}: {shown_number(least.posterior or 0)})"
    return f"{sentence}."


def _number(value: float | None) -> str:
    return "" if value is None else shown_number(value, 3)
