"""Random tables with NULLs for methods that publish boxes, their policies, and what is asked of every result."""

from __future__ import annotations

import datetime
import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
from oracles.closeness import _gains, _shares, _surplus
from oracles.counting import Group, canon
from oracles.epsilon import epsilon_class2_per_class
from oracles.grids import _cell_label, grid_floor
from oracles.lattice_measures import NodeTable, class_values, violates
from oracles.mondrian import Paths, cuts_left

from sqlpriv.core.errors import PolicyError
from sqlpriv.methods import METHODS
from sqlpriv.methods.generalized.plan import BoxPlan
from sqlpriv.policy.file import Policy, parse_policy
from sqlpriv.publishing import planned

CITIES = {"Rome": "south", "Bari": "south", "Oslo": "north", "Bergen": "north", "Paris": "west", "Brest": "west"}
TREE = (
    "CASE WHEN city IN ('Rome', 'Bari') THEN 'south' WHEN city IN ('Oslo', 'Bergen') THEN 'north' "
    "WHEN city IS NOT NULL THEN 'west' END"
)
KINDS = {"age": "INTEGER", "weight": "DOUBLE", "born": "DATE", "city": "VARCHAR", "sex": "VARCHAR"}


@dataclass(frozen=True)
class BoxCase:
    """A table: its columns with their types, its rows with one sensitive value and a person each, what is required."""

    qis: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    requirements: Mapping[str, tuple[float, Mapping[str, Any]]]
    cuts: str = "data"
    persons: bool = False

    def policy(self, method: str = "mondrian", release: str = "") -> Policy:
        """Its policy, with the rows at hand."""
        columns = [f"{q} = {self._column(q)}" for q in self.qis] + ['ill = { role = "sensitive" }']
        columns.append(f'who = {{ role = "{"person" if self.persons else "drop"}" }}')
        required = [_toml(name, *given) for name, given in self.requirements.items()]
        text = "\n".join([
            "[table]", 'source = "people.csv"', "[columns]", *columns, "[require]", *required, "[release]",
            f'method = "{method}"', 'accept = "made-up people"', 'output = "boxes.duckdb"',
            f'cuts = "{self.cuts}"', release,
        ])  # fmt: skip
        return parse_policy(text, Path(), METHODS, "policy.toml").holding(self.table())

    def _column(self, qi: str) -> str:
        keys = {"city": f'hierarchy = ["{TREE}"]'}
        if self.cuts == "public":
            keys |= {"age": 'domain = "range:0..99", null = true', "weight": 'hierarchy = "ranges:5,20"'}
            keys |= {"born": 'hierarchy = "dates:month,year"'}
        return "{ " + ", ".join(['role = "quasi-identifier"', *filter(None, [keys.get(qi)])]) + " }"

    def table(self) -> Any:
        """The rows as an Arrow table."""
        with duckdb.connect() as con:
            kinds = ", ".join(f"{q} {KINDS[q]}" for q in self.qis)
            con.execute(f"CREATE TABLE people ({kinds}, ill VARCHAR, who INTEGER)").fetchall()
            marks = ", ".join("?" * (len(self.qis) + 2))
            con.executemany(f"INSERT INTO people VALUES ({marks})", [list(r) for r in self.rows])
            return con.sql("FROM people").to_arrow_table()

    def trees(self) -> list[Paths | None]:
        """The paths of the columns that are trees."""
        return [self._paths(q) for q in self.qis]

    def _paths(self, qi: str) -> Paths | None:
        a = self.qis.index(qi)
        values = {r[a] for r in self.rows}
        if qi == "city":
            return {v: (v, v and CITIES[v], "*") for v in values}
        if qi == "sex":
            return {v: (v, "*") for v in values}
        if self.cuts == "data":
            return None
        return {v: _public_path(qi, v) for v in values}

    def holds(self, rows: Sequence[tuple[Any, ...]]) -> bool:
        """Whether a class of rows, each with its number last, meets everything that is required."""
        return all(
            not violates(name, self._value(name, given, rows), threshold)
            for name, (threshold, given) in self.requirements.items()
        )

    def _value(self, name: str, given: Mapping[str, Any], rows: Sequence[tuple[Any, ...]]) -> Any:
        chosen = {r[-1] for r in rows}
        if name == "epsilon_class2":
            dicts = [{"q": i in chosen, "s": r[-2], "who": r[-1]} for i, r in enumerate(self.rows)]
            person = "who" if self.persons else None
            ratios = epsilon_class2_per_class(dicts, ["q"], "s", given["sigma"], given["b"], person=person)
            return ratios[canon(True),][1]
        own, whole = self._group(chosen), self._group(set(range(len(self.rows))))
        if name == "t":
            shares = _shares({value: len(units) for value, units in whole.by_value.items()})
            return sum(abs(difference) for difference in _surplus(own, shares).values()) / 2
        if name == "beta":
            beliefs = {value: Fraction(len(units), whole.n) for value, units in whole.by_value.items()}
            return max(Fraction(0), *_gains(own, beliefs).values())
        rest = self._group(set(range(len(self.rows))) - chosen)
        there = {(0,): own, **({(1,): rest} if rest.n else {})}
        return class_values(name, NodeTable(there, [r[-2] for r in self.rows], {}), given)[0,]

    def _group(self, numbers: set[int]) -> Group:
        """Some rows as a class, by their persons where there are any."""
        group = Group()
        for number in sorted(numbers):
            row = self.rows[number]
            unit = row[-1] if self.persons else number
            group.units.add(unit)
            group.by_value.setdefault(canon(row[-2]), set()).add(unit)
        return group


