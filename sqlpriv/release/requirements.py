"""Table requirements of a release: what was required, by the name of its measure, its arguments and its threshold.

What a requirement guarantees, in words, is made when the release is read.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import duckdb

from sqlpriv.checks.requirements import Requirement
from sqlpriv.core.engine import fetch
from sqlpriv.core.sqltext import literal
from sqlpriv.macros.catalog import macro
from sqlpriv.policy.require import make_requirement, public_argument
from sqlpriv.release.file import SCHEMA, WRITTEN, ReleaseFile, double
from sqlpriv.release.layout import REQUIREMENTS


def write_requirements(con: duckdb.DuckDBPyConnection, requirements: Sequence[Requirement]) -> None:
    """Table requirements of the file that is written; of a file that one names, only the name."""
    columns = ", ".join(f"{name} {kind}" for name, kind in REQUIREMENTS.items())
    fetch(con, f"CREATE TABLE {WRITTEN}.{SCHEMA}.requirements ({columns})")
    rows = [
        f"({literal(r.name)}, {literal(r.sensitive)}, {literal(_public(r))}, {double(r.threshold)})"
        for r in requirements
    ]
    if rows:
        fetch(con, f"INSERT INTO {WRITTEN}.{SCHEMA}.requirements VALUES {', '.join(rows)}")


def _public(requirement: Requirement) -> str:
    return json.dumps({k: public_argument(v) for k, v in requirement.arguments.items()})


def declared_requirement(row: Mapping[str, Any]) -> Requirement | None:
    """A requirement as a row of the file declares it; None where this version does not know how to judge it."""
    try:
        arguments = json.loads(row["arguments"])
        if json.dumps(arguments) != row["arguments"]:
            return None
        return make_requirement(row["measure"], row["sensitive"], arguments, float(row["threshold"]))
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError):
        return None


def declared_requirements(file: ReleaseFile) -> list[Requirement | None]:
    """All requirements of a file; None where it has a method that requires nothing of classes."""
    if (SCHEMA, "requirements") not in file.tables:
        return []
    return [declared_requirement(row) for row in file.rows("requirements")]


def required_texts(requirements: Sequence[Requirement]) -> list[str]:
    """Requirements as a release tells them: of a file that one names, only the name."""
    public = (
        make_requirement(r.name, r.sensitive, {k: public_argument(v) for k, v in r.arguments.items()}, r.threshold)
        for r in requirements
    )
    return [r.text for r in public]


def described_requirements(file: ReleaseFile) -> list[dict[str, Any]]:
    """The requirements of a file with their texts, and what each guarantees, in one sentence."""
    if (SCHEMA, "requirements") not in file.tables:
        return []
    found = []
    for row, required in zip(file.rows("requirements"), declared_requirements(file), strict=True):
        if required is None:
            found.append({"requirement": str(row["measure"]), "guarantee": "this version does not know it", **row})
        else:
            found.append({"requirement": required.text, "guarantee": guarantee(required.measure.macro), **row})
    return found


def guarantee(name: str) -> str:
    """What a macro's number promises, in one sentence."""
    return macro(name).header.fields["guarantee"].replace("\n", " ")
