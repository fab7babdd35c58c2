"""Who links a release with what they know: people alone in the columns that are known of them, and what a view shows.

A slice is what is known of a person; a match is a value of the column that is not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from pathlib import Path

from sqlpriv.core.sqltext import quoted
from support.randomized_policies import rows_of

Shown = Mapping[Hashable, Counter[Hashable]]


def shown_values(release: Path, known: Sequence[str], sensitive: str) -> dict[Hashable, Counter[Hashable]]:
    """How often each slice shows each value; a row that counts -1 takes one away."""
    columns = ", ".join(map(quoted, [*known, sensitive]))
    counted = f"SELECT {columns}, sum(sign(__weight)) FROM sqlpriv_release.published GROUP BY ALL"
    shown: dict[Hashable, Counter[Hashable]] = {}
    for *place, value, times in rows_of(release, counted):
        shown.setdefault(tuple(place), Counter())[value] += int(times)
    return shown


def lone_match(values: Counter[Hashable]) -> list[Hashable]:
    """The one value that is there, if it is one."""
    there = [value for value, times in values.items() if times > 0]
    return there if len(there) == 1 else []


def top_match(values: Counter[Hashable]) -> list[Hashable]:
    """The value that is there more often than every other, if one is."""
    most = max(values.values(), default=0)
    top = [value for value, times in values.items() if times == most > 0]
    return top if len(top) == 1 else []


def likeliest(values: Counter[Hashable], prior: Mapping[Hashable, float], factor: float) -> list[Hashable]:
    """The best guess of one who knows how frequent values are: Bayes' rule.

    A row makes it up to `factor` times as likely, beside its absence, that its tuple is there: just so often in
    noisy counts, one-sided or signed, where the person is alone.
    """
    return [max(prior, key=lambda value: prior[value] * (factor if values[value] > 0 else 1))]
