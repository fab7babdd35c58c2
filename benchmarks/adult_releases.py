"""Randomized releases of Adult for `benchmarks.alpha_beta`: what is published, and what is built for comparison only.

The paper's table is a set of 30,162 tuples, and Adult's rows are none: 19,502 of them are distinct. So there are three
readings of the experiment:

    rows       every row has a coin of its own, and all copies of a tuple stand for one tuple of the domain. Only so
               does the paper come to n = 30,162. It is SIMULATED here: nobody can publish it, because the guarantee
               is about a set, and copies tell more than one coin hides.
    slots      what sqlpriv publishes: copies take slots 1..45 of their tuple.
    distinct   what sqlpriv publishes with duplicates = "distinct": a table of n = 19,502, and d = 10 n/m for that n.

FRAPP stands at the level at which the paper compares (priv.frapp_comparison), which is NOT (d, gamma)-private. It
moves single records, so its rows and slots are the same release.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import duckdb

from benchmarks.data import ADULT_COLUMNS, adult_folder
from sqlpriv.core.engine import fetch
from sqlpriv.core.sqltext import file_literal, literal, quoted
from sqlpriv.macros.catalog import inlined
from sqlpriv.methods import METHODS
from sqlpriv.methods.method import Edition, Request
from sqlpriv.methods.noisy.frapp.mechanism import Replacement
from sqlpriv.methods.noisy.method import Randomized
from sqlpriv.methods.noisy.plan import RandomizedPlan, make_plan
from sqlpriv.methods.noisy.policy import RandomizedPolicy
from sqlpriv.policy.file import parse_policy
from sqlpriv.publishing import open_private, publish
from sqlpriv.publishing.noise import NoiseSeed

ROWS, SLOTS, DISTINCT = "rows", "slots", "distinct"
FRAPP, PAPER, TIGHT, EXCLUSIVE = "FRAPP", "alpha-beta, p = 1/2", "alpha-beta, tight", "alpha-beta, exclusive"
SIZES = {ROWS: 30162, SLOTS: 30162, DISTINCT: 19502}
TUPLES = 648_023_040
K, GAMMA, MOST_COPIES = 10, 0.2, 45
_CHOICES = {
    PAPER: 'adversary = "independent"\nparameters = "paper"',
    TIGHT: 'adversary = "independent"\nparameters = "tight"',
    EXCLUSIVE: 'adversary = "exclusive"',
}
_DUPLICATES = {
    ROWS: 'duplicates = "slots"\nslots = 1',
    SLOTS: f'duplicates = "slots"\nslots = {MOST_COPIES}',
    DISTINCT: 'duplicates = "distinct"',
}


@dataclass(frozen=True)
class Variant:
    """One release of the comparison."""

    setting: str
    coins: str

    @property
    def is_private(self) -> bool:
        """Whether sqlpriv would publish it."""
        return self.coins != FRAPP and self.setting != ROWS


def adult_source() -> str:
    """Adult as a relation."""
    return f"read_csv({file_literal(adult_folder() / 'adult.csv')}, delim = ';', header = true)"


def make_release(variant: Variant, folder: Path, seed: int) -> Path:
    """Write the release; the same seed gives the same one."""
    key = f"benchmark of randomized releases, {seed}".encode()
    name = f"{variant.setting}-{list(_CHOICES).index(variant.coins) if variant.coins != FRAPP else 'frapp'}"
    target = folder / f"{name}.duckdb"
    policy = _policy(variant, folder)
    if variant.is_private:
        key_file = folder / "key"
        key_file.write_bytes(key)
        publish(policy, target, key_file, folder / f"{name}.ledger")
        return target
    with open_private(policy) as (source, policy):
        method = METHODS[policy.method]
        assert isinstance(method, Randomized)
        plan = make_plan(source, policy, method.calibrate)
        prefix = NoiseSeed("for comparison only", {"for": name}, "not published").prefix(key, 1)
        edition = Edition(1, prefix, prefix, "for comparison only")
        if variant.coins == FRAPP:
            _write_frapp(method, plan, variant, edition, target)
        else:
            _write_rows(method, plan, edition, target)
    _forget_the_guarantee(target)
    return target


def _policy(variant: Variant, folder: Path) -> RandomizedPolicy:
    columns = "\n".join(f'{name} = {{ role = "published", domain = "active" }}' for name in ADULT_COLUMNS)
    release = 'method = "frapp"'
    if variant.coins != FRAPP:
        release = f'method = "alpha_beta"\n{_CHOICES[variant.coins]}\n{_DUPLICATES[variant.setting]}'
    n = SIZES[variant.setting]
    policy = parse_policy(
        f'[table]\nsource = "{adult_folder() / "adult.csv"}"\ndelimiter = ";"\n[columns]\n{columns}\n'
        f"[release]\nk = {K}\ngamma = {GAMMA}\nn_public = {n}\n{release}\n"
        'uncovered = "the setting of the paper, for a comparison"\n'
        'accept = "the paper reads its domains off Adult, whose values anybody may know"\n',
        folder,
        METHODS,
    )
    assert isinstance(policy, RandomizedPolicy)
    return policy


def _write_frapp(
    method: Randomized[Any, Any], plan: RandomizedPlan, variant: Variant, edition: Edition, target: Path
) -> None:
    """FRAPP at the comparison level: NOT private."""
    source, found = plan.source, plan.calibration
    rows = SIZES[variant.setting]
    if variant.setting == DISTINCT:
        fetch(source.con, f"UPDATE {plan.tuples.name} SET copies = 1")
    stay, move = source.calls.row("frapp_comparison", found.d, GAMMA, found.tuples, rows)
    changed = replace(found, rows=rows, mechanism=Replacement(stay, move, rows, stay - move))
    method.write(replace(plan, calibration=changed), edition, target, Request())


def _write_rows(method: Randomized[Any, Any], plan: RandomizedPlan, edition: Edition, target: Path) -> None:
    """The paper's two steps, row by row: each row stays with probability alpha, each tuple enters with beta."""
    columns = ", ".join(map(quoted, ADULT_COLUMNS))
    share = inlined(f"_coin_share(_coin_bits({literal(edition.prefix)}, 'row|' || CAST(number AS VARCHAR)))")
    fetch(plan.source.con, f"DELETE FROM {plan.tuples.name}")  # noise then falls on every tuple of the domain
    method.write(plan, edition, target, Request())
    with duckdb.connect(str(target)) as con:
        kept = f"SELECT {columns} FROM (SELECT *, row_number() OVER () AS number FROM {adult_source()}) "
        weights = "SELECT __weight, __variance, __skew FROM sqlpriv_release.published LIMIT 1"
        kept += f"WHERE {share} < {plan.calibration.mechanism.numbers['alpha']!r}"
        con.execute(f"INSERT INTO sqlpriv_release.published SELECT * FROM ({kept}), ({weights})").fetchall()


def _forget_the_guarantee(target: Path) -> None:
    """Such a file keeps nothing of what its plan says."""
    with duckdb.connect(str(target)) as con:
        con.execute(
            "UPDATE sqlpriv_release.about SET value = 'none: NOT private, for comparison only' WHERE name = 'guarantee'"
        ).fetchall()
        con.execute("DELETE FROM sqlpriv_release.parameters WHERE name IN ('d', 'gamma', 'epsilon')").fetchall()
