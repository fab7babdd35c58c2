"""The posterior of a method is that of one attacker: against Bayes' rule over every table that there could be."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from fractions import Fraction
from pathlib import Path

import duckdb
import pytest
from oracles.bags import counts
from oracles.buckets import groups_of
from oracles.sampling import sdgs_delta
from support.agreement import call
from support.bucket_policies import tables_of
from support.policies import write_policy

from sqlpriv.comparison.run import TWICE, rehearsed, times_of
from sqlpriv.macros.calls import Calls
from sqlpriv.methods import METHODS
from sqlpriv.methods.method import Request
from sqlpriv.methods.noisy.attackers import worst_posterior as worst_of_noise
from sqlpriv.methods.noisy.background import Background, Wanted
from sqlpriv.methods.sdgs.terms import guaranteed, linking_posterior
from sqlpriv.publishing import read_policy
from sqlpriv.release.file import open_file

pytestmark = [pytest.mark.slow, pytest.mark.one_version]

AGES = (10, 11, 12, 20, 21, 22, 23)
VALUES = "abc"
World = tuple[str, ...]
Chances = Mapping[Hashable, float]
"""By what is seen, its chance."""


Seen = Callable[[World], Chances]


def beliefs(seen: Seen, people: int, target: int, wanted: str) -> Iterator[tuple[Hashable, float]]:
    """What one believes after each thing that can be seen, who gave the target's value twice the odds, others none."""
    both: dict[Hashable, list[float]] = defaultdict(lambda: [0.0, 0.0])
    for world in itertools.product(VALUES, repeat=people):
        prior = TWICE if world[target] == wanted else 1.0
        for outcome, chance in seen(world).items():
            both[outcome][world[target] == wanted] += prior * chance
    for outcome, (other, own) in both.items():
        yield outcome, own / (own + other)


def worst(seen: Seen, people: int, outcome: Hashable) -> float:
    """The largest belief in any value of anybody, once this is seen."""
    return max(
        belief
        for target, wanted in itertools.product(range(people), VALUES)
        for found, belief in beliefs(seen, people, target, wanted)
        if found == outcome
    )


def in_classes(classes: Sequence[Hashable]) -> Seen:
    """Everybody's class is known, and the values in each of them."""
    return lambda world: {tuple(sorted(zip(map(str, classes), world, strict=True))): 1.0}


def figure(folder: Path, values: str, rest: str, person: str = "drop") -> tuple[float | None, Path]:
    """What is told of a release of this table, and the release as a copy."""
    rows = ", ".join(f"({age}, '{v}', {i // 2})" for i, (age, v) in enumerate(zip(AGES, values, strict=True)))
    coarse = 'age = { role = "quasi-identifier", hierarchy = "ranges:10", domain = "range:0..99" }'
    listed = f'{coarse}\ns = {{ role = "sensitive", domain = ["a", "b", "c"] }}\nwho = {{ role = "{person}" }}'
    text = f'[table]\ndatabase = "private.duckdb"\nsource = "people"\n[columns]\n{listed}\n{rest}\n'
    made = f"CREATE TABLE people AS FROM (VALUES {rows}) AS v(age, s, who)"
    policy = read_policy(write_policy(folder, text, made))
    with rehearsed(policy, folder, None, Request()) as (plan, written):
        kept = folder / "kept.duckdb"
        kept.write_bytes(written.output.read_bytes())
        with open_file(written.output) as file:
            return METHODS[policy.method].posterior(plan, file, times_of(policy)), kept


GENERALIZE = '[require]\nk = 3\n[release]\nmethod = "generalize"\nnode = { age = 1 }'


