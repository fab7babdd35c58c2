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
    rows = []
    for required in requirements:
        arguments = json.dumps({k: public_argument(v) for k, v in required.arguments.items()})
        texts = map(literal, (required.name, required.sensitive, arguments))
        rows.append(f"({', '.join(texts)}, {double(required.threshold)})")
    if rows:
        fetch(con, f"INSERT INTO {WRITTEN}.{SCHEMA}.requirements VALUES {', '.join(rows)}")


def required_texts(requirements: Sequence[Requirement]) -> list[str]:
    """Requirements as a release declares them: of a file that one names, only the name."""
    public = (
        make_requirement(r.name, r.sensitive, {k: public_argument(v) for k, v in r.arguments.items()}, r.threshold)
        for r in requirements
    )
    return [r.text for r in public]


def declared_requirement(row: Mapping[str, Any]) -> Requirement | None:
    """A requirement as a row of the file declares it; None where this version does not know how to judge it."""
    try:
        arguments = json.loads(row["arguments"])
        if json.dumps(arguments) != row["arguments"]:
            return None
        return make_requirement(row["measure"], row["sensitive"], arguments, float(row["threshold"]))
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError):
        return None


def described_requirements(file: ReleaseFile) -> list[dict[str, Any]]:
    """The requirements of a file with their texts, and what each guarantees, in one sentence."""
    found = []
    for row in file.requirements:
        required = declared_requirement(row)
        if required is None:
            words = {"requirement": str(row["measure"]), "guarantee": "this version does not know it"}
        else:
            promise = macro(required.measure.macro).header.fields["guarantee"].replace("\n", " ")
            words = {"requirement": required.text, "guarantee": promise}
        found.append({**words, **row})
    return found
