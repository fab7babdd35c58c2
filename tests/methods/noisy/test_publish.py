"""Randomized releases as they are published: the right elements with the right probabilities, and nothing else.

Rates are compared with the binomial distribution at five standard deviations, so each comparison raises a false alarm
in fewer than one of a million keys; the keys are fixed, so a test that passes goes on passing.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import duckdb
import pytest
from support.commands import run
from support.randomized_policies import KEY, publish_with, published, rows_of, write_noise_policy
from support.titles import CONTENTS

from sqlpriv.core.errors import ReleaseError
from sqlpriv.macros.calls import Calls
from sqlpriv.methods.method import Edition, Made, Plan, Request
from sqlpriv.methods.noisy.method import Randomized
from sqlpriv.methods.noisy.policy import RandomizedPolicy
from sqlpriv.publishing import open_private
from sqlpriv.table.source import Source

COLUMNS = {"a": published('"range:0..99"'), "b": published('"range:0..99"'), "s": published('["x", "y"]')}
PEOPLE = (
    "CREATE TABLE people AS SELECT i % 100 AS a, i * 7 % 61 AS b, ['x', 'y'][1 + i % 2] AS s FROM range(2000) AS r(i)"
)
DISTINCT = 'method = "alpha_beta"\nk = 0.5\ngamma = 0.3\nduplicates = "distinct"\n'


def kept_share(coins: Mapping[str, float]) -> float:
    """The share of rows that coins keep."""
    return coins["alpha"] + coins["beta"]


def within(count: int, trials: int, rate: float) -> None:
    """The count is one that a binomial variable takes: at most five standard deviations off."""
    spread = math.sqrt(trials * rate * (1 - rate))
    assert abs(count - trials * rate) <= 5 * spread + 1e-9, (count, trials * rate, spread)


def test_the_json_of_the_contract(tmp_path: Path) -> None:
    write_noise_policy(tmp_path, COLUMNS, 'method = "alpha_beta"\nk = 1\ngamma = 0.3\nslots = 20', PEOPLE)
    (tmp_path / "key").write_bytes(KEY)
    done = run(tmp_path, "publish", "policy.toml", "--key-file", "key", "--ledger", "L.json", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["n"] == 2000
    assert found["m"] == 20_000
    assert found["d"] == pytest.approx(2000 / 20_000)
    assert found["gamma"] == 0.3
    # The default is the exclusive adversary: p = 1/2, beta = R / (1 + R), with d / slots.
    ratio = (0.1 / 20) * 0.7 / (0.3 * (1 - 0.1 / 20))
    assert found["beta"] == pytest.approx(ratio / (1 + ratio), rel=1e-9)
    assert found["alpha"] + found["beta"] == pytest.approx(0.5)
    assert found["expected_rows"] == pytest.approx(1000 + found["beta"] * (400_000 - 2000))
    assert found["rows"] == len(rows_of(tmp_path / "people-release.duckdb"))
    assert found["output"] == "people-release.duckdb"
    assert (tmp_path / "L.json").is_file()


@pytest.mark.slow
def test_kept_rows_and_noise_have_their_probabilities(tmp_path: Path) -> None:
    policy = write_noise_policy(tmp_path, COLUMNS, DISTINCT, PEOPLE)
    private = set(rows_of(tmp_path / "private.duckdb", "SELECT DISTINCT a, b, s FROM people"))
    kept = noise = 0
    keys = 5
    for i in range(keys):
        result = publish_with(policy, KEY + bytes([i]), f"{i}.json")
        view = [r[:3] for r in rows_of(result.written.output)]
        assert len(view) == len(set(view)) == result.written.made.rows
        kept += len(private & set(view))
        noise += len(set(view) - private)
    coins = result.plan.calibration.mechanism.numbers
    within(kept, keys * len(private), kept_share(coins))
    within(noise, keys * (20_000 - len(private)), coins["beta"])


def test_noise_falls_on_every_value_alike(tmp_path: Path) -> None:
    policy = write_noise_policy(tmp_path, COLUMNS, DISTINCT, "CREATE TABLE people AS SELECT 0 AS a, 0 AS b, 'x' AS s")
    policy = _with(policy, d=0.1, k=None)
    view = [r[:3] for r in rows_of(publish_with(policy).written.output)]
    beta = publish_with(policy).plan.calibration.mechanism.numbers["beta"]
    for place, values in ((0, range(100)), (1, range(100)), (2, ("x", "y"))):
        counts = Counter(r[place] for r in view)
        assert set(counts) == set(values)
        for count in counts.values():
            within(count, 20_000 // len(values), beta)


def test_ranges_of_the_domain_make_the_same_kind_of_noise(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(import_module("sqlpriv.methods.noisy.draws"), "_DRAWS", 100)
    policy = _with(write_noise_policy(tmp_path, COLUMNS, DISTINCT, PEOPLE), d=0.1, k=None)
    result = publish_with(policy)
    view = [r[:3] for r in rows_of(result.written.output)]
    assert view == sorted(set(view))  # the order of the elements, across ranges too
    private = set(rows_of(tmp_path / "private.duckdb", "SELECT DISTINCT a, b, s FROM people"))
    within(len(set(view) - private), 20_000 - len(private), result.plan.calibration.mechanism.numbers["beta"])
    within(len(set(view) & private), len(private), kept_share(result.plan.calibration.mechanism.numbers))


def test_a_domain_larger_than_any_number(tmp_path: Path) -> None:
    names = [f"c{i}" for i in range(20)]
    columns = {name: published('"range:0..99"') for name in names}
    listed = ", ".join(f"(i + {j}) % 100 AS {name}" for j, name in enumerate(names))
    release = 'method = "alpha_beta"\nd = 2e-38\ngamma = 0.2\nduplicates = "distinct"'
    policy = write_noise_policy(
        tmp_path, columns, release, f"CREATE TABLE people AS SELECT {listed} FROM range(100) AS r(i)"
    )
    result = publish_with(policy)
    assert result.plan.calibration.tuples == 10**40
    view = rows_of(result.written.output)
    assert len(view) == len(set(view)) == result.written.made.rows
    private = set(rows_of(tmp_path / "private.duckdb", "FROM people"))
    noise = [r[:20] for r in view if r[:20] not in private]
    mean = result.plan.calibration.mechanism.numbers["beta"] * 1e40
    assert mean == pytest.approx(800, rel=0.01)
    assert abs(len(noise) - mean) < 5 * math.sqrt(mean)
    for place in range(20):  # every attribute is spread, also those in the later limbs
        assert len({r[place] for r in noise}) > 90


def test_equal_rows_take_different_slots(tmp_path: Path) -> None:
    people = "CREATE TABLE people AS SELECT i % 50 AS a, 1 AS b, 'x' AS s FROM range(200) AS r(i)"
    release = 'method = "alpha_beta"\nd = 0.001\ngamma = 0.3\nslots = 5\nadversary = "independent"\nviews = 2'
    policy = write_noise_policy(tmp_path, COLUMNS, release, people)
    result = publish_with(policy)
    view = rows_of(result.written.output, "SELECT a, b, s, __slot FROM sqlpriv_release.published WHERE __view")
    assert len(view) == len(set(view))
    mine = [r for r in view if r[1:3] == (1, "x") and r[0] < 50]
    assert {r[3] for r in mine} == {1, 2, 3, 4, 5}
    for slot in range(1, 6):  # four of five slots are taken, each equally likely; noise is rare
        within(sum(1 for r in mine if r[3] == slot), 50, 0.8 * kept_share(result.plan.calibration.mechanism.numbers))


def test_more_copies_than_slots_are_refused(tmp_path: Path) -> None:
    people = "CREATE TABLE people AS SELECT 1 AS a, 1 AS b, 'x' AS s FROM range(7)"
    policy = write_noise_policy(tmp_path, COLUMNS, 'method = "alpha_beta"\nd = 0.01\ngamma = 0.3\nslots = 6', people)
    with pytest.raises(Exception, match="1 tuples have more copies than the 6 slots, up to 7"):
        publish_with(policy)
    assert not list(tmp_path.glob("*release*"))
    assert not (tmp_path / "ledger.json").exists()


@pytest.mark.slow
def test_frapp_keeps_the_number_of_records_and_moves_the_others_evenly(tmp_path: Path) -> None:
    policy = write_noise_policy(tmp_path, COLUMNS, 'method = "frapp"\nd = 0.001\ngamma = 0.9', PEOPLE)
    stayed = moved = 0
    private = Counter(rows_of(tmp_path / "private.duckdb", "FROM people"))
    for i in range(5):
        result = publish_with(policy, KEY + bytes([i]), f"{i}.json")
        view = Counter(r[:3] for r in rows_of(result.written.output))
        assert view.total() == result.written.made.rows == 2000
        stayed += sum(min(view[t], n) for t, n in private.items())
        moved += sum(n for t, n in view.items() if t not in private)
    coins = result.plan.calibration.mechanism.numbers
    outside = 20_000 - len(private)
    within(moved, 10_000, coins["move"] * outside)
    # A record counts as staying also when another one comes in its place, which is a little more often.
    assert 10_000 * coins["stay"] * 0.9 < stayed < 10_000 * coins["stay"] * 1.1 + 10_000 * coins["move"] * len(private)


def test_noise_follows_its_shares(tmp_path: Path) -> None:
    columns = {**COLUMNS, "s": published('["x", "y"]', share="[0.1, 0.9]")}
    release = 'method = "alpha_beta"\nd = 0.05\ngamma = 0.3\nadversary = "independent"\nduplicates = "distinct"'
    policy = write_noise_policy(tmp_path, columns, release, PEOPLE)
    private = set(rows_of(tmp_path / "private.duckdb", "SELECT DISTINCT a, b, s FROM people"))
    result = publish_with(policy)
    view = [r[:3] for r in rows_of(result.written.output)]
    assert len(view) == len(set(view))
    coins = result.plan.calibration.mechanism.numbers
    for value, share in (("x", 0.1), ("y", 0.9)):
        beta = -math.expm1(-coins["rate"] * share / 10_000)
        held = {r for r in private if r[2] == value}
        within(sum(1 for r in view if r[2] == value and r not in held), 10_000 - len(held), beta)
        within(sum(1 for r in view if r in held), len(held), coins["alpha"] + beta)
    # The weights of the domain are the series of -beta(t) / alpha.
    series = dict(rows_of(result.written.output, "SELECT power, weight FROM sqlpriv_release.domain_weights"))
    for share in (0.1e-4, 0.9e-4):
        beta = -math.expm1(-coins["rate"] * share)
        assert sum(w * share**p for p, w in series.items()) == pytest.approx(-beta / coins["alpha"], rel=1e-9)


@contextmanager
def _one_thread(policy: RandomizedPolicy) -> Iterator[tuple[Source, RandomizedPolicy]]:
    with open_private(policy) as (source, spelt):
        source.con.execute("SET threads = 1").fetchall()
        yield source, spelt


@pytest.mark.some(1)
@pytest.mark.parametrize("method", ['alpha_beta"\nslots = 100', 'frapp"'])
def test_the_same_key_gives_the_same_release(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, method: str) -> None:
    release = f'd = 0.01\ngamma = 0.3\nmethod = "{method}'
    policy = write_noise_policy(tmp_path, COLUMNS, release, PEOPLE)
    first = rows_of(publish_with(policy).written.output)
    (tmp_path / "private.duckdb").unlink()
    policy = write_noise_policy(tmp_path, COLUMNS, release, PEOPLE + " ORDER BY hash(i)")
    monkeypatch.setattr(import_module("sqlpriv.publishing.path"), "open_private", _one_thread)
    assert rows_of(publish_with(policy, ledger="again.json").written.output) == first
    other = rows_of(publish_with(policy, KEY + b"!", ledger="other.json").written.output)
    assert other != first


@pytest.mark.slow
def test_a_row_more_gives_fresh_noise(tmp_path: Path) -> None:
    policy = write_noise_policy(tmp_path, COLUMNS, DISTINCT, PEOPLE)
    first = {r[:3] for r in rows_of(publish_with(policy).written.output)}
    (tmp_path / "private.duckdb").unlink()
    write_noise_policy(tmp_path, COLUMNS, DISTINCT, f"{PEOPLE}; INSERT INTO people VALUES (99, 99, 'y')")
    second = {r[:3] for r in rows_of(publish_with(policy, ledger="other.json").written.output)}
    private = set(rows_of(tmp_path / "private.duckdb", "SELECT DISTINCT a, b, s FROM people"))
    beta = publish_with(policy, ledger="other.json").plan.calibration.mechanism.numbers["beta"]
    within(len((first & second) - private), 20_000 - len(private), beta**2)


def test_a_useless_view_is_refused_unless_forced(tmp_path: Path) -> None:
    policy = write_noise_policy(tmp_path, COLUMNS, DISTINCT.replace("0.3", "0.02").replace("0.5", "0.1"), PEOPLE)
    small = _with(policy, n_public=1, d=0.019, k=None)
    with pytest.raises(Exception, match="the view would say nothing"):
        publish_with(small, force=False)
    assert publish_with(small).written.made.rows > 0


def test_the_public_number_of_rows(con: duckdb.DuckDBPyConnection) -> None:
    calls = Calls(con)
    rounded = [calls.row("public_size", n)[0] for n in (1, 9, 10, 99, 100, 101, 30_162)]
    assert rounded == [1, 9, 10, 99, 100, 110, 31_000]


def _with(policy: RandomizedPolicy, **changes: object) -> RandomizedPolicy:
    from dataclasses import replace

    return replace(policy, release={**policy.release, **changes})


def test_the_release_does_not_tell_that_there_are_more_rows_than_declared(tmp_path: Path) -> None:
    columns = {"a": published('"range:0..99"')}
    about = []
    for rows in (50, 51):
        folder = tmp_path / str(rows)
        folder.mkdir()
        sql = f"CREATE TABLE people AS SELECT i AS a FROM range({rows}) AS r(i)"
        release = 'method = "alpha_beta"\nk = 0.01\nn_public = 50\ngamma = 0.2'
        result = publish_with(write_noise_policy(folder, columns, release, sql))
        assert any("below the number of rows" in w for w in result.written.warnings) == (rows > 50)
        said = "FROM sqlpriv_release.about WHERE name NOT IN ('release', 'digest') ORDER BY ALL"
        about.append(rows_of(result.written.output, said))
    assert about[0] == about[1]


def _nothing_is_there(folder: Path) -> None:
    assert not list(folder.glob("*release*"))
    assert not [p for p in folder.iterdir() if "partial" in p.name]
    assert not (folder / "ledger.json").exists()


@pytest.mark.some(1)
@pytest.mark.parametrize("draws", [lambda _: 0, lambda mean: int(mean + 8 * math.sqrt(mean))])
def test_noise_that_is_off_is_not_published(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, draws: Callable[[float], int]
) -> None:
    """Six standard deviations: the coins did not fall as they should."""
    policy = write_noise_policy(tmp_path, COLUMNS, 'method = "alpha_beta"\nk = 1\ngamma = 0.3\nslots = 20', PEOPLE)
    monkeypatch.setattr(import_module("sqlpriv.methods.noisy.draws"), "poisson", lambda mean, _: draws(mean))
    with pytest.raises(ReleaseError, match=r"rows came out where about .* were to be expected: the noise was not"):
        publish_with(policy)
    _nothing_is_there(tmp_path)
    monkeypatch.undo()
    monkeypatch.setattr(
        import_module("sqlpriv.methods.noisy.draws"), "poisson", lambda mean, _: int(mean + 3 * math.sqrt(mean))
    )
    publish_with(policy)


def test_records_that_get_lost_are_not_published(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    policy = write_noise_policy(tmp_path, COLUMNS, 'method = "frapp"\nd = 0.001\ngamma = 0.9', PEOPLE)
    writing = import_module("sqlpriv.methods.noisy.frapp.write")
    moved = writing._moved
    monkeypatch.setattr(writing, "_moved", lambda *given: f"FROM ({moved(*given)}) LIMIT 1999")
    with pytest.raises(ReleaseError, match=r"1,999 rows came out where about 2,000 were to be expected"):
        publish_with(policy)
    _nothing_is_there(tmp_path)


@pytest.mark.some(1)
@pytest.mark.parametrize(
    ("method", "sql", "check"),
    [
        ("alpha_beta", "UPDATE sqlpriv_release.published SET __weight = 2 WHERE rowid = 5", "the weights of the rows"),
        ("frapp", "UPDATE sqlpriv_release.parameters SET value = 0.99 WHERE name = 'stay'", "becomes at most"),
        (
            "alpha_beta",
            "CREATE TABLE main.others AS SELECT 1 AS a",
            CONTENTS,
        ),
    ],
)
def test_a_file_that_does_not_verify_is_not_published(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, method: str, sql: str, check: str
) -> None:
    """Whatever goes wrong on the way into the file: it is judged before it takes its place."""
    policy = write_noise_policy(tmp_path, COLUMNS, f'method = "{method}"\nd = 0.01\ngamma = 0.3', PEOPLE)
    write = Randomized.write

    def spoilt(self: Randomized[Any, Any], plan: Plan[Any], edition: Edition, path: Path, request: Request) -> Made:
        made = write(self, plan, edition, path, request)
        with duckdb.connect(str(path)) as con:
            con.execute(sql).fetchall()
        return made

    monkeypatch.setattr(Randomized, "write", spoilt)
    with pytest.raises(ReleaseError, match="the file that was written does not hold what it says") as error:
        publish_with(policy)
    assert check in str(error.value)
    _nothing_is_there(tmp_path)
    monkeypatch.undo()
    publish_with(policy)
