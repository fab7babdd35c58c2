"""Slicing as a method."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sqlpriv.core.errors import PolicyError
from sqlpriv.core.sqltext import folded
from sqlpriv.methods.split.layout import QI, SENSITIVE, Layout
from sqlpriv.methods.split.method import Bucketed
from sqlpriv.methods.split.numbers import Sides
from sqlpriv.methods.split.plan import BucketPlan, Promise, make_plan, spelt_roles
from sqlpriv.methods.split.slicing.correlated import correlated_groups
from sqlpriv.methods.split.slicing.policy import OPTIONS, SlicingPolicy
from sqlpriv.methods.split.write import Words
from sqlpriv.release.layout import Names
from sqlpriv.release.verify import Check
from sqlpriv.table.source import Source


class Slicing(Bucketed[SlicingPolicy]):
    """Groups of columns, each a table, and buckets of rows that are alike in the first group."""

    name = "slicing"
    policy = SlicingPolicy
    options = OPTIONS
    noise_tag = "slicing"
    words = Words("bucket")
    numbers = Names(frozenset({"rows", "buckets", "smallest", "largest", "bucket"}), frozenset({"posterior"}))

    def make_plan(self, source: Source, policy: SlicingPolicy) -> BucketPlan:
        """Take the groups as they are given, or choose them; order the table for its buckets."""
        roles = spelt_roles(source, policy)
        spelt = {folded(c): c for c in roles}
        chosen = policy.groups is None
        groups = correlated_groups(source, roles) if policy.groups is None else policy.groups
        if len(groups) < 2:
            raise PolicyError(
                "all columns are correlated, so there is one group; write groups = [[...], [...]] yourself"
            )
        sides = tuple(tuple(spelt[folded(c)] for c in group) for group in groups)
        spread = None if policy.spread is None else spelt[folded(policy.spread)]
        layout = Layout(sides, roles, policy.bucket, spread)
        return make_plan(
            source, policy, layout, self.promises, self.measures, chosen, self.warns(layout, groups_chosen=chosen)
        )

    def warns(self, layout: Layout, groups_chosen: bool) -> tuple[str, ...]:
        """Of groups that the table chose, and of what stands together in one."""
        return _warnings(layout, groups_chosen)

    def measures(self, sides: Sides) -> dict[str, float]:
        """Sizes, and what anybody comes to believe who knows all quasi-identifiers."""
        found = sides.sizes() | {"bucket": float(sides.layout.least)}
        posterior = sides.posterior()
        return found if posterior is None else found | {"posterior": posterior}

    def own_checks(self, sides: Sides, stated: Mapping[str, float]) -> Iterator[Check]:
        """No bucket is too small."""
        least = int(stated["bucket"])
        yield Check(f"every bucket has {least} rows or more", stated["smallest"] >= least)

    def promises(self, layout: Layout, numbers: Mapping[str, float]) -> Promise:
        """What it means that columns are apart."""
        least = int(numbers.get("bucket", layout.least))
        told = f"In a bucket of {least} rows or more, any row of one group of columns may belong to any row of another."
        if numbers.get("posterior", 0) >= 1:
            told += " But in some bucket all rows that a person's may be have one sensitive value, which is known then."
        elif "posterior" in numbers:
            told += (
                " Whoever knows all quasi-identifiers of a person believes no sensitive value more than "
                f"{numbers['posterior']:.4g}."
            )
        elif any(role == SENSITIVE for role in layout.roles.values()):
            told += " What is believed of sensitive values depends on the coins, and stands in the release."
        how = (
            f"Values of {layout.spread!r} are spread over the buckets; which rows are in a bucket says nothing else."
            if layout.spread
            else f"Rows in a bucket are neighbours in the order of {', '.join(layout.sides[0])}."
        )
        return Promise(
            told,
            (
                how,
                "What stands in one group is published as it is, together: anybody sees who is in the table by it, and "
                "what else is in that group.",
                "Slicing bounds no knowledge of others: who knows the values of others in a bucket rules them out. "
                "What the table teaches about people in general is not hidden.",
            ),
        )


def _warnings(layout: Layout, chosen: bool) -> tuple[str, ...]:
    found = []
    if chosen:
        listed = "; ".join(", ".join(side) for side in layout.sides)
        found.append(f"the groups were chosen by the correlations of this table, which they tell: {listed}")
    for side in layout.sides:
        roles = [layout.roles[c] for c in side]
        if SENSITIVE in roles and QI in roles:
            qi, hidden = side[roles.index(QI)], side[roles.index(SENSITIVE)]
            found.append(f"{hidden!r} is published together with {qi!r}: who knows that knows more of it")
    return tuple(found)


METHOD = Slicing()
