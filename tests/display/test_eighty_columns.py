"""At 80 columns nothing that carries meaning is cut: no ellipsis, no word split, no line beyond the screen."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

import pytest
from rich.cells import cell_len
from rich.console import Console
from support.commands import run

from sqlpriv.core.facts import Facts, Grid, Line, cell
from sqlpriv.display import terminal

pytestmark = [pytest.mark.one_version, pytest.mark.slow]

ASK = "SELECT sex, diagnosis, avg(length_of_stay) AS stay, count(*) AS n, sum(length_of_stay) AS days FROM hospital"
COMMANDS = {
    "check": ["check", "hospital.parquet", "--qi", "zip,sex", "--sensitive", "diagnosis", "--person", "patient_id"],
    "lattice": ["lattice", "generalize.toml"],
    "ledger": ["ledger", "noise.toml", "--ledger", "demo-ledger.db"],
    "show": ["show", "hospital-noise.duckdb"],
    "show a generalized one": ["show", "hospital-release.duckdb"],
    "plan": ["plan", "noise.toml"],
    "query": ["query", "hospital-noise.duckdb", f"{ASK} GROUP BY ALL ORDER BY n DESC"],
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("eighty")
    done = run(target, "demo", "--folder", ".")
    assert done.returncode == 0, done.stderr
    return target


def assert_readable(grid: Grid, lines: list[str]) -> None:
    """Every word of every cell stands whole on some line, and every cell that is not folded as a whole."""
    printed = "\n".join(lines)
    words = set(printed.split())
    for row in grid.rows:
        for place, value in enumerate(row):
            text = cell(value)
            folds = (len(text) > 24 and " " in text) or not grid.headings or grid.headings[place] in grid.folded
            assert text in printed or (folds and set(text.split()) <= words), text
    for heading in grid.headings:
        assert set(heading.split()) <= words | {w.rstrip(":") for w in words}


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_of_the_demo(folder: Path, command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[Facts] = []
    original = terminal.show

    def spy(console: Console, facts: Facts, values: bool = False) -> None:
        told.append(replace(facts, parts=facts.shown(values)))
        original(console, facts, values)

    monkeypatch.setattr(terminal, "show", spy)
    done = run(folder, *COMMANDS[command], columns=80)
    assert done.returncode == 0, done.stderr
    assert "…" not in done.stdout
    (facts,) = told
    sentences = {line.strip() for part in facts.parts if isinstance(part, Line) for line in part.text.splitlines()}
    lines = done.stdout.splitlines()
    beyond = [line for line in lines if cell_len(line) > 80 and not any(s in line for s in sentences)]
    assert beyond == []
    grids = [part for part in facts.parts if isinstance(part, Grid)]
    assert grids
    for grid in grids:
        assert_readable(grid, lines)


@pytest.mark.slow
def test_the_model_comes_first(folder: Path) -> None:
    lines = run(folder, *COMMANDS["check"], columns=80).stdout.splitlines()
    assert any(line.split()[:3] == ["t_closeness", "0.9819", "1"] for line in lines)
    assert any(line.split()[0] == "epsilon_class2" for line in lines if line.strip())


def test_a_ledger_names_date_and_file_whole(folder: Path) -> None:
    text = run(folder, *COMMANDS["ledger"], columns=80).stdout
    assert "output: hospital-release.duckdb" in text
    assert "method: generalize" in text


@pytest.mark.parametrize("width", [30, 50, 80, 200])
def test_any_grid_at_any_width(width: int) -> None:
    rows = (
        ("[12, 3, 4, 0, 1]", "minimal", 1_234_567, "a sentence of many words that has to be folded at its spaces"),
        ("[1, 0]", "no", 3, "short"),
    )
    out = io.StringIO()
    facts = Facts("", {}, (Grid(("node", "meets all", "rows", "why"), rows),))
    terminal.show(Console(file=out, width=width, highlight=False), facts)
    lines = out.getvalue().splitlines()
    assert all(len(line) <= width for line in lines)
    assert all(any(text in line for line in lines) for text in ("[12, 3, 4, 0, 1]", "1,234,567", "minimal"))
    assert set(rows[0][3].split()) <= set(out.getvalue().split())


def test_on_a_screen_sentences_are_folded_at_words() -> None:
    out = io.StringIO()
    sentence = "Whoever believes with at most 0.0606 that a person's row is a certain one believes so with at most 0.3"
    terminal.show(
        Console(file=out, width=40, force_terminal=True, no_color=True, highlight=False),
        Facts("", {}, (Line(sentence, "claimed"),)),
    )
    lines = [line.replace("\x1b[0m", "").replace("\x1b[1m", "").rstrip() for line in out.getvalue().splitlines()]
    assert all(len(line) <= 40 for line in lines)
    assert " ".join(" ".join(lines).split()) == f"claimed {sentence}"
    assert all(line.startswith("         ") for line in lines[1:])
