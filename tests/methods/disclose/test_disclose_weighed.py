"""Pairs, people's own weights, psi of cells and several dictionaries in a policy: the best, published and verified."""

from __future__ import annotations

import math
import random
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import oracles
import pytest
from oracles.disclosure import Cells
from support.commands import run
from support.disclosures import BOOK, COLUMNS, FILE, PEOPLE, RISK, checks, written_policy
from support.policies import write_policy

from sqlpriv.core.errors import PolicyError
from sqlpriv.methods.disclose.choose import Chosen
from sqlpriv.methods.disclose.plan import DisclosePlan
from sqlpriv.publishing import planned, publish, read_policy
from sqlpriv.risk.minimax import Minimax

pytestmark = pytest.mark.slow

# --- the best of all rules ----------------------------------------------------------------------

TREES = (
    [["a1", "x", "*"], ["a2", "x", "*"], ["a3", "y", "*"]],
    [["b1", "u", "*"], ["b2", "v", "*"], ["b3", "v", "*"]],
    [["s1", "*"], ["s2", "*"]],
)
COUNT = len(TREES)


@dataclass(frozen=True)
class Instance:
    """A table of few people, what they mind, and what an attacker may hold."""

    people: list[list[str]]
    books: list[list[list[str | None]]]
    phi: list[list[float]]
    """Of every person the weights of columns and, last, of some together."""
    together: tuple[int, ...]
    psi: list[float]
    constant: float
    is_personal: bool
    form: str
    judge: str
    priors: list[float]
    goal: str
    c: float

    def write(self, folder: Path) -> Path:
        """A policy for it, with its database."""
        trees = [f"CREATE TABLE tree_{n} AS FROM {_values(t)} AS v" for n, t in zip("abs", TREES, strict=True)]
        books = [f"CREATE TABLE book_{i} AS FROM {_values(b)} AS v(a, b)" for i, b in enumerate(self.books)]
        rows = [[str(i), *cells] for i, cells in enumerate(self.people)]
        columns_together = ["abs"[place] for place in self.together]
        names = ("a", "b", "s", " and ".join(reversed(columns_together)))
        minds = [[str(i), name, w] for i, own in enumerate(self.phi) for name, w in zip(names, own, strict=True)]
        tables = [f"CREATE TABLE people AS FROM {_values(rows)} AS v(id, a, b, s)", *trees, *books]
        tables.append(f"CREATE TABLE minds AS FROM {_values(minds)} AS v(p, a, w)")
        columns = [
            f'{name} = {{ role = "quasi-identifier", hierarchy = "table:tree_{name}", psi = {self.psi[i]}'
            + ("" if self.is_personal else f", weight = {self.phi[0][i]}")
            + " }"
            for i, name in enumerate("abs")
        ]
        pair = "" if self.is_personal else f", weight = {self.phi[0][-1]}"
        held = [f'{{ source = "table:book_{i}", prior = {p} }}' for i, p in enumerate(self.priors)]
        given = [f'judge = "{self.judge}"', f"dictionaries = [{', '.join(held)}]"]
        if len(held) == 1:
            given = ['dictionary = "table:book_0"']
        personal = ['personal = { source = "table:minds", total = inf }'] if self.is_personal else []
        lines = [
            "[table]", 'database = "private.duckdb"', 'source = "people"',
            "[columns]", 'id = { role = "person" }', *columns,
            "[release]", 'method = "disclose"', f'goal = "{self.goal}"', f"c = {self.c}", f'form = "{self.form}"',
            f"psi = {self.constant}", f"pairs = [{{ columns = {columns_together}{pair} }}]", *given, *personal,
        ]  # fmt: skip
        return write_policy(folder, "\n".join(lines), "; ".join(tables))

    def harms(self, person: int) -> oracles.Harms:
        """How much it harms a person to tell something of who is found, and of who is not."""
        own, ones = self.phi[person if self.is_personal else 0], [1.0] * COUNT

        def phi(labels: Cells) -> float:
            return oracles.sensitivity(labels, TREES, own[:COUNT], ones, {self.together: own[-1]}, self.form)

        def psi(labels: Cells) -> float:
            by_cells = oracles.sensitivity(labels, TREES, self.psi, ones, {}, self.form) if any(self.psi) else 0.0
            return self.constant + by_cells

        return phi, psi

    @property
    def filled_books(self) -> list[list[list[str | None]]]:
        """The dictionaries, which do not know the last column."""
        return [[[*entry, None] for entry in book] for book in self.books]

    def offers(self, person: int) -> dict[int, float]:
        """Of a person the least loss for every utility, by trying all."""
        priors = None if self.judge == "worst" and len(self.books) > 1 else self.priors
        harms = self.harms(person)
        return oracles.disclosure_offers(
            self.people[person], self.filled_books, TREES, [True, True, False], harms, priors
        )

    @property
    def is_minimax(self) -> bool:
        """Whether the largest of the risks against each dictionary counts."""
        return self.judge == "worst" and len(self.books) > 1 and self.goal != "utility"

    def minimax(self) -> float:
        """The least of the largest risks, or of risk - c utility, by all rules: equal records have one choice."""
        copies = Counter((*cells, i if self.is_personal else 0) for i, cells in enumerate(self.people))
        records = []
        for person, cells in enumerate(self.people):
            number = copies.pop((*cells, person if self.is_personal else 0), 0)
            if number:
                harms = self.harms(person)
                every = oracles.disclosure_choices(cells, self.filled_books, TREES, [True, True, False], harms)
                price = self.c if self.goal == "both" else 0.0
                costs = [[loss - price * u for loss in losses] for losses, u in every if self._keeps(max(losses), u)]
                records.append((number, costs))
        return oracles.minimax_cost(records)

    def best(self) -> list[tuple[float, float]] | None:
        """The loss and the utility of everybody; None where somebody has no choice that keeps c."""
        found = []
        for person in range(len(self.people)):
            kept = [(loss, u) for u, loss in self.offers(person).items() if self._keeps(loss, u)]
            if not kept:
                return None
            found.append(min(kept, key=lambda one: self._order(*one)))
        return found

    def _keeps(self, loss: float, utility: float) -> bool:
        return {"risk": utility >= self.c, "utility": loss <= self.c * (1 + 1e-12), "both": True}[self.goal]

    def _order(self, loss: float, utility: float) -> tuple[float, float]:
        if self.goal == "utility":
            return -utility, loss
        return (loss, -utility) if self.goal == "risk" else (loss - self.c * utility, loss)


