"""Publish a randomized release: from a policy to a file that anyone may have.

    release.about, parameters   method, guarantee, what count(*) means; the numbers
    release.attributes          the published columns with the type and size of their domains
    release.published           the view as a weighted relation: __weight, __variance, __skew beside the columns
    release.domain_weights      the weights of a tuple of the domain, by powers of its share
    domain.<column>             value and share; public.<name>: tables that queries may join

The file never holds a private row, the key, the number of rows where the method does not publish it, or a path.
"""

from __future__ import annotations

import json
import math
import os
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

import duckdb

from sqlpriv.engine import fetch, translate
from sqlpriv.errors import PolicyError, ReleaseError
from sqlpriv.methods.alpha_beta.earlier import read_earlier
from sqlpriv.methods.generalize.anonymize import fingerprint as file_state
from sqlpriv.methods.generalize.anonymize import open_policy
from sqlpriv.methods.generalize.write import check_target, remove_partial, table_name
from sqlpriv.methods.randomized.alias import Alias, make_alias
from sqlpriv.methods.randomized.coins import SHORT, coin_prefix, fingerprint, read_key, slot_prefix
from sqlpriv.methods.randomized.domains import Attribute, read_domains
from sqlpriv.methods.randomized.elements import Elements, number_elements
from sqlpriv.methods.randomized.instance import (
    content_digest,
    domain_digest,
    refuse_copies,
    table_digest,
    write_instance,
    write_tuples,
)
from sqlpriv.methods.randomized.parameters import Plan, make_plan, plan_facts, refuse_useless
from sqlpriv.methods.randomized.policy import NoisePolicy
from sqlpriv.methods.randomized.write import Writing, write_file
from sqlpriv.release import ledger
from sqlpriv.sqltext import literal
from sqlpriv.table.source import Source
from sqlpriv.version import __version__

Progress = Callable[[float], None] | None


@dataclass(frozen=True)
class Published:
    """What was published; for the owner, who may know the number of rows."""

    plan: Plan
    view: int
    rows: int
    output: Path
    warnings: tuple[str, ...] = ()
    """Those of the plan, and those that the release must not tell."""

    def to_json(self) -> str:
        """The result for machines."""
        content = {
            "version": __version__,
            **plan_facts(self.plan),
            "view": self.view,
            "rows": self.rows,
            "warnings": list(self.warnings),
            "output": str(self.output),
        }
        return json.dumps(content, indent=2)


@dataclass(frozen=True)
class Prepared:
    """A policy with its data read: domains numbered, tuples counted, parameters found."""

    policy: NoisePolicy
    source: Source
    attributes: tuple[Attribute, ...]
    aliases: tuple[Alias, ...] | None
    elements: Elements
    plan: Plan

    def parameters(self, key: bytes) -> dict[str, object]:
        """What the coins and the ledger call the parameters: the same for all views of a sequence.

        Their key, too, has to be the same, since it decides the slots; of it only a fingerprint is known.
        """
        plan = self.plan
        parameters: dict[str, object] = {
            "method": plan.method,
            "d": plan.d,
            "gamma": plan.gamma,
            "adversary": plan.adversary,
            "alpha": plan.coins.alpha,
            "beta": plan.coins.beta,
            "stay": plan.coins.stay,
            "rate": plan.coins.rate,
            "slots": plan.slots,
            "views": plan.views,
            "domain": domain_digest(self.source, self.attributes),
        }
        if plan.views > 1:
            parameters["key"] = fingerprint(slot_prefix(key, parameters))
        return parameters


def prepare(source: Source, policy: NoisePolicy) -> Prepared:
    """Read domains and table, and find the parameters."""
    attributes = read_domains(source, policy)
    rows = write_tuples(source, attributes)
    if rows == 0:
        raise PolicyError("the table has no rows to publish")
    if policy.method == "alpha_beta" and policy.duplicates == "distinct":
        fetch(source.con, "UPDATE __tuples SET copies = 1")
        rows = int(fetch(source.con, "SELECT count(*) FROM __tuples")[0][0])
    aliases = _aliases(source, attributes) if policy.has_source else None
    plan = plan_of(source, policy, rows, attributes, aliases)
    return Prepared(
        policy, source, attributes, aliases, number_elements([*(a.size for a in attributes), plan.slots]), plan
    )


def plan_of(
    source: Source,
    policy: NoisePolicy,
    rows: int,
    attributes: Sequence[Attribute],
    aliases: Sequence[Alias] | None,
) -> Plan:
    """The plan of a policy for so many rows over these domains."""
    largest = None if aliases is None else math.prod((max(a.shares) for a in aliases), start=Fraction(1))
    return make_plan(source, policy, rows, [a.size for a in attributes], largest)


def _aliases(source: Source, attributes: tuple[Attribute, ...]) -> tuple[Alias, ...]:
    """How noise draws each attribute; the domain tables then state the shares that are really drawn."""
    aliases = []
    for attribute in attributes:
        given = [r[0] for r in fetch(source.con, f"SELECT share FROM {attribute.table} ORDER BY id")]
        alias = make_alias(None if attribute.column.share is None else given, attribute.size)
        if not all(alias.shares):
            raise PolicyError(f"domain of {attribute.name!r}: some shares are too small to be drawn at all")
        shares = ", ".join(repr(float(s)) for s in alias.shares)
        fetch(source.con, f"UPDATE {attribute.table} SET share = CAST([{shares}] AS DOUBLE[])[id + 1]")
        aliases.append(alias)
    return tuple(aliases)


