"""The domain of each published column: every value that a row could have, whether or not one has it.

A domain is public, so it comes from the policy and not from the data; `active` takes the values that occur, which
reveals that they occur, and warns. Each domain becomes a table __domain_<a> with a number for every value: noise is
drawn by number, and a tuple is the list of its numbers. Values are compared as they are written, so the 01305 of a file
is not 1305; a domain of numbers for a column of numbers is brought to the column's own type first. Where the domain is
days, a timestamp is published as its day.

A domain may also be the labels on a level of a hierarchy: of a wide file, or made from the values of a domain. Such a
domain has a mapping, a table from each value, as text, to its label, by which rows are published with their label.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from sqlpriv.core.engine import fetch
from sqlpriv.core.errors import InternalError, PolicyError, SqlprivError
from sqlpriv.core.sqltext import NUMERIC_TYPE, folded, literal, quoted
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
class PublishedColumn:
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

    column: PublishedColumn
    name: str
    table: str
    type: str
    size: int
    compared: str
    """The type in which its values are written like those of the table."""
    mapping: str | None = None
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


def declared_as(column: PublishedColumn) -> str:
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
    source: Source, named: Sequence[str], published: Sequence[PublishedColumn]
) -> tuple[NumberedColumn, ...]:
    """The published columns in the order of the table; every column of the table must be named in the policy."""
    source.known(list(named))
    spelt = {folded(name) for name in named}
    missing = [c for c in source.columns if folded(c) not in spelt]
    if missing:
        raise PolicyError(f"the policy does not say what {missing[0]!r} is; name every column of the table")
    found = {folded(c.name): c for c in published}
    columns = [(c, found[folded(c)]) for c in source.columns if folded(c) in found]
    return tuple(read_domain(source, a, name, column) for a, (name, column) in enumerate(columns))


def read_domain(source: Source, a: int, name: str, column: PublishedColumn) -> NumberedColumn:
    """The domain of one column, as table __domain_<a>."""
    values, mapping = f"__values_{a}", None
    given: str | None = None
    day: Callable[[str], str] = str
    try:
        if isinstance(column.domain, str) and column.domain.startswith("level:"):
            mapping = f"__level_{a}"
            rows = _labels_of_level(source, column.domain, mapping)
        else:
            rows = _values(source, name, column)
        fetch(source.con, f"CREATE OR REPLACE TABLE {values} AS SELECT value, share FROM ({rows}) AS v(value, share)")
        _as_plain_text(source, values)
        if mapping is None:
            given = _type(source, values)
            day = _day_of(source, name, values)
        if column.hierarchy is not None:
            mapping = f"__level_{a}"
            kind = _settled(source, source.types[name], values)
            _write_labels(source, column.name, column.hierarchy, column.level or 1, values, kind, mapping)
        _complete(source, column, values)
        compared = "VARCHAR" if mapping else _settled(source, source.types[name], values)
        # What DuckDB takes a column of text files for depends on the rows, and must not show in the release.
        kind = _type(source, values) if _is_guessed(source) else compared
        numbered = NumberedColumn(column, name, f"__domain_{a}", kind, 0, compared, mapping, given, day)
        return replace(numbered, size=_number(source, numbered, values))
    except InternalError:
        raise PolicyError(f"domain of {name!r}: it cannot be read from what the policy says") from None
    except SqlprivError as error:
        text = str(error)
        raise PolicyError(text if text.startswith("domain of") else f"domain of {name!r}: {text}") from None


def _values(source: Source, name: str, column: PublishedColumn) -> str:
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
        return f"SELECT DISTINCT {quoted(name)}, NULL FROM {source.table}"
    if domain.startswith("table:"):
        table, _, value = domain.removeprefix("table:").rpartition(".")
        if not table:
            raise PolicyError(f"{domain!r} must name a table and its column, as in table:cities.csv.name")
        if is_private(source, table):
            raise PolicyError('it would be read from the private table; write "active" if its values may be public')
        copy = read_named(source, table, "__named")
        if (
            Path(table).suffix == ".csv"
            and source.reference.is_file(table)
            and not _is_written_alike(source, table, value)
        ):
            copy = "__named_texts"
        share = "NULL" if column.share is None else f"CAST({quoted(str(column.share))} AS DOUBLE)"
        return f"SELECT {quoted(value)}, {share} FROM {copy}"
    raise PolicyError(f"{domain!r} is no domain; there are {KINDS}")


def _is_written_alike(source: Source, table: str, value: str) -> bool:
    """Whether the column of a file, read in the type that DuckDB takes it for, is written as in the file."""
    texts = read_named(source, table, "__named_texts", _CSV_AS_TEXT)
    column = quoted(value)
    changed = fetch(
        source.con,
        f"SELECT count(*) FROM (SELECT {column} FROM {texts} EXCEPT ALL SELECT CAST({column} AS VARCHAR) FROM __named)",
    )
    return bool(changed[0][0] == 0)


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


def _as_plain_text(source: Source, values: str) -> None:
    """Texts that differ are different values, whatever their collation; the type of an ENUM would reveal others."""
    own = _type(source, values)
    if own == "VARCHAR" or "ENUM" in own:
        fetch(
            source.con,
            f"CREATE OR REPLACE TABLE __plain AS SELECT CAST(value AS VARCHAR) AS value, share FROM {values}",
        )
        fetch(
            source.con,
            f'CREATE OR REPLACE TABLE {values} AS SELECT value COLLATE "binary" AS value, share FROM __plain',
        )


def _type(source: Source, values: str) -> str:
    return str(fetch(source.con, f"SELECT column_type FROM (DESCRIBE {values}) WHERE column_name = 'value'")[0][0])


def _complete(source: Source, column: PublishedColumn, values: str) -> None:
    """NULL only where it is declared, `other` where values outside are to become it; nothing twice."""
    fetch(source.con, f"DELETE FROM {values} WHERE value IS NULL")
    twice = fetch(source.con, f"SELECT count(*) - count(DISTINCT CAST(value AS VARCHAR)) FROM {values}")[0][0]
    if twice:
        raise PolicyError(f"{twice:,} values are listed twice, or are written alike")
    if column.outside == "other":
        if fetch(source.con, f"SELECT DISTINCT typeof(value) FROM {values}") != [("VARCHAR",)]:
            raise PolicyError(f'outside = "other" needs a domain of texts, to which {OTHER!r} can be added')
        fetch(
            source.con,
            f"INSERT INTO {values} SELECT {literal(OTHER)}, NULL "
            f"WHERE {literal(OTHER)} NOT IN (SELECT value FROM {values})",
        )
    if column.null:
        fetch(source.con, f"INSERT INTO {values} VALUES (NULL, NULL)")
    bare, bad = fetch(
        source.con,
        f"SELECT count(*) FILTER (share IS NULL), count(*) FILTER (NOT (share > 0 AND isfinite(share))) FROM {values}",
    )[0]
    if column.share is not None and (bare or bad):
        raise PolicyError(f"{bare + bad:,} values have no share above 0; NULL and {OTHER!r} cannot have one")


def _is_guessed(source: Source) -> bool:
    """Whether the types of the columns are what DuckDB takes a file of text for."""
    return source.reference.is_in_file and not source.reference.source.lower().endswith(".parquet")


def _settled(source: Source, kind: str, values: str) -> str:
    """The column's own type if every value of the domain can be written in it without change, else the domain's.

    A domain of days, be they written as texts, makes a column of timestamps one of days.
    """
    own = _type(source, values)
    if "ENUM" in kind:
        return own
    tried = [kind, "DATE"] if kind.startswith("TIMESTAMP") else [kind]
    return next((t for t in tried if _can_be_written(source, values, own, t)), own)


def _can_be_written(source: Source, values: str, own: str, kind: str) -> bool:
    tried = f"TRY_CAST(value AS {kind})"
    same = f"CAST({tried} AS VARCHAR) = CAST(value AS VARCHAR)"
    if NUMERIC_TYPE.fullmatch(own) and NUMERIC_TYPE.fullmatch(kind):
        same = f"{tried} = value"
    changed = fetch(source.con, f"SELECT count(*) FROM {values} WHERE value IS NOT NULL AND ({same}) IS NOT TRUE")
    return bool(changed[0][0] == 0)


def _day_of_timestamp(value: str) -> str:
    return f"CAST({value} AS DATE)"


def _day_of_text(value: str) -> str:
    return f"regexp_replace({value}, '^{_DAY_OF_TEXT}$', '\\1')"


def _day_of(source: Source, name: str, values: str) -> Callable[[str], str]:
    """How a row's value becomes its day; the value itself where the domain is not days, or the column has no times.

    What DuckDB takes a text file's column for may depend on one cell, so there texts with a time have a day, too.
    """
    kind = "VARCHAR" if name in source.texts else source.types[name]
    has_times = kind.startswith("TIMESTAMP") and _settled(source, kind, values) == "DATE"
    if has_times and kind == "TIMESTAMP WITH TIME ZONE":
        raise PolicyError(
            f"the column is {kind}, whose days depend on the time zone, and its domain is days; make it a DATE where "
            f"you know the zone, as in CAST({quoted(name)} AT TIME ZONE 'UTC' AS DATE)"
        )
    if has_times:
        return _day_of_timestamp
    has_texts = kind == "VARCHAR" and _is_guessed(source)
    return _day_of_text if has_texts and _can_be_written(source, values, _type(source, values), "DATE") else str


def _number(source: Source, numbered: NumberedColumn, values: str) -> int:
    """Write the domain's table; its size."""
    fetch(
        source.con,
        f"CREATE OR REPLACE TABLE {numbered.table} AS SELECT row_number() OVER (ORDER BY value NULLS LAST) - 1 AS id, "
        f"value, share FROM (SELECT CAST(value AS {numbered.type}) AS value, CAST(share AS DOUBLE) AS share "
        f"FROM {values}) ORDER BY id",
    )
    size = int(fetch(source.con, f"SELECT count(*) FROM {numbered.table}")[0][0])
    if size == 0:
        raise PolicyError("it is empty")
    return size


