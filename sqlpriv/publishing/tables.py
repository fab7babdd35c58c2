"""The tables of a release as files that people use: CSV, Parquet, Excel, or a folder of Parquet files.

They are read from the release when that is in its place, verified and entered in the ledger, and they are the same
whenever they are written again. What was interrupted is made good by publishing once more. Each file is written beside
its place and put there by a rename. A JSON file beside them says what is guaranteed, and which files are of which
release, so that nothing of somebody else's is ever replaced.
"""

from __future__ import annotations

import datetime
import hashlib
import json
import math
import os
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import duckdb

from sqlpriv.checks.verdict import judge
from sqlpriv.core.engine import fetch, open_database
from sqlpriv.core.errors import InputError, ReleaseError
from sqlpriv.core.facts import Facts, Line
from sqlpriv.core.sqltext import file_literal, quoted
from sqlpriv.methods.method import AnyMethod
from sqlpriv.policy.file import Policy
from sqlpriv.policy.keys import REASONS
from sqlpriv.policy.output import tables_name
from sqlpriv.release.file import SCHEMA, ReleaseFile, check_target, open_file
from sqlpriv.release.place import copy_beside, put_in_place
from sqlpriv.release.show import show_release
from sqlpriv.table.source import TableReference

_MOST_ROWS = 1_048_575
"""A sheet of Excel has no more below its header."""
_LONGEST_SHEET = 31
_MOST_DIGITS = 10**15
_BATCH = 50_000
_COPIED = ("sqlpriv", "table", "method", "release", "date", "digest", "guarantee", "details", "requirements", "columns")
"""What the JSON file repeats of what the release says of itself."""


@dataclass(frozen=True)
class TableFiles:
    """Where the tables of a release go: a file, or a folder of Parquet files."""

    path: Path
    is_folder: bool

    @property
    def is_sheets(self) -> bool:
        """Whether it is an Excel file."""
        return not self.is_folder and self.path.suffix.lower() == ".xlsx"

    @property
    def record(self) -> Path:
        """The JSON file that says what is guaranteed."""
        return self.path / f"{self.path.name}.json" if self.is_folder else self.path.with_suffix(".json")

    def files(self, table: str, views: list[str]) -> dict[Path, list[str]]:
        """The files, and the tables in each: that of the private table's name in the file that is named."""
        if self.is_folder:
            return {self.path / f"{_file_name(view)}.parquet": [view] for view in views}
        if self.is_sheets:
            return {self.path: views}
        first = table if table in views else views[0]  # without rows that people read, the first answer
        own = {self.path.with_stem(f"{self.path.stem}-{_file_name(view)}"): [view] for view in views if view != first}
        return {self.path: [first], **own}

    def make_folder(self, target: Path, table: TableReference) -> None:
        """Make the folder where there is none, just before the release is put there."""
        if not self.is_folder or self.path.exists():
            return
        self.path.mkdir()
        try:
            check_target(target, table)
        except ReleaseError:
            self.path.rmdir()
            raise

    def refuse(self, table: TableReference) -> None:
        """Refuse to write over anything but what an earlier publication wrote there."""
        if self.is_folder:
            if not self.path.parent.is_dir():
                raise ReleaseError(f"there is no folder for {self.path.name!r}")
            if os.path.lexists(self.path) and not self.path.is_dir():
                raise ReleaseError(f"{self.path.name!r} is no folder; give the output another name")
            return
        if table.includes(self.path):
            raise ReleaseError(f"{self.path.name!r} is the private table itself; give the output another name")
        if self.is_sheets:
            _excel()
        ours = _recorded(self.record)
        for path in (self.path, self.record):
            if path.exists() and path.name not in ours:
                raise ReleaseError(
                    f"{path.name!r} is there already and is not of an earlier release; give the output another name"
                )


def table_files(policy: Policy, output: Path | None) -> TableFiles | None:
    """Where the tables go next to the release, if anywhere."""
    named = str(output) if output is not None else policy.release["output"]
    wanted = tables_name(named) if named else None
    if wanted is None:
        return None
    return TableFiles(Path(wanted) if output is not None else policy.table.path(wanted), wanted.endswith("/"))


