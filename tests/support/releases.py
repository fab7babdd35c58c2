"""Release files made of plain lists, in the format that publishing writes, with the private table kept beside."""

from __future__ import annotations

import itertools
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duckdb

from sqlpriv.release.file import FORMAT

Tuple = tuple[Any, ...]


@dataclass(frozen=True)
class Weighted:
    """Weight, variance and skew of a row."""

    weight: float
    variance: float
    skew: float


@dataclass(frozen=True)
class Made:
    """A release file, and all that an oracle needs to answer for it."""

    path: Path
    names: tuple[str, ...]
    types: tuple[str, ...]
    domains: tuple[tuple[Any, ...], ...]
    view: tuple[Tuple, ...]
    view_weights: Weighted
    domain_weights: Mapping[int, Weighted]
    cross_estimate: float = 0.0
    cross_square: float = 0.0
    shares: tuple[tuple[float, ...], ...] | None = None
    public: Mapping[str, tuple[tuple[str, ...], tuple[Tuple, ...]]] = field(default_factory=dict)

    @property
    def domain(self) -> list[Tuple]:
        """All tuples of the domain."""
        return list(itertools.product(*self.domains))

    def share(self, element: Tuple) -> float:
        """The product of the shares of a tuple's values."""
        assert self.shares is not None
        result = 1.0
        for value, values, shares in zip(element, self.domains, self.shares, strict=True):
            result *= shares[values.index(value)]
        return result


def alpha_beta(alpha: float, beta: float) -> tuple[Weighted, dict[int, Weighted]]:
    """The weights of a plain alpha-beta release."""
    p = alpha + beta
    kappa = (1 - p - beta) / alpha
    v, d = (1 - p - beta) / alpha**2, beta * p / alpha**2
    return Weighted(1 / alpha, v, kappa * v), {0: Weighted(-beta / alpha, d, kappa * d)}


def frapp(stay: float, m: int, n: int) -> tuple[Weighted, dict[int, Weighted], float, float]:
    """The weights of a FRAPP release, and its two cross terms."""
    q = (1 - stay) / (m - 1)
    gap = stay - q
    a = (1 - stay + q) / gap
    weight = -n * q / gap
    v, d = a / gap, a * weight + n * q / gap**2
    return Weighted(1 / gap, v, a * v), {0: Weighted(weight, d, a * d)}, -2 * q / gap, -n * q * q / gap**2


def write_release(
    path: Path,
    columns: Mapping[str, tuple[str, Sequence[Any]]],
    view: Sequence[Tuple],
    weights: tuple[Weighted, Mapping[int, Weighted]],
    *,
    table: str = "people",
    cross: tuple[float, float] = (0.0, 0.0),
    shares: Sequence[Sequence[float]] | None = None,
    public: Mapping[str, tuple[Mapping[str, str], Sequence[Tuple]]] | None = None,
    view_number: int = 1,
) -> Made:
    """Write a release of `columns` (name to type and domain values) whose view holds these tuples."""
    own, of_domain = weights
    path.unlink(missing_ok=True)
    with duckdb.connect(config={"threads": 1}) as con:
        # Not by its own name: a file called release.duckdb would make the schema `release` ambiguous.
        con.execute(f"ATTACH '{path}' AS made (STORAGE_VERSION 'v1.0.0'); USE made").fetchall()
        for schema in ("sqlpriv_release", "domain", "public", "priv"):
            con.execute(f"CREATE SCHEMA {schema}").fetchall()
        con.execute("CREATE TABLE sqlpriv_release.about (name VARCHAR, value VARCHAR)").fetchall()
        about = [("method", "frapp" if any(cross) else "alpha_beta"), ("format", str(FORMAT)), ("table", table)]
        about.append(("counts", "rows"))
        insert(con, "sqlpriv_release.about", about)
        con.execute("CREATE TABLE sqlpriv_release.parameters (name VARCHAR, value DOUBLE)").fetchall()
        insert(con, "sqlpriv_release.parameters", [
            ("cross_estimate", cross[0]), ("cross_square", cross[1]), ("view", float(view_number)),
        ])  # fmt: skip
        con.execute(
            "CREATE TABLE sqlpriv_release.attributes "
            "(position INTEGER, name VARCHAR, type VARCHAR, size BIGINT, declared VARCHAR)"
        ).fetchall()
        for position, (name, (kind, values)) in enumerate(columns.items()):
            insert(con, "sqlpriv_release.attributes", [(position, name, kind, len(values), "list")])
            con.execute(f'CREATE TABLE domain.{quoted(name)} ("value" {kind}, "share" DOUBLE)').fetchall()
            own_shares = shares[position] if shares else [None] * len(values)
            insert(con, f"domain.{quoted(name)}", list(zip(values, own_shares, strict=True)))
        typed = ", ".join(f"{quoted(n)} {kind}" for n, (kind, _) in columns.items())
        con.execute(
            f'CREATE TABLE sqlpriv_release.published ({typed}, "__weight" DOUBLE, "__variance" DOUBLE, "__skew" DOUBLE)'
        ).fetchall()
        insert(con, "sqlpriv_release.published", [(*row, own.weight, own.variance, own.skew) for row in view])
        con.execute(
            "CREATE TABLE sqlpriv_release.domain_weights (power INTEGER, weight DOUBLE, variance DOUBLE, skew DOUBLE)"
        ).fetchall()
        insert(con, "sqlpriv_release.domain_weights", [(p, w.weight, w.variance, w.skew) for p, w in of_domain.items()])
        for name, (kinds, rows) in (public or {}).items():
            listed = ", ".join(f"{quoted(n)} {kind}" for n, kind in kinds.items())
            con.execute(f"CREATE TABLE public.{quoted(name)} ({listed})").fetchall()
            insert(con, f"public.{quoted(name)}", list(rows))
    return Made(
        path,
        tuple(columns),
        tuple(kind for kind, _ in columns.values()),
        tuple(tuple(values) for _, values in columns.values()),
        tuple(tuple(row) for row in view),
        own,
        dict(of_domain),
        *cross,
        tuple(tuple(s) for s in shares) if shares else None,
        {n: (tuple(kinds), tuple(rows)) for n, (kinds, rows) in (public or {}).items()},
    )


def random_view(columns: Mapping[str, tuple[str, Sequence[Any]]], rows: int, seed: int) -> list[Tuple]:
    """Tuples of the domain, some of them twice."""
    chance = random.Random(seed)
    return [tuple(chance.choice(values) for _, values in columns.values()) for _ in range(rows)]


def quoted(name: str) -> str:
    """A name as a SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


def insert(con: duckdb.DuckDBPyConnection, table: str, rows: Sequence[Sequence[Any]]) -> None:
    """All rows in a few statements: executemany takes a millisecond a row."""
    for start in range(0, len(rows), 500):
        chunk = rows[start : start + 500]
        places = ", ".join(f"({', '.join('?' for _ in row)})" for row in chunk)
        con.execute(f"INSERT INTO {table} VALUES {places}", [v for row in chunk for v in row]).fetchall()
