"""What an installed sqlpriv holds is what the tree holds; .ci/check_wheel.py looks at the wheel."""

import ast
import importlib
import importlib.metadata
import importlib.resources
import re
import runpy
import sys
from pathlib import Path
from typing import Any

import pytest
import setuptools

import sqlpriv
from sqlpriv.version import __version__

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def packages() -> list[str]:
    """The packages that setup.py finds."""
    given: dict[str, Any] = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT)
        patch.setattr(setuptools, "setup", given.update)
        runpy.run_path("setup.py")
    return list(given["packages"])


def test_there_is_one_version() -> None:
    assert sqlpriv.__version__ == __version__ == importlib.metadata.version("sqlpriv")


def test_the_changelog_knows_the_version() -> None:
    assert f"## [{__version__}]" in (ROOT / "CHANGELOG.md").read_text()


def sql_files(folder: Path) -> dict[str, str]:
    """The texts of the macros by their path below the folder."""
    return {file.relative_to(folder).as_posix(): file.read_text() for file in folder.rglob("*.sql")}


def test_every_sql_file_is_found() -> None:
    packaged = Path(str(importlib.resources.files("sqlpriv.sql")))
    assert sql_files(packaged) == sql_files(ROOT / "sql")
    assert {Path(path).parent.name for path in sql_files(packaged)} == {"", "checks", "operators", "estimates", "risk"}


def test_every_package_is_found(packages: list[str]) -> None:
    places = {"sqlpriv": "sqlpriv", "sql": "sqlpriv.sql", "udfs": "sqlpriv.udfs"}
    expected = set()
    for folder, package in places.items():
        for module in (ROOT / folder).rglob("*.py"):
            below = module.parent.relative_to(ROOT / folder).parts
            expected.add(".".join([package, *below]))
    assert sorted(packages) == sorted(expected)
    assert "sqlpriv.methods.generalized.generalize" in packages


def test_every_package_has_its_place() -> None:
    """Packages that do not stand where their name says are told where they do."""
    section = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
    assert section["package-dir"] == {"sqlpriv": "sqlpriv", "sqlpriv.sql": "sql", "sqlpriv.udfs": "udfs"}
    assert "packages" not in section


def test_every_package_can_be_imported(packages: list[str]) -> None:
    for package in packages:
        assert importlib.import_module(package).__file__, f"{package} lacks an __init__.py"


def test_the_types_are_declared() -> None:
    assert importlib.resources.files("sqlpriv").joinpath("py.typed").is_file()


def test_the_command_exists() -> None:
    [command] = importlib.metadata.entry_points(group="console_scripts", name="sqlpriv")
    assert callable(command.load())


def imports_sqlpriv(source: str) -> bool:
    """Whether a module imports sqlpriv or a part of it, in any spelling."""

    def names_sqlpriv(name: str | None) -> bool:
        return name is not None and name.split(".")[0] == "sqlpriv"

    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import) and any(names_sqlpriv(alias.name) for alias in node.names):
            return True
        # Dots lead out of udfs/ into sqlpriv, whose part it is when it is installed.
        if isinstance(node, ast.ImportFrom) and (node.level > 1 or (node.level == 0 and names_sqlpriv(node.module))):
            return True
        if isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] in ("import_module", "__import__"):
            texts = [a.value for a in [*node.args, *(k.value for k in node.keywords)] if isinstance(a, ast.Constant)]
            if any(isinstance(text, str) and names_sqlpriv(text) for text in texts):
                return True
    return False


@pytest.mark.parametrize(
    "line",
    [
        "import sqlpriv",
        "import sqlpriv.core.errors",
        "import math, sqlpriv.core.errors as e",
        "from sqlpriv import errors",
        "from sqlpriv.core.errors import InputError",
        "from  sqlpriv  import (\n    errors,\n)",
        "from .. import errors",
        "from ..errors import InputError",
        "def f():\n    import sqlpriv",
        "importlib.import_module('sqlpriv.core.errors')",
        "import_module(name='sqlpriv')",
        "__import__('sqlpriv')",
    ],
)
def test_an_import_of_sqlpriv_is_found(line: str) -> None:
    assert imports_sqlpriv(f"import math\n{line}\n")


@pytest.mark.parametrize(
    "source",
    [
        '"""Nothing here may import sqlpriv, as in: from sqlpriv import errors."""\n# import sqlpriv\n',
        "import math\nfrom collections import abc\nfrom . import sibling\nfrom .sibling import sqlpriv\n",
        "import sqlprivate\nimportlib.import_module('math')\nprint('sqlpriv')\n",
    ],
)
def test_other_imports_and_texts_are_not_taken_for_one(source: str) -> None:
    assert not imports_sqlpriv(source)


def test_udfs_import_nothing_from_sqlpriv() -> None:
    modules = sorted((ROOT / "udfs").rglob("*.py"))
    assert modules
    assert [m.name for m in modules if imports_sqlpriv(m.read_text(encoding="utf-8"))] == []


def needed(name: str) -> set[str]:
    """All that a package needs everywhere, and what that needs."""
    found: set[str] = set()
    waiting = [name]
    while waiting:
        for text in importlib.metadata.requires(waiting.pop()) or ():
            other = re.sub(r"[-_.]+", "-", re.split(r"[^\w.-]", text)[0]).lower()
            if ";" not in text and other not in found:
                found.add(other)
                waiting.append(other)
    return found


def test_the_licences_of_what_is_installed_are_named() -> None:
    text = (ROOT / "SECURITY.md").read_text(encoding="utf-8").lower()
    rows = re.findall(r"^\| ([^|]+) \|[^|]+\|[^|]+\|$", text, re.MULTILINE)
    found = needed("sqlpriv")
    assert {"duckdb", "sqlglot", "typer"} <= found
    assert found <= {name.strip() for row in rows for name in row.split(",")}