def check_place(policy: Policy, output: Path | None, target: Path) -> TableFiles | None:
    """Refuse a place where release or tables cannot be written; where the tables go."""
    wanted = table_files(policy, output)
    if wanted is not None:
        wanted.refuse(policy.table)
    if wanted is None or not wanted.is_folder or wanted.path.exists():
        check_target(target, policy.table)
    return wanted


def refuse_no_tables(release: Path, wanted: TableFiles) -> None:
    """Refuse a release that has no table which people read as it is, or one too long; before the ledger has it."""
    with open_file(release) as file:
        views = _views(file)
        if wanted.is_sheets:
            for view in views:
                ((rows,),) = fetch(file.con, f"SELECT count(*) FROM {quoted(file.catalog, 'main', view)}")
                if rows > _MOST_ROWS:
                    raise ReleaseError(
                        f"{view!r} has {rows:,} rows, and a sheet of Excel holds {_MOST_ROWS:,}; name a .csv or "
                        ".parquet file as output"
                    )
        if not views:
            raise ReleaseError(
                "the rows of this release contain random noise, so counting them misleads, and only answers to the "
                "questions in [views] become tables; add some (auto = true), or name a .duckdb file as output"
            )


def write_tables(method: AnyMethod, release: Path, wanted: TableFiles) -> tuple[Path, ...]:
    """Write the tables of a release, and the JSON file; all files that are there."""
    with open_file(release) as file:
        about, views = show_release(method, file).content, _views(file)
        verdict = judge(method.evidence(file))
    files = wanted.files(about["table"], views)
    earlier = _recorded(wanted.record)
    others = [path for path in files if path.exists() and path.name not in earlier]
    if others:
        raise ReleaseError(f"{others[0].name!r} is there already and is not of an earlier release; move it away")
    record: dict[str, Any] = {key: about[key] for key in _COPIED if key in about}
    record |= {"reasons": {k: v for k, v in about.items() if k in REASONS}, "verdict": verdict.to_json(), "files": {}}
    record["files"] |= {name: own for name, own in earlier.items() if wanted.record.with_name(name).exists() and own}
    with open_database(release, error=ReleaseError) as con:
        for path, own in files.items():
            rows = {view: int(fetch(con, f"SELECT count(*) FROM main.{quoted(view)}")[0][0]) for view in own}
            _put(path, _writer(con, path, rows))
            digest = _sha256(path)
            record["files"][path.name] = {"release": about["release"], "sha256": digest, "tables": rows}
    text = json.dumps(record, indent=1, ensure_ascii=False, default=str) + "\n"
    _put(wanted.record, lambda copy: copy.write_text(text, encoding="utf-8"))
    return (*files, wanted.record)


def with_tables(facts: Facts, files: tuple[Path, ...]) -> Facts:
    """The facts of a release, with the files of its tables."""
    said = Line(f"Its tables, and what is guaranteed: {', '.join(path.name for path in files)}")
    content = {**facts.content, "tables": [str(path) for path in files]}
    return replace(facts, content=content, parts=(*facts.parts, said))


def _views(file: ReleaseFile) -> list[str]:
    """What people read in a release: its published tables, and the answers to questions; no rows among noise."""
    noisy = file.about["table"] if (SCHEMA, "domain_weights") in file.tables else None
    return sorted(name for schema, name in file.tables if schema == "main" and name != noisy)


def _recorded(record: Path) -> dict[str, Any]:
    """The files that a JSON file of an earlier publication names, itself among them; none where it is another's."""
    try:
        held = json.loads(record.read_text(encoding="utf-8"))
        return {record.name: None, **held["files"]} if {"sqlpriv", "release"} <= held.keys() else {}
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return {}


def _file_name(view: str) -> str:
    """The name of a table as part of that of a file."""
    return "".join(c if c.isalnum() or c in "-_ " else "-" for c in view)


