"""The map of the rewriter, in the docstrings of its packages, names all modules that exist, and no others."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

pytestmark = pytest.mark.one_version

ROOT = Path(__file__).resolve().parents[2] / "sqlpriv" / "rewrite"
PACKAGES = sorted(path.parent for path in ROOT.rglob("__init__.py"))


@pytest.mark.parametrize("package", PACKAGES, ids=lambda path: path.name)
def test_the_map_names_what_exists(package: Path) -> None:
    text = ast.get_docstring(ast.parse((package / "__init__.py").read_text(encoding="utf-8")), clean=False) or ""
    listed = re.findall(r"^ *(\w+(?:, \w+)*) {2,}\w", text, re.MULTILINE)
    named = {name for line in listed for name in line.split(", ")}
    modules = {path.stem for path in package.glob("*.py") if path.stem != "__init__"}
    folders = {path.parent.name for path in package.glob("*/__init__.py")}
    assert named == modules | folders
    paths = re.findall(r"\b(?:bind|domain|estimate)/\w+", text)
    assert [path for path in paths if not (ROOT / f"{path}.py").is_file()] == []
