"""What a policy of noisy counts may say besides its bound: the share of rows that are kept, and rows of a person."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from sqlpriv.core.sqltext import folded
from sqlpriv.methods.noisy.policy import BOUND, RandomizedPolicy
from sqlpriv.policy.keys import Fail, Key, Keys, number

MOST_ROWS_EACH = 1000
OPTIONS: Keys = (
    *BOUND,
    Key("p", number(0, 1), "the share of rows that are kept; chosen by sqlpriv if it is not given"),
    Key("rows_each", number(0, MOST_ROWS_EACH, whole=True), "with a person column: the most rows that a person may "
        "have, publicly"),
)  # fmt: skip


@dataclass(frozen=True)
class NoisyCountsPolicy(RandomizedPolicy):
    """A policy of noisy counts."""

    has_slots: ClassVar[bool] = False
    protects_persons: ClassVar[bool] = True

    @property
    def shared(self) -> str | None:
        """The wanted column whose public shares the noise follows, if it does."""
        return next((c.name for c in self.published if c.share is not None), None)

    @property
    def rows_each(self) -> int:
        """How many rows a person may have; 1 where rows are persons."""
        return int(self.release["rows_each"] or 1)

    @property
    def p(self) -> float | None:
        """The share of rows that are kept, if given."""
        return self.release["p"]  # type: ignore[no-any-return]

    @property
    def reveals_size(self) -> bool:
        """Whether the release reveals the number of rows, rounded up: the noise is calibrated to it."""
        return self.n_public is None

    def check(self, fail: Fail) -> None:
        """Domains are public, and persons, shares and dropped rows leave the guarantee as it is."""
        super().check(fail)
        if self.person is not None and "rows_each" not in self.written:
            raise fail(
                f"{self.person!r} says whose row it is, so write rows_each: the most rows that a person may have, a "
                "number that may be public", "columns", self.person,
            )  # fmt: skip
        if self.person is None and "rows_each" in self.written:
            raise fail('rows_each needs a column that says whose row it is: role = "person"', "release", "rows_each")
        active = [c.name for c in self.published if c.domain == "active"]
        if active:
            raise fail(
                "noisy counts need public domains: what is read from the table shows the value that only one person "
                'has; name its values, or write method = "alpha_beta" with duplicates = "distinct" or "slots"',
                "columns", active[0], "domain",
            )  # fmt: skip
        if self.has_source:
            self._check_shares(fail)
        self.check_size(fail)

    def _check_shares(self, fail: Fail) -> None:
        """Noise may follow the shares of one wanted column: by those of whole tuples rare ones would be bare."""
        first, *others = [c.name for c in self.published if c.share is not None]
        wanted = {folded(name) for name in self.wanted}
        bare = [name for name in (first, *others) if folded(name) not in wanted]
        if bare:
            raise fail(
                f"noise cannot follow the shares of {bare[0]!r}, which is not sensitive: an attacker who knows it "
                "would find rare tuples bare; give shares of a sensitive column only", "columns", bare[0], "share",
            )  # fmt: skip
        if others:
            raise fail(
                f"noise follows the shares of one column, and {first!r} has some: leave out those of {others[0]!r}",
                "columns", others[0], "share",
            )  # fmt: skip
        for name in ("d", "k"):
            if name in self.written:
                raise fail(
                    f"the shares of {first!r} say what is believed beforehand: leave out {name}", "release", name
                )
        if self.rows_each > 1:
            raise fail(
                f"shares are of rows, and the rows of a person may be tied: leave out those of {first!r}, or publish "
                "one row of each person", "columns", first, "share",
            )  # fmt: skip
        if self.combinations:
            raise fail(
                f"where some combinations are impossible, values have other shares than {first!r} says: leave out one "
                "of both", "release", "combinations",
            )  # fmt: skip
