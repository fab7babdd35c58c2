"""What a linking attacker finds in a release of labels: which values a cell may be, and a belief in a class.

A column that shows its values is what it says. Ranges name their ends, and masks their start. The policy's hierarchy
labels any value, and a public domain lists them. Cells of a column with none of these cannot be compared.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from sqlpriv.core.engine import fetch
from sqlpriv.core.sqltext import folded, literal, quoted, rows_of
from sqlpriv.macros.calls import Calls
from sqlpriv.methods.generalized.layout import CLOSED, VALUES, WHOLE, has_ends
from sqlpriv.methods.method import Plan
from sqlpriv.methods.records import Cell, OwnedRelease, Records, plain_type, same_value
from sqlpriv.release.file import SCHEMA, ReleaseFile
from sqlpriv.table.hierarchies import Given, wide_rows
from sqlpriv.table.source import Source

OF_CLASSES = "knows the quasi-identifiers, nothing of others in particular, and not how the classes were found"


def generalized_records(owned: OwnedRelease, names: Sequence[str], also: str | None = None) -> Records:
    """The rows of a release of labels, by those of its columns that are named.

    Where its columns are in several tables, these are the rows of the one with most of them, among those that have the
    column `also`, which is not compared.
    """
    file, policy, wanted = owned.file, owned.policy, {folded(n) for n in names}
    # A release may publish groups of columns apart, each a sample.
    tables = ["published", *sorted(t for schema, t in file.tables if schema == SCHEMA and t.startswith("group_"))]
    columns = {table: {folded(c) for c in file.columns(SCHEMA, table)} for table in tables}
    able = [table for table in tables if also is None or folded(also) in columns[table]]
    table = max(able, key=lambda table: len(columns[table] & wanted))
    given = {} if policy is None else {folded(c.name): c.given for c in policy.columns}
    found = []
    for row in file.rows("attributes"):
        name = str(row["name"])
        if folded(name) in wanted & columns[table]:
            found.append((name, _cell(file, row, owned.source, given.get(folded(name), {}))))
    return Records(
        file.each_row if table == "published" else file.table(table),
        tuple(cell for _, cell in found if cell is not None),
        tuple(name for name, cell in found if cell is None),
        file.about.get("kept_suppressed") == "yes",
    )


def why_only_labels(file: ReleaseFile) -> str | None:
    """Why a sensitive value cannot be counted in the classes of a release: it shows labels in the place of some.

    All of a class may have the label `*`, and it is known of none of them. And where each cell has a level of its
    own, labels of different rows may fit the same person: the rows of equal labels are not all candidates for one.
    """
    columns = sorted(file.rows("attributes"), key=lambda c: int(c["position"]))
    hidden = [str(c["name"]) for c in columns if c["role"] == "sensitive" and c.get("labels", VALUES) != VALUES]
    if not hidden:
        return None
    return (
        f"{file.name} shows labels of {', '.join(hidden)}, and not the values: that all in a class have one label does "
        "not tell what they have, and people are not found by equal labels alone"
    )


def _cell(file: ReleaseFile, row: Mapping[str, Any], source: Source | None, said: Mapping[str, Any]) -> Cell | None:
    """How the cells of a column are compared; None where that is not known.

    `said` is what the policy says of the column; a level there is that of labels in the place of values.
    """
    name, labels = str(row["name"]), str(row.get("labels", VALUES))
    kind = plain_type(str(row.get("original", row.get("type"))))
    listed = file.table(f"labels_{name}")
    ranges = (SCHEMA, f"labels_{name}") in file.tables and has_ends(labels, str(row.get("original")))
    given: Given | None = said.get("hierarchy")
    is_top = row.get("level") is not None and row.get("level") == row.get("levels")
    if is_top or (labels == VALUES and said.get("level") is None):
        return Cell(name, kind, same_value)
    if ranges and labels in CLOSED:
        return Cell(name, kind, partial(_between, listed, kind, True))
    if source is not None and given is not None:
        if "original" not in row:  # only the private table says what stands below the labels
            kind = next((plain_type(k) for c, k in source.types.items() if folded(c) == folded(name)), kind)
        return Cell(name, kind, partial(_labelled, source, given, name, kind))
    if ranges:
        return Cell(name, kind, partial(_between, listed, kind, WHOLE.fullmatch(kind) is not None or kind == "DATE"))
    part = file.policy
    declared = part.get("columns", {}).get(name, {}) if isinstance(part, dict) else {}
    if declared.get("hierarchy") == "suppression":
        return Cell(name, kind, same_value)
    if declared.get("hierarchy") == "mask":
        return Cell(name, kind, partial(_masked, listed, row.get("level")))
    if row.get("has_domain") and (SCHEMA, f"leaves_{name}") in file.tables:
        return Cell(name, kind, partial(_listed, file.table(f"leaves_{name}")))
    return None


def _masked(labels: str, level: int | None, values: str) -> str:
    """Of masked texts, as of an American postcode, anybody sees what they may be: no longer, with the same start.

    Where less is left than the mask of a level leaves, the value was so short, and this is all of it.
    """
    shown = f"(SELECT DISTINCT label, rtrim(label, '*') AS start FROM {labels})"
    whole = "false" if level is None else f"length(l.start) < length(l.label) - {int(level)}"
    may_be = "starts_with(v.value, l.start) AND length(v.value) <= length(l.label)"
    return (
        f"SELECT l.label, v.value FROM {shown} AS l JOIN {values} AS v "
        f"ON CASE WHEN {whole} THEN v.value = l.start ELSE {may_be} END"
    )


def _between(labels: str, kind: str, closed: bool, values: str) -> str:
    """Labels without ends, as the top, may be anything; of ranges that are cut, the high end is the next one's."""
    last = "<=" if closed else "<"
    value = f"TRY_CAST(v.value AS {kind})"
    within = f"(e.low IS NULL OR e.low <= {value}) AND (e.high IS NULL OR {value} {last} e.high)"
    ends = f"(SELECT DISTINCT label, low, high FROM {labels})"
    return f"SELECT e.label, v.value FROM {ends} AS e JOIN {values} AS v ON {within}"


