"""A randomized release that could be made: domains numbered, tuples counted, noise calibrated."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

from sqlpriv.core.engine import fetch
from sqlpriv.core.errors import PolicyError, SqlprivError
from sqlpriv.core.facts import Facts
from sqlpriv.core.sqltext import folded, literal
from sqlpriv.methods.charts import PrivacyCost
from sqlpriv.methods.method import CannotPublish, Plan, Request, Written
from sqlpriv.methods.noisy import wording
from sqlpriv.methods.noisy.attackers import Background, Wanted
from sqlpriv.methods.noisy.calibration import Calibrate, Calibration, NoBound, find_bound
from sqlpriv.methods.noisy.column_sets import GOOD_ERROR, Trials
from sqlpriv.methods.noisy.combinations import possible_choices
from sqlpriv.methods.noisy.draws import Alias, make_alias
from sqlpriv.methods.noisy.facts import Alternatives, planned_facts, published_facts, refused_facts
from sqlpriv.methods.noisy.mechanism import ErrorWeights, NoiseByValue
from sqlpriv.methods.noisy.policy import CALIBRATED, RandomizedPolicy
from sqlpriv.methods.noisy.tuples import (
    Elements,
    domain_digest,
    number_elements,
    refuse_more_rows,
    table_digest,
    write_tuples,
)
from sqlpriv.release.ledger.entry import Spent
from sqlpriv.table.domains import NumberedColumn, read_domains
from sqlpriv.table.source import Source

GAMMAS = (0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.7, 0.9)


@dataclass(frozen=True)
class RandomizedPlan(Plan[RandomizedPolicy]):
    """A policy with its data read."""

    columns: tuple[NumberedColumn, ...]
    aliases: tuple[Alias, ...] | None
    elements: Elements
    calibration: Calibration
    background: Background
    calibrate: Calibrate
    questions: Facts | None = None
    """How far off the answers to the owner's questions will be, if any were asked."""

    @cached_property
    def digest(self) -> str:
        """A digest of the tuples of the table."""
        return table_digest(self.source, self.columns)

    @property
    def error_weights(self) -> ErrorWeights:
        """The weights with which the private table gives the error of estimates beforehand."""
        return self.calibration.mechanism.error_weights(self.source.calls)

    def seed_parameters(self) -> dict[str, object]:
        """The bound, the numbers of the noise, and a digest of the domain. Frozen: noise is drawn from it."""
        found = self.calibration
        sequence = {"slots": found.slots, "views": found.views} if self.policy.has_slots else {}
        parameters: dict[str, object] = {
            "d": found.d,
            "gamma": found.gamma,
            "adversary": found.adversary,
            **{"alpha": None, "beta": None, "stay": 0.0, "rate": None, **found.mechanism.seed},
            **sequence,
            "domain": domain_digest(self.source, self.columns),
        }
        return parameters

    def spent(self) -> Spent | None:
        """What the ledger adds up: of noisy counts both kinds, of FRAPP replaced rows alone, of slots nothing."""
        found = self.calibration
        if not found.mechanism.composes:
            return None
        added = None if found.added_epsilon is None else (found.added_epsilon, 0.0)
        unit = "person" if self.policy.person is not None else "row"
        return Spent(unit, added, (found.replaced_epsilon, 0.0))

    def warnings(self) -> tuple[str, ...]:
        """Those of the calibration."""
        return self.calibration.for_the_owner

    def refuse(self, request: Request) -> None:
        """Refuse what does not cover the attackers people fear, is too large, or says nothing unless it is forced."""
        refusals = self.refusals(forced=request.force)
        if refusals:
            raise PolicyError(refusals[0])

    def refusals(self, *, forced: bool = False) -> list[str]:
        """Why it is not published as it is."""
        found, policy = self.calibration, self.policy
        listed = []
        if found.uncovered and not policy.uncovered:
            instead = wording.instead_of(is_given=policy.gives_prior, has_slots=found.slots > 1 or found.views > 1)
            by_shares = found.mechanism.by_value is not None
            listed.append(wording.not_covered(found.attackers, found.gamma, instead, by_shares=by_shares))
        if found.expected_rows > policy.max_rows:
            listed.append(wording.too_many_rows(found.expected_rows, policy.max_rows))
        if not found.possible and not forced:
            listed.append(wording.useless(found.half_domain_error, found.n_public))
        return listed

    def facts(self, written: Written | None = None) -> Facts:
        """What would be published and what it means, with what other gammas would cost; or what was published."""
        method, found = self.policy.method, self.calibration
        if written is not None:
            return published_facts(method, found, written)
        refusals = self.refusals()
        is_poor = bool(refusals) or found.small_error > GOOD_ERROR
        sizes = {c.name: c.size for c in self.columns}
        trials = Trials(self.source, self.policy, found.rows, self.background, sizes, self.calibrate)
        instead = (trials.sets(), trials.coarser()) if is_poor else ((), {})
        planned = planned_facts(method, found, Alternatives(self.costs(), refusals, *instead, self._bytes()))
        if self.questions is None:
            return planned
        content = {**planned.content, "queries": self.questions.content}
        return replace(planned, content=content, parts=(*planned.parts, *self.questions.parts))

    def _bytes(self) -> int:
        """About how large the file will be."""
        bits = " + ".join(f"log2({c.size})" for c in self.columns)
        return int(self.source.calls.value(f"_release_bytes({self.calibration.expected_rows!r}, {bits})"))

    def with_release(self, release: Mapping[str, Any]) -> RandomizedPlan:
        """The plan for other keys of [release] that change nothing but the noise."""
        policy, rows = replace(self.policy, release=release), self.calibration.rows
        found = _calibrated(self.source, policy, rows, self.background, self.columns, self.aliases, self.calibrate)
        return replace(self, policy=policy, calibration=found)

    def costs(self) -> list[Calibration]:
        """The noise for other gammas, and for the policy's own; those that cannot be are left out."""
        found = []
        for gamma in sorted({*GAMMAS, self.calibration.gamma}):
            release = {**self.policy.release, "gamma": gamma}
            try:
                other = self.with_release({k: None if k in CALIBRATED else v for k, v in release.items()}).calibration
            except SqlprivError:
                continue
            # Where more values are as common as gamma, a smaller one costs less because it covers less.
            if _uncovered_values(other) <= _uncovered_values(self.calibration):
                found.append(other)
        return found

    def charts(self) -> tuple[PrivacyCost, ...]:
        """The error of half the domain, as a share of the rows, against gamma."""
        points = [(t.gamma, t.half_domain_error / t.n_public) for t in self.costs()]
        return (PrivacyCost(points, float(self.policy.release["gamma"])),) if points else ()


