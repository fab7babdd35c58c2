"""Which records a person could be behind: pairs of kinds of people and kinds of records that agree on every column.

    <name>_records   the kinds of records: id, l0, l1, ... as texts, n of them
    <name>_people    the kinds of people, of a dictionary or of the private table: id, v0, v1, ... as texts, n of them
    <name>_pairs     record, person: the kinds that are consistent

A person of the private table is behind the record of their own values, so NULL is a value there. In a dictionary NULL
is what the attacker does not know, and in a record what the owner did not: each agrees with everything.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import duckdb

from sqlpriv.core.engine import fetch
from sqlpriv.core.errors import InputError
from sqlpriv.core.sqltext import literal, quoted
from sqlpriv.methods.records import Cell, Records
from sqlpriv.release.file import ReleaseFile
from sqlpriv.table.hierarchies import TOP


@dataclass(frozen=True)
class Matches:
    """The tables that say who could be behind which record."""

    con: duckdb.DuckDBPyConnection
    name: str

    @property
    def records(self) -> str:
        """The kinds of records."""
        return quoted(f"{self.name}_records")

    @property
    def people(self) -> str:
        """The kinds of people."""
        return quoted(f"{self.name}_people")

    @property
    def pairs(self) -> str:
        """Which of the two are consistent."""
        return quoted(f"{self.name}_pairs")


def match_people(
    con: duckdb.DuckDBPyConnection,
    name: str,
    records: Records,
    people: str,
    *,
    open_nulls: bool,
    people_columns: Sequence[str] = (),
    record_columns: Sequence[str] = (),
) -> Matches:
    """Hold a table of people against records, by all columns that can be compared.

    `people_columns` and `record_columns` are further columns, which distinguish kinds and are not compared.
    """
    matches, cells = Matches(con, name), records.cells
    labels = [f"CAST({quoted(c.name)} AS VARCHAR) AS l{i}" for i, c in enumerate(cells)]
    labels += [f"{quoted(b)} AS b{i}" for i, b in enumerate(record_columns)]
    values = [f"{c.text(quoted(c.name))} AS v{i}" for i, c in enumerate(cells)]
    values += [f"{quoted(k)} AS k{i}" for i, k in enumerate(people_columns)]
    _write_kinds(con, matches.records, labels, records.relation)
    _write_kinds(con, matches.people, values, people)
    for i, cell in enumerate(cells):
        _write_matches(con, i, cell, matches, open_nulls)
    steps = f"{matches.people} AS p JOIN __matches_0 AS m0 ON p.v0 IS NOT DISTINCT FROM m0.value "
    steps += f"JOIN {matches.records} AS r ON r.l0 IS NOT DISTINCT FROM m0.label"
    for i in range(1, len(cells)):
        steps += (
            f" JOIN __matches_{i} AS m{i} ON r.l{i} IS NOT DISTINCT FROM m{i}.label "
            f"AND p.v{i} IS NOT DISTINCT FROM m{i}.value"
        )
    fetch(con, f"CREATE OR REPLACE TEMP TABLE {matches.pairs} AS SELECT r.id AS record, p.id AS person FROM {steps}")
    if records.is_starred and not open_nulls:
        _leave_stars(matches, len(cells))
    return matches


def _write_kinds(con: duckdb.DuckDBPyConnection, target: str, columns: Sequence[str], relation: str) -> None:
    counted = f"SELECT {', '.join(columns)}, count(*) AS n FROM {relation} GROUP BY ALL"
    fetch(con, f"CREATE OR REPLACE TEMP TABLE {target} AS SELECT row_number() OVER () AS id, * FROM ({counted})")


def _write_matches(con: duckdb.DuckDBPyConnection, i: int, cell: Cell, matches: Matches, open_nulls: bool) -> None:
    """Which labels of a column a value may be behind."""
    fetch(con, f"CREATE OR REPLACE TEMP TABLE __people_values AS SELECT DISTINCT v{i} AS value FROM {matches.people}")
    labels = f"(SELECT DISTINCT l{i} AS label FROM {matches.records})"
    found = f"SELECT label, value FROM ({cell.below('__people_values')}) WHERE label IS NOT NULL"
    both = f"SELECT label, value FROM {labels}, __people_values WHERE"
    # Each on its own: with OR between them every label would be held against every value.
    conditions = [_is_top("label"), "label IS NULL AND value IS NULL"]
    conditions += ["label IS NULL", "value IS NULL"] if open_nulls else []
    known = f"SELECT label, value FROM ({found}) SEMI JOIN {labels} AS l USING (label)"
    everything = " UNION ".join([known, *(f"{both} {condition}" for condition in conditions)])
    fetch(con, f"CREATE OR REPLACE TEMP TABLE __matches_{i} AS {everything}")


def _leave_stars(matches: Matches, columns: int) -> None:
    """Classes are published whole: who could be in one that shows something is not among the suppressed rows."""
    stars = " AND ".join(_is_top(f"l{i}") for i in range(columns))
    fetch(
        matches.con,
        f"DELETE FROM {matches.pairs} WHERE record IN (SELECT id FROM {matches.records} WHERE {stars}) AND person IN "
        f"(SELECT person FROM {matches.pairs} JOIN {matches.records} ON id = record WHERE NOT ({stars}))",
    )


def _is_top(label: str) -> str:
    """Whether a label, as SQL, stands for anything."""
    return f"{label} IS NOT DISTINCT FROM {literal(TOP)}"


def refuse_unmatched(file: ReleaseFile, missing: int, option: str) -> None:
    """Everybody is in some class, but for the rows that were left out: else the labels were not read rightly."""
    left_out = 0 if file.about.get("kept_suppressed") == "yes" else int(file.about.get("suppressed_rows", "0"))
    if missing > left_out:
        raise InputError(
            f"{missing - left_out:,} rows of the private table are in no class of {file.name}: the table has changed "
            f"since, or the release has other hierarchies than the policy; name its own with {option}"
        )
