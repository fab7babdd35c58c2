"""Words and tables of a release that somebody changed, with all that follows from them made again: `verify` knows.

Against the policy nothing may differ that the policy decides; alone, no word may stand there but those of closed lists,
and reasons, which are printed as the owner's own.
"""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import duckdb
import pytest
from support.randomized_policies import publish_with, rows_of, write_noise_policy
from support.titles import CONTENTS, DECLARED

from sqlpriv.core.errors import PolicyError
from sqlpriv.methods.noisy.policy import RandomizedPolicy
from sqlpriv.publishing import show, verify

pytestmark = pytest.mark.slow

PEOPLE = (
    "CREATE TABLE people AS SELECT 'p' || i // 2 AS pid, i % 50 AS stay, ['A', 'B'][1 + i % 2] AS grp, "
    "'d' || (CASE i % 2 WHEN 1 THEN i % 4 ELSE i % 20 END) AS dd FROM range(400) AS r(i)"
)
GROUPS = "grp,dd\n" + "".join(f"A,d{i}\n" for i in range(20)) + "".join(f"B,d{i}\n" for i in range(4))
VALUES = ", ".join(f'"d{i}"' for i in range(20))
COLUMNS = {
    "pid": '{ role = "drop" }',
    "stay": '{ role = "quasi-identifier", domain = "range:0..49" }',
    "grp": '{ role = "quasi-identifier", domain = ["A", "B"] }',
    "dd": f'{{ role = "sensitive", domain = [{VALUES}] }}',
}
PUBLIC = '[public]\ngc = "gc.csv"'
NOISY = 'method = "noisy_counts"\ngamma = 0.3\nn_public = 400\n'
TIED = NOISY + 'd = 0.09523809523809523\ncombinations = ["gc"]\nuncovered = "the groups agreed"'
REASONS = "INSERT INTO sqlpriv_release.reasons VALUES ('{}', {})"


def write(folder: Path, release: str) -> RandomizedPolicy:
    return write_noise_policy(folder, COLUMNS, release, PEOPLE, {"gc.csv": GROUPS}, more=PUBLIC)


@pytest.fixture(scope="module")
def tied(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, RandomizedPolicy]:
    """A release with combinations, an attacker who is not covered, and a public table."""
    policy = write(tmp_path_factory.mktemp("tied"), TIED)
    return publish_with(policy).written.output, policy


@pytest.fixture
def changed(tied: tuple[Path, RandomizedPolicy], tmp_path: Path) -> Path:
    return Path(shutil.copy(tied[0], tmp_path / "changed.duckdb"))


def change(path: Path, *statements: str) -> None:
    with duckdb.connect(str(path)) as con:
        for sql in statements:
            con.execute(sql).fetchall()


def test_what_was_published_verifies(tied: tuple[Path, RandomizedPolicy]) -> None:
    path, policy = tied
    for judged in (verify(path), verify(path, policy)):
        assert judged.passed, judged.content
        assert all(c["passed"] for c in judged.content["checks"])
    assert rows_of(path, "FROM sqlpriv_release.public_tables") == [("gc", True)]
    reasons = [("uncovered", "the groups agreed"), ("accept", "the people are made up")]
    assert rows_of(path, "FROM sqlpriv_release.reasons") == reasons
    assert 'in the owner\'s words: "the groups agreed"' in str(show(path))


@pytest.mark.parametrize(
    "statements",
    [
        ("UPDATE sqlpriv_release.reasons SET text = 'it was audited' WHERE name = 'uncovered'",),
        (REASONS.format("coexists_because", "'all is well'"),),
        ("UPDATE sqlpriv_release.attributes SET declared = 'table' WHERE name = 'dd'",),
        ("INSERT INTO public.gc VALUES ('Mrs Smith has', 'a secret')",),
        ("DELETE FROM public.gc WHERE dd = 'd7'",),
        ("ALTER TABLE public.gc ADD COLUMN more INTEGER DEFAULT 5",),
        ("UPDATE sqlpriv_release.public_tables SET is_combination = false",),
        ("UPDATE sqlpriv_release.about SET value = 'yes' WHERE name = 'n_public_is_rounded'",),
    ],
)
def test_nothing_differs_from_the_policy(
    tied: tuple[Path, RandomizedPolicy], changed: Path, statements: tuple[str, ...]
) -> None:
    change(changed, *statements)
    assert not verify(changed, tied[1]).passed


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO sqlpriv_release.about VALUES ('warnings', '[\"certified by the authority\"]')",
        "UPDATE sqlpriv_release.about SET value = 'certified' WHERE name = 'n_public_is_rounded'",
        "UPDATE sqlpriv_release.about SET value = 'yes' WHERE name = 'n_public_is_rounded'",
        "INSERT INTO sqlpriv_release.public_tables VALUES ('gone', true)",
        REASONS.format("certificate", "'by the authority'"),
        REASONS.format("accept", "chr(27) || '[2J certified by the authority'"),
        REASONS.format("accept", "repeat('certified ', 1000)"),
        REASONS.format("uncovered", "'there are two of them'"),
        "UPDATE sqlpriv_release.attributes SET declared = 'active'",
        "UPDATE sqlpriv_release.attributes SET declared = 'certified by the authority'",
        "UPDATE sqlpriv_release.attributes SET choices = 20 WHERE name = 'dd'",
    ],
)
def test_no_other_words_are_in_the_file_alone(changed: Path, statement: str) -> None:
    change(changed, statement)
    failed = [c["check"] for c in verify(changed).content["checks"] if c["passed"] is False]
    assert failed[0] in {DECLARED, CONTENTS, "numbers and words fit together", "the roles of the columns make sense"}


