"""What the files of randomized releases have in common: facts, domains, public tables, and rows by element numbers.

attributes       the published columns: type and size of their domains, role, and choices given all others
published        the rows as a weighted relation: __weight, __variance, __skew after the columns; a view shows them
domain_weights   the weights of a tuple of the domain, by powers of its share
domain.<column>  value and share; where noisy counts follow the shares, `noise`: a tuple's copies in the mean
public_tables    the tables that queries may join, and whether one says what columns can have together
public.<name>    these tables
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlpriv.core.engine import fetch
from sqlpriv.core.errors import PolicyError, SqlprivError
from sqlpriv.core.sqltext import folded, quoted
from sqlpriv.methods.method import Edition, Request
from sqlpriv.methods.noisy.mechanism import WEIGHTS, AllWeights
from sqlpriv.methods.noisy.plan import RandomizedPlan
from sqlpriv.methods.noisy.policy import RandomizedPolicy
from sqlpriv.methods.noisy.read import ATTRIBUTES, DOMAIN_WEIGHTS, PUBLIC_TABLES, view_of_rows
from sqlpriv.release.file import SCHEMA, WRITTEN, double
from sqlpriv.release.write import write_description, write_table
from sqlpriv.rewrite.release import Weights
from sqlpriv.table.named_tables import find_named, is_private
from sqlpriv.table.source import Source

PUBLISHED = f"{WRITTEN}.{SCHEMA}.published"
_DICTIONARY = 1000
"""Up to so many texts in a domain, a dictionary is the smallest form of a column, and others need not be tried."""


def write_facts(plan: RandomizedPlan, edition: Edition, weights: AllWeights, numbers: Mapping[str, float]) -> None:
    """All tables of the file but the published rows; `numbers` are those of the mechanism."""
    con, found, policy = plan.source.con, plan.calibration, plan.policy
    about = {
        "method": policy.method,
        "mechanism": found.mechanism.name,
        "table": policy.table.name,
        "counts": "distinct tuples" if policy.is_distinct else "rows",
        "adversary": found.adversary,
        "release": edition.name,
        "n_public_is_rounded": "yes" if policy.reveals_size else "no",
    }
    reasons = policy.reasons if found.uncovered else {n: t for n, t in policy.reasons.items() if n != "uncovered"}
    common = {
        "d": found.d,
        "gamma": found.gamma,
        "elements": float(found.tuples),
        "slots": policy.slots,
        "cross_estimate": weights.cross_estimate,
        "cross_square": weights.cross_square,
        "epsilon": found.epsilon,
        "times": policy.times,
        "rows_each": policy.rows_each,
        "view": edition.view,
        "views": policy.views,
    }
    choices = {w.column: int(w.choices) for w in found.background.wanted}
    listed = [
        (p, c.name, c.type, c.size, c.declared, c.column.role, choices.get(c.name)) for p, c in enumerate(plan.columns)
    ]
    write_description(con, about, reasons, common | dict(numbers), (ATTRIBUTES, listed))
    domain = [(p, float(w.weight), float(w.variance), float(w.skew)) for p, w in weights.domain.items()]
    write_table(con, "domain_weights", DOMAIN_WEIGHTS, domain)
    by_value = found.mechanism.by_value
    for column in plan.columns:
        table = quoted(WRITTEN, "domain", column.name)
        noise = ", noise" if by_value is not None and by_value.column == column.name else ""
        fetch(con, f"CREATE TABLE {table} AS SELECT value, share{noise} FROM {column.table.name} ORDER BY id")
    write_public(plan, WRITTEN)
    write_table(con, "public_tables", PUBLIC_TABLES, [(n, n in policy.combinations) for n in sorted(policy.public)])
    if all(c.size <= _DICTIONARY for c in plan.columns if c.type == "VARCHAR"):
        fetch(con, "SET disabled_compression_methods = 'fsst'")


def check_public(source: Source, policy: RandomizedPolicy) -> None:
    """Refuse public tables that cannot be written, when a release is planned: a plan approves what is published."""
    for name, file in policy.public.items():
        if folded(name) == folded(policy.table.name):
            raise PolicyError(f"the public table {name!r} is called like the private one; give it another name")
        if is_private(source, file):
            raise PolicyError(f"the public table {name!r} is the private table itself, which must not be in a release")
        try:
            fetch(source.con, f"DESCRIBE FROM {find_named(source, file)}")
        except SqlprivError as error:
            raise PolicyError(f"the public table {name!r} cannot be read from {file!r}: {error}") from None


def write_public(plan: RandomizedPlan, catalog: str) -> None:
    """The public tables of the policy, which the plan has looked at, into the schema public of a database."""
    for name, file in plan.policy.public.items():
        rows = find_named(plan.source, file)
        fetch(plan.source.con, f"CREATE TABLE {quoted(catalog, 'public', name)} AS FROM {rows}")


def write_published(
    plan: RandomizedPlan,
    ranges: Sequence[str],
    weights: str,
    request: Request,
    more: Sequence[str] = (),
    copies: str | None = None,
) -> int:
    """Table published and its view, from SQL for the elements of each range of the domain; the number of its rows.

    `weights`, `more` and `copies` are SQL, from what the ranges have besides the elements: for the weights of a row,
    for further columns, and for how often the row is written. A tuple is sorted, and gets its values, once for all.

    Elements are sorted in their order, which says nothing about where they come from, and before they become values:
    sorting rows of texts takes half as long again as all the rest. And were a later reading of the sorted table not to
    keep its order, it would still not tell the table's rows from noise.
    """
    shown = [
        f"(SELECT list(value ORDER BY id) FROM {c.table.name})[1 + {plan.elements.digit(place)}] AS {quoted(c.name)}"
        for place, c in enumerate(plan.columns)
    ]
    shown += [*more, *([] if copies is None else [f"{copies} AS __copies"]), weights]
    written, watched = 0, request.on_progress if len(ranges) == 1 else None
    for done, chosen in enumerate(ranges):
        with plan.source.scratch.nested() as scratch:
            ordered = scratch.table(f"FROM ({chosen}) ORDER BY {plan.elements.listed}", "sorted")
            rows = f"SELECT {', '.join(shown)} FROM {ordered.name}"
            if copies is not None:
                repeated = f"SELECT *, unnest(range(__copies)) AS __copy FROM ({rows})"
                rows = f"SELECT * EXCLUDE (__copies, __copy) FROM ({repeated})"
            how = f"CREATE TABLE {PUBLISHED} AS" if done == 0 else f"INSERT INTO {PUBLISHED}"
            written += int(fetch(plan.source.con, f"{how} {rows}", on_progress=watched)[0][0])
        if request.on_progress is not None:
            request.on_progress((done + 1) / len(ranges))
    fetch(plan.source.con, view_of_rows(quoted(WRITTEN, "main", plan.policy.table.name)))
    return written


def row_weights(weights: Weights, kinds: Mapping[str, Weights] | None = None) -> str:
    """SQL for the weights of a row; `kinds` are those of rows for which a condition holds, SQL as well."""
    found = []
    for part in WEIGHTS:
        number = double(getattr(weights, part))
        if kinds:
            cases = " ".join(f"WHEN {condition} THEN {double(getattr(w, part))}" for condition, w in kinds.items())
            number = f"CASE {cases} ELSE {number} END"
        found.append(f"{number} AS __{part}")
    return ", ".join(found)
