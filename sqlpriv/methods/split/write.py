"""Write buckets as a release: each side a table of its own, and the numbers by which it can be judged.

    published     side 1 of the rows: the number of the bucket, and its columns
    side_2, ...   the other sides
    attributes    each published column: type, role, and in which side it stands
    requirements  what was required
    parameters    rows, buckets, sizes, and what anybody comes to believe

Rows of a table are sorted by their bucket and then by what they show, so their order says nothing, and which row of one
side goes with which of another is not written anywhere. Two views of schema main are what people read: side 1 under the
private table's own name, and the other sides, counted. They are not joined: a join would show rows that nobody has.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from sqlpriv.core.engine import fetch
from sqlpriv.core.sqltext import literal, quoted
from sqlpriv.methods.method import Edition, Made
from sqlpriv.methods.split.arrange import ARRANGED, write_arranged
from sqlpriv.methods.split.layout import BUCKET, free_name, side_table
from sqlpriv.methods.split.numbers import Sides
from sqlpriv.methods.split.plan import BucketPlan
from sqlpriv.release.file import SCHEMA, WRITTEN, write_about, write_numbers, write_reasons, write_values, written
from sqlpriv.release.requirements import write_requirements
from sqlpriv.release.write import in_order

ATTRIBUTES = {"position": "INTEGER", "name": "VARCHAR", "type": "VARCHAR", "role": "VARCHAR", "side": "INTEGER"}
"""The columns of table attributes."""


@dataclass(frozen=True)
class Words:
    """How a method calls its buckets in views, and the view of another side than the first."""

    bucket: str
    side: str | None = None
    """What follows the table's name; None: the number of the side."""

    def view(self, table: str, number: int) -> str:
        """The name of the view of a side."""
        return table if number == 0 else f"{table}_{self.side or number + 1}"

    def statement(self, name: str, number: int, columns: Sequence[str]) -> str:
        """The statement that makes the view of a side."""
        bucket = quoted(free_name(self.bucket, columns))
        rows = f"{SCHEMA}.{side_table(number)} AS p"
        cells = ", ".join(f"p.{quoted(c)}" for c in columns)
        if number == 0:
            return f"CREATE VIEW {name} AS SELECT p.{quoted(BUCKET)} AS {bucket}, {cells} FROM {rows}"
        count = quoted(free_name("count", [*columns, self.bucket]))
        return (
            f"CREATE VIEW {name} AS SELECT p.{quoted(BUCKET)} AS {bucket}, {cells}, count(*) AS {count} FROM {rows} "
            f"GROUP BY p.{quoted(BUCKET)}, {cells}"
        )


def write(plan: BucketPlan, edition: Edition, path: Path, words: Words) -> Made:
    """Throw the coins and write all tables of the release."""
    con, layout, table = plan.source.con, plan.layout, plan.policy.table.name
    write_arranged(plan.source, layout, plan.rows, plan.buckets, edition.prefix)
    with written(con, path):
        tables = [quoted(WRITTEN, SCHEMA, side_table(i)) for i in range(len(layout.sides))]
        kinds = {r[0]: r[1] for r in fetch(con, f"DESCRIBE {ARRANGED}")}
        for i, (side, name) in enumerate(zip(layout.sides, tables, strict=True)):
            cells = ", ".join(map(quoted, (BUCKET, *side)))
            fetch(
                con,
                f"CREATE TABLE {name} AS SELECT {cells} FROM {ARRANGED} ORDER BY {in_order((BUCKET, *side), kinds)}",
            )
            view = quoted(WRITTEN, "main", words.view(table, i))
            fetch(con, words.statement(view, i, side))
        fetch(con, f"DROP TABLE {ARRANGED}")
        sides = Sides(con, plan.source.calls, layout, tables)
        numbers = plan.numbers if plan.is_settled else plan.measures(sides)
        about = {
            "method": plan.policy.method,
            "table": table,
            "spread": layout.spread or "",
            "groups_chosen": "yes" if plan.groups_chosen else "no",
            "suppressed_rows": "0",
            "release": edition.name,
        }
        write_about(con, about)
        write_reasons(con, plan.policy.reasons)
        write_numbers(con, numbers)
        listed = (
            (str(p), literal(c), literal(kinds[c]), literal(layout.roles[c]), str(layout.side_of(c) + 1))
            for p, c in enumerate(layout.columns)
        )
        write_values(con, "attributes", ", ".join(ATTRIBUTES), listed)
        write_requirements(con, plan.policy.requirements)
    return Made(int(numbers["rows"]), float(plan.rows))
