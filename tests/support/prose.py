"""What makes prose hard to read, found by rules: `python -m tests.support.prose FILES` lists it.

    words       no word or phrase that has a plainer one
    length      no sentence above 35 words; the median is below 18
    spelling    every word is in a dictionary, or in the glossary of this project
    headings    short, and about a task or a thing
    page        at most 250 lines

In pages, code and addresses of links are no prose. In modules and SQL, prose is what a person reads on a screen: texts
with several words. Docstrings and comments are for readers of the code: there the words count, and the length.
"""

from __future__ import annotations

import ast
import io
import re
import statistics
import sys
import tokenize
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

LONGEST, MEDIAN, LINES, HEADING = 35, 18, 250, 10
GLOSSARY = Path(__file__).parents[1] / "fixtures" / "glossary.txt"
WRITTEN_BY_CODE = ("macros.md", "python.md")
"""Pages without a limit of lines."""
_OF_CODE = re.compile(r"<!-- keys of .*?<!-- end -->", re.DOTALL)
_FENCED = re.compile(r"<!--.*?-->|^ *```.*?^ *```|<svg.*?</svg>", re.DOTALL | re.MULTILINE)
# What the plain words of this project replaced. Ordinary English of the same spelling is left out: nobody can tell, a
# column beside another, the price of a step.
_DIALECT = (
    r"told",
    r"tells|telling",
    r"(?<!cannot )(?<!nobody can )(?<!nobody could )(?<!could not )(?<!can not )(?<!can only )tell (of|apart|it|them)",
    r"(throws?|throwing|thrown|threw) (a |the )?coins?|coins? (was|were|are|is|not) (not )?(thrown|told)",
    r"coins? (decides?|decided|falls?|fell)",
    r"(stands?|stood|standing) beside",
    r"minds|minded|(people|persons|nobody|somebody|who) mind",
    r"priced",
    r"(an?|the|its|their|every|all|each|no|one|of|such) offers?",
    r"(are|is) some(?=[.,;:)]|$)",
    r"called after",
    r"how many (they|of them|there|people|rows) (are|is) (told|said)",
    r"(can|could|may) become certain",
    r"(?<!attacker )who knows? only",
    r"hangs? together",
    r"coarser before",
    r"doorsteps?|doors?|keepers?",
    r"labelled|bucketed",
    r"the same of",
    r"(signed )?bags?",
    r"(of|in|for|by|from|to|with|over|on|at) which there",
    r"what else there is",
    r"believes no value more",
    r"nothing is known of",
)
DIALECT = re.compile(rf"(?<![\w.])({'|'.join(_DIALECT)})(?!\w)", re.IGNORECASE)
_OF_SENTENCES = re.compile(r"\b(a|an|and|are|as|by|can|for|has|have|in|is|it|no|not|of|or|that|the|to|with)\b")
"""A text without any of these is a list of names."""
_CODE = re.compile(
    r"\b(SELECT|FROM|CREATE|WHERE|CASE WHEN|GROUP BY|INSERT|ATTACH|PRAGMA|JOIN|VALUES|COPY|SET|AS|AND|OR|IS)\b"
    r"|::|</|[{}]|\\[dws]|=>|__|\bdef |\bimport |\(\?|[\w)]\|[\w(]"
)
_SHOWN_BY_SQL = re.compile(r"error\('((?:[^']|'')+)'")


def paragraphs(markdown: str) -> Iterator[str]:
    """The prose of a page: paragraphs, items of lists and cells of tables, without code and headings."""
    for block in re.split(r"\n\s*\n", _FENCED.sub("\n\n", markdown)):
        raw = [line for line in block.splitlines() if line.strip()]
        if raw and re.match(r"    (?!\s*([-*]|\d+\.) )(?! ?[A-Z])", raw[0]):  # code by its indent
            continue
        lines = [line.strip() for line in raw if not line.lstrip().startswith(("#", "!!!", "<", "!["))]
        for cells in (line.strip("|").split(" | ") for line in lines if line.startswith("|")):
            yield from (cell.strip() for cell in cells if set(cell) - set(" -|"))
        prose = "\n".join(line for line in lines if not line.startswith("|"))
        yield from (item for item in re.split(r"\n(?:[-*>]|\d+\.) ", "\n" + prose) if item.strip())


def headings(markdown: str) -> list[str]:
    return re.findall(r"^#+ (.+)$", _FENCED.sub("", markdown), re.MULTILINE)


