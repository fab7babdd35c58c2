"""What keys of a policy of disclosure may be: weights, pairs of columns, people's own weights, several dictionaries."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlpriv.policy.keys import Kind

_MOST = 1e300
_MOST_DICTIONARIES = 9
WITHOUT_A_WORD = 1.0
"""What a value weighs where the policy says nothing."""


@dataclass(frozen=True)
class Held:
    """A dictionary that an attacker may hold."""

    source: str
    prior: float | None
    entries: Mapping[str, str]
    """What it knows of columns, where that is something else than for the other dictionaries."""


@dataclass(frozen=True)
class Pair:
    """Two columns that are worse together."""

    columns: tuple[str, str]
    weight: float


@dataclass(frozen=True)
class Personal:
    """A table of people's own weights, and what those of one person may add up to."""

    source: str
    total: float


def _is_number(value: Any) -> bool:
    if isinstance(value, float):
        return not math.isnan(value)
    return isinstance(value, int) and not isinstance(value, bool)


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _read_number(value: Any) -> float | None:
    """A number of at least 0, or infinity."""
    if isinstance(value, str) and value.strip().lower() in {"inf", "infinity"}:
        return math.inf
    return float(value) if _is_number(value) and (value == math.inf or 0 <= value <= _MOST) else None


def _told_number(value: Any) -> float | str:
    """JSON has no infinity."""
    return "infinity" if value in (math.inf, "infinity") else float(value)


def _read_weight(value: Any) -> float | str | None:
    found = _read_number(value)
    return value if found is None and _is_text(value) else found


def _told_weight(value: Any) -> float | str:
    """A number; of a table no more than that it is one."""
    return "table" if isinstance(value, str) and value != "infinity" else _told_number(value)


def _read_finite(value: Any) -> float | None:
    return float(value) if _is_number(value) and 0 <= value <= _MOST else None


def _has(value: Any, needed: set[str], allowed: set[str]) -> bool:
    return isinstance(value, dict) and needed <= set(value) <= allowed


def _read_pair(value: Any) -> Pair | None:
    if not _has(value, {"columns"}, {"columns", "weight"}) or not isinstance(value["columns"], list):
        return None
    weight = _read_number(value.get("weight", WITHOUT_A_WORD))
    columns = tuple(value["columns"])
    return Pair(columns, weight) if len(columns) == 2 and all(map(_is_text, columns)) and weight is not None else None


def _read_pairs(value: Any) -> tuple[Pair, ...] | None:
    if not isinstance(value, list) or not value:
        return None
    found = [_read_pair(one) for one in value]
    return tuple(pair for pair in found if pair is not None) if None not in found else None


def _told_pairs(value: Any) -> list[dict[str, Any]]:
    pairs = [(p.columns, p.weight) if isinstance(p, Pair) else (p["columns"], p["weight"]) for p in value]
    return [{"columns": list(columns), "weight": _told_number(weight)} for columns, weight in pairs]


def _read_personal(value: Any) -> Personal | None:
    if not _has(value, {"source", "total"}, {"source", "total"}) or not _is_text(value["source"]):
        return None
    total = _read_number(value["total"])
    return None if total is None else Personal(value["source"], total)


def _read_held(value: Any) -> Held | None:
    if not _has(value, {"source"}, {"source", "prior", "entries"}) or not _is_text(value["source"]):
        return None
    prior, entries = value.get("prior"), value.get("entries", {})
    if prior is not None and not (_is_number(prior) and 0 < prior <= 1):
        return None
    if not isinstance(entries, dict) or not all(_is_text(text) for pair in entries.items() for text in pair):
        return None
    return Held(value["source"], None if prior is None else float(prior), entries)


def _read_dictionaries(value: Any) -> tuple[Held, ...] | None:
    if not isinstance(value, list) or not 2 <= len(value) <= _MOST_DICTIONARIES:
        return None
    found = [_read_held(one) for one in value]
    return tuple(held for held in found if held is not None) if None not in found else None


WEIGHT = Kind("a number of at least 0, infinity, or a table of values and weights", _read_weight, _told_weight)
AT_LEAST_0 = Kind("a number of at least 0", _read_finite, _read_finite)
PAIRS = Kind('a list of pairs, as in [{ columns = ["age", "zip"], weight = 2 }]', _read_pairs, _told_pairs)
PERSONAL = Kind('a table and a total, as in { source = "minds.csv", total = 4 }', _read_personal)
DICTIONARIES = Kind(
    f"a list of 2 to {_MOST_DICTIONARIES}, as in "
    '[{ source = "voters.csv", prior = 0.3 }, { source = "club.csv", prior = 0.7 }]',
    _read_dictionaries,
)
