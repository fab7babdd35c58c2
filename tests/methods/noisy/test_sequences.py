"""A sequence of views over a table that changes: each element by its history, and only the next view may follow.

Rates are compared at five standard deviations, as in test_publish.
"""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest
from support.randomized_policies import KEY, publish_with, published, rows_of, write_noise_policy
from test_publish import kept_share, within

from sqlpriv.core.errors import PolicyError, ReleaseError
from sqlpriv.methods.noisy.policy import RandomizedPolicy
from sqlpriv.publishing import Published, publish

COLUMNS = {"a": published('"range:0..99"'), "b": published('"range:0..99"')}
SEQUENCE = (
    'method = "alpha_beta"\nd = 0.02\ngamma = 0.2\nadversary = "independent"\nduplicates = "distinct"\nviews = 3\n'
)
FIRST = "SELECT DISTINCT i % 100 AS a, i * 7 % 61 AS b FROM range(3000) AS r(i)"
Pairs = set[tuple[int, int]]


def table(folder: Path, query: str) -> Pairs:
    """The private table from now on."""
    (folder / "private.duckdb").unlink(missing_ok=True)
    with duckdb.connect(str(folder / "private.duckdb")) as con:
        con.execute(f"CREATE TABLE people AS {query}").fetchall()
        return set(con.execute("SELECT a, b FROM people").fetchall())


def ready(folder: Path, release: str = SEQUENCE) -> RandomizedPolicy:
    return write_noise_policy(folder, COLUMNS, release)


def view(policy: RandomizedPolicy, number: int) -> Pairs:
    result = publish_with(policy, output=f"view{number}.duckdb")
    assert result.written.view == number
    return shown(result)


def shown(result: Published) -> Pairs:
    return set(rows_of(result.written.output, "SELECT a, b FROM sqlpriv_release.published WHERE __view"))


@pytest.mark.slow
def test_every_element_has_the_probability_of_its_history(tmp_path: Path) -> None:
    policy = ready(tmp_path)
    domain = {(a, b) for a in range(100) for b in range(100)}
    before: Pairs = set()
    # Rows leave, rows come, and rows come back.
    for number, query in enumerate((FIRST, f"FROM ({FIRST}) WHERE a >= 20", f"FROM ({FIRST}) WHERE a < 70"), 1):
        private = table(tmp_path, query)
        result = publish_with(policy, output=f"view{number}.duckdb")
        made = result.written.made
        seen = shown(result)
        assert len(seen) == made.rows
        assert abs(len(seen) - made.expected) < 5 * made.variance**0.5
        again = publish_with(policy, output=f"view{number}.duckdb").written  # the same release once more
        assert (again.again, again.view, again.made.rows) == (True, number, made.rows)
        coins = result.plan.calibration.mechanism.numbers
        left, new = before - private, domain - private - before
        within(len(seen & private), len(private), kept_share(coins))
        within(len(seen & left), len(left), kept_share(coins) * coins["persist"])
        within(len(seen & new), len(new), coins["beta"])
        held = set(rows_of(tmp_path / f"view{number}.duckdb", "SELECT a, b FROM sqlpriv_release.published"))
        assert held == seen | before
        assert (
            set(
                rows_of(tmp_path / f"view{number}.duckdb", "SELECT a, b FROM sqlpriv_release.published WHERE __earlier")
            )
            == before
        )
        before |= seen


def test_a_row_keeps_its_slot(tmp_path: Path) -> None:
    # Fresh slots in every view would be views that know nothing of each other, and the severe breach of two of them.
    release = SEQUENCE.replace('duplicates = "distinct"', "slots = 1000").replace("0.02", "0.0002")
    policy = ready(tmp_path, release)
    table(tmp_path, "SELECT i % 100 AS a, 5 AS b FROM range(300) AS r(i)")
    publish_with(policy, output="view1.duckdb")
    # One copy goes, two come: the slots of the others stay.
    table(tmp_path, "SELECT i % 100 AS a, 5 AS b FROM range(400) AS r(i)")
    publish_with(policy, output="view2.duckdb")
    slots = [
        set(
            rows_of(
                tmp_path / f"view{i}.duckdb", "SELECT a, __slot FROM sqlpriv_release.published WHERE __view AND b = 5"
            )
        )
        for i in (1, 2)
    ]
    # Of 300 rows about 75 are kept in both views; with fresh slots hardly one would be in the same slot twice.
    within(len(slots[0] & slots[1]), 300, 0.25)


@pytest.mark.slow
def test_only_the_next_view_may_follow(tmp_path: Path) -> None:
    policy = ready(tmp_path)
    table(tmp_path, FIRST)
    view(policy, 1)
    table(tmp_path, f"FROM ({FIRST}) WHERE a > 1")
    with pytest.raises(ReleaseError, match=r"The next view must have the same parameters; changed: .*gamma"):
        publish_with(ready(tmp_path, SEQUENCE.replace("0.2\n", "0.3\n")), output="view2.duckdb")
    with pytest.raises(ReleaseError, match="The next view must have the same parameters; changed: key"):
        publish_with(ready(tmp_path), KEY + b"other", output="view2.duckdb")
    single = SEQUENCE.replace("views = 3\n", "")
    with pytest.raises(ReleaseError, match="second release made independently would expose people"):
        publish_with(ready(tmp_path, single), output="view2.duckdb")
    (tmp_path / "view1.duckdb").rename(tmp_path / "moved.duckdb")
    with pytest.raises(ReleaseError, match=r"view 1 of the sequence, published as 'view1.duckdb', is needed"):
        publish_with(ready(tmp_path), output="view2.duckdb")
    assert not (tmp_path / "view2.duckdb").exists()
    policy = ready(tmp_path, f'{SEQUENCE}earlier = ["moved.duckdb"]')
    view(policy, 2)
    table(tmp_path, FIRST + " WHERE i > 5")
    view(ready(tmp_path, f'{SEQUENCE}earlier = ["view2.duckdb"]'), 3)
    table(tmp_path, FIRST + " WHERE i > 9")
    with pytest.raises(ReleaseError, match="the last of the 3 views of this sequence; no more can be private"):
        publish_with(ready(tmp_path, f'{SEQUENCE}earlier = ["view3.duckdb"]'), output="view4.duckdb")


@pytest.mark.slow
def test_a_table_that_returns_to_an_earlier_state_gets_the_next_view(tmp_path: Path) -> None:
    policy = ready(tmp_path)
    for number, query in enumerate((FIRST, FIRST + " WHERE i > 5", FIRST), 1):
        table(tmp_path, query)
        view(policy, number)


@pytest.mark.slow
def test_a_view_of_another_sequence_is_not_taken(tmp_path: Path) -> None:
    policy = ready(tmp_path)
    table(tmp_path, FIRST)
    view(policy, 1)
    publish_with(policy, KEY + b"other", "another.json", "strange.duckdb")
    table(tmp_path, FIRST + " WHERE i > 5")
    with pytest.raises(ReleaseError, match="is needed for the next one and is not among"):
        publish_with(ready(tmp_path, f'{SEQUENCE}earlier = ["strange.duckdb"]'), output="view2.duckdb")


def test_a_sequence_needs_a_key_of_its_own(tmp_path: Path) -> None:
    policy = ready(tmp_path)
    table(tmp_path, FIRST)
    with pytest.raises(PolicyError, match="a sequence needs a key that stays the same"):
        publish(policy, ledger_file=tmp_path / "ledger.json")
