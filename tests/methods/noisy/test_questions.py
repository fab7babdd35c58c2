"""plan --query: the standard errors that a plan tells are those that releases really have.

Each policy is published once, over a table that is there 500 times, told apart by a column r. Every element has a coin
of its own, so the answers by r are as good as those of 500 releases (see coverage_runs). Of normal errors the standard
deviation of 500 lies within 13% of the true one but for 6 in 100,000 (four times 1 / sqrt(2 * 500)), and 17 of them
are judged for each policy; the key is fixed, so what passes goes on passing.
"""

from __future__ import annotations

import itertools
import json
import math
import random
from collections.abc import Iterator
from pathlib import Path
from statistics import fmean, stdev
from typing import Any
from unittest.mock import patch

import pytest
from support.commands import run
from support.policies import policy_text, qi, role, write_policy
from support.randomized_policies import publish_with, published, write_noise_policy

from sqlpriv.core.errors import InputError, SqlprivError, UnsupportedSQLError
from sqlpriv.methods.noisy import questions
from sqlpriv.methods.noisy.policy import RandomizedPolicy
from sqlpriv.publishing import open_release, plan

pytestmark = pytest.mark.one_version

COPIES = 500
WITHIN = 4 / math.sqrt(2 * COPIES)
VALUES = (-20, -5, 0, 5, 10, 15, 20, 30)
COLUMNS = {
    "r": published(f'"range:0..{COPIES - 1}"'),
    "a": published('"range:0..9"'),
    "s": published('["x", "y", "z"]'),
    "v": published(str(list(VALUES))),
}
SHARES = COLUMNS | {
    "s": published('["x", "y", "z"]', share="[0.6, 0.3, 0.1]"),
    "v": published(str(list(VALUES)), share="[1, 2, 4, 3, 2, 1, 1, 1]"),
}
BY_SHARES = COLUMNS | {"v": SHARES["v"].replace("published", "sensitive")}
LABELS = "s,worth\nx,1\nx,2\ny,5\n"
PUBLIC = '[public]\nlabels = "labels.csv"'
NOISY_COUNTS = 'method = "noisy_counts"\ngamma = 0.3\n'
ALPHA_BETA = 'method = "alpha_beta"\ngamma = 0.3\n'
INDEPENDENT = 'adversary = "independent"\n'
POLICIES = {
    "one-sided": (NOISY_COUNTS + "d = 0.05\np = 0.5", COLUMNS),
    "signed": (NOISY_COUNTS + "d = 0.05", COLUMNS),
    "one-sided by shares": ('method = "noisy_counts"\ngamma = 0.5\ntimes = 1', BY_SHARES),
    "slots": (ALPHA_BETA + "d = 0.01\nslots = 16", COLUMNS),
    "distinct": (ALPHA_BETA + 'd = 0.03\nduplicates = "distinct"', COLUMNS),
    "tight": (ALPHA_BETA + f'd = 0.01\nduplicates = "distinct"\nparameters = "tight"\n{INDEPENDENT}', COLUMNS),
    "first of a sequence": (ALPHA_BETA + f"d = 0.01\nslots = 16\nviews = 2\n{INDEPENDENT}", COLUMNS),
    "shares": (ALPHA_BETA + f"d = 0.1\nslots = 16\n{INDEPENDENT}", SHARES),
    "frapp": ('method = "frapp"\nd = 0.0002\ngamma = 0.95', COLUMNS),
}
QUERIES = (
    "SELECT r, count(*) AS n, count(*) FILTER (WHERE s = 'y' AND a < 3) AS y, sum(v) AS t, sum(a) AS u FROM people "
    "GROUP BY r",
    "SELECT r, avg(a) AS m, sum(v) / count(*) AS q, 100 * sum(a) / sum(v + 25) AS o FROM people GROUP BY r",
    "SELECT r, s, count(*) AS n, sum(v - 2) AS t FROM people GROUP BY r, s",
    "SELECT r, sum(worth) AS w, count(*) AS n FROM people JOIN labels USING (s) GROUP BY r",
    "SELECT r, 2 * n - 7 AS twice, sqrt(n) AS root FROM (SELECT r, count(*) AS n FROM people WHERE a < 4 GROUP BY r)",
)


