"""What the choice of a search tells, against every world listed by hand and judged by the lecture's own rule."""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest
from support.policies import generalize, policy_text, qi, role, write_policy

import sqlpriv
from sqlpriv.attacking.minimality import ATTACK

pytestmark = [pytest.mark.slow, pytest.mark.one_version, pytest.mark.usefixtures("few_macros")]
COLUMNS = {"q": qi(), "s": role("sensitive")}


def attack(folder: Path, rows: list[tuple[str, str]], require: str, **given: Any) -> dict[str, Any]:
    listed = ", ".join(map(repr, rows))
    sql = f"CREATE TABLE people AS FROM (VALUES {listed}) AS v(q, s)"
    path = write_policy(folder, policy_text(COLUMNS, require), sql)
    output = generalize(path, ledger=folder / "ledger").output
    facts = sqlpriv.attack(output, policy=path, negations=0, implications=0, **given)
    found: list[dict[str, Any]] = [a for a in facts.content["attacks"] if a["attack"] == ATTACK]
    return found[0]


def values(found: dict[str, Any]) -> dict[str, float]:
    return {name: figure["value"] for name, figure in found["figures"].items()}


def test_worlds_in_which_less_would_do_are_ruled_out(tmp_path: Path) -> None:
    """q1 and q1 were not published apart from q2 and q2, so one of the two pairs has a value twice."""
    rows = [("1", "a"), ("1", "a"), ("2", "b"), ("2", "c")]
    found = values(attack(tmp_path, rows, "distinct_l = 2"))
    worlds = set(permutations([s for _, s in rows]))
    left = [w for w in worlds if min(len(set(w[:2])), len(set(w[2:]))) < 2]
    beliefs = [Fraction(sum(w[i] == v for w in left), len(left)) for i in range(4) for v in "abc"]
    assert (len(worlds), len(left)) == (12, 4)
    assert found["worlds"] == len(worlds)
    assert found["excluded_share"] == pytest.approx(1 - len(left) / len(worlds))
    assert found["surest_before"] == 0.5
    assert found["surest_after"] == pytest.approx(float(max(beliefs)))
    assert (found["certain_before"], found["certain_after"]) == (0, sum(b == 1 for b in beliefs))


def test_shares_are_judged_in_every_world(tmp_path: Path) -> None:
    rows = [("1", "a"), ("1", "a"), ("2", "a"), ("2", "b"), ("2", "b")]
    found = values(attack(tmp_path, rows, "alpha_k = 0.7"))
    worlds = set(permutations([s for _, s in rows]))
    left = [
        w for w in worlds
        if any(Fraction(part.count(v), len(part)) > Fraction(7, 10) for part in (w[:2], w[2:]) for v in "ab")
    ]  # fmt: skip
    beliefs = [Fraction(sum(w[i] == v for w in left), len(left)) for i in range(5) for v in "ab"]
    assert found["surest_after"] == pytest.approx(float(max(beliefs)))
    assert found["excluded_share"] == pytest.approx(1 - len(left) / len(worlds))


def test_a_choice_by_quasi_identifiers_tells_nothing(tmp_path: Path) -> None:
    found = attack(tmp_path, [("1", "a"), ("1", "a"), ("2", "b"), ("3", "c")], "k = 2")
    assert values(found) == {"excluded_share": 0}
    assert "tells nothing of sensitive values" in found["sentence"]


def test_many_worlds_are_sampled(tmp_path: Path) -> None:
    rows = [(str(i % 2), "abcde"[i % 5]) for i in range(10)] + [("3", "a"), ("3", "a")]
    found = attack(tmp_path, rows, "distinct_l = 2", worlds=6)
    assert found["case"] == "bounded"
    told = values(found)
    assert told["looked_at"] == 6
    assert told["worlds_log10"] > 5
    # The two are published with the others because they have one value, which is so in few worlds: most are ruled out.
    assert told["excluded_share"] <= told["excluded_share_bound"]
    assert told["surest_before"] < told["surest_after_bound"] <= 1


def test_what_was_not_searched_for_is_not_retraced(tmp_path: Path) -> None:
    text = policy_text(COLUMNS, "distinct_l = 2", "node = { q = 1 }")
    path = write_policy(tmp_path, text, "CREATE TABLE people AS FROM (VALUES ('1', 'a'), ('2', 'b')) AS v(q, s)")
    output = generalize(path, ledger=tmp_path / "ledger").output
    for given, why in ((path, "the owner named what to publish"), (None, "the owner named what to publish")):
        facts = sqlpriv.attack(output, policy=given)
        assert why in {n["attack"]: n["why"] for n in facts.content["not_run"]}[ATTACK]
