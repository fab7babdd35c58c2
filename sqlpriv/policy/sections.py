"""What may stand in the sections of a policy that are the same for every method."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlpriv.core.sqltext import folded
from sqlpriv.policy.keys import FLAG, REASON, TEXT, Fail, Key, Keys, Kind, number, read_keys

_ANY = Kind("what DuckDB's read_csv takes", lambda value: value)
# Options of DuckDB's read_csv that a policy may give; `delimiter` is the word of most other tools for `delim`.
READ_OPTIONS = ("delimiter", "delim", "header", "quote", "escape", "nullstr", "all_varchar", "dateformat",
                "timestampformat", "decimal_separator", "encoding", "skip", "comment", "types")  # fmt: skip
TABLE_KEYS: Keys = (
    Key("source", TEXT, "a file, or with `database` a table or view of it", required=True),
    Key("database", TEXT, "the DuckDB file that holds the source"),
    *(Key(name, _ANY, "as in DuckDB's read_csv; for files only") for name in READ_OPTIONS),
)
RELEASE_KEYS: Keys = (
    Key("output", TEXT, "the release file, beside the policy"),
    Key(
        "coexists_because",
        REASON,
        "why this release may coexist with others of the same table; the ledger and the release carry it",
    ),
)
"""What every method takes in [release], beside `method`."""
VIEW_KEYS: Keys = (
    Key(
        "auto",
        FLAG,
        "also views of counts by each column and each small pair, and of sums and averages of numbers by each category",
        default=False,
    ),
)
"""What [views] takes beside questions by the names of their views."""
_NEIGHBOURS = {"add-remove": "added", "replace-one": "replaced"}


@dataclass(frozen=True)
class Budget:
    """Epsilon and delta, of a row or person that is added or left out, or replaced by another."""

    epsilon: float
    delta: float
    kind: str = "added"

    @property
    def neighbours(self) -> str:
        """The word of the policy for its kind."""
        return next(word for word, kind in _NEIGHBOURS.items() if kind == self.kind)


def _read_budget(value: Any) -> Budget | None:
    if not isinstance(value, Mapping) or not {"epsilon"} <= set(value) <= {"epsilon", "delta", "neighbours"}:
        return None
    neighbours = value.get("neighbours", "add-remove")
    epsilon = number(0, 1e6).read(value["epsilon"])
    delta = 0.0 if "delta" not in value else number(0, 1).read(value["delta"])
    if epsilon is None or delta is None or not isinstance(neighbours, str) or neighbours not in _NEIGHBOURS:
        return None
    return Budget(float(epsilon), float(delta), _NEIGHBOURS[neighbours])


_BUDGET = Kind(
    'as in { epsilon = 3, delta = 1e-5 }, with neighbours = "replace-one" where rows are replaced', _read_budget
)
LEDGER_KEYS: Keys = (
    Key("path", TEXT, "the ledger, beside the policy; else the user's own"),
    Key("budget", _BUDGET, "how much all releases of the table may cost together; releases that add up within it need "
        "no `coexists_because`, and one that would pass it is refused"),
)  # fmt: skip


def read_views(given: object, fail: Fail) -> tuple[Mapping[str, str], bool]:
    """The questions of [views] by the names of their views, and whether useful ones are added."""
    if not isinstance(given, dict):
        raise fail("[views] must be a section", "views")
    names = tuple(name for name in given if name not in {key.name for key in VIEW_KEYS})
    questions = tuple(Key(name, TEXT, "", complaint=f"{name} must be a question, as SQL text") for name in names)
    found = read_keys(given, (*VIEW_KEYS, *questions), fail, "views")
    spelt = [folded(name) for name in names]
    twice = [name for name in names if spelt.count(folded(name)) > 1]
    if twice:
        raise fail(f"the view {twice[-1]!r} is named twice; case does not matter", "views", twice[-1])
    return {name: found[name] for name in names}, found["auto"]
