"""A randomized release that could be made: domains numbered, tuples counted, noise calibrated."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

from sqlpriv.checks.verdict import Evidence
from sqlpriv.core.engine import fetch
from sqlpriv.core.errors import PolicyError, SqlprivError
from sqlpriv.core.facts import Facts
from sqlpriv.core.relation import Relation
from sqlpriv.core.sqltext import literal
from sqlpriv.methods.charts import PrivacyCost
from sqlpriv.methods.method import CannotPublish, Plan, Request, Written
from sqlpriv.methods.noisy import wording
from sqlpriv.methods.noisy.attackers import attacker_evidence
from sqlpriv.methods.noisy.background import Background, is_shared, planned_background, shares_of
from sqlpriv.methods.noisy.calibration import Calibrate, Calibration, NoBound, find_bound
from sqlpriv.methods.noisy.draws import Alias, make_alias
from sqlpriv.methods.noisy.facts import GOOD_ERROR, Trials, planned_facts, published_facts, refused_facts
from sqlpriv.methods.noisy.policy import CALIBRATED, RandomizedPolicy
from sqlpriv.methods.noisy.tuples import Elements, count_tuples, number_elements, refuse_more_rows
from sqlpriv.release.ledger.entry import Spent
from sqlpriv.table.digest import digest_of
from sqlpriv.table.domains import NumberedColumn, read_domains
from sqlpriv.table.source import Source

GAMMAS = (0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.7, 0.9)


@dataclass(frozen=True)
class RandomizedPlan(Plan[RandomizedPolicy]):
    """A policy with its data read."""

    columns: tuple[NumberedColumn, ...]
    tuples: Relation
    """The private table as tuples of numbers, with their copies."""
    aliases: tuple[Alias, ...] | None
    """How noise that follows the shares of whole tuples draws each column."""
    elements: Elements
    calibration: Calibration
    calibrate: Calibrate
    questions: Facts | None = None
    """How far off the answers to the owner's questions will be, if any were asked."""

    @cached_property
    def digest(self) -> str:
        """A digest of the published part of the table: sums of hashed tuples."""
        tuple_text = " || ',' || ".join([*(f"CAST(i{a} AS VARCHAR)" for a in range(len(self.columns))), "''"])
        hashed = f"sha256({tuple_text} || '|' || CAST(copies AS VARCHAR))"
        return digest_of(self.source.con, f"SELECT {hashed} AS bits FROM {self.tuples.name}")

    def seed_parameters(self) -> dict[str, object]:
        """The bound, the numbers of the noise, and a digest of the domain. Frozen: noise is drawn from it."""
        found, digests = self.calibration, []
        for column in self.columns:
            values = (
                "string_agg(coalesce(CAST(value AS VARCHAR), '') || '|' || (value IS NULL) || '|' || "
                "coalesce(CAST(share AS VARCHAR), ''), chr(10) ORDER BY id)"
            )
            named = literal(f"{column.name}|{column.type}")
            digests.append(fetch(self.source.con, f"SELECT sha256({named} || {values}) FROM {column.table.name}")[0][0])
        sequence = {"slots": self.policy.slots, "views": self.policy.views} if self.policy.has_slots else {}
        return {
            "d": found.d,
            "gamma": found.gamma,
            "adversary": found.adversary,
            **{"alpha": None, "beta": None, "stay": 0.0, "rate": None, **found.mechanism.seed},
            **sequence,
            "domain": str(fetch(self.source.con, f"SELECT sha256({literal('|'.join(digests))})")[0][0]),
        }

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

    def evidence(self) -> Iterator[Evidence]:
        """By the attackers, and by what is read off the table."""
        yield from wording.evidence_of_policy(self.policy)
        yield from attacker_evidence(self.calibration.attackers)

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
            by_shares = found.mechanism.by_value is not None
            listed.append(wording.not_covered(policy, found.attackers, by_shares=by_shares))
        if found.expected_rows > policy.max_rows:
            listed.append(wording.too_many_rows(found.expected_rows, policy.max_rows))
        if not found.possible and not forced:
            listed.append(wording.useless(found.half_domain_error, found.n_public))
        return listed

    def facts(self, written: Written | None = None) -> Facts:
        """What would be published and what it means, with what other gammas would cost; or what was published."""
        found = self.calibration
        if written is not None:
            return published_facts(self.policy, found, written)
        refusals = self.refusals()
        is_poor = bool(refusals) or found.small_error > GOOD_ERROR
        sizes = {c.name: c.size for c in self.columns}
        trials = Trials(self.source, self.policy, found.rows, found.background, sizes, self.calibrate)
        sets, coarser = (trials.sets(), trials.coarser()) if is_poor else ((), {})
        bits = " + ".join(f"log2({size})" for size in sizes.values())
        size = int(self.source.calls.value(f"_release_bytes({found.expected_rows!r}, {bits})"))
        planned = planned_facts(self.policy, found, refusals, sets, coarser, self.costs(), size)
        if self.questions is None:
            return planned
        content = {**planned.content, "queries": self.questions.content}
        return replace(planned, content=content, parts=(*planned.parts, *self.questions.parts))

    def with_release(self, release: Mapping[str, Any]) -> RandomizedPlan:
        """The plan for other keys of [release] that change nothing but the noise."""
        policy, before = replace(self.policy, release=release), self.calibration
        found = _calibrated(self.source, policy, before.rows, before.background, self.aliases, self.calibrate)
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
    tuples = count_tuples(source, columns, is_distinct=policy.is_distinct)
    rows = int(fetch(source.con, f"SELECT coalesce(sum(copies), 0) FROM {tuples.name}")[0][0])
    if rows == 0:
        raise PolicyError("the table has no rows to publish")
    if policy.person is not None:
        refuse_more_rows(source, policy.person, policy.rows_each)
    for column in columns:
        if is_shared(policy, column):
            _share_out(source, column)
    aliases = _aliases(source, columns) if policy.has_source and policy.shared is None else None
    background = planned_background(source, policy, columns, tuples)
    try:
        calibration = _calibrated(source, policy, rows, background, aliases, calibrate)
    except NoBound as error:
        sizes = {c.name: c.size for c in columns}
        sets = Trials(source, policy, rows, background, sizes, calibrate).sets()
        why = str(error)
        if not policy.gives_prior:
            why = f"{why}; {wording.advice(background, [s.columns for s in sets])}"
        raise CannotPublish(why, refused_facts(source.calls, policy, background, sets, why)) from None
    if (by_value := calibration.mechanism.by_value) is not None:
        # The domain says how much noise each value has: queries sum over it.
        noise = f"CAST({literal(by_value.copies)} AS DOUBLE[])[id + 1] AS noise"
        columns = tuple(
            replace(c, table=source.scratch.table(f"SELECT *, {noise} FROM {c.table.name} ORDER BY id", "domain"))
            if c.name == by_value.column
            else c
            for c in columns
        )
    elements = number_elements([*(c.size for c in columns), policy.slots])
    return RandomizedPlan(policy, source, columns, tuples, aliases, elements, calibration, calibrate)


