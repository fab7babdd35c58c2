"""Each method on the same workload: its policy made from the given one, its release rehearsed, asked and measured.

Nothing is published: every release is made in a scratch folder and removed when it has been asked. A method that
refuses gets a row with its reason.

All methods face one attacker, the linking one of docs/promise.md, who knows the quasi-identifiers of a person, and
that the person is in the table. This attacker knows nothing of the others in particular. Beforehand no value of this
person seems more than so many times as likely, in odds, as of anybody.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import duckdb

from sqlpriv import publishing
from sqlpriv.comparison.conversion import Converted, Protection, convert, declared_protection
from sqlpriv.comparison.measure import Measured, measure
from sqlpriv.comparison.truth import Truth, ask_private
from sqlpriv.core.engine import scratch_folder, translate
from sqlpriv.core.errors import InputError, PolicyError, ReleaseError, SqlprivError, did_you_mean
from sqlpriv.core.facts import OnProgress
from sqlpriv.methods import METHODS
from sqlpriv.methods.method import AnyPlan, Request, Written
from sqlpriv.policy.file import Policy
from sqlpriv.publishing.draft import first_edition, given_key
from sqlpriv.publishing.noise import read_key
from sqlpriv.release.file import WRITTEN, ReleaseFile
from sqlpriv.release.ledger.entry import now
from sqlpriv.release.place import remove_partial
from sqlpriv.risk.learned_figures import LearnedFigures

_MOST_TUNED = 12
"""So many questions decide what is best for a workload: that is to take some hundredths of the time of all."""
_ROWS = ("rows", "persons")
"""What a release may say that it counts; persons are counted by what is required of it, and rows by its answers."""
_TUNE_SECONDS = 60.0
"""So long a search for it takes at most, unless another limit is given."""
_MADE, _ASKED = 0.4, 0.6  # about how the time goes
_TIMES = "times"
TWICE = 2.0
"""How many times the odds, where the policy does not say it."""


@dataclass(frozen=True)
class CompareOptions:
    """How to compare: the workload or its seed, the key of the noise, the time for a search, and whether to tune."""

    workload: Path | None = None
    seed: int = 0
    key_file: Path | None = None
    time_limit: float | None = None
    tune: bool = True
    times: float = TWICE
    """By how much attackers are ahead of an even guess, in odds."""


@dataclass(frozen=True)
class MethodResult:
    """A method: what its release answered, cost and lets attackers believe; or why there is none."""

    method: str
    against: str = ""
    converted: Converted | None = None
    refused: str | None = None
    measured: Measured | None = None
    publish_seconds: float = 0.0
    ask_seconds: float = 0.0
    bytes: int | None = None
    posterior: float | None = None
    learned: LearnedFigures | None = None
    """How many people a reader guesses who learns from the whole release."""
    best: Mapping[str, Any] | None = None
    """Options that are best for the workload, read off the table; where this is not the row of them."""
    chosen: Mapping[str, Any] | None = None
    """The options that this row was tuned to."""

    @property
    def name(self) -> str:
        """The method, with a star where it was tuned by the private table."""
        return self.method if self.chosen is None else f"{self.method} *"

    @property
    def seconds(self) -> float:
        """Publishing and asking."""
        return self.publish_seconds + self.ask_seconds


@dataclass(frozen=True)
class Comparison:
    """Rows by method, each followed by the one that is tuned for the workload, if there is one."""

    policy: Policy
    protection: Protection
    truth: Truth
    rows: tuple[MethodResult, ...]
    options: CompareOptions
    compared: int = 0
    """So many questions are answered by every method that answers any: by these all are measured and ranked."""


def compare_methods(
    policy: Policy, methods: str | Sequence[str], options: CompareOptions, on_progress: OnProgress = None
) -> Comparison:
    """Compare methods on a workload at the protection of a policy. A text names methods between commas; none: all."""
    names = _known(methods)
    read_key(options.key_file)  # a file that is not there is said now, and not in the row of each method
    protection, options = declared_protection(policy), replace(options, times=times_of(policy))
    pieces = 1 + len(names)  # of the same length, about
    truth = ask_private(policy, options.workload, options.seed, _part(on_progress, 0, 1 / pieces))
    rows: list[MethodResult] = []
    with scratch_folder() as folder:
        for done, name in enumerate(names, 1):
            row = MethodResult(name, METHODS[name].against)
            try:
                row = replace(row, converted=convert(policy, METHODS[policy.method], METHODS[name], protection))
                share_done = _part(on_progress, done / pieces, 1 / pieces)
                row = _rehearse(row, truth, options, folder, share_done, options.tune)
            except SqlprivError as error:
                row = replace(row, refused=str(error))
            rows.append(row)
            if row.best:
                tuned = _tuned(row, truth, options, folder)
                rows += [tuned] if _is_better(tuned, row) else []
    common = _common(rows)
    rows = [r if r.measured is None or not common else replace(r, measured=r.measured.only(common)) for r in rows]
    return Comparison(policy, protection, truth, tuple(rows), options, len(common))


def _common(rows: Sequence[MethodResult]) -> frozenset[int]:
    """The questions that all answer who answer any."""
    answered = [frozenset(r.measured.by_question) for r in rows if r.measured is not None and r.measured.answered]
    return frozenset.intersection(*answered) if answered else frozenset()


def _known(methods: str | Sequence[str]) -> list[str]:
    names = [name.strip() for name in methods.split(",")] if isinstance(methods, str) else methods
    unknown = [name for name in names if name not in METHODS]
    if unknown:
        near = did_you_mean(unknown[0], METHODS)
        raise InputError(f"there is no method {unknown[0]!r}; there are {', '.join(METHODS)}{near}")
    return list(dict.fromkeys(names)) or list(METHODS)


def _tuned(row: MethodResult, truth: Truth, options: CompareOptions, folder: Path) -> MethodResult:
    """The same method with the options that are best for the workload."""
    assert row.converted is not None
    assert row.best is not None
    policy = row.converted.policy
    release, written = {**policy.release, **row.best}, policy.written | set(row.best)
    chosen = replace(row, converted=replace(row.converted, policy=replace(policy, release=release, written=written)))
    chosen = replace(chosen, chosen=row.best, best=None, measured=None, bytes=None, posterior=None, learned=None)
    try:
        return _rehearse(chosen, truth, options, folder, None, tune=False)
    except SqlprivError as error:
        return replace(chosen, refused=str(error))


def _is_better(tuned: MethodResult, row: MethodResult) -> bool:
    """Some of the questions decide what is tuned, by a mean: what is not better for all of them is not worth a row."""
    if tuned.measured is None or row.measured is None:
        return False
    one, other = tuned.measured.median_error, row.measured.median_error
    return one is not None and other is not None and one < other


def _rehearse(
    row: MethodResult, truth: Truth, options: CompareOptions, folder: Path, on_progress: OnProgress, tune: bool
) -> MethodResult:
    """Make the release, ask it all questions, and see what attackers have of it."""
    assert row.converted is not None
    request = Request(time_limit=options.time_limit, on_progress=_part(on_progress, 0, _MADE))
    start = time.perf_counter()
    with rehearsed(row.converted.policy, folder, options.key_file, request) as (plan, written):
        made = time.perf_counter()
        with publishing.open_release(written.output) as release:
            file = ReleaseFile(release.con, WRITTEN, written.output.name)
            _refuse_other_counts(file)
            measured = measure(release, truth, _part(on_progress, _MADE, _ASKED))
            done = time.perf_counter()
            believed = METHODS[row.method].posterior(plan, file, options.times)
            learned = METHODS[row.method].learned(plan, file)
        row = replace(row, measured=measured, publish_seconds=made - start, ask_seconds=done - made)
        row = replace(row, bytes=written.output.stat().st_size, posterior=believed, learned=learned)
        return replace(row, best=_best(plan, measured.queries, request)) if tune else row


@contextmanager
def rehearsed(
    policy: Policy, folder: Path, key_file: Path | None, request: Request
) -> Iterator[tuple[AnyPlan, Written]]:
    """The release that a policy would make, in a file of the folder, while its private table is open.

    It is planned, refused, written and verified as publishing does it, so what does not come out here would not there.
    With the same key it is, to the last row, what publishing would give as the first release of the table.
    """
    method = METHODS[policy.method]
    given = given_key(method, policy, key_file if method.draws else None)
    path = folder / f"{method.name}.duckdb"
    with publishing.open_private(policy) as (source, spelt):
        before = policy.table.state()
        plan = method.plan(source, spelt, request)
        plan.refuse(request)
        edition = first_edition(method, plan, read_key(None) if given is None else given)
        try:
            made, _ = publishing.make_file(method, plan, edition, now()[:10], path, request, before)
            yield plan, Written(path, edition.view, made)
        except duckdb.Error as error:
            raise translate(error) from None
        except OSError:
            raise ReleaseError("cannot write in the folder for temporary files; set TMPDIR to another") from None
        finally:
            remove_partial(path)


def times_of(policy: Policy) -> float:
    """By how much the attacker of all methods is ahead of an even guess, in odds."""
    return float(policy.release[_TIMES]) if _TIMES in policy.written else TWICE


def _refuse_other_counts(file: ReleaseFile) -> None:
    """Where equal rows are counted as one, answers are about something else than those of the private table."""
    counts = file.about.get("counts", "rows")
    if counts not in _ROWS:
        raise PolicyError(f"its count(*) is the number of {counts}, and questions here are about rows")


def _best(plan: AnyPlan, queries: Sequence[str], request: Request) -> Mapping[str, Any]:
    """By some of the questions, from all over the workload."""
    if not queries:
        return {}
    step = -(-len(queries) // _MOST_TUNED)
    limit = _TUNE_SECONDS if request.time_limit is None else request.time_limit
    try:
        found: Mapping[str, Any] = METHODS[plan.policy.method].best_for(
            plan, queries[::step], replace(request, on_progress=None, time_limit=limit)
        )
    except PolicyError:  # what cannot be tuned is as it is
        return {}
    return found


def _part(on_progress: OnProgress, start: float, share: float) -> OnProgress:
    """What is called with the progress of a piece that starts somewhere and is a share of the whole."""
    return None if on_progress is None else lambda done: on_progress(start + share * done)
