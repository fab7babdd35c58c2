"""Many releases of one table, one for each key, and how often their answers hold the truth.

The steps of `publish` run in one connection: the table is read once, and every release is written, by the same code,
into a database in memory instead of a file, without its ledger entry. What is asked is rewritten once, since releases
that differ by their keys alone have the same weights.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import duckdb

from sqlpriv.core.relation import Relation, Scratch
from sqlpriv.methods import METHODS
from sqlpriv.methods.method import Edition, Request
from sqlpriv.methods.noisy.alpha_beta.write import elements_of
from sqlpriv.methods.noisy.method import Randomized
from sqlpriv.methods.noisy.plan import RandomizedPlan
from sqlpriv.methods.noisy.policy import RandomizedPolicy
from sqlpriv.publishing import open_private
from sqlpriv.publishing.draft import noise_seed
from sqlpriv.release.file import SCHEMA, ReleaseFile
from sqlpriv.release.read import describe
from sqlpriv.rewrite.query import rewrite
from sqlpriv.rewrite.release import Release
from sqlpriv.table.source import Source
from support.coverage_numbers import Asked, Found, Row, is_sum
from support.randomized_policies import KEY, published, write_noise_policy

RELEASE = "release_file"


class Runs:
    """The releases of one policy, and what is asked of each of them. Later versions of the table make a sequence."""

    def __init__(self, source: Source, policy: RandomizedPolicy, versions: Sequence[str] = (), copies: int = 1) -> None:
        self.copies = copies
        self.source = source
        self.policy = policy
        self.tables = [source.table, *versions]
        self._rewritten: dict[str, tuple[Release, str]] = {}
        method = METHODS[policy.method]
        assert isinstance(method, Randomized)
        self.method = method
        self._plans: dict[int, RandomizedPlan] = {}

    @property
    def con(self) -> duckdb.DuckDBPyConnection:
        """Where everything happens."""
        return self.source.con

    def ask(self, asked: Sequence[Asked], keys: int, of: Sequence[tuple[int, ...]] = ((1,),)) -> list[list[Found]]:
        """What releases with so many keys say; of a sequence, for each of some views or sets of them together."""
        found: list[dict[tuple[int, Row, str], Found]] = [{} for _ in of]
        for key in range(keys):
            names = self._release(KEY + b"|%d" % key, max(max(views) for views in of))
            for views, mine in zip(of, found, strict=True):
                self.con.execute("DROP VIEW IF EXISTS memory.main.combined").fetchall()
                described = describe([ReleaseFile(self.con, names[v - 1], names[v - 1]) for v in views])
                for i, a in enumerate(asked):
                    if key == 0:
                        mine |= {(i, *where): f for where, f in self._expected(a, views, names).items()}
                    for where, answer in self._answers(a, described):
                        mine[(i, *where)].answers.append(answer)
        return [[f for f in mine.values() if f.truth is not None] for mine in found]

    def _release(self, key: bytes, views: int) -> list[str]:
        """Write the views, and return the names of their databases."""
        names: list[str] = []
        for view in range(1, views + 1):
            self._write(self._read(view), key, view, names[-1] if names else "")
            names.append(self._renamed(f"view_{view}") if views > 1 else RELEASE)
        return names

    def _renamed(self, name: str) -> str:
        """A database cannot be renamed, so that of an earlier view is copied."""
        self.con.execute(f"DETACH DATABASE IF EXISTS {name}").fetchall()
        self.con.execute(f"ATTACH ':memory:' AS {name}").fetchall()
        self.con.execute(f"COPY FROM DATABASE {RELEASE} TO {name}").fetchall()
        return name

    def _read(self, view: int) -> RandomizedPlan:
        if view not in self._plans or len(self.tables) > 1:
            source = replace(self.source, table=self.tables[view - 1])
            self._plans[view] = self.method.plan(source, self.policy, Request())
        return self._plans[view]

    def _write(self, plan: RandomizedPlan, key: bytes, view: int, before: str) -> None:
        """Write a view; that before it is read where it is, and not from a file that the ledger knows."""
        seed = noise_seed(self.method, plan, key)
        prefix = seed.prefix(key, view)
        slots = seed.slots(key) if self.policy.views > 1 else prefix
        self.con.execute(f"DETACH DATABASE IF EXISTS {RELEASE}").fetchall()
        self.con.execute(f"ATTACH ':memory:' AS {RELEASE}").fetchall()
        for schema in (SCHEMA, "domain", "public"):
            self.con.execute(f"CREATE SCHEMA {RELEASE}.{schema}").fetchall()

        def read_earlier(scratch: Scratch, plan: RandomizedPlan, _policy: object, _edition: object) -> Relation:
            found, lost = elements_of(scratch, f"{before}.{SCHEMA}.published", plan.columns, plan.elements)
            assert lost == 0
            return found

        with patch("sqlpriv.methods.noisy.alpha_beta.write.read_earlier", read_earlier):
            self.method.write_tables(plan, Edition(view, prefix, slots, ""), Request())

    def _expected(self, asked: Asked, views: tuple[int, ...], names: Sequence[str]) -> dict[tuple[Row, str], Found]:
        """The truth, and how many rows of the view are expected; a group without rows has none, and no average."""
        one = "(FROM {} WHERE r = 0)" if self.copies > 1 else "{}"
        tables = [one.format(self.tables[v - 1]) for v in views]
        everything = one.format(self._everything(names[views[0] - 1]))
        width = len(asked.groups)
        noise = {r[:width]: r[width] for r in self.con.execute(asked.rows(everything, "sum(noise)")).fetchall()}
        truths: list[dict[Row, Row]] = []
        kept: dict[Row, float] = {}
        for table in tables:
            distinct = f"(SELECT DISTINCT * FROM {table})" if self.policy.is_distinct else table
            truths.append({r[:width]: r[width:] for r in self.con.execute(asked.sql(distinct)).fetchall()})
            for r in self.con.execute(asked.rows(distinct, "count(*)")).fetchall():
                kept[r[:width]] = kept.get(r[:width], 0.0) + r[width] / len(tables)
        found = {}
        alpha = self._kept()
        for group, noisy in noise.items():
            for place, (name, text) in enumerate(asked.estimates.items()):
                values: list[Any] = [t[group][place] if group in t else None for t in truths]
                if is_sum(text):
                    values = [v or 0 for v in values]
                truth = None if None in values else math.fsum(map(float, values)) / len(values)
                series = f"{text} WHERE {asked.where}" + f" GROUP BY {', '.join(asked.groups)}" * bool(width)
                rows = alpha * kept.get(group, 0) + (noisy or 0.0)
                surely = kept.get(group, 0) > 10 * math.sqrt(rows) / alpha
                label = f"{series}: {group}" if width else series
                found[group, name] = Found(label, series, truth, rows, not is_sum(text), surely)
        return found

    def _kept(self) -> float:
        """By how much more probable a row of the table is in the view."""
        coins = self._plans[1].calibration.mechanism.numbers
        return next((coins[name] for name in ("alpha", "p") if name in coins), 1.0)

    def _everything(self, release: str) -> str:
        """The domain with the noise that is expected of a tuple; a later view has more, that of earlier ones."""
        names = [c.name for c in self.policy.published]
        weights = self.con.execute(f"SELECT power, weight FROM {release}.sqlpriv_release.domain_weights").fetchall()
        alpha = self._kept()
        shared = self._plans[1].calibration.mechanism.by_value
        columns = {n: "noise" if shared is not None and n == shared.column else "share" for n in names}
        share = " * ".join(f"coalesce({n}.{column}, 1)" for n, column in columns.items())
        noise = " + ".join(f"{-alpha * w!r} * pow({share}, {p})" for p, w in weights)
        tables = ", ".join(f"{release}.domain.{n} AS {n}" for n in names)
        listed = ", ".join(f"{n}.value AS {n}" for n in names)
        self.con.execute(
            f"CREATE OR REPLACE TEMP TABLE everything AS SELECT {listed}, {noise} AS noise FROM {tables}"
        ).fetchall()
        return "everything"

    def _answers(self, asked: Asked, described: Release) -> Iterator[tuple[tuple[Row, str], Any]]:
        """The answers by group and name, those of all copies of the table."""
        skip = int(self.copies > 1)
        query = replace(asked, groups=("r",) * skip + asked.groups).sql()
        known = self._rewritten.get(query)
        if known is None or known[0] != described:
            known = described, rewrite(query, described).sql
            self._rewritten[query] = known
        width = skip + len(asked.groups)
        for row in sorted(self.con.execute(known[1]).fetchall(), key=lambda row: row[:skip]):
            for place, name in enumerate(asked.estimates):
                yield (row[skip:width], name), row[width + 3 * place : width + 3 * place + 3]


COLUMNS = {  # 36,000 tuples
    "a": published('"range:0..99"'),
    "b": published('"range:0..9"'),
    "s": published('["x", "y", "z"]'),
    "v": published("[-200, -10, 0, 1, 2, 3, 5, 10, 20, 50, 100, 1000]"),
}
VALUES = (-200, -10, 0, 1, 2, 3, 5, 10, 20, 50, 100, 1000)
VALUE_WEIGHTS = (4, 10, 200, 150, 120, 100, 80, 60, 40, 20, 10, 2)


def people(rows: int = 1500, seed: int = 7) -> list[tuple[int, int, str, int]]:
    """A skewed table: most people are in few groups, a value of 1000 is rare, and some tuples repeat."""
    dice = random.Random(seed)
    return [
        (
            int(100 * dice.random() ** 2),
            int(10 * dice.random() ** 1.5),
            "x" if dice.random() < 0.8 else "y" if dice.random() < 0.95 else "z",
            dice.choices(VALUES, VALUE_WEIGHTS)[0],
        )
        for _ in range(rows)
    ]


def table_sql(rows: Sequence[tuple[int, int, str, int]], name: str = "people") -> str:
    """SQL that makes the table."""
    listed = ", ".join(f"({a}, {b}, '{s}', {v})" for a, b, s, v in rows)
    return f"CREATE OR REPLACE TABLE {name} AS FROM (VALUES {listed}) AS t(a, b, s, v)"


@contextmanager
def runs(
    folder: Path, release: str, columns: dict[str, str] | None = None, versions: Sequence[str] = (), copies: int = 1
) -> Iterator[Runs]:
    """The releases of a policy over `people`; `versions` are later versions of it, as SQL.

    With copies, the table is there so many times, told apart by a column r. Every element has its own coin, a hash of
    its number, so the copies in one view are as independent as the views of as many keys, and much faster to ask.
    """
    columns, sql = columns or COLUMNS, table_sql(people())
    if copies > 1:
        columns = {"r": published(f'"range:0..{copies - 1}"'), **columns}
        listed = f"SELECT CAST(r AS INTEGER) AS r, p.* FROM range({copies}) AS c(r), people AS p"
        sql += f"; CREATE OR REPLACE TABLE people AS {listed}"
    policy = write_noise_policy(folder, columns, release, sql)
    with open_private(policy) as (source, policy):
        # One thread: the tables are tiny.
        source.con.execute("SET threads = 1").fetchall()
        for i, version in enumerate(versions, 2):
            source.con.execute(f"CREATE TABLE version_{i} AS {version.format(people=source.table)}").fetchall()
        yield Runs(source, policy, [f"version_{i}" for i, _ in enumerate(versions, 2)], copies)