def make_plan(source: Source, policy: RandomizedPolicy, calibrate: Calibrate) -> RandomizedPlan:
    """Read domains and table, and calibrate the noise."""
    columns = read_domains(source, [c.name for c in policy.columns], policy.published)
    rows = write_tuples(source, columns)
    if rows == 0:
        raise PolicyError("the table has no rows to publish")
    if policy.person is not None:
        refuse_more_rows(source, policy.person, policy.rows_each)
    if policy.is_distinct:
        fetch(source.con, "UPDATE __tuples SET copies = 1")
        rows = int(fetch(source.con, "SELECT count(*) FROM __tuples")[0][0])
    _share_out(source, policy, columns)
    aliases = _aliases(source, columns) if policy.has_source and policy.shared is None else None
    background = _background(source, policy, columns)
    try:
        calibration = _calibrated(source, policy, rows, background, columns, aliases, calibrate)
    except NoBound as error:
        sizes = {c.name: c.size for c in columns}
        sets = Trials(source, policy, rows, background, sizes, calibrate).sets()
        why = str(error)
        if not policy.gives_prior:
            why = f"{why}; {wording.advice(background, [s.columns for s in sets])}"
        raise CannotPublish(why, refused_facts(source.calls, policy, background, sets, why)) from None
    _write_noise(source, columns, calibration.mechanism.by_value)
    elements = number_elements([*(c.size for c in columns), calibration.slots])
    return RandomizedPlan(policy, source, columns, aliases, elements, calibration, background, calibrate)