def _listed(table: str, values: str) -> str:
    return (
        f"SELECT DISTINCT CAST(d.label AS VARCHAR) AS label, v.value FROM {table} AS d JOIN {values} AS v "
        "ON CAST(d.value AS VARCHAR) IS NOT DISTINCT FROM v.value"
    )


def _labelled(source: Source, given: Given, name: str, kind: str, values: str) -> str:
    """By the hierarchy of the policy, all labels of a value. What it does not cover is no value of the table."""
    cells = f"SELECT DISTINCT CAST(value AS {kind}) AS {quoted(name)} FROM {values}"
    base = source.scratch.table(cells, "values")
    wide = source.scratch.table(wide_rows(source, given, name, base.name), "labels")
    first = quoted(next(iter(wide.columns)))
    listed = f"SELECT {first} AS value, unnest(list_value(*COLUMNS(*))) AS label FROM {wide.name}"
    return (
        f"SELECT DISTINCT w.label, v.value FROM ({listed}) AS w JOIN {values} AS v "
        "ON w.value IS NOT DISTINCT FROM v.value"
    )


def posterior_by_share(plan: Plan[Any], share: float | None, times: float) -> float | None:
    """The worst belief of a linking attacker, from the largest share that a sensitive value has in a class.

    In a class, whose other rows may be anybody's, a belief becomes `times` times the odds of the value's share there. A
    person with several rows may be in several classes, and then nothing is known.
    """
    person, source = plan.policy.person, plan.source
    if share is None:
        return None
    if person is not None:
        # That one of several rows has a value is believed more than that one row has it.
        there, number = rows_of(source.checked)
        rows, persons = fetch(source.con, f"SELECT {number}, count(DISTINCT {quoted(person)}) FROM {there}")[0]
        if rows != persons:
            return None
    return share if share >= 1 else float(source.calls.row("linking_prior_of_share", share, times)[0])


def largest_share(file: ReleaseFile) -> float | None:
    """The largest share that a sensitive value has in a published class; None where no column is sensitive.

    It is the belief of one who knows the quasi-identifiers of a person and that the person's row is published, and
    finds the person no likelier to have a value than others are.
    """
    roles = [(str(row["role"]), str(row["name"])) for row in file.rows("attributes")]
    qis = [name for role, name in roles if role == "quasi-identifier"]
    sensitive = [name for role, name in roles if role == "sensitive"]
    if not sensitive:
        return None
    alpha = Calls(file.con).need("alpha_k_anonymity")
    asked = (f"({literal(file.checked)}, {literal(qis)}, {literal(name)})" for name in sensitive)
    return max(float(fetch(file.con, f"SELECT alpha FROM {alpha}{arguments}")[0][0]) for arguments in asked)