def publish(
    policy: NoisePolicy,
    output: Path | None = None,
    key_file: Path | None = None,
    ledger_file: Path | None = None,
    on_progress: Progress = None,
    *,
    force: bool = False,
) -> Published:
    """Publish the table under its policy, enter it in the ledger, and return what was done."""
    target = output or (policy.path(policy.output) if policy.output else None)
    if target is None:
        raise PolicyError("the policy names no output; add it to [release], or give one")
    check_target(target, policy)
    if policy.views > 1 and key_file is None:
        raise PolicyError("a sequence needs a key that stays the same: keep one in a file and give --key-file")
    key = read_key(key_file)
    book = ledger_file or ledger.ledger_path(policy)
    with ledger.locked(book), tempfile.TemporaryDirectory(prefix="sqlpriv-") as spill, open_policy(policy) as source:
        # What does not fit into memory is written to a folder that only its owner can read.
        fetch(source.con, f"SET temp_directory = {literal(spill)}")
        return _publish(source, policy, target, key, book, on_progress, force=force)


def _publish(
    source: Source, policy: NoisePolicy, target: Path, key: bytes, book: Path, on_progress: Progress, *, force: bool
) -> Published:
    before = file_state(policy)
    prepared = prepare(source, policy)
    if not force:
        refuse_useless(prepared.plan)
    refuse_copies(source, prepared.plan.slots if policy.method == "alpha_beta" else 10**18)
    digest = table_digest(source, prepared.attributes)
    digests = (digest, content_digest(source))
    earlier = ledger.releases_of(ledger.read_ledger(book), table_name(policy), digests)
    parameters = prepared.parameters(key)
    view = _next_view(earlier, key, parameters, digest)
    prefix = coin_prefix(key, parameters, digest, view)
    entry = ledger.make_entry(
        table_name(policy),
        digests,
        policy.method,
        parameters,
        fingerprint(prefix),
        view,
        policy.views,
        target.name,
    )
    ledger.refuse_repetition(earlier, entry, book)
    if view > 1:
        read_earlier(
            prepared.source, policy, prepared.attributes, prepared.elements, [e for e in earlier if e.view < view]
        )
    if policy.method == "alpha_beta":
        slots = slot_prefix(key, parameters) if policy.views > 1 else prefix
        write_instance(source, prepared.elements, prepared.attributes, prepared.plan.slots, slots)
    plan = prepared.plan if view == 1 else replace(prepared.plan, expected_rows=_expected_rows(prepared))
    writing = Writing(
        source,
        policy,
        prepared.attributes,
        prepared.aliases,
        prepared.elements,
        plan,
        prefix,
        view,
        entry.coins,
    )
    partial = target.with_name(f".{target.name}.{os.getpid()}.partial")
    try:
        remove_partial(partial)
        rows = write_file(writing, partial, on_progress)
        if file_state(policy) != before:
            raise ReleaseError("the file changed while it was read, so nothing was published; run it again")
        _put_in_place(partial, target, book, entry)
    except duckdb.Error as error:
        raise translate(error) from None
    finally:
        remove_partial(partial)
    short = (f"the key has fewer than {SHORT} bytes and may be guessed",) if len(key) < SHORT else ()
    return Published(plan, view, rows, target, (*plan.for_the_owner, *short))


def _expected_rows(prepared: Prepared) -> float:
    """Of a later view: what was in an earlier view and has gone from the table is likelier to stay than other noise."""
    limbs = ", ".join(prepared.elements.columns)
    rows, left = fetch(
        prepared.source.con,
        "SELECT (SELECT count(*) FROM __instance), "
        f"(SELECT count(*) FROM (FROM __earlier ANTI JOIN __instance USING ({limbs})))",
    )[0]
    coins, elements = prepared.plan.coins, prepared.plan.elements
    return float(coins.keep * rows + coins.keep * (coins.persist or 0.0) * left + coins.beta * (elements - rows - left))


def _next_view(earlier: list[ledger.Entry], key: bytes, parameters: dict[str, object], digest: str) -> int:
    """Which view this is: the last one again, if key and data are those of then, or the next one."""
    if earlier and earlier[-1].coins == fingerprint(coin_prefix(key, parameters, digest, earlier[-1].view)):
        return earlier[-1].view
    return earlier[-1].view + 1 if earlier and parameters["views"] != 1 else 1


def _put_in_place(partial: Path, target: Path, book: Path, entry: ledger.Entry) -> None:
    """Enter the release before anyone can have it; take the entry back if it cannot be put in its place."""
    before = ledger.read_ledger(book)
    ledger.append(book, entry)
    try:
        os.replace(partial, target)
    except OSError:
        ledger.write_ledger(book, before)
        raise ReleaseError(f"cannot write {target.name} in its folder") from None
