"""Questions kept in a release as views: any DuckDB client reads estimates by name, and `verify` knows each of them."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import duckdb
import pytest
from support.commands import run
from support.randomized_policies import publish_with, published, rows_of, write_noise_policy

import sqlpriv
from sqlpriv.core.errors import InputError, PolicyError, ReleaseError, UnsupportedSQLError
from sqlpriv.methods.noisy.policy import RandomizedPolicy
from sqlpriv.publishing import add_view, drop_view, open_release, plan, show, verify
from sqlpriv.release.place import copy_beside, remove_left_copies
from sqlpriv.release.views import put_views

pytestmark = pytest.mark.slow

NOISY = 'method = "noisy_counts"\nd = 0.1\ngamma = 0.4\nn_public = 300\n'
COLUMNS = {"a": published('"range:1..40"'), "b": published('["x", "y", "z"]')}
PEOPLE = "CREATE TABLE people AS SELECT 1 + i % 30 AS a, ['x', 'y', 'z'][1 + i % 3] AS b FROM range(300) AS r(i)"
QUESTION = "SELECT b, count(*) AS n, median(a) AS middle FROM people WHERE b NOT IN ('w') GROUP BY b ORDER BY b"
TOTAL = "SELECT count(*) AS n FROM people"


def write(folder: Path, views: str, sql: str = PEOPLE) -> RandomizedPolicy:
    return write_noise_policy(folder, COLUMNS, NOISY, sql, more=views)


@pytest.fixture(scope="module")
def with_views(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, RandomizedPolicy]:
    policy = write(tmp_path_factory.mktemp("views"), f'[views]\nauto = true\nby_b = """{QUESTION}"""\n')
    return publish_with(policy).written.output, policy


@pytest.fixture
def path(with_views: tuple[Path, RandomizedPolicy], tmp_path: Path) -> Path:
    return Path(shutil.copy(with_views[0], tmp_path / "release.duckdb"))


def names_of(path: Path) -> list[str]:
    return [view["name"] for view in show(path).content["views"]]


def test_a_policy_publishes_them_and_they_hold(with_views: tuple[Path, RandomizedPolicy]) -> None:
    path, policy = with_views
    for judged in (verify(path), verify(path, policy)):
        assert judged.passed, judged.content
        assert "each view is what its question becomes" in {c["check"] for c in judged.content["checks"]}
    wanted = ["a_by_b", "by_b", "count_all", "count_by_a", "count_by_a_and_b", "count_by_b"]
    assert names_of(path) == wanted
    assert "by_b" in str(show(path))


def test_any_client_reads_the_same_estimates(path: Path) -> None:
    """A DuckDB without sqlpriv, in its own process: through its name, and attached to another database."""
    script = (
        "import duckdb, sys\n"
        "con = duckdb.connect(sys.argv[1], read_only=True)\n"
        "print(con.execute('FROM by_b').fetchall())\n"
        "con = duckdb.connect()\n"
        "con.execute(f\"ATTACH '{sys.argv[1]}' AS r (READ_ONLY)\").fetchall()\n"
        "print(con.execute('FROM r.by_b').fetchall())\n"
        "assert not any(m.startswith('sqlpriv') for m in sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-I", "-c", script, str(path)], capture_output=True, text=True, check=False)
    with open_release(path) as release:
        answer = release.sql(QUESTION)
        assert answer.columns == ["b", "n", "n_low", "n_high", "middle", "middle_low", "middle_high"]
        wanted = str(answer.fetchall())
    assert done.stdout.splitlines() == [wanted, wanted], done.stderr


def test_every_view_answers_as_the_release_does(path: Path) -> None:
    with open_release(path) as release:
        for view in show(path).content["views"]:
            answer = release.sql(view["question"])
            asked = f"SELECT {', '.join(answer.columns)} FROM {view['name']}"
            assert sorted(rows_of(path, asked), key=str) == sorted(answer.fetchall(), key=str)


def test_a_question_is_kept_without_its_comments(path: Path) -> None:
    """What no answer depends on, nobody can verify."""
    add_view(path, "known", f"-- for the board\n{TOTAL}/* of all */WHERE a > 3 AND b <> '-- x' -- \x1b[2J")
    asked = rows_of(path, "SELECT question FROM sqlpriv_release.views WHERE name = 'known'")
    assert asked == [(f"{TOTAL} WHERE a > 3 AND b <> '-- x'",)]
    assert verify(path).passed


def test_one_is_added_to_a_release_that_is_there(path: Path) -> None:
    path.chmod(0o640)
    before = show(path).content
    facts = add_view(path, "known", f"{TOTAL} WHERE a > 3", confidence=0.9)
    assert facts.content["view"] == "known"
    assert verify(path).passed
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert [p.name for p in path.parent.iterdir()] == [path.name]
    with open_release(path) as release:
        assert rows_of(path, "FROM known") == release.sql(f"{TOTAL} WHERE a > 3", 0.9).fetchall()
    after = show(path).content
    assert {k: v for k, v in after.items() if k != "views"} == {k: v for k, v in before.items() if k != "views"}


def test_one_is_replaced_only_when_asked_for(path: Path) -> None:
    with pytest.raises(InputError, match="there is already a view 'BY_B'; choose another name"):
        add_view(path, "BY_B", TOTAL)
    add_view(path, "BY_B", TOTAL, replace=True)
    assert [name for name in names_of(path) if name.lower() == "by_b"] == ["BY_B"]
    assert verify(path).passed
    assert len(rows_of(path, "FROM by_b")) == 1


def test_a_link_to_a_release_stays_a_link(path: Path) -> None:
    link = path.with_name("link.duckdb")
    link.symlink_to(path)
    add_view(link, "more", TOTAL)
    assert link.is_symlink()
    assert "more" in names_of(path)


@pytest.mark.parametrize(
    ("name", "question", "error", "message"),
    [
        ("more", "SELECT max(a) FROM people", UnsupportedSQLError, r"the view 'more': max\(\) at line 1"),
        ("more", "SELECT * FROM people", UnsupportedSQLError, "the view 'more': a SELECT of single rows"),
        ("more", f"{TOTAL} WHERE a > ?", UnsupportedSQLError, "the view 'more': "),
        ("more", "SELECT a, lag(count(*), 1, 0) OVER (ORDER BY a) AS d FROM people GROUP BY a", UnsupportedSQLError,
         r"lag\(\) and lead\(\) with an offset cannot be kept in a view"),
        ("people", TOTAL, InputError, "a view cannot be called 'people', like the private table"),
        ("", TOTAL, InputError, "'' is no name for a view"),
        ("two words", TOTAL, InputError, "'two words' is no name for a view"),
        ("more", f"{TOTAL} WHERE b = '\x1b[2J'", InputError, "holds control characters"),
    ],
)  # fmt: skip
def test_what_cannot_be_one_changes_nothing(
    path: Path, name: str, question: str, error: type[Exception], message: str
) -> None:
    before = path.read_bytes()
    with pytest.raises(error, match=message):
        add_view(path, name, question)
    assert path.read_bytes() == before
    assert [p.name for p in path.parent.iterdir()] == [path.name]


@pytest.mark.parametrize(
    "question", [f"{TOTAL} WHERE a LIKE '1%'", "SELECT abs(b) AS x, count(*) AS n FROM people GROUP BY 1"]
)
def test_a_question_of_types_that_do_not_fit_is_named(path: Path, question: str) -> None:
    before = path.read_bytes()
    with pytest.raises(InputError, match="the view 'mine': DuckDB cannot bind its question; check that the types fit"):
        add_view(path, "mine", question)
    assert path.read_bytes() == before
    assert os.listdir(path.parent) == [path.name]


def test_a_release_with_a_log_beside_it_is_left_alone(path: Path) -> None:
    """The log is not in the copy that is verified, and DuckDB would add it to whatever is called like the release."""
    script = (
        "import duckdb, os, sys\n"
        "con = duckdb.connect(sys.argv[1])\n"
        "con.execute('CREATE TABLE main.mine AS SELECT 1 AS x').fetchall()\n"
        "os._exit(0)\n"
    )
    subprocess.run([sys.executable, "-c", script, str(path)], check=True)
    log = path.with_name(f"{path.name}.wal")
    before = path.read_bytes(), log.read_bytes()
    with pytest.raises(ReleaseError, match=r"release\.duckdb\.wal is next to it, so its views were not changed"):
        add_view(path, "mine", TOTAL)
    assert (path.read_bytes(), log.read_bytes()) == before


def test_a_release_that_is_open_for_writing_is_left_alone(path: Path) -> None:
    """What is written there later would go into a file that is no longer there."""
    with duckdb.connect(str(path)), pytest.raises(InputError, match=r"cannot open release\.duckdb: "):
        add_view(path, "mine", TOTAL)
    add_view(path, "mine", TOTAL)


def test_half_a_release_is_called_by_its_name(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:5000])
    with pytest.raises(InputError, match=r"^cannot open release\.duckdb: "):
        add_view(path, "mine", TOTAL)
    assert os.listdir(path.parent) == [path.name]


def test_a_policy_with_a_question_that_is_refused_publishes_nothing(tmp_path: Path) -> None:
    policy = write(tmp_path, '[views]\noldest = "SELECT max(a) FROM people"\n')
    for refuse in (plan, publish_with):
        with pytest.raises(PolicyError, match=r"the view 'oldest' of the policy: max\(\) at line 1"):
            refuse(policy)
    assert not policy.table.path(policy.output or "").exists()


@pytest.mark.parametrize(
    ("views", "message"),
    [
        ("[views]\nn = 5", "n must be a question, as SQL text"),
        ("[views]\nauto = 1", "auto must be true or false"),
        ('[views]\nn = "SELECT 1"\nN = "SELECT 1"', "the view 'N' is named twice"),
        ('views = "SELECT 1"', r"\[views\] must be a section|views"),
    ],
)
def test_a_section_that_makes_no_sense_is_refused(tmp_path: Path, views: str, message: str) -> None:
    with pytest.raises(PolicyError, match=message):
        write(tmp_path, views)


def test_publishing_again_knows_the_file_and_a_new_view_is_no_new_release(tmp_path: Path) -> None:
    policy = write(tmp_path, f'[views]\ntotal = "{TOTAL}"\n')
    first = publish_with(policy)
    path, rows = first.written.output, rows_of(first.written.output)
    assert publish_with(policy).written.again
    more = write(tmp_path, f'[views]\ntotal = "{TOTAL}"\nmore = "{TOTAL} WHERE a > 1"\n', sql="")
    assert not publish_with(more).written.again  # the same rows, written with one view more
    assert rows_of(path) == rows
    assert names_of(path) == ["more", "total"]
    assert len(sqlpriv.ledger(more, tmp_path / "ledger.json").content) == 1


def test_publishing_again_does_not_lose_views_that_were_added(tmp_path: Path) -> None:
    policy = write(tmp_path, f'[views]\nauto = true\ntotal = "{TOTAL}"\n')
    path = publish_with(policy).written.output
    add_view(path, "mine", TOTAL)
    assert not verify(path, policy).passed
    with pytest.raises(PolicyError, match="holds views that the policy does not name, as 'mine'"):
        publish_with(policy)
    assert "mine" in names_of(path)
    assert run(tmp_path, "view", "drop", path.name, "MINE").returncode == 0
    assert publish_with(policy).written.again
    with pytest.raises(InputError, match=r"there is no view 'mine' in people-release\.duckdb: there is a_by_b, "):
        drop_view(path, "mine")


def test_the_command_adds_one(path: Path) -> None:
    done = run(path.parent, "view", "add", path.name, "more", TOTAL, "--json")
    assert done.returncode == 0, done.stderr
    assert '"view": "more"' in done.stdout
    done = run(path.parent, "view", "add", path.name, "more", TOTAL)
    assert done.returncode == 2
    assert "there is already a view 'more'" in " ".join(done.stderr.split())


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_cannot_be_written_is_named(path: Path) -> None:
    path.parent.chmod(0o500)
    try:
        with pytest.raises(ReleaseError, match="cannot write in the folder"):
            add_view(path, "more", TOTAL)
    finally:
        path.parent.chmod(0o700)


def test_a_reader_who_has_it_open_meanwhile_keeps_what_was_there(path: Path) -> None:
    with duckdb.connect(str(path), read_only=True) as con:
        before = con.execute("FROM by_b").fetchall()
        add_view(path, "more", TOTAL)
        assert con.execute("FROM by_b").fetchall() == before
    assert len(rows_of(path, "FROM more")) == 1


@pytest.mark.parametrize("step", ["put_views", "put_in_place"])
def test_what_stops_half_way_leaves_the_release_as_it_was(
    path: Path, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stopped(*_: object) -> None:
        raise OSError(28, "No space left on device")

    before = path.read_bytes()
    monkeypatch.setattr(f"sqlpriv.publishing.released.{step}", stopped)
    with pytest.raises((ReleaseError, OSError)):
        add_view(path, "more", TOTAL)
    assert path.read_bytes() == before
    assert [p.name for p in path.parent.iterdir()] == [path.name]


def test_a_release_that_is_replaced_meanwhile_is_not_written_over(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As by publishing it again while a view is added to what was there before."""

    def put(copy: Path, *given: Any) -> None:
        put_views(copy, *given)
        shutil.copy(path, path.with_name("other"))
        os.replace(path.with_name("other"), path)

    monkeypatch.setattr("sqlpriv.publishing.released.put_views", put)
    with pytest.raises(ReleaseError, match="was changed meanwhile, so its views were not; run it again"):
        add_view(path, "more", TOTAL)
    assert "more" not in names_of(path)


