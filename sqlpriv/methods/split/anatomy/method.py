"""Anatomy as a method."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sqlpriv.core.engine import fetch
from sqlpriv.core.errors import PolicyError
from sqlpriv.core.sqltext import quoted
from sqlpriv.methods.split.anatomy.policy import AnatomyPolicy
from sqlpriv.methods.split.layout import SENSITIVE, Layout
from sqlpriv.methods.split.method import Bucketed
from sqlpriv.methods.split.numbers import Sides
from sqlpriv.methods.split.plan import BucketPlan, Promise, make_plan, spelt_roles
from sqlpriv.methods.split.write import Words
from sqlpriv.release.layout import Names
from sqlpriv.release.verify import Check
from sqlpriv.table.source import Source

_IMPLICATIONS = (1, 2)
"""Of one who knows so many implications between values of people, the file states the belief."""


class Anatomy(Bucketed[AnatomyPolicy]):
    """Two tables, and groups of rows whose sensitive values are all different."""

    name = "anatomy"
    policy = AnatomyPolicy
    noise_tag = "anatomy"
    words = Words("group", "sensitive")
    numbers = Names(
        frozenset({"rows", "buckets", "smallest", "largest", "l", "posterior"}),
        frozenset(f"disclosure_{k}" for k in _IMPLICATIONS),
    )

    def make_plan(self, source: Source, policy: AnatomyPolicy) -> BucketPlan:
        """Order the table by its sensitive values; refuse a table of which one value has too many rows."""
        roles = spelt_roles(source, policy)
        (sensitive,) = (c for c, role in roles.items() if role == SENSITIVE)
        with_qis = tuple(c for c, role in roles.items() if role != SENSITIVE)
        layout = Layout((with_qis, (sensitive,)), roles, policy.wanted_l, sensitive)
        _refuse_ineligible(source, layout, sensitive)
        return make_plan(source, policy, layout, self.promises, self.measures)

    def measures(self, sides: Sides) -> dict[str, float]:
        """Sizes, l, and what anybody comes to believe, without and with knowledge of others."""
        sensitive, least = str(sides.layout.spread), sides.layout.least
        found = sides.sizes() | {"l": float(least), "posterior": sides.posterior() or 0.0}
        known = [k for k in _IMPLICATIONS if k < least]
        return found | {f"disclosure_{k}": sides.disclosure(sensitive, k) for k in known}

    def own_checks(self, sides: Sides, stated: Mapping[str, float]) -> Iterator[Check]:
        """All values of a group differ, and no group is too small."""
        least, alike = int(stated["l"]), sides.alike(str(sides.layout.spread))
        yield Check("all values of a group differ", not alike, f"{alike:,} are there once more" if alike else "")
        yield Check(f"every group has {least} rows or more", stated["smallest"] >= least)

    def promises(self, layout: Layout, numbers: Mapping[str, float]) -> Promise:
        """What groups of different values guarantee."""
        least = int(numbers["l"])
        told = [
            f"{k} implication{'s' if k > 1 else ''} between values of people: {numbers[f'disclosure_{k}']:.4g}"
            for k in _IMPLICATIONS
            if f"disclosure_{k}" in numbers
        ]
        return Promise(
            f"Every group has {least} rows or more, and all their values of {layout.spread!r} differ: whoever finds a "
            f"person's row believes no value of it more than 1/{least}, here {numbers['posterior']:.4g}.",
            (
                "All other columns are published as they are: anybody sees whether a person is in the table, and in "
                "which group.",
                "Who knows the values of others in a group rules them out: of k others, 1/(l - k) is left. With "
                + "; with ".join(told)
                + " ((c,k)-safety).",
                "What the table teaches about people in general is not hidden, and helps to guess inside a group.",
            ),
        )


def _refuse_ineligible(source: Source, layout: Layout, sensitive: str) -> None:
    """Groups of different values exist exactly where no value has more rows than there are groups."""
    counted = f"SELECT count(*) AS n FROM {source.table} GROUP BY {quoted(sensitive)}"
    rows, most = fetch(source.con, f"SELECT coalesce(sum(n), 0), coalesce(max(n), 0) FROM ({counted})")[0]
    if not rows or rows < layout.least:
        return  # said of every method
    if most <= source.calls.value(f"_bucket_count({rows}, {layout.least})"):
        return
    largest = source.calls.value(f"_largest_l({rows}, {most})")
    can = f"the largest l that works is {largest}" if largest > 1 else "so no l works"
    raise PolicyError(
        f"{sensitive!r} has one value in {most:,} of {rows:,} rows, too many for groups of {layout.least} different "
        f"values: {can}. Rows are not left out, since that would tell that they have a frequent value"
    )


METHOD = Anatomy()
