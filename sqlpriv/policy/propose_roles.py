"""Propose a policy for a table: a role and a hierarchy for every column, to be reviewed by a person.

A wrong guess has to err on the safe side. What has a value of its own in nearly every row is an identifier; if it is
measured, that is for the owner to decide. What else is not understood becomes a quasi-identifier, coarsened or
suppressed until the requirements hold; only a column with one value for everybody is published as it is. Reasons
speak of counts and names, never of values: the file is made to be mailed around.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

from sqlpriv.policy.words import Words, known_words
from sqlpriv.table.profile import DATE_LEVELS, ColumnProfile

K, L = 5, 3
GAMMA, TIMES = 0.3, 2
"""The values that are proposed: k and l, and for methods with noise gamma and times."""
UNDECIDED = "?"
"""The role of a column that its owner has to decide on."""
_NEARLY_UNIQUE = 0.95
_MANY_ROWS = 20  # with fewer, different values in every row say nothing
_PARTS = 16  # into how many ranges the most usual numbers of a column are cut
_MOST_LEVELS = 4
_FEW_NUMBERS = 12  # so few are rather codes, whose order means nothing
_CODE_REPEATS = 20  # an id that this many rows share on average names a ward or a product, not a person

_PERSONS = ("patient", "person", "customer", "client", "user", "member", "employee", "student", "pupil", "subject",
            "participant", "respondent", "citizen", "resident", "insured", "donor", "kunde", "mitarbeiter")  # fmt: skip
_IDS = {"id", "ids", "key", "pk", "uuid", "guid", "identifier", "pid", "uid", "nummer", "pseudonym"}
_NAMES = {"first", "last", "full", "middle", "given", "family", "maiden", "birth", "user", "nick"} | set(_PERSONS)
_POSTAL = {"zip", "zipcode", "zip5", "postal", "postalcode", "postcode", "plz", "postleitzahl"}
_AGES = {"age", "ages", "alter"}


@dataclass(frozen=True)
class Proposal:
    """The proposed role of a column and why; a quasi-identifier has a hierarchy, a sensitive column an l.

    Where a method needs them, a published column has a domain, and `choices`, the number of values that would be
    published of it.
    """

    name: str
    role: str
    reason: str
    hierarchy: str | None = None
    distinct_l: int | None = None
    domain: str | tuple[bool, ...] | None = None
    null: bool = False
    level: int | None = None
    choices: int = 0
    levels: int | None = None
    """How many levels the hierarchy has, with the values and the star, where its words do not say so."""

    @property
    def given(self) -> dict[str, Any]:
        """The keys of the column in a policy."""
        domain = list(self.domain) if isinstance(self.domain, tuple) else self.domain
        keys = {"domain": domain, "null": self.null or None, "hierarchy": self.hierarchy, "level": self.level}
        return {"role": self.role} | {name: value for name, value in keys.items() if value is not None}


def propose(
    profiles: Sequence[ColumnProfile], words: Words | None = None, topics: Mapping[str, str] | None = None
) -> tuple[Proposal, ...]:
    """A role for each column. At most one column can say whose row it is; other ids are left out of the release.

    `topics` are the columns whose contents are sensitive, with what they are about.
    """
    known, found = words or known_words(), topics or {}
    proposals = [propose_column(p, known, found.get(p.name)) for p in profiles]
    candidates = [n for n, p in enumerate(proposals) if p.role == "person"]
    chosen = max(candidates, key=lambda n: (_names_a_person(profiles[n].name), profiles[n].distinct), default=None)
    return tuple(
        replace(p, role="identifier", reason=f"{p.reason}; another column is the person")
        if p.role == "person" and n != chosen
        else p
        for n, p in enumerate(proposals)
    )


def propose_column(c: ColumnProfile, known: Words, topic: str | None = None) -> Proposal:
    """The role of a column by itself. What can name a person is looked for first, whatever else the column may be.

    `topic` is what its contents are about, where they are sensitive.
    """
    if "*" in c.name:
        return Proposal(c.name, "drop", "a policy reads its name as a pattern of names: give it another in a view")
    named = next((about for about, kind in known.sensitive.items() if kind.names(words_of(c.name))), None)
    is_shown = c.kind not in {"date", "timestamp"}
    why = f"a sensitive name ({named})" if named else f"sensitive values ({topic})" if topic else None
    if c.kind == "nested":
        return Proposal(c.name, "drop", "nested or binary values cannot be generalized")
    if _is_free_text(c):
        return Proposal(c.name, "drop", f"free text: {c.mean_words:.0f} words on average, {counts(c)}")
    if label := _pattern(c):
        return Proposal(c.name, "identifier", f"{c.matches[label]:,} of {c.present:,} values look like {label}")
    if (kind := _direct(c.name, known)) and c.kind in {"text", "number"}:
        return Proposal(c.name, "identifier", f"the name says that it points at a person: {kind}, as HIPAA has them")
    if _is_id(c) and (by_id := _id_role(c, named is not None)):
        return by_id
    if c.values <= 1 and (c.present == 0 or c.rows >= K):
        return _constant(c, why)
    if why and is_shown:
        return _sensitive(c, why)
    if _is_key(c):
        return Proposal(c.name, "identifier", f"nearly every row has its own, until you know better: {counts(c)}")
    if _is_measurement(c):
        return Proposal(
            c.name,
            UNDECIDED,
            f"measured, and nearly every row has its own value, which finds it: {counts(c)}; decide, or round it to "
            f"{_rounding(c):f} in a view",
        )
    if _is_number_of_something(c):
        return Proposal(
            c.name,
            UNDECIDED,
            f"the name of a number that few rows share, {counts(c)}; decide: person if it says whose row it is, "
            "identifier if it numbers something else, as households",
        )
    hierarchy, reason = _hierarchy(c)
    return Proposal(c.name, "quasi-identifier", reason, hierarchy)


def is_postal(name: str) -> bool:
    """Whether the name is one of postal codes, which are text even where they look like numbers."""
    words = words_of(name)
    return any(w in _POSTAL for w in words) or "".join(words[-2:]) in _POSTAL


def _is_age(name: str) -> bool:
    return bool(_AGES & set(words_of(name)))


def words_of(name: str) -> list[str]:
    """The words in a column's name: patientID, patient_id and "Patient ID" are the same two."""
    spaced = re.sub(r"([a-z0-9])([A-Z])|([A-Z])(?=[A-Z][a-z])", r"\1\3 \2", name)
    return re.findall(r"[^\W_]+", spaced.lower())


