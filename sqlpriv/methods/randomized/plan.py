"""A randomized release that could be made: domains numbered, tuples counted, terms found."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

from sqlpriv.engine import fetch
from sqlpriv.errors import PolicyError, SqlprivError
from sqlpriv.facts import Facts, Grid, Line, Part
from sqlpriv.methods.method import Request, Written
from sqlpriv.methods.randomized.alias import Alias, make_alias
from sqlpriv.methods.randomized.coins import SHORT, fingerprint, slot_prefix
from sqlpriv.methods.randomized.domains import NumberedColumn, read_domains
from sqlpriv.methods.randomized.elements import Elements, number_elements
from sqlpriv.methods.randomized.instance import domain_digest, table_digest, write_tuples
from sqlpriv.methods.randomized.policy import RandomizedPolicy
from sqlpriv.methods.randomized.terms import Asked, Terms, asked_for, refuse_useless
from sqlpriv.table.source import Source
from sqlpriv.version import __version__

GAMMAS = (0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.7, 0.9)
_BAR = 30
MakeTerms = Callable[[Source, Any, Asked], Terms]


@dataclass(frozen=True)
class RandomizedPlan:
    """A policy with its data read."""

    policy: RandomizedPolicy
    source: Source
    columns: tuple[NumberedColumn, ...]
    aliases: tuple[Alias, ...] | None
    elements: Elements
    terms: Terms
    make_terms: MakeTerms

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

    def warnings(self, key: bytes) -> tuple[str, ...]:
        """Those of the terms, and of a key that is too short."""
        short = (f"the key has fewer than {SHORT} bytes and may be guessed",) if len(key) < SHORT else ()
        return (*self.terms.for_the_owner, *short)

    def refuse(self, request: Request) -> None:
        """Refuse a view that says nothing, unless it is forced."""
        if not request.force:
            refuse_useless(self.terms)

    def facts(self, written: Written | None = None) -> Facts:
        """What would be published and what it means, with what other gammas would cost; or what was published."""
        return self._planned() if written is None else self._published(written)

    def _planned(self) -> Facts:
        terms, curve = self.terms, self._curve()
        content = {
            **self._numbers(),
            "half_domain_error": terms.half_domain_error,
            "possible": terms.possible,
            "dp_epsilon": None if math.isinf(terms.epsilon) else terms.epsilon,
            "independent_posterior": terms.independent_posterior,
            "exclusive_posterior": terms.exclusive_posterior,
            "guarantee": terms.promise,
            "warnings": list(terms.for_the_owner),
        }
        listed = tuple(
            (k, v) for k, v in content.items() if k not in {"guarantee", "warnings", "method"} and v is not None
        )
        costs = [
            {"gamma": t.gamma, "expected_rows": t.expected_rows, "half_domain_error": t.half_domain_error}
            for t in curve
        ]
        parts: list[Part] = [Line(terms.promise), Grid((), listed), _cost_grid(curve, terms.gamma)]
        if not terms.possible:
            parts.append(Line("The view would say nothing about the table: its error passes the number of rows.", "NO"))
        return Facts(self.policy.method, {**content, "curve": costs}, tuple(parts), terms.for_the_owner)

    def _published(self, written: Written) -> Facts:
        terms = self.terms
        is_later = written.view > 1 and not written.again  # of one that was there, only its rows are known
        content = {
            "version": __version__,
            **self._numbers(),
            "expected_rows": written.made.expected if is_later else terms.expected_rows,
            "view": written.view,
            "rows": written.made.rows,
            "warnings": list(written.warnings),
            "output": str(written.output),
        }
        view = f", view {written.view} of {terms.views}" if terms.views > 1 else ""
        name = written.output.name
        about = (
            f"{name}: {written.made.rows:,} rows ({content['expected_rows']:,.0f} expected) over a domain of "
            f"{terms.tuples:,} tuples{view}"
        )
        again = (Line("The table, the policy and the key are those of before: this is the release that was there."),)
        parts = (
            *(again if written.again else ()),
            Line(terms.promise),
            Line(f'Ask it: sqlpriv query {name} "SELECT count(*) FROM ..."'),
        )
        return Facts(about, content, parts, written.warnings)

    def _numbers(self) -> dict[str, Any]:
        """The sizes, the bound and the coins by name, as `plan` and `publish` print them."""
        terms = self.terms
        return {
            "method": self.policy.method,
            "n": terms.rows,
            "n_public": terms.n_public,
            "m": terms.tuples,
            "slots": terms.slots,
            "d": terms.d,
            "gamma": terms.gamma,
            "adversary": terms.adversary,
            "views": terms.views,
            **terms.coins,
            "expected_rows": terms.expected_rows,
        }

    def _curve(self) -> list[Terms]:
        """The terms for other gammas, and for the policy's own; those that cannot be are left out."""
        found = []
        for gamma in sorted({*GAMMAS, self.terms.gamma}):
            release = {**self.policy.release, "gamma": gamma}
            other = replace(
                self.policy, release={k: None if k in {"alpha", "beta", "p"} else v for k, v in release.items()}
            )
            try:
                found.append(_terms(self.source, other, self.terms.rows, self.columns, self.aliases, self.make_terms))
            except SqlprivError:
                continue
        return found

    def curve(self) -> list[tuple[float, float]]:
        """Pairs of gamma and error of half the domain, as a share of the rows."""
        return [(t.gamma, t.half_domain_error / t.n_public) for t in self._curve()]


def _cost_grid(curve: Sequence[Terms], gamma: float) -> Grid:
    most = max((t.half_domain_error for t in curve), default=1.0)
    rows = tuple(
        (f"{t.gamma:g}", f"{t.expected_rows:,.0f}", f"{t.half_domain_error:,.1f}",
         "█" * max(1, round(_BAR * t.half_domain_error / most)))
        for t in curve
    )  # fmt: skip
    here = tuple(i for i, t in enumerate(curve) if t.gamma == gamma)
    return Grid(("gamma", "expected rows", "error of half the domain", ""), rows, left=("",), marked=here)


def make_plan(source: Source, policy: RandomizedPolicy, make_terms: MakeTerms) -> RandomizedPlan:
    """Read domains and table, and find the terms."""
    columns = read_domains(source, policy)
    rows = write_tuples(source, columns)
    if rows == 0:
        raise PolicyError("the table has no rows to publish")
    if policy.is_distinct:
        fetch(source.con, "UPDATE __tuples SET copies = 1")
        rows = int(fetch(source.con, "SELECT count(*) FROM __tuples")[0][0])
    aliases = _aliases(source, columns) if policy.has_source else None
    terms = _terms(source, policy, rows, columns, aliases, make_terms)
    elements = number_elements([*(c.size for c in columns), terms.slots])
    return RandomizedPlan(policy, source, columns, aliases, elements, terms, make_terms)


def _terms(
    source: Source,
    policy: RandomizedPolicy,
    rows: int,
    columns: Sequence[NumberedColumn],
    aliases: Sequence[Alias] | None,
    make_terms: MakeTerms,
) -> Terms:
    largest = None if aliases is None else math.prod((max(a.shares) for a in aliases), start=Fraction(1))
    return make_terms(source, policy, asked_for(source.calls, policy, rows, [c.size for c in columns], largest))


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
