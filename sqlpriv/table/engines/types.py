"""Which types of another engine are read, as which types of DuckDB, and what makes their values the same there.

A type is in the list only if two values that an engine takes for equal are written alike in DuckDB, and the other way
round. What is not in the list is refused by name: a value that is silently read as another would overstate k.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from sqlpriv.core.sqltext import quoted

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
