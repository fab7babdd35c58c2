"""The page of every macro as Markdown: `docs/macros.md` is this, written by `make docs` and compared by a test."""

from __future__ import annotations

from collections.abc import Sequence

from sqlpriv.facts import Facts, Line
from sqlpriv.macros.catalog import macros
from sqlpriv.macros.language import Macro

_INTRODUCTION = """# All macros

Written from the headers in `sql/` by `make docs`; `sqlpriv docs NAME` prints the same. Parameters in brackets are
optional. The examples run on the small tables of `sqlpriv/demo/examples.py`.
"""


def markdown() -> str:
    """One section a file of `sql/`, one entry a macro."""
    found = list(macros().values())
    parts = [_INTRODUCTION]
    for file in dict.fromkeys(m.file for m in found):
        parts.append(f"\n## {file.removesuffix('.sql')}\n")
        parts += [_entry(m) for m in found if m.file == file]
    return "".join(parts)


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
    """All macros, one line each, by the file they are in."""
    parts: list[Line] = []
    for file in dict.fromkeys(m.file for m in found):
        parts.append(Line("", f"\n{file.removesuffix('.sql')}"))
        for macro in (m for m in found if m.file == file):
            first = macro.header.prose.replace("\n", " ").split(". ")[0].rstrip(".")
            parts += [Line(f"  priv.{macro.signature}"), Line(f"      {first}.", quiet=True)]
    return Facts("All macros", [m.signature for m in found], tuple(parts))
