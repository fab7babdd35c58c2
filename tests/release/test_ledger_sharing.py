"""Samples share their epsilon in the ledger where all releases were settled before one was seen, and only there."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import duckdb
import pytest
from oracles.sampling import sdgs_delta, smooth_composition
from support.ledgers import entries
from support.sampled import people, plan_of, sampled_policy, write_people

from sqlpriv.core.errors import ReleaseError
from sqlpriv.core.facts import Line
from sqlpriv.macros.calls import Calls
from sqlpriv.publishing import publish, read_policy, show, verify
from sqlpriv.release.ledger.entry import Entry, Pair, Spent, are_settled, content_of, entry_of, spent_of, together
from sqlpriv.release.ledger.show import show_ledger

pytestmark = pytest.mark.one_version

SETTLED = 'settled_beforehand = "the plan of May names both"'
FIRST, SECOND = ((5, 0.2), (5, 0.05))


def sample(k: int, beta: float, epsilon: float = 1.0) -> Spent:
    delta = sdgs_delta(k, beta, epsilon)
    return Spent("row", (epsilon, delta), (2 * epsilon, 4 * delta), samples=((k, beta),))


def total(parts: list[Spent], settled: bool) -> Spent:
    with duckdb.connect() as con:
        found = together(Calls(con), parts, settled)
    assert found is not None
    return found


def added(parts: list[Spent], settled: bool = True) -> Pair:
    found = total(parts, settled).added
    assert found is not None
    return found


def test_two_samples_of_twenty_share_what_they_have() -> None:
    """One each: 4.1e-14 by the sum, 8.2e-16 by the best split."""
    both = [sample(20, 0.1), sample(20, 0.05)]
    assert added(both, settled=False) == (2.0, pytest.approx(4.07e-14, rel=1e-2))
    assert added(both) == (2.0, pytest.approx(8.18e-16, rel=1e-3))
    assert total(both, True).replaced == total(both, False).replaced, "that kind is added up"


def test_what_has_no_curve_keeps_its_pair() -> None:
    """Noise takes its epsilon, and a delta without a curve is added as it is."""
    both, noise = [sample(20, 0.1), sample(20, 0.05)], Spent("row", (0.5, 0.0), (1.0, 0.0))
    alone = added(both)[1]
    assert added([*both, noise]) == (2.5, pytest.approx(alone))
    assert added([noise, replace(noise, added=(0.5, 1e-9))]) == (1.0, 1e-9)
    assert added([*both, replace(noise, added=(0.5, 1e-15))]) == (2.5, pytest.approx(alone + 1e-15))
    assert total([*both, replace(noise, added=None)], True).added is None


@pytest.mark.parametrize("epsilon", [-1.0, 0.3, 2.0])
@pytest.mark.parametrize("k", [2, 9])
def test_it_is_never_more_than_the_sum_nor_less_than_the_best_split(k: int, epsilon: float) -> None:
    betas = (0.1, 0.2)
    own = [sample(k, beta, 0.2231435513142098 if epsilon < 0 else epsilon) for beta in betas]
    spent, delta = added(own)
    assert delta <= added(own, settled=False)[1]
    best = smooth_composition([(k, beta) for beta in betas], [], spent, hair=1e-13)
    assert delta >= min(best, added(own, settled=False)[1]) * (1 - 1e-9)


def test_one_release_that_may_depend_on_another_counts_all_by_their_sums() -> None:
    one = Entry("2026-01-01", "people", "d", "c", "sdgs", {}, "coins", 1, 1, "out.duckdb")
    said = replace(one, settled_beforehand="so planned")
    assert are_settled([one]) and are_settled([one, said, said])  # noqa: PT018
    assert not are_settled([one, one, said])
    assert not are_settled([said, said, one])


def test_entries_keep_their_samples_and_old_ones_have_none() -> None:
    spent = sample(20, 0.1)
    entry = Entry("2026-01-01", "people", "d", "c", "sdgs", {}, "coins", 1, 1, "out.duckdb", spent=spent)
    assert entry_of(content_of(entry)) == entry
    assert "settled_beforehand" not in content_of(entry)
    assert entry_of(content_of(replace(entry, settled_beforehand="so planned"))).settled_beforehand == "so planned"
    old = {name: value for name, value in spent.to_json().items() if name != "samples"}
    assert spent_of(old) == replace(spent, samples=())


@pytest.mark.parametrize("samples", [[[0, 0.1]], [[2.5, 0.1]], [[20, 1.0]], [[20]], [None], "x", [["20", 0.1]], None])
def test_samples_that_are_none_are_no_cost(samples: object) -> None:
    assert spent_of({**sample(20, 0.1).to_json(), "samples": samples}) is None
    assert spent_of({**sample(20, 0.1).to_json(), "added": None}) is None


@pytest.mark.parametrize(
    ("given", "samples"),
    [
        ({}, ((5, 0.2),)),
        ({"release": 'groups = [["sex", "ill"], ["age"]]'}, ((5, 0.2), (5, 0.2))),
        ({"node": "nodes = [{ age = 2, sex = 0 }, { age = 1, sex = 1 }]\nnode_epsilon = 0.1"}, ()),
    ],
)
def test_a_sample_has_a_curve_where_nothing_else_was_drawn(
    tmp_path: Path, given: dict[str, str], samples: tuple[tuple[int, float], ...]
) -> None:
    write_people(tmp_path, people(300))
    with plan_of(sampled_policy(tmp_path, **given)) as plan:
        assert plan.spent().samples == samples


@pytest.mark.slow
def test_a_budget_that_the_sum_exceeds_is_kept_by_releases_that_were_settled(tmp_path: Path) -> None:
    write_people(tmp_path, people(800))
    pairs = [sdgs_delta(k, beta, 1.0) for k, beta in (FIRST, SECOND)]
    shared = smooth_composition([FIRST, SECOND], [], 2.0)
    assert shared < 0.5 * sum(pairs)
    allowed = (shared * sum(pairs)) ** 0.5
    first = "epsilon = 1.0\nk = 5\nbeta = 0.2"
    publish(
        read_policy(sampled_policy(tmp_path, numbers=first, ledger="[ledger]\nbudget = { epsilon = 1, delta = 1e-2 }"))
    )

    def second(words: str) -> Path:
        budget = f"[ledger]\nbudget = {{ epsilon = 2, delta = {allowed!r} }}"
        path = sampled_policy(tmp_path, words, numbers="epsilon = 1.0\nk = 5\nbeta = 0.05", ledger=budget)
        path.write_text(path.read_text(encoding="utf-8").replace('"out.duckdb"', '"second.duckdb"'), encoding="utf-8")
        return path

    with pytest.raises(ReleaseError, match=r"with the 1 before it this release of 'people' would cost epsilon 2"):
        publish(read_policy(second("")))
    policy = read_policy(second(SETTLED))
    publish(policy)
    told = show(tmp_path / "second.duckdb")
    assert told.content["together"]["added"] == [2.0, pytest.approx(shared, rel=1e-6)]
    assert any("the plan of May names both" in part.text for part in told.parts if isinstance(part, Line))
    assert verify(tmp_path / "second.duckdb").passed
    lines = [part.text for part in show_ledger(policy).parts if isinstance(part, Line)]
    assert any("was settled before any release was seen: the plan of May names both" in line for line in lines)
    assert any(line.startswith(f"all together: epsilon 2 and delta {shared:.3g}") for line in lines)
    # One more that may depend on them: then all count by what they declared.
    third = sampled_policy(tmp_path, numbers="epsilon = 0.5\nk = 9\nbeta = 0.05",
                           ledger=f"[ledger]\nbudget = {{ epsilon = 3, delta = {allowed!r} }}")  # fmt: skip
    with pytest.raises(ReleaseError, match=rf"would cost epsilon 2.5 and delta {sum(pairs):.2g}"[:-1]):
        publish(read_policy(third), tmp_path / "third.duckdb")
    assert len(entries()) == 2


@pytest.mark.slow
def test_nobody_says_so_afterwards(tmp_path: Path) -> None:
    """The same release again, with the words: its entry stays without them."""
    write_people(tmp_path, people(800))
    (tmp_path / "key").write_bytes(b"0123456789abcdef0123456789abcdef")
    ledger = "[ledger]\nbudget = { epsilon = 9, delta = 0.5 }"
    publish(read_policy(sampled_policy(tmp_path, ledger=ledger)))
    for words in ("", SETTLED):
        again = sampled_policy(tmp_path, words, numbers="epsilon = 1.0\nk = 5\nbeta = 0.1", ledger=ledger)
        publish(read_policy(again), tmp_path / "again.duckdb", key_file=tmp_path / "key")
    assert [entry.settled_beforehand for entry in entries()] == ["", ""]
    assert show(tmp_path / "again.duckdb").content["together"]["added"][1] == pytest.approx(
        sdgs_delta(5, 0.2, 1.0) + sdgs_delta(5, 0.1, 1.0)
    )
