"""Noisy counts whose noise follows public shares: published, verified, asked, attacked, tampered with and refused."""

from __future__ import annotations

import json
import math
import shutil
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import duckdb
import pytest
from support.linking import lone_match, shown_values
from support.policies import write_policy
from support.randomized_policies import rows_of

from sqlpriv.core.errors import InputError, PolicyError
from sqlpriv.methods import METHODS
from sqlpriv.policy.file import parse_policy
from sqlpriv.publishing import open_release, plan, publish, show, verify

pytestmark = pytest.mark.slow

VALUES = [f"ill {i}" for i in range(8)]
SHARES = [3, 12, 6, 20, 1, 20, 16, 22]
"""In hundredths: no order of values is one of shares."""
COLUMNS = {
    "sex": '{ role = "quasi-identifier", domain = ["F", "M", "X"] }',
    "age": '{ role = "quasi-identifier", domain = "range:1..40" }',
    "ill": f'{{ role = "sensitive", domain = {json.dumps(VALUES)}, share = {SHARES} }}',
}
PEOPLE = (
    "CREATE TABLE people AS SELECT ['F', 'M', 'X'][1 + i % 3] AS sex, 1 + (i * 7) % 40 AS age, "
    "'ill ' || ((i * i + i // 7) % 8) AS ill, i AS who FROM range(2000) AS r(i)"
)
RELEASE = 'method = "noisy_counts"\ngamma = 0.6\nn_public = 2000'


def text_of(columns: Mapping[str, str], release: str, more: str = "") -> str:
    listed = "\n".join(f"{name} = {given}" for name, given in ({"who": '{ role = "drop" }'} | dict(columns)).items())
    table = 'database = "private.duckdb"\nsource = "people"'
    return f'[table]\n{table}\n[columns]\n{listed}\n{more}\n[release]\noutput = "release.duckdb"\n{release}\n'


def write(folder: Path, release: str = RELEASE, columns: Mapping[str, str] = COLUMNS, sql: str = PEOPLE) -> Path:
    return write_policy(folder, text_of(columns, release), sql)


def odds(belief: float) -> float:
    return belief / (1 - belief)


def prior(share: float, times: float = 2) -> float:
    return times * share / (1 - share + times * share)


def domain(path: Path, column: str = "ill") -> dict[Any, tuple[float, float]]:
    """The share of each value, and its q."""
    rows = rows_of(path, f"SELECT value, share, noise / (1 + noise) FROM domain.{column}")
    return {value: (share, q) for value, share, q in rows}


def attackers(content: Mapping[str, Any]) -> dict[tuple[str, str], tuple[float, float, bool]]:
    return {(a["knows"], a["wants"]): (a["prior"], a["posterior"], a["covered"]) for a in content["attackers"]}


# --- what is published ------------------------------------------------------------------------------


def test_every_value_has_the_noise_of_its_own_share(tmp_path: Path) -> None:
    content = publish(write(tmp_path)).facts.content
    p, found = content["p"], domain(tmp_path / "release.duckdb")
    assert [s for s, _ in found.values()] == pytest.approx([s / 100 for s in SHARES])
    factors = {v: odds(0.6) / odds(prior(s)) for v, (s, _) in found.items()}
    for value, (_, q) in found.items():
        assert 1 + p / (q * (1 - p)) == pytest.approx(factors[value], rel=1e-9)
    assert content["q"] == pytest.approx(max(q for _, q in found.values()))
    assert content["d"] == pytest.approx(prior(0.22))
    assert content["epsilon"] == pytest.approx(math.log(factors["ill 4"]))
    assert content["slots"] == 1
    others = rows_of(tmp_path / "release.duckdb", "SELECT count(share) FROM domain.age")
    assert others == [(0,)]


def test_it_verifies_and_answers(tmp_path: Path) -> None:
    policy = write(tmp_path)
    publish(policy)
    output = tmp_path / "release.duckdb"
    facts = verify(output, policy)
    assert facts.passed, facts.content
    assert all(c["passed"] for c in facts.content["checks"])
    with open_release(output) as release:
        ((n, low, high),) = release.sql("SELECT count(*) AS n FROM people").fetchall()
        assert low <= 2000 <= high
        assert low < n < high
        groups = {
            ill: found for ill, *found in release.sql("SELECT ill, count(*) AS n FROM people GROUP BY ill").fetchall()
        }
    assert set(groups) == set(VALUES)
    assert math.fsum(g[0] for g in groups.values()) == pytest.approx(n)
    widths = {ill: high - low for ill, (_, low, high) in groups.items()}
    assert widths["ill 4"] < widths["ill 7"]  # rarer, less noise
    columns = {c["name"]: c["noise"] for c in show(output).content["columns"]}
    assert columns == {"sex": "uniform", "age": "uniform", "ill": "by shares"}


