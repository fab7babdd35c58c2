"""Whatever a person reads here is plain: pages, help, messages, docstrings. `support/prose.py` has the rules."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from support import prose
from support.places import ROOT

from sqlpriv.apps.cli.main import COMMANDS, load_command

pytestmark = pytest.mark.one_version
pytest.importorskip("spellchecker", reason="pyspellchecker is not installed")
markdown = pytest.importorskip("markdown", reason="mkdocs is not installed")

DOCS = ROOT / "docs"
OUTSIDE = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md")]
PAGES = sorted(DOCS.glob("*.md"))
MODULES = [path for folder in ("sqlpriv", "udfs") for path in sorted((ROOT / folder).rglob("*.py"))]
MACROS = sorted((ROOT / "sql").rglob("*.sql"))


def found_in(paths: list[Path]) -> list[str]:
    return [
        problem
        for path in paths
        for problem in prose.of_file(str(path.relative_to(ROOT)), path.read_text(encoding="utf-8"))
    ]


@pytest.mark.parametrize("page", [*OUTSIDE, *PAGES], ids=lambda p: p.name)
def test_a_page_reads_well(page: Path) -> None:
    assert found_in([page]) == []


def test_messages_docstrings_and_comments_read_well() -> None:
    assert found_in(MODULES) == []
    assert found_in(MACROS) == []


def test_the_usual_message_is_short() -> None:
    shown = [text for path in MODULES for _, text in prose.texts(path.read_text(encoding="utf-8"))]
    assert len(shown) > 1000
    assert prose.median(shown) < prose.MEDIAN


def helps() -> Iterator[tuple[str, str]]:
    """The help of every command and of its options, as `--help` prints it."""
    for name, (_, first) in COMMANDS.items():
        yield name, first
        yield from _helps(name, load_command(name))


def _helps(name: str, command: Any) -> Iterator[tuple[str, str]]:
    yield name, command.help or ""
    for option in command.params:
        yield f"{name} {option.name}", getattr(option, "help", "") or ""
    for below, of_below in getattr(command, "commands", {}).items():
        yield from _helps(f"{name} {below}", of_below)


def test_the_help_of_every_command_reads_well() -> None:
    found = dict(helps())
    assert len(found) > 200
    assert [problem for name, text in found.items() for problem in prose.shown(name, text)] == []
    assert prose.median(found.values()) < prose.MEDIAN


def anchors(page: Path) -> set[str]:
    """The ids of the headings of a page, as the site gives them."""
    return set(
        re.findall(
            r' id="([^"]+)"', markdown.markdown(page.read_text(encoding="utf-8"), extensions=["toc", "fenced_code"])
        )
    )


@pytest.mark.parametrize("page", [*OUTSIDE, *PAGES], ids=lambda p: p.name)
def test_every_link_and_anchor_works(page: Path) -> None:
    text = re.sub(r"^ *```.*?^ *```|`[^`\n]*`", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if target.startswith(("https://", "http://")):
            continue
        name, _, anchor = target.partition("#")
        there = (page.parent / name) if name else page
        assert there.exists(), f"{page.name} -> {target}"
        assert not anchor or anchor in anchors(there), f"{page.name} -> {target}"


def listed(entry: Any) -> Iterator[str]:
    """The pages of the navigation."""
    if isinstance(entry, str):
        yield entry
    else:
        for below in entry.values() if isinstance(entry, dict) else entry:
            yield from listed(below)


def test_every_page_is_two_clicks_away() -> None:
    """Open a menu, choose a page; and no menu is longer than a reader looks through."""
    menus = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))["nav"]
    assert sorted(listed(menus)) == sorted(page.name for page in PAGES)
    assert max(len(pages) for menu in menus for pages in menu.values()) <= 8


def test_the_rules_find_what_they_are_for() -> None:
    """Or the tests above would prove nothing."""
    page = (
        "# It is private data\n\nThe reader is told how many stand beside a bag. "
        + "word " * 36
        + "ends. A mispelt one.\n"
    )
    found = "\n".join(prose.problems("page.md", page))
    for rule in ("names no task", "'told'", "'stand beside'", "'bag'", "37 words", "spelling: mispelt"):
        assert rule in found
    long = "\n".join(f"Line {n} of a page is short." for n in range(prose.LINES + 1)) + "\n"
    assert "251 lines" in "\n".join(prose.problems("page.md", long))
    assert "the median sentence has 20 words" in "\n".join(prose.problems("page.md", "word " * 19 + "ends.\n"))
    module = '"""Who minds is told."""\nNAMES = "count sum avg min max"\nfail(f"the {x}give tells what they are")\n'
    assert [p.split(":")[1] for p in prose.of_module("a.py", module)] == ["3", "1", "1"]
    macro = (
        "-- a(b) -> c\n-- What a bag is.\n-- example: FROM told\nCREATE MACRO a(b) AS error('sqlpriv: this tells it');"
    )
    assert [p.split("'")[1] for p in prose.of_macros("a.sql", macro)] == ["tells", "bag"]


# What design.md lists as replaced, in a sentence each.
REPLACED = (
    "it tells the rows",
    "the reader is told",
    "the method throws coins",
    "coins decide what is kept",
    "it stands beside the file",
    "he minds the loss",
    "each cell is priced",
    "the offers of a record, and its offers",
    "date and version are some",
    "the release is called after its rows",
    "how many they are is told",
    "people who can become certain",
    "who knows only the zip",
    "how values hang together",
    "make some coarser before",
    "the doorstep of the server",
    "the keeper of a door",
    "labelled rows",
    "bucketed rows",
    "the same of the entropy",
    "a signed bag",
)


@pytest.mark.parametrize("phrase", REPLACED)
def test_no_replaced_phrase_passes(phrase: str) -> None:
    assert prose.in_words("page", phrase)


@pytest.mark.parametrize(
    "phrase",
    [
        "nobody can tell",
        "a column beside another",
        "the price of a step",
        "an attacker who knows only the zip",
        "bring to mind",
    ],
)
def test_ordinary_english_passes(phrase: str) -> None:
    assert prose.in_words("page", phrase) == []


FAMILIES = ("generalization", "noise", "split", "sample", "disclosure")


@pytest.mark.parametrize("name", FAMILIES)
def test_pages_of_methods_have_one_order(name: str) -> None:
    found = re.findall(r"^## (.+)$", (DOCS / f"{name}.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert found == ["What readers see", "The promise", "Against whom not", "When to use it", "How it works"]


SEARCHED = {
    "k-anonymity": "check.html",
    "BI": "serve.html",
    "Power BI": "serve.html",
    "Spark": "scale.html",
    "delete a release": "ledger.html#undo-or-replace-a-release",
    "quasi-identifiers": "find.html",
    "epsilon": "parameters.html",
}


@pytest.mark.slow
def test_the_search_of_the_site_finds_what_readers_look_for(tmp_path: Path) -> None:
    """Its index, as the browser splits it: every word of at least so many letters stands in one entry."""
    build = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "--site-dir", str(tmp_path / "site")]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    index = json.loads((tmp_path / "site" / "search" / "search_index.json").read_text(encoding="utf-8"))
    shortest = index["config"]["min_search_length"]
    for query, place in SEARCHED.items():
        assert len(query) >= shortest
        words = [word for word in re.split(index["config"]["separator"], query.casefold()) if word != "a"]
        texts = {entry["location"]: f"{entry['title']} {entry['text']}".casefold() for entry in index["docs"]}
        found = [location for location, text in texts.items() if all(word in text for word in words)]
        assert any(location.startswith(place) for location in found), query
