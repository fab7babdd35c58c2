"""Propose a policy for a table: a role and a hierarchy for every column, to be reviewed by a person.

A wrong guess has to err on the safe side. What has a value of its own in nearly every row is an identifier; if it is
measured, that is for the owner to decide. What else is not understood becomes a quasi-identifier, coarsened or
suppressed until the requirements hold; only a column with one value for everybody is published as it is. Reasons
speak of counts and names, never of values: the file is made to be mailed around.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

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
_DIRECT = {"ssn", "email", "mail", "phone", "telephone", "tel", "mobile", "fax", "passport", "iban", "mrn", "surname",
           "forename", "lastname", "firstname", "fullname", "nachname", "vorname", "street", "address", "strasse",
           "adresse", "username", "login", "url", "ip", "vin", "imei"}  # fmt: skip
_NAMES = {"first", "last", "full", "middle", "given", "family", "maiden", "birth", "user", "nick"} | set(_PERSONS)
_POSTAL = {"zip", "zipcode", "zip5", "postal", "postalcode", "postcode", "plz", "postleitzahl"}
_AGES = {"age", "ages", "alter"}
# A sensitive column is published as it is, so the list is short. Whole words, because some hide in harmless ones ("hiv"
# in "archive"), and stems, because the others have many endings.
_SENSITIVE_WORDS = {"hiv", "aids", "icd", "icd9", "icd10", "wage", "wages", "pay", "drug", "drugs", "debt", "crime",
                    "gehalt", "lohn"}  # fmt: skip
_SENSITIVE_STEMS = ("diagnos", "disease", "salar", "income", "earning", "religio", "treatment", "condition", "medicat",
                    "medicin", "illness", "sickness", "disabil", "pregnan", "therap", "symptom", "addict", "suicid",
                    "psych", "genetic", "sexual", "politic", "convict", "crimin", "abortion", "prescri", "allerg",
                    "cancer", "einkommen", "krank")  # fmt: skip


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

    @property
    def given(self) -> dict[str, Any]:
        """The keys of the column in a policy."""
        domain = list(self.domain) if isinstance(self.domain, tuple) else self.domain
        keys = {"domain": domain, "null": self.null or None, "hierarchy": self.hierarchy, "level": self.level}
        return {"role": self.role} | {name: value for name, value in keys.items() if value is not None}


def propose(profiles: Sequence[ColumnProfile]) -> tuple[Proposal, ...]:
    """A role for each column. At most one column can say whose row it is; other ids are left out of the release."""
    proposals = [propose_column(p) for p in profiles]
    candidates = [n for n, p in enumerate(proposals) if p.role == "person"]
    chosen = max(candidates, key=lambda n: (_names_a_person(profiles[n].name), profiles[n].distinct), default=None)
    return tuple(
        replace(p, role="identifier", reason=f"{p.reason}; another column is the person")
        if p.role == "person" and n != chosen
        else p
        for n, p in enumerate(proposals)
    )


def propose_column(c: ColumnProfile) -> Proposal:
    """The role of a column by itself. What can name a person is looked for first, whatever else the column may be."""
    if c.kind == "nested":
        return Proposal(c.name, "drop", "nested or binary values cannot be generalized")
    if _is_free_text(c):
        return Proposal(c.name, "drop", f"free text: {c.mean_words:.0f} words on average, {counts(c)}")
    if label := _pattern(c):
        return Proposal(c.name, "identifier", f"{c.matches[label]:,} of {c.present:,} values look like {label}")
    if _is_direct(c.name) and c.kind in {"text", "number"}:
        return Proposal(c.name, "identifier", "the name says that it points at a person")
    if _is_id(c) and (by_id := _id_role(c)):
        return by_id
    if c.values <= 1 and (c.present == 0 or c.rows >= K):
        return _constant(c)
    if _is_sensitive(c.name) and c.kind not in {"date", "timestamp"}:
        return _sensitive(c)
    if _is_key(c):
        return Proposal(c.name, "identifier", f"nearly every row has its own, until you know better: {counts(c)}")
    if _is_measurement(c):
        return Proposal(
            c.name,
            UNDECIDED,
            f"measured, and nearly every row has its own value, which finds it: {counts(c)}; decide, or round it to "
            f"{_rounding(c):f} in a view",
        )
    hierarchy, reason = _hierarchy(c)
    return Proposal(c.name, "quasi-identifier", reason, hierarchy)


def is_postal(name: str) -> bool:
    """Whether the name is one of postal codes, which are text even where they look like numbers."""
    words = _words(name)
    return any(w in _POSTAL for w in words) or "".join(words[-2:]) in _POSTAL


def _is_age(name: str) -> bool:
    return bool(_AGES & set(_words(name)))


def _words(name: str) -> list[str]:
    """The words in a column's name: patientID, patient_id and "Patient ID" are the same two."""
    spaced = re.sub(r"([a-z0-9])([A-Z])|([A-Z])(?=[A-Z][a-z])", r"\1\3 \2", name)
    return re.findall(r"[^\W_]+", spaced.lower())


