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

from pathlib import Path

from sqlpriv.core.engine import attached, fetch
from sqlpriv.core.errors import ReleaseError
from sqlpriv.core.sqltext import quoted
from sqlpriv.methods.method import Edition, Made
from sqlpriv.methods.split.arrange import arrange
from sqlpriv.methods.split.layout import BUCKET, Sides, side_table
from sqlpriv.methods.split.plan import BucketPlan
from sqlpriv.release.file import SCHEMA, WRITTEN, written
from sqlpriv.release.write import in_order, write_description

ATTRIBUTES = {"position": "INTEGER", "name": "VARCHAR", "type": "VARCHAR", "role": "VARCHAR", "side": "INTEGER"}
"""The columns of table attributes."""


def write_release(plan: BucketPlan, edition: Edition, path: Path) -> Made:
    """Deal the rows into buckets at random, and write all tables of the release."""
    con, layout, table = plan.source.con, plan.layout, plan.policy.table.name
    tables = [quoted(WRITTEN, SCHEMA, side_table(i)) for i in range(len(layout.sides))]
    with plan.source.scratch.nested() as scratch, written(con, path):
        arranged = arrange(plan.ordered, layout, plan.buckets, edition.prefix, scratch)
        kinds = arranged.columns
        for i, (side, name) in enumerate(zip(layout.sides, tables, strict=True)):
            cells = ", ".join(map(quoted, (BUCKET, *side)))
            rows = f"SELECT {cells} FROM {arranged.name} ORDER BY {in_order((BUCKET, *side), kinds)}"
            fetch(con, f"CREATE TABLE {name} AS {rows}")
            fetch(con, plan.rules.words.statement(quoted(WRITTEN, "main", plan.rules.words.view(table, i)), i, side))
        scratch.drop(arranged)
        numbers = (
            plan.numbers if plan.is_settled else plan.rules.measures(Sides(con, plan.source.calls, layout, tables))
        )
        about = {
            "method": plan.policy.method,
            "table": table,
            "spread": layout.spread or "",
            "groups_chosen": "yes" if plan.groups_chosen else "no",
            "suppressed_rows": "0",
            "release": edition.name,
        }
        listed = [(p, c, kinds[c], layout.roles[c], layout.side_of(c) + 1) for p, c in enumerate(layout.columns)]
        policy = plan.policy
        write_description(con, about, policy.reasons, numbers, (ATTRIBUTES, listed), policy.requirements)
    return Made(int(numbers["rows"]), float(plan.rows))


def compare(plan: BucketPlan, path: Path) -> None:
    """Refuse a file whose sides do not have the cells of the private rows, each as often as there."""
    con = plan.source.con
    with attached(con, path, WRITTEN, error=ReleaseError):
        for i, side in enumerate(plan.layout.sides):
            cells = ", ".join(f"CAST({quoted(c)} AS VARCHAR)" for c in side)
            there = f"SELECT {cells} FROM {quoted(WRITTEN, SCHEMA, side_table(i))}"
            private = f"SELECT {cells} FROM {plan.source.private.name}"
            for one, other in ((there, private), (private, there)):
                if fetch(con, f"SELECT count(*) FROM ({one} EXCEPT ALL {other})")[0][0]:
                    raise ReleaseError(
                        "the table changed while it was being published, so nothing was published; run it again"
                    )
