"""A program waits only for what it uses: names are imported, and macros inlined, when they are asked for."""

from __future__ import annotations

import ast
import pkgutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import sqlpriv

HEAVY = ("duckdb", "numpy", "pyarrow", "rich", "sqlglot", "typer")


def printed(program: str) -> str:
    """What a program prints in an interpreter that has imported nothing yet."""
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.strip()


def test_importing_sqlpriv_imports_nothing_heavy() -> None:
    assert printed(f"import sqlpriv, sys; print([m for m in {HEAVY} if m in sys.modules])") == "[]"


def test_loading_the_macros_needs_duckdb_alone() -> None:
    heavy = [m for m in HEAVY if m != "duckdb"]
    program = f"import sqlpriv, sys; sqlpriv.load; print([m for m in {heavy} if m in sys.modules])"
    assert printed(program) == "[]"


def test_the_script_of_all_macros_needs_nothing_that_a_build_lacks() -> None:
    program = (
        "import sys; from sqlpriv.macros.catalog import script; "
        f"print(len(script()) > 10**6, [m for m in {HEAVY} if m in sys.modules])"
    )
    assert printed(program) == "True []"


def test_one_macro_is_inlined_alone() -> None:
    program = (
        "from sqlpriv.macros import catalog; catalog.macro('k_anonymity'); "
        "print(list(catalog.macros()._made), len(catalog.macros()) > 80)"
    )
    assert printed(program) == "['k_anonymity'] True"


@pytest.mark.parametrize("name", sqlpriv._PLACES)
def test_every_name_is_what_its_module_holds(name: str) -> None:
    assert getattr(sqlpriv, name) is getattr(import_module(sqlpriv._PLACES[name]), name)


def test_every_name_is_listed() -> None:
    assert sorted([*sqlpriv._PLACES, "__version__"]) == sorted(sqlpriv.__all__)
    assert set(sqlpriv.__all__) <= set(dir(sqlpriv))
    assert printed("from sqlpriv import *; print(callable(publish), callable(load))") == "True True"


def test_type_checkers_see_the_same_names() -> None:
    """They read the imports, the interpreter reads the table."""
    tree = ast.parse(Path(str(sqlpriv.__file__)).read_text(encoding="utf-8"))
    checked = next(node for node in tree.body if isinstance(node, ast.If))
    imports = [node for node in checked.body if isinstance(node, ast.ImportFrom)]
    seen = {alias.asname or alias.name: node.module for node in imports for alias in node.names}
    assert seen == sqlpriv._PLACES


def test_no_module_takes_the_place_of_a_name() -> None:
    """Once sqlpriv.publish was imported as a module, sqlpriv.publish would be that module and not the function."""
    assert not {module.name for module in pkgutil.iter_modules(sqlpriv.__path__)} & set(sqlpriv.__all__)


def test_a_name_that_is_not_there_is_missed_as_usual() -> None:
    with pytest.raises(AttributeError, match="module 'sqlpriv' has no attribute 'publsh'"):
        _ = sqlpriv.publsh  # type: ignore[attr-defined]
    with pytest.raises(ImportError):
        from sqlpriv import publsh  # type: ignore[attr-defined]  # noqa: F401