def _calibrated(
    source: Source,
    policy: RandomizedPolicy,
    rows: int,
    background: Background,
    aliases: Sequence[Alias] | None,
    calibrate: Calibrate,
) -> Calibration:
    shares = None
    if aliases is not None:
        largest = math.prod((max(a.shares) for a in aliases), start=Fraction(1))
        shares = (largest, math.prod((min(a.shares) for a in aliases), start=Fraction(1)))
    found = calibrate(source, policy, find_bound(source.calls, policy, rows, background, shares))
    promise = wording.with_uncovered(found.meaning.promise, found.attackers, found.gamma, policy.uncovered)
    return replace(found, meaning=replace(found.meaning, promise=promise))


def _uncovered_values(found: Calibration) -> int:
    return 0 if found.mechanism.by_value is None else found.mechanism.by_value.uncovered


def _share_out(source: Source, column: NumberedColumn) -> None:
    """What attackers know of a column are shares of 1, whatever the policy counts in."""
    if column.size == 1:
        raise PolicyError(f"domain of {column.name!r}: it has one value, which needs no share")
    total = f"(SELECT sum(share ORDER BY id) FROM {column.table.name})"
    fetch(source.con, f"UPDATE {column.table.name} SET share = share / {total}")
    if not all(0 < share < 1 for share in shares_of(source, column)):
        raise PolicyError(f"domain of {column.name!r}: some shares are too small compared with the others")


def _aliases(source: Source, columns: Sequence[NumberedColumn]) -> tuple[Alias, ...]:
    """How noise draws each attribute; the domain tables then state the shares that are really drawn."""
    aliases = []
    for column in columns:
        alias = make_alias(None if column.column.share is None else shares_of(source, column), column.size)
        if not all(alias.shares):
            raise PolicyError(f"domain of {column.name!r}: some shares are too small to be drawn at all")
        shares = literal([float(s) for s in alias.shares])
        fetch(source.con, f"UPDATE {column.table.name} SET share = CAST({shares} AS DOUBLE[])[id + 1]")
        aliases.append(alias)
    return tuple(aliases)
