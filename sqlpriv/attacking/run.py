"""All attacks on one table or release, one after the other; each says what it found, or why it does not apply."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from sqlpriv.attacking import background, closeness, coins, homogeneity, intersection, linking, minimality
from sqlpriv.attacking.background import Knows
from sqlpriv.attacking.findings import Finding, Found, NotRun
from sqlpriv.attacking.guessed import why_no_values
from sqlpriv.attacking.scene import Scene
from sqlpriv.facts import OnProgress

_COINS = (
    "coins decide which rows are published, so no row and no class says anything for certain of anybody; how much they "
    "tell, the linking attacker says"
)
_QUICK = 0.2
"""About the share of the time that all attacks but the last take."""


@dataclass(frozen=True)
class Asked:
    """What the owner asks for."""

    knows: Knows = field(default_factory=Knows)
    truth: str | None = None
    """The column of the dictionary that tells who is who."""
    worlds: int = minimality.WORLDS
    """How many worlds to look at for what a search tells by its choice."""
    show_values: bool = False


Attack = Callable[[Scene, Asked], Found]


def run(scene: Scene, asked: Asked, on_progress: OnProgress = None) -> list[Finding | NotRun]:
    """Every attack, in the order of the lecture."""
    found: list[Finding | NotRun] = []
    for done, attack in enumerate(_ATTACKS):
        found += attack(scene, asked)
        if on_progress:
            on_progress(_QUICK * (done + 1) / len(_ATTACKS))
    found += minimality.attack(scene, asked.worlds, _last(on_progress))
    return found


def _last(on_progress: OnProgress) -> OnProgress:
    """What hears of the last attack, which takes longest."""
    return None if on_progress is None else lambda done: on_progress(_QUICK + (1 - _QUICK) * done)


def _by_classes(name: str, attack: Attack) -> Attack:
    """An attack by the classes in which people are; where there are none, why."""

    def judged(scene: Scene, asked: Asked) -> Iterator[Finding | NotRun]:
        why = _why_no_classes(scene)
        if why is None:
            yield from attack(scene, asked)
        else:
            yield NotRun(name, why)

    return judged


def _why_no_classes(scene: Scene) -> str | None:
    if scene.bounds_beliefs:
        return _COINS
    if not scene.own:
        return "no column is sensitive, so there is no value to guess"
    if not all(guessed.classes for guessed in scene.own.values()):
        return "no column is a quasi-identifier, so nobody's class can be found"
    return why_no_values(scene.files[0]) if scene.files else None


_ATTACKS: tuple[Attack, ...] = (
    _by_classes(homogeneity.ATTACK, lambda s, asked: homogeneity.attack(s.own, s.raw, asked.show_values)),
    _by_classes(background.ATTACK, lambda s, asked: background.attack(s.own, s.raw, asked.knows)),
    _by_classes(closeness.ATTACK, lambda s, _: closeness.attack(s.own, s.raw, s.trees)),
    lambda s, asked: linking.attack(s, asked.truth),
    lambda s, _: coins.attack(s),
    lambda s, _: intersection.attack(s),
)
