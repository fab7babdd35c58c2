"""The parts of docs/ that are written from the code: `make docs` writes them, and a test compares.

docs/macros.md is all of it; in docs/policy.md the tables of keys stand between two comments each.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from sqlpriv.macros.pages import markdown
from sqlpriv.methods import METHODS
from sqlpriv.policy.keys import LEDGER_KEYS, RELEASE_KEYS, VIEW_KEYS, key_table

_BLOCK = re.compile(r"(<!-- keys of (\w+)(?: (\S+))? -->\n).*?(<!-- end -->)", re.DOTALL)


def page_text(name: str, text: str) -> str:
    """The text of a page of docs/ with its generated parts up to date."""
    if name == "macros.md":
        return markdown()
    return _BLOCK.sub(lambda found: found[1] + _keys(found[2], found[3]) + "\n" + found[4], text)


def _keys(method: str, role: str | None) -> str:
    """The keys of a method's [release], or of a role of its columns; other sections are of every method."""
    if method not in METHODS:
        return key_table({"release": RELEASE_KEYS, "views": VIEW_KEYS, "ledger": LEDGER_KEYS}[method])
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
