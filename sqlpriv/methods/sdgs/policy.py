"""The policy of sampled k-anonymity: three of four numbers, and levels that do not depend on the data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlpriv.core.sqltext import folded
from sqlpriv.methods.generalized.policy import GeneralizedPolicy, check_node, read_node
from sqlpriv.policy.keys import (
    COARSE_KEYS,
    DOMAIN_KEYS,
    GROUPS,
    HIERARCHY,
    REASON,
    Fail,
    Key,
    Keys,
    ValueKind,
    check_groups,
    number,
)

NUMBERS = ("epsilon", "delta", "k", "beta")
MOST_NODES = 1000
PUBLISHED = ("quasi-identifier", "sensitive", "other")
ROLES: Mapping[str, Keys] = {
    "identifier": (),
    "person": (),
    "quasi-identifier": (
        Key(
            "hierarchy", HIERARCHY, "how its values become coarser, level by level; never read from the table",
            required=True,
            complaint='{column} needs a hierarchy: text such as "suppression", "mask:5" or "file.csv", '
            "or a list of SQL expressions, one a level",
        ),
        *DOMAIN_KEYS,
    ),
    "sensitive": COARSE_KEYS,
    "other": COARSE_KEYS,
    "drop": (),
}  # fmt: skip


def _read_beta(value: Any) -> float | None:
    return float(value) if number(0, 1).read(value) is not None and value < 1 else None


def _read_nodes(value: Any) -> tuple[dict[str, int], ...] | None:
    if not isinstance(value, list) or not 2 <= len(value) <= MOST_NODES:
        return None
    found = [read_node(node) for node in value]
    return tuple(node for node in found if node is not None) if None not in found else None


_BETA = ValueKind("a number above 0 and below 1", _read_beta, _read_beta)
_NODE = ValueKind("the level of each quasi-identifier, as in { age = 2, zip = 1 }", read_node)
_NODES = ValueKind(
    f"a list of 2 to {MOST_NODES} nodes, as in [{{ age = 1, zip = 1 }}, {{ age = 2, zip = 3 }}]", _read_nodes
)
OPTIONS: Keys = (
    Key("epsilon", number(0, 1000), "by how much a row may change the odds of any release, as a logarithm; at least "
        "-ln(1 - beta). Three of epsilon, delta, k and beta are given, the fourth is worked out",
        proposed=lambda qis: 1.0),
    Key("delta", number(0, 1), "with which chance it may change them by more", proposed=lambda qis: 1e-6),
    Key("k", number(0, 1e6, whole=True), "how many sampled rows must be equal in all columns to be published"),
    Key("beta", _BETA, "the probability with which each row is sampled", proposed=lambda qis: 0.1),
    Key("node", _NODE, "the level of every quasi-identifier, chosen without looking at the table",
        proposed=lambda qis: dict.fromkeys(qis, 1)),
    Key("node_is_public", REASON, "why the node, or the list of nodes, does not depend on the table; the release "
        "carries it"),
    Key("nodes", _NODES, "in the place of node: levels to choose from, a public list"),
    Key("node_epsilon", number(0, 1000), "with nodes: the epsilon that choosing one of them may cost"),
    Key("groups", GROUPS, "columns that are published together, each group a sample of its own, chosen without looking "
        "at the table; epsilon and delta are of one group, and add up. Without it all columns stand together"),
    Key("rows_each", number(0, 1000, whole=True), "with a person column: how many rows a person may have; without it "
        "one row of each person is taken at random"),
    Key("n_public", number(0, 10**15, whole=True), "the public number of rows, by which delta is multiplied"),
)  # fmt: skip


@dataclass(frozen=True)
class SdgsPolicy(GeneralizedPolicy):
    """A policy for sampled k-anonymity."""

    @property
    def numbers(self) -> dict[str, float]:
        """Those of epsilon, delta, k and beta that are given."""
        return {name: self.release[name] for name in NUMBERS if self.release[name] is not None}

    @property
    def nodes(self) -> Sequence[Mapping[str, int]]:
        """The nodes to choose from; the one node, where there is one."""
        return self.release["nodes"] or (self.release["node"],)

    @property
    def node_epsilon(self) -> float:
        """What choosing the node costs."""
        return float(self.release["node_epsilon"] or 0.0)

    @property
    def node_is_public(self) -> str | None:
        """Why the node does not depend on the table, in the owner's words."""
        return self.release["node_is_public"]  # type: ignore[no-any-return]

    @property
    def groups(self) -> Sequence[Sequence[str]] | None:
        """The columns that stay together; None: all of them."""
        return self.release["groups"]  # type: ignore[no-any-return]

    @property
    def rows_each(self) -> int:
        """How many rows of a person count."""
        return int(self.release["rows_each"] or 1)

    @property
    def n_public(self) -> int | None:
        """The public number of rows."""
        return self.release["n_public"]  # type: ignore[no-any-return]

    def check(self, fail: Fail) -> None:
        """Three numbers, and levels that stand in the policy."""
        if not self.qis:
            raise fail("no column is a quasi-identifier, so there is nothing to generalize", "columns")
        persons = self.named("person")
        if len(persons) > 1:
            raise fail("only one column can be the person", "columns", persons[1])
        if len(self.numbers) != 3:
            given = f"{len(self.numbers)} of them are given"
            raise fail(f"give three of {', '.join(NUMBERS)}, and the fourth is worked out; {given}", "release")
        self._check_nodes(fail)
        self._check_groups(fail)
        if self.release["rows_each"] is not None and not persons:
            raise fail("rows_each is about persons, and no column is the person", "release", "rows_each")
        self._check_hierarchies(fail)

    def _check_nodes(self, fail: Fail) -> None:
        has_one, has_many = self.release["node"] is not None, self.release["nodes"] is not None
        if has_one == has_many:
            raise fail(
                "write node, the level of each quasi-identifier, or nodes and node_epsilon, to have one of a public "
                "list drawn. sdgs does not search: a node found by looking at the table has no such guarantee",
                "release", *(["nodes"] if has_many else []),
            )  # fmt: skip
        if has_many != (self.release["node_epsilon"] is not None):
            key = "nodes" if has_many else "node_epsilon"
            raise fail(
                "nodes and node_epsilon go together: the choice between nodes has its own epsilon", "release", key
            )
        key = "nodes" if has_many else "node"
        for node in self.nodes:
            check_node(self.qis, node, lambda message: fail(message, "release", key))
        spelt = [sorted((folded(name), level) for name, level in node.items()) for node in self.nodes]
        if any(spelt.count(node) > 1 for node in spelt):
            raise fail("a node is in nodes twice", "release", "nodes")

    def _check_groups(self, fail: Fail) -> None:
        if self.groups is None:
            return
        check_groups(self.groups, self.named(*PUBLISHED), fail)
        if self.release["nodes"] is not None:
            raise fail(
                "groups and nodes do not go together: the levels of groups are fixed by node", "release", "groups"
            )

    def _check_hierarchies(self, fail: Fail) -> None:
        """Labels that are made from the data would reveal rows that are not sampled, or are suppressed."""
        for name, given in self.hierarchies.items():
            if isinstance(given, str) and given.startswith("bins:"):
                raise fail(
                    f"the bins of {name!r} are cut where the data are, and the guarantee needs labels that do not "
                    "depend on them; take ranges:5,10, or a file of your own", "columns", name, "hierarchy",
                )  # fmt: skip
