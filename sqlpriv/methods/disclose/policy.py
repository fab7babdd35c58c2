"""The policy of disclosure: the weight of every cell, what the attacker holds, and the goal."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from sqlpriv.core.sqltext import folded
from sqlpriv.methods.generalized.policy import PUBLIC, BoxPolicy
from sqlpriv.policy.keys import COARSE_KEYS, FLAG, TEXT, Fail, Key, Keys, ValueKind, choice
from sqlpriv.risk.dictionaries import Dictionary

RISK, UTILITY, BOTH = "risk", "utility", "both"
RECORD, AVERAGE = "record", "average"
BAYES, WORST = "bayes", "worst"
ATTRIBUTES = ("quasi-identifier", "sensitive")
"""The roles of columns whose cells have a weight and a level of their own."""
_MOST_ATTRIBUTES, _MOST_DICTIONARIES, _MOST = 9, 9, 1e300
DEFAULT_WEIGHT = 1.0
"""The weight of a value where the policy gives none."""
_WITHOUT = "suppression"


@dataclass(frozen=True)
class WeightedSet:
    """Two columns or more that are more sensitive together, by a weight of their own (equation 4)."""

    columns: tuple[str, ...]
    weight: float


@dataclass(frozen=True)
class PersonalWeights:
    """A table of people's own weights, and the largest sum of the weights of one person."""

    source: str
    total: float


# -------------------- kinds of values: how they are read from a policy, and what is published of them


def _is_number(value: Any) -> bool:
    if isinstance(value, float):
        return not math.isnan(value)
    return isinstance(value, int) and not isinstance(value, bool)


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _has(value: Any, needed: set[str], allowed: set[str]) -> bool:
    return isinstance(value, dict) and needed <= set(value) <= allowed


def _read_finite(value: Any) -> float | None:
    return float(value) if _is_number(value) and 0 <= value <= _MOST else None


def _read_number(value: Any) -> float | None:
    """A number of at least 0, or infinity."""
    if value == math.inf or (isinstance(value, str) and value.strip().lower() in {"inf", "infinity"}):
        return math.inf
    return _read_finite(value)


def _public_number(value: Any) -> float | str:
    """JSON has no infinity."""
    return "infinity" if value in (math.inf, "infinity") else float(value)


def _read_weight(value: Any) -> float | str | None:
    found = _read_number(value)
    return value if found is None and _is_text(value) else found


def _public_weight(value: Any) -> float | str:
    """A number, or the word \"table\": the name of a table is not published."""
    return "table" if isinstance(value, str) and value != "infinity" else _public_number(value)


def _read_pairs(value: Any) -> tuple[WeightedSet, ...] | None:
    if not isinstance(value, list) or not value:
        return None
    found = []
    for one in value:
        if not _has(one, {"columns"}, {"columns", "weight"}) or not isinstance(one["columns"], list):
            return None
        columns, weight = tuple(one["columns"]), _read_number(one.get("weight", DEFAULT_WEIGHT))
        if not 2 <= len(columns) <= _MOST_ATTRIBUTES or not all(map(_is_text, columns)) or weight is None:
            return None
        found.append(WeightedSet(columns, weight))
    return tuple(found)


def _public_pairs(value: Any) -> list[dict[str, Any]]:
    sets = [(p.columns, p.weight) if isinstance(p, WeightedSet) else (p["columns"], p["weight"]) for p in value]
    return [{"columns": list(columns), "weight": _public_number(weight)} for columns, weight in sets]


def _read_personal(value: Any) -> PersonalWeights | None:
    if not _has(value, {"source", "total"}, {"source", "total"}) or not _is_text(value["source"]):
        return None
    total = _read_number(value["total"])
    return None if total is None else PersonalWeights(value["source"], total)


