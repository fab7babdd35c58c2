"""The private table asked as it is: the true answers, which estimates are measured by. For the owner alone.

The table is read once into memory, with the columns that a release may have, and each question runs over it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb

from sqlpriv import publishing
from sqlpriv.comparison.workload import Choices, LeftOut, Question, make_workload, read_workload
from sqlpriv.core.engine import fetch
from sqlpriv.core.errors import InputError, SqlprivError
from sqlpriv.core.facts import OnProgress
from sqlpriv.core.sqltext import NUMERIC_TYPE, quoted, reader
from sqlpriv.policy.file import Column, Policy
from sqlpriv.policy.keys import NOISY_ROLES
from sqlpriv.table.domains import DeclaredColumn, read_domain
from sqlpriv.table.private_table import settle_types
from sqlpriv.table.source import Source

Key = tuple[str | None, ...]
_SCHEMA = "__truth"
_MOST_VALUES = 10_000
_MOST_GROUPS = 100_000


@dataclass(frozen=True)
class TrueAnswers:
    """A question with its true answers: by the group keys as text, a number or nothing for each aggregate."""

    question: Question
    answers: Mapping[Key, tuple[float | None, ...]]


@dataclass(frozen=True)
class Truth:
    """All that is known of the private table: its rows, the questions with their answers, and what was left out."""

    rows: int
    known: tuple[TrueAnswers, ...]
    left_out: tuple[LeftOut, ...]
    made_up: bool
    unlisted: tuple[str, ...] = ()
    """Columns without a public domain, whose values the made-up questions read off the table."""


def ask_private(
    policy: Policy, workload: Path | Sequence[Question] | None, seed: int, on_progress: OnProgress = None
) -> Truth:
    """The true answers of a workload, of questions, or of some that are made up."""
    given: Sequence[Question | LeftOut] | None = read_workload(workload) if isinstance(workload, Path) else workload
    with publishing.open_private(policy) as (source, spelt):
        columns = _columns(source, spelt)
        choices = [] if given is not None else [_choices(source, c) for c in columns if is_fine(c)]
        asked = given or make_workload(policy.table.name, [c for c in choices if c.values], seed)
        unlisted = tuple(c.name for c in columns if is_fine(c) and not _has_domain(c)) if given is None else ()
        rows = _read_into_memory(source, spelt, columns)
        found: list[TrueAnswers | LeftOut] = []
        for place, question in enumerate(asked):
            found.append(_asked(source.con, question) if isinstance(question, Question) else question)
            if on_progress:
                on_progress((place + 1) / len(asked))
    known = tuple(k for k in found if isinstance(k, TrueAnswers))
    left_out = tuple(left for left in found if isinstance(left, LeftOut))
    if not known:
        raise InputError(
            f"no statement of the workload can be asked; the first, statement {left_out[0].number}: {left_out[0].why}"
        )
    return Truth(rows, known, left_out, given is None, unlisted)


def _columns(source: Source, policy: Policy) -> list[Column]:
    """The columns that a release may have, called as the table calls them."""
    source.refuse_unknown([c.name for c in policy.columns])
    found = [c for c in policy.columns if c.role in NOISY_ROLES]
    if not found:
        raise InputError("the policy publishes no column, so there is nothing to compare")
    return found


def is_fine(column: Column) -> bool:
    """Whether its own values are published: questions about a column that becomes labels would be about others."""
    is_labelled = column.role == "published" and column.given.get("hierarchy") is not None
    return column.given.get("level") is None and not is_labelled


def _has_domain(column: Column) -> bool:
    return column.given.get("domain") not in (None, "active")


def _choices(source: Source, column: Column) -> Choices:
    """The values that questions may name: the public domain, or, where there is none, what the table has."""
    domain = column.given.get("domain") or "active"
    asked = DeclaredColumn(column.name, column.role, domain, False, "drop", None, None, None)
    listed = read_domain(source, column.name, asked)
    step = 1 + listed.size // _MOST_VALUES
    values = fetch(
        source.con, f"SELECT value FROM {listed.table.name} WHERE value IS NOT NULL AND id % {step} = 0 ORDER BY id"
    )
    is_ordered = bool(NUMERIC_TYPE.fullmatch(listed.type)) or listed.type.startswith(("DATE", "TIMESTAMP"))
    return Choices(column.name, tuple(v[0] for v in values), is_ordered)


def _read_into_memory(source: Source, policy: Policy, columns: Sequence[Column]) -> int:
    """The table under its own name, with the public tables next to it; nothing else can be reached then. Its rows."""
    con, table = source.con, quoted(_SCHEMA, policy.table.name)
    fetch(con, f"CREATE SCHEMA {_SCHEMA}")
    listed = ", ".join(quoted(c.name) for c in columns)
    fetch(con, f"CREATE TABLE {table} AS SELECT {listed} FROM {source.private.name}")
    settle_types(source, table)
    for name, file in policy.public.items():
        fetch(con, f"CREATE TABLE {quoted(_SCHEMA, name)} AS FROM {reader(str(policy.table.path(file)), {})}")
    rows = int(fetch(con, f"SELECT count(*) FROM {table}")[0][0])
    if rows == 0:
        raise InputError("the table has no rows, so there is nothing to compare")
    fetch(con, f"SET schema = {quoted(_SCHEMA)}")
    fetch(con, "SET python_enable_replacements = false")
    fetch(con, "SET enable_external_access = false")
    return rows


def _asked(con: duckdb.DuckDBPyConnection, question: Question) -> TrueAnswers | LeftOut:
    """What DuckDB says before it reads a row is passed on; what it says then may quote one, as error() is made to."""
    try:
        fetch(con, f"EXPLAIN {question.sql}")
    except SqlprivError as error:
        return LeftOut(question.number, f"the private table does not answer it: {error}")
    try:
        rows = fetch(con, question.sql)
    except SqlprivError:
        return LeftOut(question.number, "it fails on a row of the private table; TRY_CAST gives NULL where CAST fails")
    if len(rows) > _MOST_GROUPS:
        return LeftOut(question.number, f"it has more than {_MOST_GROUPS:,} groups")
    if rows and len(rows[0]) != len(question.is_value):
        return LeftOut(question.number, "it answers with other columns than it names")
    answers: dict[Key, tuple[float | None, ...]] = {}
    for row in rows:
        values = [v for v, is_value in zip(row, question.is_value, strict=True) if is_value]
        if not all(v is None or is_number(v) for v in values):
            return LeftOut(question.number, "its answers are not numbers")
        if key_of(row, question) in answers:
            return LeftOut(question.number, "two of its rows look alike; select what it groups by, without totals")
        answers[key_of(row, question)] = tuple(map(as_number, values))
    return TrueAnswers(question, answers)


def is_number(value: Any) -> bool:
    """Whether an answer can be off by a number."""
    return isinstance(value, int | float | Decimal) and not isinstance(value, bool)


def as_number(value: Any) -> float | None:
    """An answer as a number; NaN is none, and nothing is off from it."""
    return float(value) if is_number(value) and not math.isnan(value) else None


def key_of(row: Sequence[Any], question: Question) -> Key:
    """The group of a row, as text: a release may have its key in another type."""
    keys = (v for v, is_value in zip(row, question.is_value, strict=True) if not is_value)
    return tuple(None if key is None else str(key) for key in keys)
