"""Random small releases by generalization, and random questions, for the oracle of hard bounds."""

from __future__ import annotations

import itertools
import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import duckdb
from oracles.hard_bounds import Added, Choice, Key, Tuple

from sqlpriv.core.errors import PolicyError
from support.policies import generalize, policy_text, write_policy

ABOVE = {"p": ("x", "*"), "q": ("x", "*"), "r": ("y", "*"), "s": ("y", "*")}
TALL = {"p": 1, "q": 2, "s": None}
MANY = (("p", 1), ("p", 3), ("q", 2), ("r", None))
PUBLIC = {
    "tall": (("k", "v"), tuple(TALL.items())),
    "many": (("k", "v"), MANY),
}
SELECTED = {
    "n": "count(*)",
    "s": "sum({x})",
    "m": "avg({x})",
    "f": "count(*) FILTER (WHERE {f})",
    "d": "sum({x}) - 2 * count(*) FILTER (WHERE {f})",
    "r": "count(*) FILTER (WHERE {f}) / count(*)",
}
COLUMNS = tuple(SELECTED)
Sums = tuple[Fraction, ...]


def answers(sums: Sums) -> dict[str, Fraction | None]:
    """The columns of SELECTED from the sums n, sum(x), count(x) and f."""
    n, s, there, f = sums
    return {"n": n, "s": s, "m": s / there if there else None, "f": f, "d": s - 2 * f, "r": f / n if n else None}


@dataclass(frozen=True)
class Written:
    """An expression as SQL and as Python, of a tuple of the table and its public columns."""

    sql: str
    value: Callable[[Tuple], object]


@dataclass(frozen=True)
class Asked:
    """A question: FROM, the join behind it, WHERE, GROUP BY, what is summed, and FILTER."""

    joined: str
    where: Written
    keys: tuple[Written, ...]
    summed: Written
    kept: Written

    @property
    def sql(self) -> str:
        """As SQL, for the release and for the table alike."""
        return self.sql_of(COLUMNS)

    def sql_of(self, names: Sequence[str]) -> str:
        """The same with some of the columns alone."""
        keys = "".join(f"{k.sql} AS k{i}, " for i, k in enumerate(self.keys))
        by = f" GROUP BY {', '.join(f'k{i}' for i in range(len(self.keys)))}" if self.keys else ""
        listed = ", ".join(f"{SELECTED[name]} AS {name}" for name in names)
        selected = listed.format(x=self.summed.sql, f=self.kept.sql)
        return f"SELECT {keys}{selected} FROM people{self.joined} WHERE {self.where.sql}{by}"

    @property
    def multiplies(self) -> bool:
        """Whether a row may meet several public rows."""
        return "many" in self.joined

    def met(self, row: Tuple) -> list[Tuple]:
        """The joined rows of a tuple."""
        if not self.joined:
            return [row]
        table = MANY if self.multiplies else tuple(TALL.items())
        found = [{**row, "v": v} for k, v in table if k == row["b"]]
        return found or ([{**row, "v": None}] if "LEFT" in self.joined else [])

    def adds(self, row: Tuple) -> Added:
        """What a tuple adds to the sums of each group."""
        found: dict[Key, Sums] = {}
        for joined in self.met(row):
            if self.where.value(joined) is not True:
                continue
            key = tuple(k.value(joined) for k in self.keys)
            x = self.summed.value(joined)
            number = Fraction(0) if x is None else Fraction(str(x))
            own = (Fraction(1), number, Fraction(x is not None), Fraction(self.kept.value(joined) is True))
            found[key] = tuple(a + b for a, b in zip(found.get(key, (Fraction(0),) * 4), own, strict=True))
        return found


