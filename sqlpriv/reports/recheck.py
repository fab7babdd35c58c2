"""The SQL that checks a release again, in any DuckDB client: plain SQL, with every macro written out."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sqlpriv.checks.measures import MEASURES
from sqlpriv.core.errors import SqlprivError
from sqlpriv.core.facts import legible
from sqlpriv.core.sqltext import literal, quoted
from sqlpriv.macros.catalog import SCHEMA, macros
from sqlpriv.macros.expand import expand
from sqlpriv.methods.method import AnyMethod
from sqlpriv.methods.records import BUCKET


def recheck_sql(method: AnyMethod, file: str, content: Mapping[str, Any], alias: str = "r") -> str:
    """Statements for any DuckDB client, in the folder of the release."""
    return "\n".join(_Recheck(method, file, content, alias).statements())


class _Recheck:
    def __init__(self, method: AnyMethod, file: str, content: Mapping[str, Any], alias: str) -> None:
        self._method, self._file, self._content, self._alias = method, file, content, alias
        self._numbers: Mapping[str, Any] = content.get("parameters") or {}

    def statements(self) -> Iterator[str]:
        """What to run, with what should come out behind it."""
        yield f"ATTACH {literal(self._file)} AS {self._alias} (READ_ONLY);"
        declared = _comment("the digest of the rows as declared; sqlpriv verify computes it from the rows again")
        yield f"SELECT value FROM {self._alias}.sqlpriv_release.about WHERE name = 'digest';  {declared}"
        if any("side" in column for column in self._content["columns"]):
            yield from self._buckets()
        else:
            yield from self._requirements()
        yield from self._sample()
        yield from self._guarantee()

    def _table(self, name: str) -> str:
        return f"{self._alias}.sqlpriv_release.{quoted(name)}"

    def _requirements(self) -> Iterator[str]:
        content = self._content
        qis = [c["name"] for c in content["columns"] if c.get("role") == "quasi-identifier"]
        left_out = int(content.get("suppressed_rows") or 0) > 0 and content.get("kept_suppressed") != "yes"
        for required in content.get("requirements") or ():
            measure = MEASURES.get(str(required["measure"]))
            if left_out and measure is not None and measure.against_table:
                why = "it is about all rows, and suppressed ones are not in the file"
                yield _comment(f"{required['requirement']}: {why}")
                continue
            yield self._judged(f"{self._alias}.main.{quoted(content['table'])}", qis, required)
        if content.get("counts") == "persons" and content.get("requirements"):
            yield _comment(
                "persons were counted, and are not published: these numbers are of rows. Of persons k is no larger; "
                "the others may differ either way"
            )

    def _judged(self, table: str, by: Sequence[str], required: Mapping[str, Any]) -> str:
        said, measure = str(required["requirement"]), MEASURES.get(str(required["measure"]))
        given = json.loads(required["arguments"] or "{}")
        is_number = all(isinstance(value, int | float) for value in given.values())
        if measure is None or not is_number or set(given) != set(measure.names):
            return _comment(f"{said}: needs a table that is not in the release")
        called = f"{SCHEMA}.{measure.macro}"
        return _plain(measure.select(called, table, by, str(required["sensitive"]), given), said)

    def _buckets(self) -> Iterator[str]:
        """Every side has its rows in buckets, and a sensitive value is judged in those of its side."""
        sides = sorted({int(c["side"]) for c in self._content["columns"]})
        tables = {
            side: self._table("published" if place == 0 else f"side_{place + 1}") for place, side in enumerate(sides)
        }
        for table in tables.values():
            counted = f"SELECT count(*) AS n FROM {table} GROUP BY {BUCKET}"
            yield f"SELECT min(n) FROM ({counted});  {_comment('rows of the smallest bucket, alike for all sides')}"
        side_of = {c["name"]: int(c["side"]) for c in self._content["columns"]}
        for required in self._content.get("requirements") or ():
            side = side_of.get(str(required["sensitive"]))
            if side is None:
                yield _comment(f"{required['requirement']}: sqlpriv verify judges it")
            else:
                yield self._judged(tables[side], [BUCKET], required)

    def _sample(self) -> Iterator[str]:
        """Of a sample, that what is published is there k times."""
        if not {"k", "beta", "epsilon"} <= set(self._numbers):
            return
        groups = self._content.get("groups") or [[]]
        for place in range(len(groups)):
            table = self._table("published" if place == 0 else f"group_{place + 1}")
            least = _comment(f"every row is there so often at least: k = {self._numbers['k']:g}")
            yield f"SELECT min(n) FROM (SELECT count(*) AS n FROM {table} GROUP BY ALL);  {least}"

    def _guarantee(self) -> Iterator[str]:
        numbers = self._numbers
        for macro, needed in self._method.guarantee_macros:
            if all(name in numbers for name in needed):
                of_one = "of one group" if len(self._content.get("groups") or ()) > 1 else "what it guarantees"
                called = f"{SCHEMA}.{macro}({', '.join(repr(numbers[name]) for name in needed)})"
                yield _plain(f"{'FROM' if macros()[macro].is_table else 'SELECT'} {called}", of_one)
                break
        groups = len(self._content.get("groups") or ())
        if groups > 1:
            both = f"{numbers['epsilon']!r}, {numbers['delta']!r}, {groups}"
            yield _plain(f"FROM {SCHEMA}.sdgs_groups({both})", "of all groups together")


def _plain(statement: str, said: str) -> str:
    """A call of a macro with what should come out above it, then what the macro runs: that needs no macro anywhere."""
    try:
        return f"{_comment(f'{said}: {statement}')}\n{expand(statement)};"
    except SqlprivError:  # of a file that was changed: it fails verification
        return _comment(f"{said}: no SQL can check it")


def _comment(text: str) -> str:
    """A remark that cannot end before its line does."""
    return f"-- {legible(text)}"
