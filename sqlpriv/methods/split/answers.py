"""A release in buckets for queries: what rewriting knows of its columns, its sides and their rows."""

from __future__ import annotations

from dataclasses import dataclass

from sqlpriv.core.engine import fetch
from sqlpriv.core.facts import Line
from sqlpriv.core.sqltext import quoted
from sqlpriv.methods.split.layout import BUCKET, side_table
from sqlpriv.release.file import ReleaseFile
from sqlpriv.release.read import public_tables
from sqlpriv.rewrite.public_facts import PublicFacts
from sqlpriv.rewrite.release import Attribute, Cuts, Release, Side, SplitRelease


def open_buckets(file: ReleaseFile) -> Release:
    """The release for queries."""
    columns = sorted(file.rows("attributes"), key=lambda r: int(r["position"]))
    sides: dict[int, list[str]] = {}
    attributes = []
    for row in columns:
        name, number = str(row["name"]), int(row["side"])
        sides.setdefault(number, []).append(name)
        attributes.append(_attribute(file, name, str(row["type"]), file.table(side_table(number - 1))))
    tables = {number: file.table(side_table(number - 1)) for number in sides}
    sizes = f"SELECT count(*) AS n FROM {tables[1]} GROUP BY {quoted(BUCKET)}"
    rows, largest = fetch(file.con, f"SELECT sum(n), max(n) FROM ({sizes})")[0]
    made = tuple(Side(tables[i], frozenset(names)) for i, names in sorted(sides.items()))
    return SplitRelease(
        table=file.about["table"],
        attributes=tuple(attributes),
        public=public_tables(file.con, file.catalog, "public"),
        facts=PublicFacts(file.con),
        rows=OneSide(made, int(rows)).relation,
        sides=made,
        bucket=BUCKET,
        size=int(rows),
        largest_bucket=int(largest),
    )


@dataclass(frozen=True)
class OneSide:
    """The rows of one side, whose columns are published together: they are what they show."""

    sides: tuple[Side, ...]
    rows: int

    def relation(self, mentioned: frozenset[str], cuts: Cuts, every: bool) -> str:
        """As RowsOf, of columns of one side: every class has one leaf."""
        one = "1 AS __leaves, 1e0 AS __weight, 1e0 AS __total, false AS __hidden"
        if not mentioned:
            return f"SELECT 0 AS __unit, {self.rows} AS __copies, {one}"
        side = next(s for s in self.sides if mentioned <= s.columns)
        cells = ", ".join(quoted(c) for c in sorted(mentioned))
        classes = f"SELECT {cells}, count(*) AS copies FROM {side.relation} GROUP BY ALL"
        return f"SELECT {cells}, row_number() OVER () AS __unit, copies AS __copies, {one} FROM ({classes})"


def _attribute(file: ReleaseFile, name: str, kind: str, table: str) -> Attribute:
    value = quoted(name)
    size, nulls = fetch(file.con, f"SELECT count(DISTINCT {value}), count(*) - count({value}) FROM {table}")[0]
    domain = f"(SELECT DISTINCT {value} AS value FROM {table})"
    return Attribute(name, kind, max(size + (nulls > 0), 1), domain, nulls > 0)


def answers_mean(file: ReleaseFile) -> list[Line]:
    """What answers of a release are, for people."""
    return [
        Line(
            f"Answers of `sqlpriv query {file.name}` have hard bounds: no table that this release may stand for lies "
            "outside them. What asks of columns of one side alone is exact; else a row has each value of its bucket as "
            "likely as the bucket has it."
        )
    ]
