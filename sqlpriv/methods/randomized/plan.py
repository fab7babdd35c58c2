"""A randomized release that could be made: domains numbered, tuples counted, terms found."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

from sqlpriv.engine import fetch
from sqlpriv.errors import PolicyError, SqlprivError
from sqlpriv.facts import Facts
from sqlpriv.methods.method import CannotPublish, Request, Written
from sqlpriv.methods.randomized.advice import GOOD_ERROR, MakeTerms, Trials, advice
from sqlpriv.methods.randomized.alias import Alias, make_alias
from sqlpriv.methods.randomized.attackers import Known, Wanted
from sqlpriv.methods.randomized.coins import SHORT, fingerprint, slot_prefix
from sqlpriv.methods.randomized.combinations import possible_choices
from sqlpriv.methods.randomized.elements import Elements, number_elements
from sqlpriv.methods.randomized.instance import domain_digest, refuse_more_rows, table_digest, write_tuples
from sqlpriv.methods.randomized.policy import RandomizedPolicy
from sqlpriv.methods.randomized.terms import (
    NoBound,
    Terms,
    asked_for,
    not_covered,
    too_many_rows,
    useless,
    with_uncovered,
)
from sqlpriv.methods.randomized.told import Considered, planned_facts, published_facts, refused_facts
from sqlpriv.release.ledger.spent import Spent
from sqlpriv.sqltext import folded, literal
from sqlpriv.table.domains import NumberedColumn, read_domains
from sqlpriv.table.source import Source

GAMMAS = (0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.7, 0.9)


@dataclass(frozen=True)
class RandomizedPlan:
    """A policy with its data read."""

    policy: RandomizedPolicy
    source: Source
    columns: tuple[NumberedColumn, ...]
    aliases: tuple[Alias, ...] | None
    elements: Elements
    terms: Terms
    known: Known
    make_terms: MakeTerms
    questions: Facts | None = None
    """How far off the answers to the owner's questions will be, if any were asked."""

    @cached_property
    def digest(self) -> str:
        """A digest of the tuples of the table."""
        return table_digest(self.source, self.columns)

    def parameters(self, key: bytes) -> dict[str, object]:
        """What the coins and the ledger call the parameters: the same for all views of a sequence.

        Their key, too, has to be the same, since it decides the slots; of it only a fingerprint is known.
        """
        terms, coins = self.terms, self.terms.coins
        parameters: dict[str, object] = {
            "method": self.policy.method,
            "d": terms.d,
            "gamma": terms.gamma,
            "adversary": terms.adversary,
            "alpha": 0.0 if "stay" in coins else coins.get("alpha"),
            "beta": 0.0 if "stay" in coins else coins.get("beta"),
            "stay": coins.get("stay", 0.0),
            "rate": coins.get("rate"),
            "slots": terms.slots,
            "views": terms.views,
            "domain": domain_digest(self.source, self.columns),
        }
        if "q" in coins or "a" in coins:  # a bag has no slots, and no views follow it
            parameters |= coins
            for name in ("slots", "views"):
                del parameters[name]
        if terms.views > 1:
            parameters["key"] = fingerprint(slot_prefix(key, parameters))
        return parameters

    def spent(self) -> Spent | None:
        """What the ledger adds up: of a bag both kinds, of FRAPP replaced rows alone, of slots nothing."""
        terms = self.terms
        if not {"q", "a", "stay"} & set(terms.coins):
            return None
        added = None if terms.added_epsilon is None else (terms.added_epsilon, 0.0)
        unit = "person" if self.policy.person is not None else "row"
        return Spent(unit, added, (terms.replaced_epsilon, 0.0))

    def warnings(self, key: bytes) -> tuple[str, ...]:
        """Those of the terms, and of a key that is too short."""
        short = (f"the key has fewer than {SHORT} bytes and may be guessed",) if len(key) < SHORT else ()
        return (*self.terms.for_the_owner, *short)

    def refuse(self, request: Request) -> None:
        """Refuse what does not cover the attackers people fear, is too large, or says nothing unless it is forced."""
        refusals = self.refusals(forced=request.force)
        if refusals:
            raise PolicyError(refusals[0])

    def refusals(self, *, forced: bool = False) -> list[str]:
        """Why it is not published as it is."""
        terms = self.terms
        found = []
        if terms.uncovered and not self.policy.uncovered:
            is_given = self.policy.d is not None or self.policy.k is not None
            found.append(not_covered(terms, is_given=is_given))
        if terms.expected_rows > self.policy.max_rows:
            found.append(too_many_rows(terms, self.policy.max_rows))
        if not terms.possible and not forced:
            found.append(useless(terms))
        return found

    def facts(self, written: Written | None = None) -> Facts:
        """What would be published and what it means, with what other gammas would cost; or what was published."""
        method, terms = self.policy.method, self.terms
        if written is not None:
            return published_facts(method, terms, written)
        refusals = self.refusals()
        is_poor = bool(refusals) or terms.small_error > GOOD_ERROR
        sizes = {c.name: c.size for c in self.columns}
        trials = Trials(self.source, self.policy, terms.rows, self.known, sizes, self.make_terms)
        instead = (trials.sets(), trials.coarser()) if is_poor else ((), {})
        planned = planned_facts(method, terms, Considered(self.costs(), refusals, *instead, self._bytes()))
        if self.questions is None:
            return planned
        content = {**planned.content, "queries": self.questions.content}
        return replace(planned, content=content, parts=(*planned.parts, *self.questions.parts))

    def _bytes(self) -> int:
        """About how large the file will be."""
        bits = " + ".join(f"log2({c.size})" for c in self.columns)
        return int(self.source.calls.value(f"_release_bytes({self.terms.expected_rows!r}, {bits})"))

    def with_release(self, release: Mapping[str, Any]) -> RandomizedPlan:
        """The plan for other keys of [release] that change nothing but the terms."""
        policy = replace(self.policy, release=release)
        terms = _terms(self.source, policy, self.terms.rows, self.known, self.columns, self.aliases, self.make_terms)
        return replace(self, policy=policy, terms=terms)

    def costs(self) -> list[Terms]:
        """The terms for other gammas, and for the policy's own; those that cannot be are left out."""
        found = []
        for gamma in sorted({*GAMMAS, self.terms.gamma}):
            release = {**self.policy.release, "gamma": gamma}
            try:
                terms = self.with_release(
                    {k: None if k in {"alpha", "beta", "p"} else v for k, v in release.items()}
                ).terms
            except SqlprivError:
                continue
            # Where more values are as common as gamma, a smaller one costs less because it covers less.
            if _bare(terms) <= _bare(self.terms):
                found.append(terms)
        return found

    def curve(self) -> list[tuple[float, float]]:
        """Pairs of gamma and error of half the domain, as a share of the rows."""
        return [(t.gamma, t.half_domain_error / t.n_public) for t in self.costs()]