def plain(text: str) -> str:
    """Without marks and addresses; a piece of code is one word."""
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", re.sub(r"`[^`]*`", "X", text))
    return " ".join(re.sub(r"(?<!\w)[*_]{1,2}(?=\w)|(?<=[\w.,:)])[*_]{1,2}(?!\w)", " ", text).split())


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
    flat = plain(text)
    return [
        f"{where}: {m.group(0)!r} in: {flat[max(0, m.start() - 40) : m.end() + 40]}" for m in DIALECT.finditer(flat)
    ]


def too_long(where: str, text: str) -> list[str]:
    return [f"{where}: {n} words: {s[:110]}" for s in sentences(text) if (n := len(s.split())) > LONGEST]


def median(texts: Iterable[str]) -> float:
    """The number of words of the sentence in the middle."""
    return statistics.median([len(s.split()) for text in texts for s in sentences(text)] or [0])


def shown(where: str, text: str) -> list[str]:
    """The problems of a text that somebody reads on a screen."""
    return [
        *in_words(where, text),
        *too_long(where, text),
        *(f"{where}: spelling: {word}" for word in sorted(misspelt(text))),
    ]


def problems(name: str, markdown: str) -> list[str]:
    """All that makes a page hard to read, a line each."""
    found = []
    if (lines := _OF_CODE.sub("", markdown).count("\n")) > LINES and Path(name).name not in WRITTEN_BY_CODE:
        found.append(f"{name}: {lines} lines, more than {LINES}")
    for heading in headings(markdown):
        if len(heading.split()) > HEADING or re.match(r"(It|They|There|That|This|These|Those)\b", heading):
            found.append(f"{name}: a heading that names no task and no thing: {heading}")
        found += in_words(name, heading)
    prose = list(paragraphs(markdown))
    found += [problem for paragraph in prose for problem in shown(name, paragraph)]
    if (middle := median(prose)) >= MEDIAN:
        found.append(f"{name}: the median sentence has {middle:g} words")
    return found


def texts(module: str) -> Iterator[tuple[int, str]]:
    """The texts of a module that somebody may read on a screen, each with its line: of several words, and no SQL."""
    tree = ast.parse(module)
    documented = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    inside = {
        id(part)
        for node in ast.walk(tree)
        if isinstance(node, ast.JoinedStr)
        for part in ast.walk(node)
        if part is not node
    }
    for node in ast.walk(tree):
        if id(node) in inside or id(node) in documented:
            continue
        if isinstance(node, ast.JoinedStr):
            text = "".join(v.value if isinstance(v, ast.Constant) else "0" for v in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            text = node.value
        else:
            continue
        if text.startswith("# "):  # comments of a file that is written: a line each
            yield from ((node.lineno, line.lstrip("# ")) for line in text.splitlines())
            continue
        several = len(re.findall(r"\b[a-z]{2,}\b", text)) >= 4
        if several and _OF_SENTENCES.search(text) and not _CODE.search(text):
            yield node.lineno, text


def remarks(module: str) -> Iterator[tuple[int, str]]:
    """The docstrings and comments of a module, each with its line; a comment of several lines is one."""
    for node in ast.walk(ast.parse(module)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            for paragraph in paragraphs(node.value.value.partition(">>> ")[0]):
                if not re.search(r"\S {2,}\S", paragraph):  # else a map: names, and what each is
                    yield node.lineno, paragraph
    start, last, lines = 0, -1, list[str]()
    for token in tokenize.generate_tokens(io.StringIO(module).readline):
        if token.type != tokenize.COMMENT:
            continue
        if token.start[0] != last + 1:
            yield from [(start, "\n".join(lines))] if lines else []
            start, lines = token.start[0], []
        last = token.start[0]
        lines.append(token.string.lstrip("# "))
    yield from [(start, "\n".join(lines))] if lines else []


def of_module(name: str, module: str) -> list[str]:
    """The problems of a module: of what it shows, and of its docstrings and comments."""
    found = [problem for line, text in texts(module) for problem in shown(f"{name}:{line}", text)]
    for line, text in remarks(module):
        found += [*in_words(f"{name}:{line}", text), *too_long(f"{name}:{line}", text)]
    return found


def of_macros(name: str, sql: str) -> list[str]:
    """The problems of a file of macros: of its messages, and the words of its comments. docs/macros.md has the rest."""
    found = [
        problem
        for text in _SHOWN_BY_SQL.findall(sql)
        for problem in shown(name, text.replace("''", "'").removeprefix("sqlpriv: ").replace("priv.", ""))
    ]
    remark = "\n".join(line[2:].strip() for line in sql.splitlines() if line.startswith("--"))
    return found + in_words(name, re.sub(r"^(example|expect): .*$|^\w+\(.*\) -> .*$", "\n", remark, flags=re.MULTILINE))


def of_file(name: str, text: str) -> list[str]:
    """The problems of a page, a module or a file of macros."""
    return {".md": problems, ".py": of_module, ".sql": of_macros}[Path(name).suffix](name, text)


def main() -> None:
    """List the problems of the files that are named."""
    found = [problem for name in sys.argv[1:] for problem in of_file(name, Path(name).read_text(encoding="utf-8"))]
    print("\n".join(found) or "nothing to complain about")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
