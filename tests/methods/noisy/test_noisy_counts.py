"""Noisy counts: published, verified, the same for the same key, and what a linking attacker makes of one."""

from __future__ import annotations

import math
import shutil
from pathlib import Path

import duckdb
import pytest
from support.linking import lone_match, shown_values
from support.randomized_policies import noise_policy_text, publish_with, published, rows_of, write_noise_policy

from sqlpriv.core.errors import InputError, PolicyError
from sqlpriv.methods import METHODS
from sqlpriv.policy.file import parse_policy
from sqlpriv.publishing import open_release, show, verify

NOISY = 'method = "noisy_counts"\nd = 0.1\ngamma = 0.4\n'
SMALL = {"a": published("[1, 2, 3, 4, 5, 6, 7, 8]"), "b": published('["x", "y", "z"]'), "id": '{ role = "drop" }'}
WIDE = SMALL | {"a": published('"range:1..400"')}
PEOPLE = (
    "CREATE TABLE people AS SELECT 1 + (i * i) % 7 AS a, ['x', 'y', 'z'][1 + (i // 3) % 3] AS b, i AS id "
    "FROM range(300) AS r(i)"
)
KINDS = {"signed": SMALL, "one-sided": WIDE}


@pytest.mark.some(1)
@pytest.mark.parametrize("kind", KINDS)
def test_the_kind_with_the_smaller_error_is_published_and_verifies(tmp_path: Path, kind: str) -> None:
    policy = write_noise_policy(tmp_path, KINDS[kind], NOISY + "n_public = 300", PEOPLE)
    result = publish_with(policy)
    coins = result.facts.content
    assert ("a" in coins) == (kind == "signed")
    assert verify(result.written.output, policy).passed
    weights = {r[0] for r in rows_of(result.written.output, "SELECT DISTINCT __weight FROM sqlpriv_release.published")}
    assert weights == ({1 / coins["p"]} if kind == "one-sided" else {1.0, -1.0})
    with open_release(result.written.output) as release:
        ((n, low, high),) = release.sql("SELECT count(*) AS n FROM people").fetchall()
    assert low <= 300 <= high
    assert low < n < high


def test_the_promise_is_differential_privacy_in_words_and_numbers(tmp_path: Path) -> None:
    policy = write_noise_policy(tmp_path, WIDE, NOISY + "n_public = 300", PEOPLE)
    content = publish_with(policy).facts.content
    promise = show(tmp_path / "people-release.duckdb").content["guarantee"]
    epsilon = rows_of(tmp_path / "people-release.duckdb", "FROM sqlpriv_release.parameters WHERE name = 'epsilon'")[0][
        1
    ]
    assert epsilon == pytest.approx(math.log(6))  # L = .4 * .9 / (.1 * .6)
    assert content["q"] == pytest.approx(content["p"] / ((1 - content["p"]) * 5))
    assert "believes it with at most 0.4 after seeing this release, even when they know every other row." in promise
    assert "epsilon 1.79 when a person's row is replaced, and" in promise


def test_a_size_that_is_made_from_the_table_is_told_and_limits_the_promise(tmp_path: Path) -> None:
    """p depends on the size, so it is public; then only a row replaced by another is covered."""
    result = publish_with(write_noise_policy(tmp_path, WIDE, NOISY, PEOPLE))
    assert any("becomes public" in w for w in result.written.warnings)
    promise = show(result.written.output).content["guarantee"]
    assert "added or removed" not in promise
    assert ("n_public", 300.0) in rows_of(result.written.output, "FROM sqlpriv_release.parameters")


@pytest.mark.some(1)
@pytest.mark.parametrize("kind", KINDS)
def test_the_same_key_gives_the_same_release_whatever_the_order_of_rows(tmp_path: Path, kind: str) -> None:
    seen = []
    for name, order in (("one", "id"), ("two", "id DESC")):
        folder = tmp_path / name
        folder.mkdir()
        sql = f"{PEOPLE}; CREATE OR REPLACE TABLE people AS FROM people ORDER BY {order}"
        result = publish_with(write_noise_policy(folder, KINDS[kind], NOISY + "n_public = 300", sql))
        seen.append(rows_of(result.written.output))
    assert seen[0] == seen[1]
    other = publish_with(
        write_noise_policy(tmp_path, KINDS[kind], NOISY + "n_public = 300", PEOPLE), key=b"another key of sixteen bytes"
    )
    assert rows_of(other.written.output) != seen[0]