def make_plan(source: Source, policy: RandomizedPolicy, make_terms: MakeTerms) -> RandomizedPlan:
    """Read domains and table, and find the terms."""
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
    known = _known(source, policy, columns)
    try:
        terms = _terms(source, policy, rows, known, columns, aliases, make_terms)
    except NoBound as error:
        sizes = {c.name: c.size for c in columns}
        sets = Trials(source, policy, rows, known, sizes, make_terms).sets()
        is_given = policy.d is not None or policy.k is not None
        why = str(error) if is_given else f"{error}; {advice(known, sets)}"
        raise CannotPublish(why, refused_facts(source.calls, policy, known, sets, why)) from None
    _write_noise(source, columns, terms)
    elements = number_elements([*(c.size for c in columns), terms.slots])
    return RandomizedPlan(policy, source, columns, aliases, elements, terms, known, make_terms)


def _known(source: Source, policy: RandomizedPolicy, columns: Sequence[NumberedColumn]) -> Known:
    """What attackers are made from."""
    choices = possible_choices(source, policy, columns)
    if max(choices.values()) == 1:
        raise PolicyError("the sensitive columns have one possible value each, so there is nothing to hide")
    shared = {c.name: c for c in columns if _is_shared(policy, c)}
    return Known(
        tuple(Wanted(name, n, _shares(source, shared[name]) if name in shared else ()) for name, n in choices.items()),
        tuple(c.name for c in columns if c.column.role == "quasi-identifier"),
        math.prod(c.size for c in columns),
        policy.times,
        policy.rows_each,
    )


def _terms(
    source: Source,
    policy: RandomizedPolicy,
    rows: int,
    known: Known,
    columns: Sequence[NumberedColumn],
    aliases: Sequence[Alias] | None,
    make_terms: MakeTerms,
) -> Terms:
    shares = None
    if aliases is not None:
        largest = math.prod((max(a.shares) for a in aliases), start=Fraction(1))
        shares = (largest, math.prod((min(a.shares) for a in aliases), start=Fraction(1)))
    asked = asked_for(source.calls, policy, rows, known, [c.size for c in columns], shares)
    return with_uncovered(make_terms(source, policy, asked), policy.uncovered)


def _bare(terms: Terms) -> int:
    return 0 if terms.by_value is None else terms.by_value.bare


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


def _write_noise(source: Source, columns: Sequence[NumberedColumn], terms: Terms) -> None:
    """Where noise follows public shares, the domain says how much each value has: who asks sums over it."""
    if terms.by_value is not None:
        table = next(c.table for c in columns if c.name == terms.by_value.column)
        noise = f"CAST({literal(terms.by_value.copies)} AS DOUBLE[])[id + 1] AS noise"
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