def test_an_answer_is_the_weighted_sum_of_the_view_and_the_noise_of_the_domain(tmp_path: Path) -> None:
    """Of 9 ages, 3 sexes and two values: (rows - 27 (mu + mu')) / p."""
    p = publish(write(tmp_path)).facts.content["p"]
    output, where = tmp_path / "release.duckdb", "age < 10 AND ill IN ('ill 4', 'ill 7')"
    ((rows,),) = rows_of(output, f"SELECT count(*) FROM sqlpriv_release.published WHERE {where}")
    noise = dict(rows_of(output, "SELECT value, noise FROM domain.ill"))
    with open_release(output) as release:
        ((found, low, high),) = release.sql(f"SELECT count(*) AS n FROM people WHERE {where}").fetchall()
    assert found == pytest.approx((rows - 27 * (noise["ill 4"] + noise["ill 7"])) / p)
    assert low < found < high


def test_rarer_values_make_a_better_bag_than_an_even_guess_of_the_commonest(tmp_path: Path) -> None:
    """One d for all values would have to be that of the commonest."""
    shared = plan(write(tmp_path)).content
    even = COLUMNS | {"ill": COLUMNS["ill"].replace(f", share = {SHARES}", "")}
    one = plan(write(tmp_path, f"{RELEASE}\nd = {prior(0.22)!r}\np = {shared['p']!r}", even, "")).content
    assert one["q"] == pytest.approx(shared["q"])
    assert shared["expected_rows"] < one["expected_rows"]
    assert shared["half_domain_error"] < 0.9 * one["half_domain_error"]


def test_the_noise_that_falls_is_the_noise_that_is_stated(tmp_path: Path) -> None:
    """60,000 tuples for each value, one row in the table: how many tuples have noise, and how many rows."""
    columns = {"g": '{ role = "quasi-identifier", domain = "range:1..60000" }', "ill": COLUMNS["ill"]}
    sql = "CREATE TABLE people AS SELECT 1 AS g, 'ill 0' AS ill, 1 AS who"
    release = 'method = "noisy_counts"\ngamma = 0.6\nn_public = 5000000\np = 0.3'
    policy = write(tmp_path, release, columns, sql)
    publish(policy, force=True)
    output = tmp_path / "release.duckdb"
    counted = (
        "SELECT ill, count(*), sum(n) FROM (SELECT ill, g, count(*) AS n FROM sqlpriv_release.published GROUP BY ALL)"
    )
    shown = {ill: (tuples, int(rows)) for ill, tuples, rows in rows_of(output, f"{counted} GROUP BY ill")}
    for value, (_, q) in domain(output).items():
        tuples, n = shown[value]
        assert abs(tuples - 60000 * q) < 5 * math.sqrt(60000 * q * (1 - q)) + 1
        assert abs(n - 60000 * q / (1 - q)) < 5 * math.sqrt(60000 * q) / (1 - q) + 1
    assert verify(output, policy).passed


def test_the_same_key_gives_the_same_release(tmp_path: Path) -> None:
    seen = []
    for name in ("one", "two"):
        folder = tmp_path / name
        folder.mkdir()
        sql = PEOPLE if name == "one" else f"{PEOPLE}; CREATE OR REPLACE TABLE people AS FROM people ORDER BY who DESC"
        key = folder / "key"
        key.write_bytes(b"a key of more than sixteen bytes")
        publish(write(folder, sql=sql), None, key)
        seen.append(rows_of(folder / "release.duckdb"))
    assert seen[0] == seen[1]


# --- who is covered ---------------------------------------------------------------------------------


def test_the_guarantee_is_about_public_shares(tmp_path: Path) -> None:
    content = plan(write(tmp_path)).content
    first, second = content["guarantee"].split(". ", 1)
    assert first == (
        "Whoever believes in a value of 'ill' with at most 2 times the odds of its public share believes in it with at "
        "most 0.6 after seeing this release, even when they know everything else"
    )
    epsilon, added = content["epsilon"], content["epsilon_add_remove"]
    assert second == (
        f"It is differential privacy with epsilon {epsilon:.3g} when a person's row is replaced, and {added:.3g} when "
        "a person is added or left out."
    )
    assert added < epsilon
    assert "L is 2.659 for the commonest value and 74.25 for the rarest" in content["details"][0]
    without = plan(write(tmp_path, RELEASE.replace("\nn_public = 2000", ""), sql="")).content
    assert without["guarantee"].endswith("when a person's row is replaced.")
    assert without["epsilon_add_remove"] is None


