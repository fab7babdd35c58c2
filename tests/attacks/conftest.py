"""One database for all attacks, opened for reading; who wants to write gets a copy."""

from collections.abc import Iterator
from pathlib import Path
from shutil import copyfile

import duckdb
import pytest
from support.attempts import TABLES

import sqlpriv


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with the macros and the tables that the attacks use."""
    path = tmp_path_factory.mktemp("attacks") / "template.duckdb"
    sqlpriv.install(path)
    with duckdb.connect(path) as con:
        con.execute(TABLES).fetchall()
    return path


@pytest.fixture
def file(template: Path, tmp_path: Path) -> Path:
    """A copy of it that a test may spoil."""
    return Path(copyfile(template, tmp_path / "attacked.duckdb"))


@pytest.fixture
def own(file: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection to that copy."""
    with duckdb.connect(file) as con:
        yield con


@pytest.fixture(scope="session")
def shared(template: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """The file itself, read-only: for the many calls that could not change anything anyway."""
    with duckdb.connect(template, read_only=True, config={"threads": 1}) as con:
        yield con


@pytest.fixture
def db(shared: duckdb.DuckDBPyConnection) -> Iterator[duckdb.DuckDBPyConnection]:
    """The same with temporary tables of the test's own."""
    with shared.cursor() as con:
        yield con
