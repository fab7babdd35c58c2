"""Python values and names as SQL text."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

NUMERIC_TYPE = re.compile(r"U?(TINYINT|SMALLINT|INTEGER|BIGINT|HUGEINT)|FLOAT|DOUBLE|DECIMAL.*")
"""How DuckDB spells the types of numbers."""

_COUNTS = chr(31)


def literal(value: Any) -> str:
    """A text, number, boolean, list, mapping or None as a SQL literal."""
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{literal(str(k))}: {literal(v)}" for k, v in value.items()) + "}"
    if isinstance(value, Sequence):
        return "[" + ", ".join(literal(v) for v in value) + "]"
    return repr(value)


def file_literal(path: Path) -> str:
    """A file as SQL text. DuckDB would take stars and brackets in its name for a pattern, and read other files."""
    return literal(re.sub(r"([\[*?])", r"[\1]", str(path)))


def is_utf8(text: str) -> bool:
    """DuckDB takes no other text. Bytes that are not UTF-8, which Python keeps as surrogates, it cannot even name."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def quoted(*parts: str) -> str:
    """A name, or the parts of a qualified one, as SQL identifiers."""
    return ".".join('"' + part.replace('"', '""') + '"' for part in parts)


def counted_table(table: str, copies: str) -> str:
    """A table whose column `copies` says how often each row is there, as macros take it: what priv.counted makes."""
    return f"{table}{_COUNTS}{copies}"


def rows_of(table: str) -> tuple[str, str]:
    """Of a table as macros take it: its name as SQL, and SQL for the number of its rows."""
    name, counts, copies = table.partition(_COUNTS)
    return name, f"CAST(sum({quoted(copies)}) AS BIGINT)" if counts else "count(*)"


def folded(name: str) -> str:
    """A name as DuckDB compares it: only the letters A to Z lose their case."""
    return "".join(c.lower() if c.isascii() else c for c in name)


def table_parts(name: str) -> list[str]:
    """The parts of a name between its dots, each maybe in double quotes; quotes inside a part stay doubled."""
    parts: list[str] = [""]
    quoted = False
    for index, char in enumerate(name):
        if char == '"':
            if quoted and name[index + 1 : index + 2] == '"':
                parts[-1] += '""'
            quoted = not quoted
        elif char == "." and not quoted:
            parts.append("")
        else:
            parts[-1] += char
    return parts


def reader(data: str, options: Mapping[str, Any]) -> str:
    """The file itself, which DuckDB reads by its name, or a call of read_csv with options."""
    if not options:
        return file_literal(Path(data))
    return f"read_csv({csv_arguments(data, options)})"


def csv_arguments(data: str, options: Mapping[str, Any]) -> str:
    """The arguments of read_csv for a file; `delimiter` is the word of most other tools for `delim`."""
    listed = [f"{'delim' if k == 'delimiter' else k} = {literal(v)}" for k, v in options.items()]
    return ", ".join([file_literal(Path(data)), *listed])
