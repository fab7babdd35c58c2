"""Slicing: what its policy may say, and the method. Groups of columns published apart, inside buckets of rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from sqlpriv.core.errors import PolicyError
from sqlpriv.core.sqltext import folded
from sqlpriv.methods.split.layout import QI, SENSITIVE, BucketLayout, Sides
from sqlpriv.methods.split.method import Bucketed
from sqlpriv.methods.split.plan import BucketPlan, Promise, Words, plan_buckets, spelt_roles
from sqlpriv.methods.split.policy import PUBLISHED, BucketedPolicy
from sqlpriv.methods.split.slicing.correlated import correlated_groups
from sqlpriv.policy.keys import GROUPS, Fail, Key, Keys, check_groups, number
from sqlpriv.release.layout import NumberNames
from sqlpriv.release.verify import Check
from sqlpriv.table.source import Source

_MOST = 10**9
OPTIONS: Keys = (
    Key("groups", GROUPS, "the columns that are published together; without it they are chosen by their correlation"),
    Key("bucket", number(1, _MOST, whole=True), "so many rows a bucket has at least", 10),
)


@dataclass(frozen=True)
class SlicingPolicy(BucketedPolicy):
    """A policy for slicing."""

    @property
    def groups(self) -> list[list[str]] | None:
        """The columns that stay together; None: to be chosen."""
        return self.release["groups"]  # type: ignore[no-any-return]

    @property
    def bucket(self) -> int:
        """So many rows a bucket has at least."""
        return int(self.release["bucket"])

    @property
    def spread(self) -> str | None:
        """The sensitive column of which something is required: its values are spread over the buckets."""
        return next((r.sensitive for r in self.requirements if r.sensitive is not None), None)

    def check(self, fail: Fail) -> None:
        """Every published column is in one group; what is required can be arranged."""
        super().check(fail)
        if len(self.named(*PUBLISHED)) < 2:
            raise fail("fewer than two columns are published, so there is nothing to keep apart", "columns")
        roles = {folded(c.name): c.role for c in self.columns}
        if self.groups is not None:
            self._check_groups(self.groups, roles, fail)
        required = {folded(r.sensitive) for r in self.requirements if r.sensitive is not None}
        if len(required) > 1:
            raise fail(
                "slicing spreads the values of one sensitive column over its buckets, and something is required of "
                f"{len(required)}; require it of one", "require",
            )  # fmt: skip

    def _check_groups(self, groups: list[list[str]], roles: Mapping[str, str], fail: Fail) -> None:
        check_groups(groups, self.named(*PUBLISHED), fail)
        for group in groups:
            own = [roles[folded(name)] for name in group]
            if "sensitive" in own and own.count("quasi-identifier") == len(self.qis) > 0:
                raise fail(
                    f"the group of {group[0]!r} has all quasi-identifiers and a sensitive column: nothing would keep "
                    "them apart", "release", "groups",
                )  # fmt: skip
            spread = [name for name in group if self.spread is not None and folded(name) == folded(self.spread)]
            if spread and "quasi-identifier" in own:
                raise fail(
                    f"something is required of {spread[0]!r}, so it cannot be in one group with a quasi-identifier",
                    "release", "groups",
                )  # fmt: skip


class Slicing(Bucketed[SlicingPolicy]):
    """Groups of columns, each a table, and buckets of rows that are alike in the first group."""

    name = "slicing"
    policy = SlicingPolicy
    options = OPTIONS
    noise_tag = "slicing"
    words = Words("bucket")
    chooses_groups = True
    numbers = NumberNames(frozenset({"rows", "buckets", "smallest", "largest", "bucket"}), frozenset({"posterior"}))

    def make_plan(self, source: Source, policy: SlicingPolicy) -> BucketPlan:
        """Take the groups as they are given, or choose them; sort the table for its buckets."""
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
        layout = BucketLayout(sides, roles, policy.bucket, spread)
        return plan_buckets(source, policy, layout, self, groups_chosen=chosen)

    def warns(self, layout: BucketLayout, groups_chosen: bool) -> tuple[str, ...]:
        """Of groups that the table chose, and of what stands together in one."""
        found = []
        if groups_chosen:
            listed = "; ".join(", ".join(side) for side in layout.sides)
            found.append(f"the groups were chosen by the correlations of this table, which they tell: {listed}")
        for side in layout.sides:
            roles = [layout.roles[c] for c in side]
            if SENSITIVE in roles and QI in roles:
                qi, hidden = side[roles.index(QI)], side[roles.index(SENSITIVE)]
                found.append(f"{hidden!r} is published together with {qi!r}: who knows that knows more of it")
        return tuple(found)

    def measures(self, sides: Sides) -> dict[str, float]:
        """Sizes, and what anybody comes to believe who knows all quasi-identifiers."""
        found = sides.sizes() | {"bucket": float(sides.layout.least)}
        posterior = sides.posterior()
        return found if posterior is None else found | {"posterior": posterior}

    def own_checks(self, sides: Sides, found: Mapping[str, float]) -> Iterator[Check]:
        """No bucket is too small."""
        least = int(found["bucket"])
        yield Check(f"every bucket has {least} rows or more", found["smallest"] >= least)

    def promises(self, layout: BucketLayout, numbers: Mapping[str, float]) -> Promise:
        """What it means that columns are apart."""
        least = int(numbers.get("bucket", layout.least))
        text = f"In a bucket of {least} rows or more, any row of one group of columns may belong to any row of another."
        if numbers.get("posterior", 0) >= 1:
            text += " But in some bucket all rows that a person's may be have one sensitive value, which is known then."
        elif "posterior" in numbers:
            text += (
                " A reader who knows all quasi-identifiers of a person and learns nothing from the other buckets "
                f"believes no sensitive value more than {numbers['posterior']:.4g}."
            )
        elif any(role == SENSITIVE for role in layout.roles.values()):
            text += " What is believed of sensitive values depends on the random noise, and stands in the release."
        how = (
            f"Values of {layout.spread!r} are spread over the buckets; which rows are in a bucket says nothing else."
            if layout.spread
            else f"Rows in a bucket are neighbours in the order of {', '.join(layout.sides[0])}."
        )
        return Promise(
            text,
            (
                how,
                "What stands in one group is published as it is, together: anybody sees who is in the table by it, and "
                "what else is in that group.",
                "Slicing bounds no knowledge of others: who knows the values of others in a bucket rules them out. "
                "A reader who learns from all buckets how values go with columns guesses better: `sqlpriv attack` "
                "reports for how many people (learned).",
            ),
        )


METHOD = Slicing()