DYING = """
import os, signal, sys
from sqlpriv.publishing import released
from sqlpriv.publishing import add_view
setattr(released, sys.argv[1], lambda *_: os.kill(os.getpid(), signal.SIGKILL))
add_view(sys.argv[2], "late", "SELECT count(*) AS n FROM people")
"""


def killed(path: Path, step: str) -> None:
    """A process that adds a view and is killed at a step: it leaves its copy."""
    done = subprocess.run([sys.executable, "-c", DYING, step, str(path)], capture_output=True, check=False)
    assert done.returncode == -9, done.stderr
    left = [p for p in path.parent.iterdir() if p.name.startswith(f".{path.name}.")]
    assert [stat.S_IMODE(p.stat().st_mode) for p in left] == [0o600]


def test_what_a_killed_process_left_is_removed_by_the_next_change(path: Path) -> None:
    killed(path, "put_views")
    add_view(path, "more", TOTAL)
    assert [p.name for p in path.parent.iterdir()] == [path.name]
    killed(path, "put_views")
    drop_view(path, "more")
    assert [p.name for p in path.parent.iterdir()] == [path.name]


def test_what_a_killed_process_left_is_removed_by_publishing(tmp_path: Path) -> None:
    policy = write(tmp_path, "")
    path = publish_with(policy).written.output
    killed(path, "put_views")
    there = {p.name for p in tmp_path.iterdir() if not p.name.startswith(f".{path.name}.")}
    publish_with(policy)
    assert {p.name for p in tmp_path.iterdir()} == there


def test_the_copy_of_a_process_that_lives_and_files_of_others_stay(path: Path) -> None:
    other = path.with_name(f".{path.name}.mine.partial")
    other.touch()
    with copy_beside(path) as (copy, _):
        remove_left_copies(path)
        add_view(path, "more", TOTAL)
        assert copy.exists()
    assert not copy.exists()
    assert other.exists()
