"""`sqlpriv dbt init`: the package of the wheel in a project, and the lines that name it. It needs no dbt."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from support.commands import run
from support.places import ROOT

from sqlpriv.version import __version__

pytestmark = pytest.mark.one_version

PACKAGE = ROOT / "sqlpriv" / "apps" / "dbt" / "package"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "dbt_project.yml").write_text("name: shop\n")
    return tmp_path


def content(folder: Path) -> dict[str, str]:
    return {str(p.relative_to(folder)): p.read_text() for p in folder.rglob("*") if p.is_file()}


def test_the_package_is_copied_and_what_is_to_be_written_is_printed(project: Path) -> None:
    done = run(project, "dbt", "init")
    assert done.returncode == 0, done.stderr
    assert content(project / "dbt_sqlpriv") == content(PACKAGE)
    assert "  - local: dbt_sqlpriv\n" in done.stdout
    assert "  - module: sqlpriv.dbt\n" in done.stdout
    assert "dbt deps" in done.stdout


def test_an_earlier_copy_is_replaced_as_a_whole(project: Path) -> None:
    run(project, "dbt", "init")
    (project / "dbt_sqlpriv" / "macros" / "of_an_older_version.sql").write_text("")
    done = run(project, "dbt", "init", "--json")
    assert json.loads(done.stdout)["version"] == __version__
    assert content(project / "dbt_sqlpriv") == content(PACKAGE)


def test_a_folder_of_somebody_else_is_left_alone(project: Path) -> None:
    (project / "dbt_sqlpriv").mkdir()
    (project / "dbt_sqlpriv" / "mine.sql").write_text("select 1")
    done = run(project, "dbt", "init")
    assert done.returncode == 2
    assert "is no copy of our package; move it away first" in " ".join(done.stderr.split())
    assert content(project / "dbt_sqlpriv") == {"mine.sql": "select 1"}


def test_a_folder_without_a_project_is_refused(tmp_path: Path) -> None:
    done = run(tmp_path, "dbt", "init")
    assert done.returncode == 2
    assert "name the folder of a dbt project" in " ".join(done.stderr.split())
    assert list(tmp_path.iterdir()) == []


def test_the_package_says_of_which_version_it_is() -> None:
    """The plugin refuses another one, so a copy that was forgotten is noticed."""
    # dbt takes semantic versions only, in which a release candidate has a hyphen.
    assert f"\nversion: {__version__.replace('rc', '-rc')}\n" in (PACKAGE / "dbt_project.yml").read_text()
    assert f'return("{__version__}")' in (PACKAGE / "macros" / "python.sql").read_text()


def test_what_the_page_shows_stands_in_the_project_that_is_built() -> None:
    """Each block names a file of the project of the tests, and its lines are there, one after the other."""
    shown = []
    for page in ("docs/dbt.md",):
        text = (ROOT / page).read_text(encoding="utf-8")
        found = re.findall(r"^```(?:yaml|jinja)\n(?:#|--) (\S+)\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
        assert len(found) == len(re.findall(r"^```(?:yaml|jinja)", text, re.MULTILINE)) >= 1
        shown += found
    assert len(shown) >= 11
    for name, text in shown:
        assert text in (ROOT / "tests" / "apps" / "dbt_project" / name).read_text(encoding="utf-8"), name


def test_the_page_names_every_test_of_the_package() -> None:
    page = (ROOT / "docs" / "dbt.md").read_text(encoding="utf-8")
    checks = [name for file in PACKAGE.rglob("*.sql") for name in re.findall(r"{% test (\w+)\(", file.read_text())]
    assert len(checks) == 13
    assert [name for name in checks if f"`{name}`" not in page] == []
