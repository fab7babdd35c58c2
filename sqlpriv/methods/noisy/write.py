"""What the files of randomized releases have in common: facts, domains, public tables, and rows by element numbers.

attributes       the published columns: type and size of their domains, role, and choices given all others
published        the view as a weighted relation: __weight, __variance, __skew beside the columns
domain_weights   the weights of a tuple of the domain, by powers of its share
domain.<column>  value and share; where noisy counts follow the shares, `noise`: a tuple's copies in the mean
public_tables    the tables that queries may join, and whether one says what columns can have together
public.<name>    these tables
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlpriv.core.engine import fetch
from sqlpriv.core.errors import PolicyError, SqlprivError
from sqlpriv.core.sqltext import folded, literal, quoted
from sqlpriv.methods.method import Edition
from sqlpriv.methods.noisy.mechanism import WEIGHTS, AllWeights
from sqlpriv.methods.noisy.plan import RandomizedPlan
from sqlpriv.methods.noisy.policy import RandomizedPolicy
from sqlpriv.release.file import SCHEMA, WRITTEN, double, write_about, write_numbers, write_reasons, write_values
from sqlpriv.rewrite.release import Weights
from sqlpriv.table.named_tables import find_named, is_private, read_named
from sqlpriv.table.source import Source

PUBLISHED = f"{WRITTEN}.{SCHEMA}.published"
PUBLIC_TABLES = {"name": "VARCHAR", "is_combination": "BOOLEAN"}
"""The columns of table public_tables."""
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
    write_about(con, about)
    reasons = policy.reasons if found.uncovered else {n: t for n, t in policy.reasons.items() if n != "uncovered"}
    write_reasons(con, reasons)
    common = {
        "d": found.d,
        "gamma": found.gamma,
        "elements": float(found.tuples),
        "slots": found.slots,
        "cross_estimate": weights.cross_estimate,
        "cross_square": weights.cross_square,
        "epsilon": found.epsilon,
        "times": policy.times,
        "rows_each": found.rows_each,
        "view": edition.view,
        "views": found.views,
    }
    write_numbers(con, common | dict(numbers))
    choices = {w.column: str(w.choices) for w in plan.background.wanted}
    listed = (
        (str(p), literal(c.name), literal(c.type), str(c.size), literal(c.declared), literal(c.column.role),
         f"CAST({choices.get(c.name, 'NULL')} AS BIGINT)")
        for p, c in enumerate(plan.columns)
    )  # fmt: skip
    write_values(con, "attributes", "position, name, type, size, declared, role, choices", listed)
    domain = ((str(p), *(double(getattr(w, part)) for part in WEIGHTS)) for p, w in weights.domain.items())
    write_values(con, "domain_weights", "power, weight, variance, skew", domain)
    _write_domains(plan)
    write_public(plan, WRITTEN)
    _list_public(plan)
    if all(c.size <= _DICTIONARY for c in plan.columns if c.type == "VARCHAR"):
        fetch(con, "SET disabled_compression_methods = 'fsst'")


def _write_domains(plan: RandomizedPlan) -> None:
    by_value = plan.calibration.mechanism.by_value
    for column in plan.columns:
        noise = ", noise" if by_value is not None and by_value.column == column.name else ""
        fetch(
            plan.source.con,
            f"CREATE TABLE {quoted(WRITTEN, 'domain', column.name)} AS "
            f"SELECT value, share{noise} FROM {column.table} ORDER BY id",
        )


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
        copy = read_named(plan.source, file, "__public")
        fetch(plan.source.con, f"CREATE TABLE {quoted(catalog, 'public', name)} AS FROM {copy}")


def _list_public(plan: RandomizedPlan) -> None:
    policy = plan.policy
    columns = ", ".join(f"{name} {kind}" for name, kind in PUBLIC_TABLES.items())
    fetch(plan.source.con, f"CREATE TABLE {WRITTEN}.{SCHEMA}.public_tables ({columns})")
    rows = [f"({literal(name)}, {literal(name in policy.combinations)})" for name in sorted(policy.public)]
    if rows:
        fetch(plan.source.con, f"INSERT INTO {WRITTEN}.{SCHEMA}.public_tables VALUES {', '.join(rows)}")


def write_sorted(plan: RandomizedPlan, elements: str) -> None:
    """Table __sorted: elements in their order, which says nothing about where they come from.

    Numbers are sorted before they become values: sorting rows of texts takes half as long again as all the rest. And
    were a later reading of this table not to keep its order, it would still not tell the table's rows from noise.
    """
    order = ", ".join(plan.elements.columns)
    fetch(plan.source.con, f"CREATE OR REPLACE TABLE __sorted AS FROM ({elements}) ORDER BY {order}")


def shown_rows(plan: RandomizedPlan, weights: str, more: Sequence[str] = ()) -> str:
    """SQL for published rows: values by the numbers of an element, and weights, in the order of __sorted."""
    shown = [
        f"(SELECT list(value ORDER BY id) FROM {c.table})[1 + {digit.of(plan.elements.columns)}] AS {quoted(c.name)}"
        for c, digit in zip(plan.columns, plan.elements.digits[:-1], strict=True)
    ]
    return f"SELECT {', '.join([*shown, *more])}, {weights} FROM __sorted"


def same_weights(weights: Weights) -> str:
    """SQL for the weights of rows that all count alike."""
    return ", ".join(f"{double(getattr(weights, part))} AS __{part}" for part in WEIGHTS)
