"""Kinds of values in a policy for disclosure: weights, pairs of columns, personal weights, dictionaries."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from sqlpriv.policy.keys import Kind
from sqlpriv.risk.dictionaries import Dictionary

_MOST = 1e300
_MOST_DICTIONARIES = 9
DEFAULT_WEIGHT = 1.0
"""The weight of a value where the policy gives none."""


@dataclass(frozen=True)
class WeightedPair:
    """Two columns that are more sensitive together, by a weight of their own."""

    columns: tuple[str, str]
    weight: float


@dataclass(frozen=True)
class PersonalWeights:
    """A table of people's own weights, and the largest sum of the weights of one person."""

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


def _public_number(value: Any) -> float | str:
    """JSON has no infinity."""
    return "infinity" if value in (math.inf, "infinity") else float(value)


def _read_weight(value: Any) -> float | str | None:
    found = _read_number(value)
    return value if found is None and _is_text(value) else found


def _public_weight(value: Any) -> float | str:
    """A number, or the word \"table\": the name of a table is not published."""
    return "table" if isinstance(value, str) and value != "infinity" else _public_number(value)


def _read_finite(value: Any) -> float | None:
    return float(value) if _is_number(value) and 0 <= value <= _MOST else None


def _has(value: Any, needed: set[str], allowed: set[str]) -> bool:
    return isinstance(value, dict) and needed <= set(value) <= allowed


def _read_pair(value: Any) -> WeightedPair | None:
    if not _has(value, {"columns"}, {"columns", "weight"}) or not isinstance(value["columns"], list):
        return None
    weight = _read_number(value.get("weight", DEFAULT_WEIGHT))
    columns = tuple(value["columns"])
    return (
        WeightedPair(columns, weight)
        if len(columns) == 2 and all(map(_is_text, columns)) and weight is not None
        else None
    )


def _read_pairs(value: Any) -> tuple[WeightedPair, ...] | None:
    if not isinstance(value, list) or not value:
        return None
    found = [_read_pair(one) for one in value]
    return tuple(pair for pair in found if pair is not None) if None not in found else None


def _public_pairs(value: Any) -> list[dict[str, Any]]:
    pairs = [(p.columns, p.weight) if isinstance(p, WeightedPair) else (p["columns"], p["weight"]) for p in value]
    return [{"columns": list(columns), "weight": _public_number(weight)} for columns, weight in pairs]


def _read_personal(value: Any) -> PersonalWeights | None:
    if not _has(value, {"source", "total"}, {"source", "total"}) or not _is_text(value["source"]):
        return None
    total = _read_number(value["total"])
    return None if total is None else PersonalWeights(value["source"], total)


def _read_dictionary(value: Any) -> Dictionary | None:
    if not _has(value, {"source"}, {"source", "prior", "entries"}) or not _is_text(value["source"]):
        return None
    prior, entries = value.get("prior"), value.get("entries", {})
    if prior is not None and not (_is_number(prior) and 0 < prior <= 1):
        return None
    if not isinstance(entries, dict) or not all(_is_text(text) for pair in entries.items() for text in pair):
        return None
    return Dictionary(value["source"], None if prior is None else float(prior), entries)


def _read_dictionaries(value: Any) -> tuple[Dictionary, ...] | None:
    if not isinstance(value, list) or not 2 <= len(value) <= _MOST_DICTIONARIES:
        return None
    found = [_read_dictionary(one) for one in value]
    return tuple(dictionary for dictionary in found if dictionary is not None) if None not in found else None


WEIGHT = Kind("a number of at least 0, infinity, or a table of values and weights", _read_weight, _public_weight)
AT_LEAST_0 = Kind("a number of at least 0", _read_finite, _read_finite)
PAIRS = Kind('a list of pairs, as in [{ columns = ["age", "zip"], weight = 2 }]', _read_pairs, _public_pairs)
PERSONAL = Kind('a table and a total, as in { source = "weights.csv", total = 4 }', _read_personal)
DICTIONARIES = Kind(
    f"a list of 2 to {_MOST_DICTIONARIES}, as in "
    '[{ source = "voters.csv", prior = 0.3 }, { source = "club.csv", prior = 0.7 }]',
    _read_dictionaries,
)
