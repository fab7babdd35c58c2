"""The section [require] of a policy, as the same requirements that the command line takes.

    k = 5                                              a number: for the table
    distinct_l = { diagnosis = 3 }                     a number for each sensitive column named
    recursive = { diagnosis = { c = 4, l = 2 } }       with arguments beside the threshold
    epsilon = { column = "diagnosis", adversary = "class2", sigma = 1e6, at_most = 2.5 }

The thresholds stand on the safe side of each measure, so no comparison is written: `k = 5` is k >= 5, `t = 0.2` is
t <= 0.2. A plain number for a measure of a sensitive column holds for all of them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from sqlpriv.checks.requirements import MEASURES, Requirement
from sqlpriv.errors import PolicyError
from sqlpriv.sqltext import folded

Fail = Callable[..., PolicyError]

# The words of the policy where they are not those of the command line.
_MEASURES = {"recursive": "recursive_c", "alpha_k": "alpha"}
# Where arguments stand beside the threshold, the threshold's own key.
_THRESHOLDS = {"recursive_c": "c"}
# More than any table has rows; DuckDB could not count further than a few digits more.
_MOST = 10**9
# What each adversary of [require] epsilon takes, beside column, adversary, b, predicates and at_most.
_ADVERSARIES = {"class1": ("shape", "sigma"), "class2": ("sigma",), "class3": ("shape",)}


def read_requirements(section: object, sensitive: Sequence[str], fail: Fail) -> tuple[Requirement, ...]:
    """All requirements of the section, or an error that points at the one that makes no sense."""
    if not isinstance(section, dict):
        raise fail("[require] must be a section")
    return tuple(r for key, given in section.items() for r in _read(key, given, sensitive, fail))


def _read(key: str, given: object, sensitive: Sequence[str], fail: Fail) -> Iterator[Requirement]:
    if key == "epsilon":
        if not isinstance(given, list):
            yield _epsilon(given, sensitive, lambda message, *keys: fail(message, key, *keys))
            return
        if not given:
            raise fail("epsilon is an empty list, so nothing is required", key)
        for i, one in enumerate(given):
            yield _epsilon(one, sensitive, lambda message, *keys, i=i: fail(message, key, i, *keys))
        return
    name = _MEASURES.get(key, key)
    if name not in MEASURES or name.startswith("epsilon_") or name == "disclosure":
        known = [*(n for n in MEASURES if not n.startswith("epsilon_") and n != "disclosure"), "recursive", "epsilon"]
        raise fail(f"unknown requirement {key!r}; there are {', '.join(known)}", key)
    if not MEASURES[name].needs_sensitive:
        yield _one(key, name, None, given, fail)
        return
    if not sensitive:
        raise fail(f"{key!r} needs a sensitive column, and no column has that role", key)
    if given == {}:
        raise fail(f"{key!r} names no column, so nothing is required", key)
    by_column = given if isinstance(given, dict) else dict.fromkeys(sensitive, given)
    for column, value in by_column.items():
        yield _one(key, name, _known(column, sensitive, key, fail, key, column), value, fail)


def _known(column: object, sensitive: Sequence[str], key: str, fail: Fail, *keys: str) -> str:
    for name in sensitive:
        if isinstance(column, str) and folded(name) == folded(column):
            return name
    raise fail(f"{key!r} is required of {column!r}, which is not a sensitive column", *keys)


def _one(key: str, name: str, column: str | None, given: object, fail: Fail) -> Requirement:
    at = (key, column) if column else (key,)
    extra = MEASURES[name].extra or {}
    arguments: dict[str, float | str] = {k: v for k, v in extra.items() if v is not None}
    threshold = given
    if isinstance(given, dict):
        at_most = "at_least" if MEASURES[name].operators[0] == ">=" else "at_most"
        word = _THRESHOLDS.get(name, at_most)
        unknown = [k for k in given if k not in {word, *extra}]
        if unknown or word not in given:
            takes = ", ".join([word, *extra])
            raise fail(f"{key!r} takes {takes}" + (f", not {unknown[0]!r}" if unknown else ""), *at, *unknown[:1])
        threshold = given[word]
        arguments.update((k, _argument(key, k, v, fail, *at, k)) for k, v in given.items() if k != word)
    missing = [k for k, v in extra.items() if v is None and k not in arguments]
    if missing:
        raise fail(f"{key!r} needs {missing[0]}", *at)
    limit = _number(key, threshold, fail, *at)
    if limit < 1 and MEASURES[name].operators[0] == ">=":
        raise fail(f"{key!r} must be at least 1; less than that requires nothing", *at)
    return make_requirement(name, column, arguments, limit)


def _epsilon(given: object, sensitive: Sequence[str], fail: Fail) -> Requirement:
    if not isinstance(given, dict) or "adversary" not in given or "at_most" not in given or "column" not in given:
        raise fail('epsilon = { column = "...", adversary = "class2", sigma = 1e6, at_most = 2.5 }')
    takes = _ADVERSARIES.get(str(given["adversary"]))
    if takes is None:
        raise fail(f"adversary must be one of {', '.join(_ADVERSARIES)}: no release holds against class4", "adversary")
    known = ("column", "adversary", "at_most", "b", "predicates", *takes)
    unknown = [k for k in given if k not in known]
    if unknown:
        raise fail(f"epsilon against {given['adversary']} takes {', '.join(known)}, not {unknown[0]!r}", unknown[0])
    column = _known(given["column"], sensitive, "epsilon", fail, "column")
    shape = given.get("shape")
    if "shape" in takes and not (isinstance(shape, str) and (shape in {"uniform", "table"} or shape[:6] == "table:")):
        raise fail('shape must be "uniform", "table" (the shares of the table itself) or "table:NAME"', "shape")
    needs_sigma = "sigma" in takes and not (isinstance(shape, str) and shape.startswith("table:"))
    if needs_sigma and "sigma" not in given:
        raise fail(f"epsilon against {given['adversary']} needs sigma, the stubbornness")
    arguments = {k: _argument("epsilon", k, v, fail, k) for k, v in given.items() if k in {*takes, "b", "predicates"}}
    if isinstance(arguments.get("sigma"), str):
        raise fail("sigma must be a number", "sigma")
    b = arguments.setdefault("b", 0)
    if not isinstance(b, int) or not 0 <= b <= _MOST:
        raise fail("b, the number of known tuples, must be a whole number of at least 0", "b")
    if not str(arguments.get("predicates", "table:")).startswith("table:"):
        raise fail('predicates must be "table:NAME", a table with the columns name and value', "predicates")
    threshold = _number("epsilon", given["at_most"], fail, "at_most")
    if threshold < 1:
        raise fail("epsilon is at least 1: no belief can change by less", "at_most")
    return make_requirement(f"epsilon_{given['adversary']}", column, arguments, threshold)


def make_requirement(
    name: str, column: str | None, arguments: Mapping[str, float | str], threshold: float
) -> Requirement:
    """A requirement, with the text that a release tells of it."""
    operator = MEASURES[name].operators[0]
    inside = ", ".join([*([column] if column else []), *(f"{k}={public_argument(v)}" for k, v in arguments.items())])
    text = f"{name}{f'({inside})' if inside else ''}{operator}{threshold:.12g}"
    return Requirement(text, name, arguments, operator, threshold, column)


def public_argument(value: float | str) -> float | str:
    """An argument as it may be published: of a file only its name."""
    return Path(value).name if isinstance(value, str) else value


def _argument(key: str, name: str, value: Any, fail: Fail, *keys: str) -> float | str:
    if not _is_finite(value) and not isinstance(value, str):
        raise fail(f"{name} of {key!r} must be a number or a name", *keys)
    least = 2 if key == "posterior" else 1
    if name in {"l", "k"} and not (isinstance(value, int) and least <= value <= _MOST):
        raise fail(f"{name} of {key!r} must be a whole number of at least {least}", *keys)
    return value  # type: ignore[no-any-return]


def _number(key: str, value: Any, fail: Fail, *keys: str) -> float:
    if not _is_finite(value) or value < 0:
        raise fail(f"{key!r} needs a number as its threshold", *keys)
    return float(value)


def _is_finite(value: object) -> bool:
    """Whether it is a number that a double holds; TOML has whole numbers of any length."""
    return not isinstance(value, bool) and isinstance(value, int | float) and abs(value) <= sys.float_info.max
