"""A release by sampled k-anonymity: what is written, what is refused, and that a tampered copy does not hold."""

from __future__ import annotations

import json
import math
from contextlib import suppress
from pathlib import Path
from shutil import copyfile

import duckdb
import pytest
from support.commands import run
from support.sampled import COLUMNS, people, plan_of, sampled_policy, write_people
from support.titles import OF_POLICY

import sqlpriv
from sqlpriv.core.errors import PolicyError, ReleaseError, SqlprivError
from sqlpriv.core.facts import shown_number
from sqlpriv.publishing import open_release, plan, publish, read_policy, show, verify

OUT = "sqlpriv_release"
NODES = "nodes = [{ age = 1, sex = 0 }, { age = 2, sex = 1 }]\nnode_epsilon = 0.25"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a private table, its policy, a key and its release."""
    made = tmp_path_factory.mktemp("sampled")
    write_people(made, people(900))
    (made / "key").write_bytes(b"a key for tests, long enough")
    publish(read_policy(sampled_policy(made, "n_public = 1000")), key_file=made / "key", ledger_file=made / "ledger")
    return made


@pytest.fixture
def copy(folder: Path, tmp_path: Path) -> Path:
    return Path(copyfile(folder / "out.duckdb", tmp_path / "copy.duckdb"))


def failing(file: Path, policy: Path | None = None) -> list[str]:
    return [str(c["check"]) for c in verify(file, policy).content["checks"] if c["passed"] is False]


def test_it_holds_what_it_says_and_follows_its_policy(folder: Path) -> None:
    assert failing(folder / "out.duckdb", folder / "policy.toml") == []
    shown = show(folder / "out.duckdb").content
    assert shown["parameters"]["exposed"] == pytest.approx(min(shown["parameters"]["total_delta"] * 1000, 1))
    assert len(shown["smooth"]) == 5
    with duckdb.connect(str(folder / "out.duckdb"), read_only=True) as con:
        fewest = con.execute("SELECT min(n) FROM (SELECT count(*) AS n FROM people GROUP BY ALL)").fetchall()
    assert fewest[0][0] >= 5


def test_attackers_are_bounded_but_for_delta(folder: Path) -> None:
    """It is (epsilon, delta): a bound on beliefs that is told without the second number holds for nobody."""
    (found,) = [
        a for a in sqlpriv.attack(folder / "out.duckdb").content["attacks"] if a["attack"] == "linking attacker"
    ]
    delta = found["figures"]["delta"]["value"]
    assert delta == pytest.approx(stated_replaced_delta(folder / "out.duckdb"))
    assert f"at most, from 0.5 before, but for a chance of {shown_number(delta)} (delta)" in found["sentence"]


def stated_replaced_delta(file: Path) -> float:
    """(1 + e^epsilon) delta: a row that is replaced is one that is left out and one that is added."""
    numbers = show(file).content["parameters"]
    return float((1 + math.exp(numbers["epsilon"])) * numbers["delta"])


def test_the_same_key_gives_the_release_that_is_there(folder: Path) -> None:
    again = publish(read_policy(folder / "policy.toml"), key_file=folder / "key", ledger_file=folder / "ledger")
    assert again.written.again
    assert again.facts.content["node"] == {"age": 2, "sex": 0}
    assert again.facts.content["suppressed_rows"] is None


def test_what_publish_prints(tmp_path: Path) -> None:
    write_people(tmp_path, people(900))
    content = publish(read_policy(sampled_policy(tmp_path))).facts.content
    for name in ("method", "rows", "suppressed_rows", "classes", "loss", "guarantee", "output", "posterior"):
        assert name in content
    assert content["method"] == "sdgs"
    assert content["rows"] == 900
    assert content["sampled_rows"] == content["published_rows"] + content["suppressed_rows"]
    assert set(content["guarantee"]) == {"epsilon", "delta", "k", "beta"}
    # Two times the odds of a guess between three, changed by e^2 at most, and delta.
    prior = 0.5
    odds = prior / (1 - prior) * 7.38905609893065
    assert content["posterior"] == pytest.approx(odds / (1 + odds) + content["replaced"]["delta"])
    json.dumps(content)


@pytest.mark.slow
@pytest.mark.some(4)
@pytest.mark.parametrize(
    "change",
    [
        f"DELETE FROM {OUT}.published WHERE rowid = 0",
        f"INSERT INTO {OUT}.published FROM {OUT}.published LIMIT 1",
        f"UPDATE {OUT}.parameters SET value = 0.5 WHERE name = 'epsilon'",
        f"UPDATE {OUT}.parameters SET value = value / 10 WHERE name IN ('delta', 'total_delta')",
        f"UPDATE {OUT}.parameters SET value = 4 WHERE name = 'k'",
        f"UPDATE {OUT}.parameters SET value = 0.1 WHERE name = 'beta'",
        f"UPDATE {OUT}.parameters SET value = 0.7 WHERE name = 'total_epsilon'",
        f"UPDATE {OUT}.parameters SET value = 3 WHERE name = 'rows_each'",
        f"UPDATE {OUT}.parameters SET value = value / 2 WHERE name = 'exposed'",
        f"UPDATE {OUT}.parameters SET value = NULL WHERE name = 'k'",
        f"INSERT INTO {OUT}.parameters VALUES ('rows', 900)",
        f"UPDATE {OUT}.smooth SET delta = delta / 2",
        f"DELETE FROM {OUT}.smooth WHERE epsilon > 2",
        f"INSERT INTO {OUT}.about VALUES ('guarantee', 'Nobody learns anything.')",
        f"INSERT INTO {OUT}.reasons VALUES ('details', 'Nobody learns anything.')",
        f"UPDATE {OUT}.about SET value = 'person' WHERE name = 'unit'",
        f"UPDATE {OUT}.about SET value = 'persons' WHERE name = 'counts'",
        f"UPDATE {OUT}.about SET value = '{{\"age\": 1, \"sex\": 0}}' WHERE name = 'node'",
        f"INSERT INTO {OUT}.about VALUES ('suppressed_rows', '17')",
        f"DELETE FROM {OUT}.about WHERE name = 'unit'",
        f"INSERT INTO {OUT}.about VALUES ('together', '{{}}')",
        f"INSERT INTO {OUT}.labels_age SELECT '80-99', level, above, low, high FROM {OUT}.labels_age LIMIT 1",
        f"CREATE TABLE {OUT}.left_out AS SELECT 1 AS n",
        f"UPDATE {OUT}.attributes SET level = 1 WHERE name = 'age'",
    ],
)
def test_a_tampered_copy_does_not_hold(copy: Path, change: str) -> None:
    with duckdb.connect(str(copy)) as con:
        con.execute(change).fetchall()
    with suppress(SqlprivError):  # refused altogether
        assert failing(copy)


@pytest.mark.some(3)
@pytest.mark.parametrize("number", ["'inf'", "NULL", "'nan'", "'-inf'", "0"])
@pytest.mark.parametrize("name", ["k", "beta", "rows_each", "node_epsilon"])
def test_numbers_that_are_none_are_neither_shown_nor_asked(copy: Path, name: str, number: str) -> None:
    if (name, number) == ("node_epsilon", "0"):
        return  # it is
    with duckdb.connect(str(copy)) as con:
        con.execute(f"UPDATE {OUT}.parameters SET value = CAST({number} AS DOUBLE) WHERE name = '{name}'").fetchall()
    for asked in (show, open_release):
        with pytest.raises(ReleaseError, match=r"copy\.duckdb is no release, or was changed: its numbers or groups"):
            asked(copy)


@pytest.mark.slow
def test_another_policy_is_noticed(folder: Path, tmp_path: Path) -> None:
    for release in ({"numbers": "epsilon = 1.0\nk = 6\nbeta = 0.2"}, {"node": "node = { age = 1, sex = 0 }"}, {}):
        other = sampled_policy(tmp_path, **release)  # type: ignore[arg-type]
        assert OF_POLICY in failing(folder / "out.duckdb", other), release


@pytest.mark.some(4)
@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ({"numbers": "epsilon = 1\nk = 5"}, "give three of epsilon, delta, k, beta, and the fourth is worked out; 2"),
        ({"numbers": "epsilon = 1\nk = 5\nbeta = 0.1\ndelta = 0.1"}, "worked out; 4 of them are given"),
        ({"numbers": "epsilon = 0.1\nk = 5\nbeta = 0.2"}, r"epsilon = 0.1 is below -ln\(1 - beta\) = 0.2231"),
        ({"numbers": "delta = 1e-9\nk = 2\nbeta = 0.2"}, "no epsilon goes with delta = 1e-09, k = 2, beta = 0.2: no "),
        ({"node": ""}, "write node, the level of each quasi-identifier, or nodes and node_epsilon.*does not search"),
        ({"node": "node = { age = 2 }"}, "also for 'sex'"),
        ({"node": "node = { age = 9, sex = 0 }"}, "level 9 of 'age', and the top of its hierarchy is 3"),
        ({"node": f"{NODES}\nnode = {{ age = 1, sex = 0 }}"}, "write node"),
        ({"node": NODES.partition("\n")[0]}, "nodes and node_epsilon go together"),
        ({"node": NODES.replace("2, sex = 1", "1, sex = 0")}, "a node is in nodes twice"),
        ({"release": "rows_each = 2"}, "no column is the person"),
        ({"columns": COLUMNS.replace("ranges:10,20", "bins:4,2")}, "the bins of 'age' are cut where the data are"),
        ({"columns": COLUMNS.replace("ranges:10,20", "table:people")}, "'age' is read from the private table"),
        ({"columns": COLUMNS.replace("ranges:10,20", "table:ages")}, "'age' is read from the private table"),
        ({"columns": COLUMNS.replace('"identifier"', '"person"'), "release": "rows_each = 2"},
         "persons with more than 2 rows, 1 of them"),
    ],
)  # fmt: skip
def test_what_gives_no_guarantee_is_refused(tmp_path: Path, given: dict[str, str], complaint: str) -> None:
    write_people(tmp_path, [(i if i > 3 else 0, 30 + i % 9, "F", "flu") for i in range(60)])
    with duckdb.connect(str(tmp_path / "private.duckdb")) as con:
        con.execute("CREATE VIEW ages AS SELECT age, sex, '*' AS t FROM people").fetchall()
    with pytest.raises(PolicyError, match=complaint):
        plan(sampled_policy(tmp_path, given.pop("release", ""), **given))  # type: ignore[arg-type]


def test_types_of_which_equal_values_read_differently_are_refused(tmp_path: Path) -> None:
    write_people(tmp_path, people(50))
    with duckdb.connect(str(tmp_path / "private.duckdb")) as con:
        con.execute("ALTER TABLE people ADD COLUMN stay INTERVAL").fetchall()
    with pytest.raises(PolicyError, match="'stay' is of type INTERVAL"):
        plan(sampled_policy(tmp_path, columns=f'{COLUMNS}stay = {{ role = "other" }}\n'))


@pytest.mark.slow
def test_the_fourth_number_is_that_of_the_macros(tmp_path: Path) -> None:
    write_people(tmp_path, people(50))
    for numbers in ("epsilon = 2.0\ndelta = 1e-6\nbeta = 0.1", "epsilon = 2.0\ndelta = 1e-6\nk = 8",
                    "delta = 1e-6\nk = 20\nbeta = 0.1", "epsilon = 2.0\nk = 20\nbeta = 0.1"):  # fmt: skip
        with plan_of(sampled_policy(tmp_path, numbers=numbers)) as found:
            terms, calls = found.terms, found.source.calls
            need = f"SELECT {calls.need('sdgs_delta')}({terms.k}, {terms.beta!r}, {terms.epsilon!r})"
            assert calls.con.execute(need).fetchall()[0][0] <= terms.delta * (1 + 1e-9)
            for line in numbers.split("\n"):
                name, _, value = line.partition(" = ")
                assert getattr(terms, name) == float(value)


@pytest.mark.slow
def test_a_node_is_drawn_and_the_release_says_from_which(tmp_path: Path) -> None:
    write_people(tmp_path, people(900))
    done = publish(read_policy(sampled_policy(tmp_path, node=NODES)))
    content = done.facts.content
    assert content["guarantee"]["epsilon"] == pytest.approx(1.25)
    assert content["node"] in ({"age": 1, "sex": 0}, {"age": 2, "sex": 1})
    shown = show(tmp_path / "out.duckdb").content
    assert json.loads(shown["nodes"]) == [{"age": 1, "sex": 0}, {"age": 2, "sex": 1}]
    assert failing(tmp_path / "out.duckdb", tmp_path / "policy.toml") == []
    with duckdb.connect(str(tmp_path / "out.duckdb")) as con:
        con.execute(f"UPDATE {OUT}.parameters SET value = 0 WHERE name = 'node_epsilon'").fetchall()
    assert failing(tmp_path / "out.duckdb")


@pytest.mark.slow
def test_persons_and_their_rows(tmp_path: Path) -> None:
    write_people(tmp_path, [(i // 2, 30 + i % 9, "F", "flu") for i in range(800)])
    columns = COLUMNS.replace('"identifier"', '"person"')
    one = plan(sampled_policy(tmp_path, columns=columns)).content
    two = plan(sampled_policy(tmp_path, "rows_each = 2", columns=columns)).content
    assert one["guarantee"]["epsilon"] == 1.0
    assert two["guarantee"]["epsilon"] == 2.0
    assert two["guarantee"]["delta"] == pytest.approx(one["guarantee"]["delta"] * (1 + 2.718281828459045))
    done = publish(read_policy(sampled_policy(tmp_path, columns=columns)))
    assert done.plan.drawn.sampled[0].rows == 400  # type: ignore[attr-defined]
    assert failing(tmp_path / "out.duckdb", tmp_path / "policy.toml") == []
    assert "number of persons" in " ".join(show(tmp_path / "out.duckdb").content["details"])


def test_numbers_with_many_digits_are_multiplied(tmp_path: Path) -> None:
    """As decimals, a delta of seventeen digits times a number of rows is beyond what DuckDB multiplies."""
    write_people(tmp_path, people(20))
    found = plan(
        sampled_policy(tmp_path, "n_public = 123456", numbers="epsilon = 1.0\nk = 9\nbeta = 0.30000000000000004")
    )
    assert found.content["exposed"] == pytest.approx(min(found.content["guarantee"]["delta"] * 123456, 1))


@pytest.mark.slow
def test_a_plan_draws_delta_against_epsilon(tmp_path: Path) -> None:
    write_people(tmp_path, people(20))
    with plan_of(sampled_policy(tmp_path)) as found:
        (drawn,), calls = found.charts(), found.source.calls
        assert drawn.chosen == (1.0, found.terms.delta)
        pairs = (
            "k = 5, beta = 0.2",
            "k = 2, beta = 0.2",
            "k = 10, beta = 0.2",
            "k = 5, beta = 0.1",
            "k = 5, beta = 0.4",
        )
        assert set(drawn.curves) == {*pairs, "bound, k = 5, beta = 0.2"}
        for epsilon, delta in drawn.curves["k = 5, beta = 0.2"][::8]:
            asked = f"SELECT {calls.need('sdgs_delta')}(5, 0.2, {epsilon!r})"
            assert delta == pytest.approx(calls.con.execute(asked).fetchall()[0][0])
    done = run(tmp_path, "plan", "policy.toml", "--chart", "deltas.svg")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "deltas.svg").is_file()


@pytest.mark.slow
def test_levels_that_were_found_by_a_search_are_refused(tmp_path: Path) -> None:
    write_people(tmp_path, people(200))
    text = sampled_policy(tmp_path).read_text(encoding="utf-8")
    text = text.replace('method = "sdgs"', 'method = "generalize"').replace("[release]", "[require]\nk = 5\n[release]")
    (tmp_path / "searched.toml").write_text(text.partition("epsilon =")[0], encoding="utf-8")
    found = publish(read_policy(tmp_path / "searched.toml"), tmp_path / "searched.duckdb").facts.content["node"]
    node = f"node = {{ AGE = {found['age']}, sex = {found['sex']} }}"
    beside = 'coexists_because = "a test"'
    with pytest.raises(
        PolicyError, match=r"'searched\.duckdb', a release of the table by generalize, has the levels age ="
    ):
        publish(read_policy(sampled_policy(tmp_path, beside, node=node)))
    public = 'node_is_public = "from a report"'
    assert publish(read_policy(sampled_policy(tmp_path, f"{beside}\n{public}", node=node))).written.made.rows >= 0
