"""Small policies for tests, as text, and the folder they stand in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import duckdb

from sqlpriv.methods import METHODS
from sqlpriv.methods.generalized.generalize.policy import GeneralizePolicy
from sqlpriv.policy.file import parse_policy
from sqlpriv.publishing import publish, read_policy

MADE_UP = "the people are made up"
"""Why releases of tests go out whatever their verdict: most tables here are too small to protect anybody."""
IN_DATABASE = 'database = "private.duckdb"\nsource = "people"'


def qi(hierarchy: str = "suppression") -> str:
    """A quasi-identifier; a hierarchy that starts with [ is a list of expressions."""
    text = hierarchy if hierarchy.startswith("[") else f'"{hierarchy}"'
    return f'{{ role = "quasi-identifier", hierarchy = {text} }}'


def role(name: str) -> str:
    return f'{{ role = "{name}" }}'


def policy_text(
    columns: Mapping[str, str],
    require: str = "k = 1",
    release: str = "",
    table: str = IN_DATABASE,
) -> str:
    """A policy with these columns (name -> what stands behind the equals sign)."""
    listed = "\n".join(f"{toml_text(name)} = {given}" for name, given in columns.items())
    return (
        f"[table]\n{table}\n[columns]\n{listed}\n[require]\n{require}\n"
        f'[release]\nmethod = "generalize"\noutput = "people-release.duckdb"\n{accepted(release)}\n'
    )


def accepted(release: str) -> str:
    """Lines of [release], with why the release may go out, unless they say it."""
    return release if "accept =" in release else f'accept = "{MADE_UP}"\n{release}'


def toml_text(name: str) -> str:
    """A name as TOML text, in quotes."""
    return '"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'


def parse(text: str, folder: Path = Path()) -> GeneralizePolicy:
    """The policy in a text, as one for generalization."""
    policy = parse_policy(text, folder, METHODS, "policy.toml")
    assert isinstance(policy, GeneralizePolicy)
    return policy


def read(path: Path) -> GeneralizePolicy:
    """The policy in a file, as one for generalization."""
    policy = read_policy(path)
    assert isinstance(policy, GeneralizePolicy)
    return policy


@dataclass(frozen=True)
class Generalized:
    """What was published, as facts tell it."""

    node: dict[str, int]
    suppressed_rows: int
    classes: int
    output: Path
    again: bool


def generalize(policy: GeneralizePolicy | Path, output: Path | None = None, ledger: Path | None = None) -> Generalized:
    """Publish a table under its policy."""
    done = publish(policy, output, ledger_file=ledger)
    found = done.facts.content
    assert found["output"] == str(done.written.output)
    return Generalized(
        found["node"], found["suppressed_rows"], found["classes"], done.written.output, done.written.again
    )


def write_policy(folder: Path, text: str, sql: str = "", files: Mapping[str, str | bytes] | None = None) -> Path:
    """The policy file in a folder, with a database made by `sql` and other files beside it."""
    for name, content in (files or {}).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    if sql:
        with duckdb.connect(str(folder / "private.duckdb")) as con:
            con.execute(sql).fetchall()
    path = folder / "policy.toml"
    path.write_text(text, encoding="utf-8")
    return path