def _names_a_person(name: str) -> bool:
    return any(word.startswith(_PERSONS) for word in words_of(name))


def _direct(name: str, known: Words) -> str | None:
    """Which of HIPAA's kinds of identifiers a name means; numbered columns, as name1 and phone2, are of a kind, too."""
    words = [word.rstrip("0123456789") or word for word in words_of(name)]
    if words == ["name"] or (words[-1:] == ["name"] and words[-2] in _NAMES):
        return "names"
    return next((kind for kind, names in known.identifiers.items() if names.names(words)), None)


def _is_id(c: ColumnProfile) -> bool:
    words = words_of(c.name)
    if c.kind not in {"text", "number"} or not words:
        return False
    if len(words) == 1 and words[0] in _PERSONS:
        return c.distinct > 2 and not _is_shared_by_many(c)  # "insured" and "resident" may also be yes or no
    glued = re.fullmatch(rf"({'|'.join(_PERSONS)})(en)?(id|no|nr|num|number|nummer)", words[-1])
    numbered = words == ["nr"] or (words[-1] in {"no", "nr", "number", "num"} and _names_a_person(c.name))
    return words[-1] in _IDS or words[0] == "id" or numbered or glued is not None


def _is_shared_by_many(c: ColumnProfile) -> bool:
    return c.rows > _CODE_REPEATS * c.distinct


def _id_role(c: ColumnProfile, is_sensitive: bool) -> Proposal | None:
    """Identifier or person for a column with an id's name; None for the code of something that many rows share."""
    if c.distinct == c.present or c.distinct <= 1:
        return Proposal(c.name, "identifier", f"the name of an id, {counts(c)}")
    if _is_shared_by_many(c) and (is_sensitive or not _names_a_person(c.name)):
        return None
    if is_sensitive:
        return Proposal(c.name, "identifier", f"the name of an id, though not of a person, {counts(c)}")
    return Proposal(c.name, "person", f"the name of an id that rows share, {counts(c)}")


def _pattern(c: ColumnProfile) -> str | None:
    """What most of the values look like. Repeats are no excuse: two people may share a phone."""
    most = max(c.matches, key=lambda label: c.matches[label], default=None)
    return most if most and c.matches[most] > c.present / 2 else None


def _is_free_text(c: ColumnProfile) -> bool:
    wordy = (c.mean_words >= 4 and c.mean_length >= 20) or c.mean_length >= 100
    return c.kind == "text" and wordy and (c.distinct_share > 0.5 or c.distinct > 1000)


def _is_key(c: ColumnProfile) -> bool:
    """Whether a column can be the key of the table, though its name does not say so."""
    if c.present < _MANY_ROWS or is_postal(c.name) or _is_age(c.name):
        return False
    if c.kind == "text":
        return c.distinct_share >= _NEARLY_UNIQUE and not c.only_dates
    return c.kind == "number" and c.whole and c.distinct_share >= _NEARLY_UNIQUE


def _is_measurement(c: ColumnProfile) -> bool:
    """Whether it has numbers with fractions, so many that nearly each is somebody's."""
    many = c.kind == "number" and not c.whole and c.present >= _MANY_ROWS
    return many and c.finite and c.distinct_share >= _NEARLY_UNIQUE


