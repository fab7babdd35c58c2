"""The SQL that checks a release again, in any DuckDB: its macros travel in the file."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from sqlpriv.checks.requirements import MEASURES
from sqlpriv.sqltext import literal, quoted

_ALIAS = "r"
# What a guarantee follows from, and the macro that says so; the first whose numbers the release has.
_GUARANTEES: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("sdgs_guarantee", ("k", "beta", "epsilon", "n_public")),
    ("sdgs_delta", ("k", "beta", "epsilon")),
    ("alpha_beta_guarantee", ("d", "gamma", "alpha", "beta")),
    ("bag_guarantee", ("d", "gamma", "p", "q")),
    ("frapp_guarantee", ("d", "gamma", "stay", "move")),
    ("signed_bag_guarantee", ("d", "gamma", "a")),
)


def recheck_sql(file: str, content: Mapping[str, Any]) -> str:
    """Statements for any DuckDB client, in the folder of the release."""
    return "\n".join(_statements(file, content))


def _statements(file: str, content: Mapping[str, Any]) -> Iterator[str]:
    yield f"ATTACH {literal(file)} AS {_ALIAS} (READ_ONLY);"
    yield f"SELECT value FROM {_ALIAS}.sqlpriv_release.about WHERE name = 'digest';  -- {content.get('digest', '')}"
    qis = [c["name"] for c in content["columns"] if c.get("role") == "quasi-identifier"]
    table = f"{_ALIAS}.main.{quoted(content['table'])}"
    for required in content.get("requirements") or ():
        measure = MEASURES.get(str(required["measure"]))
        if measure is None:
            continue
        given = json.loads(required["arguments"] or "{}")
        if any(isinstance(value, str) for value in given.values()):
            yield f"-- {required['requirement']}: needs a table that is not in the release"
            continue
        arguments = [literal(table), f"[{', '.join(map(literal, qis))}]"]
        if measure.needs_sensitive:
            arguments.append(literal(required["sensitive"]))
        arguments += [str(value) for value in given.values()]
        call = f"{_ALIAS}.priv.{measure.macro}({', '.join(arguments)})"
        yield f"SELECT {measure.column} FROM {call};  -- {required['requirement']}"
    numbers = content.get("parameters") or {}
    for macro, needed in _GUARANTEES:
        if all(name in numbers for name in needed):
            yield f"FROM {_ALIAS}.priv.{macro}({', '.join(repr(numbers[name]) for name in needed)});"
            break
    if content.get("counts") == "persons":
        yield "-- persons were counted, and are not published: of rows these numbers are as large or larger"
