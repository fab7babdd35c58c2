"""Files that DuckDB does not read: sheets of Excel and OpenDocument, files of SPSS, Stata and SAS.

They are read into memory as an Arrow table, by packages of the extra `files`. Cells of a sheet have types of their own:
a column is what all its cells are, and text where they differ. Codes of SPSS, Stata and SAS stay codes.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlpriv.core.errors import InputError
from sqlpriv.core.sqltext import folded

if TYPE_CHECKING:
    import pyarrow as pa

_SHEETS = (".xlsx", ".xlsm", ".xls", ".xlsb", ".ods")
_READERS = {".sav": "read_sav", ".zsav": "read_sav", ".por": "read_por", ".dta": "read_dta",
            ".sas7bdat": "read_sas7bdat", ".xpt": "read_xport"}  # fmt: skip
_EXTRA = "needs an extra: pip install 'sqlpriv[files]'"


def is_imported(path: Path) -> bool:
    """Whether a file is of a kind that is read here."""
    return path.suffix.lower() in (*_SHEETS, *_READERS)


def read_imported(path: Path, options: Mapping[str, Any]) -> pa.Table:
    """The rows of such a file."""
    import pyarrow as pa  # which no other file needs, and takes longer to import than a small table to check

    if options:
        raise InputError(f"{next(iter(options))} is about CSV files, and {path.name} is none: leave it out")
    columns = _sheet(path) if path.suffix.lower() in _SHEETS else _statistics(path)
    return pa.table([_column(values) for _, values in columns], names=[name for name, _ in columns])


def _sheet(path: Path) -> list[tuple[str, list[Any]]]:
    try:
        from python_calamine import CalamineError, CalamineWorkbook
    except ImportError:
        raise InputError(f"to read {path.name} {_EXTRA}") from None
    try:
        book = CalamineWorkbook.from_path(str(path))
        sheets = {name: book.get_sheet_by_name(name).to_python(skip_empty_area=True) for name in book.sheet_names}
    except (CalamineError, OSError):
        raise InputError(
            f"{path.name} cannot be read as a sheet; open it and save it again, or save it as CSV"
        ) from None
    filled = {name: rows for name, rows in sheets.items() if rows}
    if not filled:
        raise InputError(f"{path.name} is empty: there is nothing to read")
    if len(filled) > 1:
        raise InputError(
            f"{path.name} has the sheets {', '.join(map(repr, filled))}, and a table is one of them: save it to a file "
            "of its own"
        )
    ((header, *rows),) = filled.values()
    names = [str(cell).strip() for cell in header]
    _refuse_names(path, names)
    return [(name, [row[place] if place < len(row) else None for row in rows]) for place, name in enumerate(names)]


def _refuse_names(path: Path, names: Sequence[str]) -> None:
    spelt = [folded(name) for name in names]
    for place, name in enumerate(spelt, 1):
        if not name:
            raise InputError(f"column {place} of {path.name} has no name: its first row must name every column")
        if spelt.index(name) + 1 < place:
            raise InputError(
                f"{path.name} has several columns called {name!r}, the columns {spelt.index(name) + 1} and {place}: "
                "give each a name of its own"
            )


def _statistics(path: Path) -> list[tuple[str, list[Any]]]:
    try:
        import pyreadstat
    except ImportError:
        raise InputError(f"to read {path.name} {_EXTRA}") from None
    try:
        read = getattr(pyreadstat, _READERS[path.suffix.lower()])
        found, _ = read(str(path), output_format="dict")
    except Exception:  # whatever it says may hold cells
        raise InputError(f"{path.name} cannot be read as what its name says; export it again, or as CSV") from None
    return [(str(name), list(values)) for name, values in found.items()]


def _column(values: Sequence[Any]) -> pa.Array:
    """A column of the type that all its values have; of text where they differ. What is empty is NULL."""
    import pyarrow as pa

    cells = [None if _is_missing(value) else _plain(value) for value in values]
    kinds = {type(cell) for cell in cells if cell is not None}
    if kinds <= {int, float}:
        whole = all(cell is None or (float(cell).is_integer() and abs(cell) < 2**53) for cell in cells)
        if whole:
            return pa.array([None if cell is None else int(cell) for cell in cells], pa.int64())
        return pa.array([None if cell is None else float(cell) for cell in cells], pa.float64())
    if kinds == {bool}:
        return pa.array(cells, pa.bool_())
    if kinds == {datetime.date}:
        return pa.array(cells, pa.date32())
    if kinds <= {datetime.date, datetime.datetime}:
        return pa.array([_moment(cell) for cell in cells], pa.timestamp("us"))
    return pa.array([None if cell is None else _text(cell) for cell in cells], pa.string())


def _is_missing(value: Any) -> bool:
    return value is None or value == "" or (isinstance(value, float) and math.isnan(value))


def _plain(value: Any) -> Any:
    """A value of Python, where numpy or a sheet has one of its own."""
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, datetime.datetime) and value.time() == datetime.time():
        return value.date()
    return value


def _moment(cell: Any) -> datetime.datetime | None:
    is_day = cell is not None and not isinstance(cell, datetime.datetime)
    return datetime.datetime.combine(cell, datetime.time()) if is_day else cell


def _text(cell: Any) -> str:
    """A cell as a sheet shows it: a whole number without the fraction that all numbers there have."""
    return str(int(cell)) if isinstance(cell, float) and cell.is_integer() and abs(cell) < 2**53 else str(cell)
