"""One connection with the macros a process, the example tables, releases to query, and the shared data."""

import atexit
import os
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import duckdb
import pytest
from support import fixed_keys, real_tables
from support.estimates import Oracle
from support.places import SHARED_DATA
from support.query_releases import METHODS, made
from support.releases import Made

from sqlpriv.demo import examples
from sqlpriv.macros.catalog import creations, macros
from sqlpriv.publishing import open_release
from sqlpriv.release.open import OpenRelease

# A ledger of the person who runs the tests is none of their business: what is published before a test begins, by
# fixtures of a session, goes into a folder of the run, and every test has a folder of its own.
os.environ.pop("SQLPRIV_LEDGER", None)
os.environ["SQLPRIV_REPORT"] = "no"  # tests of the report ask for it
DATA_FOLDERS = Path(tempfile.mkdtemp(prefix="sqlpriv-tests-"))
os.environ["XDG_DATA_HOME"] = str(DATA_FOLDERS / "session")
atexit.register(shutil.rmtree, DATA_FOLDERS, ignore_errors=True)
NUMBERS = count()


def pytest_configure(config: pytest.Config) -> None:
    """Before any test: keys are the same in every run."""
    fixed_keys.register(config)


@pytest.fixture(autouse=True)
def data_folder(monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's data folder, in which the ledger is: another one for every test, also in processes that it starts."""
    folder = DATA_FOLDERS / str(next(NUMBERS))
    monkeypatch.setenv("XDG_DATA_HOME", str(folder))
    return folder


@pytest.fixture(scope="session")
def con() -> Iterator[duckdb.DuckDBPyConnection]:
    """An in-memory database with the macros; loading takes a second, so it is done once.

    One thread: the tables are tiny, and there is a process of these for every core.
    """
    with duckdb.connect(config={"threads": 1}) as connection:
        # Not by load(): the first test that asks may be one of those that have patched it.
        for statement in creations(macros().values()):
            connection.execute(statement).fetchall()
        yield connection


@pytest.fixture(scope="session")
def example_tables(con: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyConnection:
    """The same connection, with the tables that the headers' examples use."""
    examples.create(con)
    return con


@pytest.fixture(scope="session", params=METHODS)
def release(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Made:
    """A release of each method."""
    return made(request.param, tmp_path_factory.mktemp(request.param) / "people.duckdb")


@pytest.fixture(scope="session")
def oracle(release: Made) -> Iterator[Oracle]:
    """What the release should answer."""
    with Oracle(release) as found:
        yield found


@pytest.fixture(scope="session")
def opened(release: Made) -> Iterator[OpenRelease]:
    """The release, open for queries."""
    with open_release(release.path) as found:
        yield found


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of the shared data sets."""
    if not SHARED_DATA.is_dir():
        pytest.skip("the shared data sets are not beside this repository (../shared/data)")
    return SHARED_DATA


@pytest.fixture(scope="session")
def adult(con: duckdb.DuckDBPyConnection, shared_data: Path) -> str:
    """The name of a table with the 30,162 people of the Adult data set."""
    file = shared_data / "adult" / "adult.csv"
    if not file.is_file():
        pytest.skip("the Adult data set is not in ../shared/data/adult")
    con.execute(f"CREATE OR REPLACE TABLE adult AS FROM read_csv('{file}', delim = ';')").fetchall()
    return "adult"


@pytest.fixture(scope="session")
def real_table() -> Callable[[str], Path]:
    """The file of a real table by its name (tests/support/real_tables.py); skips where it was not fetched."""

    def find(name: str) -> Path:
        file = real_tables.find(name)
        if file is None:
            pytest.skip("the real tables are not in .real-tables: `make real-tables` fetches them")
        return file

    return find


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Of the cases of a test that is marked `some`, those beyond the first ones are slow."""
    seen: Counter[tuple[str, str]] = Counter()
    for item in items:
        some = item.get_closest_marker("some")
        if some is not None and isinstance(item, pytest.Function):
            case = (str(item.path), item.originalname)
            if seen[case] >= some.args[0]:
                item.add_marker(pytest.mark.slow)
            seen[case] += 1
