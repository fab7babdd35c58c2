"""The map of the papers: every name on docs/papers.md exists, and every numbered item of the papers stands on it."""

from __future__ import annotations

import ast
import re
from functools import cache

import pytest
from support.places import ROOT

from sqlpriv.apps.cli.main import COMMANDS, load_command
from sqlpriv.checks.measures import MEASURES
from sqlpriv.macros.catalog import macros
from sqlpriv.methods import METHODS

pytestmark = pytest.mark.one_version

PAGE = (ROOT / "docs" / "papers.md").read_text(encoding="utf-8")
POLICY_PAGE = (ROOT / "docs" / "policy.md").read_text(encoding="utf-8")  # its tables of keys are written from the code
MISSING = ("not yet: ", "not built: ", "nothing to build")
NUMBERED = re.compile(r"(Definition|Theorem|Algorithm|Table|Figure|Example|Proposition|Lemma|Corollary) ([\d.]+[abc]?)")


def numbers(first: int, last: int) -> list[str]:
    return [str(n) for n in range(first, last + 1)]


ITEMS = {
    "Beyond anonymity": {"Figure": ["2", "3"], "Table": ["4"]},
    "Data publishing against realistic adversaries": {
        "Definition": numbers(1, 5),
        "Theorem": numbers(1, 4),
        "Lemma": ["1"],
        "Example": numbers(1, 3),
        "Table": numbers(1, 5),
        "Figure": numbers(1, 3),
    },
    "A decision theoretic framework": {
        "Definition": numbers(1, 7),
        "Proposition": numbers(1, 3),
        "Figure": [*numbers(1, 6), "7a", "7b", "7c", "8", "9a", "9b", "9c", *numbers(10, 12)],
    },
    "The boundary between privacy and utility": {
        "Definition": ["2.1", "2.2", "2.3", "2.4", "2.5", "3.1", "3.2", "6.2", "6.5"],
        "Theorem": ["2.6", "3.3", "4.3", "4.4", "6.1", "6.3", "6.6"],
        "Proposition": ["3.4"],
        "Example": ["4.1", "4.2", "6.4"],
        "Algorithm": numbers(1, 5),
        "Table": numbers(1, 3),
        "Figure": numbers(1, 3),
    },
    "k-anonymity meets differential privacy": {
        "Definition": numbers(1, 5),
        "Theorem": ["1", "2", "3", "5", "6"],
        "Corollary": ["4"],
        "Algorithm": numbers(1, 5),
        "Table": ["1"],
        "Figure": numbers(1, 7),
    },
}


def rows(section: str) -> list[list[str]]:
    """The rows of the table of a section, by cells."""
    text = PAGE.split(f"\n## {section}\n", 1)[1].split("\n## ", 1)[0]
    lines = [line for line in text.splitlines() if line.startswith("| ")][1:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def spans(text: str) -> list[str]:
    return re.findall(r"`([^`]+)`", text)


@cache
def defined_in(path: str) -> set[str]:
    file = ROOT / path
    body = ast.parse(file.read_text(encoding="utf-8")).body if file.is_file() else []
    return {node.name for node in body if isinstance(node, ast.FunctionDef)}


@cache
def options_of(command: str) -> set[str] | None:
    """The options of a command of sqlpriv; None where there is no such command."""
    if command not in COMMANDS:
        return None
    return {name for p in load_command(command).params for name in (*p.opts, *p.secondary_opts)}


def exists(name: str) -> bool:
    """Whether what a code span names is there; a span of no known kind is not."""
    if match := re.fullmatch(r"priv\.(\w+)", name):
        return match[1] in macros()
    if match := re.fullmatch(r"sqlpriv (\w+)((?: --[\w-]+)*)", name):
        options = options_of(match[1])
        return options is not None and set(match[2].split()) <= options
    if match := re.fullmatch(r"python -m benchmarks\.(\w+)", name):
        return (ROOT / "benchmarks" / f"{match[1]}.py").is_file()
    if match := re.fullmatch(r"(tests/[\w/]+\.py)::(test_\w+)", name):
        return match[2] in defined_in(match[1])
    if match := re.fullmatch(r'method = "(\w+)"', name):
        return match[1] in METHODS
    if match := re.fullmatch(r"\[require\] (\w+)", name):
        sought = {key: m for m in MEASURES.values() for key in (m.policy_key or m.name, *m.policy_names)}
        return match[1] == "epsilon" or (match[1] in sought and sought[match[1]].reads is not None)
    if match := re.fullmatch(r"(\w+) = .+", name):
        return f"\n| `{match[1]}` |" in POLICY_PAGE
    return False


def test_every_name_on_the_map_exists() -> None:
    named = spans(PAGE)
    assert len(named) > 200
    assert [name for name in dict.fromkeys(named) if not exists(name)] == []


@pytest.mark.parametrize("section", ITEMS)
def test_every_numbered_item_of_a_paper_is_on_the_map_in_order(section: str) -> None:
    found: dict[str, list[str]] = {}
    for cells in rows(section):
        if match := NUMBERED.match(cells[0]):
            found.setdefault(match[1], []).append(match[2].rstrip("."))
    assert found == ITEMS[section]


@pytest.mark.parametrize("section", ITEMS)
def test_what_is_here_has_a_test_and_what_is_missing_a_reason(section: str) -> None:
    for what, here, tests, _ in rows(section):
        if here.startswith(MISSING):
            assert here == MISSING[2] or len(here.split(": ", 1)[1]) > 10, what
        else:
            assert spans(here), what
            assert any(name.startswith("tests/") for name in spans(tests)), what


@pytest.mark.parametrize("theorem", ["2.6", "3.3", "6.1", "6.6"])
def test_a_limit_says_what_it_means_for_a_user(theorem: str) -> None:
    (row,) = [r for r in rows("The boundary between privacy and utility") if r[0].startswith(f"Theorem {theorem}:")]
    assert "For you: " in row[3]


@pytest.mark.parametrize(
    "name",
    [
        "priv.no_such_macro",
        "sqlpriv frobnicate",
        "sqlpriv plan --no-such-option",
        "python -m benchmarks.nothing",
        "tests/sql/test_k_and_l.py::test_nothing",
        "tests/sql/test_no_such_file.py::test_oracles_agree",
        'method = "nothing"',
        "[require] nothing",
        "no_such_key = 1",
        "something else",
    ],
)
def test_a_name_that_does_not_exist_is_noticed(name: str) -> None:
    """Or the tests above would prove nothing."""
    assert not exists(name)