@pytest.mark.some(1)
@pytest.mark.parametrize("values", ["aabbcac", "abcabca", "aaabbbc"])
def test_of_classes(tmp_path: Path, values: str) -> None:
    """A share of 2/3 is believed with 4/5 by one who thought of twice the odds; one value alone is known."""
    found, _ = figure(tmp_path, values, GENERALIZE)
    seen = in_classes([age // 10 for age in AGES])
    (outcome,) = seen(tuple(values))
    assert found == pytest.approx(worst(seen, len(AGES), outcome), rel=1e-12)


def test_of_classes_that_persons_may_share(tmp_path: Path) -> None:
    """That one of two rows has a value is believed more than a share, so nothing is told."""
    assert figure(tmp_path, "aabbcac", GENERALIZE.replace("k = 3", "k = 2"), "person")[0] is None


SLICING = '[release]\nmethod = "slicing"\ngroups = [["age"], ["s"]]\nbucket = 3'
ANATOMY = '[require]\ndistinct_l = 2\n[release]\nmethod = "anatomy"'


@pytest.mark.some(1)
@pytest.mark.parametrize(("rest", "values"), [(ANATOMY, "aabbcac"), (SLICING, "aabbcac"), (SLICING, "aaabbbc")])
def test_of_buckets(tmp_path: Path, rest: str, values: str) -> None:
    found, release = figure(tmp_path, values, rest)
    sides = tables_of(release)
    bucket_of = {age: bucket for bucket, age in sides["published"]}
    outcome = tuple(sorted((str(bucket), value) for bucket, value in sides["side_2"]))
    assert found == pytest.approx(worst(in_classes([bucket_of[a] for a in AGES]), len(AGES), outcome), rel=1e-12)


def test_of_anatomy_with_its_coins() -> None:
    """Groups depend on the values; all the same, nobody learns more than the share in a group by them."""
    people, number = 5, 2

    def seen(world: World) -> Chances:
        if max(map(world.count, world)) > number:
            return {}  # refused
        chances: dict[Hashable, float] = defaultdict(float)
        for coins in itertools.permutations(range(people)):
            groups = groups_of(number, sorted(range(people), key=lambda i: (world[i], coins[i])))
            outcome = tuple((frozenset(g), "".join(sorted(world[i] for i in g))) for g in groups)
            chances[outcome] += 1 / math.factorial(people)
        return chances

    for target, wanted in [(0, "a"), (4, "b")]:
        for outcome, belief in beliefs(seen, people, target, wanted):
            assert isinstance(outcome, tuple)
            (values,) = [v for members, v in outcome if target in members]
            share = values.count(wanted) / len(values)
            assert belief == pytest.approx(TWICE * share / (1 - share + TWICE * share))


KNOWN = Background((Wanted("s", len(VALUES)),), ("age",), 2 * len(VALUES), TWICE, 1)


@pytest.mark.parametrize("factor", [1.5, 4.0])
def test_of_bags(con: duckdb.DuckDBPyConnection, factor: float) -> None:
    """Two people of one age: how often each value is seen among noise, up to five times."""
    told = worst_of_noise(Calls(con), KNOWN, factor)
    p = call(con, "bag_choice", 10, 6, factor)[0][0]
    q = call(con, "bag_noise", p, factor)[0][0]
    likely = [[float(c) for c in counts(copies, Fraction(p), Fraction(q), 5)] for copies in range(3)]

    def seen(world: World) -> Chances:
        each = [likely[world.count(v)] for v in VALUES]
        return {o: math.prod(e[n] for e, n in zip(each, o, strict=True)) for o in itertools.product(range(6), repeat=3)}

    found = max(belief for _, belief in beliefs(seen, 2, 0, "a"))
    assert told is not None
    assert 1 / 2 < found <= told * (1 + 1e-9)


def test_of_frapp(con: duckdb.DuckDBPyConnection) -> None:
    """One value stays with four times the chance of another: which is reached where nobody else is there."""
    told = worst_of_noise(Calls(con), KNOWN, 4.0)
    stay, move = 4 / 6, 1 / 6

    def seen(world: World) -> Chances:
        chances: dict[Hashable, float] = defaultdict(float)
        for shown in itertools.product(VALUES, repeat=len(world)):
            chances[tuple(sorted(shown))] += math.prod(
                stay if s == w else move for s, w in zip(shown, world, strict=True)
            )
        return chances

    assert max(b for _, b in beliefs(seen, 1, 0, "a")) == pytest.approx(told)
    assert told is not None
    assert max(b for _, b in beliefs(seen, 3, 0, "a")) <= told * (1 + 1e-9)


def test_noise_by_shares_is_judged_by_the_worst_of_all_values(con: duckdb.DuckDBPyConnection) -> None:
    """Not by the commonest one alone."""
    known = Background((Wanted("s", 3, (0.2, 0.3, 0.5)),), (), 3, TWICE, 1)
    told = worst_of_noise(Calls(con), known, 9.0, (9.0, 2.0, 1.5))
    assert told == pytest.approx(0.5 * 9 / (1 + 0.5 * 9)), "odds of 2 * 0.2 / 0.8, nine times"
    assert worst_of_noise(Calls(con), Background((Wanted("s", 1),), (), 3, TWICE, 1), 9.0) is None


def test_of_samples_in_the_mean(con: duckdb.DuckDBPyConnection) -> None:
    """With a chance that delta bounds a value is seen for certain; the mean over the coins stays below the figure."""
    people, four = 4, {"epsilon": 0.7, "k": 3.0, "beta": 0.1, "delta": sdgs_delta(3, 0.1, 0.7)}
    told = linking_posterior(Calls(con), guaranteed(Calls(con), four, 0.0, 1, False, 1), [len(VALUES)])

    def seen(world: World) -> Chances:
        chances: dict[Hashable, float] = defaultdict(float)
        for sampled in itertools.product((False, True), repeat=people):
            rows = [v for v, s in zip(world, sampled, strict=True) if s]
            shown = tuple(rows.count(v) if rows.count(v) >= four["k"] else 0 for v in VALUES)
            chances[shown] += math.prod(four["beta"] if s else 1 - four["beta"] for s in sampled)
        return chances

    after = dict(beliefs(seen, people, 0, "a"))
    worlds = [("a", *rest) for rest in itertools.product(VALUES, repeat=people - 1)]
    mean = sum(chance * after[o] for world in worlds for o, chance in seen(world).items()) / len(worlds)
    assert told is not None
    assert 1 / 2 < mean <= told < 1


def test_all_say_of_whom_it_is() -> None:
    assert {method.posterior_holds.split(",")[0] for method in METHODS.values()} == {
        "knows the quasi-identifiers",
        "knows all else of the person",
        "holds the dictionary",
    }