def _read_dictionaries(value: Any) -> tuple[Dictionary, ...] | None:
    if not isinstance(value, list) or not 2 <= len(value) <= _MOST_DICTIONARIES:
        return None
    found = []
    for one in value:
        if not _has(one, {"source"}, {"source", "prior", "entries"}) or not _is_text(one["source"]):
            return None
        prior, entries = one.get("prior"), one.get("entries", {})
        if prior is not None and not (_is_number(prior) and 0 < prior <= 1):
            return None
        if not isinstance(entries, dict) or not all(_is_text(text) for pair in entries.items() for text in pair):
            return None
        found.append(Dictionary(one["source"], None if prior is None else float(prior), entries))
    return tuple(found)


_WEIGHT = ValueKind("a number of at least 0, infinity, or a table of values and weights", _read_weight, _public_weight)
_AT_LEAST_0 = ValueKind("a number of at least 0", _read_finite, _read_finite)
_PAIRS = ValueKind(
    'a list of pairs or larger sets, as in [{ columns = ["age", "zip"], weight = 2 }]', _read_pairs, _public_pairs
)
_PERSONAL = ValueKind('a table and a total, as in { source = "weights.csv", total = 4 }', _read_personal)
_DICTIONARIES = ValueKind(
    f"a list of 2 to {_MOST_DICTIONARIES}, as in "
    '[{ source = "voters.csv", prior = 0.3 }, { source = "club.csv", prior = 0.7 }]',
    _read_dictionaries,
)
_OWN_KEYS: Keys = (
    Key("weight", _WEIGHT,
        "how much it harms a person that its value is known: a number, or a file or table:NAME of values and "
        "weights. A label weighs 1 / sum(1 / weight) of the values below it", DEFAULT_WEIGHT,
        complaint="the weight of {column} must be a number of at least 0, infinity, or a table of values and weights"),
    Key("entry", TEXT,
        "what the dictionary knows of it: a column or an expression of the dictionary; without it the column of the "
        "same name, if there is one",
        complaint="the entry of {column} must be a column or an expression of the dictionary, as text"),
    Key("psi", _AT_LEAST_0,
        "how much it harms a person who is not found that its value is disclosed; with a table of weights, the part of "
        "them that counts then", 0.0,
        complaint="the psi of {column} must be a number of at least 0"),
)  # fmt: skip
ROLES: Mapping[str, Keys] = {
    "identifier": (),
    "person": (),
    "quasi-identifier": (*COARSE_KEYS, *_OWN_KEYS),
    "sensitive": (*COARSE_KEYS, *_OWN_KEYS),
    "other": COARSE_KEYS,
    "drop": (),
}
OPTIONS: Keys = (
    Key("goal", choice(RISK, UTILITY, BOTH),
        "what to optimize: the least risk with a utility of at least c, the most utility with a risk of at most c, or "
        "the least risk - c utility", required=True, proposed=lambda qis: UTILITY),
    Key("c", _AT_LEAST_0,
        "the bound of the goal, or the price of utility", required=True, proposed=lambda qis: 0.1),
    Key("per", choice(RECORD, AVERAGE), "whether every record keeps c, or their mean does", RECORD),
    Key("form", choice("linear", "multiplicative"), "how the weights of a record are combined: their sum, or "
        "e to their sum", "linear"),
    Key("psi", _AT_LEAST_0,
        "the loss of a person who is not found, multiplied by the chance of that", 0.0),
    Key("independent", FLAG, "whether a plan also reports what the closed form for independent attributes would "
        "choose, and how far that is from the best; for the multiplicative form", False),
    Key("pairs", _PAIRS, "columns that are more sensitive together: the additional weight of a value of each, "
        "of which labels above them have a share"),
    Key("personal", _PERSONAL, "people's own weights: a file or table:NAME of persons, attributes and weights, which "
        "replace the weights of columns and pairs, and the largest sum of the weights of one person"),
    Key("dictionary", TEXT, "what the attacker holds: a file, or table:NAME in the same database; without it the "
        "table itself, which bounds the risk against all dictionaries that say less"),
    Key("dictionaries", _DICTIONARIES, "instead of dictionary, where it is not known which of several the attacker "
        "holds: each with its prior, and with entries of its own where its columns have other names"),
    Key("judge", choice(BAYES, WORST), "how several dictionaries are combined: by their priors, or the worst of them: "
        "a bound holds for every row against each, and the least risk is that against the one with the largest", WORST),
)  # fmt: skip


