"""Write a randomized release file: its tables, and the view in ranges of elements."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import duckdb

from sqlpriv.engine import fetch
from sqlpriv.errors import PolicyError, ReleaseError
from sqlpriv.macros.catalog import inlined
from sqlpriv.macros.install import STORAGE, load
from sqlpriv.methods.alpha_beta.draw import source_draws, uniform_draws, view_elements, write_kept
from sqlpriv.methods.generalize.write import table_name
from sqlpriv.methods.randomized.alias import Alias
from sqlpriv.methods.randomized.domains import Attribute
from sqlpriv.methods.randomized.elements import Elements
from sqlpriv.methods.randomized.guarantee import counts, guarantee
from sqlpriv.methods.randomized.parameters import Plan
from sqlpriv.methods.randomized.policy import NoisePolicy
from sqlpriv.methods.randomized.weights import AllWeights, Weights, make_weights
from sqlpriv.sqltext import folded, literal, quoted
from sqlpriv.table.named import is_private, read_named
from sqlpriv.table.source import Source
from sqlpriv.version import __version__

_FILE = "release_file"
_DICTIONARY = 1000
"""Up to so many texts in a domain, a dictionary is the smallest form of a column, and others need not be tried."""


@dataclass(frozen=True)
class Writing:
    """All that a release is made from. `name` is what the ledger knows it by."""

    source: Source
    policy: NoisePolicy
    attributes: tuple[Attribute, ...]
    aliases: tuple[Alias, ...] | None
    elements: Elements
    plan: Plan
    prefix: str
    view: int
    name: str

    @property
    def is_sequence(self) -> bool:
        """Whether more views may follow, so that slots have to be published."""
        return self.plan.views > 1


def write_file(writing: Writing, partial: Path, on_progress: Callable[[float], None] | None) -> int:
    """Write the release under another name, and return the number of rows of its view."""
    con = writing.source.con
    try:
        con.execute(f"ATTACH {literal(str(partial))} AS {_FILE} (STORAGE_VERSION {literal(STORAGE)})").fetchall()
    except duckdb.Error:
        raise ReleaseError("the folder of the release cannot be written") from None
    try:
        rows = write_tables(writing, on_progress)
    finally:
        fetch(con, f"DETACH {_FILE}")
    with duckdb.connect(str(partial), config={"storage_compatibility_version": STORAGE}) as released:
        load(released)
    return rows


def write_tables(writing: Writing, on_progress: Callable[[float], None] | None = None) -> int:
    """Write all tables of a release into the database attached as `release_file`; the number of rows of its view."""
    for schema in ("release", "domain", "public"):
        fetch(writing.source.con, f"CREATE SCHEMA {_FILE}.{schema}")
    weights = make_weights(writing.source, writing.plan, writing.view)
    _write_facts(writing, weights)
    _write_domains(writing)
    _write_public(writing)
    if all(a.size <= _DICTIONARY for a in writing.attributes if a.type == "VARCHAR"):
        fetch(writing.source.con, "SET disabled_compression_methods = 'fsst'")
    _write_published(writing, weights, on_progress)
    return _count(writing)


def _write_facts(writing: Writing, weights: AllWeights) -> None:
    con, plan = writing.source.con, writing.plan
    about = {
        "sqlpriv": __version__,
        "method": plan.method,
        "table": table_name(writing.policy),
        "guarantee": guarantee(plan),
        "counts": counts(writing.policy),
        "view": f"{writing.view} of {plan.views}",
        "release": writing.name,
        "warnings": json.dumps(plan.warnings),
    }
    _values("about", "name, value", ((literal(k), literal(v)) for k, v in about.items()), con)
    numbers: dict[str, float] = {
        "d": plan.d,
        "gamma": plan.gamma,
        "elements": float(plan.tuples),
        "slots": plan.slots,
        "cross_estimate": weights.cross_estimate,
        "cross_square": weights.cross_square,
        "epsilon": plan.epsilon,
    }
    if plan.method == "frapp":
        numbers |= {"stay": plan.coins.stay, "move": plan.coins.move, "rows": plan.rows}
    else:
        numbers |= {"alpha": plan.coins.alpha, "beta": plan.coins.beta}
        if writing.policy.k is not None or writing.policy.n_public is not None:
            numbers["n_public"] = plan.n_public  # else nothing public was made from it
        if plan.coins.rate is not None:
            numbers["rate"] = plan.coins.rate
        if plan.coins.persist is not None:
            numbers |= {"persist": plan.coins.persist, "views": plan.views}
    _values("parameters", "name, value", ((literal(k), _double(v)) for k, v in numbers.items()), con)
    listed = (
        (str(p), literal(a.name), literal(a.type), str(a.size), literal(a.declared))
        for p, a in enumerate(writing.attributes)
    )
    _values("attributes", "position, name, type, size, declared", listed, con)
    domain = ((str(p), *(_double(v) for v in (w.weight, w.variance, w.skew))) for p, w in weights.domain.items())
    _values("domain_weights", "power, weight, variance, skew", domain, con)


def _values(table: str, columns: str, rows: Iterable[tuple[str, ...]], con: duckdb.DuckDBPyConnection) -> None:
    listed = ", ".join(f"({', '.join(row)})" for row in rows)
    fetch(con, f"CREATE TABLE {_FILE}.release.{table} AS FROM (VALUES {listed}) AS v({columns})")


def _double(number: float) -> str:
    return f"CAST({literal(repr(float(number)))} AS DOUBLE)"


def _write_domains(writing: Writing) -> None:
    for a in writing.attributes:
        table = quoted(_FILE, "domain", a.name)
        fetch(
            writing.source.con,
            f"CREATE TABLE {table} AS SELECT value, share FROM {a.table} ORDER BY id",
        )


def _write_public(writing: Writing) -> None:
    own = folded(table_name(writing.policy))
    for name, file in writing.policy.public.items():
        if folded(name) == own:
            raise PolicyError(f"the public table {name!r} is called like the private one; give it another name")
        if is_private(writing.policy, file):
            raise PolicyError(f"the public table {name!r} is the private table itself, which must not be in a release")
        copy = read_named(writing.source, writing.policy, file, "__public")
        fetch(writing.source.con, f"CREATE TABLE {quoted(_FILE, 'public', name)} AS FROM {copy}")


def _write_published(writing: Writing, weights: AllWeights, on_progress: Callable[[float], None] | None) -> None:
    con, plan, elements = writing.source.con, writing.plan, writing.elements
    if plan.method == "frapp":
        _write_sorted(writing, _moved(writing))
        rows = _shown(writing, _weights(weights.view["view"]))
        fetch(con, f"CREATE TABLE {_FILE}.release.published AS {rows}", on_progress=on_progress)
        return
    persist = plan.coins.keep * plan.coins.persist if plan.coins.persist is not None and writing.view > 1 else None
    keep = repr(plan.coins.keep) if plan.coins.rate is None else f"{plan.coins.alpha!r} + {_beta(writing)}"
    write_kept(writing.source, elements, keep, writing.prefix, persist)
    if writing.aliases is not None and plan.coins.rate is not None:
        ranges = [source_draws(elements, plan.coins.rate, writing.aliases, writing.prefix)]
        shown = _by_share(writing)
    else:
        ranges = list(uniform_draws(elements, plan.coins.beta, writing.prefix))
        shown = _by_kind(weights) if writing.view > 1 else _weights(weights.view["view"])
    for done, draws in enumerate(ranges):
        chosen = view_elements(elements, draws)
        if writing.view > 1:
            chosen = _with_earlier(elements, chosen, draws.low, draws.high)
        _write_sorted(writing, chosen)
        rows = _shown(writing, shown)
        how = f"CREATE TABLE {_FILE}.release.published AS" if done == 0 else f"INSERT INTO {_FILE}.release.published"
        fetch(con, f"{how} {rows}")
        if on_progress is not None:
            on_progress((done + 1) / len(ranges))


def _write_sorted(writing: Writing, elements: str) -> None:
    """Table __sorted: elements in their order, which says nothing about where they come from.

    Numbers are sorted before they become values: sorting rows of texts takes half as long again as all the rest. And
    were a later reading of this table not to keep its order, it would still not tell the table's rows from noise.
    """
    order = ", ".join(writing.elements.columns)
    fetch(writing.source.con, f"CREATE OR REPLACE TABLE __sorted AS FROM ({elements}) ORDER BY {order}")


def _shown(writing: Writing, weights: str) -> str:
    """SQL for published rows: values by the numbers of an element, and weights, in the order of __sorted."""
    columns = writing.elements.columns
    shown = [
        f"(SELECT list(value ORDER BY id) FROM {a.table})[1 + {digit.of(columns)}] AS {quoted(a.name)}"
        for a, digit in zip(writing.attributes, writing.elements.digits[:-1], strict=True)
    ]
    if writing.is_sequence:
        shown.append(f"1 + {writing.elements.digits[-1].of(columns)} AS __slot")
        shown.append(
            "in_view AS __view, in_earlier AS __earlier" if writing.view > 1 else "true AS __view, false AS __earlier"
        )
    return f"SELECT {', '.join(shown)}, {weights} FROM __sorted"


def _weights(weights: Weights) -> str:
    named = (("__weight", weights.weight), ("__variance", weights.variance), ("__skew", weights.skew))
    return ", ".join(f"{_double(value)} AS {name}" for name, value in named)


def _by_kind(weights: AllWeights) -> str:
    """A row of a later view counts by whether it is in this view, an earlier one, or both."""
    both, view, earlier = (weights.view[k] for k in ("both", "view", "earlier"))
    return ", ".join(
        f"CASE WHEN in_view AND in_earlier THEN {_double(getattr(both, part))} WHEN in_view THEN "
        f"{_double(getattr(view, part))} ELSE {_double(getattr(earlier, part))} END AS __{part}"
        for part in ("weight", "variance", "skew")
    )


def _with_earlier(elements: Elements, view: str, low: int, high: int) -> str:
    limbs = ", ".join(elements.columns)
    return (
        f"SELECT {limbs}, bool_or(now) AS in_view, bool_or(NOT now) AS in_earlier FROM ("
        f"SELECT {limbs}, true AS now FROM ({view}) UNION ALL "
        f"SELECT {limbs}, false AS now FROM __earlier WHERE e0 >= {low} AND e0 < {high}) GROUP BY ALL"
    )


def _beta(writing: Writing) -> str:
    """SQL for the probability that an element is noise, where noise follows shares."""
    shares = " * ".join(
        f"(SELECT list(share ORDER BY id) FROM {a.table})[1 + {digit.of(writing.elements.columns)}]"
        for a, digit in zip(writing.attributes, writing.elements.digits[:-1], strict=True)
    )
    rate = (writing.plan.coins.rate or 0.0) / writing.plan.slots
    return f"(1 - exp(-{rate!r} * {shares}))"


def _by_share(writing: Writing) -> str:
    alpha = writing.plan.coins.alpha
    slope = f"((1 - {alpha!r} - 2 * {_beta(writing)}) / {alpha!r})"
    return (
        f"{_double(1 / alpha)} AS __weight, {slope} / {alpha!r} AS __variance, {slope} * {slope} / {alpha!r} AS __skew"
    )


def _moved(writing: Writing) -> str:
    """frapp: each record stays where it is, or goes to any tuple of the domain, all being equally likely.

    A record that may also go where it was stays with probability (stay - move) + m move / m = stay in all.
    """
    ids = [f"i{a}" for a in range(len(writing.attributes))]
    record = " || ',' || ".join(f"CAST({i} AS VARCHAR)" for i in ids) + " || '|' || CAST(copy AS VARCHAR)"
    own = writing.elements.number([*ids, "0"])
    bits = ", ".join(
        inlined(f"_coin_bits({literal(writing.prefix)}, {literal(f'record|{h}|')} || {record})") + f" AS h{h}"
        for h in range(1 + -(-len(own) // 4))
    )
    stay = writing.plan.coins.stay - writing.plan.coins.move
    limbs = ", ".join(
        f"CASE WHEN {inlined('_coin_share(h0)')} < {stay!r} THEN {number} "
        f"ELSE {inlined(f'_coin_word(h{1 + i // 4}, {i % 4})')} % {size} END AS {column}"
        for i, (number, size, column) in enumerate(
            zip(own, writing.elements.limbs, writing.elements.columns, strict=True)
        )
    )
    records = "SELECT *, unnest(range(copies)) AS copy FROM __tuples"
    return f"SELECT {limbs} FROM (SELECT *, {bits} FROM ({records}))"


def _count(writing: Writing) -> int:
    """How many rows the view has, and that the file has the columns it should have."""
    con = writing.source.con
    found = fetch(con, f"SELECT column_name, column_type FROM (DESCRIBE {_FILE}.release.published)")
    if [tuple(f) for f in found[: len(writing.attributes)]] != [(a.name, a.type) for a in writing.attributes]:
        raise ReleaseError("the release does not have the columns it should have; nothing was published")
    condition = "WHERE __view" if writing.is_sequence else ""
    return int(fetch(con, f"SELECT count(*) FROM {_FILE}.release.published {condition}")[0][0])