def test_who_is_in_the_table_of_attackers(tmp_path: Path) -> None:
    content = plan(write(tmp_path)).content
    found = attackers(content)
    linking = (pytest.approx(prior(0.22)), pytest.approx(0.6), True)
    assert list(found) == [
        ("nothing", "the whole row"),
        ("the quasi-identifiers: sex, age", "ill"),
        ("all but ill", "ill"),
        ("all but ill", "ill, its commonest value"),
    ]
    assert found["all but ill", "ill"] == linking
    assert found["the quasi-identifiers: sex, age", "ill"] == linking
    factor = odds(0.6) / odds(prior(0.22))
    after = 0.22 * factor / (1 - 0.22 + 0.22 * factor)
    assert found["all but ill", "ill, its commonest value"] == (pytest.approx(0.22), pytest.approx(after), True)
    before, after, covered = found["nothing", "the whole row"]
    assert before == pytest.approx(prior(0.01 / 120))
    assert odds(after) == pytest.approx(odds(before) * odds(0.6) / odds(prior(0.01)))
    assert covered
    assert content["refused"] == []


def test_a_value_as_common_as_gamma_is_refused_unless_there_is_a_reason(tmp_path: Path) -> None:
    """Twice the odds of .22, .2 and .16 are .36, .33 and .28."""
    release = RELEASE.replace("0.6", "0.3")
    policy = write(tmp_path, release)
    message = (
        "an attacker who knows all but ill of a person is not covered: a belief of 0.3607 in ill, its 3 commonest "
        "values may become"
    )
    with pytest.raises(PolicyError, match=message) as error:
        publish(policy)
    assert "Take a larger gamma, or publish by another method; or say in [release] why" in str(error.value)
    assert plan(policy).content["refused"] == [str(error.value)]
    policy = write(tmp_path, f'{release}\nuncovered = "everybody knows them"', sql="")
    content = publish(policy).facts.content
    assert content["guarantee"].startswith(
        "NOT covered is an attacker who knows all but ill of a person: a belief of 0.361 in "
    )
    assert "in a value of 'ill', its 3 commonest left out, with at most 2 times" in content["guarantee"]
    found, factor = attackers(content), odds(0.3) / odds(prior(0.16))
    assert found["all but ill", "ill, its rarer values"] == (pytest.approx(prior(0.16)), pytest.approx(0.3), True)
    before, after, covered = found["all but ill", "ill, its 3 commonest values"]
    assert (before, odds(after)) == (pytest.approx(prior(0.22)), pytest.approx(odds(prior(0.22)) * factor))
    assert not covered
    ratios = {value: q for value, (_, q) in domain(tmp_path / "release.duckdb").items()}
    assert ratios["ill 3"] == ratios["ill 5"] == ratios["ill 7"] == ratios["ill 6"] == max(ratios.values())
    assert verify(tmp_path / "release.duckdb", policy).passed


def test_a_gamma_that_covers_fewer_values_is_not_called_cheap(tmp_path: Path) -> None:
    """Twice the odds of .22 are .36: below, the commonest value would drop out and p could be larger."""
    curve = [point["gamma"] for point in plan(write(tmp_path)).content["curve"]]
    assert curve == [0.4, 0.5, 0.6, 0.7, 0.9]


def test_where_no_value_can_be_covered_nothing_is_published(tmp_path: Path) -> None:
    columns = COLUMNS | {"ill": '{ role = "sensitive", domain = ["ill 0", "ill 1"], share = [2, 3], outside = "drop" }'}
    policy = write(tmp_path, f'{RELEASE.replace("0.6", "0.4")}\nuncovered = "a test"', columns)
    for command in (plan, publish):
        with pytest.raises(
            PolicyError, match=r"believes in some value with 0\.75 before the release, and gamma is 0\.4"
        ) as error:
            command(policy)
        assert str(error.value).endswith("or leave out the shares, give d yourself and say why in uncovered")


def test_another_sensitive_column_is_covered_by_the_largest_noise(tmp_path: Path) -> None:
    """Twice an even guess of 40 ages is .049: less noise than that takes is on no tuple."""
    columns = COLUMNS | {"age": COLUMNS["age"].replace("quasi-identifier", "sensitive")}
    policy = write(tmp_path, columns=columns)
    content = publish(policy).facts.content
    most, p = odds(0.6) / odds(2 / 41), content["p"]
    assert math.exp(content["epsilon"]) == pytest.approx(most)
    for share, q in domain(tmp_path / "release.duckdb").values():
        assert 1 + p / (q * (1 - p)) == pytest.approx(min(most, odds(0.6) / odds(prior(share))))
    found = attackers(content)
    assert found["all but age", "age"] == (pytest.approx(2 / 41), pytest.approx(0.6), True)
    assert (
        "public share, or in one of 'age' with as many times those of an even guess, believes" in content["guarantee"]
    )
    assert verify(tmp_path / "release.duckdb", policy).passed


