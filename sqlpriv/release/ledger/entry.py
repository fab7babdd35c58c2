"""One release as the ledger records it, and the cost of several of them, where they compose.

Differential privacy adds up, and nothing else does. There are two kinds of it, by what a table is compared with: itself
with a row added or left out, and itself with a row replaced by another. Each release declares both, or the one that it
has; each is added up by itself, and never to the other. A release without either (a generalized table, a view of a
sequence) does not compose with anything.

A sample has a smaller delta for every larger epsilon. Where all releases were settled before anybody saw one, the
epsilon of all is split among them as it serves best (Li, Qardaji and Su 2011, Theorem 5). Otherwise the split could
follow what was shown, and each release counts by the one pair that it declared when it was entered.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from datetime import datetime, timezone
from secrets import token_hex
from typing import Any

from sqlpriv.macros.calls import Calls

UNITS = ("row", "person")
KINDS = {"added": "added or left out", "replaced": "replaced by another"}
"""The two kinds, in words that follow "a row is" or "a person is"."""
Pair = tuple[float, float]
"""Epsilon and delta."""
Sample = tuple[int, float]
"""k and beta of sampled k-anonymity, which has a delta for every epsilon."""


@dataclass(frozen=True)
class Spent:
    """The cost of one or more releases: epsilon and delta of each kind, per row or per person."""

    unit: str
    added: Pair | None
    replaced: Pair | None
    releases: int = 1
    samples: tuple[Sample, ...] = ()
    """The samples that `added` is a point of, where it is one of sampled k-anonymity alone."""

    def of(self, kind: str) -> Pair | None:
        """The cost of one kind."""
        return self.added if kind == "added" else self.replaced

    def to_json(self) -> dict[str, Any]:
        """As the ledger and a release keep it."""
        pairs = {kind: None if (pair := self.of(kind)) is None else list(pair) for kind in KINDS}
        curve = {"samples": [list(sample) for sample in self.samples]} if self.samples else {}
        return {"unit": self.unit, **pairs, "releases": self.releases, **curve}


def spent_of(content: object) -> Spent | None:
    """The cost from its JSON; None where that makes no sense."""
    if not isinstance(content, Mapping) or content.get("unit") not in UNITS:
        return None
    samples = content.get("samples", [])
    if set(content) - {"samples"} != {"unit", *KINDS, "releases"} or not _are_samples(samples, content["added"]):
        return None
    releases, pairs = content["releases"], [content[kind] for kind in KINDS]
    is_count = isinstance(releases, int) and not isinstance(releases, bool) and releases >= 1
    if not is_count or all(pair is None for pair in pairs) or not all(_is_pair(pair) for pair in pairs):
        return None
    added, replaced = (None if pair is None else (float(pair[0]), float(pair[1])) for pair in pairs)
    return Spent(content["unit"], added, replaced, releases, tuple((int(k), float(beta)) for k, beta in samples))


def _is_pair(given: object) -> bool:
    if given is None:
        return True
    if not isinstance(given, list) or len(given) != 2:
        return False
    return all(isinstance(n, int | float) and math.isfinite(n) and n >= 0 for n in given)


def _are_samples(given: object, added: object) -> bool:
    """Whether these are samples, of a release that has an epsilon to split."""
    if not isinstance(given, list) or (given and added is None):
        return False
    pairs = [sample for sample in given if _is_pair(sample) and sample is not None]
    return len(pairs) == len(given) and all(k >= 1 and k == int(k) and 0 < beta < 1 for k, beta in pairs)


@dataclass(frozen=True)
class Entry:
    """One release: its table, its random noise, and which view of how many it is."""

    time: str
    table: str
    digest: str
    """Of what is published of the table."""
    content: str
    """Of the whole table, so that a copy is known also when other columns are published of it."""
    method: str
    parameters: Mapping[str, object]
    coins: str
    """A name of its random noise: equal for the very same release, and of no use to draw that noise."""
    view: int
    views: int
    output: str
    release: str = ""
    """The release ID in its file."""
    coexists_because: str = ""
    """Why it may coexist with other releases of the table, in the owner's words."""
    settled_beforehand: str = ""
    """Why neither it nor its parameters depend on what earlier releases of the table show, in the owner's words."""
    void: str = ""
    """Why it does not count: it never went out."""
    place: str = ""
    """A keyed hash of where the table was."""
    finished: bool = True
    """Whether it is known that the release was put in its place; if not, only the same noise may be put there."""
    spent: Spent | None = None
    """What it costs in differential privacy; None where it does not compose."""
    id: str = field(default_factory=lambda: token_hex(8))
    """Unique, also where one release was entered again after it was void."""

    @property
    def name(self) -> str:
        """The entry's name for people."""
        return self.coins[:8]


