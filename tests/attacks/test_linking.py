"""Linking: who knows the sex and the stay of lone patients looks up the diagnosis in noisy counts of the demo table.

How often they are right is held against what the bound allows for what they believed before, and not against gamma: 25
of the 30 people alone have one of two diagnoses, and who knows that believes more than d to begin with. One of these
people has a diagnosis with its share b among them; so of those who guess it at most b L / (1 - b + b L) are right,
whatever makes them guess. The keys are fixed; of other keys one in 700 would miss by three standard errors, if the
bound were reached.
"""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Callable, Hashable, Mapping
from functools import partial
from pathlib import Path

import duckdb
import pytest
from support.agreement import call
from support.linking import likeliest, lone_match, shown_values, top_match
from support.policies import role
from support.randomized_policies import publish_with, published, write_noise_policy

from sqlpriv.demo import hospital

pytestmark = pytest.mark.one_version

Con = duckdb.DuckDBPyConnection
Guess = Callable[[Counter[Hashable]], list[Hashable]]
KNOWN, SENSITIVE = ("sex", "length_of_stay"), "diagnosis"
COLUMNS = {
    "patient_id": role("identifier"),
    "zip": role("drop"),
    "birth_date": role("drop"),
    "sex": published('["F", "M", "X"]'),
    "nationality": role("drop"),
    "admission_date": role("drop"),
    "diagnosis": published('"table:hospital_diagnosis.parquet.diagnosis"', null="true"),
    "length_of_stay": published('"range:1..90"', outside='"drop"'),
}
NOISY = 'method = "noisy_counts"\ngamma = 0.3\nn_public = 24000\n'
D = 0.0606  # 2/33: 32 diagnoses, none more than twice as likely as the others
KINDS = {"signed": "", "one-sided": "p = 0.375\n"}
KEYS = 6


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The demo table in a folder."""
    folder = tmp_path_factory.mktemp("linking")
    hospital.write(folder)
    return folder


@pytest.fixture(scope="module")
def alone(demo: Path) -> dict[Hashable, Hashable]:
    """The diagnoses of people who are alone in their sex and stay."""
    query = (
        f"SELECT sex, length_of_stay, any_value(diagnosis) FROM '{demo / 'hospital.parquet'}' "
        "WHERE length_of_stay BETWEEN 1 AND 90 GROUP BY sex, length_of_stay HAVING count(*) = 1"
    )
    with duckdb.connect() as con:
        people: dict[Hashable, Hashable] = {(sex, stay): value for sex, stay, value in con.execute(query).fetchall()}
    assert len(people) == 30
    assert sum(times for _, times in Counter(people.values()).most_common(2)) == 25
    return people


def views(folder: Path, release: str, keys: int) -> list[Mapping[Hashable, Counter[Hashable]]]:
    """What releases with so many keys show, each made as if there were no other."""
    policy = write_noise_policy(folder, COLUMNS, NOISY + release, table='source = "hospital.parquet"')
    found = []
    for key in range(keys):
        result = publish_with(policy, f"key number {key} of the attackers".encode(), force=False)
        found.append(shown_values(result.written.output, KNOWN, SENSITIVE))
        for file in (result.written.output, folder / "ledger.json"):
            file.unlink()
    return found


def shares(people: Mapping[Hashable, Hashable]) -> dict[Hashable, float]:
    return {value: times / len(people) for value, times in Counter(people.values()).items()}


def guesses(
    shown: list[Mapping[Hashable, Counter[Hashable]]], people: Mapping[Hashable, Hashable], guess: Guess
) -> list[tuple[Hashable, bool]]:
    """What is guessed of whom, pooled over all views, and whether it is right."""
    return [
        (value, value == truth)
        for view in shown
        for place, truth in people.items()
        for value in guess(view.get(place, Counter()))
    ]


def excess(con: Con, found: list[tuple[Hashable, bool]], prior: Mapping[Hashable, float], factor: float) -> float:
    """By how many standard errors more guesses are right than the curve allows.

    The error is that of guesses which reach the curve: where it is nearly 1, those that were seen may all be right and
    show none.
    """
    curve = {value: float(call(con, "posterior_bound", b, factor)[0][0]) for value, b in prior.items()}
    allowed = [curve.get(value, 0.0) for value, _ in found]
    right = sum(is_right for _, is_right in found)
    return (right - math.fsum(allowed)) / math.sqrt(math.fsum(share * (1 - share) for share in allowed))


def share_right(found: list[tuple[Hashable, bool]]) -> float:
    return statistics.mean(right for _, right in found)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_linking_is_right_no_more_often_than_the_curve_allows(
    con: Con, demo: Path, alone: dict[Hashable, Hashable], kind: str
) -> None:
    factor, prior = call(con, "odds_factor", D, 0.3)[0][0], shares(alone)
    shown = views(demo, f"d = {D}\n{KINDS[kind]}", KEYS)
    taken = guesses(shown, alone, top_match)
    known = guesses(shown, alone, partial(likeliest, prior=prior, factor=factor))
    assert len(taken) > 40
    assert len(known) == KEYS * len(alone)
    assert excess(con, taken, prior, factor) < 3
    assert excess(con, known, prior, factor) < 3
    # What the population teaches is not hidden, and docs/noise.md says so: gamma is for beliefs of at most d.
    assert share_right(known) > 0.3


@pytest.mark.slow
def test_with_a_d_that_no_attacker_has_linking_succeeds(con: Con, demo: Path, alone: dict[Hashable, Hashable]) -> None:
    """With d = .001 every promise is kept and most diagnoses are read off: the test above would notice."""
    promised, own = (call(con, "odds_factor", d, 0.3)[0][0] for d in (D, 0.001))
    prior, shown = shares(alone), views(demo, "d = 0.001\n", KEYS)
    for guess in (lone_match, top_match, partial(likeliest, prior=prior, factor=own)):
        found = guesses(shown, alone, guess)
        assert len(found) > 40
        assert share_right(found) > 0.8
        assert excess(con, found, prior, promised) > 3
        assert excess(con, found, prior, own) < 3
