"""Views in a release run with the rights of their readers: `verify` knows those that were changed, and none runs."""

from __future__ import annotations

import shutil
from pathlib import Path

import duckdb
import pytest
from support.randomized_policies import publish_with, published, write_noise_policy

import sqlpriv
from sqlpriv.core.errors import InputError, ReleaseError
from sqlpriv.macros.catalog import create_statement, macro
from sqlpriv.publishing import add_view, open_release, show, verify

NOISY = 'method = "noisy_counts"\nd = 0.1\ngamma = 0.4\nn_public = 300\n'
COLUMNS = {"a": published('"range:1..40"'), "b": published('["x", "y", "z"]')}
PEOPLE = "CREATE TABLE people AS SELECT 1 + i % 30 AS a, ['x', 'y', 'z'][1 + i % 3] AS b FROM range(300) AS r(i)"
TOTAL = "SELECT count(*) AS n FROM people"
SECRET = "SECRET-42"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    policy = write_noise_policy(
        tmp_path_factory.mktemp("stored"), COLUMNS, NOISY, PEOPLE, more=f'[views]\ntotal = "{TOTAL}"\n'
    )
    return publish_with(policy).written.output


@pytest.fixture
def path(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(made, tmp_path / "release.duckdb"))


def change(path: Path, *statements: str) -> None:
    with duckdb.connect(str(path)) as con:
        for sql in statements:
            con.execute(sql).fetchall()


def failed(path: Path) -> str:
    judged = verify(path)
    assert not judged.passed
    return "; ".join(f"{c['check']}: {c['found']}" for c in judged.content["checks"] if c["passed"] is False)


READS_A_FILE = "CREATE OR REPLACE VIEW main.total AS SELECT content AS n FROM read_text('{secret}')"
CHANGES = {
    "another estimate": "CREATE OR REPLACE VIEW main.total AS SELECT 1.0 AS n, 0.0 AS n_low, 2.0 AS n_high",
    "a file": READS_A_FILE,
    "a file by its name": "CREATE OR REPLACE VIEW main.total AS FROM '{secret}'",
    "the environment": "CREATE OR REPLACE VIEW main.total AS SELECT current_setting('temp_directory') AS n",
    "rows of noise": "CREATE OR REPLACE VIEW main.total AS SELECT count(*) AS n FROM sqlpriv_release.published",
    "a view more": "CREATE VIEW main.more AS SELECT 1 AS n",
    "a view more, stated": "INSERT INTO sqlpriv_release.views VALUES ('more', 'SELECT 1', 0.95)",
    "another question": "UPDATE sqlpriv_release.views SET question = 'SELECT count(*) + 1 AS n FROM people'",
    "another confidence": "UPDATE sqlpriv_release.views SET confidence = 0.5",
    "no confidence": "UPDATE sqlpriv_release.views SET confidence = 7",
    "a word in a question": "UPDATE sqlpriv_release.views SET question = question || ' -- alice has flu'",
    "a column more": "ALTER TABLE sqlpriv_release.views ADD COLUMN note VARCHAR DEFAULT 'alice'",
    "no view": "DROP VIEW main.total",
    "a table of its name": "DROP VIEW main.total; CREATE TABLE main.total AS SELECT 1 AS n",
    "a comment": "COMMENT ON VIEW main.total IS 'alice has flu'",
    "a comment on a column": "COMMENT ON COLUMN main.total.n IS 'alice has flu'",
    "a comment on the rows": "COMMENT ON TABLE sqlpriv_release.published IS 'alice has flu'",
    "a comment on a table": "COMMENT ON TABLE sqlpriv_release.about IS 'alice has flu'",
    "nothing stated": "DROP TABLE sqlpriv_release.views",
    "stated twice": "INSERT INTO sqlpriv_release.views FROM sqlpriv_release.views",
}


@pytest.mark.some(1)
@pytest.mark.parametrize("what", list(CHANGES))
def test_what_was_changed_does_not_verify(path: Path, what: str) -> None:
    assert verify(path).passed
    secret = path.with_name("secret.csv")
    secret.write_text(f"{SECRET}\n")
    change(path, CHANGES[what].format(secret=secret))
    assert SECRET not in failed(path)
    with pytest.raises(ReleaseError, match="so its views were not changed"):
        add_view(path, "mine", TOTAL)


