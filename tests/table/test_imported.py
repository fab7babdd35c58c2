"""Sheets and files of statistical packages are tables as any other."""

from __future__ import annotations

import datetime
from pathlib import Path

import pytest
from support.commands import run

from sqlpriv.core.errors import InputError
from sqlpriv.table.source import open_source

pytestmark = pytest.mark.one_version

ROWS = [
    (f"0130{i % 3}", 20 + i % 4, datetime.date(2024, 1, 1 + i % 5), None if i % 5 == 0 else i / 4) for i in range(60)
]
NAMES = ("zip", "age", "day", "x")


def sheet(path: Path, *tables: list[tuple[object, ...]]) -> Path:
    book = pytest.importorskip("xlsxwriter").Workbook(str(path), {"default_date_format": "yyyy-mm-dd"})
    for table in tables:
        page = book.add_worksheet()
        for at, row in enumerate(table):
            page.write_row(at, 0, row)
    book.close()
    return path


def read(path: Path) -> tuple[dict[str, str], list[tuple[object, ...]]]:
    with open_source(str(path)) as source:
        return dict(source.types), source.con.execute(f"FROM {source.table}").fetchall()


def test_a_sheet_keeps_its_types(tmp_path: Path) -> None:
    types, rows = read(sheet(tmp_path / "people.xlsx", [NAMES, *ROWS]))
    assert types == {"zip": "VARCHAR", "age": "BIGINT", "day": "DATE", "x": "DOUBLE"}
    assert rows == ROWS


def test_a_column_of_mixed_cells_is_text_as_it_is_shown(tmp_path: Path) -> None:
    types, rows = read(sheet(tmp_path / "people.xlsx", [("age",), (20,), ("unknown",), (21.5,)]))
    assert types == {"age": "VARCHAR"}
    assert rows == [("20",), ("unknown",), ("21.5",)]


@pytest.mark.parametrize("suffix", ["sav", "dta"])
def test_files_of_statistical_packages(tmp_path: Path, suffix: str) -> None:
    pyreadstat, pandas = pytest.importorskip("pyreadstat"), pytest.importorskip("pandas")
    frame = pandas.DataFrame(ROWS, columns=list(NAMES)).drop(columns="day")
    getattr(pyreadstat, f"write_{suffix}")(frame, str(tmp_path / f"people.{suffix}"))
    types, rows = read(tmp_path / f"people.{suffix}")
    assert types == {"zip": "VARCHAR", "age": "BIGINT", "x": "DOUBLE"}
    assert rows == [(code, age, x) for code, age, _, x in ROWS]


def test_from_a_sheet_to_a_sheet(tmp_path: Path) -> None:
    sheet(tmp_path / "people.xlsx", [NAMES, *ROWS])
    assert run(tmp_path, "init", "people.xlsx", "-m", "generalize").returncode == 0
    done = run(tmp_path, "check", "people.xlsx", "--qi", "zip,age", "--require", "k>=2")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("tables", "said"),
    [
        ([[("age", "AGE"), (1, 2)]], "the columns 1 and 2"),
        ([[("age", ""), (1, 2)]], "column 2 of people.xlsx has no name"),
        ([[("age",), (1,)], [("b",), (2,)]], "has the sheets 'Sheet1', 'Sheet2'"),
        ([[]], "is empty"),
    ],
)
def test_a_sheet_that_is_no_table_is_refused(tmp_path: Path, tables: list[list[tuple[object, ...]]], said: str) -> None:
    with pytest.raises(InputError, match=said):
        read(sheet(tmp_path / "people.xlsx", *tables))


@pytest.mark.parametrize("name", ["people.xlsx", "people.sav"])
def test_what_is_no_such_file_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("no such file")
    with pytest.raises(InputError, match=r"cannot be read"):
        read(tmp_path / name)


@pytest.mark.parametrize(("name", "package"), [("people.xlsx", "python_calamine"), ("people.sav", "pyreadstat")])
def test_without_the_extra_it_is_named(
    tmp_path: Path, name: str, package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / name).write_text("some")
    monkeypatch.setitem(__import__("sys").modules, package, None)
    with pytest.raises(InputError, match=r"pip install 'sqlpriv\[files\]'"):
        read(tmp_path / name)