class BoundedCase:
    """A private table, its domains, and a node: with what the release of it is worked out again."""

    def __init__(self, chance: random.Random) -> None:
        self.numbers: list[object] = [*range(6), *([None] if chance.random() < 0.4 else [])]
        self.texts: list[object] = [*"pqrs", *([None] if chance.random() < 0.3 else [])]
        self.others: list[object] = [1, 5, -2, *([None] if chance.random() < 0.5 else [])]
        self.shares = [1, 2, 3, 4] if None not in self.texts and chance.random() < 0.4 else None
        domains = (self.numbers, self.texts, self.others)
        size = chance.randint(2, 7)
        self.rows = [tuple(chance.choice(chance.choices(d, k=3)) for d in domains) for _ in range(size)]
        self.node = (chance.randint(0, 3), chance.randint(0, 2))
        self.k = chance.choice([1, 2, 2, 3])
        self.keep = chance.random() < 0.4

    def labels(self, row: Sequence[object]) -> tuple[object, object]:
        """The labels of a row under the node."""
        return self._number(row[0]), self._text(row[1])

    def _number(self, value: object) -> object:
        level = self.node[0]
        if level == 3:
            return "*"
        return None if value is None else (level, int(str(value)) // (1, 2, 4)[level])

    def _text(self, value: object) -> object:
        level = self.node[1]
        if level == 2:
            return "*"
        return value if level == 0 or value is None else ABOVE[str(value)][level - 1]

    def choices(self, kept: bool) -> list[Choice]:
        """What each row of the table may be, by the release; `kept`: whether suppressed rows show what is sensitive."""
        sizes = Counter(map(self.labels, self.rows))
        domain = list(itertools.product(self.numbers, self.texts, self.others))
        found = []
        for row in self.rows:
            if sizes[self.labels(row)] >= self.k:
                below = [t for t in domain if self.labels(t) == self.labels(row) and t[2] == row[2]]
            else:
                below = [t for t in domain if not kept or t[2] == row[2]]
            weights = [self.shares["pqrs".index(str(t[1]))] if self.shares else 1 for t in below]
            tuples = [dict(zip("abc", t, strict=True)) for t in below]
            found.append(Choice(tuples, [Fraction(w, sum(weights)) for w in weights]))
        return found

    def groups(self, asked: Asked) -> list[Key]:
        """Every group of the domain."""
        tuples = itertools.product(self.numbers, self.texts, self.others)
        keys = (key for t in tuples for key in asked.adds(dict(zip("abc", t, strict=True))))
        return list(dict.fromkeys(keys)) if asked.keys else [()]

    def publish(self, folder: Path) -> Path | None:
        """Write the table, publish it, and return the release; None where the node does not meet the policy."""
        try:
            policy = self.write(folder, f"node = {{ a = {self.node[0]}, b = {self.node[1]} }}")
            return generalize(policy, ledger=folder / "ledger.db").output
        except PolicyError:
            return None

    def write(self, folder: Path, release: str, files: Mapping[str, str] | None = None) -> Path:
        """Write the table, and the policy with these lines of [release]; files may stand beside it."""
        share = f", share = {self.shares}" if self.shares else ""
        nulls = ["true" if None in d else "false" for d in (self.numbers, self.texts, self.others)]
        columns = {
            "a": f'{{ role = "quasi-identifier", hierarchy = "ranges:2,4", domain = "range:0..5", null = {nulls[0]} }}',
            "b": f'{{ role = "quasi-identifier", hierarchy = "b.csv", domain = ["p", "q", "r", "s"], null = {nulls[1]}'
            f"{share} }}",
            "c": f'{{ role = "sensitive", domain = [1, 5, -2], null = {nulls[2]} }}',
        }
        release += f"\nsuppression = 0.99\nkeep_suppressed = {str(self.keep).lower()}"
        listed = ", ".join(f"({', '.join(_literal(v) for v in row)})" for row in self.rows)
        public = "".join(
            f"CREATE TABLE {name} AS FROM (VALUES {', '.join(f'({_literal(k)}, {_literal(v)})' for k, v in rows)}) "
            f"AS t({', '.join(names)});"
            for name, (names, rows) in PUBLIC.items()
        )
        sql = f"CREATE TABLE people (a INTEGER, b VARCHAR, c INTEGER); INSERT INTO people VALUES {listed}; {public}"
        csv = "".join(f"{value};{';'.join(above)}\n" for value, above in ABOVE.items())
        text = policy_text(columns, f"k = {self.k}", release)
        return write_policy(folder, text, sql, {"b.csv": csv, **(files or {})})

    def truth(self, folder: Path, sql: str) -> list[tuple[object, ...]]:
        """What the private table answers."""
        with duckdb.connect(str(folder / "private.duckdb"), read_only=True) as con:
            return con.execute(sql).fetchall()


def random_question(chance: random.Random) -> Asked:
    """A question of any shape."""
    joins = ["", "", "", " JOIN tall ON b = k", " LEFT JOIN tall ON b = k", " JOIN many ON b = k"]
    joined = chance.choice([*joins, " LEFT JOIN many ON b = k"])
    numbers = ["a", "c", *(["v"] if joined else [])]
    keys = [_number(chance, numbers), Written("b", lambda t: t["b"]), _predicate(chance, numbers, 0)]
    chosen = tuple(chance.sample(keys, chance.choice([0, 0, 1, 1, 2])))
    where = _predicate(chance, numbers, 2) if chance.random() < 0.8 else Written("true", lambda _: True)
    return Asked(joined, where, chosen, _summed(chance, numbers), _predicate(chance, numbers, 1))


def _number(chance: random.Random, numbers: Sequence[str]) -> Written:
    name = chance.choice(numbers)
    return Written(name, lambda t: t[name])


def _summed(chance: random.Random, numbers: Sequence[str]) -> Written:
    one, other = chance.choice(numbers), chance.choice(numbers)
    if chance.random() < 0.6:
        return Written(one, lambda t: t[one])
    return Written(f"({one} * {other} - 3)", lambda t: _with(t[one], t[other], lambda x, y: x * y - 3))


def _with(x: object, y: object, made: Callable[[int, int], object]) -> object:
    return None if x is None or y is None else made(int(str(x)), int(str(y)))


COMPARED: Mapping[str, Callable[[int, int], object]] = {
    "=": lambda x, y: x == y,
    "<": lambda x, y: x < y,
    ">=": lambda x, y: x >= y,
    "<>": lambda x, y: x != y,
}


def _predicate(chance: random.Random, numbers: Sequence[str], depth: int) -> Written:
    """A condition in SQL's logic of three values."""
    kind = chance.choice(["constant", "columns", "null", "text", *(["and", "or", "not"] if depth else [])])
    if kind in ("and", "or"):
        left, right = _predicate(chance, numbers, depth - 1), _predicate(chance, numbers, depth - 1)
        decides = kind == "or"
        return Written(
            f"({left.sql} {kind.upper()} {right.sql})", lambda t: _joined(left.value(t), right.value(t), decides)
        )
    if kind == "not":
        inner = _predicate(chance, numbers, depth - 1)
        return Written(f"(NOT {inner.sql})", lambda t: None if inner.value(t) is None else not inner.value(t))
    if kind == "text":
        value = chance.choice("pqrs")
        return Written(f"(b = '{value}')", lambda t: None if t["b"] is None else t["b"] == value)
    one, other, sign = chance.choice(numbers), chance.choice(numbers), chance.choice(list(COMPARED))
    if kind == "null":
        return Written(f"({one} IS NULL)", lambda t: t[one] is None)
    if kind == "constant":
        constant = chance.randint(-1, 6)
        return Written(f"({one} {sign} {constant})", lambda t: _with(t[one], constant, COMPARED[sign]))
    return Written(f"({one} {sign} {other})", lambda t: _with(t[one], t[other], COMPARED[sign]))


def _joined(left: object, right: object, decides: bool) -> object:
    if left is decides or right is decides:
        return decides
    return None if left is None or right is None else not decides


def _literal(value: object) -> str:
    return "NULL" if value is None else f"'{value}'" if isinstance(value, str) else str(value)
