"""Which records a person could be behind: pairs of kinds of people and kinds of records that agree on every column.

A person of the private table is behind the record of their own values, so NULL is a value there. In a dictionary NULL
is what the attacker does not know, and in a record what the owner did not: each agrees with everything.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlpriv.core.engine import fetch
from sqlpriv.core.errors import InputError
from sqlpriv.core.relation import Relation, Scratch
from sqlpriv.core.sqltext import literal, quoted
from sqlpriv.methods.records import Cell, Records
from sqlpriv.release.file import ReleaseFile
from sqlpriv.table.hierarchies import TOP


@dataclass(frozen=True)
class Matches:
    """Who could be behind which record."""

    records: Relation
    """The kinds of records: id, l0, l1, ... as texts, b0, b1, ... not compared, n of them."""
    people: Relation
    """The kinds of people, of a dictionary or of the private table: id, v0, v1, ... as texts, k0, ..., n of them."""
    pairs: Relation
    """The kinds that are consistent: record, person."""


def match_people(
    scratch: Scratch,
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
    cells = records.cells
    labels = [f"CAST({quoted(c.name)} AS VARCHAR) AS l{i}" for i, c in enumerate(cells)]
    labels += [f"{quoted(b)} AS b{i}" for i, b in enumerate(record_columns)]
    values = [f"{c.text(quoted(c.name))} AS v{i}" for i, c in enumerate(cells)]
    values += [f"{quoted(k)} AS k{i}" for i, k in enumerate(people_columns)]
    of_records = _kinds(scratch, labels, records.relation, "records")
    of_people = _kinds(scratch, values, people, "people")
    with scratch.nested() as scope:
        agreeing = [_agreeing(scope, i, cell, of_records, of_people, open_nulls) for i, cell in enumerate(cells)]
        joined = f"{of_people.name} AS p JOIN {agreeing[0].name} AS m0 ON p.v0 IS NOT DISTINCT FROM m0.value "
        joined += f"JOIN {of_records.name} AS r ON r.l0 IS NOT DISTINCT FROM m0.label"
        for i, found in enumerate(agreeing[1:], 1):
            joined += (
                f" JOIN {found.name} AS m{i} ON r.l{i} IS NOT DISTINCT FROM m{i}.label "
                f"AND p.v{i} IS NOT DISTINCT FROM m{i}.value"
            )
        pairs = scratch.table(f"SELECT r.id AS record, p.id AS person FROM {joined}", "pairs")
    if records.is_starred and not open_nulls:
        # Classes are published whole: who could be in one that shows something is not among the suppressed rows.
        stars = " AND ".join(_is_top(f"l{i}") for i in range(len(cells)))
        fetch(
            scratch.con,
            f"DELETE FROM {pairs.name} WHERE record IN (SELECT id FROM {of_records.name} WHERE {stars}) AND person IN "
            f"(SELECT person FROM {pairs.name} JOIN {of_records.name} ON id = record WHERE NOT ({stars}))",
        )
    return Matches(of_records, of_people, pairs)


def _kinds(scratch: Scratch, columns: Sequence[str], relation: str, hint: str) -> Relation:
    counted = f"SELECT {', '.join(columns)}, count(*) AS n FROM {relation} GROUP BY ALL"
    return scratch.table(f"SELECT row_number() OVER () AS id, * FROM ({counted})", hint)


def _agreeing(scope: Scratch, i: int, cell: Cell, records: Relation, people: Relation, open_nulls: bool) -> Relation:
    """Which labels of a column a value may be behind: label, value."""
    values = scope.table(f"SELECT DISTINCT v{i} AS value FROM {people.name}", "values").name
    labels = f"(SELECT DISTINCT l{i} AS label FROM {records.name})"
    found = f"SELECT label, value FROM ({cell.below(values)}) WHERE label IS NOT NULL"
    both = f"SELECT label, value FROM {labels}, {values} WHERE"
    # Each on its own: with OR between them every label would be held against every value.
    conditions = [_is_top("label"), "label IS NULL AND value IS NULL"]
    conditions += ["label IS NULL", "value IS NULL"] if open_nulls else []
    known = f"SELECT label, value FROM ({found}) SEMI JOIN {labels} AS l USING (label)"
    return scope.table(" UNION ".join([known, *(f"{both} {condition}" for condition in conditions)]), "agreeing")


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
