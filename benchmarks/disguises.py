"""A table in 44 disguises, which the ledger is to know, and strangers of its shape, which it is not to mix up."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

_SHIFT = "hash({0}, 'disguise') % 1000 + 1000000"
"""A code for each value, of which nobody can read the value."""


@dataclass(frozen=True)
class Shape:
    """The columns of a table `t`: what is (nearly) unique in it, and all others, the telling ones first."""

    unique: tuple[str, ...]
    others: tuple[str, ...]
    number: str
    """A column of whole numbers, among the others."""
    condition: str
    """A condition that about a third of the rows meets."""

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns."""
        return self.unique + self.others


def _only(columns: Sequence[str], of: str = "t") -> str:
    return f"SELECT {', '.join(_q(c) for c in columns)} FROM {of}"


def _q(name: str) -> str:
    return f'"{name}"'


def _renamed(columns: Sequence[str], of: str = "t") -> str:
    return f"SELECT {', '.join(f'{_q(c)} AS x{i}' for i, c in enumerate(columns))} FROM {of}"


def _part(share: float) -> str:
    return f"(FROM t WHERE hash(rowid, 'part') % 1000 < {1000 * share:.0f})"


def _replaced(sql: dict[str, str], without: Sequence[str] = (), of: str = "t") -> str:
    left = f" EXCLUDE ({', '.join(_q(c) for c in without)})" if without else ""
    changes = ", ".join(f"{text} AS {_q(c)}" for c, text in sql.items())
    return f"SELECT *{left} REPLACE ({changes}) FROM {of}"


def disguises(shape: Shape) -> dict[str, str]:
    """44 queries over `t`, by what they do to it."""
    everything, others = shape.columns, shape.others
    a, b, c, d = others[:4]
    chosen, number = f"(FROM t WHERE {shape.condition})", "row_number() OVER (ORDER BY hash(rowid)) AS nr"
    rest = tuple(x for x in others if x not in {a, b})
    found = {
        "the very same": "FROM t",
        "rows in another order": "FROM t ORDER BY hash(rowid)",
        "columns in another order": _only(everything[::-1]),
        "all columns renamed": _renamed(everything),
        "renamed and in another order": _renamed(everything[::-1]),
        "everything as text": "SELECT CAST(COLUMNS(*) AS VARCHAR) FROM t",
        "text in capitals": "SELECT upper(CAST(COLUMNS(*) AS VARCHAR)) FROM t",
        "without unique columns": _only(others),
        "without unique columns, renamed": _renamed(others),
        "without a column": _only([x for x in others if x != a]),
        "without the last": _only(others[:-1]),
    }
    for left in [*combinations((a, b, c, d), 2)][:5]:
        found[f"without {' and '.join(left)}"] = _only([x for x in others if x not in left])
    found |= {
        "without two, renamed": _renamed(rest),
        "without two, renamed and in another order": _renamed(rest[::-1]),
        "without three": _only([x for x in others if x not in {a, c, d}]),
        "nine tenths of the rows": f"FROM {_part(0.9)}",
        "half of the rows": f"FROM {_part(0.5)}",
        "a quarter of the rows": f"FROM {_part(0.25)}",
        "a tenth of the rows": f"FROM {_part(0.1)}",
        "half of the rows without a column": _only([x for x in others if x != b], _part(0.5)),
        "half of the rows without two": _only(rest, _part(0.5)),
        "two fifths of the rows without two, renamed": _renamed(rest, _part(0.4)),
        "a quarter of the rows without two": _only(rest, _part(0.25)),
        "rows by a condition": f"FROM t WHERE {shape.condition}",
        "rows by a condition, without its column": _only([x for x in others if x != shape.number], chosen),
        "rows by a condition, without two": _only(rest, chosen),
        "doubled": "FROM t UNION ALL FROM t",
        "doubled, without two": f"{_only(rest)} UNION ALL {_only(rest)}",
        "doubled, renamed": f"{_renamed(others)} UNION ALL {_renamed(others)}",
        "a tenth of the rows twice": f"FROM t UNION ALL FROM {_part(0.1)}",
        "with a new column": "SELECT *, hash(rowid) % 7 AS more FROM t",
        "with a new column, without two": f"SELECT {', '.join(map(_q, rest))}, hash(rowid) % 7 AS more FROM t",
        "with a row number": f"SELECT {number}, {', '.join(map(_q, others))} FROM t",
        "with a row number, without two": f"SELECT {number}, {', '.join(map(_q, rest))} FROM t",
        "ids recoded": _replaced({x: f"hash({_q(x)}, 'id')" for x in shape.unique} or {a: _SHIFT.format(_q(a))}),
        "a column recoded": _replaced({a: _SHIFT.format(_q(a))}, shape.unique),
        "two columns recoded": _replaced({x: _SHIFT.format(_q(x)) for x in (a, c)}, shape.unique),
        "a column shuffled": _replaced({a: f"lag({_q(a)}, 7, {_q(a)}) OVER (ORDER BY hash(rowid, 's'))"}, shape.unique),
        "a number one larger in half": _replaced({shape.number: f"{_q(shape.number)} + hash(rowid) % 2"}, shape.unique),
        "a number in tens, without another": _replaced(
            {shape.number: f"10 * ({_q(shape.number)} // 10)"},
            (*shape.unique, next(x for x in others if x != shape.number)),
        ),
    }  # fmt: skip
    assert len(found) == 44
    return found


def strangers(seeds: Sequence[int], conditions: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Pairs of queries over `t` that have no row in common: halves by chance, and parts that conditions choose."""
    for seed in seeds:
        half = f"hash(CAST(rowid AS VARCHAR) || 'half {seed}') % 2"
        yield f"FROM t WHERE {half} = 0", f"FROM t WHERE {half} = 1"
    for seed, condition in enumerate(conditions):
        more = f"(hash(CAST(rowid AS VARCHAR) || 'bias {seed}') % 100 < CASE WHEN {condition} THEN 80 ELSE 30 END)"
        yield f"FROM t WHERE {more}", f"FROM t WHERE NOT {more}"