def _sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def _put(target: Path, write: Callable[[Path], object]) -> None:
    """Write a file next to its place, and put it there by a rename."""
    try:
        with copy_beside(target) as (copy, handle):
            write(copy)
            os.fsync(handle)
            copy.chmod(0o666 & ~_umask())
            put_in_place(copy, copy.with_suffix(".copy"), target, lambda _: None)
    except OSError:
        raise ReleaseError(
            f"the release is published, but {target.name} cannot be written in its folder; mend that and publish "
            "again, which makes no second release"
        ) from None


def _umask() -> int:
    """The rights that the user keeps from others; to read them is to set them."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def _writer(con: duckdb.DuckDBPyConnection, path: Path, rows: dict[str, int]) -> Callable[[Path], object]:
    """Writes the tables of one file, with so many rows each."""
    if path.suffix.lower() == ".xlsx":
        return lambda copy: _write_sheets(con, copy, rows)
    (view,) = rows
    how = "FORMAT csv, HEADER" if path.suffix.lower() == ".csv" else "FORMAT parquet"
    return lambda copy: fetch(
        con, f"COPY (FROM main.{quoted(view)}) TO {file_literal(copy)} ({how}, USE_TMP_FILE false)"
    )


def _excel() -> Any:
    try:
        import xlsxwriter
    except ImportError:
        raise InputError("to write Excel files needs an extra: pip install 'sqlpriv[files]'") from None
    return xlsxwriter


def _write_sheets(con: duckdb.DuckDBPyConnection, path: Path, rows: dict[str, int]) -> None:
    """A sheet for each table. Texts stay texts: nothing that a cell holds becomes a formula or a link."""
    options = {"strings_to_formulas": False, "strings_to_urls": False, "constant_memory": True, "in_memory": False}
    with _excel().Workbook(str(path), options) as book:
        head = book.add_format({"bold": True})
        kinds = {kind: book.add_format({"num_format": text}) for kind, text in _TIMES.items()}
        for view in rows:
            sheet = book.add_worksheet(_sheet_name(view, [w.get_name() for w in book.worksheets()]))
            columns = [(str(r[0]), str(r[1])) for r in fetch(con, f"DESCRIBE main.{quoted(view)}")]
            cells = ", ".join(quoted(n) if _EXACT.fullmatch(k) else f"CAST({quoted(n)} AS VARCHAR)" for n, k in columns)
            sheet.write_row(0, 0, [name for name, _ in columns], head)
            found, at = con.execute(f"SELECT {cells} FROM main.{quoted(view)}"), 1
            while batch := found.fetchmany(_BATCH):
                for row in batch:
                    for place, (value, (_, kind)) in enumerate(zip(row, columns, strict=True)):
                        if value is not None:
                            sheet.write(at, place, _held(value), kinds.get(kind))
                    at += 1


_TIMES = {"DATE": "yyyy-mm-dd", "TIMESTAMP": "yyyy-mm-dd hh:mm:ss"}
_EXACT = re.compile(r"U?(TINYINT|SMALLINT|INTEGER|BIGINT|HUGEINT)|FLOAT|DOUBLE|BOOLEAN|DATE|TIMESTAMP|VARCHAR")
"""What a cell of Excel holds by itself; the rest is text there."""


def _held(value: Any) -> Any:
    """A value as a cell holds it: as text where a number would lose digits, or a day is before Excel's first."""
    if isinstance(value, datetime.date):
        return value if value.year > 1900 else value.isoformat()
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    return str(value) if isinstance(value, int) and abs(value) > _MOST_DIGITS else value


def _sheet_name(view: str, taken: list[str]) -> str:
    """The name of a sheet, of letters that Excel allows there, and no other's."""
    plain = re.sub(r"[\[\]:*?/\\']", "-", view)[:_LONGEST_SHEET] or "table"
    number, name = 1, plain
    while name.casefold() in {t.casefold() for t in taken}:
        number += 1
        name = f"{plain[: _LONGEST_SHEET - len(str(number)) - 1]}-{number}"
    return name
