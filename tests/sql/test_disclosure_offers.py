"""All that is worth disclosing, against brute force: pairs, personal weights, psi by cells, several dictionaries."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass

import duckdb
import oracles
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles.disclosure import Cells
from support import dictionaries
from support.dictionaries import Risk, risks, structs
from support.strategies import EXAMPLES

TESTED = {"disclosure_offers", "personal_disclosure_offers", "disclosure_choices", "personal_disclosure_choices"}
Con = duckdb.DuckDBPyConnection
ONE, TWO = (f"'\"{name}\"'" for name in dictionaries.TABLES[1:])


@dataclass(frozen=True)
class Asked:
    """What is drawn for a question: attributes that dictionaries know, weights of cells and of a set."""

    known: list[bool]
    phi: list[float]
    psi: list[float | None]
    together: list[int]
    """The attributes of the set, or none."""
    worse: float
    constant: float
    form: str
    priors: list[float] | None
    """None: the worst of both dictionaries."""

    def items(self, risk: Risk) -> list[dict[str, object]]:
        names = [dictionaries.expression(name) for name in risk.columns]
        found: list[dict[str, object]] = [
            {
                "attribute": name,
                "also": None,
                "weight": self.phi[place],
                "psi": self.psi[place],
                "hierarchy": risk.hierarchy(place),
                "entry": name if self.known[place] else None,
            }
            for place, name in enumerate(names)
        ]
        if self.together:
            first, *others = (names[place] for place in self.together)
            own: dict[str, object] = {"attribute": first, "also": others, "weight": self.worse, "psi": None}
            found.append({**own, "hierarchy": None, "entry": None})
        return found

    def harms(self, risk: Risk, phi: Sequence[float], worse: float) -> oracles.Harms:
        """How much it harms to tell something of who is found, and of who is not."""
        ones = [1.0] * len(phi)

        def found(labels: Cells) -> float:
            sets = {tuple(self.together): worse} if self.together else {}
            return oracles.sensitivity(labels, risk.trees, phi, ones, sets, self.form)

        def missed(labels: Cells) -> float:
            if all(weight is None for weight in self.psi):
                return self.constant
            own = [weight or 0.0 for weight in self.psi]
            return self.constant + oracles.sensitivity(labels, risk.trees, own, ones, {}, self.form)

        return found, missed


def drawn(risk: Risk, chance: random.Random) -> Asked:
    places = range(len(risk.columns))
    has_psi = chance.random() < 0.4
    return Asked(
        [place == 0 or chance.random() < 0.7 for place in places],
        [chance.choice([0.0, 0.25, 1.0, math.inf]) for _ in places],
        [chance.choice([None, 0.0, 0.1, 2.0]) if has_psi else None for _ in places],
        chance.sample(places, chance.randint(2, len(places))) if len(places) > 1 and chance.random() < 0.5 else [],
        chance.choice([0.5, 3.0]),
        chance.choice([0.0, 0.0, 0.5]),
        chance.choice(["linear", "multiplicative"]),
        chance.choice([None, [0.25, 0.75], [1.0, 0.0]]),
    )


def arguments(risk: Risk, asked: Asked) -> str:
    one, two = asked.priors or (0.5, 0.5)
    held = f"MAP {{{ONE}: {one}, {TWO}: {two}}}"
    return f"'t', {held}, {structs(asked.items(risk))}, '{asked.form}', {asked.constant}"


def judged(asked: Asked) -> str:
    return "'worst'" if asked.priors is None else "'bayes'"


def listed(con: Con, call: str) -> dict[int, list[tuple[float, ...]]]:
    """The losses and the utility of all choices of every record, in order; none is listed twice."""
    found: dict[int, list[tuple[float, ...]]] = {}
    rows = con.execute(f'SELECT record."row #", depths, loss, utility, losses FROM priv.{call}').fetchall()
    for number, depths, loss, utility, losses in rows:
        assert (sum(depths), max(losses)) == (utility, loss)
        found.setdefault(number, []).append((*losses, float(utility)))
    assert all(len(own) == len(set(own)) for own in found.values())
    return {number: sorted(own) for number, own in found.items()}


def same_choices(found: list[tuple[float, ...]], expected: list[tuple[tuple[float, ...], int]]) -> bool:
    """Whether each is among the others, but for what rounding makes of it."""
    other = [(*losses, float(utility)) for losses, utility in expected]

    def among(one: tuple[float, ...], all_: list[tuple[float, ...]]) -> bool:
        return any(one == pytest.approx(own, rel=1e-9, abs=1e-12) for own in all_)

    return all(among(one, other) for one in found) and all(among(one, found) for one in set(other))


def offered(con: Con, call: str) -> dict[int, dict[int, float]]:
    """The loss of every record and utility; what is told is as useful as it says."""
    found: dict[int, dict[int, float]] = {}
    rows = con.execute(f'SELECT record."row #", depths, loss, utility FROM priv.{call}').fetchall()
    for number, depths, loss, utility in rows:
        assert sum(depths) == utility
        assert utility not in found.setdefault(number, {})
        found[number][utility] = loss
    return found


@settings(max_examples=max(EXAMPLES // 8, 3))
@given(risk=risks(), seed=st.integers(0, 2**32))
def test_for_every_utility_the_least_loss_is_offered(con: Con, risk: Risk, seed: int) -> None:
    dictionaries.create(con, risk)
    asked = drawn(risk, random.Random(seed))
    found = offered(con, f"disclosure_offers({arguments(risk, asked)}, {judged(asked)})")
    choices = listed(con, f"disclosure_choices({arguments(risk, asked)})")
    for number, record in enumerate(risk.records):
        harms = asked.harms(risk, asked.phi, asked.worse)
        best = oracles.disclosure_offers(record, risk.entries, risk.trees, asked.known, harms, asked.priors)
        assert found[number] == pytest.approx(best, rel=1e-9)
        every = oracles.disclosure_choices(record, risk.entries, risk.trees, asked.known, harms)
        assert same_choices(choices[number], every)


@pytest.mark.slow
@settings(max_examples=max(EXAMPLES // 12, 3))
@given(risk=risks(), seed=st.integers(0, 2**32))
def test_everybody_is_offered_what_is_least_by_their_own_weights(con: Con, risk: Risk, seed: int) -> None:
    dictionaries.create(con, risk)
    chance = random.Random(seed)
    asked = drawn(risk, chance)
    names = [dictionaries.expression(name) for name in risk.columns]
    names += [" and ".join(names[place] for place in asked.together)] if asked.together else []
    own = [[chance.choice([0.0, 0.5, 2.0]) for _ in names] for _ in risk.records]
    con.execute("CREATE OR REPLACE TABLE minds (p VARCHAR, a VARCHAR, w DOUBLE)").fetchall()
    rows = [[str(at), name, w] for at, mine in enumerate(own) for name, w in zip(names, mine, strict=True)]
    con.executemany("INSERT INTO minds VALUES (?, ?, ?)", rows)
    most = max(map(sum, own))
    call = f"personal_disclosure_offers({arguments(risk, asked)}, {judged(asked)}, 'row #', 'minds', "
    found = offered(con, f"{call}{most})")
    choices = listed(con, f"personal_disclosure_choices({arguments(risk, asked)}, 'row #', 'minds', {most})")
    singles = len(risk.columns)
    for number, (record, mine) in enumerate(zip(risk.records, own, strict=True)):
        harms = asked.harms(risk, mine[:singles], mine[-1])
        best = oracles.disclosure_offers(record, risk.entries, risk.trees, asked.known, harms, asked.priors)
        assert found[number] == pytest.approx(best, rel=1e-9)
        every = oracles.disclosure_choices(record, risk.entries, risk.trees, asked.known, harms)
        assert same_choices(choices[number], every)
    if most > 0:
        with pytest.raises(duckdb.Error, match="add up to more than the total"):
            offered(con, f"{call}{most * 0.9})")


def test_a_person_without_weights_is_refused(example_tables: Con) -> None:
    example_tables.execute("CREATE OR REPLACE TABLE some_mind AS FROM minded WHERE id > 1").fetchall()
    given_ = "'members', 'phone_book', [{attribute: 'city', hierarchy: 'cities', entry: 'city'}], 'linear', 0, 'bayes'"
    with pytest.raises(duckdb.Error, match="has no weight for an attribute"):
        example_tables.execute(f"FROM priv.personal_disclosure_offers({given_}, 'id', 'some_mind', 9)").fetchall()


@pytest.mark.parametrize(
    ("held", "judge", "complaint"),
    [
        ("'phone_book'", "'mean'", "must be bayes or worst"),
        ("'phone_book'", "NULL", "must be bayes or worst"),
        ("MAP {'phone_book': 0.5, 'town_book': 0.6}", "'worst'", "must be at least 0 and add up to 1"),
        ("['phone_book']", "'worst'", "must be a map from tables to priors"),
    ],
)
def test_dictionaries_that_cannot_be_judged_are_refused(
    example_tables: Con, held: str, judge: str, complaint: str
) -> None:
    weights = "[{attribute: 'city', hierarchy: 'cities', entry: 'city'}]"
    call = f"FROM priv.disclosure_offers('members', {held}, {weights}, 'linear', 0, {judge})"
    with pytest.raises(duckdb.Error, match=complaint):
        example_tables.execute(call).fetchall()
