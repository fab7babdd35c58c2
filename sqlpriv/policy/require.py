"""The section [require] of a policy, as the same requirements that the command line takes.

    k = 5                                              a number: for the table
    distinct_l = { diagnosis = 3 }                     a number for each sensitive column named
    recursive = { diagnosis = { c = 4, l = 2 } }       with arguments and the threshold
    epsilon = { column = "diagnosis", adversary = "class2", sigma = 1e6, at_most = 2.5 }

The thresholds stand on the safe side of each measure, so no comparison is written: `k = 5` is k >= 5, `t = 0.2` is
t <= 0.2. A plain number for a measure of a sensitive column holds for all of them.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from sqlpriv.checks.measures import MEASURES, Measure
from sqlpriv.checks.requirements import Requirement
from sqlpriv.core.errors import PolicyError, did_you_mean
from sqlpriv.core.sqltext import folded

Fail = Callable[..., PolicyError]

# More than any table has rows; DuckDB could not count further than a few digits more.
_MOST = 10**9
# The key under which a policy bounds what an adversary learns.
_EPSILON = "epsilon"
_EPSILON_TABLES = {
    "predicates": "the columns name and value",
    "nodes": "the columns id, node and at_most",
    "hierarchy": "a value and the labels above it in each row",
}


def read_requirements(section: object, sensitive: Sequence[str], fail: Fail) -> tuple[Requirement, ...]:
    """All requirements of the section, or an error that points at the one that makes no sense."""
    if not isinstance(section, dict):
        raise fail("[require] must be a section")
    return tuple(r for key, given in section.items() for r in _read(key, given, sensitive, fail))


def _read(key: str, given: object, sensitive: Sequence[str], fail: Fail) -> Iterator[Requirement]:
    if key == _EPSILON:
        if not isinstance(given, list):
            yield _epsilon(given, sensitive, lambda message, *keys: fail(message, key, *keys))
            return
        if not given:
            raise fail(f"{key} is an empty list, so nothing is required", key)
        for i, one in enumerate(given):
            yield _epsilon(one, sensitive, lambda message, *keys, i=i: fail(message, key, i, *keys))
        return
    measures = _by_key()
    if key not in measures:
        known = [*measures, _EPSILON]
        raise fail(f"unknown requirement {key!r}; there are {', '.join(known)}{did_you_mean(key, known)}", key)
    measure = measures[key]
    if not measure.needs_sensitive:
        yield _one(key, measure, None, given, fail)
        return
    if not sensitive:
        raise fail(f"{key!r} needs a sensitive column, and no column has that role", key)
    if given == {}:
        raise fail(f"{key!r} names no column, so nothing is required", key)
    by_column = given if isinstance(given, dict) else dict.fromkeys(sensitive, given)
    for column, value in by_column.items():
        yield _one(key, measure, _known(column, sensitive, key, fail, key, column), value, fail)


def _by_key() -> dict[str, Measure]:
    """The measures by their keys in [require], other than epsilon; the first key of each is its name."""
    plain = [m for m in MEASURES.values() if m.reads is not None and m.adversary is None]
    return {m.policy_key or m.name: m for m in plain} | {name: m for m in plain for name in m.policy_names}


def _known(column: object, sensitive: Sequence[str], key: str, fail: Fail, *keys: str) -> str:
    for name in sensitive:
        if isinstance(column, str) and folded(name) == folded(column):
            return name
    near = did_you_mean(column, sensitive)
    raise fail(f"{key!r} is required of {column!r}, which is not a sensitive column{near}", *keys)


def _one(key: str, measure: Measure, column: str | None, given: object, fail: Fail) -> Requirement:
    at = (key, column) if column else (key,)
    arguments: dict[str, float | str] = dict(measure.defaults)
    threshold = given
    if isinstance(given, dict):
        word = measure.threshold_key or measure.direction.threshold_key
        unknown = [k for k in given if k not in {word, *measure.names}]
        if unknown or word not in given:
            takes = ", ".join([word, *measure.names])
            raise fail(f"{key!r} takes {takes}" + (f", not {unknown[0]!r}" if unknown else ""), *at, *unknown[:1])
        threshold = given[word]
        least = {a.name: a.least for a in measure.arguments}
        arguments.update((k, _argument(key, k, v, least[k], fail, *at)) for k, v in given.items() if k != word)
    missing = [name for name in measure.names if name not in arguments]
    if missing:
        raise fail(f"{key!r} needs {missing[0]}", *at)
    limit = _number(key, threshold, fail, *at)
    if limit < 1 and measure.direction.is_at_least:
        raise fail(f"{key!r} must be at least 1; less than that requires nothing", *at)
    if measure.is_count and limit % 1 > 0:
        raise fail(f"{key!r} counts, so its threshold must be a whole number: write {math.ceil(limit)}", *at)
    if measure.is_belief and not 0 < limit < 1:
        raise fail(f"{key!r} is a probability: its threshold must be above 0 and below 1, which requires nothing", *at)
    return make_requirement(measure.name, column, arguments, limit)


def _epsilon(given: object, sensitive: Sequence[str], fail: Fail) -> Requirement:
    own = isinstance(given, dict) and "nodes" in given  # a bound for each person, in the place of one for all
    if not isinstance(given, dict) or not {"adversary", "column", *([] if own else ["at_most"])} <= given.keys():
        raise fail('epsilon = { column = "...", adversary = "class2", sigma = 1e6, at_most = 2.5 }')
    against = {m.adversary.name: m for m in MEASURES.values() if m.adversary is not None}
    measure = against.get(str(given["adversary"]))
    if measure is None or measure.adversary is None:
        raise fail(f"adversary must be one of {', '.join(against)}: no release holds against class4", "adversary")
    takes = measure.adversary.policy_keys
    bounds = ("nodes", "hierarchy") if own else ("at_most", "predicates")
    known = ("column", "adversary", "b", *bounds, *takes)
    unknown = [k for k in given if k not in known]
    if unknown:
        raise fail(f"epsilon against {given['adversary']} takes {', '.join(known)}, not {unknown[0]!r}", unknown[0])
    column = _known(given["column"], sensitive, _EPSILON, fail, "column")
    shape = given.get("shape")
    if "shape" in takes and not (isinstance(shape, str) and (shape in {"uniform", "table"} or shape[:6] == "table:")):
        raise fail('shape must be "uniform", "table" (the shares of the table itself) or "table:NAME"', "shape")
    needs_sigma = "sigma" in takes and not (isinstance(shape, str) and shape.startswith("table:"))
    if needs_sigma and "sigma" not in given:
        raise fail(f"epsilon against {given['adversary']} needs sigma, the stubbornness")
    named = [k for k in given if k in {*takes, "b", "predicates", "nodes", "hierarchy"}]
    arguments = {k: _argument(_EPSILON, k, given[k], None, fail) for k in named}
    if isinstance(arguments.get("sigma"), str):
        raise fail("sigma must be a number", "sigma")
    b = arguments.setdefault("b", 0)
    if not isinstance(b, int) or not 0 <= b <= _MOST:
        raise fail("b, the number of known tuples, must be a whole number of at least 0", "b")
    for key, columns in _EPSILON_TABLES.items():
        if not str(arguments.get(key, "table:")).startswith("table:"):
            raise fail(f'{key} must be "table:NAME", a table with {columns}', key)
    if own and "hierarchy" not in given:
        raise fail('nodes need the hierarchy of the sensitive column: hierarchy = "table:NAME"', "nodes")
    threshold = 1.0 if own else _number(_EPSILON, given["at_most"], fail, "at_most")
    if threshold < 1:
        raise fail("epsilon is at least 1: no belief can change by less", "at_most")
    return make_requirement(measure.name, column, arguments, threshold)


def make_requirement(
    name: str, column: str | None, arguments: Mapping[str, float | str], threshold: float
) -> Requirement:
    """A requirement of a policy, with its text."""
    operator = MEASURES[name].direction.operators[0]
    inside = ", ".join([*([column] if column else []), *(f"{k}={public_argument(v)}" for k, v in arguments.items())])
    text = f"{name}{f'({inside})' if inside else ''}{operator}{threshold:.12g}"
    return Requirement(text, name, arguments, operator, threshold, column)


def public_argument(value: float | str) -> float | str:
    """An argument as it may be published: of a file only its name."""
    return Path(value).name if isinstance(value, str) else value


def _argument(key: str, name: str, value: Any, least: int | None, fail: Fail, *at: str) -> float | str:
    if not _is_finite(value) and not isinstance(value, str):
        raise fail(f"{name} of {key!r} must be a number or a name", *at, name)
    if least is not None and not (isinstance(value, int) and least <= value <= _MOST):
        raise fail(f"{name} of {key!r} must be a whole number of at least {least}", *at, name)
    return value  # type: ignore[no-any-return]


def _number(key: str, value: Any, fail: Fail, *keys: str) -> float:
    if not _is_finite(value) or value < 0:
        raise fail(f"{key!r} needs a number as its threshold", *keys)
    return float(value)


def _is_finite(value: object) -> bool:
    """Whether it is a number that a double holds; TOML has whole numbers of any length."""
    return not isinstance(value, bool) and isinstance(value, int | float) and abs(value) <= sys.float_info.max
