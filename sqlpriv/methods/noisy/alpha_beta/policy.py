"""What a policy of an alpha-beta release may say besides its bound: alpha and beta, equal rows, sequences of views."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlpriv.methods.noisy.policy import ADVERSARY, BOUND, RandomizedPolicy
from sqlpriv.policy.keys import FILES, Fail, Key, Keys, ValueKind, choice, number

MOST_VIEWS = 1000
MOST_SLOTS = 1_000_000
_DUPLICATES = choice("distinct", "slots")
_OLD_NAME = "bag"
"""What noisy counts were called while they were part of this method: read, and refused with what to write."""


def _read_duplicates(value: Any) -> str | None:
    return _OLD_NAME if value == _OLD_NAME else _DUPLICATES.read(value)


OPTIONS: Keys = (
    *BOUND,
    ADVERSARY,
    Key("parameters", choice("default", "paper", "tight"), "how alpha and beta are chosen: independent adversary only",
        "default"),
    Key("alpha", number(0, 1), "a number of your own, which is judged: rows kept beyond noise"),
    Key("beta", number(0, 1), "a number of your own, which is judged: noise"),
    Key("duplicates", ValueKind(_DUPLICATES.words, _read_duplicates, _DUPLICATES.public), "what becomes of equal rows; "
        "they have slots where `slots` or `views` is given", proposed=lambda _: "distinct"),
    Key("slots", number(0, MOST_SLOTS, whole=True), "a public bound on the number of equal rows", 50),
    Key("views", number(0, MOST_VIEWS, whole=True), "how many views of the table, as it changes, are planned", 1),
    Key("earlier", FILES, "where earlier views are, if not next to the output", ()),
)  # fmt: skip


@dataclass(frozen=True)
class AlphaBetaPolicy(RandomizedPolicy):
    """A policy of an alpha-beta release."""

    @property
    def adversary(self) -> str:
        """Whom the bound of slots and distinct tuples holds against."""
        return str(self.release["adversary"])

    @property
    def choice(self) -> str:
        """How alpha and beta are chosen."""
        return str(self.release["parameters"])

    @property
    def alpha(self) -> float | None:
        """The owner's own number for rows, if given."""
        return self.release["alpha"]  # type: ignore[no-any-return]

    @property
    def beta(self) -> float | None:
        """The owner's own number for noise, if given."""
        return self.release["beta"]  # type: ignore[no-any-return]

    @property
    def is_distinct(self) -> bool:
        """Whether equal rows are published, and counted, as one."""
        return bool(self.release["duplicates"] == "distinct")

    @property
    def reveals_size(self) -> bool:
        """Whether the release reveals the number of rows, rounded up: something in it is made from that."""
        return self.n_public is None and self.k is not None

    @property
    def slots(self) -> int:
        """Among how many slots equal rows are distinguished."""
        return 1 if self.is_distinct else int(self.release["slots"])

    @property
    def views(self) -> int:
        """How many views of the table the release is the first of."""
        return int(self.release["views"])

    @property
    def earlier(self) -> tuple[str, ...]:
        """Where earlier views are."""
        return tuple(self.release["earlier"])

    def differs(self, about: Mapping[str, str], declared: Mapping[str, float]) -> list[str]:
        """Where what a file declares is not what the policy asks for."""
        other = [] if about.get("adversary") == self.adversary else ["it is about another adversary"]
        return super().differs(about, declared) + other

    def check(self, fail: Fail) -> None:
        """Equal rows, alpha and beta, adversary, slots and views fit together."""
        # Noisy counts are a method of their own, and nobody shall get another guarantee by a word left out.
        instead = 'write method = "noisy_counts"'
        if self.release["duplicates"] == _OLD_NAME:
            raise fail(
                f"noisy counts are a method of their own: {instead}, and leave duplicates out",
                "release", "duplicates",
            )  # fmt: skip
        if not self.written & {"duplicates", "slots", "views"}:
            raise fail(
                f"alpha_beta must say what becomes of equal rows: {instead} to count them with noise, or add "
                'duplicates = "distinct" or duplicates = "slots"', "release", "method",
            )  # fmt: skip
        super().check(fail)
        if (self.alpha is None) != (self.beta is None):
            raise fail("alpha and beta are given together or not at all", "release", "alpha")
        if self.alpha is not None and self.choice != "default":
            raise fail("alpha and beta are given, so parameters has nothing to choose", "release", "parameters")
        is_exclusive = self.adversary == "exclusive"
        if self.choice != "default" and is_exclusive:
            raise fail(
                f'parameters = "{self.choice}" holds against the independent adversary only; '
                'write adversary = "independent", or leave it out', "release", "parameters",
            )  # fmt: skip
        if self.is_distinct and "slots" in self.written:
            raise fail('slots are for duplicates = "slots"', "release", "slots")
        if self.earlier and self.views == 1:
            raise fail("earlier views belong to a sequence: say how many views it may have", "release", "earlier")
        if self.views > 1 and self.alpha is not None:
            raise fail("the parameters of a sequence are chosen by sqlpriv", "release", "alpha")
        if self.views > 1 and is_exclusive:
            raise fail(
                'a sequence protects against the independent adversary only: write adversary = "independent"',
                "release", "adversary" if "adversary" in self.written else "views",
            )  # fmt: skip
        if self.has_source and (self.views > 1 or self.alpha is not None or self.choice != "default"):
            name = next(c.name for c in self.published if c.share is not None)
            raise fail(
                "noise that follows shares is for one view of alpha_beta with its own parameters",
                "columns", name, "share",
            )  # fmt: skip
        if self.has_source and is_exclusive:
            raise fail(
                "noise that follows shares protects against the independent adversary only: "
                'write adversary = "independent"', "release", "adversary",
            )  # fmt: skip
        self.check_size(fail)
