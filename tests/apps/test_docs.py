"""Every example in README and docs/ runs, in a folder where the files it names exist."""

from __future__ import annotations

import ast
import json
import re
import shlex
from pathlib import Path
from typing import Any

import duckdb
import pytest
from support import places
from support.commands import run

import sqlpriv
from sqlpriv.apps.pages import page_text
from sqlpriv.demo import examples

pytestmark = pytest.mark.one_version

ROOT = places.ROOT
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
RUN_ELSEWHERE = {"ci.md", "dbt.md"}  # by test_recipes.py; the dbt project has what the other shows
BLOCK = re.compile(r"^( *)```(\w+)\n(.*?)^ *```", re.DOTALL | re.MULTILINE)


def blocks(page: Path) -> list[tuple[str, str]]:
    found = BLOCK.findall(page.read_text(encoding="utf-8"))
    return [(language, re.sub(f"^{indent}", "", text, flags=re.MULTILINE)) for indent, language, text in found]


def test_there_are_many() -> None:
    """Or the tests below would prove nothing."""
    languages = [language for page in PAGES for language, _ in blocks(page)]
    assert {"sql", "sh", "toml"} <= set(languages)
    assert len(languages) >= 50


@pytest.mark.some(2)
@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_the_examples_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    found = blocks(page)
    con = duckdb.connect()
    if any(language == "sql" for language, _ in found):
        sqlpriv.load(con)
    examples.create(con)
    con.execute("COPY patients TO 'patients.csv'").fetchall()
    for language, text in found:
        if language == "sql":
            for statement in filter(str.strip, re.sub(r"--.*", "", text).split(";")):
                assert con.execute(statement).fetchall() is not None
        elif language == "python":
            exec(compile(text, str(page), "exec"), {})
        elif language == "sh":
            run_lines(text)
        elif language == "console":
            assert_shown(text)
        elif language == "toml":
            Path("policy.toml").write_text(text, encoding="utf-8")
        elif language in {"yaml", "jinja"}:
            assert page.name in RUN_ELSEWHERE, f"{page.name}: nothing runs its ```{language}"
        else:
            pytest.fail(f"{page.name}: nothing runs ```{language}")
    con.close()


def test_the_notebook_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Cell by cell; what the last line of one is worth shows itself, as in a notebook."""
    monkeypatch.chdir(tmp_path)
    cells = json.loads((ROOT / "docs" / "notebook.ipynb").read_text(encoding="utf-8"))["cells"]
    codes = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    names: dict[str, Any] = {}
    shown = []
    for code in codes:
        *statements, last = ast.parse(code).body
        if not isinstance(last, ast.Expr):
            statements.append(last)
        exec(compile(ast.Module(statements, []), "notebook", "exec"), names)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), "notebook", "eval"), names)
            shown.append(value._repr_html_() if hasattr(value, "_repr_html_") else repr(value))
    assert len(shown) >= 7
    assert shown[1] == "('no', None)"
    assert "x_low and x_high" in "".join(shown)


def run_lines(text: str) -> None:
    for line in text.splitlines():
        command = shlex.split(line, comments=True)
        if command and command[0] != "make":  # CI runs the Makefile itself
            printed(line)


def printed(line: str, columns: int = 120) -> str:
    """What a command prints, which succeeds."""
    command = shlex.split(line, comments=True)
    assert command[0] == "sqlpriv", line
    done = run(Path.cwd(), *command[1:], columns=columns)
    assert done.returncode == 0, f"{line}\n{done.stderr}"
    return done.stdout


def assert_shown(text: str) -> None:
    """A command after `$`, and its output, line by line; `...` stands for lines that are left out."""
    command, *shown = text.splitlines()
    if not Path("hospital.parquet").exists():
        printed("sqlpriv demo --folder . --only-table")
    real = [line.rstrip() for line in printed(command.removeprefix("$ "), columns=80).splitlines()]
    place, skipped = 0, False
    for line in shown:
        if line == "...":
            skipped = True
            continue
        assert line in (real[place:] if skipped else real[place : place + 1]), f"{command}\n{line!r} is not in {real}"
        place, skipped = real.index(line, place) + 1, False


def test_the_makefile_has_the_targets_that_the_readme_names() -> None:
    named = re.findall(r"^make (\w+)", (ROOT / "README.md").read_text(encoding="utf-8"), re.MULTILINE)
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert named
    assert all(re.search(rf"^{target}:", makefile, re.MULTILINE) for target in named)


@pytest.mark.parametrize("page", PAGES[1:], ids=lambda p: p.name)
def test_what_is_written_from_the_code_is_up_to_date(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert text == page_text(page.name, text), "run `make docs`"