def test_a_poor_plan_says_what_could_be_published(tmp_path: Path) -> None:
    columns = COLUMNS | {"age": '{ role = "quasi-identifier", domain = "range:1..100000" }'}
    content = plan(write(tmp_path, columns=columns)).content
    assert content["small_count_error"] > 0.2
    assert 1 < content["coarsen"]["age"] < 100000
    assert [s["columns"] for s in content["column_sets"]] == [["sex", "ill"]]


def test_a_linking_attacker_is_right_about_every_value_as_often_as_the_bound_says(tmp_path: Path) -> None:
    """Everybody is alone in a slice, values are drawn by the shares: a lone match is right with gamma, value by value.

    Five standard errors of each of eight values: a false alarm in 200,000 keys, and the key is fixed.
    """
    people = 20000
    columns = {"g": f'{{ role = "quasi-identifier", domain = "range:1..{people}" }}', "ill": COLUMNS["ill"]}
    drawn = [value for value, share in zip(VALUES, SHARES, strict=True) for _ in range(share)]
    uniform = f"{drawn}[1 + CAST('0x' || substr(md5(i::VARCHAR), 1, 7) AS BIGINT) % 100]"
    sql = f"CREATE TABLE people AS SELECT i AS g, {uniform} AS ill, i AS who FROM range(1, {people + 1}) AS r(i)"
    key = tmp_path / "key"
    key.write_bytes(b"a key of more than sixteen bytes")
    release = f'method = "noisy_counts"\ngamma = 0.5\ntimes = 1\nn_public = {people}'
    publish(write(tmp_path, release, columns, sql), None, key)
    with duckdb.connect(str(tmp_path / "private.duckdb"), read_only=True) as con:
        truth = {(g,): ill for g, ill in con.execute("SELECT g, ill FROM people").fetchall()}
    matches: Counter[Any] = Counter()
    right: Counter[Any] = Counter()
    for place, values in shown_values(tmp_path / "release.duckdb", ["g"], "ill").items():
        for value in lone_match(values):
            matches[value] += 1
            right[value] += truth[place] == value
    assert min(matches[value] for value in VALUES) > 30
    for value in VALUES:
        assert abs(right[value] / matches[value] - 0.5) < 5 * math.sqrt(0.25 / matches[value]), value


# --- what was changed -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("by_shares")
    publish(write(folder, f"{RELEASE.replace('0.6', '0.5')}"))
    return folder / "release.duckdb"


@pytest.mark.one_version
@pytest.mark.parametrize(
    "change",
    [
        "UPDATE domain.ill SET noise = noise / 2",
        "UPDATE domain.ill SET noise = noise * 1.00001 WHERE value = 'ill 4'",
        "UPDATE domain.ill SET noise = NULL WHERE value = 'ill 4'",
        "UPDATE domain.ill SET share = share * 1.001 WHERE value = 'ill 4'",
        "UPDATE domain.ill SET share = CASE value WHEN 'ill 4' THEN 0.22 WHEN 'ill 7' THEN 0.01 ELSE share END",
        "UPDATE domain.ill SET share = 1 / 8",
        "UPDATE domain.ill SET share = NULL",
        "ALTER TABLE domain.ill DROP COLUMN noise",
        "ALTER TABLE domain.age ADD COLUMN noise DOUBLE",
        "ALTER TABLE domain.ill ADD COLUMN more DOUBLE",
        "UPDATE domain.age SET share = 1 / 40",
        "UPDATE sqlpriv_release.parameters SET value = value * 0.9 WHERE name = 'p'",
        "UPDATE sqlpriv_release.parameters SET value = value * 0.9 WHERE name = 'q'",
        "UPDATE sqlpriv_release.parameters SET value = 1 WHERE name = 'times'",
        "UPDATE sqlpriv_release.parameters SET value = 0.6 WHERE name = 'gamma'",
        "UPDATE sqlpriv_release.parameters SET value = value * 0.9 WHERE name = 'd'",
        "UPDATE sqlpriv_release.parameters SET value = value * 0.9 WHERE name = 'epsilon'",
        "UPDATE sqlpriv_release.parameters SET value = 2 WHERE name = 'rows_each'",
        "UPDATE sqlpriv_release.published SET __weight = __weight * 1.00001 WHERE ill = 'ill 4'",
        "UPDATE sqlpriv_release.domain_weights SET variance = variance * 1.00001 WHERE power = 2",
        "DELETE FROM sqlpriv_release.domain_weights WHERE power = 2",
        "DELETE FROM sqlpriv_release.published WHERE age > 1",
        "UPDATE sqlpriv_release.attributes SET role = 'other', choices = NULL WHERE name = 'ill'",
        "UPDATE sqlpriv_release.parameters SET value = 3 WHERE name = 'times'",
        "UPDATE sqlpriv_release.about SET value = 'exclusive' WHERE name = 'adversary'",
    ],
)
def test_a_bag_that_was_tampered_with_fails(published: Path, tmp_path: Path, change: str) -> None:
    copy = Path(shutil.copy(published, tmp_path / "copy.duckdb"))
    assert verify(copy).passed
    with duckdb.connect(str(copy)) as con:
        con.execute(change).fetchall()
    assert not verify(copy).passed


