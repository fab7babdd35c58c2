"""What a reader learns from groups of people and values: which value fits which person (de Finetti attack, Kifer 2009).

A release that keeps people and values apart shows who is in a group and which values occur in it, and not who has
which. All groups together teach how values go with columns, and that helps to guess inside a group. `learn_values` is
that reader. It is given the people and the values of a release, and nothing private:

- the model is P(value | columns) ~ share of the value x product of P(column | value), smoothed;
- it is fitted by expectation maximisation: hand out the values of each group by the model (permutations.py), count
  again, and so on;
- such a model is far too sure of itself. So its logarithms are scaled by a number from 0 to 1 (`trust`), and columns
  are added one by one, as long as that makes groups likelier that the model has not seen. Where columns teach nothing,
  the trust is 0, and everybody in a group is as likely to have one of its values as another.

Rows are read and judged in SQL; values are handed out with numpy, on whole numbers that stand for values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sqlpriv.core.engine import fetch
from sqlpriv.core.relation import Relation, Scratch
from sqlpriv.core.sqltext import quoted
from sqlpriv.risk.permutations import EXACT, Numbers, log_ways, match_chances, work

Codes = npt.NDArray[np.int64]
_SMOOTHING = 20.0
"""So many people with the shares of everybody are added to those of each value."""
_FOLDS = 5
_TRUST = np.linspace(0, 1, 11)
_SURE = 3.0
"""By so many standard errors the likelihood of unseen groups must grow for another column."""
_ENOUGH = 6_000
"""So many people of unseen groups are enough to choose columns by."""
_ROUNDS_TO_CHOOSE, _ROUNDS = 4, 10
_EXACT_TO_FIT = 6
"""The largest group whose ways are all counted in every round of fitting."""
_EXACT_ROUNDS = 3
_MOST_WORK = 4e7
_PARTS, _MOST_NAMES = 40, 2_000
"""Numbers and dates of more values than that are read in so many parts; so are texts of more values than names."""
_MOST_PEOPLE = 60_000
"""The model is fitted on groups of about so many people; everybody is guessed by it."""


@dataclass(frozen=True)
class Learned:
    """What a reader learned, and believes. People are numbered in the order of `people` (its rowid)."""

    columns: tuple[str, ...]
    """From which columns."""
    trust: float
    """0: the columns teach nothing. 1: the model is as sure as it computes."""
    people: Relation
    """The people as they were given, by group: `grp`, and their columns x0, x1, ..."""
    beliefs: Relation
    """By person and value of the group (a text, or NULL): `belief`."""
    strangers: Relation
    """By person: `code`, the value that the model guesses without looking at the values of the group, as in `codes`."""
    codes: Relation
    """By value (a text, or NULL) the number `code` that stands for it; rare values share one."""


@dataclass(frozen=True)
class _Groups:
    """People and values as numbers, sorted by group: the first person of a group goes with its first value."""

    columns: list[Codes]
    """By column, a number for the value of each person."""
    values: Codes
    sizes: Codes
    """How many people each group has."""

    @property
    def starts(self) -> Codes:
        return np.cumsum(self.sizes) - self.sizes

    def batches(self, wanted: npt.NDArray[np.bool_]) -> list[Codes]:
        """The wanted groups by size: a row of each with the numbers of its people."""
        found = []
        for size in np.unique(self.sizes[wanted]):
            of_size = self.starts[wanted & (self.sizes == size)]
            found.append(of_size[:, None] + np.arange(size)[None, :])
        return found


@dataclass(frozen=True)
class _Model:
    """By chosen column, the logarithm of how much likelier its code is for a value than for everybody."""

    chosen: list[int]
    tables: list[Numbers]
    shares: Numbers

    def scores(self, groups: _Groups, people: Codes, values: Codes) -> Numbers:
        """How much likelier the columns of people are for these values than for everybody, as logarithms."""
        total = np.zeros(np.broadcast_shapes(people.shape, values.shape))
        for c, table in zip(self.chosen, self.tables, strict=True):
            total += table[groups.columns[c][people], values]
        return total

    def slot_scores(self, groups: _Groups, batch: Codes) -> Numbers:
        """Likewise for all people and values of groups: [group, person, value]."""
        return self.scores(groups, batch[:, :, None], groups.values[batch][:, None, :])

    def beliefs(self, groups: _Groups, people: Codes, trust: float) -> Numbers:
        """P(value | columns) of each person and every value, for a trust: [..., person, value]."""
        scores = self.scores(groups, people[..., None], np.arange(len(self.shares)))
        raw = np.log(self.shares) + trust * scores
        odds = np.exp(raw - raw.max(axis=-1, keepdims=True))
        return np.asarray(odds / odds.sum(axis=-1, keepdims=True))


def learn_values(scratch: Scratch, people: str, values: str, group: str, columns: Sequence[str], value: str) -> Learned:
    """Fit the model to a release, and guess everybody's value.

    `people` has the group and the columns of each person, `values` the group and the value of each person; both are
    relations, as SQL. Nobody is guessed by a model that was fitted on their own group.
    """
    found = _sorted_people(scratch, people, group, columns)
    held = scratch.table(
        f"SELECT {quoted(group)} AS grp, {quoted(value)} AS raw, CAST({quoted(value)} AS VARCHAR) AS value "
        f"FROM {values} ORDER BY grp, raw",
        "values",
    )
    groups = _read_groups(found, held, len(columns))
    learning = _some_groups(groups)
    chosen = _choose_columns(groups, learning)
    folds = np.arange(len(groups.sizes)) % _FOLDS
    others = [learning & (folds != fold) for fold in range(_FOLDS)]
    models = [_fit(groups, chosen, o if o.any() else learning, _ROUNDS, _EXACT_ROUNDS) for o in others]
    trust = _best_trust(groups, models, [learning & (folds == fold) for fold in range(_FOLDS)]) if chosen else 0.0
    guesses, strangers = [], np.zeros(len(groups.values), dtype=np.int64)
    for fold, model in enumerate(models):
        for batch in groups.batches(folds == fold):
            chances = match_chances(np.exp(trust * model.slot_scores(groups, batch)))
            guesses.append((*_pairs(batch), chances.ravel()))
            strangers[batch] = model.beliefs(groups, batch, trust).argmax(axis=-1)
    persons, slots, chances = (np.concatenate(part) for part in zip(*guesses, strict=True))
    at_slots = _table_of(scratch, {"person": persons, "slot": slots, "chance": chances}, "chances")
    beliefs = scratch.table(
        f"SELECT person, value, sum(chance) AS belief FROM {at_slots.name} JOIN {held.name} AS v ON slot = v.rowid "
        "GROUP BY person, value",
        "beliefs",
    )
    codes = _table_of(scratch, {"slot": np.arange(len(groups.values)), "code": groups.values}, "slots")
    named = scratch.table(
        f"SELECT value, any_value(code) AS code FROM {codes.name} JOIN {held.name} AS v ON slot = v.rowid "
        "GROUP BY value",
        "codes",
    )
    scratch.drop(at_slots, codes, held)
    alone = _table_of(scratch, {"person": np.arange(len(strangers)), "code": strangers}, "strangers")
    return Learned(tuple(columns[c] for c in chosen), trust, found, beliefs, alone, named)


def _sorted_people(scratch: Scratch, people: str, group: str, columns: Sequence[str]) -> Relation:
    cells = "".join(f", {quoted(c)} AS x{i}" for i, c in enumerate(columns))
    return scratch.table(f"SELECT {quoted(group)} AS grp{cells} FROM {people} ORDER BY ALL", "people")


def _read_groups(people: Relation, values: Relation, columns: int) -> _Groups:
    """All columns as numbers."""
    con = people.con
    codes = [_coded(people, f"x{i}") for i in range(columns)]
    read = con.execute(f"SELECT {', '.join([*codes, 'grp'])} FROM {people.name} ORDER BY rowid").fetchnumpy()
    arrays = [np.asarray(column) for column in read.values()]
    held = con.execute(f"SELECT {_coded(values, 'raw')} FROM {values.name} ORDER BY rowid").fetchnumpy()
    _, sizes = np.unique(arrays[-1], return_counts=True)
    return _Groups([a.astype(np.int64) for a in arrays[:-1]], np.asarray(held["code_raw"]).astype(np.int64), sizes)


def _coded(relation: Relation, column: str) -> str:
    """A whole number from 0 for the value of a column, as SQL: the rank of the value, or of the part that it is in."""
    (kinds,) = fetch(relation.con, f"SELECT count(DISTINCT {column}) FROM {relation.name}")[0]
    is_text = relation.columns[column] == "VARCHAR"
    rank = f"dense_rank() OVER (ORDER BY {column})"
    if kinds > (_MOST_NAMES if is_text and column != "raw" else _PARTS):
        before = f"rank() OVER (ORDER BY {column}) - 1"
        return f"CAST({before} AS BIGINT) * {_PARTS} // count(*) OVER () AS code_{column}"
    return f"{rank} - 1 AS code_{column}"


def _some_groups(groups: _Groups) -> npt.NDArray[np.bool_]:
    """The groups to fit the model on: all, or evenly chosen ones of a large table."""
    step = max(1, int(np.ceil(groups.sizes.sum() / _MOST_PEOPLE)))
    return np.asarray(np.arange(len(groups.sizes)) % step == 0)


def _choose_columns(groups: _Groups, learning: npt.NDArray[np.bool_]) -> list[int]:
    """Add the column that helps most, as long as one does: by the likelihood of groups that the model has not seen."""
    place = np.cumsum(learning) - 1
    folds = min(_FOLDS, int(np.ceil(_FOLDS * _ENOUGH / groups.sizes[learning].sum())))
    tests = [_countable(groups, learning & (place % _FOLDS == f), _MOST_WORK / folds) for f in range(folds)]
    tests = [test for test in tests if test.any() and (learning & ~test).any()]
    if not tests:
        return []

    def tried(columns: list[int]) -> Numbers:
        """The log-likelihoods of the unseen groups, at the trust that is best for them."""
        fitted = [_fit(groups, columns, learning & ~test, _ROUNDS_TO_CHOOSE) for test in tests]
        found = np.concatenate([_likelihoods(groups, m, t) for m, t in zip(fitted, tests, strict=True)], axis=1)
        return np.asarray(found[np.argmax(found.mean(axis=1))])

    chosen: list[int] = []
    before = tried([])
    while len(chosen) < len(groups.columns):
        longer = [[*chosen, c] for c in range(len(groups.columns)) if c not in chosen]
        found, columns = max(((tried(c), c) for c in longer), key=lambda result: float(result[0].mean()))
        gain = found - before
        if gain.mean() <= _SURE * gain.std() / np.sqrt(len(gain)):
            break
        before, chosen = found, columns
    return chosen


def _best_trust(groups: _Groups, models: Sequence[_Model], unseen: Sequence[npt.NDArray[np.bool_]]) -> float:
    """The trust at which groups are likeliest that a model has not seen."""
    tests = [_countable(groups, test, _MOST_WORK / len(unseen)) for test in unseen]
    found = [_likelihoods(groups, m, t).sum(axis=1) for m, t in zip(models, tests, strict=True) if t.any()]
    return float(_TRUST[np.argmax(np.sum(found, axis=0))]) if found else 0.0


def _countable(groups: _Groups, wanted: npt.NDArray[np.bool_], most: float) -> npt.NDArray[np.bool_]:
    """Those of the wanted groups, from the first, whose ways can all be counted without taking too long."""
    able = wanted & (groups.sizes <= EXACT)
    takes = np.cumsum(np.where(able, [work(min(size, EXACT)) for size in groups.sizes], 0))
    return np.asarray(able & (takes <= most))


def _fit(
    groups: _Groups, chosen: list[int], wanted: npt.NDArray[np.bool_], rounds: int, exact_rounds: int = 0
) -> _Model:
    """Expectation maximisation, from values handed out evenly; in the last rounds all ways are counted."""
    kinds = int(groups.values.max()) + 1
    batches = groups.batches(wanted)
    people = np.concatenate([batch.ravel() for batch in batches])
    shares = np.bincount(groups.values[people], minlength=kinds) + 1e-9
    persons, slots = (np.concatenate(part) for part in zip(*map(_pairs, batches), strict=True))
    held = groups.values[slots]
    chances = np.concatenate([np.full(batch.size * batch.shape[1], 1 / batch.shape[1]) for batch in batches])
    model = _Model(chosen, [], shares / shares.sum())
    for round_ in range(rounds):
        tables = [_table(groups.columns[c], persons, held, chances, people, kinds) for c in chosen]
        model = _Model(chosen, tables, model.shares)
        if round_ + 1 < rounds:
            scores = (np.exp(model.slot_scores(groups, batch)) for batch in batches)
            exact = EXACT if round_ + 1 >= rounds - exact_rounds else _EXACT_TO_FIT
            chances = np.concatenate([match_chances(odds, exact).ravel() for odds in scores])
    return model


def _pairs(batch: Codes) -> tuple[Codes, Codes]:
    """All people of groups with all values of their group, as [group, person, value] is laid out."""
    size = batch.shape[1]
    return np.repeat(batch, size, axis=1).ravel(), np.tile(batch, (1, size)).ravel()


def _table(codes: Codes, persons: Codes, held: Codes, chances: Numbers, people: Codes, kinds: int) -> Numbers:
    """ln P(code | value) - ln P(code), of one column."""
    size = int(codes.max()) + 1
    counts = np.bincount(codes[persons] * kinds + held, weights=chances, minlength=size * kinds).reshape(size, kinds)
    everybody = (np.bincount(codes[people], minlength=size) + 1e-9)[:, None] / (len(people) + 1e-9 * size)
    smooth = (counts + _SMOOTHING * everybody) / (counts.sum(axis=0)[None, :] + _SMOOTHING)
    return np.asarray(np.log(smooth) - np.log(everybody))


def _likelihoods(groups: _Groups, model: _Model, test: npt.NDArray[np.bool_]) -> Numbers:
    """The log-likelihood of the values of unseen groups: [trust, group]."""
    found = []
    for batch in groups.batches(test):
        held = np.broadcast_to(groups.values[batch][:, None, :], (*batch.shape, batch.shape[1]))
        beliefs = (model.beliefs(groups, batch, trust) for trust in _TRUST)
        found.append(np.stack([log_ways(np.take_along_axis(b, held, axis=2)) for b in beliefs]))
    return np.concatenate(found, axis=1)


def _table_of(scratch: Scratch, columns: Mapping[str, Codes | Numbers], hint: str) -> Relation:
    """Arrays as a table."""
    return scratch.arrow(pa.table(dict(columns)), hint)
