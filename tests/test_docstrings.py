"""Every example in a docstring runs, in a folder of its own."""

from __future__ import annotations

import doctest
from importlib import import_module
from pathlib import Path

import pytest
from support.places import ROOT

pytestmark = pytest.mark.one_version

FILES = [
    path
    for folder in ("sqlpriv", "udfs")
    for path in sorted((ROOT / folder).rglob("*.py"))
    if ">>> " in path.read_text(encoding="utf-8")
]


def module_name(path: Path) -> str:
    """udfs/ is sqlpriv.udfs when installed."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    parts = parts if parts[0] == "sqlpriv" else ("sqlpriv", *parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@pytest.mark.some(8)
@pytest.mark.parametrize("path", FILES, ids=module_name)
def test_examples_in_docstrings(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    tried = doctest.testmod(import_module(module_name(path)), optionflags=doctest.ELLIPSIS)
    assert tried.attempted > 0
    assert tried.failed == 0