def _values(rows: list[list[Any]]) -> str:
    def shown(cell: Any) -> str:
        return "NULL" if cell is None else repr(cell)

    return f"(VALUES {', '.join('(' + ', '.join(map(shown, row)) + ')' for row in rows)})"


def drawn(seed: int) -> Instance:
    chance = random.Random(seed)

    def cells() -> list[str]:
        return [chance.choice(tree)[0] for tree in TREES]

    def entry() -> list[str | None]:
        return [chance.choice([chance.choice(tree)[0], chance.choice(chance.choice(tree)), None]) for tree in TREES[:2]]

    # Every value is somebody's: what is below a label are the values that there are.
    people = [[tree[i % len(tree)][0] for tree in TREES] for i in range(3)] + [cells() for _ in range(5)]
    books = [[entry() for _ in range(chance.randint(2, 12))] for _ in range(chance.choice([1, 2, 3]))]
    goal = chance.choice(["risk", "utility", "both"])
    return Instance(
        people,
        books,
        [[chance.choice([0.0, 0.25, 1.5, 3.0]) for _ in range(COUNT + 1)] for _ in people],
        ((0, 1), (0, 1, 2), (1, 2))[seed % 3],
        chance.choice([[0.0] * COUNT, [chance.choice([0.0, 0.1, 1.0]) for _ in range(COUNT)]]),
        chance.choice([0.0, 0.2]),
        chance.random() < 0.5,
        chance.choice(["linear", "multiplicative"]),
        chance.choice(["bayes", "worst"]),
        {1: [1.0], 2: [0.25, 0.75], 3: [0.5, 0.25, 0.25]}[len(books)],
        goal,
        {"risk": chance.choice([1.0, 3.0]), "utility": chance.choice([0.3, 1.0, 2.0]), "both": 0.2}[goal],
    )


@pytest.mark.parametrize("seed", range(24))
@pytest.mark.some(2)
def test_no_rule_is_better(tmp_path: Path, seed: int) -> None:
    instance = drawn(seed)
    best = instance.best()
    policy = instance.write(tmp_path)
    if best is None:
        with pytest.raises(PolicyError, match="no choice has a loss of at most c"):
            chosen_by(policy)
        return
    chosen, count = chosen_by(policy), len(best)
    risk, utility = (math.fsum(one[i] for one in best) / count for i in (0, 1))
    if instance.is_minimax:
        assert chosen.minimax is not None
        check_bounds(chosen.minimax, instance.minimax())
    elif instance.goal == "both":  # two choices may be worth the same
        assert chosen.risk - instance.c * chosen.utility == pytest.approx(risk - instance.c * utility, rel=1e-9)
    else:
        expected = (risk, max(loss for loss, _ in best))
        assert (chosen.risk, chosen.worst) == pytest.approx(expected, rel=1e-9, abs=1e-12)
        assert instance.goal == "risk" or chosen.utility == pytest.approx(utility)