@pytest.mark.one_version
@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        (f", share = {SHARES}", "", "its noise does not follow the column with shares"),
        (f"share = {SHARES}", f"share = {[4, *SHARES[1:]]}", "the shares of 'ill' are others"),
        ("n_public = 2000", "n_public = 2000\ntimes = 3", "times is 2, and not 3"),
    ],
)
def test_another_policy_is_noticed(tmp_path: Path, old: str, new: str, what: str) -> None:
    policy = write(tmp_path)
    publish(policy)
    assert verify(tmp_path / "release.duckdb", policy).passed
    policy.write_text(policy.read_text().replace(old, new))
    (first, *_) = [c for c in verify(tmp_path / "release.duckdb", policy).content["checks"] if not c["passed"]]
    assert what in str(first)


# --- what is refused --------------------------------------------------------------------------------

SHARED_SEX = '{ role = "quasi-identifier", domain = ["F", "M", "X"], share = [5, 4, 1] }'
SHARED_AGE = '{ role = "sensitive", domain = [1, 2], share = [5, 4], outside = "drop" }'


@pytest.mark.one_version
@pytest.mark.parametrize(
    ("columns", "release", "message"),
    [
        (
            {"sex": SHARED_SEX},
            "",
            "cannot follow the shares of 'sex', which is not sensitive: an attacker who knows it would find",
        ),
        ({"age": SHARED_AGE}, "", "follows the shares of one column, and 'age' has some: leave out those of 'ill'"),
        ({}, "d = 0.1", "the shares of 'ill' say what is believed beforehand: leave out d"),
        ({}, "k = 2", "the shares of 'ill' say what is believed beforehand: leave out k"),
        ({"who": '{ role = "person" }'}, "rows_each = 2", "the rows of a person may be tied: leave out those of 'ill'"),
        ({}, 'combinations = ["pairs"]', "values have other shares than 'ill' says: leave out one of both"),
    ],
)
def test_what_does_not_go_with_shares(columns: dict[str, str], release: str, message: str) -> None:
    text = text_of(COLUMNS | columns, f"{RELEASE}\n{release}", '[public]\npairs = "pairs.csv"')
    with pytest.raises(PolicyError, match=message):
        parse_policy(text, Path(), METHODS)


@pytest.mark.one_version
@pytest.mark.parametrize(
    ("ill", "message"),
    [
        ('domain = ["ill 0"], share = [1], outside = "drop"', "it has one value, which needs no share"),
        (f"domain = {json.dumps(VALUES)}, share = {SHARES}, null = true", "1 values have no share above 0; NULL and"),
        (
            f"domain = {json.dumps(VALUES)}, share = {[1e-18, 1e18, *SHARES[2:]]}",
            "some shares are too small compared with the others",
        ),
    ],
)
def test_shares_that_are_none(tmp_path: Path, ill: str, message: str) -> None:
    columns = COLUMNS | {"ill": f'{{ role = "sensitive", {ill} }}'}
    with pytest.raises(PolicyError, match=message):
        plan(write(tmp_path, columns=columns))


def test_a_p_of_the_owner_is_taken_or_refused(tmp_path: Path) -> None:
    """p must be below 1 - 1/L of the commonest value, 1 - 1/2.66 = .624."""
    content = publish(write(tmp_path, f"{RELEASE}\np = 0.25")).facts.content
    assert content["p"] == 0.25
    assert verify(tmp_path / "release.duckdb", tmp_path / "policy.toml").passed
    with pytest.raises(InputError, match="p must be below 1 - 1 / factor, or no noise can hide a row"):
        plan(write(tmp_path, f"{RELEASE}\np = 0.63", sql=""))