def _labels_of_level(source: Source, domain: str, mapping: str) -> str:
    """The query for the labels of level:NAME:2; writes the mapping."""
    found = re.fullmatch(r"level:(.+):([0-9]+)", domain)
    if not found:
        raise PolicyError(f"{domain!r} must name a hierarchy and a level of it, as in level:ages.csv:2")
    name, level = found.group(1), int(found.group(2))
    if not source.reference.is_file(name) and source.reference.is_file(f"{name}.csv"):
        name += ".csv"
    _refuse_private(source, name)
    wide = read_named(source, name, "__named", ", delim = ';', header = false, all_varchar = true")
    return _mapped(source, wide, level, repr(domain), mapping)


def _write_labels(
    source: Source, name: str, hierarchy: str | tuple[str, ...], level: int, values: str, kind: str, mapping: str
) -> None:
    """Replace the values of a domain by their labels; writes the mapping, from values as `kind`, the column's type.

    Labels are made from the values in the domain's own type: that of a column of a file may depend on single rows.
    """
    if isinstance(hierarchy, str):
        _refuse_private(source, hierarchy.removeprefix("tree:"))
    value, base, own = quoted(name), "__labelled", "__own_labels"
    fetch(
        source.con,
        f"CREATE OR REPLACE TABLE {base} AS SELECT DISTINCT value AS {value} FROM {values} WHERE value IS NOT NULL",
    )
    fetch(source.con, f"CREATE OR REPLACE TABLE __wide AS {wide_rows(source, hierarchy, name, base)}")
    _mapped(source, "__wide", level, "its hierarchy", own)
    fetch(
        source.con,
        f"CREATE OR REPLACE TABLE {mapping} AS SELECT CAST(CAST(b.{value} AS {kind}) AS VARCHAR) AS value, m.label "
        f"FROM {base} AS b LEFT JOIN {own} AS m ON m.value = CAST(b.{value} AS VARCHAR)",
    )
    bare = fetch(source.con, f"SELECT count(*) FROM {mapping} WHERE label IS NULL")[0][0]
    if bare:
        raise PolicyError(f"{bare:,} values of the domain have no label in its hierarchy")
    fetch(
        source.con, f"CREATE OR REPLACE TABLE {values} AS SELECT DISTINCT label AS value, NULL AS share FROM {mapping}"
    )