def people(rows: int = 300) -> str:
    """A table in which some tuples repeat and half of the domain is empty, once for each r."""
    dice = random.Random(3)
    listed = ", ".join(
        f"({int(5 * dice.random() ** 1.5)}, '{dice.choices('xyz', (6, 3, 1))[0]}', {dice.choice(VALUES)})"
        for _ in range(rows)
    )
    return (
        "CREATE TABLE people AS SELECT CAST(r AS INTEGER) AS r, t.* "
        f"FROM range({COPIES}) AS c(r), (VALUES {listed}) AS t(a, s, v)"
    )


def exactly() -> Any:
    """What is told, with all its digits."""
    return patch.object(questions, "_two_digits", lambda error: error)


def series(
    policy: RandomizedPolicy, query: str, told: dict[str, Any]
) -> Iterator[tuple[str, list[float | None], list[float]]]:
    """The errors that were told of a column, by other keys than r, and the answers of the release."""
    keys, columns = told["keys"], told["columns"]
    assert keys[0] == "r"
    path = policy.table.folder / "people-release.duckdb"
    with open_release(path) as release:
        answer = release.sql(query)
        found = [dict(zip(answer.columns, row, strict=True)) for row in answer.fetchall()]
    assert len(found) == len(told["groups"])
    for others in {tuple(g["keys"][1:]) for g in told["groups"]}:
        for place, column in enumerate(columns):
            errors = [g["standard_errors"][place] for g in told["groups"] if tuple(g["keys"][1:]) == others]
            answers = [row[column] for row in found if tuple(row[k] for k in keys[1:]) == others]
            yield f"{column} {others}", errors, answers


SLOW = {"tight", "first of a sequence", "shares"}


@pytest.mark.slow
@pytest.mark.parametrize("name", [pytest.param(n, marks=[pytest.mark.slow] * (n in SLOW)) for n in POLICIES])
def test_the_errors_that_are_told_are_those_of_releases(tmp_path: Path, name: str) -> None:
    release, columns = POLICIES[name]
    policy = write_noise_policy(tmp_path, columns, release, people(), {"labels.csv": LABELS}, more=PUBLIC)
    with exactly():
        planned = plan(policy, queries=QUERIES)
    assert ("a" in planned.content) == (name == "signed")
    publish_with(policy)
    judged = 0
    for query, told in zip(QUERIES, planned.content["queries"], strict=True):
        for label, errors, answers in series(policy, query, told):
            assert len(answers) == len(errors) == COPIES
            assert None not in errors
            known = [e for e in errors if e is not None]
            # Every copy of the table has the same coins, and so the same error.
            assert known == pytest.approx([known[0]] * COPIES, rel=1e-6)
            assert stdev(answers) == pytest.approx(known[0], rel=WITHIN), label
            judged += 1
    assert judged == 4 + 3 + 6 + 2 + 2


def test_of_a_bag_they_are_a_sum_that_can_be_done_by_hand(tmp_path: Path) -> None:
    """For 240 rows, 60 of them with a = 1, in a domain of 12 tuples, 3 of them with a = 1."""
    policy = write_noise_policy(
        tmp_path,
        {"a": published('"range:0..3"'), "s": published('["x", "y", "z"]')},
        'method = "noisy_counts"\nd = 0.05\ngamma = 0.3\np = 0.5',
        "CREATE TABLE people AS SELECT i % 4 AS a, 'x' AS s FROM range(240) AS c(i)",
    )
    with exactly():
        found = plan(policy, queries=["SELECT count(*), sum(a) FROM people", "SELECT count(*) FROM people WHERE a = 1"])
    p, q = found.content["p"], found.content["q"]
    row, noise = (1 - p) / p, q / ((1 - q) ** 2 * p**2)
    everything, some = (told["standard_errors"] for told in found.content["queries"])
    assert everything == pytest.approx(
        [math.sqrt(240 * row + 12 * noise), math.sqrt(60 * (1 + 4 + 9) * row + 3 * (1 + 4 + 9) * noise)]
    )
    assert some == pytest.approx([math.sqrt(60 * row + 3 * noise)])


