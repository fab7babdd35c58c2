"""What a policy of generalization may say: hierarchies of the quasi-identifiers, what to minimise, what to suppress."""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from sqlpriv.core.errors import InputError
from sqlpriv.methods.generalized.policy import GeneralizedPolicy, check_node, read_node
from sqlpriv.policy.keys import (
    COARSE_KEYS,
    DOMAIN_KEYS,
    FLAG,
    HIERARCHY,
    PERSON_KEYS,
    Fail,
    Key,
    Keys,
    ValueKind,
    number,
    share,
)

OBJECTIVES = ("loss", "height", "precision", "discernibility", "average_class_size", "kl", "entropy")
_WEIGHED = ("loss", "height", "precision", "entropy")
"""The objectives that are sums over columns."""
WORKLOAD = "workload:"
ROLES: Mapping[str, Keys] = {
    "identifier": (),
    "person": PERSON_KEYS,
    "quasi-identifier": (
        Key(
            "hierarchy", HIERARCHY, "how its values become coarser, level by level", required=True,
            complaint='{column} needs a hierarchy: text such as "suppression", "mask:5" or "file.csv", '
            "or a list of SQL expressions, one a level",
        ),
        *DOMAIN_KEYS,
        Key("importance", number(0, 1e6), "how much a loss in the column counts for the objective, where 1 is usual"),
        Key("max_level", number(-1, 1000, whole=True), "the highest level that the column may be published on",
            complaint="max_level is a level of the hierarchy: a whole number, 0 or above"),
    ),
    "sensitive": COARSE_KEYS,
    "other": COARSE_KEYS,
    "drop": (),
}  # fmt: skip


def _read_objective(value: object) -> str | None:
    is_workload = isinstance(value, str) and value.startswith(WORKLOAD) and value != WORKLOAD
    return value if isinstance(value, str) and (value in OBJECTIVES or is_workload) else None


def _public_objective(value: object) -> str:
    """A workload without its file, whose name stays private."""
    return value if isinstance(value, str) and value in OBJECTIVES else WORKLOAD.rstrip(":")


_OBJECTIVE = ValueKind(
    f'one of {", ".join(OBJECTIVES)}, or "{WORKLOAD}queries.sql"', _read_objective, _public_objective
)


_NODE = ValueKind("the level of each quasi-identifier, as in { age = 2, zip = 1 }", read_node)
OPTIONS: Keys = (
    Key("objective", _OBJECTIVE, "what the search makes as small as possible", "loss"),
    Key("suppression", share(), "the share of the rows that may be left out", 0.0,
        complaint="suppression is a share of the rows: from 0 to less than 1"),
    Key("keep_suppressed", FLAG,
        "whether suppressed rows stay, with stars: as one class, where it meets every requirement", False),
    Key("node", _NODE, "the node to publish, instead of the best one; it must meet the policy"),
)  # fmt: skip


@dataclass(frozen=True)
class GeneralizePolicy(GeneralizedPolicy):
    """A policy for generalization."""

    @property
    def objective(self) -> str:
        """What the best node makes smallest."""
        return str(self.release["objective"])

    @property
    def suppression(self) -> float:
        """The share of the rows that may be left out."""
        return float(self.release["suppression"])

    @property
    def keep_suppressed(self) -> bool:
        """Whether suppressed rows stay, with stars."""
        return bool(self.release["keep_suppressed"])

    @property
    def node(self) -> Mapping[str, int] | None:
        """The node that the owner picks, if any: a level for each quasi-identifier."""
        return self.release.get("node")

    def check(self, fail: Fail) -> None:
        """There is something to generalize, one person at most, and something is required."""
        self.check_table(fail, "generalize")
        weighed = next((c.name for c in self.columns if c.given.get("importance") is not None), None)
        if weighed is not None and self.objective not in _WEIGHED:
            raise fail(
                f"importance counts for the objectives {', '.join(_WEIGHED)}, and the policy has {self.objective}",
                "columns", weighed, "importance",
            )  # fmt: skip
        if self.node is not None:
            check_node(self.qis, self.node, lambda message: fail(message, "release", "node"))

    def with_node(self, text: str) -> GeneralizePolicy:
        """The policy for the node in a text such as age=2,zip=1, whatever node it names itself."""
        parts = [part.rpartition("=") for part in next(csv.reader([text], skipinitialspace=True), [])]
        node = {name.strip(): level.strip() for name, _, level in parts}
        if not parts or len(node) < len(parts) or not all(re.fullmatch("[0-9]{1,3}", v) for v in node.values()):
            raise InputError(f"cannot read the node {text!r}; write the level of each quasi-identifier: age=2,zip=1")
        levels = {name: int(level) for name, level in node.items()}
        check_node(self.qis, levels, lambda message: InputError(f"--node: {message}"))
        return replace(self, release={**self.release, "node": levels})
