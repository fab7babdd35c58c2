"""The page of every macro as Markdown: `docs/macros.md` is this, written by `make docs` and compared by a test."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from sqlpriv.core.facts import Facts, Line
from sqlpriv.macros.catalog import macros
from sqlpriv.macros.language import Macro

# The folders of `sql/`, in the order of the page.
_GROUPS = {
    "checks": "Checks: what a table reveals, and its utility",
    "operators": "Operators: tables made from tables",
    "estimates": "Estimates: randomized releases, their noise, guarantees, weights and answers",
    "risk": "Risk: what an attacker gains, and what that costs",
    "": "Version",
}
_INTRODUCTION = """# All macros

Written from the headers in `sql/` by `make docs`; `sqlpriv docs NAME` prints the same. Parameters in brackets are
optional. The examples run on the small tables of `sqlpriv/demo/examples.py`.
"""


def markdown() -> str:
    """One section a folder of `sql/`, one entry a macro."""
    parts = [_INTRODUCTION]
    for title, found in _grouped(macros().values()):
        parts += [f"\n## {title}\n", *map(_entry, found)]
    return "".join(parts)


def _grouped(found: Iterable[Macro]) -> Iterator[tuple[str, list[Macro]]]:
    """The title of each folder of `sql/` with its macros."""
    listed = list(found)
    for folder, title in _GROUPS.items():
        yield title, [m for m in listed if m.file.rpartition("/")[0] == folder]


def _entry(macro: Macro) -> str:
    fields = {k: v.replace("\n", " ") for k, v in macro.header.fields.items()}
    arrow = f" -> {macro.header.columns}" if macro.header.columns else ""
    return (
        f"\n### {macro.name}\n\n`priv.{macro.signature}{arrow}`\n\n{macro.header.prose}\n\n"
        f"*Guarantee:* {fields['guarantee']} *NULL:* {fields['nulls']}\n\n"
        f"```sql\n{fields['example']};\n-- {fields['expect']}\n```\n"
    )


def page_facts(macro: Macro) -> Facts:
    """The page of one macro."""
    fields = {k: v.replace("\n", " ") for k, v in macro.header.fields.items()}
    prose = macro.header.prose.replace("\n", " ")
    arrow = f" -> {macro.header.columns}" if macro.header.columns else ""
    parts = (
        Line(f"\n{prose}\n", breaks=True),
        *(Line(f"{fields[name]}\n", f"{name.capitalize()}.", breaks=True) for name in ("guarantee", "nulls")),
        Line("", "Example"),
        Line(f"  {fields['example']}", breaks=True),
        Line(f"  {fields['expect']}", breaks=True),
    )
    return Facts(f"priv.{macro.signature}{arrow}", {"macro": macro.signature, "prose": prose, **fields}, parts)


def list_facts(found: Sequence[Macro]) -> Facts:
    """All macros, one line each, by the folder they are in."""
    parts: list[Line] = []
    for title, listed in _grouped(found):
        parts.append(Line("", f"\n{title}"))
        for macro in listed:
            first = macro.header.prose.replace("\n", " ").split(". ")[0].rstrip(".")
            parts += [Line(f"  priv.{macro.signature}"), Line(f"      {first}.", quiet=True)]
    return Facts("All macros", [m.signature for m in found], tuple(parts))
