"""The page of every macro as Markdown: `docs/macros.md` is this, written by `make docs` and compared by a test."""

from __future__ import annotations

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


if __name__ == "__main__":
    print(markdown(), end="")