def _names_a_person(name: str) -> bool:
    return any(word.startswith(_PERSONS) for word in _words(name))


def _is_direct(name: str) -> bool:
    words = _words(name)
    of_a_person = words == ["name"] or (words[-1:] == ["name"] and words[-2] in _NAMES)
    return of_a_person or any(w in _DIRECT for w in words) or "social security" in " ".join(words)


def _is_id(c: ColumnProfile) -> bool:
    words = _words(c.name)
    if c.kind not in {"text", "number"} or not words:
        return False
    if len(words) == 1 and words[0] in _PERSONS:
        return c.distinct > 2 and not _is_shared_by_many(c)  # "insured" and "resident" may also be yes or no
    glued = re.fullmatch(rf"({'|'.join(_PERSONS)})(en)?(id|no|nr|number|nummer)", words[-1])
    numbered = words[-1] in {"no", "nr", "number", "num"} and _names_a_person(c.name)
    return words[-1] in _IDS or words[0] == "id" or numbered or glued is not None


def _is_shared_by_many(c: ColumnProfile) -> bool:
    return c.rows > _CODE_REPEATS * c.distinct


def _id_role(c: ColumnProfile) -> Proposal | None:
    """Identifier or person for a column with an id's name; None for the code of something that many rows share."""
    if c.distinct == c.present or c.distinct <= 1:
        return Proposal(c.name, "identifier", f"the name of an id, {counts(c)}")
    if _is_shared_by_many(c) and (_is_sensitive(c.name) or not _names_a_person(c.name)):
        return None
    if _is_sensitive(c.name):
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


def _rounding(c: ColumnProfile) -> Decimal:
    """To how much a measurement could be rounded: a step with the digit 1 or 5, of which there are few."""
    return _round_widths(c.middle or c.high - c.low, c.high - c.low, whole=False)[0].normalize()


def _is_sensitive(name: str) -> bool:
    words = _words(name)
    without_years = {w.rstrip("0123456789") for w in words}  # hiv2004
    return bool(_SENSITIVE_WORDS & {*words, *without_years}) or any(stem in "".join(words) for stem in _SENSITIVE_STEMS)


def _sensitive(c: ColumnProfile) -> Proposal:
    if c.kind == "text" and c.present >= _MANY_ROWS and c.distinct_share > _NEARLY_UNIQUE:
        return Proposal(c.name, "drop", f"a sensitive name, but values that point at rows: {counts(c)}")
    return Proposal(c.name, "sensitive", f"a sensitive name, {counts(c)}", distinct_l=L if c.distinct >= L else 2)


def _constant(c: ColumnProfile) -> Proposal:
    if c.present == 0:
        return Proposal(c.name, "other", "no values at all")
    if _is_sensitive(c.name):
        return Proposal(
            c.name,
            "drop",
            "a sensitive name and the same value in every row: it reveals everybody's",
        )
    return Proposal(c.name, "other", "the same value in every row distinguishes nobody")


def _hierarchy(c: ColumnProfile) -> tuple[str, str]:
    """The hierarchy of a quasi-identifier, and the reason for it."""
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
        # Each level has to nest in the next, so every width is twice the one before.
        first = 5 if is_age else nice_width(spread / 25)
        widths = [width for width in (first * 2**level for level in range(4)) if width == first or width < spread]
        return "ranges:" + ",".join(str(width) for width in widths)
    if c.distinct <= _FEW_NUMBERS or not c.finite:
        return None
    return "ranges:" + ",".join(
        f"{width.normalize():f}" for width in _round_widths(c.middle or spread, spread, c.whole)
    )


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
