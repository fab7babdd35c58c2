"""Releases that are differential privacy add up in the ledger, in two totals, within the budget of the policy."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import duckdb
import pytest
from support.ledgers import entries
from support.sampled import people, sampled_policy, write_people

from sqlpriv.core.errors import PolicyError, ReleaseError
from sqlpriv.core.facts import Grid, Line
from sqlpriv.macros.calls import Calls
from sqlpriv.policy.keys import Budget
from sqlpriv.publishing import dry_run, publish, read_policy, show, verify
from sqlpriv.release.ledger.entry import Entry, Spent, content_of, entry_of, spent_of, together
from sqlpriv.release.ledger.show import cost_lines, ledger_facts, show_ledger

NOISY = """
[table]
database = "private.duckdb"
source = "people"
[columns]
ssn = {{ role = "identifier" }}
age = {{ role = "drop" }}
sex = {{ role = "published", domain = ["F", "M"] }}
ill = {{ role = "sensitive", domain = ["flu", "cold", "mumps"] }}
[release]
method = "{method}"
output = "noisy.duckdb"
gamma = 0.8
uncovered = "for a test"
{release}
"""
ONE = Spent("row", (1.0, 1e-6), (2.0, 4e-6))


def noisy(folder: Path, budget: str, release: str = "n_public = 800", method: str = "noisy_counts") -> Path:
    path = folder / "noisy.toml"
    path.write_text(NOISY.format(release=release, method=method) + f"[ledger]\nbudget = {budget}\n", encoding="utf-8")
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_people(tmp_path, people(800))
    return tmp_path


def test_totals_add_up_each_by_itself() -> None:
    with duckdb.connect() as con:
        calls = Calls(con)
        noisy_like, frapp = Spent("row", (0.5, 0.0), (1.5, 0.0)), Spent("row", None, (3.0, 0.0))
        both = together(calls, [ONE, noisy_like])
        assert both is not None
        assert (both.added, both.replaced, both.releases) == ((1.5, 1e-6), (3.5, 4e-6), 2)
        three = together(calls, [ONE, noisy_like, frapp])
        assert three is not None
        assert (three.added, three.replaced) == (None, (6.5, 4e-6))
        assert together(calls, [ONE, None]) is None
        assert together(calls, [ONE, replace(noisy_like, unit="person")]) is None
        assert together(calls, [replace(ONE, replaced=None), frapp]) is None


@pytest.mark.parametrize("kept", [{}, {"unit": "row"}, {**ONE.to_json(), "added": [1.0]}, {**ONE.to_json(), "more": 1},
                                  {**ONE.to_json(), "added": [-1.0, 0.0]}, {**ONE.to_json(), "added": [math.nan, 0.0]},
                                  {**ONE.to_json(), "unit": "house"}, {**ONE.to_json(), "releases": 0}, [1],
                                  None])  # fmt: skip
def test_what_is_no_cost_is_none(kept: object) -> None:
    assert spent_of(kept) is None
    assert spent_of(ONE.to_json()) == ONE


def test_the_ledger_shows_what_each_release_costs_and_what_is_left(tmp_path: Path) -> None:
    of_rows = [Spent("row", (0.5, 1e-6), (1.0, 3e-6)), Spent("row", None, (2.0, 0.0))]
    one = Entry("2026-01-01", "people", "d", "c", "sdgs", {}, "coins", 1, 1, "out.duckdb")
    listed = [one, *(replace(one, spent=spent) for spent in of_rows)]
    costs = [part for part in ledger_facts(tmp_path / "ledger", listed).parts if isinstance(part, Grid)][1]
    assert costs.headings == ("entry", "of a", "epsilon", "delta", "epsilon, replaced", "delta, replaced")
    assert [row[1:] for row in costs.rows] == [("row", "0.5", "1e-06", "1", "3e-06"), ("row", None, None, "2", "0")]
    with duckdb.connect() as con:
        calls = Calls(con)
        told = [line.text for line in cost_lines(calls, listed[1:], Budget(3.5, 1e-5, "replaced"))]
        assert told == [
            "all together: epsilon 3 and delta 3e-06, a row replaced by another; the budget is epsilon 3.5 and delta "
            "1e-05, and left are epsilon 0.5 and delta 7e-06"
        ]
        told = [line.text for line in cost_lines(calls, listed[1:2], Budget(0.4, 1.0))]
        assert told[0].endswith("left are epsilon 0 and delta 1")
        assert len(told) == 2
        (none,) = cost_lines(calls, listed, None)
        assert none.text.startswith("no total: some of these releases are not differential privacy")
        assert list(cost_lines(calls, listed[:1], None)) == []


@pytest.mark.slow
def test_a_bag_and_a_sample_stand_together_within_a_budget_and_not_beyond(folder: Path) -> None:
    sampled = sampled_policy(folder, ledger="[ledger]\nbudget = { epsilon = 2, delta = 1e-1 }")
    publish(read_policy(sampled))
    first = show(folder / "out.duckdb")
    assert "together" not in first.content
    publish(read_policy(noisy(folder, "{ epsilon = 30, delta = 0.1 }")))
    kept = [e.spent for e in entries()]
    assert kept[0] is not None
    assert kept[1] is not None
    shown = show(folder / "noisy.duckdb").content["together"]
    assert shown["releases"] == 2
    for kind in ("added", "replaced"):
        one, two = kept[0].of(kind), kept[1].of(kind)
        assert one is not None
        assert two is not None
        assert shown[kind] == pytest.approx([one[0] + two[0], one[1] + two[1]])
    beliefs = shown["posteriors"][-1]
    odds = math.exp(shown["replaced"][0])
    assert beliefs["prior"] == 0.5
    assert beliefs["replaced"] == pytest.approx(min(odds / (1 + odds) + shown["replaced"][1], 1))
    assert verify(folder / "noisy.duckdb").passed
    told = [part.text for part in show_ledger(read_policy(sampled)).parts if isinstance(part, Line)]
    assert any(t.startswith("all together: epsilon") and "the budget is epsilon 2 and delta 0.1" in t for t in told)
    # A third one, for which there is no room.
    again = sampled_policy(folder, numbers="epsilon = 1.5\nk = 6\nbeta = 0.2",
                           ledger="[ledger]\nbudget = { epsilon = 2, delta = 0.1 }")  # fmt: skip
    with pytest.raises(ReleaseError, match=r"with the 2 before it this release of 'people' would cost epsilon \d.*the "
                       r"budget is epsilon 2 and delta 0.1"):  # fmt: skip
        publish(read_policy(again))
    assert len(entries()) == 2


@pytest.mark.slow
def test_without_a_budget_a_second_release_is_refused_and_the_budget_named(folder: Path) -> None:
    publish(read_policy(sampled_policy(folder)))
    with pytest.raises(ReleaseError, match=r"add up, to epsilon 2 and delta .*budget in \[ledger\]"):
        publish(read_policy(sampled_policy(folder, "n_public = 900")))


def test_the_first_release_keeps_to_the_budget_too(folder: Path) -> None:
    with pytest.raises(ReleaseError, match=r"would cost epsilon 1 and delta .*the budget is epsilon 0.9 and delta 0.5"):
        publish(read_policy(sampled_policy(folder, ledger="[ledger]\nbudget = { epsilon = 0.9, delta = 0.5 }")))
    refused = dry_run(read_policy(sampled_policy(folder, ledger="[ledger]\nbudget = { epsilon = 0.9, delta = 0.5 }")))
    assert not refused.passed
    with pytest.raises(ReleaseError, match="and the budget is epsilon 2 and delta 0"):
        publish(read_policy(sampled_policy(folder, ledger="[ledger]\nbudget = { epsilon = 2 }")))
    assert entries() == []


@pytest.mark.slow
def test_frapp_has_no_epsilon_of_rows_added(folder: Path) -> None:
    with pytest.raises(ReleaseError, match="the budget is of neighbours = 'add-remove', and one of the releases"):
        publish(read_policy(noisy(folder, "{ epsilon = 90 }", "", "frapp")))
    publish(read_policy(noisy(folder, '{ epsilon = 90, neighbours = "replace-one" }', "", "frapp")))


@pytest.mark.slow
def test_a_generalized_release_does_not_add_up(folder: Path) -> None:
    publish(read_policy(sampled_policy(folder)))
    text = sampled_policy(folder).read_text(encoding="utf-8")
    text = text.replace('method = "sdgs"', 'method = "generalize"\naccept = "a test"')
    text = text.replace("[release]", "[require]\nk = 2\n[release]")
    text = text.partition("epsilon =")[0] + "[ledger]\nbudget = { epsilon = 99, delta = 0.9 }\n"
    (folder / "g.toml").write_text(text, encoding="utf-8")
    with pytest.raises(ReleaseError, match="A second release made independently would expose people"):
        publish(read_policy(folder / "g.toml"), folder / "g.duckdb")


def test_entries_of_before_say_nothing_of_costs_and_are_still_read() -> None:
    entry = Entry("2026-01-01", "people", "d", "c", "sdgs", {}, "coins", 1, 1, "out.duckdb", spent=ONE)
    assert entry_of(content_of(entry)) == entry
    old = {k: v for k, v in content_of(entry).items() if k != "spent"}
    assert entry_of(old).spent is None
    with pytest.raises(TypeError):
        entry_of({**old, "spent": {"epsilon": 1}})


@pytest.mark.parametrize("budget", ["3", "{}", "{ delta = 0.1 }", "{ epsilon = 0 }", "{ epsilon = 1, delta = 2 }",
                                    '{ epsilon = 1, neighbours = "next" }', "{ epsilon = 1, more = 2 }"])  # fmt: skip
def test_a_budget_that_is_none_is_refused(folder: Path, budget: str) -> None:
    with pytest.raises(PolicyError, match=r"budget must be as in \{ epsilon = 3, delta = 1e-5 \}"):
        read_policy(sampled_policy(folder, ledger=f"[ledger]\nbudget = {budget}"))


def test_an_empty_ledger_section_is_refused(folder: Path) -> None:
    with pytest.raises(PolicyError, match=r"\[ledger\] says nothing"):
        read_policy(sampled_policy(folder, ledger="[ledger]"))
