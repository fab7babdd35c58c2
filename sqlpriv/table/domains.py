"""The domain of each published column: every value that a row could have, whether or not one has it.

A domain is public, so it comes from the policy and not from the data; `active` takes the values that occur, which
reveals that they occur, and warns. Each domain becomes a table with a number for every value: noise is drawn by number,
and a tuple is the list of its numbers. Values are compared as they are written, so the 01305 of a file
is not 1305; a domain of numbers for a column of numbers is brought to the column's own type first. Where the domain is
days, a timestamp is published as its day.

A domain may also be the labels on a level of a hierarchy: of a wide file, or made from the values of a domain. Such a
domain has a mapping, a table from each value, as text, to its label, by which rows are published with their label.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from sqlpriv.core.engine import fetch
from sqlpriv.core.errors import InternalError, PolicyError, SqlprivError
from sqlpriv.core.relation import Relation, Scratch
from sqlpriv.core.sqltext import NUMERIC_TYPE, literal, quoted, rows_of
from sqlpriv.macros.catalog import inlined
from sqlpriv.table.hierarchies import wide_rows
from sqlpriv.table.named_tables import is_private, read_named
from sqlpriv.table.source import Source

KINDS = 'a list, "range:17..90", "table:NAME.column", "level:HIERARCHY:2" or "active"'
"""The forms of a domain, in words."""
Cell = str | int | float | bool | datetime.date | datetime.datetime
Domain = tuple[Cell, ...] | str
Share = tuple[float, ...] | str | None
OTHER = "other"
_MOST_VALUES = 10**8
_NO_COUNTS = "SELECT 0 AS attribute, '' AS value, 0 AS rows WHERE false"
"""The counts of a table of which nothing is known yet."""
_RANGE = re.compile(r"range:(-?[0-9]+)\.\.(-?[0-9]+)")
_DATES = re.compile(r"range:([0-9]{4}-[0-9]{2}-[0-9]{2})\.\.([0-9]{4}-[0-9]{2}-[0-9]{2})")
_CSV_AS_TEXT = ", all_varchar = true"
# A time after the day, without a time zone: with one, the day would depend on where one stands.
_DAY_OF_TEXT = "([0-9]{4}-[0-9]{2}-[0-9]{2})[ T][0-9]{2}:[0-9]{2}(:[0-9]{2}([.][0-9]+)?)?"


@dataclass(frozen=True)
class DeclaredColumn:
    """A published column with its domain: a list of values, or text that says where it is."""

    name: str
    role: str
    domain: Domain
    null: bool
    outside: str
    share: Share
    hierarchy: str | tuple[str, ...] | None
    """Published are the labels of the values of the domain on a level of this hierarchy, if there is one."""
    level: int | None


@dataclass(frozen=True)
class NumberedColumn:
    """A published column with its numbered domain."""

    column: DeclaredColumn
    name: str
    table: Relation
    """id, value, share."""
    type: str
    size: int
    compared: str
    """The type in which its values are written like those of the table."""
    mapping: Relation | None = None
    """For a level of a hierarchy, the table that gives the label of a value."""
    given: str | None = None
    """The type of the values that the policy declares; None where they are the keys of a hierarchy's file."""
    day: Callable[[str], str] = str
    """Where the domain is days and the column has times: SQL for the day of a value."""

    def text_of(self, table: str) -> str:
        """SQL for the value of a row as it is compared with the domain."""
        return f"CAST({self.day(f'{table}.{quoted(self.name)}')} AS VARCHAR)"

    @cached_property
    def declared(self) -> str:
        """How the policy gave the domain, for the release: no values."""
        return declared_as(self.column)


def declared_as(column: DeclaredColumn) -> str:
    """How a release says that the policy gave a domain."""
    kind = column.domain if isinstance(column.domain, str) else "list"
    kind = kind.partition(":")[0] if kind.startswith(("table:", "level:")) else kind
    return kind if column.hierarchy is None else f"level of {kind}"


def domain_by_text(domain: Domain) -> bool:
    """Whether a domain is not numbers or dates by what the policy says."""
    if isinstance(domain, str):
        return not domain.startswith("range:") and domain != "active"
    return any(isinstance(value, str) for value in domain)


def range_ends(domain: object) -> tuple[str, str] | None:
    """The two ends of a range as the policy writes them; None where a domain is no range."""
    found = isinstance(domain, str) and (_RANGE.fullmatch(domain) or _DATES.fullmatch(domain))
    return (found[1], found[2]) if found else None