def check_bounds(found: Minimax, best: float) -> None:
    """No rule is below the lower bound, this one is at the upper one, and at a gap of 0 none is better."""
    assert found.upper == max(found.risks)
    assert found.gap >= 0
    assert found.lower - 1e-9 <= best <= found.upper + 1e-9
    assert found.gap or found.upper == pytest.approx(best, rel=1e-9, abs=1e-12)


def chosen_by(policy: Path) -> Chosen:
    with planned(read_policy(policy)) as found:
        assert isinstance(found, DisclosePlan)
        return found.chosen


# --- published and verified ---------------------------------------------------------------------

TABLES = f"""{PEOPLE}; {BOOK}; CREATE TABLE town AS SELECT city, sex FROM people UNION ALL SELECT NULL, 'M';
CREATE TABLE minds AS SELECT ssn AS p, unnest(['age', 'CITY', 'sex', 'ill']) AS a, 0.5 + ssn % 3 AS w FROM people
UNION ALL SELECT ssn, 'city and age', 1 FROM people;
CREATE TABLE strange AS SELECT ssn, 'town' AS a, 1 AS w FROM people; CREATE TABLE bare AS SELECT 1 AS a;
CREATE TABLE few AS FROM minds WHERE p > 0; CREATE TABLE twice AS FROM minds UNION ALL FROM minds;
CREATE TABLE negative AS SELECT p, a, -w AS w FROM minds"""
BY_ITSELF = {"age": COLUMNS["age"].replace(', entry = "2026 - birth"', "")}
OWN = {
    "ssn": '{ role = "person" }',
    **{name: COLUMNS[name].replace(f"weight = {weight}, ", "") for name, weight in
       (("age", 0.5), ("city", 0.3), ("sex", 0.1), ("ill", 2))},
}  # fmt: skip
BOTH = (
    'dictionaries = [{ source = "table:book", prior = 0.4, entries = { age = "2026 - birth" } }, '
    '{ source = "table:town", prior = 0.6 }]'
)
PUBLISHED = {
    "pairs": ('goal = "utility"\nc = 0.05\ndictionary = "table:book"\npairs = [{ columns = ["city", "age"] }]', {}),
    "psi of cells": (
        'goal = "both"\nc = 0.01\npsi = 0.01\ndictionary = "table:book"',
        {"ill": COLUMNS["ill"].replace("weight = 2", "weight = 2, psi = 0.1")},
    ),
    "priors": (f'goal = "risk"\nc = 2\njudge = "bayes"\n{BOTH}', BY_ITSELF),
    "the worst": (f'goal = "utility"\nc = 0.02\n{BOTH}', BY_ITSELF),
    "the mean of the worst": (f'goal = "utility"\nc = 0.01\nper = "average"\n{BOTH}', BY_ITSELF),
    "personal": (
        'goal = "utility"\nc = 0.05\ndictionary = "table:book"\npairs = [{ columns = ["age", "city"] }]\n'
        'personal = { source = "table:minds", total = 11 }',
        OWN,
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", PUBLISHED)
def test_it_is_published_and_its_risk_verified_without_the_table(tmp_path: Path, case: str) -> None:
    """Publishing prices the rows by other macros than chose them; verify does so from the file, where that can be."""
    release, columns = PUBLISHED[case]
    policy = written_policy(tmp_path, release, TABLES, **columns)
    content = publish(policy).facts.content
    assert 0 < content["risk"] <= content["worst"]
    assert any("depends on the weights of its person" in text for text in content["warnings"]) is (case == "personal")
    with duckdb.connect(str(tmp_path / "private.duckdb"), read_only=True) as con:
        for table in ("book", "town", "minds"):
            con.execute(f"COPY {table} TO '{tmp_path / table}.csv'").fetchall()
    text = policy.read_text()
    (tmp_path / "private.duckdb").unlink()
    for table in ("book", "town", "minds"):
        text = text.replace(f"table:{table}", f"{table}.csv")
    policy.write_text(text)
    found = checks(tmp_path / FILE, policy)
    assert False not in found.values()
    assert found["the risk is what it says"] is (None if case == "personal" else True)
    with duckdb.connect(str(tmp_path / FILE)) as con:
        con.execute("UPDATE sqlpriv_release.parameters SET value = value / 2 WHERE name = 'risk'").fetchall()
    assert checks(tmp_path / FILE, policy)["the risk is what it says"] is (None if case == "personal" else False)


# --- refused ------------------------------------------------------------------------------------

PERSONAL = f'{RISK}\npersonal = {{ source = "table:minds", total = 11 }}\npairs = [{{ columns = ["age", "city"] }}]'
REFUSED = {
    "more than the total": (PERSONAL.replace("11", "8"), OWN, "the weights of a person add up to more than the total"),
    "a person without weights": (PERSONAL.replace(":minds", ":few"), OWN, "has no weight for an attribute"),
    "a weight twice": (PERSONAL.replace(":minds", ":twice"), OWN, "has two weights for one attribute"),
    "a weight below 0": (PERSONAL.replace(":minds", ":negative"), OWN, "a personal weight is missing, negative or no"),
    "another attribute": (PERSONAL.replace(":minds", ":strange"), OWN, "names 1 attributes that the policy does not"),
    "a table of something else": (PERSONAL.replace(":minds", ":bare"), OWN, "must have three columns, persons, attr"),
    "no such table": (PERSONAL.replace(":minds", ":mind"), OWN, "personal weights, 'table:mind' cannot be read"),
    "nobody": (PERSONAL, {**OWN, "ssn": '{ role = "identifier" }'}, "personal needs a column of persons"),
    "two weights for one": (PERSONAL, {**OWN, "sex": COLUMNS["sex"]}, "'sex' has a weight, which people's own weights"),
    "a pair of one": (f'{RISK}\npairs = [{{ columns = ["age", "Age"] }}]', {}, "the pair of 'age' and 'Age' needs two"),
    "a pair of nothing": (f'{RISK}\npairs = [{{ columns = ["age", "ward"] }}]', {}, "needs two columns that are quasi"),
    "a pair twice": (
        f'{RISK}\npairs = [{{ columns = ["age", "sex"] }}, {{ columns = ["sex", "age"] }}]', {}, "in pairs twice"),
    "a set of fewer": (
        f'{RISK}\npairs = [{{ columns = ["age", "sex", "AGE"] }}]', {}, "the set of 'age' and 'sex' and 'AGE' needs 3"),
    "one and several": (f"{RISK}\n{BOTH}", BY_ITSELF, "dictionary is for one, and dictionaries for several"),
    "nothing to judge": (f'{RISK}\njudge = "bayes"', {}, "judge says how several dictionaries are combined"),
    "no priors": (
        'goal = "risk"\nc = 2\njudge = "bayes"\ndictionaries = [{ source = "table:book" }, { source = "table:town" }]',
        BY_ITSELF, "each of the dictionaries needs a prior"),
    "priors of more than all": (
        f'goal = "risk"\nc = 2\n{BOTH.replace("0.6", "0.7")}', BY_ITSELF, "must add up to 1"),
    "an entry of nothing": (
        f'goal = "risk"\nc = 2\n{BOTH.replace("age =", "ages =")}', BY_ITSELF, "an entry for 'ages', which is no col"),
    "a dictionary that shares nothing": (
        f'goal = "risk"\nc = 2\n{BOTH.replace("table:town", "table:bare")}', BY_ITSELF, "'table:bare' shares no attr"),
    "psi of cells and no dictionary": (
        'goal = "risk"\nc = 2', {**BY_ITSELF, "sex": COLUMNS["sex"].replace("weight", "psi = 1, weight")},
        "with psi the table itself bounds no risk"),
    "independence and pairs": (
        f'{RISK}\nform = "multiplicative"\nindependent = true\npairs = [{{ columns = ["age", "sex"] }}]', {},
        "and no psi, pairs, personal weights"),
}  # fmt: skip


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("weighed")
    written_policy(folder, tables=TABLES)
    return folder


@pytest.mark.parametrize("case", REFUSED)
@pytest.mark.some(1)
def test_what_does_not_fit_is_refused_in_a_sentence(tables: Path, case: str) -> None:
    release, columns, complaint = REFUSED[case]
    with pytest.raises(PolicyError, match=complaint):
        publish(written_policy(tables, release, "", **columns))
    assert not (tables / FILE).exists()
    assert not (tables / "ledger.db").exists() or "people" not in run(tables, "ledger", "ledger.db").stdout


def test_a_person_needs_no_weights_of_their_own(tables: Path) -> None:
    """A column that says whose row it is may stand in a policy; without personal weights it is just not published."""
    policy = read_policy(written_policy(tables, RISK, "", ssn='{ role = "person" }'))
    assert policy.person is None
    assert read_policy(written_policy(tables, PERSONAL, "", **OWN)).person == "ssn"