def test_every_view_of_a_small_domain_taken_together_says_the_same(tmp_path: Path) -> None:
    """All 64 views of six tuples, three of them in the table, each with its probability."""
    columns = {"a": published("[1, 2, 5]"), "s": published('["x", "y"]')}
    policy = write_noise_policy(
        tmp_path,
        columns,
        'method = "alpha_beta"\nd = 0.1\ngamma = 0.5\nduplicates = "distinct"',
        "CREATE TABLE people AS FROM (VALUES (1, 'x'), (5, 'y'), (5, 'y'), (2, 'x')) AS t(a, s)",
    )
    with exactly():
        found = plan(policy, queries=["SELECT sum(a) FROM people", "SELECT s, count(*) FROM people GROUP BY s"])
    alpha, beta = found.content["alpha"], found.content["beta"]
    domain = list(itertools.product((1, 2, 5), "xy"))
    table = {(1, "x"), (5, "y"), (2, "x")}

    def deviation(f: Any) -> float:
        moments = [0.0, 0.0]
        for view in itertools.product((0, 1), repeat=len(domain)):
            chances = [alpha + beta if t in table else beta for t in domain]
            chance = math.prod(c if seen else 1 - c for c, seen in zip(chances, view, strict=True))
            estimate = sum(f(t) * (seen - beta) / alpha for t, seen in zip(domain, view, strict=True))
            moments = [moments[0] + chance * estimate, moments[1] + chance * estimate**2]
        assert moments[0] == pytest.approx(sum(map(f, table)))
        return math.sqrt(moments[1] - moments[0] ** 2)

    total, by_s = found.content["queries"]
    assert total["standard_errors"] == pytest.approx([deviation(lambda t: t[0])])
    for s, told in zip("xy", by_s["groups"], strict=True):
        assert told["keys"] == [s]
        assert told["standard_errors"] == pytest.approx([deviation(lambda t, s=s: t[1] == s)])


# --- what is told, and what is not ----------------------------------------------------------------

SMALL = {"a": published('"range:0..99"'), "s": published('["x", "it\'s"]', null="true")}
PEOPLE = "CREATE TABLE people AS SELECT i % 10 AS a, 'x' AS s FROM range(2000) AS c(i)"
NOISY = 'method = "noisy_counts"\nd = 0.05\ngamma = 0.3'


def small(folder: Path) -> RandomizedPolicy:
    return write_noise_policy(folder, SMALL, NOISY, PEOPLE)


def test_the_commands_tell_them_to_people_and_to_machines(tmp_path: Path) -> None:
    small(tmp_path)
    (tmp_path / "asked.sql").write_text(
        "-- how many; of all\nSELECT count(*) AS n FROM people; /* ; */\n\n"
        "SELECT a, count(*) FILTER (WHERE s <> ';') AS n, avg(a) AS m FROM people GROUP BY a;\n-- that is all\n",
        encoding="utf-8",
    )
    asked = ("plan", "policy.toml", "--queries", "asked.sql", "--query", "SELECT sum(a) FROM people")
    done = run(tmp_path, *asked, "--json")
    assert done.returncode == 0, done.stderr
    one, every, grouped = json.loads(done.stdout)["queries"]
    assert one["query"] == "SELECT sum(a) FROM people"
    assert every["query"] == "SELECT count(*) AS n FROM people"
    assert every["columns"] == ["n"]
    (error,) = every["standard_errors"]
    assert error == float(f"{error:.2g}") > 1
    assert grouped["keys"] == ["a"]
    assert grouped["columns"] == ["n", "m"]
    assert [g["keys"] for g in grouped["groups"]] == [[a] for a in range(100)]
    # Of a value that nobody has there is no average.
    assert [g["standard_errors"][1] is None for g in grouped["groups"]] == [a >= 10 for a in range(100)]
    assert grouped["largest"][0] == max(g["standard_errors"][0] for g in grouped["groups"])
    shown = run(tmp_path, *asked).stdout
    assert "for you, not for publication" in " ".join(shown.split())
    assert "and 60 more groups" in shown
    assert "median" in shown
    assert not list(tmp_path.glob("*release*"))


def test_two_digits_are_told(tmp_path: Path) -> None:
    policy = small(tmp_path)
    queries = ["SELECT count(*), sum(a), round(avg(a)) FROM people", "SELECT s, count(*) FROM people GROUP BY s"]
    with exactly():
        one, by_s = plan(policy, queries=queries).content["queries"]
    rounded, rounded_by_s = plan(policy, queries=queries).content["queries"]
    assert rounded["standard_errors"] == [float(f"{e:.2g}") for e in one["standard_errors"]]
    assert rounded["standard_errors"] != one["standard_errors"]
    errors = [g["standard_errors"][0] for g in by_s["groups"]]
    assert rounded_by_s["largest"] == [float(f"{max(errors):.2g}")]
    assert rounded_by_s["median"] == [float(f"{sorted(errors)[1]:.2g}")]
    assert fmean(errors) > 0


