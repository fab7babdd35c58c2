"""TOML as a person would write it: the values of a proposed policy, and comments beside them in one column."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Mapping, Sequence

_WIDTH = 120
Entry = tuple[str, object, str]
"""A key, its value, and what is said beside it."""


def toml_section(name: str, entries: Sequence[Entry]) -> str:
    """A section; comments stand beside their entries, below each other, or above them where that would be too wide."""
    written = [(toml_key(key), toml_value(value), comment) for key, value, comment in entries]
    if not any(comment for _, _, comment in written):
        return f"\n[{name}]\n" + "".join(f"{key} = {value}\n" for key, value, _ in written)
    wide, long = (max(len(entry[part]) for entry in written) for part in (0, 1))
    beside = [f"{key:<{wide}} = {value:<{long}}  # {comment}" if comment else f"{key:<{wide}} = {value}"
              for key, value, comment in written]  # fmt: skip
    if max(len(line) for line in beside) <= _WIDTH:
        return f"\n[{name}]\n" + "\n".join(beside) + "\n"
    return f"\n[{name}]\n" + "".join(f"{_above(comment)}{key} = {value}\n" for key, value, comment in written)


def _above(comment: str) -> str:
    """A comment of as many lines as it needs; a word is never broken."""
    lines = textwrap.wrap(comment, _WIDTH - 2, break_long_words=False, break_on_hyphens=False)
    return "".join(f"# {line}\n" for line in lines)


def toml_key(name: str) -> str:
    """A key, in quotes where it needs them."""
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _text(name)


def toml_value(value: object) -> str:
    """A text, number, truth value, list or inline table."""
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{toml_key(name)} = {toml_value(item)}" for name, item in value.items()) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(toml_value(item) for item in value) + "]"
    if isinstance(value, bool):
        return str(value).lower()
    return _text(value) if isinstance(value, str) else str(value)


def _text(text: str) -> str:
    """A TOML string: JSON escapes the same characters in the same way, all but DEL."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