def _refuse_private(source: Source, name: str) -> None:
    if is_private(source, name):
        raise PolicyError("its labels would be read from the private table; name a hierarchy that is public")


def _mapped(source: Source, wide: str, level: int, what: str, mapping: str) -> str:
    """Write the mapping to the labels on a level of a wide table; the query for these labels."""
    columns = [r[0] for r in fetch(source.con, f"DESCRIBE {wide}")]
    if level >= len(columns):
        raise PolicyError(f"{what}: the hierarchy ends at level {len(columns) - 1}")
    fetch(
        source.con,
        f"CREATE OR REPLACE TABLE {mapping} AS SELECT DISTINCT CAST({quoted(columns[0])} AS VARCHAR) AS value, "
        f"CAST({quoted(columns[level])} AS VARCHAR) AS label FROM {wide}",
    )
    steps = f"_hierarchy_steps((SELECT 0 AS attribute, [value, label] AS labels FROM {mapping}), ({_NO_COUNTS}))"
    labels = f"SELECT * FROM _hierarchy_labels({steps})"
    levels = f"WITH __priv_labels AS ({labels}) SELECT twice FROM _hierarchy_levels(__priv_labels, ({_NO_COUNTS}))"
    twice = max((r[0] for r in fetch(source.con, inlined(levels))), default=0)
    if twice:
        raise PolicyError(f"{what}: {twice:,} values have two labels")
    return f"SELECT DISTINCT label, NULL FROM {mapping}"
