"""The parts of docs/ that are written from the code: `make docs` writes them, and a test compares.

docs/macros.md and docs/python.md are all of it; in docs/policy.md the tables of keys stand between two comments each.
"""

from __future__ import annotations

import inspect
import re
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sqlpriv.macros.pages import markdown
from sqlpriv.methods import METHODS
from sqlpriv.policy.keys import LEDGER_KEYS, RELEASE_KEYS, VIEW_KEYS, key_table

_SHARED = {"noise": ("noisy_counts", "alpha_beta", "frapp")}
"""Methods that share most of their keys, which the page therefore lists once."""
_EXAMPLE = 3 * ">" + " "
"""Where an example starts in a docstring."""
_BLOCK = re.compile(r"(<!-- keys of (\w+)(?: (\S+))? -->\n).*?(<!-- end -->)", re.DOTALL)


def page_text(name: str, text: str) -> str:
    """The text of a page of docs/ with its generated parts up to date."""
    if name == "macros.md":
        return markdown()
    if name == "python.md":
        return python_reference()
    return _BLOCK.sub(lambda found: found[1] + _keys(found[2], found[3]) + "\n" + found[4], text)


def python_reference() -> str:
    """The page of the Python calls: signature and docstring of everything that the package exports."""
    parts = [_PYTHON]
    package = sys.modules["sqlpriv"]
    for name in sorted(set(package.__all__) - {"__version__"}, key=str.lower):
        found = getattr(package, name)
        text, mark, example = (inspect.getdoc(found) or "").partition(_EXAMPLE)
        shown = [] if inspect.isclass(found) else _signature(name, found)
        parts += [f"## {name}", "\n".join(f"    {line}" for line in shown), text.strip()]
        parts.append("\n".join(f"    {line}".rstrip() for line in (mark + example).splitlines()))
    return "\n\n".join(part for part in parts if part) + "\n"


def _signature(name: str, function: Callable[..., Any]) -> list[str]:
    """The call with its parameters, wrapped; annotations are text already."""
    shown = inspect.signature(function)
    words, named = [], False
    for one in shown.parameters.values():
        if one.kind is one.KEYWORD_ONLY and not named:
            named = True
            words.append("*")
        star = "*" if one.kind is one.VAR_POSITIONAL else ""
        default = "" if one.default is one.empty else f" = {one.default!r}"
        words.append(f"{star}{one.name}: {one.annotation}{default}")
        named = named or bool(star)
    return textwrap.wrap(f"{name}({', '.join(words)}) -> {shown.return_annotation}", 110, subsequent_indent="    ")


_PYTHON = """\
# Python reference

Written from the docstrings by `make docs`. Every command is a call: it returns `Facts`, prints nothing, and raises a
`SqlprivError` with one message. Files may be named by text or by `Path`.
"""


def _keys(method: str, role: str | None) -> str:
    """The keys of a method's [release], or of a role of its columns; other sections are of every method."""
    if method in _SHARED:
        first, *others = (METHODS[name].options for name in _SHARED[method])
        shared = tuple(key for key in first if all(key in keys for keys in others))
        return key_table(shared if role is None else tuple(k for k in METHODS[role].options if k not in shared))
    if method not in METHODS:
        return key_table({"release": RELEASE_KEYS, "views": VIEW_KEYS, "ledger": LEDGER_KEYS}[method])
    if role == "sensitive":  # what a published column takes for every method stands above it
        listed = {key.name for key in METHODS[_SHARED["noise"][0]].roles["published"]}
        return key_table(tuple(key for key in METHODS[method].roles[role] if key.name not in listed))
    return key_table(METHODS[method].roles[role] if role else METHODS[method].options)


def write(folder: Path) -> list[str]:
    """Write all pages; the names of those that changed."""
    changed = []
    for page in sorted(folder.glob("*.md")):
        before = page.read_text(encoding="utf-8")
        after = page_text(page.name, before)
        if after != before:
            page.write_text(after, encoding="utf-8")
            changed.append(page.name)
    return changed


if __name__ == "__main__":
    print(", ".join(write(Path(sys.argv[1]))) or "nothing changed")
