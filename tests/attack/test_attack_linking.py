"""Linking with a dictionary, the linking attacker on coins, two releases intersected: each against a plain count."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import strategies
from support.bucket_policies import QI, SENSITIVE, publish_apart
from support.policies import generalize, policy_text, qi, role, write_policy
from support.randomized_policies import publish_with, write_noise_policy

import sqlpriv
from sqlpriv.attacks.matches import match_people
from sqlpriv.core.errors import InputError
from sqlpriv.core.facts import Facts
from sqlpriv.core.relation import Scratch
from sqlpriv.methods.records import Cell, Records
from sqlpriv.publishing import publish

pytestmark = pytest.mark.one_version
Row = tuple[Any, ...]
COLUMNS = {"name": role("identifier"), "zip": qi("mask:2"), "age": qi("ranges:2,4"), "ill": role("sensitive")}


def figures(facts: Facts, attack: str, side: str = "value") -> dict[str, Any]:
    (found,) = [a for a in facts.content["attacks"] if a["attack"] == attack]
    return {name: figure[side] for name, figure in found["figures"].items()}


def people(seed: int, rows: int) -> list[Row]:
    """Name, zip, age, ill; some cells are missing."""
    chance = random.Random(seed)
    return [
        (f"n{i}", chance.choice(["11", "12", "21", "2", None]), chance.choice([0, 1, 2, 5, None]), chance.choice("abc"))
        for i in range(rows)
    ]


def create(rows: Sequence[Row]) -> str:
    listed = ", ".join(f"({', '.join('NULL' if v is None else repr(v) for v in row)})" for row in rows)
    return f"CREATE TABLE people AS FROM (VALUES {listed}) AS v(name, zip, age, ill)"


def arrow(names: Sequence[str], rows: Sequence[Row]) -> pa.Table:
    return pa.table({name: [row[i] for row in rows] for i, name in enumerate(names)})


# -------------------- which values a label may be, and who agrees with it


@settings(max_examples=max(strategies.EXAMPLES // 10, 4))
@given(
    records=st.lists(st.tuples(st.sampled_from(["1", "2", "*", None]), st.sampled_from("xy")), min_size=1, max_size=5),
    entries=st.lists(
        st.tuples(st.sampled_from(["1", "2", None]), st.sampled_from(["x", "y", None])), min_size=1, max_size=5
    ),
    open_nulls=st.booleans(),
)
def test_who_agrees_with_which_record(records: list[Row], entries: list[Row], open_nulls: bool) -> None:
    def agree(label: str | None, value: str | None) -> bool:
        return label in (value, "*") or (open_nulls and (label is None or value is None))

    with duckdb.connect() as con:
        for table, rows in (("r", records), ("e", entries)):
            strategies.create_table(con, table, {"a": "VARCHAR", "b": "VARCHAR"}, [list(row) for row in rows])
        cells = tuple(Cell(c, "VARCHAR", lambda values: f"SELECT value AS label, value FROM {values}") for c in "ab")
        reach = match_people(Scratch(con), Records("r", cells), "e", open_nulls=open_nulls)
        found = con.execute(
            f"SELECT r.l0, r.l1, p.v0, p.v1 FROM {reach.pairs} JOIN {reach.records} AS r ON r.id = record "
            f"JOIN {reach.people} AS p ON p.id = person"
        ).fetchall()
    wanted = {(*r, *e) for r in records for e in entries if all(map(agree, r, e))}
    assert (set(found), len(found)) == (wanted, len(wanted))


# -------------------- a dictionary


def labels(node: dict[str, int], row: Row) -> tuple[str | None, ...]:
    """A row as the release shows it."""
    zip_, age = row[1], row[2]
    shown_zip = zip_ if zip_ is None or node["zip"] == 0 else zip_[0] + "*" if node["zip"] == 1 else "*"
    wide = {0: 1, 1: 2, 2: 4}.get(node["age"])
    shown_age = "*" if wide is None else None if age is None else str(age // wide)
    return ("*" if node["zip"] == 2 else shown_zip, shown_age)


def consistent(node: dict[str, int], own: Row, entry: Row) -> bool:
    """Whether an entry agrees with the record of a row: what is missing on either side agrees with everything."""
    mine, theirs = labels(node, own), labels(node, entry)
    return all(a in ("*", None) or b in ("*", None) or a == b for a, b in zip(mine, theirs, strict=True))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_a_dictionary_finds_as_many_as_can_be_counted(tmp_path: Path, seed: int) -> None:
    rows = people(seed, 14)
    chance = random.Random(seed)
    listed = [*chance.sample(rows, 9), ("stranger", "11", 1, "a"), ("stranger", "21", None, "a")]
    path = write_policy(tmp_path, policy_text(COLUMNS, "k = 2", "suppression = 0.2"), create(rows))
    done = generalize(path, ledger=tmp_path / "ledger")
    book = arrow(("name", "zip", "age"), [(n, z, None if a is None else str(a)) for n, z, a, _ in listed])
    facts = sqlpriv.attack(done.output, policy=path, dictionary=book, truth="name", implications=0)
    alone = figures(sqlpriv.attack(done.output, dictionary=book, implications=0), "linking with a dictionary")
    assert alone.items() <= figures(facts, "linking with a dictionary").items()  # masks and ranges read themselves
    for side, node in (("value", done.node), ("raw", {"zip": 0, "age": 0})):
        classes = Counter(labels(node, row) for row in rows)
        kept = [row for row in rows if side == "raw" or classes[labels(node, row)] >= 2]
        rho = {row[0]: [e for e in listed if consistent(node, row, e)] for row in kept}
        right = {row[0]: sum(e[0] == row[0] for e in rho[row[0]]) for row in kept}
        found = figures(facts, "linking with a dictionary", side)
        assert found["records"] == len(kept)
        assert found["expected"] == pytest.approx(float(sum(Fraction(1, len(r)) for r in rho.values() if r)))
        assert found["alone"] == sum(len(r) == 1 for r in rho.values())
        assert found["in_no_entry"] == sum(not r for r in rho.values())
        assert found["listed"] == 9
        assert found["right"] == pytest.approx(float(sum(Fraction(right[n], len(r)) for n, r in rho.items() if r)))
        assert found["alone_right"] == sum(len(r) == 1 and right[n] for n, r in rho.items())


@pytest.mark.slow
def test_more_is_found_with_the_private_table(tmp_path: Path) -> None:
    rows = [row for row in people(5, 40) if None not in row]
    path = write_policy(tmp_path, policy_text(COLUMNS, "k = 3", "suppression = 0.2"), create(rows))
    done = generalize(path, ledger=tmp_path / "ledger")
    book = arrow(("name", "zip", "age"), [row[:3] for row in rows])
    facts = sqlpriv.attack(done.output, policy=path, dictionary=book, truth="name")
    for found in facts.content["attacks"]:
        for name, figure in found["figures"].items():
            if figure["raw"] is not None and name not in {"smallest", "in_no_entry"}:
                assert figure["value"] <= figure["raw"] + 1e-9, (found["attack"], name)


# -------------------- coins


def test_the_linking_attacker_is_counted(tmp_path: Path) -> None:
    chance = random.Random(3)
    rows = [(chance.randint(0, 3), chance.choice("xy"), chance.choice("abcd")) for _ in range(60)]
    columns = {
        "age": '{ role = "quasi-identifier", domain = "range:0..3" }',
        "sex": '{ role = "quasi-identifier", domain = ["x", "y"] }',
        "ill": '{ role = "sensitive", domain = ["a", "b", "c", "d"] }',
    }
    listed = ", ".join(map(repr, rows))
    sql = f"CREATE TABLE people AS FROM (VALUES {listed}) AS v(age, sex, ill)"
    policy = write_noise_policy(tmp_path, columns, 'method = "noisy_counts"\ngamma = 0.6', sql)
    output = publish_with(policy).written.output
    facts = sqlpriv.attack(output, policy=policy)
    with duckdb.connect(str(output), read_only=True) as con:
        shown = con.execute("SELECT age, sex, ill, __weight FROM sqlpriv_release.published").fetchall()
    bound = max(a["posterior"] for a in sqlpriv.show(output).content["attackers"] if a["knows"] == "all but ill")
    agree, right, best = 0, Fraction(), Fraction()
    for age, sex, ill in rows:
        scores: Counter[str] = Counter()
        for row in shown:
            if row[:2] == (age, sex):
                scores[row[2]] += row[3]
        guesses = [v for v, score in scores.items() if score == max(scores.values()) and score > 0]
        agree += bool(guesses)
        right += Fraction(guesses.count(ill), len(guesses)) if guesses else 0
        there = Counter(s for a, b, s in rows if (a, b) == (age, sex))
        best += Fraction(there[ill] == max(there.values()), list(there.values()).count(max(there.values())))
    found, raw = (figures(facts, "linking attacker", side) for side in ("value", "raw"))
    assert (found["agree"], found["right"]) == (agree, pytest.approx(float(right)))
    assert raw["right"] == pytest.approx(float(best))
    assert raw["right"] >= found["right"]
    assert found["blind"] == max(Counter(s for _, _, s in rows).values())
    assert found["after"] == bound
    assert facts.content["not_run"][0]["attack"] == "homogeneity"


@pytest.mark.slow
def test_a_sample_in_groups_is_guessed_from_its_own_group(tmp_path: Path) -> None:
    """Of the group in which the wanted column stands; what is published apart from it tells nothing of it."""
    columns = {
        "age": '{ role = "quasi-identifier", hierarchy = "suppression" }',
        "sex": '{ role = "quasi-identifier", hierarchy = "suppression" }',
        "ill": '{ role = "sensitive", domain = ["a", "b", "c", "d"] }',
    }
    numbers = 'epsilon = 2\nbeta = 0.2\nk = 20\nnode = { age = 0, sex = 0 }\nnode_is_public = "a test"\n'
    groups = 'groups = [["age"], ["sex", "ill"]]'
    listed = "\n".join(f"{name} = {given}" for name, given in columns.items())
    text = (
        f'[table]\ndatabase = "private.duckdb"\nsource = "people"\n[columns]\n{listed}\n[release]\nmethod = "sdgs"\n'
        f'{numbers}{groups}\noutput = "r.duckdb"\n'
    )
    sql = """CREATE TABLE people AS SELECT i % 3 AS age, ['x', 'y'][1 + i % 2] AS sex,
        substr('abcdaabb', 1 + CAST(i * 7 % 8 AS INTEGER), 1) AS ill FROM range(2000) AS r(i)"""
    path = write_policy(tmp_path, text, sql)
    (tmp_path / "key").write_bytes(b"a secret of my own, long enough")
    output = publish(path, key_file=tmp_path / "key", ledger_file=tmp_path / "ledger").written.output
    found = figures(sqlpriv.attack(output, policy=path), "linking attacker")
    with duckdb.connect(str(output), read_only=True) as con:
        shown = con.execute("SELECT sex, ill FROM sqlpriv_release.group_2").fetchall()
    with duckdb.connect(str(tmp_path / "private.duckdb"), read_only=True) as con:
        rows = con.execute("SELECT sex, ill FROM people").fetchall()
    counts = {sex: Counter(ill for s, ill in shown if s == sex) for sex in "xy"}
    best = {sex: [v for v, n in c.items() if n == max(c.values())] for sex, c in counts.items() if c}
    assert found["agree"] == sum(sex in best for sex, _ in rows) > 0
    right = sum(Fraction(best[sex].count(ill), len(best[sex])) for sex, ill in rows if sex in best)
    assert found["right"] == pytest.approx(float(right))
    assert 0.25 < found["before"] < found["after"] <= 1


# -------------------- two releases


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_two_releases_are_intersected(tmp_path: Path, seed: int) -> None:
    rows = people(seed + 10, 24)
    outputs, nodes, policies = [], [], []
    for number, (zip_, age) in enumerate((("0", "2"), ("1", "1"))):
        folder = tmp_path / str(number)
        folder.mkdir()
        text = policy_text(COLUMNS, "k = 1", f"node = {{ zip = {zip_}, age = {age} }}")
        policies.append(write_policy(folder, text, create(rows)))
        outputs.append(generalize(policies[-1], ledger=folder / "ledger").output)
        nodes.append({"zip": int(zip_), "age": int(age)})
    facts = sqlpriv.attack(outputs[0], outputs[1], policy=policies[0], implications=0)
    possible = [[{o[3] for o in rows if labels(n, o) == labels(n, row)} for row in rows] for n in nodes]
    both = [first & second for first, second in zip(*possible, strict=True)]
    sets = Counter(tuple(labels(n, row) for n in nodes) for row in rows)
    found = figures(facts, "intersection of two releases")
    assert found["first_certain"] == sum(len(p) == 1 for p in possible[0])
    assert found["second_certain"] == sum(len(p) == 1 for p in possible[1])
    assert found["both_certain"] == sum(len(p) == 1 for p in both)
    assert found["both_smallest"] == min(sets.values())
    assert found["both_alone"] == sum(n == 1 for n in sets.values())
    assert found["both_certain"] <= figures(facts, "intersection of two releases", "raw")["both_certain"]


@pytest.mark.slow
def test_a_release_in_buckets_is_intersected(tmp_path: Path) -> None:
    """Anatomy shows quasi-identifiers as they are: a person may be in each bucket that has somebody like them."""
    rows = [(f"n{i}", "abc"[i % 3], i // 4, "wxyz"[i * 7 % 4]) for i in range(12)]
    columns = {"name": role("identifier"), "zip": QI, "age": QI, "ill": SENSITIVE}
    sql = create(rows)
    done = publish_apart(tmp_path / "a", columns, sql, "distinct_l = 2")
    folder = tmp_path / "b"
    folder.mkdir()
    coarse = write_policy(folder, policy_text({**COLUMNS, "zip": qi()}, "k = 1", "node = { zip = 1, age = 1 }"), sql)
    output = generalize(coarse, ledger=folder / "ledger").output
    facts = sqlpriv.attack(output, done.written.output, policy=coarse)
    with duckdb.connect(str(done.written.output), read_only=True) as con:
        shown = con.execute("FROM sqlpriv_release.published").fetchall()
        values = con.execute("FROM sqlpriv_release.side_2").fetchall()
    certain = 0
    for _, zip_, age, _ in rows:
        buckets = {row[0] for row in shown if row[1:] == (zip_, age)}
        mine = {v for b, v in values if b in buckets}
        certain += len(mine & {o[3] for o in rows if o[2] // 2 == age // 2}) == 1
    assert figures(facts, "intersection of two releases")["both_certain"] == certain


@pytest.mark.slow
def test_releases_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    outputs, policies = [], []
    for number, hierarchy in enumerate(("mask:2", "suppression")):
        folder = tmp_path / str(number)
        folder.mkdir()
        text = policy_text({**COLUMNS, "zip": qi(hierarchy)}, "k = 1", "node = { zip = 1, age = 1 }")
        sql = create(people(1, 9))
        policies.append(write_policy(folder, text, f"{sql}; CREATE TABLE animals AS FROM people"))
        outputs.append(generalize(policies[-1], ledger=folder / "ledger").output)
    other = policies[0].with_name("other.toml")
    other.write_text(policies[0].read_text().replace('source = "people"', 'source = "animals"'))
    with pytest.raises(InputError, match="the same release"):
        sqlpriv.attack(outputs[0], outputs[0], policy=policies[0])
    with pytest.raises(InputError, match="release of 'people', and the table of the policy is 'animals'"):
        sqlpriv.attack(outputs[0], policy=other)


# -------------------- the same people under another name


def visits(seed: int, rows: int) -> str:
    """Rows nearly all of which are distinct, by columns that strangers have, too."""
    made = ", ".join(f"hash(i, {seed}, {c}) % {n} AS {name}" for c, (name, n) in enumerate(VISITS.items()))
    return (
        f"SELECT i AS name, {made}, chr(97 + CAST(hash(i, {seed}, 9) % 3 AS INTEGER)) AS ill FROM range({rows}) AS r(i)"
    )


VISITS = {"zip": 40, "age": 60, "day": 90}


def published(folder: Path, table: str, sql: str, known: Sequence[str]) -> tuple[Path, Path]:
    """A release of a table that nothing connects with others but what is in it; and its policy."""
    folder.mkdir()
    columns = {"name": role("identifier"), "ill": role("sensitive"), **{c: qi("ranges:10,30") for c in known}}
    text = policy_text(columns, "k = 1", f"node = {{ {', '.join(f'{c} = 1' for c in known)} }}")
    policy = write_policy(folder, text.replace('"people"', f'"{table}"'), f"CREATE TABLE {table} AS {sql}")
    return generalize(policy, ledger=folder / "ledger").output, policy


@pytest.mark.slow
def test_two_releases_are_of_the_same_people_by_what_is_in_them(tmp_path: Path) -> None:
    everybody, first = published(tmp_path / "a", "people", visits(1, 600), ["zip", "age", "day"])
    part = f"SELECT * EXCLUDE (day) FROM ({visits(1, 600)}) ORDER BY hash(name) LIMIT 500"
    fewer, second = published(tmp_path / "b", "animals", part, ["zip", "age"])
    facts = sqlpriv.attack(everybody, fewer, policy=first, second_policy=second)
    assert figures(facts, "intersection of two releases")["people"] == 600
    strangers, third = published(
        tmp_path / "c", "people", f"SELECT * EXCLUDE (day) FROM ({visits(2, 600)})", ["zip", "age"]
    )
    facts = sqlpriv.attack(everybody, strangers, policy=first, second_policy=third)
    (why,) = [n["why"] for n in facts.content["not_run"] if n["attack"] == "intersection of two releases"]
    assert "by their content the two tables are about different people" in why
    facts = sqlpriv.attack(everybody, fewer, policy=first)
    (why,) = [n["why"] for n in facts.content["not_run"] if n["attack"] == "intersection of two releases"]
    assert "the releases are of 'people' and 'animals': name the policy" in why


@pytest.mark.slow
def test_labels_of_other_hierarchies_are_not_read_wrongly(tmp_path: Path) -> None:
    outputs, policies = [], []
    for number, hierarchy in enumerate(("mask:2", '["left(zip, 1)"]')):
        folder = tmp_path / str(number)
        folder.mkdir()
        text = policy_text({**COLUMNS, "zip": qi(hierarchy)}, "k = 1", "node = { zip = 1, age = 1 }")
        text = text.replace('["left(zip, 1)"]', "['left(zip, 1)']")
        rows = [row for row in people(1, 20) if row[1] is not None]
        policies.append(write_policy(folder, text, create(rows)))
        outputs.append(generalize(policies[-1], ledger=folder / "ledger").output)
    with pytest.raises(InputError, match=r"are in no class of people-release.duckdb: .*--second-policy"):
        sqlpriv.attack(*outputs, policy=policies[0])
    assert sqlpriv.attack(*outputs, policy=policies[0], second_policy=policies[1]).content["attacks"]
