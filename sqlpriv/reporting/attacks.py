"""What attackers still learn: every attack on the release, beside the private table where the policy names it."""

from __future__ import annotations

from pathlib import Path

from sqlpriv.attacking.background import Knows
from sqlpriv.attacking.run import Asked, run
from sqlpriv.attacking.scene import Given, opened
from sqlpriv.attacking.told import told
from sqlpriv.facts import Line
from sqlpriv.policy.file import Policy
from sqlpriv.reporting.sections import Piece, Section
from sqlpriv.showing.charts import attacks_picture, if_any

_WORLDS = 10
"""In how many other worlds the search runs again: a page should not take longer than publishing."""
_NAME, _TITLE = "attacks", "What attackers still learn"


def attacks(path: Path, policy: Policy | None, show_values: bool, with_chart: bool) -> Section:
    """Each attack in a sentence, its numbers, and those of the private table beside them."""
    with opened(Given(path, policy=policy)) as scene:
        found = run(scene, Asked(Knows(), worlds=_WORLDS, show_values=show_values))
        facts = told(scene, found)
    # The page says for whom it is, once for all of it.
    pieces: list[Piece] = [p for p in facts.shown(show_values) if not (isinstance(p, Line) and p.mark == "private")]
    if with_chart:
        pieces += if_any(attacks_picture, "People reached by attacks", found)
    return Section(_NAME, _TITLE, tuple(pieces))