def is_declared(text: str) -> bool:
    """Whether a release can say so of a domain: it holds no other text."""
    kind = text.removeprefix("level of ")
    return kind in {"list", "active", "table", "level"} or any(form.fullmatch(kind) for form in (_RANGE, _DATES))


def read_domains(
    source: Source, named: Sequence[str], published: Sequence[DeclaredColumn]
) -> tuple[NumberedColumn, ...]:
    """The published columns in the order of the table; every column of the table must be named in the policy."""
    source.refuse_unknown(list(named))
    missing = [c for c in source.columns if c not in named]
    if missing:
        raise PolicyError(f"the policy does not say what {missing[0]!r} is; name every column of the table")
    found = {c.name: c for c in published}
    columns = [(c, found[c]) for c in source.columns if c in found]
    return tuple(read_domain(source, name, column) for name, column in columns)


def read_domain(source: Source, name: str, column: DeclaredColumn) -> NumberedColumn:
    """The domain of one column, numbered."""
    try:
        with source.scratch.nested() as scratch:
            return _numbered(source, scratch, name, column)
    except InternalError:
        raise PolicyError(f"domain of {name!r}: it cannot be read from what the policy says") from None
    except SqlprivError as error:
        text = str(error)
        raise PolicyError(text if text.startswith("domain of") else f"domain of {name!r}: {text}") from None


def _numbered(source: Source, scratch: Scratch, name: str, column: DeclaredColumn) -> NumberedColumn:
    """The numbered domain and its mapping. Tables that only lead to them are made in `scratch`; the caller drops it."""
    mapping = given = None
    day: Callable[[str], str] = str
    if isinstance(column.domain, str) and column.domain.startswith("level:"):
        mapping = _level_of_file(source, scratch, column.domain)
        rows = _labels_of(mapping)
    else:
        rows = _values(source, scratch, name, column)
    values = _as_plain_text(scratch.table(f"SELECT value, share FROM ({rows}) AS v(value, share)", "values"), scratch)
    if mapping is None:
        given = values.columns["value"]
        day = _day_of(source, name, values)
    if column.hierarchy is not None:
        kind = _settled(source.types[name], values)
        mapping = _label(source, scratch, column, values, kind)
        values = scratch.table(f"SELECT value, share FROM ({_labels_of(mapping)}) AS v(value, share)", "values")
    _complete(column, values)
    compared = "VARCHAR" if mapping else _settled(source.types[name], values)
    # What DuckDB takes a column of text files for depends on the rows, and must not show in the release.
    kind = values.columns["value"] if _is_guessed(source) else compared
    table = source.scratch.table(
        "SELECT row_number() OVER (ORDER BY value NULLS LAST) - 1 AS id, value, share FROM "
        f"(SELECT CAST(value AS {kind}) AS value, CAST(share AS DOUBLE) AS share FROM {values.name}) ORDER BY id",
        "domain",
    )
    if not table.written:
        raise PolicyError("it is empty")
    return NumberedColumn(column, name, table, kind, table.written, compared, mapping, given, day)


def _values(source: Source, scratch: Scratch, name: str, column: DeclaredColumn) -> str:
    """The query for the values of a domain and their shares, NULL where there are none."""
    domain = column.domain
    if not isinstance(domain, str):
        shares = column.share if isinstance(column.share, tuple) else ["NULL"] * len(domain)
        return f"VALUES {', '.join(f'({_cell(v)}, {s})' for v, s in zip(domain, shares, strict=True))}"
    if found := _RANGE.fullmatch(domain):
        low, high = (int(n) for n in found.groups())
        _refuse_size(high - low + 1, domain)
        return f"SELECT range, NULL FROM range({low}, {high + 1})"
    if found := _DATES.fullmatch(domain):
        first, last = (_day(text, domain) for text in found.groups())
        _refuse_size((last - first).days + 1, domain)
        return (
            f"SELECT CAST(range AS DATE), NULL FROM range(DATE '{first}', DATE '{last}' + INTERVAL 1 DAY, "
            "INTERVAL 1 DAY)"
        )
    if domain == "active":
        return f"SELECT DISTINCT {quoted(name)}, NULL FROM {rows_of(source.checked)[0]}"
    if domain.startswith("table:"):
        table, _, value = domain.removeprefix("table:").rpartition(".")
        if not table:
            raise PolicyError(f"{domain!r} must name a table and its column, as in table:cities.csv.name")
        if is_private(source, table):
            raise PolicyError('it would be read from the private table; write "active" if its values may be public')
        copy = read_named(source, table, scratch)
        if Path(table).suffix == ".csv" and source.reference.is_file(table):
            copy = _as_written(copy, read_named(source, table, scratch, _CSV_AS_TEXT), quoted(value))
        share = "NULL" if column.share is None else f"CAST({quoted(str(column.share))} AS DOUBLE)"
        return f"SELECT {quoted(value)}, {share} FROM {copy.name}"
    raise PolicyError(f"{domain!r} is no domain; there are {KINDS}")


