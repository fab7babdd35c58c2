"""Small randomized releases for tests: a policy as text, published in a folder with a ledger of its own."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import duckdb

from sqlpriv.methods.noisy.policy import RandomizedPolicy
from sqlpriv.publishing import Published, publish, read_policy
from support.policies import IN_DATABASE, accepted, toml_text, write_policy

KEY = b"a key for tests, not a secret"


def published(domain: str, **more: str) -> str:
    """A published column; `domain` and all else as TOML."""
    rest = "".join(f", {name} = {value}" for name, value in more.items())
    return f'{{ role = "published", domain = {domain}{rest} }}'


def with_slots(release: str) -> str:
    """[release] with slots, unless it says otherwise, published whomever it covers."""
    spoken = {line.partition("=")[0].strip() for line in release.splitlines()}
    more = []
    if '"alpha_beta"' in release and not spoken & {"duplicates", "slots", "views"}:
        more.append('duplicates = "slots"')
    if "uncovered" not in spoken:
        more.append('uncovered = "a test"')
    return "\n".join([release, *more])


def noise_policy_text(columns: Mapping[str, str], release: str, table: str = IN_DATABASE, more: str = "") -> str:
    release = with_slots(release)
    listed = "\n".join(f"{toml_text(name)} = {given}" for name, given in columns.items())
    options = f'output = "people-release.duckdb"\n{accepted(release)}'
    return f"[table]\n{table}\n[columns]\n{listed}\n{more}\n[release]\n{options}\n"


def write_noise_policy(
    folder: Path,
    columns: Mapping[str, str],
    release: str,
    sql: str = "",
    files: Mapping[str, str | bytes] | None = None,
    table: str = IN_DATABASE,
    more: str = "",
) -> RandomizedPolicy:
    """The policy, read from its file, with the private database made by `sql`."""
    policy = read_policy(write_policy(folder, noise_policy_text(columns, release, table, more), sql, files))
    assert isinstance(policy, RandomizedPolicy)
    return policy


def publish_with(
    policy: RandomizedPolicy,
    key: bytes = KEY,
    ledger: str = "ledger.json",
    output: str | None = None,
    *,
    force: bool = True,
) -> Published:
    """Publish with this key; most tests look at views that are too small to say much, so they are forced.

    A ledger that is not there begins a world in which there is no release either.
    """
    key_file = policy.table.folder / "key"
    key_file.write_bytes(key)
    target = None if output is None else policy.table.folder / output
    if not (policy.table.folder / ledger).exists() and target is None and policy.output is not None:
        policy.table.path(policy.output).unlink(missing_ok=True)
    return publish(policy, target, key_file, policy.table.folder / ledger, force=force)


def rows_of(path: Path, sql: str = "FROM sqlpriv_release.published") -> list[tuple[Any, ...]]:
    """What a query finds in a release."""
    with duckdb.connect(str(path), read_only=True) as con:
        return con.execute(sql).fetchall()