def test_no_view_runs_when_a_release_is_opened(path: Path) -> None:
    """One that reads what is not there would fail; asked for by its name it is unknown."""
    change(path, "CREATE TABLE main.gone AS SELECT 1 AS n", "CREATE OR REPLACE VIEW main.total AS FROM main.gone")
    change(path, "DROP TABLE main.gone")
    with open_release(path) as release:
        assert len(release.sql(TOTAL).fetchall()) == 1
        with pytest.raises(sqlpriv.SqlprivError, match="there is no table 'total'"):
            release.sql("SELECT n FROM total")
    assert [view["question"] for view in show(path).content["views"]] == [TOTAL]
    assert not verify(path).passed


@pytest.mark.some(3)
@pytest.mark.parametrize(
    "name", ['x"; DROP TABLE sqlpriv_release.about; --', "x'y", "a.b", "main.x", "__priv_x", "x\x00", "1x", "x y"]
)
def test_sql_in_a_name_is_refused(path: Path, name: str) -> None:
    before = path.read_bytes()
    with pytest.raises(InputError, match="is no name for a view"):
        add_view(path, name, TOTAL)
    assert path.read_bytes() == before


@pytest.mark.some(1)
@pytest.mark.parametrize(
    "question",
    [
        "SELECT content FROM read_text('/etc/hostname')",
        "SELECT getenv('HOME') AS n, count(*) FROM people",
        "SELECT count(*) FROM people; DROP TABLE sqlpriv_release.about",
        "SELECT count(*) FROM sqlpriv_release.published",
        "FROM total",
    ],
)
def test_a_question_that_reaches_beyond_the_release_is_refused(path: Path, question: str) -> None:
    before = path.read_bytes()
    with pytest.raises(sqlpriv.SqlprivError, match="the view 'mine': "):
        add_view(path, "mine", question)
    assert path.read_bytes() == before


def test_words_of_a_question_stay_words(path: Path) -> None:
    """Also those that look like the name under which a file is open while it is rewritten, or like our own words."""
    question = "SELECT count(*) AS n FROM people WHERE b = 'release_file.x''; -- true 1e0'"
    add_view(path, "mine", question)
    assert verify(path).passed
    with open_release(path) as release, duckdb.connect(str(path), read_only=True) as con:
        assert con.execute("FROM mine").fetchall() == release.sql(question).fetchall()


MAKERS = {
    "noisy_counts": "'t', 'd', ['a'], 0.5, 0.2, 'a secret that is in the view'",
    "signed_noisy_counts": "'t', 'd', ['a'], 0.2, 'a secret that is in the view'",
    "alpha_beta": "'t', 'd', ['a'], 0.4, 0.1, 'a secret that is in the view'",
    "frapp": "'t', 'd', ['a'], 0.6, 'a secret that is in the view'",
    "sdgs": "'t', MAP {'a': 0}, MAP {}, 2, 0.5, 'a secret that is in the view'",
    "anatomy_rows": "'t', 'a', 2, 'a secret that is in the view'",
    "anatomy_values": "'t', 'a', 2, 'a secret that is in the view'",
    "suppress": "'t', ['a'], 1",
}


@pytest.mark.some(3)
@pytest.mark.parametrize("name", MAKERS)
def test_a_view_that_makes_its_rows_when_it_is_read_is_refused(path: Path, name: str) -> None:
    """Such a view holds the key; the tables it reads are there while it is made."""
    change(
        path,
        "CREATE SCHEMA IF NOT EXISTS priv",
        create_statement(macro(name)),
        "CREATE TABLE main.t AS SELECT i AS a FROM range(4) AS r(i)",
        "CREATE TABLE main.d AS FROM main.t",
        f'CREATE VIEW main.more AS FROM "priv".{name}({MAKERS[name]})',
        "DROP TABLE main.t",
        "DROP TABLE main.d",
    )
    message = f"has a view, 'more', that calls priv.{name}: it holds the key and reads the private table"
    with duckdb.connect() as con, pytest.raises(ReleaseError, match=message):
        sqlpriv.attach(con, path)
    with pytest.raises(ReleaseError, match=message):
        open_release(path)
    with pytest.raises(ReleaseError, match=message):
        verify(path)