def _as_written(typed: Relation, texts: Relation, column: str) -> Relation:
    """A file in the types that DuckDB takes its columns for, or as texts where the column is written differently."""
    other = f"SELECT {column} FROM {texts.name} EXCEPT ALL SELECT CAST({column} AS VARCHAR) FROM {typed.name}"
    return texts if fetch(texts.con, f"SELECT count(*) FROM ({other})")[0][0] else typed


def _cell(value: object) -> str:
    if isinstance(value, datetime.datetime):
        return f"TIMESTAMP '{value.isoformat(sep=' ')}'"
    if isinstance(value, datetime.date):
        return f"DATE '{value.isoformat()}'"
    return literal(value)


def _day(text: str, domain: str) -> datetime.date:
    try:
        return datetime.date.fromisoformat(text)
    except ValueError:
        raise PolicyError(f"{domain!r} has a day that no calendar has") from None


def _refuse_size(size: int, domain: str) -> None:
    if not 0 < size <= _MOST_VALUES:
        raise PolicyError(f"{domain!r} has {max(size, 0):,} values; a domain has from 1 to {_MOST_VALUES:,}")


def _as_plain_text(values: Relation, scratch: Scratch) -> Relation:
    """Texts that differ are different values, whatever their collation; the type of an ENUM would reveal others."""
    own = values.columns["value"]
    if own != "VARCHAR" and "ENUM" not in own:
        return values
    plain = f"SELECT CAST(value AS VARCHAR) AS value, share FROM {values.name}"
    return scratch.table(f'SELECT value COLLATE "binary" AS value, share FROM ({plain})', "values")


def _complete(column: DeclaredColumn, values: Relation) -> None:
    """NULL only where it is declared, `other` where values outside are to become it; nothing twice."""
    fetch(values.con, f"DELETE FROM {values.name} WHERE value IS NULL")
    twice = fetch(values.con, f"SELECT count(*) - count(DISTINCT CAST(value AS VARCHAR)) FROM {values.name}")[0][0]
    if twice:
        raise PolicyError(f"{twice:,} values are listed twice, or are written alike")
    if column.outside == "other":
        if fetch(values.con, f"SELECT DISTINCT typeof(value) FROM {values.name}") != [("VARCHAR",)]:
            raise PolicyError(f'outside = "other" needs a domain of texts, to which {OTHER!r} can be added')
        fetch(
            values.con,
            f"INSERT INTO {values.name} SELECT {literal(OTHER)}, NULL "
            f"WHERE {literal(OTHER)} NOT IN (SELECT value FROM {values.name})",
        )
    if column.null:
        fetch(values.con, f"INSERT INTO {values.name} VALUES (NULL, NULL)")
    bare, bad = fetch(
        values.con,
        "SELECT count(*) FILTER (share IS NULL), count(*) FILTER (NOT (share > 0 AND isfinite(share))) "
        f"FROM {values.name}",
    )[0]
    if column.share is not None and (bare or bad):
        raise PolicyError(f"{bare + bad:,} values have no share above 0; NULL and {OTHER!r} cannot have one")


def _is_guessed(source: Source) -> bool:
    """Whether the types of the columns are what DuckDB takes a file of text for."""
    return source.reference.is_in_file and not source.reference.file_name.lower().endswith(".parquet")


def _settled(kind: str, values: Relation) -> str:
    """The column's own type if every value of the domain can be written in it without change, else the domain's.

    A domain of days, be they written as texts, makes a column of timestamps one of days.
    """
    own = values.columns["value"]
    if "ENUM" in kind:
        return own
    tried = [kind, "DATE"] if kind.startswith("TIMESTAMP") else [kind]
    return next((t for t in tried if _can_be_written(values, t)), own)


def _can_be_written(values: Relation, kind: str) -> bool:
    own = values.columns["value"]
    tried = f"TRY_CAST(value AS {kind})"
    same = f"CAST({tried} AS VARCHAR) = CAST(value AS VARCHAR)"
    if NUMERIC_TYPE.fullmatch(own) and NUMERIC_TYPE.fullmatch(kind):
        same = f"{tried} = value"
    changed = fetch(values.con, f"SELECT count(*) FROM {values.name} WHERE value IS NOT NULL AND ({same}) IS NOT TRUE")
    return bool(changed[0][0] == 0)


def _day_of_timestamp(value: str) -> str:
    return f"CAST({value} AS DATE)"


