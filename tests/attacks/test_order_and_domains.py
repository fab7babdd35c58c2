"""A release whose rows stand in the order of the private table, or whose public domains lack values, does not verify.

Neither changes a published row: the order alone would tell which row is whose, and a domain decides what answers count.
"""

from __future__ import annotations

from pathlib import Path
from shutil import copyfile

import duckdb
import pytest
from support.policies import write_policy

from sqlpriv.publishing import publish, read_policy, verify

pytestmark = pytest.mark.one_version

PEOPLE = """CREATE TABLE people AS SELECT i AS ssn, 20 + i * 7 % 40 AS age, ['F', 'M'][1 + i % 2] AS sex,
    ['flu', 'cold'][1 + i % 3 % 2] AS ill FROM range(400) AS r(i)"""
COLUMNS = """[table]
database = "private.duckdb"
source = "people"
[columns]
ssn = { role = "drop" }
age = { role = "quasi-identifier", hierarchy = "ranges:10,20", domain = "range:0..99" }
sex = { role = "quasi-identifier", hierarchy = "suppression", domain = ["F", "M"] }
ill = { role = "sensitive", domain = ["flu", "cold", "mumps"] }
"""
SAMPLED = "epsilon = 1.0\nk = 5\nbeta = 0.3\nnode = { age = 2, sex = 0 }\n"
RELEASES = {
    "generalize": '[require]\nk = 5\n[release]\naccept = "test"\nmethod = "generalize"\nnode = { age = 1, sex = 0 }\n',
    "sdgs": f'[release]\nmethod = "sdgs"\n{SAMPLED}',
    "mondrian": '[require]\nk = 5\n[release]\naccept = "made-up"\nmethod = "mondrian"\n',
    "hilbert": '[require]\nk = 5\n[release]\naccept = "made-up"\nmethod = "hilbert"\n',
    "noisy_counts": '[release]\nmethod = "noisy_counts"\ngamma = 0.9\nn_public = 400\n',
}
ORDER = "the order of the rows of published reveals nothing"
TABLES = "domains, public tables and other rows are those of their digests"


LABELLED = [pytest.param(name, marks=[] if name in ("generalize", "sdgs") else pytest.mark.slow)
            for name in ("generalize", "sdgs", "mondrian", "hilbert")]  # fmt: skip
ALL = [*LABELLED, pytest.param("noisy_counts", marks=pytest.mark.slow)]


@pytest.fixture(scope="module")
def released(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The release by a method."""
    folder = tmp_path_factory.mktemp(request.param)
    policy = write_policy(folder, f'{COLUMNS}{RELEASES[request.param]}output = "{request.param}.duckdb"\n', PEOPLE)
    return publish(read_policy(policy), ledger_file=folder / "ledger").written.output


def failing(released: Path, folder: Path, change: str) -> list[str]:
    copy = Path(copyfile(released, folder / released.name))
    with duckdb.connect(str(copy)) as con:
        con.execute(change).fetchall()
    return [str(c["check"]) for c in verify(copy).content["checks"] if c["passed"] is False]


@pytest.mark.some(1)
@pytest.mark.parametrize("released", LABELLED, indirect=True)
def test_rows_in_another_order_are_noticed(released: Path, tmp_path: Path) -> None:
    rows = "sqlpriv_release.published"
    assert failing(released, tmp_path, "SELECT 1") == []
    moved = f"CREATE OR REPLACE TABLE {rows} AS FROM {rows} ORDER BY hash(rowid)"
    assert failing(released, tmp_path, moved) == [ORDER]


@pytest.mark.parametrize("released", ALL, indirect=True)
@pytest.mark.parametrize(
    "change",
    [
        # Whom no row has: no label lacks a value.
        "DELETE FROM domain.ill WHERE value = 'mumps'",
        pytest.param("UPDATE domain.ill SET value = 'gout' WHERE value = 'mumps'", marks=pytest.mark.slow),
        pytest.param(
            "DELETE FROM sqlpriv_release.digests WHERE name LIKE 'domain.%'", marks=pytest.mark.slow
        ),
    ],
)  # fmt: skip
def test_domains_without_some_values_are_noticed(released: Path, tmp_path: Path, change: str) -> None:
    assert TABLES in failing(released, tmp_path, change)