def _is_number_of_something(c: ColumnProfile) -> bool:
    """Whether it numbers persons, households or cases by its name, and two rows share a value on average, or fewer."""
    last = (words_of(c.name) or [""])[-1]
    named = last in {"no", "nr"} or last.endswith(("num", "number"))
    return named and c.kind == "number" and c.whole and c.present >= _MANY_ROWS and c.distinct_share >= 0.5


def _rounding(c: ColumnProfile) -> Decimal:
    """To how much a measurement could be rounded: a step with the digit 1 or 5."""
    return _round_widths(c.middle or c.high - c.low, c.high - c.low, whole=False)[0].normalize()


def _sensitive(c: ColumnProfile, why: str) -> Proposal:
    if c.kind == "text" and c.present >= _MANY_ROWS and c.distinct_share > _NEARLY_UNIQUE:
        return Proposal(c.name, "drop", f"{why}, but values that point at rows: {counts(c)}")
    return Proposal(c.name, "sensitive", f"{why}, {counts(c)}", distinct_l=L if c.distinct >= L else 2)


def _constant(c: ColumnProfile, why: str | None) -> Proposal:
    if c.present == 0:
        return Proposal(c.name, "other", "no values at all")
    if why:
        return Proposal(c.name, "drop", f"{why} and the same value in every row: it reveals everybody's")
    return Proposal(c.name, "other", "the same value in every row distinguishes nobody")


def _hierarchy(c: ColumnProfile) -> tuple[str, str]:
    """The hierarchy of a quasi-identifier, and the reason for it."""
    if c.zoned:
        return "suppression", f"its days depend on the time zone, {counts(c)}; as a DATE of a view it has levels"
    if c.kind in {"date", "timestamp"}:
        return _dates(c), f"dates, {counts(c)}"
    if is_postal(c.name) and c.longest > 1:
        return f"mask:{c.longest}", f"postal codes, {counts(c)}"
    if c.kind == "text" and c.only_digits and c.shortest == c.longest and c.longest > 2:
        return f"mask:{c.longest}", f"digits of one length, {counts(c)}"
    if c.kind == "number" and not _is_id(c) and (numbers := _numbers(c)):
        return numbers, f"numbers, {counts(c)}"
    if c.kind == "text" and c.only_dates and c.present:
        return "suppression", f"dates kept as text, {counts(c)}; a DATE could have a dates hierarchy"
    return "suppression", counts(c)


def _dates(c: ColumnProfile) -> str:
    """Levels that distinguish some rows: one with a single label is no more than the top."""
    usable = DATE_LEVELS if c.kind == "timestamp" else DATE_LEVELS[1:]
    return "dates:" + ",".join([usable[0], *(level for level in usable[1:] if c.date_levels[level] > 1)])


def _numbers(c: ColumnProfile) -> str | None:
    """Ranges with round ends, which anybody could have chosen; None for a few codes. Bins would reveal values."""
    spread = c.high - c.low
    is_age = _is_age(c.name)
    if c.whole and (is_age or (c.distinct > _FEW_NUMBERS and spread <= 250)):
        first = 5 if is_age else nice_width(spread / 25)
        widths = [width for width in _nested(first) if width == first or width < spread]
        return "ranges:" + ",".join(str(width) for width in widths)
    if c.distinct <= _FEW_NUMBERS or not c.finite:
        return None
    return "ranges:" + ",".join(
        f"{width.normalize():f}" for width in _round_widths(c.middle or spread, spread, c.whole)
    )


def _nested(first: int) -> list[int]:
    """Widths of 1, 2 and 5 with zeros, from the first on: each the next that ranges of the one before fill up.

    >>> _nested(2), _nested(5)
    ([2, 10, 20, 100], [5, 10, 20, 100])
    """
    widths = [first]
    steps = (digit * 10**power for power in range(19) for digit in (1, 2, 5))
    for step in steps:
        if step > widths[-1] and step % widths[-1] == 0 and len(widths) < _MOST_LEVELS:
            widths.append(step)
    return widths


def _round_widths(middle: float, spread: float, whole: bool) -> list[Decimal]:
    """Widths such as 200, 1000, 5000: each a multiple of the one before. An outlier does not make them wider."""
    steps = [Decimal(digit).scaleb(power) for power in range(-9, 27) for digit in (1, 5)]
    fitting = [w for w in steps if w >= Decimal(middle / _PARTS) and (w > 1 or not whole)]
    return [w for place, w in enumerate(fitting[:_MOST_LEVELS]) if place == 0 or w < Decimal(spread)] or steps[-1:]


def nice_width(width: float) -> int:
    """The next of 2, 5, 10, 20, 50 ...: ranges that read well. At least 2, since width 1 is the value itself."""
    power = int(10 ** math.floor(math.log10(max(width, 1))))
    return max(2, next(power * step for step in (1, 2, 5, 10) if power * step >= width))


def counts(c: ColumnProfile) -> str:
    missing = c.rows - c.present
    return f"{c.distinct:,} value{'' if c.distinct == 1 else 's'}" + (f", {missing:,} NULL" if missing else "")
