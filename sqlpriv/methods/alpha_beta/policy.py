"""What a policy of an alpha-beta release may say beside its bound: coins, equal rows, and sequences of views."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sqlpriv.methods.randomized.policy import BOUND, RandomizedPolicy
from sqlpriv.policy.keys import FILES, Fail, Key, Keys, choice, number
from sqlpriv.sqltext import folded

MOST_VIEWS = 1000
MOST_SLOTS = 1_000_000
MOST_ROWS_EACH = 1000
OPTIONS: Keys = (
    *BOUND,
    Key("parameters", choice("default", "paper", "tight"), "how the coins are chosen: independent adversary only",
        "default"),
    Key("alpha", number(0, 1), "coins of your own, which are judged: rows kept beyond noise"),
    Key("beta", number(0, 1), "coins of your own, which are judged: noise"),
    Key("duplicates", choice("bag", "distinct", "slots"), "what becomes of equal rows; a bag, or slots where `slots` "
        "or `views` is given"),
    Key("p", number(0, 1), "of a bag: the share of rows that are kept; chosen by sqlpriv if it is not given"),
    Key("rows_each", number(0, MOST_ROWS_EACH, whole=True), "of a bag with a person column: the most rows that a "
        "person may have, publicly"),
    Key("slots", number(0, MOST_SLOTS, whole=True), "a public bound on the number of equal rows", 50),
    Key("views", number(0, MOST_VIEWS, whole=True), "how many views of the table, as it changes, are planned", 1),
    Key("earlier", FILES, "where earlier views are, if not beside the output", ()),
)  # fmt: skip


@dataclass(frozen=True)
class AlphaBetaPolicy(RandomizedPolicy):
    """A policy of an alpha-beta release."""

    @property
    def choice(self) -> str:
        """How the coins are chosen."""
        return str(self.release["parameters"])

    @property
    def alpha(self) -> float | None:
        """The owner's own coin for rows, if given."""
        return self.release["alpha"]  # type: ignore[no-any-return]

    @property
    def beta(self) -> float | None:
        """The owner's own coin for noise, if given."""
        return self.release["beta"]  # type: ignore[no-any-return]

    @property
    def duplicates(self) -> str:
        """What becomes of equal rows: a bag, unless the policy speaks of slots or views."""
        given = self.release["duplicates"]
        return str(given) if given else "slots" if self.written & {"slots", "views"} else "bag"

    @property
    def is_distinct(self) -> bool:
        """Whether equal rows are published, and counted, as one."""
        return self.duplicates == "distinct"

    @property
    def is_bag(self) -> bool:
        """Whether the release is a bag: rows kept, and noise on every tuple of the domain."""
        return self.duplicates == "bag"

    @property
    def shared(self) -> str | None:
        """The wanted column whose public shares the noise of a bag follows, if it does."""
        return next((c.name for c in self.published if c.share is not None), None) if self.is_bag else None

    @property
    def protects_persons(self) -> bool:
        """Whether all rows of a person are protected together."""
        return self.is_bag

    @property
    def rows_each(self) -> int:
        """How many rows a person may have; 1 where rows are persons."""
        return int(self.release["rows_each"] or 1)

    @property
    def p(self) -> float | None:
        """The share of rows that a bag keeps, if given."""
        return self.release["p"]  # type: ignore[no-any-return]

    def differs(self, about: Mapping[str, str], stated: Mapping[str, float]) -> list[str]:
        """Where what a file states is not what the policy asks for."""
        listed = super().differs(about, stated)
        if ("q" in stated or "a" in stated) != self.is_bag:
            listed.append("it is a bag" if not self.is_bag else "it is no bag")
        elif not self.is_bag and about.get("adversary") != self.adversary:
            listed.append("it is about another adversary")
        return listed

    @property
    def told_size(self) -> bool:
        """Whether the release tells the number of rows, rounded up: something in it is made from that."""
        return self.n_public is None and (self.k is not None or self.is_bag)

    @property
    def slots(self) -> int:
        """Among how many slots equal rows are told apart."""
        return 1 if self.is_distinct or self.is_bag else int(self.release["slots"])

    @property
    def views(self) -> int:
        """How many views of the table the release is the first of."""
        return int(self.release["views"])

    @property
    def earlier(self) -> tuple[str, ...]:
        """Where earlier views are."""
        return tuple(self.release["earlier"])

    def check(self, fail: Fail) -> None:
        """Coins, adversary, slots and views fit together."""
        super().check(fail)
        self._check_bag(fail)
        if (self.alpha is None) != (self.beta is None):
            raise fail("alpha and beta are given together or not at all", "release", "alpha")
        if self.alpha is not None and self.choice != "default":
            raise fail("alpha and beta are given, so parameters has nothing to choose", "release", "parameters")
        if self.choice != "default" and self.adversary == "exclusive":
            raise fail(
                f'parameters = "{self.choice}" holds against the independent adversary only; '
                'write adversary = "independent", or leave it out', "release", "parameters",
            )  # fmt: skip
        if self.is_distinct and "slots" in self.written:
            raise fail('slots are for duplicates = "slots"', "release", "slots")
        self._check_views(fail)
        if self.has_source and not self.is_bag:
            self._check_source(fail)

    def _check_bag(self, fail: Fail) -> None:
        if not self.is_bag:
            if "p" in self.written:
                raise fail('p is for duplicates = "bag"', "release", "p")
            if "rows_each" in self.written:
                raise fail('rows_each is for duplicates = "bag"', "release", "rows_each")
            return
        self._refuse_foreign(fail)
        self._check_persons(fail)
        active = [c.name for c in self.published if c.domain == "active"]
        if active:
            raise fail(
                "a bag needs public domains: what is read from the table shows the value that only one person has; "
                'name its values, or write duplicates = "distinct" or "slots"',
                "columns", active[0], "domain",
            )  # fmt: skip
        dropping = [c.name for c in self.published if c.outside == "drop"]
        if dropping and self.n_public is None:
            raise fail(
                f"a bag that drops rows by {dropping[0]!r} needs n_public: a number of rows made from the table would "
                "tell whether a row was dropped", "columns", dropping[0], "outside",
            )  # fmt: skip
        if self.has_source:
            self._check_shares(fail)

    def _check_shares(self, fail: Fail) -> None:
        """Noise may follow the shares of one wanted column: by those of whole tuples rare ones would be bare."""
        first, *others = [c.name for c in self.published if c.share is not None]
        wanted = {folded(name) for name in self.wanted}
        bare = [name for name in (first, *others) if folded(name) not in wanted]
        if bare:
            raise fail(
                f"the noise of a bag cannot follow the shares of {bare[0]!r}, which is not sensitive: who knows it "
                "would find rare tuples bare; give shares of a sensitive column only", "columns", bare[0], "share",
            )  # fmt: skip
        if others:
            raise fail(
                f"the noise of a bag follows the shares of one column, and {first!r} has some: leave out those of "
                f"{others[0]!r}", "columns", others[0], "share",
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

    def _refuse_foreign(self, fail: Fail) -> None:
        """What only slots and distinct tuples have; a sequence of views must tell its rows apart."""
        if self.views > 1:
            raise fail(
                'a bag is one view: a sequence of views needs duplicates = "slots", or leave duplicates out',
                "release", "views",
            )  # fmt: skip
        foreign = [k for k in ("adversary", "parameters", "alpha", "beta", "slots", "earlier") if k in self.written]
        if foreign:
            raise fail(
                f"{foreign[0]} is for slots and distinct tuples, and a bag has no use for it: leave it out, or write "
                'duplicates = "distinct" or "slots"', "release", foreign[0],
            )  # fmt: skip

    def _check_persons(self, fail: Fail) -> None:
        if self.person is not None and "rows_each" not in self.written:
            raise fail(
                f"{self.person!r} says whose row it is, so write rows_each: the most rows that a person may have, a "
                "number that may be public", "columns", self.person,
            )  # fmt: skip
        if self.person is None and "rows_each" in self.written:
            raise fail('rows_each needs a column that says whose row it is: role = "person"', "release", "rows_each")

    def _check_views(self, fail: Fail) -> None:
        if self.earlier and self.views == 1:
            raise fail("earlier views belong to a sequence: say how many views it may have", "release", "earlier")
        if self.views > 1 and self.alpha is not None:
            raise fail("the parameters of a sequence are chosen by sqlpriv", "release", "alpha")
        if self.views > 1 and self.adversary == "exclusive":
            raise fail(
                'a sequence protects against the independent adversary only: write adversary = "independent"',
                "release", "adversary" if "adversary" in self.written else "views",
            )  # fmt: skip

    def _check_source(self, fail: Fail) -> None:
        if self.views > 1 or self.alpha is not None or self.choice != "default":
            name = next(c.name for c in self.published if c.share is not None)
            raise fail(
                "noise that follows shares is for one view of alpha_beta with its own parameters",
                "columns", name, "share",
            )  # fmt: skip
        if self.adversary == "exclusive":
            raise fail(
                "noise that follows shares protects against the independent adversary only: "
                'write adversary = "independent"', "release", "adversary",
            )  # fmt: skip
