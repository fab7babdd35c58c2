"""What an installed sqlpriv holds is what the tree holds; .ci/check_wheel.py looks at the wheel."""

import importlib
import importlib.metadata
import importlib.resources
import sys
from pathlib import Path
from typing import Any

import pytest

import sqlpriv
from sqlpriv.version import __version__

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def setuptools_section() -> Any:
    return tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]


def test_there_is_one_version() -> None:
    assert sqlpriv.__version__ == __version__ == importlib.metadata.version("sqlpriv")


def test_the_changelog_knows_the_version() -> None:
    assert f"## [{__version__}]" in (ROOT / "CHANGELOG.md").read_text()


def test_every_sql_file_is_found() -> None:
    packaged = {
        file.name: file.read_text()
        for file in importlib.resources.files("sqlpriv.sql").iterdir()
        if file.name.endswith(".sql")
    }
    in_tree = {file.name: file.read_text() for file in (ROOT / "sql").glob("*.sql")}
    assert packaged == in_tree
    assert in_tree


def test_every_package_is_listed(setuptools_section: Any) -> None:
    places = {"sqlpriv": "sqlpriv", "sql": "sqlpriv.sql", "udfs": "sqlpriv.udfs"}
    expected = set()
    for folder, package in places.items():
        for module in (ROOT / folder).rglob("*.py"):
            below = module.parent.relative_to(ROOT / folder).parts
            expected.add(".".join([package, *below]))
    assert set(setuptools_section["packages"]) == expected


def test_every_package_can_be_imported(setuptools_section: Any) -> None:
    for package in setuptools_section["packages"]:
        assert importlib.import_module(package).__file__, f"{package} lacks an __init__.py"


def test_the_types_are_declared() -> None:
    assert importlib.resources.files("sqlpriv").joinpath("py.typed").is_file()


def test_the_command_exists() -> None:
    [command] = importlib.metadata.entry_points(group="console_scripts", name="sqlpriv")
    assert callable(command.load())


def test_udfs_import_nothing_from_sqlpriv() -> None:
    for module in (ROOT / "udfs").rglob("*.py"):
        source = module.read_text()
        assert "import sqlpriv" not in source, module.name
        assert "from sqlpriv" not in source, module.name
