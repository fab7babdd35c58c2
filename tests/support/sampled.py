"""Policies and tables for sampled k-anonymity."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb

from sqlpriv.methods.sdgs.plan import SdgsPlan
from sqlpriv.publishing import planned, read_policy

COLUMNS = """
ssn = { role = "identifier" }
age = { role = "quasi-identifier", hierarchy = "ranges:10,20", domain = "range:0..99" }
sex = { role = "quasi-identifier", hierarchy = "suppression", domain = ["F", "M"] }
ill = { role = "sensitive", domain = ["flu", "cold", "mumps"] }
"""
NUMBERS = "epsilon = 1.0\nk = 5\nbeta = 0.2"
NODE = "node = { age = 2, sex = 0 }"


def sampled_policy(folder: Path, release: str = "", *, numbers: str = NUMBERS, node: str = NODE,
                   columns: str = COLUMNS, ledger: str = "") -> Path:  # fmt: skip
    """A policy file in a folder whose database has the table `people`."""
    path = folder / "policy.toml"
    text = f'[table]\ndatabase = "private.duckdb"\nsource = "people"\n[columns]{columns}[release]\nmethod = "sdgs"\n'
    path.write_text(f'{text}output = "out.duckdb"\n{numbers}\n{node}\n{release}\n{ledger}\n', encoding="utf-8")
    return path


def write_people(folder: Path, rows: list[tuple[int, int, str, str]]) -> None:
    """Table people in a fresh database: ssn, age, sex, ill."""
    (folder / "private.duckdb").unlink(missing_ok=True)
    with duckdb.connect(str(folder / "private.duckdb")) as con:
        con.execute("CREATE TABLE people (ssn INTEGER, age INTEGER, sex VARCHAR, ill VARCHAR)").fetchall()
        listed = ", ".join(f"({s}, {a}, '{x}', '{i}')" for s, a, x, i in rows)
        con.execute(f"INSERT INTO people VALUES {listed}").fetchall()


def people(number: int, seed: int = 1) -> list[tuple[int, int, str, str]]:
    """So many rows, some kinds of which are rare."""
    draw = random.Random(seed)
    ills = ["flu"] * 12 + ["cold"] * 6 + ["mumps"]
    return [(i, min(99, int(draw.expovariate(1 / 30))), draw.choice("FFM"), draw.choice(ills)) for i in range(number)]


@contextmanager
def plan_of(policy: Path) -> Iterator[SdgsPlan]:
    """The plan of a policy, while its table is open."""
    with planned(read_policy(policy)) as plan:
        assert isinstance(plan, SdgsPlan)
        yield plan