def _public_path(qi: str, value: Any) -> tuple[Any, ...]:
    """What is above a value: halves of 0..99, ranges, months and years."""
    if qi == "age":
        return _halves(value)
    if value is None:
        return (None, None, None, "*")
    if qi == "weight":
        return (value, value // 5, value // 20, "*")
    return (value, (value.year, value.month), value.year, "*")


def _halves(value: int | None) -> tuple[Any, ...]:
    if value is None:
        return (*[None] * 8, "*")
    low, high, found = 0, 99, [(0, 99)]
    for _ in range(7):
        middle = low + (high - low) // 2
        low, high = (low, middle) if value <= middle else (min(middle + 1, high), high)
        found.append((low, high))
    return (*reversed(found), "*")


def _toml(name: str, threshold: float, given: Mapping[str, Any]) -> str:
    number = f"{threshold:g}"
    if name == "k":
        return f"k = {number}"
    listed = "".join(f", {key} = {value}" for key, value in given.items())
    if name.startswith("epsilon_"):
        adversary = name.removeprefix("epsilon_")
        return f'epsilon = {{ column = "ill", adversary = "{adversary}", at_most = {number}{listed} }}'
    if not given:
        return f"{name} = {{ ill = {number} }}"
    word = {"recursive_c": "c"}.get(name, "value")
    return f"{name} = {{ ill = {{ {word} = {number}{listed} }} }}"


def random_case(seed: int, cuts: str = "data") -> BoxCase:
    """A table of up to 40 rows: few values or many, NULLs or none, one to four quasi-identifiers."""
    draw = random.Random(seed)
    qis = tuple(draw.sample(list(KINDS), draw.randint(1, 4)))
    size, empty, kinds = draw.randint(1, 40), draw.choice([0, 0.1, 0.5]), draw.choice([3, 10, 100])
    day = datetime.date(2000, 1, 1)
    values = {
        "age": lambda: draw.randrange(kinds),
        "weight": lambda: draw.randrange(kinds) / 2,
        "born": lambda: day + datetime.timedelta(days=draw.randrange(kinds) * 11),
        "city": lambda: draw.choice(list(CITIES)[:kinds]),
        "sex": lambda: draw.choice("MF"),
    }
    rows = tuple(
        (
            *(None if draw.random() < empty else values[q]() for q in qis),
            draw.choice([*"abcd", None]),
            draw.randrange(max(size // 2, 1)),
        )
        for _ in range(size)
    )
    required: dict[str, tuple[float, Mapping[str, Any]]] = {"k": (draw.randint(1, 6), {})}
    extra = draw.choice([
        None, ("distinct_l", 2), ("entropy_l", 1.5), ("t", 0.4), ("t_ordered", 0.3), ("beta", 2.5),
        ("epsilon_class2", 6),
    ])  # fmt: skip
    persons = draw.random() < 0.3
    # How far apart ordered values of persons are nobody can say, and it is refused.
    if extra is not None and not (persons and extra[0] == "t_ordered"):
        given = {"sigma": draw.choice([5, 50]), "b": draw.randrange(2)} if extra[0] == "epsilon_class2" else {}
        required[extra[0]] = (extra[1], given)
    return BoxCase(qis, rows, required, cuts, persons)


def classes_found(case: BoxCase, method: str = "mondrian") -> dict[frozenset[int], dict[int, tuple[Any, Any]]]:
    """The classes that the rows of a table are divided into, by the numbers of the rows; and where their cells start
    and stop on ordered axes, None where they have no end."""
    with planned(case.policy(method)) as plan:
        assert isinstance(plan, BoxPlan)
        cells = ", ".join([*case.qis, "ill", *(["who"] if case.persons else [])])
        ordered = [axis.number for axis in plan.scan.ordered]
        found = plan.source.con.execute(
            f"SELECT {cells}, c.class FROM {plan.scan.frequencies} AS f "
            f"JOIN {plan.boxed.classed} AS c ON c.row = f.rowid"
        ).fetchall()
        listed = "".join(f", low{a}, high{a}" for a in ordered)
        ends = plan.source.con.execute(f"SELECT class{listed} FROM {plan.boxed.relation}").fetchall()
    sides = {row[0]: {a: (row[1 + 2 * i], row[2 + 2 * i]) for i, a in enumerate(ordered)} for row in ends}
    of_cells = {row[:-1]: row[-1] for row in found}
    classes: dict[int, set[int]] = {}
    for number, row in enumerate(case.rows):
        classes.setdefault(of_cells[row if case.persons else row[:-1]], set()).add(number)
    return {
        frozenset(numbers): {a: (low, None if high is None else _after(high)) for a, (low, high) in sides[own].items()}
        for own, numbers in classes.items()
    }


def check_boxes(case: BoxCase, *, finest: bool = True, method: str = "mondrian") -> bool:
    """Assert of a result that no row is lost, boxes hold their rows and meet what is required; False where refused.

    `finest`: that no cut is left that would be allowed.
    """
    numbered = [(*row, number) for number, row in enumerate(case.rows)]
    try:
        with planned(case.policy(method)) as plan:
            assert isinstance(plan, BoxPlan)
            con = plan.source.con
            ranges = {axis.number for axis in plan.scan.ordered}
            sides = ", ".join(
                f"b.label{a}, {f'b.low{a}, b.high{a}' if a in ranges else 'NULL, NULL'}" for a in range(len(case.qis))
            )
            cells = ", ".join([*case.qis, "ill", *(["who"] if case.persons else [])])
            found = con.execute(
                f"SELECT {cells}, f.__priv_n, b.box, {sides} FROM {plan.scan.frequencies} AS f "
                f"JOIN {plan.boxed.classed} AS c ON c.row = f.rowid JOIN {plan.boxed.relation} AS b "
                "ON b.class = c.class"
            ).fetchall()
            content = plan.facts().content
    except PolicyError as error:
        refused = str(error)
    else:
        refused = ""
    if refused:
        assert not case.holds(numbered), refused
        assert "as one class do not meet" in refused
        return False
    assert case.holds(numbered)
    width = len(case.qis) + 1 + case.persons
    boxes: dict[Any, list[tuple[Any, ...]]] = {}
    sides_of: dict[Any, tuple[Any, ...]] = {}
    left = list(numbered)
    for row in found:
        cells_of, copies, box, shown = row[:width], row[width], row[width + 1], row[width + 2 :]
        same = [r for r in left if r[:width] == cells_of][:copies]
        assert len(same) == copies, "a row that is not there"
        left = [r for r in left if r not in same]
        boxes.setdefault(box, []).extend(same)
        assert sides_of.setdefault(box, shown) == shown, "a box with two names"
    assert not left, "rows are lost"
    assert content["classes"] == len(boxes)
    for box, rows in boxes.items():
        for a, paths in enumerate(case.trees()):
            is_cell = case.cuts == "public" and method == "mondrian"
            assert_holds([r[a] for r in rows], *sides_of[box][3 * a : 3 * a + 3], paths, is_cell)
        assert case.holds(rows)
        if finest:
            assert not cuts_left(rows, case.trees(), case.holds)
    return True


def assert_holds(
    values: Sequence[Any], label: Any, low: Any, high: Any, paths: Paths | None, is_cell: bool = False
) -> None:
    """A side of a box holds these values, ends at points of the grid, and says so where it holds NULL.

    `is_cell`: whether it is the node of the last cut, which may be wider than its rows.
    """
    if paths is None and None not in values:
        cut = None if high is None else _after(high)
        assert low is None or low <= min(values)
        assert high is None or high >= max(values)
        assert (low, cut) == (grid_floor(low), grid_floor(cut)), "ends that the data decided"
        more, less = (" or later", "before ") if isinstance(values[0], datetime.date) else (" or more", "less than ")
        assert label == _cell_label(low, high, cut, not isinstance(values[0], float), more, less)
    elif paths is None:
        assert (label, low, high) == (None if set(values) == {None} else "*", None, None)
    elif set(values) == {None}:
        assert label is None or (is_cell and label == "*")
    elif None in values:
        assert label == "*"


def _after(high: Any) -> Any:
    """What comes after the last value of a range."""
    if isinstance(high, float):
        return math.nextafter(high, math.inf)
    return high + (datetime.timedelta(days=1) if isinstance(high, datetime.date) else 1)