@pytest.mark.some(3)
@pytest.mark.parametrize(
    ("kind", "tampered"),
    [
        ("one-sided", "UPDATE sqlpriv_release.parameters SET value = value / 2 WHERE name = 'q'"),
        ("one-sided", "UPDATE sqlpriv_release.parameters SET value = 0.9 WHERE name = 'p'"),
        ("one-sided", "UPDATE sqlpriv_release.parameters SET value = 0.2 WHERE name = 'd'"),
        ("one-sided", "UPDATE sqlpriv_release.published SET __weight = 1"),
        ("one-sided", "DELETE FROM sqlpriv_release.published WHERE a > 1"),
        ("one-sided", "UPDATE sqlpriv_release.about SET value = 'exclusive' WHERE name = 'adversary'"),
        ("signed", "UPDATE sqlpriv_release.parameters SET value = value / 2 WHERE name = 'a'"),
        ("signed", "UPDATE sqlpriv_release.published SET __weight = -2 WHERE __weight < 0"),
        ("signed", "INSERT INTO sqlpriv_release.parameters VALUES ('p', 0.5)"),
    ],
)
def test_a_release_that_was_tampered_with_fails(tmp_path: Path, kind: str, tampered: str) -> None:
    result = publish_with(write_noise_policy(tmp_path, KINDS[kind], NOISY + "n_public = 300", PEOPLE))
    copy = Path(shutil.copy(result.written.output, tmp_path / "copy.duckdb"))
    with duckdb.connect(str(copy)) as con:
        con.execute(tampered).fetchall()
    assert not verify(copy).passed


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ("slots = 10", "key 'slots' is for alpha_beta; here are"),
        ('adversary = "independent"', "key 'adversary' is for alpha_beta, frapp; here are"),
        ('parameters = "paper"', "key 'parameters' is for alpha_beta; here are"),
        ("alpha = 0.4\nbeta = 0.1", "key 'alpha' is for alpha_beta; here are"),
        ("views = 2", "key 'views' is for alpha_beta; here are"),
        ('duplicates = "distinct"', "key 'duplicates' is for alpha_beta; here are"),
    ],
)
def test_what_belongs_to_slots_is_refused(more: str, message: str) -> None:
    text = noise_policy_text(SMALL, NOISY + more)
    with pytest.raises(PolicyError, match=message):
        parse_policy(text, Path(), METHODS)


def test_p_is_for_noisy_counts() -> None:
    slots = NOISY.replace('"noisy_counts"', '"alpha_beta"\nduplicates = "slots"')
    with pytest.raises(PolicyError, match="key 'p' is for noisy_counts; here are"):
        parse_policy(noise_policy_text(SMALL, slots + "p = 0.5"), Path(), METHODS)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ('duplicates = "bag"', 'noisy counts are a method of their own: write method = "noisy_counts"'),
        ("", 'must say what becomes of equal rows: write method = "noisy_counts"'),
        ("n_public = 300", 'must say what becomes of equal rows: write method = "noisy_counts"'),
        ('adversary = "independent"', 'must say what becomes of equal rows: write method = "noisy_counts"'),
    ],
)
def test_nobody_gets_noisy_counts_or_another_guarantee_by_the_old_name(more: str, message: str) -> None:
    text = noise_policy_text(SMALL, "").replace(
        "[release]", f"[release]\n{NOISY.replace('noisy_counts', 'alpha_beta')}{more}"
    )
    with pytest.raises(PolicyError, match=message):
        parse_policy(text, Path(), METHODS)


def test_a_p_that_leaves_no_room_for_noise_is_refused(tmp_path: Path) -> None:
    """p must be below 1 - 1/L = 5/6."""
    with pytest.raises(InputError, match="p must be below 1 - 1 / factor, or no noise can hide a row"):
        publish_with(write_noise_policy(tmp_path, WIDE, NOISY + "n_public = 300\np = 0.9", PEOPLE))
    content = publish_with(write_noise_policy(tmp_path, WIDE, NOISY + "n_public = 300\np = 0.25")).facts.content
    assert (content["p"], content["q"]) == (0.25, pytest.approx(0.25 / (0.75 * 5)))


def test_a_linking_attacker_is_right_as_often_as_the_bound_says(tmp_path: Path) -> None:
    """Everybody is alone in a slice that the attacker knows, values are uniform: a lone match is right with gamma.

    L / (L + |S| - 1) = 6 / 15 = .4 of the slices that show exactly one value; five standard errors: a false alarm in 2
    of 3 million keys, and the key is fixed.
    """
    columns = {"g": published('"range:1..4000"'), "s": published("[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]")}
    uniform = "CAST('0x' || substr(md5(i::VARCHAR), 1, 7) AS BIGINT) % 10"
    sql = f"CREATE TABLE people AS SELECT i AS g, {uniform} AS s FROM range(1, 4001) AS r(i)"
    result = publish_with(write_noise_policy(tmp_path, columns, NOISY + "n_public = 4000", sql))
    with duckdb.connect(str(tmp_path / "private.duckdb"), read_only=True) as con:
        truth = {(g,): s for g, s in con.execute("FROM people").fetchall()}
    shown = shown_values(result.written.output, ["g"], "s")
    lone = [truth[place] == s for place, values in shown.items() for s in lone_match(values)]
    assert len(lone) > 500
    assert abs(sum(lone) / len(lone) - 0.4) < 5 * math.sqrt(0.4 * 0.6 / len(lone))


@pytest.mark.parametrize("p", [0.0123456789012345678, 0.0912345678901234567])
def test_a_small_share_of_kept_rows_is_published_as_planned(tmp_path: Path, p: float) -> None:
    """A share with many digits is a DOUBLE to the engine; as a DECIMAL its products overflow."""
    few = "CREATE TABLE people AS SELECT 1 AS a, 'x' AS b, i AS id FROM range(3000) AS r(i)"
    policy = write_noise_policy(
        tmp_path, SMALL, 'method = "noisy_counts"\nd = 0.01\ngamma = 0.99\n' + f"n_public = 3000\np = {p!r}", few
    )
    result = publish_with(policy)
    assert result.facts.content["p"] == p
    assert verify(result.written.output, policy).passed
