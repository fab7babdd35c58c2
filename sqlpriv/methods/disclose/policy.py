"""What a policy of disclosure may say: what every cell weighs, what the attacker holds, and what is best."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlpriv.methods.labelled.box_policy import PUBLIC, BoxPolicy
from sqlpriv.policy.domains import COARSE_KEYS
from sqlpriv.policy.keys import FLAG, TEXT, Fail, Key, Keys, Kind, choice

RISK, UTILITY, BOTH = "risk", "utility", "both"
RECORD, AVERAGE = "record", "average"
ATTRIBUTES = ("quasi-identifier", "sensitive")
"""The roles of columns whose cells have a weight, and are disclosed on a level of their own."""
_MOST = 1e300
_MOST_ATTRIBUTES = 9
_WITHOUT = "suppression"


def _is_number(value: Any) -> bool:
    if isinstance(value, float):
        return not math.isnan(value)
    return isinstance(value, int) and not isinstance(value, bool)


def _read_weight(value: Any) -> float | str | None:
    if _is_number(value):
        return float(value) if value == math.inf or 0 <= value <= _MOST else None
    if isinstance(value, str) and value.strip().lower() in {"inf", "infinity"}:
        return math.inf
    return value if isinstance(value, str) and value.strip() else None


def _told_weight(value: Any) -> float | str:
    """A number; of a table no more than that it is one. JSON has no infinity."""
    if isinstance(value, str):
        return "infinity" if value == "infinity" else "table"
    return "infinity" if value == math.inf else float(value)


def _read_c(value: Any) -> float | None:
    return float(value) if _is_number(value) and 0 <= value <= _MOST else None


_WEIGHT = Kind("a number of at least 0, infinity, or a table of values and weights", _read_weight, _told_weight)
_OWN_KEYS: Keys = (
    Key("weight", _WEIGHT,
        "how much a person minds that its value is known: one number for all values, or a file or table:NAME of values "
        "and weights; a label above weighs 1 / sum(1 / weight) of what is below it", 1.0,
        complaint="the weight of {column} must be a number of at least 0, infinity, or a table of values and weights"),
    Key("entry", TEXT,
        "what the dictionary knows of it: a column or an expression of the dictionary; without it the column of the "
        "same name, if there is one",
        complaint="the entry of {column} must be a column or an expression of the dictionary, as text"),
)  # fmt: skip
ROLES: Mapping[str, Keys] = {
    "identifier": (),
    "quasi-identifier": (*COARSE_KEYS, *_OWN_KEYS),
    "sensitive": (*COARSE_KEYS, *_OWN_KEYS),
    "other": COARSE_KEYS,
    "drop": (),
}
OPTIONS: Keys = (
    Key("goal", choice(RISK, UTILITY, BOTH),
        "what is best: the least risk with a utility of at least c, the most utility with a risk of at most c, or the "
        "least risk - c utility", required=True, proposed=lambda qis: UTILITY),
    Key("c", Kind("a number of at least 0", _read_c, _read_c),
        "the bound of the goal, or what utility is worth", required=True, proposed=lambda qis: 0.1),
    Key("per", choice(RECORD, AVERAGE), "whether every record keeps c, or their mean does", RECORD),
    Key("form", choice("linear", "multiplicative"), "how the weights of a record add up: their sum, or e to it",
        "linear"),
    Key("psi", Kind("a number of at least 0", _read_c, _read_c),
        "how much a person minds who is not found: the rest of the loss, by the chance of that", 0.0),
    Key("independent", FLAG, "whether a plan tells, too, what the closed form for independent attributes would choose, "
        "and how far that is from the best; for the multiplicative form", False),
    Key("dictionary", TEXT, "what the attacker holds: a file, or table:NAME beside the table; without it the table "
        "itself, which bounds the risk against all that say less"),
)  # fmt: skip


@dataclass(frozen=True)
class DisclosePolicy(BoxPolicy):
    """A policy for disclosure. What has a weight is an attribute, whichever of the two roles it has."""

    @property
    def cuts(self) -> str:
        """Labels are those of hierarchies alone."""
        return PUBLIC

    @property
    def qis(self) -> tuple[str, ...]:
        """The attributes: no line is drawn between what identifies a person and what is delicate."""
        return self.named(*ATTRIBUTES)

    @property
    def sensitive(self) -> tuple[str, ...]:
        """None that is published as it is."""
        return ()

    @property
    def hierarchies(self) -> dict[str, str | tuple[str, ...]]:
        """Those of the attributes: without one a cell is told, or not."""
        return {c.name: c.given["hierarchy"] or _WITHOUT for c in self.columns if c.role in ATTRIBUTES}

    @property
    def goal(self) -> str:
        """What is best."""
        return str(self.release["goal"])

    @property
    def c(self) -> float:
        """The bound of the goal, or what utility is worth."""
        return float(self.release["c"])

    @property
    def is_average(self) -> bool:
        """Whether the mean of the records keeps c. The least risk - c utility is the same for each and for all."""
        return self.release["per"] == AVERAGE and self.goal != BOTH

    @property
    def form(self) -> str:
        """How weights add up."""
        return str(self.release["form"])

    @property
    def psi(self) -> float:
        """The loss of who is not found."""
        return float(self.release["psi"])

    @property
    def independent(self) -> bool:
        """Whether the closed form of independent attributes is told beside the best."""
        return bool(self.release["independent"])

    @property
    def dictionary(self) -> str | None:
        """What the attacker holds; None: the table itself."""
        return self.release["dictionary"]  # type: ignore[no-any-return]

    def check(self, fail: Fail) -> None:
        """There is something to disclose, by levels that do not depend on the rows."""
        if not self.qis:
            raise fail("no column is a quasi-identifier or sensitive, so there is nothing to choose", "columns")
        if len(self.qis) > _MOST_ATTRIBUTES:
            raise fail(
                f"{len(self.qis)} columns are quasi-identifiers or sensitive, and at most {_MOST_ATTRIBUTES} can be "
                "chosen together; drop some",
                "columns",
            )
        if self.psi and self.dictionary is None:
            raise fail(
                "with psi the table itself bounds no risk: a row may harm less where it is found than where it is not "
                "(Proposition 1); name a dictionary, or leave psi out",
                "release", "psi",
            )  # fmt: skip
        if self.independent and (self.form != "multiplicative" or self.psi):
            raise fail(
                'the closed form for independent attributes is one of products: it needs form = "multiplicative", '
                "and no psi",
                "release", "independent",
            )  # fmt: skip
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
            if self.dictionary is None and column.given["entry"] is not None:
                raise fail(
                    f"the entry of {column.name!r} is about a dictionary, and the policy names none; write dictionary "
                    "in [release]",
                    "columns", column.name, "entry",
                )  # fmt: skip
