"""Anatomy: what its policy may say, and the method. One sensitive column, and groups of so many of its values."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction

from sqlpriv.checks.measures import DISCLOSURE, DISTINCT_L
from sqlpriv.checks.requirements import Requirement
from sqlpriv.core.engine import fetch
from sqlpriv.core.relation import Relation
from sqlpriv.core.sqltext import quoted
from sqlpriv.methods.split.layout import SENSITIVE, BucketLayout, Sides
from sqlpriv.methods.split.method import Bucketed
from sqlpriv.methods.split.plan import BucketPlan, Promise, Words, plan_buckets, spelt_roles
from sqlpriv.methods.split.policy import BucketedPolicy
from sqlpriv.policy.keys import Fail
from sqlpriv.release.layout import NumberNames
from sqlpriv.release.verify import Check
from sqlpriv.table.source import Source

_WANTED = DISTINCT_L.name
_IMPLICATIONS = (1, 2)
"""Of one who knows so many implications between values of people, the file states the belief."""


@dataclass(frozen=True)
class AnatomyPolicy(BucketedPolicy):
    """A policy for Anatomy."""

    @property
    def wanted_l(self) -> int:
        """So many different values a group has at least."""
        return max(map(_needed_l, self.requirements))

    def check(self, fail: Fail) -> None:
        """There is something to link by, one column to hide, and an l for it."""
        if not self.qis:
            raise fail("no column is a quasi-identifier, so there is nothing to keep apart from the values", "columns")
        if len(self.sensitive) != 1:
            what = "no column is sensitive" if not self.sensitive else f"{len(self.sensitive)} columns are sensitive"
            raise fail(
                f"{what}, and anatomy hides one: make one column of several in a view, drop the others, or publish by "
                "another method", "columns",
            )  # fmt: skip
        if not any(_needed_l(r) > 1 for r in self.requirements):
            raise fail(
                "anatomy needs the number of different values in a group: write "
                f"{_WANTED} = {{ {self.sensitive[0]} = 4 }}", "require", _WANTED,
            )  # fmt: skip
        super().check(fail)


def _needed_l(required: Requirement) -> int:
    """So many different values a requirement asks of a group: who knows k implications believes a value 1/(l - k)."""
    if required.name == DISCLOSURE.name:
        return math.ceil(int(required.arguments["k"]) + 1 / Fraction(str(required.threshold)))
    return math.ceil(required.threshold) if required.name == _WANTED else 1


class Anatomy(Bucketed[AnatomyPolicy]):
    """Two tables, and groups of rows whose sensitive values are all different."""

    name = "anatomy"
    policy = AnatomyPolicy
    noise_tag = "anatomy"
    words = Words("group", "sensitive")
    numbers = NumberNames(
        frozenset({"rows", "buckets", "smallest", "largest", "l", "posterior"}),
        frozenset(f"disclosure_{k}" for k in _IMPLICATIONS),
    )

    def make_plan(self, source: Source, policy: AnatomyPolicy) -> BucketPlan:
        """Sort the table by its sensitive values, for groups of rows whose values differ."""
        roles = spelt_roles(source, policy)
        (sensitive,) = (c for c, role in roles.items() if role == SENSITIVE)
        with_qis = tuple(c for c, role in roles.items() if role != SENSITIVE)
        layout = BucketLayout((with_qis, (sensitive,)), roles, policy.wanted_l, sensitive)
        return plan_buckets(source, policy, layout, self)

    def why_not(self, source: Source, ordered: Relation, layout: BucketLayout) -> str | None:
        """Groups of different values exist exactly where no value has more rows than there are groups."""
        rows, sensitive = int(ordered.written or 0), str(layout.spread)
        counted = f"SELECT count(*) AS n FROM {ordered.name} GROUP BY {quoted(sensitive)}"
        most = int(fetch(source.con, f"SELECT max(n) FROM ({counted})")[0][0])
        if rows < layout.least or most <= source.calls.value(f"_bucket_count({rows}, {layout.least})"):
            return None  # that there are too few rows is said for every method
        largest = source.calls.value(f"_largest_l({rows}, {most})")
        can = f"the largest l that works is {largest}" if largest > 1 else "so no l works"
        return (
            f"{sensitive!r} has one value in {most:,} of {rows:,} rows, too many for groups of {layout.least} "
            f"different values: {can}. Rows are not left out, since that would tell that they have a frequent value"
        )

    def measures(self, sides: Sides) -> dict[str, float]:
        """Sizes, l, and what anybody comes to believe, without and with knowledge of others."""
        sensitive, least = str(sides.layout.spread), sides.layout.least
        found = sides.sizes() | {"l": float(least), "posterior": sides.posterior() or 0.0}
        known = [k for k in _IMPLICATIONS if k < least]
        return found | {f"disclosure_{k}": sides.disclosure(sensitive, k) for k in known}

    def own_checks(self, sides: Sides, found: Mapping[str, float]) -> Iterator[Check]:
        """All values of a group differ, and no group is too small."""
        least, alike = int(found["l"]), sides.alike(str(sides.layout.spread))
        yield Check("all values of a group differ", not alike, f"{alike:,} are there once more" if alike else "")
        yield Check(f"every group has {least} rows or more", found["smallest"] >= least)

    def promises(self, layout: BucketLayout, numbers: Mapping[str, float]) -> Promise:
        """What groups of different values guarantee."""
        least = int(numbers["l"])
        beliefs = [
            f"{k} implication{'s' if k > 1 else ''} between values of people: {numbers[f'disclosure_{k}']:.4g}"
            for k in _IMPLICATIONS
            if f"disclosure_{k}" in numbers
        ]
        return Promise(
            f"Every group has {least} rows or more, and all their values of {layout.spread!r} differ. So a reader who "
            f"finds a person's row, and learns nothing from the other groups, believes each value with a probability "
            f"of at most 1/{least}, here {numbers['posterior']:.4g}.",
            (
                "All other columns are published as they are: anybody sees whether a person is in the table, and in "
                "which group.",
                "Who knows the values of others in a group rules them out: of k others, 1/(l - k) is left. With "
                + "; with ".join(beliefs)
                + " ((c,k)-safety).",
                "A reader who learns from all groups how values go with the other columns guesses better: `sqlpriv "
                "attack` reports for how many people (learned).",
            ),
        )


METHOD = Anatomy()