def entry_of(content: object) -> Entry:
    """An entry from JSON; TypeError where it is none."""
    if not isinstance(content, dict):
        raise TypeError
    # A ledger outlives versions of sqlpriv: `beside` is what the reason was called before.
    given = {"coexists_because" if name == "beside" else name: value for name, value in content.items()}
    types = {"str": str, "int": int, "bool": int}  # the others are objects
    wanted = {f.name: types.get(str(f.type), dict) for f in fields(Entry)}
    if not all(name in wanted and isinstance(value, wanted[name]) for name, value in given.items()):
        raise TypeError
    spent = given.pop("spent", None) or None
    entry = Entry(**given, spent=spent_of(spent))
    if spent and entry.spent is None:
        raise TypeError
    return entry


def content_of(entry: Entry) -> dict[str, Any]:
    """The entry as JSON, as it is kept and shown."""
    content = {**asdict(entry), "spent": {} if entry.spent is None else entry.spent.to_json()}
    if not entry.settled_beforehand:
        del content["settled_beforehand"]  # as before there was such a reason
    return content


def now() -> str:
    """The time, as entries have it."""
    return datetime.now(timezone.utc).isoformat(timespec="seconds")


def are_settled(entries: Sequence[Entry]) -> bool:
    """Whether no release depends on an earlier one, in their order: of the first nobody has to say so."""
    return all(entry.settled_beforehand for entry in entries[1:])


def together(calls: Calls, parts: Sequence[Spent | None], settled: bool = False) -> Spent | None:
    """The cost of all together; None where one does not compose, or some protect rows and others persons.

    `settled`: none of them depends on what another shows, so that samples may share their epsilon.
    """
    known = [part for part in parts if part is not None]
    if not known or len(known) < len(parts) or len({part.unit for part in known}) > 1:
        return None
    added, replaced = (_sum(calls, [part.of(kind) for part in known]) for kind in KINDS)
    if added is None and replaced is None:
        return None
    if settled and added is not None:
        added = _shared(calls, known, added)
    return Spent(known[0].unit, added, replaced, sum(part.releases for part in known))


def _sum(calls: Calls, pairs: Sequence[Pair | None]) -> Pair | None:
    if any(pair is None for pair in pairs):
        return None
    found = calls.row("composition", [p[0] for p in pairs if p], [p[1] for p in pairs if p])
    return float(found[0]), float(found[1])


def _shared(calls: Calls, parts: Sequence[Spent], total: Pair) -> Pair:
    """The same epsilon with the delta of its best split among all samples, where that is smaller."""
    samples = [sample for part in parts for sample in part.samples]
    if not samples:
        return total
    fixed = [part.added for part in parts if part.added is not None and not part.samples]
    given = ([k for k, _ in samples], [beta for _, beta in samples], [epsilon for epsilon, _ in fixed], total[0])
    split = float(calls.row("smooth_composition", *given)[0])
    smaller = calls.value(f"_smaller_delta({total[1]!r}, {split!r}, {[delta for _, delta in fixed]!r})")
    return total[0], float(smaller)


def read_together(text: str) -> Spent | None:
    """The total that a release declares, of all releases up to it; None where that makes no sense."""
    try:
        found = spent_of(json.loads(text))
    except (ValueError, RecursionError):
        return None
    return found if found is not None and found.releases > 1 and json.dumps(found.to_json()) == text else None
