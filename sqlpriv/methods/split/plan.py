"""A release in buckets that could be made: the table read and ordered, what is required found to hold."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from sqlpriv.core.errors import PolicyError
from sqlpriv.core.facts import Facts, Line, Part, shown_number
from sqlpriv.core.sqltext import folded
from sqlpriv.methods.generalized.scan import check_columns
from sqlpriv.methods.method import Plan, Written
from sqlpriv.methods.split.arrange import (
    COMPOSED,
    ORDERED,
    buckets_for,
    refuse_persons,
    write_composed,
    write_ordered,
)
from sqlpriv.methods.split.layout import BUCKET, QI, SENSITIVE, Layout
from sqlpriv.methods.split.numbers import Sides
from sqlpriv.methods.split.policy import PUBLISHED, BucketedPolicy
from sqlpriv.release.file import open_file
from sqlpriv.table.source import Source
from sqlpriv.version import __version__


@dataclass(frozen=True)
class Promise:
    """What a release guarantees, in a sentence, and what one should know of it."""

    text: str
    details: tuple[str, ...]


Promises = Callable[[Layout, Mapping[str, float]], Promise]
"""From the layout and the numbers that a file states to what it guarantees."""
Measures = Callable[[Sides], Mapping[str, float]]
"""From the sides to the numbers that a method states beside the sizes."""


@dataclass(frozen=True)
class BucketPlan(Plan[BucketedPolicy]):
    """A policy with its table read; coins decide the rest."""

    layout: Layout
    rows: int
    buckets: int
    values: Mapping[str, float]
    """What is required, and what is found."""
    numbers: Mapping[str, float]
    """Those of the numbers of the file that no coin decides: all of them, where values are spread."""
    is_settled: bool
    """Whether these are all."""
    promises: Promises
    measures: Measures
    groups_chosen: bool = False
    """Whether the table decided which columns stand together."""
    said: tuple[str, ...] = ()
    """What the owner should know."""

    def seed_parameters(self) -> dict[str, object]:
        """How the table is taken apart, and what is required."""
        return {
            "sides": [list(side) for side in self.layout.sides],
            "roles": dict(self.layout.roles),
            "least": self.layout.least,
            "spread": self.layout.spread,
            "requirements": [r.text for r in self.policy.requirements],
        }

    def warnings(self) -> tuple[str, ...]:
        """What the owner should know."""
        return self.said

    def facts(self, written: Written | None = None) -> Facts:
        """What is guaranteed, in how many buckets, and where the release is."""
        numbers, promise = dict(self.numbers), self.promises(self.layout, self.numbers)
        if written is not None and not self.is_settled:
            with open_file(written.output) as file:
                numbers, promise = file.parameters, self.promises(self.layout, file.parameters)
        warnings = self.said if written is None else written.warnings
        content: dict[str, Any] = {
            "version": __version__,
            "method": self.policy.method,
            "rows": self.rows,
            "suppressed_rows": 0,
            "classes": self.buckets,
            "loss": None,
            "guarantee": promise.text,
            "details": list(promise.details),
            "posterior": numbers.get("posterior"),
            "numbers": numbers,
            "groups": [list(side) for side in self.layout.sides],
            "requirements": [{"requirement": text, "value": value} for text, value in self.values.items()],
            "warnings": list(warnings),
            "output": None if written is None else str(written.output),
        }
        parts: list[Part] = []
        if written is not None and written.again:
            parts.append(Line("The table, the policy and the key are those of before: this is the release there was."))
        parts += [Line(promise.text), *(Line(f"- {text}", quiet=True) for text in promise.details)]
        parts += [Line(f"{text}  (is {shown_number(value)})", "holds") for text, value in self.values.items()]
        if written is not None:
            name = written.output.name
            parts.append(Line(f'Ask it: sqlpriv query {name} "SELECT count(*) FROM ..."'))
        sides = " | ".join(", ".join(side) for side in self.layout.sides)
        title = f"{self.rows:,} rows in {self.buckets:,} buckets, published apart: {sides}"
        return Facts(title, content, tuple(parts), warnings)


def spelt_roles(source: Source, policy: BucketedPolicy) -> dict[str, str]:
    """The published columns in the order of the table, with their roles; every column has to be named."""
    check_columns(source, policy)
    taken = [c for c in source.columns if folded(c) == BUCKET]
    if taken:
        raise PolicyError(f"the column {taken[0]!r} is called like the numbers of buckets; give it another name")
    roles = {folded(c.name): c.role for c in policy.columns if c.role in PUBLISHED}
    return {c: roles[folded(c)] for c in source.columns if folded(c) in roles}


def make_plan(
    source: Source,
    policy: BucketedPolicy,
    layout: Layout,
    promises: Promises,
    measures: Measures,
    groups_chosen: bool = False,
    said: tuple[str, ...] = (),
) -> BucketPlan:
    """Read and order the table; refuse what its buckets would not meet."""
    rows = write_ordered(source, layout)
    refuse_persons(source, policy.person, rows)
    if rows < layout.least:
        raise PolicyError(
            f"{source.label} has {rows:,} rows, and a bucket needs {layout.least:,}: ask for less, or for more rows"
        )
    buckets = buckets_for(source, layout, rows)
    numbers: Mapping[str, float] = {"rows": float(rows), "buckets": float(buckets)}
    # What coins cannot change: the quasi-identifiers as a whole, and the values together in a bucket where they are
    # spread. Requirements of other sensitive columns were refused.
    values_in, is_settled = ORDERED, False
    if layout.spread is not None:
        write_composed(source, layout, buckets)
        values_in = COMPOSED
        is_settled = [c for c in layout.columns if layout.roles[c] == SENSITIVE] == [layout.spread]
        if is_settled:
            numbers = measures(Sides(source.con, source.calls, layout, [COMPOSED] * len(layout.sides)))
    values = {}
    for required in policy.requirements:
        if required.measure.by_order and "ENUM" in source.types.get(layout.spread or "", ""):
            raise PolicyError(
                f"{required.text} goes by the order of an ENUM, which is published as text; make it a number in a view"
            )
        table = ORDERED if required.sensitive is None else values_in
        found = Sides(source.con, source.calls, layout, [table] * len(layout.sides)).value(required)
        values[required.text] = found
        if not required.holds(found):
            why = "quasi-identifiers are published as they are" if required.sensitive is None else "by its buckets"
            raise PolicyError(f"{required.text} is not met: it is {shown_number(found)}, {why}; nothing was published")
    return BucketPlan(
        policy, source, layout, rows, buckets, values, numbers, is_settled, promises, measures, groups_chosen, said
    )


def qis_of(roles: Mapping[str, str]) -> list[str]:
    """The quasi-identifiers."""
    return [c for c, role in roles.items() if role == QI]
