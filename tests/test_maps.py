"""The map of a room, in the docstring of its `__init__`, names modules and folders that exist."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

pytestmark = pytest.mark.one_version

ROOT = Path(__file__).resolve().parents[1]
# A line of a map: a module, a folder/ or a file.sql, two spaces or more, and what it is.
_LINE = re.compile(r"^([a-z_]+(?:/|\.sql)?) {2,}\S", re.MULTILINE)


def maps() -> dict[str, list[str]]:
    """The names in the map of every package that has one."""
    found = {}
    for file in [ROOT / "sql" / "__init__.py", *sorted((ROOT / "sqlpriv").rglob("__init__.py"))]:
        names = _LINE.findall(ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or "")
        if names:
            found[file.parent.relative_to(ROOT).as_posix()] = names
    return found


MAPS = maps()


def test_there_are_maps() -> None:
    """Or the test below would prove nothing."""
    assert {"sql", "sqlpriv/macros", "sqlpriv/table", "sqlpriv/policy", "sqlpriv/release/ledger"} <= set(MAPS)
    assert "catalog" in MAPS["sqlpriv/macros"]


@pytest.mark.parametrize("package", MAPS)
def test_it_names_what_exists(package: str) -> None:
    folder = ROOT / package
    missing = [n for n in MAPS[package] if not (folder / n).exists() and not (folder / f"{n}.py").is_file()]
    assert missing == []
