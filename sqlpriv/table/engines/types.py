"""Which types of another engine are read, as which types of DuckDB, and what makes their values the same there.

A type is in the list only if two values that an engine takes for equal are written alike in DuckDB, and the other way
round. What is not in the list is refused by name: a value that is silently read as another would overstate k.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from sqlpriv.core.sqltext import literal, quoted

# Types with values that are equal to DuckDB and different to a reader: 1 month and 30 days, two zeros in a list.
_READS_APART = re.compile(r"\bINTERVAL\b|\b(FLOAT|DOUBLE)\b.")
# Types with values that are different to DuckDB and read alike: 1 and '1'.
_READS_ALIKE = re.compile(r"\b(UNION|VARIANT)\b")
# Arrow has no such types, or has them without their zone; their texts can be read again.
CROSSES_AS_TEXT = re.compile(r"U?HUGEINT|UUID|BIT|JSON|TIME WITH TIME ZONE|ENUM\(.*\)", re.DOTALL)


def reads_apart(kind: str) -> bool:
    """Whether values of a type, as the private table has it, can be distinguished by their texts alone."""
    return _READS_APART.search(kind) is not None


def corrected_type(kind: str) -> str:
    """The type that a column of this type has once it is corrected."""
    return "VARCHAR" if _READS_ALIKE.search(kind) else kind


def corrected(name: str, kind: str) -> str:
    """A column, as SQL, of which two values are equal when a reader sees them as equal; `kind` is its type.

    Text compares by its bytes, whatever its collation, and of doubles there is one zero, and one NaN. Values of several
    types in one column become text.
    """
    column = quoted(name)
    if _READS_ALIKE.search(kind):
        return f'CAST({column} AS VARCHAR) COLLATE "binary" AS {column}'
    if kind == "VARCHAR":
        return f'{column} COLLATE "binary" AS {column}'
    if kind in {"FLOAT", "DOUBLE"}:
        zero, nan = f"CAST(0 AS {kind})", f"CAST('nan' AS {kind})"
        return f"CASE WHEN isnan({column}) THEN {nan} ELSE {column} + {zero} END AS {column}"
    return column


_SPARK: Mapping[str, str] = {
    "boolean": "BOOLEAN",
    "tinyint": "TINYINT",
    "smallint": "SMALLINT",
    "int": "INTEGER",
    "bigint": "BIGINT",
    "float": "FLOAT",
    "double": "DOUBLE",
    "date": "DATE",
    "timestamp": "TIMESTAMP WITH TIME ZONE",
    "timestamp_ntz": "TIMESTAMP",
    "binary": "BLOB",
}


def spark_type(kind: str) -> str | None:
    """The type of DuckDB for one of Spark, by its simple name; None, if it is not read."""
    if re.fullmatch(r"string( collate \w+)?|(var)?char\(\d+\)", kind):
        return "VARCHAR"
    if found := re.fullmatch(r"decimal\((\d+),(\d+)\)", kind):
        return f"DECIMAL({found[1]},{found[2]})"
    return _SPARK.get(kind)


def spark_cell(name: str, kind: str) -> str:
    """A column as SQL of Spark; `kind` is its type in DuckDB. A collation is cast away before anything is grouped."""
    if kind == "VARCHAR":
        return f"CAST({name} AS STRING)"
    if kind in {"FLOAT", "DOUBLE"}:
        return f"CASE WHEN isnan({name}) THEN CAST('NaN' AS {kind}) ELSE {name} + CAST(0 AS {kind}) END"
    return name


@dataclass(frozen=True)
class Crossing:
    """How a column of a warehouse gets to DuckDB."""

    type: str
    """Its type there."""
    sent: str = "{0}"
    """What the warehouse groups by, as its SQL; {0} is the column."""
    endless: bool = False
    """Whether it may be 'infinity', which the driver does not send."""
    as_text: bool = False
    """Whether it is sent as text, which must be the text of the type: what would be rounded is refused."""

    def arrived(self, cell: str, sign: str, name: str) -> str:
        """The value in DuckDB, as SQL, of what was sent, and of the sign of what is endless."""
        if self.endless:
            low, high = (f"CAST('{word}' AS {self.type})" for word in ("-infinity", "infinity"))
            return f"CASE {sign} WHEN 1 THEN {high} WHEN -1 THEN {low} ELSE CAST({cell} AS {self.type}) END"
        if self.as_text:
            complaint = literal(f"sqlpriv: the column {name!r} holds what {self.type} cannot hold; cast it in a view")
            value = f"TRY_CAST({cell} AS {self.type})"
            return (
                f"CASE WHEN CAST({value} AS VARCHAR) IS DISTINCT FROM {cell} THEN error({complaint}) ELSE {value} END"
            )
        return f"CAST({cell} AS {self.type})"


_C_TEXT = 'CAST({0} AS text) COLLATE "C"'
_POSTGRES: Mapping[str, Crossing] = {
    "boolean": Crossing("BOOLEAN"),
    "smallint": Crossing("SMALLINT"),
    "integer": Crossing("INTEGER"),
    "bigint": Crossing("BIGINT"),
    "real": Crossing("FLOAT"),
    "double precision": Crossing("DOUBLE"),
    "date": Crossing("DATE", endless=True),
    "timestamp without time zone": Crossing("TIMESTAMP", endless=True),
    "timestamp with time zone": Crossing("TIMESTAMP WITH TIME ZONE", endless=True),
    "time without time zone": Crossing("TIME"),
    "bytea": Crossing("BLOB"),
    "uuid": Crossing("UUID", "CAST({0} AS text)", as_text=True),
    "money": Crossing("DECIMAL(20,2)", "CAST(CAST({0} AS numeric) AS text)", as_text=True),
    "text": Crossing("VARCHAR", _C_TEXT),
    "character varying": Crossing("VARCHAR", _C_TEXT),
    "bpchar": Crossing("VARCHAR", _C_TEXT),
    "name": Crossing("VARCHAR", _C_TEXT),
    "citext": Crossing("VARCHAR", _C_TEXT),
}


def postgres_type(kind: str) -> Crossing | None:
    """How a type of PostgreSQL, by its full name, gets to DuckDB; None, if it is not read."""
    if re.fullmatch(r"character( varying)?\(\d+\)", kind):
        return Crossing("VARCHAR", _C_TEXT)
    if (found := re.fullmatch(r"numeric\((\d+),(\d+)\)", kind)) and int(found[1]) <= 38:
        return Crossing(f"DECIMAL({found[1]},{found[2]})", "CAST({0} AS text)", as_text=True)
    return _POSTGRES.get(re.sub(r"(timestamp|time)\(\d\)", r"\1", kind))


_ARROW: Mapping[str, str] = {
    "bool": "BOOLEAN",
    "int8": "TINYINT",
    "int16": "SMALLINT",
    "int32": "INTEGER",
    "int64": "BIGINT",
    "uint8": "UTINYINT",
    "uint16": "USMALLINT",
    "uint32": "UINTEGER",
    "uint64": "UBIGINT",
    "float": "FLOAT",
    "double": "DOUBLE",
    "string": "VARCHAR",
    "large_string": "VARCHAR",
    "date32[day]": "DATE",
    "time64[us]": "TIME",
    "binary": "BLOB",
}


def arrow_type(kind: str) -> Crossing | None:
    """How a column that crosses as this type of Arrow gets to DuckDB; None, if it is not read."""
    if found := re.fullmatch(r"decimal128\((\d+), (\d+)\)", kind):
        return Crossing(f"DECIMAL({found[1]},{found[2]})")
    if found := re.fullmatch(r"timestamp\[(?:s|ms|us)(, tz=.+)?\]", kind):
        return Crossing("TIMESTAMP WITH TIME ZONE" if found[1] else "TIMESTAMP")
    name = _ARROW.get(kind)
    return None if name is None else Crossing(name)
