"""What a release with labels states of itself: its requirements, and what they guarantee."""

from __future__ import annotations

import json
from collections.abc import Sequence

import duckdb

from sqlpriv.macros.catalog import macro
from sqlpriv.methods.labelled.measures import ClassMeasure
from sqlpriv.policy.require import public_argument
from sqlpriv.release.file import double, write_values
from sqlpriv.sqltext import literal

ATTRIBUTES = ("position", "name", "type", "role", "level", "levels", "original", "labels", "has_domain")
"""The columns of table attributes, and of table requirements."""
REQUIREMENTS = ("requirement", "guarantee", "measure", "sensitive", "arguments", "threshold")


def write_requirements(con: duckdb.DuckDBPyConnection, measures: Sequence[ClassMeasure]) -> None:
    """Table requirements of the file that is written."""
    promised = ((*(literal(v) for v in _stated(m)), double(m.requirement.threshold)) for m in measures)
    write_values(con, "requirements", ", ".join(REQUIREMENTS), promised)


def _stated(measure: ClassMeasure) -> tuple[str | None, ...]:
    """A requirement as the file states it: of a file that it names, only the name."""
    required = measure.requirement
    arguments = {k: public_argument(v) for k, v in required.arguments.items()}
    promise = guarantee(required.measure.macro)
    return required.text, promise, required.name, required.sensitive, json.dumps(arguments)


def guarantee(name: str) -> str:
    """What a macro's number promises, in one sentence."""
    return macro(name).header.fields["guarantee"].replace("\n", " ")
