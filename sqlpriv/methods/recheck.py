"""What anybody can run on a release to check it again: queries, some of them calls of macros, with their results.

They are made from what a release says of itself (the content of `show`). So each number that they use may be missing
or wrong in a file that was changed: no query is made then.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlpriv.checks.measures import MEASURES
from sqlpriv.core.sqltext import quoted
from sqlpriv.macros.catalog import SCHEMA as MACROS
from sqlpriv.macros.catalog import macros
from sqlpriv.methods.records import PublishedClasses
from sqlpriv.release.file import SCHEMA

GuaranteeMacros = Sequence[tuple[str, Sequence[str]]]


@dataclass(frozen=True)
class Recheck:
    """A query, and what should come out; without a query, why there is none."""

    says: str
    query: str = ""


def call(macro: str, *numbers: object) -> str:
    """The query that calls a macro with these numbers."""
    return f"{'FROM' if macros()[macro].is_table else 'SELECT'} {MACROS}.{macro}({', '.join(map(repr, numbers))})"


def file_table(catalog: str, name: str) -> str:
    """A table of the file, as SQL."""
    return f"{catalog}.{SCHEMA}.{quoted(name)}"


def requirement_again(required: Mapping[str, Any], where: PublishedClasses) -> Recheck:
    """A requirement, judged in these classes."""
    says, measure = str(required["requirement"]), MEASURES.get(str(required["measure"]))
    given = json.loads(required["arguments"] or "{}")
    is_number = all(isinstance(value, int | float) for value in given.values())
    if measure is None or not is_number or set(given) != set(measure.names):
        return Recheck(f"{says}: needs a table that is not in the release")
    called = f"{MACROS}.{measure.macro}"
    return Recheck(says, measure.select(called, where.table, where.columns, str(required["sensitive"]), given))


def requirements_again(shown: Mapping[str, Any], catalog: str) -> Iterator[Recheck]:
    """All requirements, judged in the classes of rows with equal quasi-identifiers."""
    qis = tuple(c["name"] for c in shown["columns"] if c.get("role") == "quasi-identifier")
    left_out = int(shown.get("suppressed_rows") or 0) > 0 and shown.get("kept_suppressed") != "yes"
    for required in shown.get("requirements") or ():
        measure = MEASURES.get(str(required["measure"]))
        if left_out and measure is not None and measure.against_table:
            why = "it is about all rows, and suppressed ones are not in the file"
            yield Recheck(f"{required['requirement']}: {why}")
        else:
            yield requirement_again(required, PublishedClasses(f"{catalog}.main.{quoted(shown['table'])}", qis))
    if shown.get("counts") == "persons" and shown.get("requirements"):
        yield Recheck(
            "persons were counted, and are not published: these numbers are of rows. Of persons k is no larger; "
            "the others may differ either way"
        )


def guarantee_again(shown: Mapping[str, Any], among: GuaranteeMacros, says: str) -> Iterator[Recheck]:
    """What the numbers of a release guarantee, by the first macro whose numbers it has."""
    numbers = shown.get("parameters") or {}
    for macro, needed in among:
        if all(name in numbers for name in needed):
            yield Recheck(says, call(macro, *(numbers[name] for name in needed)))
            return
