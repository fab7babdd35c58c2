"""What makes prose hard to read, found by rules: `python -m tests.support.prose docs/*.md` lists it.

    words       no word or phrase that has a plainer one
    length      no sentence above 35 words; the median of a page is below 18
    spelling    every word is in a dictionary, or in the glossary of this project
    headings    short, and about a task or a thing
    page        at most 250 lines

In pages, code and addresses of links are no prose. In modules, prose is what a person reads on a screen (texts with
several words), and, for the words alone, docstrings and comments.
"""

from __future__ import annotations

import ast
import re
import statistics
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

LONGEST, MEDIAN, LINES, HEADING = 35, 18, 250, 10
GLOSSARY = Path(__file__).parents[1] / "fixtures" / "glossary.txt"
WRITTEN_BY_CODE = ("macros.md", "python.md")
"""Pages without a limit of lines."""
_OF_CODE = re.compile(r"<!-- keys of .*?<!-- end -->", re.DOTALL)
# The words that the plain ones replaced, as far as they are not ordinary English elsewhere.
_DIALECT = (
    r"(is|are|was|were|be|been) told",
    r"tells? (of|apart)",
    r"throws? (a )?coins?|thrown coins?|coins? decides?",
    r"stands? beside",
    r"hangs? together",
    r"who knows only",
    r"(of|in|for|by|from|to|with|over|on|at) which there",
    r"can become certain",
    r"is called after its rows",
    r"date and version are some",
    r"how many (they|of them|there|people|rows) (are|is) told",
    r"the same of the entropy",
    r"make some coarser before",
    r"\bminds (that|what|how|of)\b|\bpriced\b|\bdoorsteps?\b",
    r"\bbags\b(?! of)",
    r"what else there is",
    r"believes no value more",
    r"nothing is known of",
)
DIALECT = re.compile("|".join(_DIALECT), re.IGNORECASE)


def paragraphs(markdown: str) -> Iterator[str]:
    """The prose of a page: paragraphs, items of lists and cells of tables, without code and headings."""
    text = re.sub(r"<!--.*?-->|^ *```.*?^ *```|<svg.*?</svg>", "\n\n", markdown, flags=re.DOTALL | re.MULTILINE)
    for block in re.split(r"\n\s*\n", text):
        raw = [line for line in block.splitlines() if line.strip()]
        if raw and re.match(r"    (?!\s*([-*]|\d+\.) )(?! ?[A-Z])", raw[0]):  # code by its indent
            continue
        lines = [line.strip() for line in raw if not line.lstrip().startswith(("#", "!!!", "<", "!["))]
        for cells in (line.strip("|").split(" | ") for line in lines if line.startswith("|")):
            yield from (cell.strip() for cell in cells if set(cell) - set(" -|"))
        prose = "\n".join(line for line in lines if not line.startswith("|"))
        yield from (item for item in re.split(r"\n(?:[-*>]|\d+\.) ", "\n" + prose) if item.strip())


def headings(markdown: str) -> list[str]:
    return re.findall(
        r"^#+ (.+)$", re.sub(r"^ *```.*?^ *```", "", markdown, flags=re.DOTALL | re.MULTILINE), re.MULTILINE
    )


def plain(text: str) -> str:
    """Without marks and addresses; a piece of code is one word."""
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", re.sub(r"`[^`]*`", "X", text))
    return " ".join(re.sub(r"[*_]{1,2}(?=\w)|(?<=[\w.,:)])[*_]{1,2}", " ", text).split())


def sentences(paragraph: str) -> list[str]:
    """A paragraph, cut where sentences end; a colon before a list, a table or code ends one, too."""
    return [s for s in re.split(r"(?<=[.!?])\s+|:$", plain(paragraph)) if s and len(s.split()) > 1]


@cache
def _dictionary() -> frozenset[str]:
    from spellchecker import SpellChecker

    known = SpellChecker().word_frequency.words()
    return frozenset(known) | frozenset(GLOSSARY.read_text(encoding="utf-8").split())


def misspelt(text: str) -> set[str]:
    """The words that neither the dictionary nor the glossary has. Names in code, capitals and formulas are no words."""
    words = {
        w.casefold().removesuffix("'s")
        for w in re.findall(r"(?<![\w./\\-])[A-Z]?[a-z]{3,}(?![\w/=(^\\-]|\.\w)", plain(text))
    }
    return {w for w in words if w not in _dictionary() and w.rstrip("s") not in _dictionary()}


def in_words(where: str, text: str) -> list[str]:
    """The phrases of a text that have plainer ones."""
    flat = " ".join(text.split())
    return [
        f"{where}: {m.group(0)!r} in: {flat[max(0, m.start() - 40) : m.end() + 40]}" for m in DIALECT.finditer(flat)
    ]


def problems(name: str, markdown: str) -> list[str]:
    """All that makes a page hard to read, a line each."""
    found = in_words(name, markdown)
    if (lines := _OF_CODE.sub("", markdown).count("\n")) > LINES and Path(name).name not in WRITTEN_BY_CODE:
        found.append(f"{name}: {lines} lines, more than {LINES}")
    for heading in headings(markdown):
        if len(heading.split()) > HEADING or re.match(r"(It|They|There|That|This|These|Those)\b", heading):
            found.append(f"{name}: a heading that names no task and no thing: {heading}")
    lengths = []
    for paragraph in paragraphs(markdown):
        for sentence in sentences(paragraph):
            lengths.append(len(sentence.split()))
            if lengths[-1] > LONGEST:
                found.append(f"{name}: {lengths[-1]} words: {sentence[:110]}")
        found += [f"{name}: spelling: {word}" for word in sorted(misspelt(paragraph))]
    if lengths and (median := statistics.median(lengths)) >= MEDIAN:
        found.append(f"{name}: the median sentence has {median:g} words")
    return found


def texts(module: str) -> Iterator[tuple[int, str]]:
    """The texts of a module that somebody may read on a screen, each with its line: of several words, and no SQL."""
    tree = ast.parse(module)
    documented = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef))
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    inside = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in ast.walk(node)} - {
        id(node) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr)
    }
    for node in ast.walk(tree):
        if id(node) in inside or id(node) in documented:
            continue
        if isinstance(node, ast.JoinedStr):
            text = "".join(v.value if isinstance(v, ast.Constant) else "X" for v in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            text = node.value
        else:
            continue
        if len(re.findall(r"\b[a-z]{2,}\b", text)) >= 4 and not _CODE.search(text):
            yield node.lineno, text


_CODE = re.compile(
    r"\b(SELECT|FROM|CREATE|WHERE|CASE WHEN|GROUP BY|INSERT|ATTACH|PRAGMA|JOIN|VALUES|COPY|SET)\b"
    r"|::|</|[{}]|\\[dws]|=>|__|\bdef |\bimport "
)


def main() -> None:
    """List the problems of the pages and modules that are named."""
    found = []
    for name in sys.argv[1:]:
        text = Path(name).read_text(encoding="utf-8")
        found += problems(name, text) if name.endswith(".md") else of_module(name, text)
    print("\n".join(found) or "nothing to complain about")
    sys.exit(bool(found))


def of_module(name: str, module: str) -> list[str]:
    """The problems of a module: its words everywhere, and the length and spelling of what is shown."""
    found = in_words(name, module)
    for line, text in texts(module) if name.endswith(".py") else ():
        found += [
            f"{name}:{line}: {len(s.split())} words: {s[:110]}" for s in sentences(text) if len(s.split()) > LONGEST
        ]
        found += [f"{name}:{line}: spelling: {word}" for word in sorted(misspelt(text))]
    return found


if __name__ == "__main__":
    main()