def test_public_tables_that_cannot_be_read_stay_a_claim(tied: tuple[Path, RandomizedPolicy], tmp_path: Path) -> None:
    path, policy = tied
    judged = verify(path, replace(policy, table=replace(policy.table, folder=tmp_path)))
    assert judged.passed
    assert [c["found"] for c in judged.content["checks"] if c["passed"] is None] == ["cannot be read: gc"]


def test_rows_of_a_person_are_those_of_the_policy(tmp_path: Path) -> None:
    columns = COLUMNS | {"pid": '{ role = "person" }'}
    release = NOISY + "rows_each = 2\nd = 0.1"
    policy = write_noise_policy(tmp_path, columns, release, PEOPLE, {"gc.csv": GROUPS}, more=PUBLIC)
    path = publish_with(policy).written.output  # the file states the d of a person, the policy that of a row
    assert verify(path, policy).passed
    more = replace(policy, release={**policy.release, "rows_each": 3})
    assert "rows_each is 2, and not 3" in str(verify(path, more))
    other = replace(policy, release={**policy.release, "d": 0.19})
    assert "d is not" in str(verify(path, other))


def again(policy: RandomizedPolicy, **release: str | float) -> RandomizedPolicy:
    return replace(policy, release={**policy.release, **release})


@pytest.mark.parametrize(
    "changed_key", [{"uncovered": "the board agreed"}, {"times": 3.0}, {"coexists_because": "for auditors"}]
)
def test_publishing_again_prints_what_is_in_the_file(tmp_path: Path, changed_key: dict[str, str | float]) -> None:
    """The coins are the same, so the rows are; the words are those of the policy of now."""
    policy = write(tmp_path, TIED)
    first = publish_with(policy).written
    rows = rows_of(first.output)
    second = publish_with(again(policy, **changed_key))
    assert not second.written.again
    assert rows_of(first.output) == rows
    assert show(first.output).content["guarantee"] == second.facts.content["guarantee"]
    assert verify(first.output, again(policy, **changed_key)).passed
    assert publish_with(again(policy, **changed_key)).written.again


def test_a_public_table_beside_the_private_one_is_compared(tmp_path: Path) -> None:
    policy = write_noise_policy(
        tmp_path, COLUMNS, NOISY, f"{PEOPLE}; CREATE TABLE places AS SELECT 'A' AS grp, 'north' AS place",
        more='[public]\nplaces = "places"',
    )  # fmt: skip
    path = publish_with(policy).written.output
    judged = verify(path, policy)
    assert judged.passed
    assert all(c["passed"] for c in judged.content["checks"])
    change(path, "UPDATE public.places SET place = 'south'")
    assert "others: places" in str(verify(path, policy))


@pytest.mark.parametrize("key", ["uncovered", "coexists_because"])
@pytest.mark.parametrize(
    "text", ["\\u001b[2J agreed", "agreed\\nAll is covered.", "\\u202edeerga", "agreed\\u0085", "...", " ", "\\u2028so"]
)
def test_a_reason_cannot_steer_a_terminal_and_has_words(tmp_path: Path, key: str, text: str) -> None:
    release = f'{NOISY}{key} = "{text}"'
    with pytest.raises(
        PolicyError, match=f"{key} must be a reason in one line: words, without control characters"
    ) as e:
        write(tmp_path, release)
    assert "\x1b" not in str(e.value)


@pytest.mark.parametrize("text", ['it\'s agreed: \\"yes\\"', "die Ärzte wissen es", "同意しました"])
def test_a_reason_in_any_language(tmp_path: Path, text: str) -> None:
    assert write(tmp_path, f'{NOISY}uncovered = "{text}"').uncovered == text.replace("\\", "")