def _day_of_text(value: str) -> str:
    return f"regexp_replace({value}, '^{_DAY_OF_TEXT}$', '\\1')"


def _day_of(source: Source, name: str, values: Relation) -> Callable[[str], str]:
    """How a row's value becomes its day; the value itself where the domain is not days, or the column has no times.

    What DuckDB takes a text file's column for may depend on one cell, so there texts with a time have a day, too.
    """
    kind = "VARCHAR" if name in source.texts else source.types[name]
    has_times = kind.startswith("TIMESTAMP") and _settled(kind, values) == "DATE"
    if has_times and kind == "TIMESTAMP WITH TIME ZONE":
        raise PolicyError(
            f"the column is {kind}, whose days depend on the time zone, and its domain is days; make it a DATE where "
            f"you know the zone, as in CAST({quoted(name)} AT TIME ZONE 'UTC' AS DATE)"
        )
    if has_times:
        return _day_of_timestamp
    has_texts = kind == "VARCHAR" and _is_guessed(source)
    return _day_of_text if has_texts and _can_be_written(values, "DATE") else str


def _level_of_file(source: Source, scratch: Scratch, domain: str) -> Relation:
    """The mapping of level:NAME:2."""
    found = re.fullmatch(r"level:(.+):([0-9]+)", domain)
    if not found:
        raise PolicyError(f"{domain!r} must name a hierarchy and a level of it, as in level:ages.csv:2")
    name, level = found.group(1), int(found.group(2))
    if not source.reference.is_file(name) and source.reference.is_file(f"{name}.csv"):
        name += ".csv"
    _refuse_private(source, name)
    wide = read_named(source, name, scratch, ", delim = ';', header = false, all_varchar = true")
    return _mapped(source.scratch, wide, level, repr(domain))


def _label(source: Source, scratch: Scratch, column: DeclaredColumn, values: Relation, kind: str) -> Relation:
    """The mapping from the values of a domain, as `kind`, the column's type, to the labels of its hierarchy.

    Labels are made from the values in the domain's own type: that of a column of a file may depend on single rows.
    """
    hierarchy, name = column.hierarchy, quoted(column.name)
    assert hierarchy is not None
    if isinstance(hierarchy, str):
        _refuse_private(source, hierarchy.removeprefix("tree:"))
    base = scratch.table(f"SELECT DISTINCT value AS {name} FROM {values.name} WHERE value IS NOT NULL", "base")
    wide = scratch.table(wide_rows(source, hierarchy, column.name, base.name), "wide")
    own = _mapped(scratch, wide, column.level or 1, "its hierarchy")
    mapping = source.scratch.table(
        f"SELECT CAST(CAST(b.{name} AS {kind}) AS VARCHAR) AS value, m.label "
        f"FROM {base.name} AS b LEFT JOIN {own.name} AS m ON m.value = CAST(b.{name} AS VARCHAR)",
        "mapping",
    )
    bare = fetch(source.con, f"SELECT count(*) FROM {mapping.name} WHERE label IS NULL")[0][0]
    if bare:
        raise PolicyError(f"{bare:,} values of the domain have no label in its hierarchy")
    return mapping


def _labels_of(mapping: Relation) -> str:
    return f"SELECT DISTINCT label, NULL FROM {mapping.name}"


def _refuse_private(source: Source, name: str) -> None:
    if is_private(source, name):
        raise PolicyError("its labels would be read from the private table; name a hierarchy that is public")


def _mapped(scratch: Scratch, wide: Relation, level: int, what: str) -> Relation:
    """The mapping from the values of a wide table to their labels on a level."""
    columns = list(wide.columns)
    if level >= len(columns):
        raise PolicyError(f"{what}: the hierarchy ends at level {len(columns) - 1}")
    mapping = scratch.table(
        f"SELECT DISTINCT CAST({quoted(columns[0])} AS VARCHAR) AS value, "
        f"CAST({quoted(columns[level])} AS VARCHAR) AS label FROM {wide.name}",
        "mapping",
    )
    steps = f"_hierarchy_steps((SELECT 0 AS attribute, [value, label] AS labels FROM {mapping.name}), ({_NO_COUNTS}))"
    labels = f"SELECT * FROM _hierarchy_labels({steps})"
    levels = f"WITH __priv_labels AS ({labels}) SELECT twice FROM _hierarchy_levels(__priv_labels, ({_NO_COUNTS}))"
    twice = max((r[0] for r in fetch(scratch.con, inlined(levels))), default=0)
    if twice:
        raise PolicyError(f"{what}: {twice:,} values have two labels")
    return mapping
