"""All attacks on one table or release, one after the other; each says what it found, or why it does not apply."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from sqlpriv.attacks import background, closeness, homogeneity, intersection, linking, minimality, noise
from sqlpriv.attacks.background import Knowledge
from sqlpriv.attacks.findings import Finding, Findings, NotRun
from sqlpriv.attacks.target import Target
from sqlpriv.core.facts import OnProgress

_NOISE = (
    "random noise decides which rows are published, so no row and no class says anything for certain of anybody; the "
    "linking attacker says how much they reveal"
)
_QUICK = 0.2
"""About the share of the time that all attacks but the last take."""


@dataclass(frozen=True)
class AttackOptions:
    """What the owner asks for: what attackers know, and how far to look."""

    knows: Knowledge = field(default_factory=Knowledge)
    truth: str | None = None
    """The column of the dictionary that tells who is who."""
    worlds: int = minimality.WORLDS
    """How many worlds to look at for what a search tells by its choice."""
    show_values: bool = False


Attack = Callable[[Target, AttackOptions], Findings]


def run_attacks(target: Target, options: AttackOptions, on_progress: OnProgress = None) -> list[Finding | NotRun]:
    """Every attack, in the order of the lecture."""
    found: list[Finding | NotRun] = []
    for done, attack in enumerate(_ATTACKS):
        found += attack(target, options)
        if on_progress:
            on_progress(_QUICK * (done + 1) / len(_ATTACKS))
    found += minimality.attack(target, options.worlds, _last(on_progress))
    return found


def _last(on_progress: OnProgress) -> OnProgress:
    """What hears of the last attack, which takes longest."""
    return None if on_progress is None else lambda done: on_progress(_QUICK + (1 - _QUICK) * done)


def _by_classes(name: str, attack: Attack) -> Attack:
    """An attack by the classes in which people are; where there are none, why."""

    def judged(target: Target, options: AttackOptions) -> Iterator[Finding | NotRun]:
        why = _why_no_classes(target)
        if why is None:
            yield from attack(target, options)
        else:
            yield NotRun(name, why)

    return judged


def _why_no_classes(target: Target) -> str | None:
    if target.bounds_beliefs:
        return _NOISE
    if not target.own:
        return "no column is sensitive, so there is no value to guess"
    if not all(guess.classes for guess in target.own.values()):
        return "no column is a quasi-identifier, so nobody's class can be found"
    return None if target.method is None else target.method.why_no_classes(target.files[0])


_ATTACKS: tuple[Attack, ...] = (
    _by_classes(homogeneity.ATTACK, lambda t, options: homogeneity.attack(t.own, t.raw, options.show_values)),
    _by_classes(background.ATTACK, lambda t, options: background.attack(t.own, t.raw, options.knows)),
    _by_classes(closeness.ATTACK, lambda t, _: closeness.attack(t.own, t.raw, t.trees)),
    lambda t, options: linking.attack(t, options.truth),
    lambda t, _: noise.attack(t),
    lambda t, _: intersection.attack(t),
)
