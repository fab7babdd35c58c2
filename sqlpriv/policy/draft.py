"""`sqlpriv init`: look at a table, propose a policy for it, and write the file that a person then reviews."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from sqlpriv.engine import fetch
from sqlpriv.errors import InputError, InternalError
from sqlpriv.facts import Facts, Grid, Line
from sqlpriv.policy.propose import K, Proposal, is_postal, propose
from sqlpriv.sqltext import table_parts
from sqlpriv.table.profile import ColumnProfile, profile
from sqlpriv.table.source import Source, open_source

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_HEAD = """\
# Proposed by `sqlpriv init` from {rows:,} rows, by counts and names alone. Review every role: you know the people.
#   identifier, person, drop   never published; person says whose row it is, and persons are counted instead of rows
#   quasi-identifier           what others may know of a person; generalized by its hierarchy
#   sensitive                  what nobody shall learn of a person; published, and protected by the requirements
#   other                      published as it is
"""


@dataclass(frozen=True)
class Draft:
    """A proposed policy."""

    rows: int
    table: Mapping[str, Any]
    columns: tuple[Proposal, ...]
    output: str

    @property
    def require(self) -> dict[str, Any]:
        """k, and l for every sensitive column."""
        levels = {c.name: c.distinct_l for c in self.columns if c.distinct_l is not None}
        return {"k": K, **({"distinct_l": levels} if levels else {})}

    @property
    def release(self) -> dict[str, Any]:
        """How to release: the smallest loss, with few rows left out."""
        return {"method": "generalize", "objective": "loss", "suppression": 0.05, "output": self.output}

    @property
    def notes(self) -> tuple[str, ...]:
        """What the proposal lacks, and only its reader can add."""
        roles = {c.role for c in self.columns}
        lacking = {
            "sensitive": 'No column looks sensitive; if one is, give it role = "sensitive" and a distinct_l.',
            "quasi-identifier": "No column looks like a quasi-identifier, and a release needs one: name it.",
        }
        return tuple(note for role, note in lacking.items() if role not in roles)

    def facts(self) -> Facts:
        """The proposed roles, and why: names, reasons and counts, no values."""
        columns = [{key: value for key, value in asdict(c).items() if key != "distinct_l"} for c in self.columns]
        content = {"rows": self.rows, "table": self.table, "columns": columns}
        content |= {"require": self.require, "release": self.release, "notes": self.notes}
        headings = ("column", "role", "hierarchy", "why")
        rows = tuple((c.name, c.role, c.hierarchy, c.reason) for c in self.columns)
        required = [f"k = {self.require['k']}"]
        required += [f"distinct_l = {n} for {name}" for name, n in self.require.get("distinct_l", {}).items()]
        parts = (Grid(headings, rows, folded=headings), Line(f"Required: {'; '.join(required)}"))
        return Facts(f"{self.table['source']}: {self.rows:,} rows", content, parts, self.notes)

    def to_toml(self) -> str:
        """The policy file, with the reason behind each column."""
        entries = [(_key(c.name), _value(_column(c)), c.reason) for c in self.columns]
        wide, long = (max(len(entry[part]) for entry in entries) for part in (0, 1))
        columns = [f"{key:<{wide}} = {value:<{long}}  # {reason}" for key, value, reason in entries]
        sections = [("table", _lines(self.table)), ("columns", columns)]
        sections += [("require", _lines(self.require)), ("release", _lines(self.release))]
        text = _HEAD.format(rows=self.rows)
        return text + "".join(f"\n[{name}]\n" + "\n".join(lines) + "\n" for name, lines in sections)


def draft(data: str, database: Path | None, folder: Path) -> Draft:
    """Look at the table, in the database, and propose a policy whose file will be in `folder`."""
    with open_source(data, database) as source:
        if database is None:
            options, profiles = _look_at_file(source, data)
            table = {"source": _from(folder, Path(data)), **options}
            stem = Path(data).name.split(".")[0]
        else:
            profiles = profile(source.con, source.table)
            table = {"source": data, "database": _from(folder, database)}
            stem = table_parts(data)[-1]
    rows = profiles[0].rows
    if rows == 0:
        raise InputError(f"{source.label} has no rows; a policy is proposed from what the columns hold")
    return Draft(rows, table, propose(profiles), _release_name(stem, database))


def check_target(policy: Path, data: str, database: Path | None, force: bool) -> None:
    """Refuse early to write over what is there: the data always, another policy unless told to."""
    if not policy.parent.is_dir():
        raise InputError(f"there is no folder {str(policy.parent)!r} for {policy.name}; make it first")
    if policy.is_dir():
        raise InputError(f"{str(policy)!r} is a folder; name a file, such as policy.toml")
    if policy.exists():
        private = Path(database or data)
        if private.exists() and policy.samefile(private):
            raise InputError(f"{policy.name} is the data itself; name another file with --output")
        if not force:
            raise InputError(f"{policy.name} exists; name another file with --output, or replace it with --force")


def write(proposed: Draft, policy: Path) -> None:
    """Write the file whole or not at all, and only if it reads back as what was proposed."""
    text = proposed.to_toml()
    columns = {c.name: _column(c) for c in proposed.columns}
    wanted = {"table": proposed.table, "columns": columns, "require": proposed.require, "release": proposed.release}
    if tomllib.loads(text) != wanted:
        raise InternalError("the proposed policy does not read back as it was meant; nothing was written")
    unfinished = policy.with_name(f".{policy.name}.{os.getpid()}")
    try:
        unfinished.write_text(text, encoding="utf-8", newline="\n")
        unfinished.replace(policy)
    except OSError:
        raise InputError(f"{policy.name} cannot be written in {str(policy.parent)!r}; is it writable?") from None
    finally:
        unfinished.unlink(missing_ok=True)


def _look_at_file(source: Source, data: str) -> tuple[dict[str, Any], tuple[ColumnProfile, ...]]:
    """The profiles, and the options of read_csv without which the file would be read differently."""
    if not re.search(r"\.[ct]sv(\.\w+)?$", data.lower()):
        return {}, profile(source.con, source.table)
    path = "'" + data.replace("'", "''") + "'"
    delimiter, columns = fetch(source.con, f'SELECT "Delimiter", "Columns" FROM sniff_csv({path})')[0]
    options: dict[str, Any] = {} if delimiter in {",", "", "(empty)"} else {"delimiter": delimiter}
    # DuckDB looks for leading zeros in the first rows only, and a postal code without its zero is another one.
    texts = [c["name"] for c in columns if is_postal(c["name"]) and c["type"] == "BIGINT"]
    if not texts:
        return options, profile(source.con, source.table)
    types = ", ".join("'" + name.replace("'", "''") + "': 'VARCHAR'" for name in texts)
    profiles = profile(source.con, f"read_csv({path}, types = {{{types}}})")
    return {**options, "types": dict.fromkeys(texts, "VARCHAR")}, profiles


def _from(folder: Path, file: Path) -> str:
    """The path of a file as a policy in `folder` should spell it: relative, unless they are on different drives."""
    absolute = file.parent.resolve() / file.name
    try:
        return Path(os.path.relpath(absolute, folder.resolve())).as_posix()
    except ValueError:
        return absolute.as_posix()


def _release_name(stem: str, database: Path | None) -> str:
    name = (re.sub(r"[^\w-]+", "-", stem).strip("-") or "table") + "-release"
    return f"{name}-2.duckdb" if database and database.name == f"{name}.duckdb" else f"{name}.duckdb"


def _column(proposal: Proposal) -> dict[str, str]:
    return {"role": proposal.role} | ({"hierarchy": proposal.hierarchy} if proposal.hierarchy else {})


def _lines(section: Mapping[str, Any]) -> list[str]:
    return [f"{_key(name)} = {_value(value)}" for name, value in section.items()]


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _text(name)


def _value(value: object) -> str:
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_key(name)} = {_value(item)}" for name, item in value.items()) + " }"
    return _text(value) if isinstance(value, str) else str(value)


def _text(text: str) -> str:
    """A TOML string: JSON escapes the same characters in the same way, all but DEL."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
