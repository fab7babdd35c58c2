"""Whom a randomized release protects against: the bound from the attacker, who is covered, and what is refused."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import duckdb
import pytest
from support.commands import run
from support.policies import write_policy
from support.randomized_policies import rows_of

from sqlpriv.core.errors import PolicyError
from sqlpriv.methods import METHODS
from sqlpriv.publishing import plan, publish, show, verify
from sqlpriv.reports.recheck import recheck_sql

pytestmark = [pytest.mark.one_version, pytest.mark.slow]

ILLNESSES = [f"ill {i}" for i in range(20)]
COLUMNS = {
    "sex": '{ role = "quasi-identifier", domain = ["F", "M", "X"] }',
    "age": '{ role = "quasi-identifier", domain = "range:1..30" }',
    "ill": f'{{ role = "sensitive", domain = {json.dumps(ILLNESSES)} }}',
}
PEOPLE = (
    "CREATE TABLE people AS SELECT ['F', 'M', 'X'][1 + i % 3] AS sex, 1 + (i * 7) % 30 AS age, "
    "'ill ' || ((i * i + i // 7) % 20) AS ill, i // 2 AS who FROM range(2000) AS r(i)"
)
DEFAULTS = 'method = "noisy_counts"\ngamma = 0.3'
ALPHA_BETA = 'method = "alpha_beta"\ngamma = 0.3'
ROW = {"knows", "wants", "prior", "covered", "posterior"}


def text_of(columns: Mapping[str, str], release: str, more: str = "") -> str:
    listed = "\n".join(f"{name} = {given}" for name, given in ({"who": '{ role = "drop" }'} | dict(columns)).items())
    table = 'database = "private.duckdb"\nsource = "people"'
    return f'[table]\n{table}\n[columns]\n{listed}\n{more}\n[release]\noutput = "release.duckdb"\n{release}\n'


def write(
    folder: Path, release: str = DEFAULTS, columns: Mapping[str, str] = COLUMNS, more: str = "", sql: str = PEOPLE,
    files: Mapping[str, str | bytes] | None = None,
) -> Path:  # fmt: skip
    return write_policy(folder, text_of(columns, release, more), sql, files)


def linking(content: Mapping[str, Any], wants: str = "ill") -> dict[str, Any]:
    (found,) = [a for a in content["attackers"] if a["knows"] == f"all but {wants}" and a["wants"] == wants]
    return dict(found)


def prior(choices: int, times: float = 2) -> float:
    return times / (choices - 1 + times)


# --- d comes from the attacker ------------------------------------------------------------------


@pytest.mark.some(2)
@pytest.mark.parametrize(
    ("column", "release", "expected"),
    [
        ("", "", prior(20)),
        (", null = true", "", prior(21)),
        (', outside = "other"', "", prior(21)),
        ("", "times = 1", 1 / 20),
        ("", "times = 3", prior(20, 3)),
    ],
)
def test_the_bound_is_that_of_who_knows_every_other_column(
    tmp_path: Path, column: str, release: str, expected: float
) -> None:
    columns = COLUMNS | {"ill": COLUMNS["ill"].replace(" }", f"{column} }}")}
    release = f"{DEFAULTS}\n{release}" + ("\nn_public = 2000" if "drop" in column else "")
    found = plan(write(tmp_path, release, columns)).content
    assert found["d"] == pytest.approx(expected)
    assert linking(found)["prior"] == pytest.approx(expected)
    assert linking(found)["posterior"] == pytest.approx(0.3)
    assert found["refused"] == []


def test_of_several_sensitive_columns_the_one_with_fewest_values_counts(tmp_path: Path) -> None:
    columns = COLUMNS | {"age": COLUMNS["age"].replace("quasi-identifier", "sensitive")}
    found = plan(write(tmp_path, columns=columns)).content
    assert found["d"] == pytest.approx(prior(20))
    assert linking(found, "age")["prior"] == pytest.approx(prior(30))
    assert linking(found, "age")["posterior"] < 0.3


def test_published_columns_are_all_wanted_where_none_is_sensitive(tmp_path: Path) -> None:
    columns = {name: given.replace("quasi-identifier", "published") for name, given in COLUMNS.items()}
    found = plan(write(tmp_path, columns=columns)).content
    assert [a["wants"] for a in found["attackers"] if a["knows"].startswith("all but ill")] == ["ill"]
    everything = {
        n: g.replace("quasi-identifier", "published").replace("sensitive", "published") for n, g in COLUMNS.items()
    }
    with pytest.raises(PolicyError, match="of 'sex' only 3 values are possible: leave it out or take a larger gamma"):
        plan(write(tmp_path, columns=everything, sql=""))


def test_who_is_in_the_table_of_attackers(tmp_path: Path) -> None:
    attackers = plan(write(tmp_path)).content["attackers"]
    assert all(set(a) == ROW for a in attackers)
    assert [(a["knows"], a["wants"]) for a in attackers] == [
        ("nothing", "the whole row"),
        ("the quasi-identifiers: sex, age", "ill"),
        ("all but ill", "ill"),
        ("all but one column", "a value that 10% of people have"),
    ]
    assert [a["covered"] for a in attackers] == [True, True, True, False]
    assert attackers[0]["prior"] == pytest.approx(prior(3 * 30 * 20))
    factor = math.exp(plan(tmp_path / "policy.toml").content["epsilon"])
    for a in attackers:
        b = a["prior"]
        assert a["posterior"] == pytest.approx(b * factor / (1 - b + b * factor))


# --- a public table of what is possible -----------------------------------------------------------

POSSIBLE = "sex,ill\n" + "".join(
    f"{sex},ill {i}\n" for sex in "FMX" for i in range(20) if sex == "F" or i % 2 == 0 or (sex == "X" and i == 1)
)
HALF = PEOPLE.replace("'ill ' || ((i * i + i // 7) % 20)", "'ill ' || (2 * ((i * i + i // 7) % 10))")


def possible(folder: Path, sql: str = HALF, table: str = POSSIBLE, release: str = 'combinations = ["pairs"]') -> Path:
    public = '[public]\npairs = "pairs.csv"\nmore = "pairs.csv"'
    return write(folder, f"{DEFAULTS}\n{release}", more=public, sql=sql, files={"pairs.csv": table})


@pytest.mark.slow
def test_possible_combinations_leave_the_attacker_fewer_choices(tmp_path: Path) -> None:
    found = publish(possible(tmp_path)).facts.content
    assert found["d"] == pytest.approx(prior(10))
    rows = rows_of(tmp_path / "release.duckdb", "SELECT name, choices FROM sqlpriv_release.attributes")
    assert dict(rows) == {"sex": None, "age": None, "ill": 10}
    assert show(tmp_path / "release.duckdb").content["combinations"] == ["pairs"]
    assert verify(tmp_path / "release.duckdb", tmp_path / "policy.toml").passed


@pytest.mark.slow
def test_a_slice_with_one_value_has_nothing_to_hide(tmp_path: Path) -> None:
    """Who is in it is known already; the smallest slice with two values counts."""
    table = "sex,ill\nX,ill 0\n" + "".join(f"{s},ill {i}\n" for s in "FM" for i in range(20))
    sql = HALF.replace("['F', 'M', 'X'][1 + i % 3]", "['F', 'M'][1 + i % 2]")
    assert plan(possible(tmp_path, sql, table)).content["d"] == pytest.approx(prior(20))


@pytest.mark.some(1)
@pytest.mark.parametrize(
    ("sql", "table", "release", "message"),
    [
        (
            PEOPLE,
            POSSIBLE,
            'combinations = ["pairs"]',
            r"[0-9,]+ rows have a combination that 'pairs' says is impossible",
        ),
        (HALF, "ill,cost\nill 0,3\n", 'combinations = ["pairs"]', "must have two or more of the published columns"),
        (
            HALF,
            POSSIBLE,
            'combinations = ["pairs", "more"]',
            "'ill' is in two tables of combinations, 'pairs' and 'more'",
        ),
        (HALF, POSSIBLE, 'combinations = ["pears"]', r"\[public\] has no table 'pears' of combinations"),
    ],
)
def test_combinations_that_make_no_sense(tmp_path: Path, sql: str, table: str, release: str, message: str) -> None:
    with pytest.raises(PolicyError, match=message):
        plan(possible(tmp_path, sql, table, release))


def test_two_sensitive_columns_that_are_tied_are_refused(tmp_path: Path) -> None:
    """Who does not know the one is not covered by averaging: a match in both is right four times in five."""
    columns = COLUMNS | {"code": COLUMNS["ill"].replace("ill ", "code ")}
    sql = PEOPLE.replace("i // 2 AS who", "i // 2 AS who, 'code ' || ((i * i + i // 7) % 20) AS code")
    table = "ill,code\n" + "".join(f"ill {i},code {i}\n" for i in range(20))
    public = '[public]\npairs = "pairs.csv"'
    policy = write(
        tmp_path, f'{DEFAULTS}\ncombinations = ["pairs"]', columns, public, sql, files={"pairs.csv": table}
    )  # fmt: skip
    with pytest.raises(PolicyError, match="the combinations 'pairs' tie 'ill' to 'code', and both are sensitive"):
        plan(policy)


def test_a_column_that_follows_from_the_others_cannot_be_hidden(tmp_path: Path) -> None:
    table = "sex,ill\n" + "".join(f"{sex},ill {i}\n" for i, sex in enumerate("FMX"))
    sql = PEOPLE.replace("'ill ' || ((i * i + i // 7) % 20)", "'ill ' || (i % 3)")
    with pytest.raises(PolicyError, match="'ill' follows from the other columns by the combinations 'pairs'"):
        plan(possible(tmp_path, sql, table))


def test_labels_that_stand_for_many_values_are_likelier(tmp_path: Path) -> None:
    """One of nine labels stands for 12 of 20 values: a blind guess at it is right three times in five."""
    levels = "".join(f"ill {i};{'many' if i < 12 else f'only {i}'}\n" for i in range(20))
    columns = COLUMNS | {"ill": '{ role = "sensitive", domain = "level:lev:1" }'}
    with pytest.raises(PolicyError, match=r"a linking attacker believes in some value with 0\.6667 before the release"):
        plan(write(tmp_path, columns=columns, files={"lev.csv": levels}))
    even = "".join(f"ill {i};{'two' if i < 2 else f'only {i}'}\n" for i in range(20))
    found = plan(write(tmp_path, columns=columns, sql="", files={"lev.csv": even})).content
    assert found["d"] == pytest.approx(prior(10))  # as common as one of ten


def test_one_value_and_all_others_dropped_tells_who_has_it(tmp_path: Path) -> None:
    columns = COLUMNS | {"ill": '{ role = "sensitive", domain = ["ill 1"], outside = "drop" }'}
    with pytest.raises(PolicyError, match="rows with others are dropped: who is in the release has it"):
        plan(write(tmp_path, f"{DEFAULTS}\nd = 0.0001\nn_public = 100", columns))


def test_frapp_tells_its_rows_and_so_drops_none(tmp_path: Path) -> None:
    columns = COLUMNS | {"ill": COLUMNS["ill"].replace(" }", ', outside = "drop" }')}
    with pytest.raises(PolicyError, match="frapp reveals the number of rows, and so whether a row was dropped"):
        plan(write(tmp_path, 'method = "frapp"\ngamma = 0.3', columns))


# --- what is refused, by plan as by publish -------------------------------------------------------


def refused(folder: Path, message: str) -> None:
    """publish refuses with this message, plan says so and does not pass, and nothing is written."""
    with pytest.raises(PolicyError, match=message):
        publish(folder / "policy.toml")
    facts = plan(folder / "policy.toml")
    assert not facts.passed
    assert facts.content["refused"]
    done = run(folder, "plan", "policy.toml")
    assert done.returncode == 1
    assert "REFUSED" in done.stdout
    assert not (folder / "release.duckdb").exists()


@pytest.mark.some(1)
@pytest.mark.parametrize("bound", ["d = 0.001", "k = 0.001"])
def test_a_bound_below_the_attacker_is_refused(tmp_path: Path, bound: str) -> None:
    write(tmp_path, f"{DEFAULTS}\n{bound}")
    refused(
        tmp_path,
        "an attacker who knows all but ill of a person is not covered: a belief of 0.09524 in a value of 'ill'",
    )


def test_with_a_reason_it_is_published_and_the_release_starts_with_it(tmp_path: Path) -> None:
    policy = write(tmp_path, f'{DEFAULTS}\nd = 0.001\nuncovered = "all of them are invented."')
    content = publish(policy).facts.content
    first = (
        "NOT covered is an attacker who knows all but ill of a person: a belief of 0.0952 may become 0.978, above 0.3; "
    )
    reason = 'in the owner\'s words because "all of them are invented". '
    assert content["guarantee"].startswith(f"{first}it is published all the same, {reason}")
    assert not linking(content)["covered"]
    shown = show(tmp_path / "release.duckdb").content
    assert shown["guarantee"] == content["guarantee"]
    assert shown["uncovered"] == "all of them are invented."
    assert verify(tmp_path / "release.duckdb", policy).passed


def test_a_reason_that_is_not_needed_is_not_told(tmp_path: Path) -> None:
    policy = write(tmp_path, f'{DEFAULTS}\nuncovered = "just in case"')
    assert publish(policy).facts.content["guarantee"].startswith("Whoever believes")
    assert "uncovered" not in show(tmp_path / "release.duckdb").content


@pytest.mark.some(2)
@pytest.mark.parametrize(
    "change",
    [
        "CREATE TABLE sqlpriv_release.attackers AS SELECT 'all but ill' AS knows, 0.2 AS posterior, true AS covered",
        "UPDATE sqlpriv_release.attributes SET role = 'other', choices = NULL WHERE name = 'ill'",
        "UPDATE sqlpriv_release.attributes SET choices = 200 WHERE name = 'ill'",
        "UPDATE sqlpriv_release.attributes SET choices = 3 WHERE name = 'sex'",
        "DELETE FROM sqlpriv_release.reasons WHERE name = 'uncovered'",
        "UPDATE sqlpriv_release.reasons SET text = '...' WHERE name = 'uncovered'",
        "UPDATE sqlpriv_release.reasons SET name = 'accept'",
        "UPDATE sqlpriv_release.parameters SET value = 0.001 WHERE name = 'times'",
        "UPDATE sqlpriv_release.parameters SET value = 2 WHERE name = 'rows_each'",
    ],
)
def test_what_a_release_says_of_attackers_is_verified(tmp_path: Path, change: str) -> None:
    publish(write(tmp_path, f'{DEFAULTS}\nd = 0.001\nuncovered = "all of them are invented"'))
    with duckdb.connect(str(tmp_path / "release.duckdb")) as con:
        con.execute(change).fetchall()
    assert not verify(tmp_path / "release.duckdb").passed


def test_more_rows_than_allowed_are_refused(tmp_path: Path) -> None:
    write(tmp_path, f"{DEFAULTS}\nmax_rows = 1000")
    refused(tmp_path, r"the release would have about [0-9,]+ rows, and max_rows is 1,000")


@pytest.mark.slow
def test_what_says_nothing_is_refused(tmp_path: Path) -> None:
    columns = COLUMNS | {"age": '{ role = "quasi-identifier", domain = "range:1..2000000" }'}
    write(tmp_path, f"{DEFAULTS}\nmax_rows = 1000000000000", columns)
    refused(tmp_path, "the view would say nothing: a count over half the domain would be off by")


# --- what can be done instead -----------------------------------------------------------------------


@pytest.mark.slow
def test_the_largest_sets_of_columns_that_will_do_are_listed_and_do(tmp_path: Path) -> None:
    columns = COLUMNS | {"age": '{ role = "quasi-identifier", domain = "range:1..100000" }'}
    sets = plan(write(tmp_path, columns=columns)).content["column_sets"]
    assert [s["columns"] for s in sets] == [["sex", "ill"]]
    assert sets[0]["small_count_error"] < 0.2
    most = plan(tmp_path / "policy.toml").content["coarsen"]["age"]
    assert 1 < most < 100000
    for size, error in ((most, 0.2), (most + 1, 1)):
        other = COLUMNS | {"age": f'{{ role = "quasi-identifier", domain = "range:1..{size}" }}'}
        found = plan(write(tmp_path, columns=other, sql="")).content
        assert (found["small_count_error"] < 0.2) == (error == 0.2)
    without = COLUMNS | {"age": '{ role = "drop" }'}
    found = plan(write(tmp_path, columns=without, sql="")).content
    assert found["refused"] == []
    assert found["small_count_error"] == pytest.approx(sets[0]["small_count_error"])
    assert publish(tmp_path / "policy.toml").written.made.rows > 0


def test_a_column_of_two_values_says_what_else_could_be_done(tmp_path: Path) -> None:
    columns = COLUMNS | {"sex": '{ role = "sensitive", domain = ["F", "M", "X"] }'}
    for command in (plan, publish):
        with pytest.raises(PolicyError) as error:
            command(write(tmp_path, columns=columns, sql="" if (tmp_path / "private.duckdb").exists() else PEOPLE))
        assert str(error.value).startswith("a linking attacker believes in some value with 0.5 before the release")
        assert "of 'sex' only 3 values are possible: leave it out" in str(error.value)
        assert "publish fewer columns, as age, ill" in str(error.value)
        assert "generalize with distinct_l" in str(error.value)


def test_a_multiple_that_is_too_large_says_how_large_it_may_be(tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match=r"k must be below 0\.27 here"):
        plan(write(tmp_path, f"{DEFAULTS}\nk = 5"))


# --- persons ------------------------------------------------------------------------------------------

PERSONS = COLUMNS | {"who": '{ role = "person" }'}


def test_the_rows_of_a_person_are_protected_together(tmp_path: Path) -> None:
    policy = write(tmp_path, f"{DEFAULTS}\nrows_each = 2\nn_public = 2000", PERSONS)
    found = publish(policy).facts.content
    of_row = prior(20)
    assert found["d"] == pytest.approx(1 - (1 - of_row) ** 2)
    factor = 0.3 * (1 - found["d"]) / (found["d"] * 0.7)
    assert math.exp(found["epsilon"]) == pytest.approx(factor)
    p, q = found["p"], found["q"]
    of_each = 1 / q**2 if "a" in found else 1 + p / (q * (1 - p))
    assert of_each == pytest.approx(math.sqrt(factor))
    assert "a person, who has up to 2 rows" in found["guarantee"]
    release = tmp_path / "release.duckdb"
    assert verify(release, policy).passed
    with duckdb.connect() as con:  # what the page tells its reader to run is about all rows of a person, too
        statements = recheck_sql(METHODS["noisy_counts"], str(release), show(release).content)
        answer = con.sql(statements)
        assert dict(zip(answer.columns, answer.fetchall()[0], strict=True))["factor"] == pytest.approx(factor)


def test_a_person_with_more_rows_is_refused(tmp_path: Path) -> None:
    policy = write(tmp_path, f"{DEFAULTS}\nrows_each = 1", PERSONS)
    for command in (plan, publish):
        with pytest.raises(PolicyError, match="1,000 persons have more than 1 rows, up to 2; raise rows_each"):
            command(policy)


def test_rows_of_nobody_count_as_one_person(tmp_path: Path) -> None:
    sql = PEOPLE.replace("i // 2 AS who", "CASE WHEN i >= 5 THEN i END AS who")
    with pytest.raises(PolicyError, match="1 persons have more than 4 rows, up to 5"):
        plan(write(tmp_path, f"{DEFAULTS}\nrows_each = 4\nn_public = 2000", PERSONS, sql=sql))


@pytest.mark.parametrize("release", ['method = "frapp"\ngamma = 0.3', f"{ALPHA_BETA}\nslots = 50"])
def test_methods_that_cannot_protect_persons_say_so(tmp_path: Path, release: str) -> None:
    with pytest.raises(PolicyError, match="hides rows one by one, and not the rows of a person together"):
        plan(write(tmp_path, release, PERSONS))


# --- the words, and the other methods ----------------------------------------------------------------


def test_slots_without_a_bound_of_their_own_point_at_noisy_counts(tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match=r"Publish noisy counts, method = .noisy_counts., which covers them"):
        publish(write(tmp_path, f"{ALPHA_BETA}\nslots = 100"))


OTHERS = {
    "noisy counts": DEFAULTS,
    "distinct": f'{ALPHA_BETA}\nduplicates = "distinct"',
    "slots": f'{ALPHA_BETA}\nslots = 100\nuncovered = "a test"\nmax_rows = 100000000',
    "sequence": f'{ALPHA_BETA}\nslots = 100\nviews = 2\nadversary = "independent"\nuncovered = "a test"',
    "frapp": 'method = "frapp"\ngamma = 0.3',
}


@pytest.mark.some(2)
@pytest.mark.parametrize("kind", OTHERS)
def test_every_method_has_two_sentences_a_list_and_the_attackers(tmp_path: Path, kind: str) -> None:
    found = plan(write(tmp_path, OTHERS[kind])).content
    promise = found["guarantee"]
    if not linking(found)["covered"]:
        assert promise.startswith("NOT covered is an attacker who knows all but ill of a person: ")
        promise = promise.partition('because "a test". ')[2]
    assert promise.count(". ") == 1
    assert promise.endswith(".")
    assert len(promise.split()) < 75
    assert all(line.endswith(".") for line in found["details"])
    assert {"p", "q", "epsilon", "attackers"} <= set(found)
    assert linking(found)["covered"] == (kind not in {"slots", "sequence"})


def test_slots_promise_no_more_than_is_true(tmp_path: Path) -> None:
    """A belief in a slot falls by what the coins say, not by the bound of the tuple (.3333 was promised for .00825)."""
    release = 'method = "alpha_beta"\nadversary = "independent"\nparameters = "tight"\nd = 0.1\ngamma = 0.3\nslots = 50'
    columns = {"age": COLUMNS["age"], "ill": COLUMNS["ill"], "sex": '{ role = "drop" }'}
    found = plan(
        write(tmp_path, f'{release}\nuncovered = "a test"\nforce = 1'.replace("\nforce = 1", ""), columns)
    ).content
    left = (1 - found["p"]) / (1 - found["q"])
    assert f"A belief in a slot does not fall below {left:.3g} of what it was." in found["details"]
    assert "a certain slot of a tuple is taken" in found["guarantee"]
    assert "That a tuple occurs at all, or is a certain person's, may be believed more" in found["guarantee"]


def test_json_has_what_the_contract_names(tmp_path: Path) -> None:
    write(tmp_path)
    planned = json.loads(run(tmp_path, "plan", "policy.toml", "--json").stdout)
    done = json.loads(run(tmp_path, "publish", "policy.toml", "--json").stdout)
    for name in ("p", "q", "epsilon", "attackers", "d", "gamma", "n_public", "m", "expected_rows"):
        assert planned[name] == done[name], name
    assert planned["bytes"] > 0
    size = (tmp_path / "release.duckdb").stat().st_size
    assert size / 3 < planned["bytes"] < size * 3
    assert done["rows"] > 0
