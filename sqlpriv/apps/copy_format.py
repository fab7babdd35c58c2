"""Files as PostgreSQL's COPY writes them: text and csv, a line for each row."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

# One option of COPY, in either of its spellings.
_OPTION = re.compile(
    r"\s*,?\s*(?:(?:FORMAT\s+)?(?P<quote>'?)(?P<format>CSV|TEXT|BINARY)(?P=quote)|HEADER(?:\s+(?P<header>TRUE|ON|1|FALSE|OFF|0))?|"
    r"DELIMITER\s+(?:AS\s+)?'(?P<delimiter>[^'\\])'|NULL\s+(?:AS\s+)?'(?P<null>[^']*)'|ENCODING\s+'UTF-?8')",
    re.IGNORECASE,
)
_ESCAPES = {b"\\": b"\\\\", b"\t": b"\\t", b"\n": b"\\n", b"\r": b"\\r", b"\b": b"\\b", b"\f": b"\\f", b"\v": b"\\v"}
_ESCAPED = re.compile(rb"[\\\t\n\r\x08\f\v]")


@dataclass(frozen=True)
class CopyFormat:
    """How a file is written."""

    kind: str
    """text, csv or binary."""
    has_header: bool
    delimiter: bytes
    null: bytes

    def line(self, cells: Sequence[bytes | None]) -> bytes:
        """A row, whose cells are texts."""
        return self.delimiter.join(self.null if cell is None else self._cell(cell) for cell in cells) + b"\n"

    def _cell(self, cell: bytes) -> bytes:
        if self.kind == "text":
            return _ESCAPED.sub(lambda found: _ESCAPES[found[0]], cell)
        is_plain = cell != self.null and not any(sign in cell for sign in (b'"', b"\n", b"\r", self.delimiter))
        return cell if is_plain else b'"' + cell.replace(b'"', b'""') + b'"'


def read_format(options: str) -> CopyFormat | None:
    """What stands behind TO STDOUT; None if it has other options than these.

    >>> read_format("WITH (FORMAT csv, HEADER)")
    CopyFormat(kind='csv', has_header=True, delimiter=b',', null=b'')
    """
    left = re.sub(r"^\s*(WITH\b)?\s*\(?|\)?\s*$", "", options, flags=re.IGNORECASE)
    found, at = dict[str, str](), 0
    while one := _OPTION.match(left, at):
        found |= {key: value for key, value in one.groupdict().items() if value is not None}
        found |= {"header": "TRUE"} if "HEADER" in one[0].upper() and one["header"] is None else {}
        at = one.end()
    kind = found.get("format", "text").lower()
    if left[at:].strip() or ("delimiter" in found and kind != "csv"):
        return None
    has_header = found.get("header", "OFF").upper() in {"TRUE", "ON", "1"}
    delimiter, null = (",", "") if kind == "csv" else ("\t", "\\N")
    return CopyFormat(kind, has_header, found.get("delimiter", delimiter).encode(), found.get("null", null).encode())
