"""The maps of the house: what the docstring of a package lists as its modules is there, and every module is listed.

A map is the lines of the docstring of an `__init__` that have a name, two spaces or more, and what it holds:

    catalog    the open releases
    server     the tools; rows: what they print

Several names stand between commas or semicolons, and a second one may follow its neighbour after a semicolon. A line
may hold two entries.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
from support.places import ROOT

pytestmark = pytest.mark.one_version

_NAME = r"[a-z_]\w*(?:\.\w+|/)?"
_NAMES = re.compile(rf"{_NAME}(?:[,;] {_NAME})*")
_NEIGHBOUR = re.compile(r"; (\w+): ")


def listed(docstring: str) -> list[str]:
    """The names that a map lists."""
    found: list[str] = []
    for line in docstring.splitlines():
        cells = re.split(r" {2,}", line.strip())
        entries = list(zip(cells[::2], cells[1::2], strict=False))
        if entries and all(_NAMES.fullmatch(names) for names, _ in entries):
            for names, text in entries:
                found += [*re.split("[,;] ", names), *_NEIGHBOUR.findall(text)]
    return found


def exists(package: Path, name: str) -> bool:
    return any((package / place).exists() for place in (name, f"{name}.py"))


MAPS = {
    str(file.parent.relative_to(ROOT)): (file.parent, names)
    for file in sorted((ROOT / "sqlpriv").rglob("__init__.py"))
    if (names := listed(ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""))
}


@pytest.mark.parametrize("name", MAPS)
def test_a_map_lists_only_files_that_exist(name: str) -> None:
    package, names = MAPS[name]
    assert [listed_name for listed_name in names if not exists(package, listed_name)] == []


@pytest.mark.parametrize("name", MAPS)
def test_a_map_lists_every_module(name: str) -> None:
    package, names = MAPS[name]
    known = {Path(listed_name).name.removesuffix(".py") for listed_name in names}
    there = {f.stem for f in package.glob("[!_]*.py")} | {f.parent.name for f in package.glob("*/__init__.py")}
    assert sorted(there - known) == []


def test_names_are_found_in_every_form_of_a_map() -> None:
    """Or the test above would prove nothing."""
    text = """A package: what it is; a colon says nothing.

    sections.py   what it is made of         page.py, page.css   around it
    one; two      both
    package/      data; three: after it
    a line of prose, with a comma; and a semicolon: or two
    """
    assert listed(text) == ["sections.py", "page.py", "page.css", "one", "two", "package/", "three"]
    assert "sqlpriv/apps/server" in MAPS
    assert len(MAPS) > 5
