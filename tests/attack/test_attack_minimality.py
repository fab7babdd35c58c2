"""What the choice of a search tells, against every world listed by hand and judged by the lecture's own rule."""

from __future__ import annotations

import random
from fractions import Fraction
from itertools import permutations
from pathlib import Path
from typing import Any

import duckdb
import pytest
from support.policies import generalize, policy_text, qi, role, write_policy

import sqlpriv
from sqlpriv.attacks.minimality import ATTACK
from sqlpriv.methods.generalized.generalize.method import Generalize
from sqlpriv.methods.generalized.mondrian.method import METHOD as MONDRIAN
from sqlpriv.methods.method import Method
from sqlpriv.publishing import planned, publish, read_policy

pytestmark = [pytest.mark.slow, pytest.mark.one_version]
COLUMNS = {"q": qi(), "s": role("sensitive")}


def attack(
    folder: Path, rows: list[tuple[Any, str]], require: str, method: str = "generalize", **given: Any
) -> dict[str, Any]:
    listed = ", ".join(f"({'NULL' if q is None else repr(q)}, {s!r})" for q, s in rows)
    sql = f"CREATE TABLE people AS FROM (VALUES {listed}) AS v(q, s)"
    columns = COLUMNS if method == "generalize" else {**COLUMNS, "q": role("quasi-identifier")}
    path = write_policy(folder, policy_text(columns, require).replace('"generalize"', f'"{method}"'), sql)
    output = publish(path, ledger_file=folder / "ledger").written.output
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


def test_worlds_in_which_more_would_be_cut_are_ruled_out(tmp_path: Path) -> None:
    """Mondrian cuts between 2 and 3 where both sides have two values, and did not; 1 and 2 are never apart."""
    rows = [(1, "a"), (2, "a"), (3, "b"), (4, "c")]
    found = values(attack(tmp_path, rows, "distinct_l = 2", "mondrian"))
    worlds = set(permutations([s for _, s in rows]))
    left = [w for w in worlds if min(len(set(w[:2])), len(set(w[2:]))) < 2]
    beliefs = [Fraction(sum(w[i] == v for w in left), len(left)) for i in range(4) for v in "abc"]
    assert found["worlds"] == len(worlds)
    assert found["excluded_share"] == pytest.approx(1 - len(left) / len(worlds))
    assert (found["surest_before"], found["surest_after"]) == (0.5, pytest.approx(float(max(beliefs))))
    assert (found["certain_before"], found["certain_after"]) == (0, sum(b == 1 for b in beliefs))


def test_cuts_by_numbers_of_rows_do_not_look_at_values(tmp_path: Path) -> None:
    """What is claimed of k alone, seen: whoever has which value, the boxes are the same."""
    chosen = set()
    for seed in range(3):
        chance = random.Random(seed)
        folder = tmp_path / str(seed)
        folder.mkdir()
        rows = [(i * i % 23, chance.choice("abc")) for i in range(20)]
        assert values(attack(folder, rows, "k = 2", "mondrian")) == {"excluded_share": 0}
        with planned(read_policy(folder / "policy.toml")) as plan:
            chosen.add(repr(MONDRIAN.choice(plan)))
    assert len(chosen) == 1


def test_boxes_share_no_row(tmp_path: Path) -> None:
    """Values are dealt within boxes, so each row must be in one: a missing cell is on a side of its own."""
    rows = [(q, s) for q in (None, 1, 2, 3, 9) for s in "ab"]
    found = values(attack(tmp_path, rows, "distinct_l = 2", "mondrian", worlds=3))
    with duckdb.connect(str(tmp_path / "people-release.duckdb"), read_only=True) as con:
        boxes = con.execute("SELECT DISTINCT q FROM sqlpriv_release.published").fetchall()
    assert (None,) in boxes
    assert ("*",) not in boxes
    assert found["looked_at"] == 3


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
    assert "reveals nothing of sensitive values" in found["sentence"]


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


@pytest.mark.parametrize(
    ("require", "release"),
    [
        ("k = 2\ndistinct_l = 2", "suppression = 0.2"),
        ("alpha_k = 0.7", 'objective = "discernibility"'),
        ("k = 2\nt = 0.4", 'objective = "entropy"\nsuppression = 0.3'),
        ("distinct_l = 2", 'objective = "kl"\nsuppression = 0.1'),
    ],
)
def test_a_search_in_another_world_ends_as_a_whole_one_does(
    tmp_path: Path, require: str, release: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only nodes that may be better are looked at, and the answer is the one of the whole search."""
    chance = random.Random(7)
    rows = ", ".join(f"('{chance.randrange(4)}', '{chance.randrange(3)}', '{chance.choice('aab')}')" for _ in range(24))
    text = policy_text({"q": qi(), "r": qi(), "s": role("sensitive")}, require, release)
    path = write_policy(tmp_path, text, f"CREATE TABLE people AS FROM (VALUES {rows}) AS v(q, r, s)")
    output = publish(path, ledger_file=tmp_path / "ledger").written.output
    found = [sqlpriv.attack(output, policy=path, negations=0, implications=0, worlds=12).content["attacks"]]
    monkeypatch.setattr(Generalize, "may_choose_otherwise", Method.may_choose_otherwise)
    monkeypatch.setattr(Generalize, "chooses_alike", Method.chooses_alike)
    found.append(sqlpriv.attack(output, policy=path, negations=0, implications=0, worlds=12).content["attacks"])
    assert found[0] == found[1]