@dataclass(frozen=True)
class DisclosePolicy(BoxPolicy):
    """A policy for disclosure. Columns with a weight are attributes, whichever of the two roles they have."""

    @property
    def cuts(self) -> str:
        """Labels are those of hierarchies alone."""
        return PUBLIC

    @cached_property
    def qis(self) -> tuple[str, ...]:
        """The attributes: quasi-identifiers and sensitive columns are treated alike."""
        return self.named(*ATTRIBUTES)

    @cached_property
    def sensitive(self) -> tuple[str, ...]:
        """Empty: no column is published as it is."""
        return ()

    @property
    def hierarchies(self) -> dict[str, str | tuple[str, ...]]:
        """The hierarchies of the attributes; without one a cell is disclosed or suppressed."""
        return {c.name: c.given["hierarchy"] or _WITHOUT for c in self.columns if c.role in ATTRIBUTES}

    @property
    def goal(self) -> str:
        """What to optimize."""
        return str(self.release["goal"])

    @property
    def c(self) -> float:
        """The bound of the goal, or the price of utility."""
        return float(self.release["c"])

    @property
    def is_average(self) -> bool:
        """Whether the mean of the records keeps c. With the goal both, each record and the mean have the same best."""
        return self.release["per"] == AVERAGE and self.goal != BOTH

    @property
    def form(self) -> str:
        """How weights are combined."""
        return str(self.release["form"])

    @property
    def psi(self) -> float:
        """The loss of a person who is not found."""
        return float(self.release["psi"])

    @property
    def independent(self) -> bool:
        """Whether a plan also reports the closed form for independent attributes."""
        return bool(self.release["independent"])

    @property
    def pairs(self) -> tuple[WeightedSet, ...]:
        """Columns that are more sensitive together."""
        return self.release["pairs"] or ()

    @property
    def personal(self) -> PersonalWeights | None:
        """People's own weights, if the policy has them."""
        return self.release["personal"]  # type: ignore[no-any-return]

    @cached_property
    def person(self) -> str | None:
        """The column of persons, where weights are personal."""
        return super().person if self.personal else None

    @property
    def psi_of_cells(self) -> dict[str, float]:
        """By attribute, the weight of a cell of a person who is not found; empty where all are 0."""
        found = {c.name: float(c.given["psi"]) for c in self.columns if c.role in ATTRIBUTES}
        return found if any(found.values()) else {}

    @property
    def dictionaries(self) -> tuple[Dictionary, ...]:
        """The dictionaries, one of which the attacker holds; none: the table itself."""
        one = self.release["dictionary"]
        return (Dictionary(one),) if one else self.release["dictionaries"] or ()

    @property
    def judge(self) -> str:
        """How several dictionaries are combined."""
        return str(self.release["judge"])

    @property
    def is_minimax(self) -> bool:
        """Whether the largest of the risks against each dictionary is made small: then records are weighed together."""
        return len(self.dictionaries) > 1 and self.judge == WORST and self.goal != UTILITY and not self.is_average

    @property
    def is_plain(self) -> bool:
        """Whether the loss is one weight for all, over the entries of one dictionary: the case of large tables."""
        return not (self.psi or self.psi_of_cells or self.personal or len(self.dictionaries) > 1)

    def check(self, fail: Fail) -> None:
        """Refuse what cannot be chosen, or contradicts itself."""
        if not self.qis:
            raise fail("no column is a quasi-identifier or sensitive, so there is nothing to choose", "columns")
        if len(self.qis) > _MOST_ATTRIBUTES:
            raise fail(
                f"{len(self.qis)} columns are quasi-identifiers or sensitive, and at most {_MOST_ATTRIBUTES} can be "
                "chosen together; drop some",
                "columns",
            )
        if (self.psi or self.psi_of_cells) and not self.dictionaries:
            where = ("release",) if self.psi else ("columns", next(c for c, psi in self.psi_of_cells.items() if psi))
            raise fail(
                "with psi the table itself bounds no risk: a row may lose less where it is found than where it is not "
                "(Proposition 1); name a dictionary, or leave psi out",
                *where, "psi",
            )  # fmt: skip
        if self.independent and (self.form != "multiplicative" or not self.is_plain or self.pairs):
            raise fail(
                'the closed form for independent attributes is a product: it needs form = "multiplicative", '
                "and no psi, pairs, personal weights or several dictionaries",
                "release", "independent",
            )  # fmt: skip
        self._check_dictionaries(fail)
        self._check_pairs(fail)
        self._check_personal(fail)
        for column in self.columns:
            if column.role not in ATTRIBUTES:
                continue
            given = self.hierarchies[column.name]
            if isinstance(given, str) and given.partition(":")[0] == "bins":
                raise fail(
                    f"the bins of {column.name!r} are read from the rows, and no dictionary has its entries in them; "
                    "take ranges, as in ranges:10,20",
                    "columns", column.name, "hierarchy",
                )  # fmt: skip
            if not self.dictionaries and column.given["entry"] is not None:
                raise fail(
                    f"the entry of {column.name!r} is about a dictionary, and the policy names none; write dictionary "
                    "in [release]",
                    "columns", column.name, "entry",
                )  # fmt: skip

    def _check_dictionaries(self, fail: Fail) -> None:
        several = self.release["dictionaries"]
        if several is None:
            if "judge" in self.written:
                raise fail("judge says how several dictionaries are combined; write dictionaries", "release", "judge")
            return
        where = ("release", "dictionaries")
        if self.release["dictionary"] is not None:
            raise fail("dictionary is for one, and dictionaries for several; leave one of the two out", *where)
        priors = [dictionary.prior for dictionary in several]
        known = [prior for prior in priors if prior is not None]
        if self.judge == BAYES and len(known) < len(priors):
            raise fail('with judge = "bayes" each of the dictionaries needs a prior; write prior = 0.5', *where)
        if known and (len(known) < len(priors) or abs(math.fsum(known) - 1) > 1e-9):
            raise fail(
                "the priors of the dictionaries must add up to 1, and either all of them have one or none", *where
            )
        columns = {folded(name) for name in self.qis}
        for name in (name for dictionary in several for name in dictionary.entries):
            if folded(name) not in columns:
                raise fail(f"dictionaries have an entry for {name!r}, which is no column with a weight", *where)

    def _check_pairs(self, fail: Fail) -> None:
        columns, seen = {folded(name) for name in self.qis}, set()
        for own in self.pairs:
            named, number = frozenset(map(folded, own.columns)), len(own.columns)
            what = f"the {'pair' if number == 2 else 'set'} of {' and '.join(map(repr, own.columns))}"
            if len(named) < number or not named <= columns:
                needed = "two" if number == 2 else f"{number} different"
                raise fail(f"{what} needs {needed} columns that are quasi-identifiers or sensitive", "release", "pairs")
            if named in seen:
                raise fail(f"{what} is in pairs twice", "release", "pairs")
            seen.add(named)

    def _check_personal(self, fail: Fail) -> None:
        if self.personal is None:
            return
        persons = self.named("person")
        if len(persons) != 1:
            raise fail(
                'personal needs a column of persons: give one column, and only one, the role "person"',
                "release", "personal",
            )  # fmt: skip
        numbers = {c.name: c.given.get("weight") for c in self.columns if c.role in ATTRIBUTES}
        weighed = [name for name, own in numbers.items() if isinstance(own, float) and own != DEFAULT_WEIGHT]
        if weighed or any(pair.weight != DEFAULT_WEIGHT for pair in self.pairs):
            what = repr(weighed[0]) if weighed else "a pair"
            raise fail(
                f"{what} has a weight, which people's own weights replace; leave it out, or leave personal out",
                "release", "personal",
            )  # fmt: skip
