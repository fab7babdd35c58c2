"""Each method on the same workload: its policy made from the given one, its release rehearsed, asked and measured.

Nothing is published: every release is made in a scratch folder and removed when it has been asked. A method that
refuses gets a row with its reason.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sqlpriv import publishing
from sqlpriv.comparing.attackers import TWICE, against, times_of, worst_posterior
from sqlpriv.comparing.measure import Measured, measure
from sqlpriv.comparing.protection import Protection, stated
from sqlpriv.comparing.rehearse import rehearsed
from sqlpriv.comparing.truth import Truth, ask_private
from sqlpriv.comparing.turn import Turned, turned
from sqlpriv.errors import InputError, PolicyError, SqlprivError
from sqlpriv.facts import OnProgress
from sqlpriv.methods import METHODS
from sqlpriv.methods.method import Plan, Request, Tuned
from sqlpriv.methods.randomized.coins import read_key
from sqlpriv.policy.file import Policy
from sqlpriv.release.file import WRITTEN, ReleaseFile
from sqlpriv.release.scratch import scratch_folder

_MOST_TUNED = 12
"""So many questions decide what is best for a workload: that is to take some hundredths of the time of all."""
_ROWS = ("rows", "persons")
"""What a release may say that it counts; persons are counted by what is required of it, and rows by its answers."""
_TUNE_SECONDS = 60.0
"""So long a search for it takes at most, unless another limit is given."""
_MADE, _ASKED = 0.4, 0.6  # about how the time goes


@dataclass(frozen=True)
class Asked:
    """How to compare: the workload or its seed, the key of the coins, the time for a search, and whether to tune."""

    workload: Path | None = None
    seed: int = 0
    key_file: Path | None = None
    time_limit: float | None = None
    tune: bool = True
    times: float = TWICE
    """By how much attackers are ahead of an even guess, in odds."""


@dataclass(frozen=True)
class Row:
    """A method: what its release answered, cost and lets attackers believe; or why there is none."""

    method: str
    against: str = ""
    turned: Turned | None = None
    refused: str | None = None
    measured: Measured | None = None
    publish_seconds: float = 0.0
    ask_seconds: float = 0.0
    bytes: int | None = None
    posterior: float | None = None
    best: Mapping[str, Any] | None = None
    """Options that are best for the workload, read off the table; where this is not the row of them."""
    chosen: Mapping[str, Any] | None = None
    """The options that this row was tuned to."""

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
    rows: tuple[Row, ...]
    asked: Asked


def run(policy: Policy, methods: str | Sequence[str], asked: Asked, on_progress: OnProgress = None) -> Comparison:
    """Compare methods on a workload at the protection of a policy. A text names methods between commas; none: all."""
    names = _known(methods)
    read_key(asked.key_file)  # a file that is not there is said now, and not in the row of each method
    protection, asked = stated(policy), replace(asked, times=times_of(policy))
    steps = _Steps(on_progress, 1 + len(names))
    truth = ask_private(policy, asked.workload, asked.seed, steps.next())
    rows: list[Row] = []
    with scratch_folder() as folder:
        for name in names:
            heard = steps.next()
            row = _row(name, policy, protection, truth, asked, folder, heard)
            rows.append(row)
            if row.best:
                tuned = _tuned(row, truth, asked, folder)
                rows += [tuned] if _is_better(tuned, row) else []
    return Comparison(policy, protection, truth, tuple(rows), asked)


def _known(methods: str | Sequence[str]) -> list[str]:
    names = [name.strip() for name in methods.split(",")] if isinstance(methods, str) else methods
    unknown = [name for name in names if name not in METHODS]
    if unknown:
        raise InputError(f"there is no method {unknown[0]!r}; there are {', '.join(METHODS)}")
    return list(dict.fromkeys(names)) or list(METHODS)


def _row(
    name: str,
    policy: Policy,
    protection: Protection,
    truth: Truth,
    asked: Asked,
    folder: Path,
    on_progress: OnProgress,
) -> Row:
    method = METHODS[name]
    row = Row(name, against(method))
    try:
        row = replace(row, turned=turned(policy, METHODS[policy.method], method, protection))
        return _rehearse(row, truth, asked, folder, on_progress, asked.tune)
    except SqlprivError as error:
        return replace(row, refused=str(error))


def _tuned(row: Row, truth: Truth, asked: Asked, folder: Path) -> Row:
    """The same method with the options that are best for the workload."""
    assert row.turned is not None
    assert row.best is not None
    policy = row.turned.policy
    release, written = {**policy.release, **row.best}, policy.written | set(row.best)
    chosen = replace(row, turned=replace(row.turned, policy=replace(policy, release=release, written=written)))
    chosen = replace(chosen, chosen=row.best, best=None, measured=None, bytes=None, posterior=None)
    try:
        return _rehearse(chosen, truth, asked, folder, None, tune=False)
    except SqlprivError as error:
        return replace(chosen, refused=str(error))


def _is_better(tuned: Row, row: Row) -> bool:
    """Some of the questions decide what is tuned, by a mean: what is not better for all of them is not worth a row."""
    if tuned.measured is None or row.measured is None:
        return False
    one, other = tuned.measured.median_error, row.measured.median_error
    return one is not None and other is not None and one < other


def _rehearse(row: Row, truth: Truth, asked: Asked, folder: Path, on_progress: OnProgress, tune: bool) -> Row:
    """Make the release, ask it all questions, and see what attackers have of it."""
    assert row.turned is not None
    request = Request(time_limit=asked.time_limit, on_progress=_part(on_progress, 0, _MADE))
    start = time.perf_counter()
    with rehearsed(row.turned.policy, folder, asked.key_file, request) as (plan, written):
        made = time.perf_counter()
        with publishing.open_release(written.output) as release:
            file = ReleaseFile(release.con, WRITTEN, written.output.name)
            _refuse_other_counts(file)
            measured = measure(release, truth, _part(on_progress, _MADE, _ASKED))
            done = time.perf_counter()
            believed = worst_posterior(METHODS[row.method], plan, written, file, asked.times)
        row = replace(row, measured=measured, publish_seconds=made - start, ask_seconds=done - made)
        row = replace(row, bytes=written.output.stat().st_size, posterior=believed)
        return replace(row, best=_best(plan, measured.asked, request)) if tune else row


def _refuse_other_counts(file: ReleaseFile) -> None:
    """Where equal rows are counted as one, answers are about something else than those of the private table."""
    counts = file.about.get("counts", "rows")
    if counts not in _ROWS:
        raise PolicyError(f"its count(*) is the number of {counts}, and questions here are about rows")


def _best(plan: Plan, queries: Sequence[str], request: Request) -> Mapping[str, Any]:
    """By some of the questions, from all over the workload."""
    method = METHODS[plan.policy.method]
    if not isinstance(method, Tuned) or not queries:
        return {}
    step = -(-len(queries) // _MOST_TUNED)
    limit = _TUNE_SECONDS if request.time_limit is None else request.time_limit
    try:
        return method.best_for(plan, queries[::step], replace(request, on_progress=None, time_limit=limit))
    except PolicyError:  # what cannot be tuned is as it is
        return {}


def _part(on_progress: OnProgress, start: float, share: float) -> OnProgress:
    return None if on_progress is None else lambda done: on_progress(start + share * done)


class _Steps:
    """One bar over several pieces of work of the same length."""

    def __init__(self, on_progress: OnProgress, many: int) -> None:
        self._on_progress = on_progress
        self._many = many
        self._done = -1

    def next(self) -> OnProgress:
        """What hears of the next piece."""
        self._done += 1
        return _part(self._on_progress, self._done / self._many, 1 / self._many)
