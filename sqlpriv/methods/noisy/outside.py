"""Why rows are outside a domain: it is too narrow, or the column and its domain are of different types."""

from __future__ import annotations

import re

from sqlpriv.core.engine import fetch
from sqlpriv.core.errors import PolicyError
from sqlpriv.core.sqltext import NUMERIC_TYPE, quoted
from sqlpriv.table.domains import NumberedColumn
from sqlpriv.table.profile import kind_of
from sqlpriv.table.source import Source

_FRACTIONS = re.compile(r"FLOAT|DOUBLE|DECIMAL.*")
_CSV = re.compile(r"\.[ct]sv(\.\w+)?$", re.IGNORECASE)
_DAYS = "as days: 2024-01-31 without quotes, or range:2024-01-01..2024-12-31"
_HOW_TO_WRITE = {
    "text": "as texts in quotes, as the column writes them",
    "number": "as numbers without quotes",
    "date": _DAYS,
    "timestamp": _DAYS,
    "flag": "as [true, false]",
}
"""How a policy writes a domain for a column of each kind."""


def refuse_outside(source: Source, attribute: NumberedColumn, rows: int) -> None:
    """Refuse rows outside a domain, unless the policy says what becomes of them.

    That they are dropped or replaced is meant for a few odd values: where the whole column is outside its domain,
    because the two are of different types, they are refused all the same.
    """
    is_lost = not _inside(source, attribute)
    if attribute.column.outside != "refuse" and not is_lost:
        return
    what = f"{rows:,} rows have a value of {attribute.name!r} outside its domain"
    if why := _by_type(source, attribute, is_lost):
        raise PolicyError(f"{what}: {why}")
    if attribute.column.outside == "refuse":
        raise PolicyError(
            f'{what}; widen the domain, or set outside = "drop" or "other" (or null = true, if it is NULL)'
        )


def _by_type(source: Source, attribute: NumberedColumn, is_lost: bool) -> str | None:
    """What to write where rows are outside because the types of column and domain differ; else None."""
    column, domain = _type(source, attribute), attribute.given
    if domain is None:
        return None
    both = f"the column is {_shown(column)}, its domain {_shown(domain)}"
    if _FRACTIONS.fullmatch(column) and NUMERIC_TYPE.fullmatch(domain) and not _FRACTIONS.fullmatch(domain):
        broken = _fractions(source, attribute)
        return (
            f"{both}, and {broken:,} rows have no whole number; round the column, {_where(source)}" if broken else None
        )
    kind = kind_of(column)
    if kind == kind_of(domain) or not (is_lost or _would_be_inside(source, attribute, column, domain)):
        return None
    advice = f"write the domain {_HOW_TO_WRITE.get(kind, _HOW_TO_WRITE['text'])}"
    if kind == "text":
        advice = f"make the column {_shown(domain)}, {_where(source, attribute.name, domain)}, or {advice}"
    return f"{both}, and what is written differently is different; {advice}"


def _type(source: Source, attribute: NumberedColumn) -> str:
    """The type in which the column is read."""
    return "VARCHAR" if attribute.name in source.texts else source.types[attribute.name]


def _shown(kind: str) -> str:
    """A type by its name: what follows may hold the values of an ENUM."""
    return kind if kind.startswith("TIMESTAMP") else re.split(r"[ (]", kind, maxsplit=1)[0]


def _where(source: Source, name: str | None = None, kind: str = "") -> str:
    """Where a column gets another form: a CSV file's column another type by the policy, all else in a view."""
    is_csv = source.reference.is_in_file and _CSV.search(source.reference.source)
    return f'by types = {{ {name} = "{kind}" }} in [table]' if name and is_csv else "in a view of a database"


def _inside(source: Source, attribute: NumberedColumn) -> bool:
    """Whether any row with a value is inside."""
    return bool(
        fetch(source.con, f"SELECT count(*) > 0 FROM ({_texts(source, attribute)}) WHERE x IN ({_domain(attribute)})")[
            0
        ][0]
    )


def _would_be_inside(source: Source, attribute: NumberedColumn, column: str, domain: str) -> bool:
    """Whether a row is outside that would be inside if column and domain were of the same type."""
    for kind in (domain, column):
        declared = f"SELECT TRY_CAST(value AS {kind}) FROM ({_domain(attribute)})"
        found = fetch(
            source.con,
            f"SELECT count(*) > 0 FROM ({_texts(source, attribute)}) WHERE x NOT IN ({_domain(attribute)}) "
            f"AND TRY_CAST(x AS {kind}) IN ({declared})",
        )
        if found[0][0]:
            return True
    return False


def _texts(source: Source, attribute: NumberedColumn) -> str:
    """SQL for the values of the rows as they are compared, those that are not NULL."""
    return f"SELECT x FROM (SELECT {attribute.text_of('t')} AS x FROM {source.table} AS t) WHERE x IS NOT NULL"


def _domain(attribute: NumberedColumn) -> str:
    """SQL for the values of the domain as they are compared."""
    if attribute.mapping:
        return f"SELECT value FROM {attribute.mapping} WHERE value IS NOT NULL"
    return (
        f"SELECT CAST(CAST(value AS {attribute.compared}) AS VARCHAR) AS value FROM {attribute.table} "
        "WHERE value IS NOT NULL"
    )


def _fractions(source: Source, attribute: NumberedColumn) -> int:
    value = f"CAST({quoted(attribute.name)} AS DOUBLE)"
    broken = f"isfinite({value}) AND {value} <> floor({value})"
    return int(fetch(source.con, f"SELECT count(*) FROM {source.table} WHERE {broken}")[0][0])