def _background(source: Source, policy: RandomizedPolicy, columns: Sequence[NumberedColumn]) -> Background:
    """What attackers know."""
    choices = possible_choices(source, policy, columns)
    if max(choices.values()) == 1:
        raise PolicyError("the sensitive columns have one possible value each, so there is nothing to hide")
    shared = {c.name: c for c in columns if _is_shared(policy, c)}
    return Background(
        tuple(Wanted(name, n, _shares(source, shared[name]) if name in shared else ()) for name, n in choices.items()),
        tuple(c.name for c in columns if c.column.role == "quasi-identifier"),
        math.prod(c.size for c in columns),
        policy.times,
        policy.rows_each,
    )


def _calibrated(
    source: Source,
    policy: RandomizedPolicy,
    rows: int,
    background: Background,
    columns: Sequence[NumberedColumn],
    aliases: Sequence[Alias] | None,
    calibrate: Calibrate,
) -> Calibration:
    shares = None
    if aliases is not None:
        largest = math.prod((max(a.shares) for a in aliases), start=Fraction(1))
        shares = (largest, math.prod((min(a.shares) for a in aliases), start=Fraction(1)))
    bound = find_bound(source.calls, policy, rows, background, [c.size for c in columns], shares)
    found = calibrate(source, policy, bound)
    promise = wording.with_uncovered(found.promise, found.attackers, found.gamma, policy.uncovered)
    return replace(found, promise=promise)


def _uncovered_values(found: Calibration) -> int:
    return 0 if found.mechanism.by_value is None else found.mechanism.by_value.uncovered


def _is_shared(policy: RandomizedPolicy, column: NumberedColumn) -> bool:
    return policy.shared is not None and folded(column.name) == folded(policy.shared)


def _share_out(source: Source, policy: RandomizedPolicy, columns: Sequence[NumberedColumn]) -> None:
    """What attackers know of a column are shares of 1, whatever the policy counts in."""
    for column in columns:
        if _is_shared(policy, column):
            if column.size == 1:
                raise PolicyError(f"domain of {column.name!r}: it has one value, which needs no share")
            total = f"(SELECT sum(share ORDER BY id) FROM {column.table})"
            fetch(source.con, f"UPDATE {column.table} SET share = share / {total}")
            if not all(0 < share < 1 for share in _shares(source, column)):
                raise PolicyError(f"domain of {column.name!r}: some shares are too small beside the others")


def _write_noise(source: Source, columns: Sequence[NumberedColumn], by_value: NoiseByValue | None) -> None:
    """Where noise follows public shares, the domain says how much each value has: queries sum over it."""
    if by_value is not None:
        table = next(c.table for c in columns if c.name == by_value.column)
        noise = f"CAST({literal(by_value.copies)} AS DOUBLE[])[id + 1] AS noise"
        fetch(source.con, f"CREATE OR REPLACE TABLE {table} AS SELECT *, {noise} FROM {table} ORDER BY id")


def _shares(source: Source, column: NumberedColumn) -> tuple[float, ...]:
    return tuple(float(r[0]) for r in fetch(source.con, f"SELECT share FROM {column.table} ORDER BY id"))


def _aliases(source: Source, columns: Sequence[NumberedColumn]) -> tuple[Alias, ...]:
    """How noise draws each attribute; the domain tables then state the shares that are really drawn."""
    aliases = []
    for column in columns:
        given = [r[0] for r in fetch(source.con, f"SELECT share FROM {column.table} ORDER BY id")]
        alias = make_alias(None if column.column.share is None else given, column.size)
        if not all(alias.shares):
            raise PolicyError(f"domain of {column.name!r}: some shares are too small to be drawn at all")
        shares = ", ".join(repr(float(s)) for s in alias.shares)
        fetch(source.con, f"UPDATE {column.table} SET share = CAST([{shares}] AS DOUBLE[])[id + 1]")
        aliases.append(alias)
    return tuple(aliases)
