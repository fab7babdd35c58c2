"""What a release states of itself, with labels or in buckets: its requirements, and what they guarantee."""

from __future__ import annotations

import json
from collections.abc import Sequence

import duckdb

from sqlpriv.checks.requirements import Requirement
from sqlpriv.engine import fetch
from sqlpriv.macros.catalog import macro
from sqlpriv.policy.require import public_argument
from sqlpriv.release.file import SCHEMA, WRITTEN, double, write_values
from sqlpriv.sqltext import literal

ATTRIBUTES = ("position", "name", "type", "role", "level", "levels", "original", "labels", "has_domain")
"""The columns of table attributes, and of table requirements."""
REQUIREMENTS = ("requirement", "guarantee", "measure", "sensitive", "arguments", "threshold")


def write_requirements(con: duckdb.DuckDBPyConnection, requirements: Sequence[Requirement]) -> None:
    """Table requirements of the file that is written."""
    if not requirements:
        listed = ", ".join(f"{c} {'DOUBLE' if c == 'threshold' else 'VARCHAR'}" for c in REQUIREMENTS)
        fetch(con, f"CREATE TABLE {WRITTEN}.{SCHEMA}.requirements ({listed})")
        return
    promised = ((*(literal(v) for v in _stated(r)), double(r.threshold)) for r in requirements)
    write_values(con, "requirements", ", ".join(REQUIREMENTS), promised)


def _stated(required: Requirement) -> tuple[str | None, ...]:
    """A requirement as the file states it: of a file that it names, only the name."""
    arguments = {k: public_argument(v) for k, v in required.arguments.items()}
    promise = guarantee(required.measure.macro)
    return required.text, promise, required.name, required.sensitive, json.dumps(arguments)


def guarantee(name: str) -> str:
    """What a macro's number promises, in one sentence."""
    return macro(name).header.fields["guarantee"].replace("\n", " ")
