"""The sentences that randomized methods share: what no guarantee covers, warnings, refusals, and advice."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sqlpriv.checks.verdict import Evidence
from sqlpriv.methods.noisy.attackers import Attacker, uncovered
from sqlpriv.methods.noisy.background import Background
from sqlpriv.methods.noisy.policy import RandomizedPolicy
from sqlpriv.release.file import ReleaseFile

SCOPE = (
    "A row is taken as independent of the others: rows that come in pairs by nature (couples, several visits of one "
    "person) are not covered together.",
    "What the release teaches about people in general is not hidden, and may be applied to a person.",
    "The domains, the parameters and the numbers given here are public.",
)
"""What no guarantee of these methods covers."""

# -------------------- warnings

SIZE_IS_BELOW = "n_public is below the number of rows, so the prior bound of k is lower than it says"


def warnings_of_policy(policy: RandomizedPolicy, n_public: int) -> tuple[str, ...]:
    """What a release by a policy reveals: values that occur, and the number of rows, rounded up."""
    return _warnings(_active(policy), n_public if policy.reveals_size else None)


def warnings_of_file(file: ReleaseFile) -> tuple[str, ...]:
    """The same, by what a file declares."""
    return _warnings(_active_of_file(file), file.parameters["n_public"] if size_is_rounded(file) else None)


def evidence_of_policy(policy: RandomizedPolicy) -> Iterator[Evidence]:
    """The same for the verdict."""
    return _evidence(_active(policy), policy.reveals_size and policy.n_public is None)


def evidence_of_file(file: ReleaseFile) -> Iterator[Evidence]:
    """The same for the verdict, by what a file declares."""
    return _evidence(_active_of_file(file), size_is_rounded(file))


def _active(policy: RandomizedPolicy) -> list[str]:
    return [c.name for c in policy.published if c.domain == "active"]


def _active_of_file(file: ReleaseFile) -> list[str]:
    return [str(c["name"]) for c in file.attributes if str(c["declared"]).endswith("active")]


def _evidence(active: Sequence[str], is_rounded: bool) -> Iterator[Evidence]:
    if active:
        yield Evidence("occurring_values", about=", ".join(active))
    if is_rounded:
        yield Evidence("rounded_size")


def size_is_rounded(file: ReleaseFile) -> bool:
    """Whether the release reveals the number of rows, rounded up."""
    return file.about["n_public_is_rounded"] == "yes"


def _warnings(active: Sequence[str], rounded: float | None) -> tuple[str, ...]:
    found = []
    if active:
        found.append(
            f"the domains of {', '.join(map(repr, active))} are what occurs in the table: the release reveals that "
            "these values occur, and that no others do"
        )
    if rounded is not None:
        found.append(f"n_public is not declared; the number of rows rounded up, {rounded:,.0f}, becomes public")
    return tuple(found)


# -------------------- refusals


def no_bound(d: float, gamma: float, most_k: float | None, *, is_given: bool) -> str:
    """That attackers believe too much beforehand; `is_given`: the policy has d; `most_k`: it has k, which may be so."""
    what = f"the prior bound d = {d:.4g} is not below gamma = {gamma:g}, so there is nothing to keep below it"
    if most_k is not None:
        return f"{what}; k must be below {most_k:.4g} here, or take a larger gamma or a larger domain"
    if is_given:
        return f"{what}; take a smaller d, or a larger gamma"
    return f"a linking attacker believes in some value with {d:.4g} before the release, and gamma is {gamma:g}"


def probability_out_of_reach(kept: float) -> str:
    """That rows would always be kept, or never."""
    return f"rows would be kept with probability {kept:.3g}, which cannot be drawn at random here; " + (
        "every row would be published" if kept > 0.5 else "the view would say nothing"
    )


def noise_out_of_reach(probability: float) -> str:
    """That there would be no noise at all."""
    return (
        f"noise would fall with probability {probability:.3g}, which cannot be drawn at random here, so every "
        "published row would be true; take a larger d or a smaller gamma"
    )


def useless(half_domain_error: float, n_public: int) -> str:
    """That a view says nothing."""
    return (
        f"the view would say nothing: a count over half the domain would be off by {half_domain_error:,.0f}, "
        f"more than the {n_public:,} rows there are; ask for less privacy, or force it"
    )


def not_covered(policy: RandomizedPolicy, attackers: Sequence[Attacker], *, by_shares: bool) -> str:
    """Which linking attackers are not covered, and what to do about it."""
    worst = max(uncovered(attackers), key=lambda a: a.posterior)
    wants = worst.wants if by_shares else f"a value of {worst.wants!r}"
    instead = "Take a larger gamma, or publish by another method"
    if policy.gives_prior:
        instead = "Leave out d and k, and the bound comes from this attacker"
    elif policy.slots > 1 or policy.views > 1:
        instead = 'Publish noisy counts, method = "noisy_counts", which covers them'
    return (
        f"an attacker who knows {worst.knows} of a person is not covered: a belief of {worst.prior:.4g} in {wants} may "
        f"become {worst.posterior:.4g}, and gamma is {policy.gamma:g}. {instead}; or say in [release] why to publish "
        'all the same: uncovered = "..."'
    )


def too_many_rows(expected_rows: float, most: int) -> str:
    """That a release would be larger than its policy allows."""
    return (
        f"the release would have about {expected_rows:,.0f} rows, and max_rows is {most:,}; publish fewer or "
        "coarser columns, or raise max_rows in [release]"
    )


def advice(background: Background, sets: Sequence[Sequence[str]]) -> str:
    """What can be done where a linking attacker's belief is not below gamma; `sets` of columns would do."""
    few = min(background.open, key=lambda w: w.choices)
    listed = " or ".join(", ".join(columns) for columns in sets[:2])
    fewer = f"publish fewer columns, as {listed}" if sets else "no set of the columns will do"
    without = "leave out the shares, " if background.shared else ""
    return (
        f"of {few.column!r} only {few.choices} values are possible: leave it out or take a larger gamma; {fewer}; or "
        f"take another method (generalize with distinct_l); or {without}give d yourself and say why in uncovered"
    )


# -------------------- the guarantee


def with_uncovered(promise: str, attackers: Sequence[Attacker], gamma: float, why: str | None) -> str:
    """The guarantee; who is not covered, and the owner's reason to publish all the same, is its first sentence."""
    bare = uncovered(attackers)
    if why is None or not bare:
        return promise
    worst = max(bare, key=lambda a: a.posterior)
    reason = why.strip().rstrip(".")
    about = "" if worst.knows.endswith(worst.wants) else f" in {worst.wants}"
    return (
        f"NOT covered is an attacker who knows {worst.knows} of a person: a belief of {worst.prior:.3g}{about} may "
        f"become {worst.posterior:.3g}, above {gamma:g}; it is published all the same, in the owner's words because "
        f'"{reason}". {promise}'
    )
