"""The line of every key of a TOML text, for messages: tomllib does not report it."""

from __future__ import annotations

import sys
from collections.abc import Iterator

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

Keys = tuple[str | int, ...]


def line_of(text: str, keys: Keys) -> int:
    """The line where the key stands, or that of the innermost one around it that is there."""
    lines = key_lines(text)
    for length in range(len(keys), 0, -1):
        if keys[:length] in lines:
            return lines[keys[:length]]
    return 1


def key_lines(text: str) -> dict[Keys, int]:
    """The line of every key of a valid TOML text, with the number of the item in arrays.

    >>> key_lines('[a]\\n"b.c" = 1\\n[[d]]\\n[[d]]\\ne.f = [{ g = 2 }]')[("d", 1, "e", "f", 0, "g")]
    5
    """
    found: dict[Keys, int] = {}
    items: dict[Keys, int] = {}
    table: Keys = ()
    for line, statement in _statements(text):
        content = tomllib.loads(statement)
        if statement.lstrip().startswith("["):
            table = _opened(content, items)
            for length in range(1, len(table) + 1):
                found.setdefault(table[:length], line)
        else:
            for keys in _paths(content):
                found.setdefault(table + keys, line)
    return found


def _statements(text: str) -> Iterator[tuple[int, str]]:
    """The headers and assignments with their lines. A value may take several lines: it ends where it can be read."""
    lines = text.replace("\r\n", "\n").split("\n")
    start = 0
    while start < len(lines):
        end = start + 1
        while end < len(lines) and not _is_whole("\n".join(lines[start:end])):
            end += 1
        yield start + 1, "\n".join(lines[start:end])
        start = end


def _is_whole(text: str) -> bool:
    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return False
    return True


def _opened(content: object, items: dict[Keys, int]) -> Keys:
    """The keys of the table that a header opens; each [[header]] opens the next item of its array."""
    table: Keys = ()
    while isinstance(content, dict) and content:
        ((key, content),) = content.items()
        table += (key,)
        if isinstance(content, list):
            items[table] = items.get(table, -1) + 1
        if table in items:
            table += (items[table],)
    return table


def _paths(content: object) -> Iterator[Keys]:
    inside: Iterator[tuple[str | int, object]] = iter(())
    if isinstance(content, dict):
        inside = iter(content.items())
    elif isinstance(content, list):
        inside = iter(enumerate(content))
    for key, value in inside:
        yield (key,)
        yield from ((key, *keys) for keys in _paths(value))
