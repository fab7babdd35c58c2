"""The arguments of calls that programs make: of another type than declared, they are refused in one sentence.

What a function takes, its annotations say; nothing is declared twice. Calls that do not fit a signature at all are left
to Python.
"""

from __future__ import annotations

import os
import types
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from functools import cache, wraps
from inspect import signature
from numbers import Integral, Real
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import duckdb

from sqlpriv.core.errors import InputError

P = ParamSpec("P")
T = TypeVar("T")
_WORDS: dict[Any, str] = {
    str: "a text",
    Path: "a path",
    int: "a whole number",
    float: "a number",
    bool: "True or False",
    type(None): "None",
    duckdb.DuckDBPyConnection: "a DuckDB connection",
}
_LISTS: dict[Any, str] = {str: "a list of texts", Any: "a list"}


def checked(function: Callable[P, T]) -> Callable[P, T]:
    """A function that refuses arguments of other types than it declares."""
    declared = signature(function)
    kinds = cache(lambda: typing.get_type_hints(function))

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            bound = declared.bind(*args, **kwargs)
        except TypeError:
            return function(*args, **kwargs)  # Python says what does not fit
        for name, value in bound.arguments.items():
            several = declared.parameters[name].kind is declared.parameters[name].VAR_POSITIONAL
            for each in value if several else (value,):
                if name in kinds() and not _is_of(each, kinds()[name]):
                    raise InputError(
                        f"{function.__name__}(): {name} must be {_spoken(kinds()[name])}, and it is {_type_of(each)}"
                    )
        return function(*args, **kwargs)

    return call


def _is_of(value: object, kind: Any) -> bool:
    """Whether a value is of a declared type; of a type that is not known here, any is."""
    origin, inner = typing.get_origin(kind), typing.get_args(kind)
    if kind is Any:
        return True
    if origin in (typing.Union, types.UnionType):
        # A list that is mixed of what one list and another may hold is left to the call itself, which knows why not.
        lists = tuple(typing.get_args(one)[0] for one in inner if typing.get_origin(one) is Sequence)
        return any(_is_of(value, one) for one in inner) or _is_list_of(value, lists)
    if origin is Sequence:
        return _is_list_of(value, inner)
    if origin is Mapping:
        return isinstance(value, Mapping)
    if origin is Callable:
        return callable(value)
    if kind is bool:
        return isinstance(value, Integral) or type(value).__name__ == "bool_"  # numpy's
    if kind in (int, float):
        return isinstance(value, Integral if kind is int else (Real, Decimal)) and not isinstance(value, bool)
    if kind is Path:
        return isinstance(value, os.PathLike)
    if kind is duckdb.DuckDBPyConnection:
        return hasattr(value, "execute")  # also the module itself, which stands for its own connection
    return not isinstance(kind, type) or isinstance(value, kind)


def _is_list_of(value: object, kinds: tuple[Any, ...]) -> bool:
    """Whether a value is a list of some types; columns of a data frame, and what is read only once, are not opened."""
    listed = bool(kinds) and isinstance(value, Iterable) and not isinstance(value, (str, bytes, Mapping))
    opened = value if isinstance(value, (list, tuple)) else ()
    return listed and all(any(_is_of(one, kind) for kind in kinds) for one in opened)


def _type_of(value: object) -> str:
    if not isinstance(value, (list, tuple)):
        return f"of the type {type(value).__name__}"
    held = [type(one).__name__ for one in value if not isinstance(one, str)]
    return f"a {type(value).__name__} that holds {held[0] if held else 'texts'}"


def _spoken(kind: Any) -> str:
    origin, inner = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        return " or ".join(dict.fromkeys(map(_spoken, inner)))
    if origin is Sequence:
        return _LISTS.get(inner[0], "a list of lists")
    if origin is Mapping:
        return "a dictionary"
    if origin is Callable:
        return "a function"
    return _WORDS.get(kind, f"a {getattr(kind, '__name__', kind)}")
