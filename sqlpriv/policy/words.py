"""What names and contents of columns say: kinds of identifiers, and what nobody shall learn of a person.

They are data (words.toml), and a file of the owner's adds to them. Contents are looked at in a part of the rows; no
value leaves the database.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from sqlpriv.core.engine import Runs, fetch
from sqlpriv.core.errors import InputError
from sqlpriv.core.sqltext import literal, quoted

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_FILE = Path(__file__).with_name("words.toml")
_SECTIONS = ("identifiers", "sensitive")
_KEYS = {"words", "stems", "values"}
_LOOKED_AT = 10_000


@dataclass(frozen=True)
class Topic:
    """What columns of one kind are called, and hold."""

    words: frozenset[str] = frozenset()
    stems: tuple[str, ...] = ()
    values: tuple[str, ...] = ()

    def names(self, words: Sequence[str]) -> bool:
        """Whether the words of a name are of this kind; years at their end, as in hiv2004, do not count."""
        whole = {*words, *(word.rstrip("0123456789") for word in words)}
        return bool(self.words & whole) or any(stem in "".join(words) for stem in self.stems)

    def with_more(self, other: Topic) -> Topic:
        """The words of both."""
        return Topic(self.words | other.words, self.stems + other.stems, self.values + other.values)


@dataclass(frozen=True)
class Words:
    """All kinds, by what they are called in reasons."""

    identifiers: Mapping[str, Topic] = field(default_factory=dict)
    sensitive: Mapping[str, Topic] = field(default_factory=dict)

    def with_more(self, other: Words) -> Words:
        """The kinds of both."""
        return Words(_joined(self.identifiers, other.identifiers), _joined(self.sensitive, other.sensitive))

    def contents(self, con: Runs, relation: str, texts: Iterable[str]) -> dict[str, str]:
        """The sensitive topic of each text column most of whose values are of one."""
        patterns = [(topic, literal(value)) for topic, kind in self.sensitive.items() for value in kind.values]
        columns = list(texts)
        if not columns or not patterns:
            return {}
        names = ", ".join(map(quoted, columns))
        counts = ", ".join(
            f"count({quoted(c)}), "
            + ", ".join(f"count(*) FILTER (regexp_full_match(CAST({quoted(c)} AS VARCHAR), {p}))" for _, p in patterns)
            for c in columns
        )
        rows = f"(SELECT {names} FROM {relation}) USING SAMPLE reservoir({_LOOKED_AT} ROWS) REPEATABLE (1)"
        found, width = fetch(con, f"SELECT {counts} FROM {rows}")[0], 1 + len(patterns)
        topics = {}
        for n, column in enumerate(columns):
            present, *matches = found[n * width : (n + 1) * width]
            most = max(range(len(patterns)), key=lambda i: int(matches[i]))
            if matches[most] > present / 2:
                topics[column] = patterns[most][0]
        return topics


@cache
def known_words() -> Words:
    """Those of words.toml."""
    return _read(tomllib.loads(_FILE.read_text(encoding="utf-8")), _FILE.name)


def read_words(file: Path) -> Words:
    """Those of words.toml, and of a file of the owner's."""
    try:
        content = tomllib.loads(file.read_text(encoding="utf-8-sig"))
    except (OSError, UnicodeDecodeError):
        raise InputError(f"there is no file {str(file)!r}, or it is not UTF-8 text") from None
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{file.name} is not TOML: {error}") from None
    return known_words().with_more(_read(content, file.name))


def _read(content: Mapping[str, Any], name: str) -> Words:
    if not set(content) <= set(_SECTIONS):
        raise InputError(f"{name} has the sections {' and '.join(_SECTIONS)}, and no others")
    parts = []
    for section in _SECTIONS:
        topics = content.get(section, {})
        if not isinstance(topics, dict):
            raise InputError(f"{name}: [{section}] must hold sections, as in [{section}.health]")
        parts.append({topic: _topic(given, f"{name}: [{section}.{topic}]") for topic, given in topics.items()})
    return Words(*parts)


def _topic(given: Any, where: str) -> Topic:
    fits = isinstance(given, dict) and set(given) <= _KEYS
    lists = [given.get(key, []) for key in ("words", "stems")] if fits else []
    pattern = given.get("values", "") if fits else None
    if not fits or not isinstance(pattern, str) or not all(isinstance(w, str) for words in lists for w in words):
        raise InputError(f"{where} takes words and stems, lists of texts, and values, a regular expression")
    try:
        re.compile(pattern)
    except re.error:
        raise InputError(f"{where}: values is no regular expression") from None
    words, stems = ([str(word).lower() for word in one] for one in lists)
    return Topic(frozenset(words), tuple(stems), (pattern,) if pattern else ())


def _joined(one: Mapping[str, Topic], other: Mapping[str, Topic]) -> dict[str, Topic]:
    return {name: one.get(name, Topic()).with_more(other.get(name, Topic())) for name in (*one, *other)}
