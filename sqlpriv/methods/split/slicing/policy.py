"""What a policy of slicing may say: which columns stay together, and how many rows a bucket has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sqlpriv.core.sqltext import folded
from sqlpriv.methods.split.policy import PUBLISHED, BucketedPolicy
from sqlpriv.policy.keys import GROUPS, Fail, Key, Keys, check_groups, number

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