def test_of_a_ratio_that_may_be_anything_no_error_is_told(tmp_path: Path) -> None:
    """Noise falls on all values alike, and squares of values that nobody has are large."""
    asked = (
        "SELECT avg(a) AS m, sum(a) / sum(a * a) AS o, avg(a) - sum(a) / sum(a * a) AS d, sum(a * a) AS t FROM people"
    )
    (told,) = plan(small(tmp_path), queries=[asked]).content["queries"]
    mean, ratio, difference, total = told["standard_errors"]
    assert mean is not None
    assert ratio is difference is None
    assert total > 1e4
    assert "no standard error can be given" in run(tmp_path, "plan", "policy.toml", "--query", asked).stdout


def test_no_answer_is_told_nor_what_is_chosen_by_answers(tmp_path: Path) -> None:
    """Bounds may be named in a query over answers, and groups chosen and sorted by their estimates."""
    below = "(SELECT a, count(*) AS n FROM people GROUP BY a HAVING count(*) > 50 AND a < 80 ORDER BY 2 DESC LIMIT 20)"
    found = plan(
        small(tmp_path),
        queries=[
            f"SELECT a, n, n_low, n_high AS top FROM {below}",
            f"SELECT a, n_low AS b FROM {below} WHERE n > 100 AND a < 50",
            f"SELECT * FROM {below} UNION ALL SELECT a, 1 + n_low FROM {below} ORDER BY 2 LIMIT 3",
            f"SELECT a, CASE WHEN n > 100 THEN 'many' END AS c FROM {below}",
            "SELECT count(*) / (SELECT count(*) FROM people) AS share FROM people WHERE a = 1",
        ],
    ).content["queries"]
    named, filtered, united, cases, share = found
    assert named["keys"] == filtered["keys"] == united["keys"] == cases["keys"] == ["a"]
    assert [len(f["groups"]) for f in found[:4]] == [80, 50, 160, 80]
    for each in (filtered, cases):
        assert all(g["standard_errors"] == [None] for g in each["groups"])
    assert share["standard_errors"] == [None]


@pytest.mark.slow
def test_what_a_release_would_refuse_is_refused_before_anything_runs(tmp_path: Path) -> None:
    policy = small(tmp_path)
    publish_with(policy)
    for query in (
        "SELECT a FROM people",
        "SELECT max(a) FROM people",
        "SELECT count(*) FROM others",
        "DROP TABLE people",
    ):
        with (
            open_release(tmp_path / "people-release.duckdb") as release,
            pytest.raises(UnsupportedSQLError) as expected,
        ):
            release.sql(query)
        with (
            patch.object(questions, "run_rewritten", side_effect=AssertionError("it ran")),
            pytest.raises(UnsupportedSQLError) as found,
        ):
            plan(policy, queries=["SELECT count(*) FROM people", query])
        assert str(found.value) == str(expected.value)


def test_a_method_without_coins_says_which_tell_errors(tmp_path: Path) -> None:
    path = write_policy(
        tmp_path,
        policy_text({"a": qi(), "s": role("sensitive")}, "k = 2"),
        PEOPLE,
    )
    with pytest.raises(InputError) as found:
        plan(path, queries=["SELECT count(*) FROM people"])
    assert "generalize adds no random noise" in str(found.value)
    assert "only plans by noisy_counts, alpha_beta and frapp" in str(found.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "there is no file of queries 'asked.sql' that can be read as text"),
        (b"\xff\xfe", "there is no file of queries 'asked.sql' that can be read as text"),
        (b" -- nothing\n;;", "asked.sql holds no query"),
        (b"SELECT 'x", "is a quote or a comment left open?"),
    ],
)
def test_what_is_no_file_of_queries(tmp_path: Path, text: bytes | None, message: str) -> None:
    small(tmp_path)
    if text is not None:
        (tmp_path / "asked.sql").write_bytes(text)
    done = run(tmp_path, "plan", "policy.toml", "--queries", "asked.sql")
    assert done.returncode == 2
    assert message in " ".join(done.stderr.split())


def test_a_value_that_an_expression_refuses_is_no_raw_error(tmp_path: Path) -> None:
    with pytest.raises(SqlprivError, match="use TRY_CAST"):
        plan(small(tmp_path), queries=["SELECT sum(CAST(s AS INTEGER)) FROM people"])
