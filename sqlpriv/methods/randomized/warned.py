"""What a randomized release warns of, by what its policy or its file says."""

from __future__ import annotations

from collections.abc import Sequence

from sqlpriv.methods.randomized.policy import RandomizedPolicy
from sqlpriv.release.file import ReleaseFile

ROWS_ARE_PUBLIC = "frapp publishes as many rows as the table has, so their number is public"


def active_domains(policy: RandomizedPolicy) -> tuple[str, ...]:
    """The warning of domains that are read from the data."""
    return _active([c.name for c in policy.published if c.domain == "active"])


def _active(names: Sequence[str]) -> tuple[str, ...]:
    if not names:
        return ()
    listed = ", ".join(map(repr, names))
    return (
        f"the domains of {listed} are what occurs in the table: the release reveals that these values occur, and that "
        "no others do",
    )


def told_size(policy: RandomizedPolicy, n_public: int) -> tuple[str, ...]:
    """The warning of a number of rows that is made from the table."""
    return _rounded(n_public) if policy.told_size else ()


def _rounded(n_public: float) -> tuple[str, ...]:
    return (f"n_public is not declared; the number of rows rounded up, {n_public:,.0f}, becomes public",)


def size_is_rounded(file: ReleaseFile) -> bool:
    """Whether the release reveals the number of rows, rounded up."""
    return file.about["n_public_is_rounded"] == "yes"


def warnings_of(file: ReleaseFile) -> tuple[str, ...]:
    """All that a file warns of."""
    active = [str(c["name"]) for c in file.attributes if str(c["declared"]).endswith("active")]
    rounded = _rounded(file.parameters["n_public"]) if size_is_rounded(file) else ()
    return (*((ROWS_ARE_PUBLIC,) if "stay" in file.parameters else ()), *_active(active), *rounded)
