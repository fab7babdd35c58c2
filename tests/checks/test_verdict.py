"""May it go out? What speaks against a table is found, and plan, publish and attack give the same verdict."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pytest
from support.policies import write_policy

from sqlpriv import publishing
from sqlpriv.apps.python import attack, check
from sqlpriv.checks.verdict import NO, ONLY_IF, RULES, YES, Evidence, judge
from sqlpriv.core.errors import PolicyError

pytestmark = pytest.mark.one_version

QI = '{ role = "quasi-identifier", hierarchy = "suppression" }'
SENSITIVE, OTHER, DROP = (f'{{ role = "{name}" }}' for name in ("sensitive", "other", "drop"))
# 48 people in 4 classes by age and sex, each with 4 illnesses alike; visit is unique, pid is one of two rows each.
PEOPLE = """CREATE TABLE people AS SELECT i AS visit, 'P' || (i // 2) AS pid, 20 + (i % 2) AS age, ['F', 'M'][1 + i //
  24] AS sex, 'ill ' || ((i // 2) % 4) AS ill, 0.123456 * i AS blood, i % 3 AS ward FROM range(48) AS r(i)"""
COLUMNS = {"visit": DROP, "pid": DROP, "age": QI, "sex": QI, "ill": SENSITIVE, "blood": DROP, "ward": DROP}
SAFE = "k = 5\ndistinct_l = { ill = 3 }"
NOISE = {
    "age": '{ role = "quasi-identifier", domain = [20, 21] }',
    "sex": '{ role = "quasi-identifier", domain = ["F", "M"] }',
    "ill": '{ role = "sensitive", domain = ["ill 0", "ill 1", "ill 2", "ill 3"] }',
}


def policy_of(folder: Path, release: str, require: str = SAFE, **columns: str) -> Path:
    listed = "\n".join(f"{name} = {given}" for name, given in {**COLUMNS, **columns}.items())
    required = f"[require]\n{require}\n" if require else ""
    text = f'[table]\ndatabase = "private.duckdb"\nsource = "people"\n[columns]\n{listed}\n{required}'
    return write_policy(
        folder, f'{text}[ledger]\npath = "ledger"\n[release]\noutput = "out.duckdb"\n{release}\n', PEOPLE
    )


def flat(columns: str) -> str:
    """Columns of a policy without hierarchies."""
    return columns.replace(', hierarchy = "suppression"', "")


APART = {"age": flat(QI), "sex": flat(QI)}
CASES: dict[str, tuple[str, str, dict[str, str], str, str]] = {
    # by name: [release], [require], columns, the word, and a word of the reason or the attacker
    "safe": ('method = "generalize"', SAFE, {}, YES, "no guess is surer than 0.25"),
    "mondrian": ('method = "mondrian"', SAFE, {}, YES, "finds 12 rows or more"),
    "one class": ('method = "generalize"', "k = 48", {}, ONLY_IF, "nothing is required of it"),
    "no sensitive column": ('method = "generalize"', "k = 5", {"ill": DROP}, ONLY_IF, "no column is declared"),
    "k = 1": ('method = "generalize"', "k = 1\ndistinct_l = { ill = 1 }", {"blood": QI}, NO, "belong to one row alone"),
    "other columns are known": ('method = "generalize"', SAFE, {"pid": OTHER}, NO, "can be read off"),
    "numbers of many digits": ('method = "generalize"', SAFE, {"blood": OTHER}, NO, "100% of the values of blood"),
    "unless somebody says why not": (
        'method = "generalize"\nothers_unknown = "nobody counts visits"', SAFE, {"ward": OTHER}, ONLY_IF,
        '"nobody counts visits"',
    ),
    "repeated identifiers": (
        'method = "generalize"', SAFE, {"pid": '{ role = "identifier" }'}, ONLY_IF, "48 rows share pid",
    ),
    "exact sensitive values": (
        'method = "generalize"', "k = 5", {"ill": DROP, "blood": SENSITIVE}, ONLY_IF, "somebody's exact blood",
    ),
    "slicing that requires nothing": (
        'method = "slicing"\ngroups = [["age", "sex"], ["ill"]]', "", APART, NO, "nothing is required of ill",
    ),
    "slicing": (
        'method = "slicing"\ngroups = [["age", "sex"], ["ill"]]\nbucket = 4', "distinct_l = { ill = 3 }", APART,
        ONLY_IF, "learns nothing about one bucket",
    ),
    "anatomy": ('method = "anatomy"', "distinct_l = { ill = 3 }", APART, ONLY_IF, "learns nothing about one group"),
    "noise": ('method = "noisy_counts"\ngamma = 0.9\nn_public = 50', "", NOISE, YES, "a belief of"),
    "occurring values": (
        'method = "alpha_beta"\ngamma = 0.9\nduplicates = "distinct"', "",
        {**NOISE, "sex": NOISE["sex"].replace('["F", "M"]', '"active"')}, NO, "the domain of sex is read off the table",
    ),
    "sdgs": (
        'method = "sdgs"\nepsilon = 1\nk = 5\nbeta = 0.2\nnode = { age = 1, sex = 0 }', "", {}, ONLY_IF,
        "chosen without looking",
    ),
    "disclose": (
        'method = "disclose"\ngoal = "risk"\nc = 1', "", {}, ONLY_IF, "no other list of people",
    ),
}  # fmt: skip


@pytest.mark.some(6)
@pytest.mark.parametrize("name", [pytest.param(n, marks=[pytest.mark.slow] if n == "disclose" else []) for n in CASES])
def test_plan_publish_and_attack_give_the_same_verdict(name: str, tmp_path: Path) -> None:
    release, require, columns, word, reason = CASES[name]
    path = policy_of(tmp_path, release, require, **columns)
    planned = publishing.plan(path).content["verdict"]
    assert set(planned) == {"word", "because", "against"}
    assert planned["word"] == word
    assert any(reason in text for text in [*planned["because"], *planned["against"]])
    if word == NO:
        refuse_unless_accepted(path, reason)
        return
    done = publishing.publish(path, force=True)
    assert done.facts.content["verdict"] == planned
    assert "May it go out?" in str(done.facts)
    if name in {"unless somebody says why not", "noise"}:
        found = attack(tmp_path / "out.duckdb", policy=publishing.read_policy(path), worlds=1).content["verdict"]
        assert found == planned


def refuse_unless_accepted(path: Path, reason: str) -> None:
    """What may not go out is published only where the owner says why, and the release carries that."""
    policy = publishing.read_policy(path)
    planned = publishing.dry_run(policy)
    assert not planned.passed
    assert any("So it is not published" in why for why in planned.content["refused"])
    with pytest.raises(PolicyError, match="So it is not published"):
        publishing.publish(path, force=True)
    assert not (path.parent / "out.duckdb").exists()
    assert not (path.parent / "ledger").exists()
    path.write_text(path.read_text(encoding="utf-8") + 'accept = "only made-up people"\n', encoding="utf-8")
    done = publishing.publish(path, force=True)
    assert done.facts.content["verdict"]["word"] == NO
    assert done.facts.content["accept"] == "only made-up people"
    assert any(reason in text for text in done.facts.content["verdict"]["because"])
    assert publishing.show(path.parent / "out.duckdb").content["accept"] == "only made-up people"
    assert publishing.verify(path.parent / "out.duckdb", path).passed


def test_a_table_as_it_is_is_judged_with_all_its_columns() -> None:
    con = duckdb.connect()
    con.execute(PEOPLE).fetchall()

    def verdict(columns: str) -> dict[str, Any]:
        rows = con.sql(f"SELECT {columns} FROM people")
        found: dict[str, Any] = check(rows, ["age", "sex"], ["ill"]).content["verdict"]
        return found

    assert verdict("age, sex, ill")["word"] == YES
    with_names = verdict("age, sex, ill, visit")
    assert with_names["word"] == NO
    assert "belong to one row alone" in with_names["because"][0]
    assert verdict("age, sex, ill, pid")["word"] == NO


def test_the_strongest_word_wins_and_every_rule_can_be_said() -> None:
    assert judge([]).word == ONLY_IF
    for rule in RULES.values():
        value = rule.threshold + {">": 1, "<": -1}.get(rule.condition, 0)
        found = judge([Evidence(rule.name, value, "age", "why"), Evidence("linking", 5, "age")])
        assert found.word == rule.word
        assert bool(found.because) == (rule.word != YES)
        assert found.sentence
        assert "{" not in " ".join([*found.because, *found.against])
        # One step off its threshold, and it says nothing.
        if rule.condition:
            beyond = rule.threshold + (1 if rule.condition in {"<", "<="} else -1)
            assert judge([Evidence(rule.name, beyond)]) == judge([])
