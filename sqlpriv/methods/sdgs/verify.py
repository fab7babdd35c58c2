"""Judge a release by sampled k-anonymity from its file alone: numbers, guarantee, levels, labels, and every class.

What the file alone cannot show stays a claim: that each row was sampled at random with probability beta, and that
the node was chosen without the table, or drawn as it should be.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from sqlpriv.core.engine import fetch
from sqlpriv.core.sqltext import folded, quoted
from sqlpriv.macros.calls import Calls
from sqlpriv.methods.generalized.layout import (
    COUNTED,
    Attribute,
    label_tables,
    labels_layout,
    rows_shown_as,
    rows_stored,
)
from sqlpriv.methods.generalized.policy import folded_node, read_node
from sqlpriv.methods.generalized.verify import check_labels, check_levels, domains_beyond
from sqlpriv.methods.sdgs.groups import GROUPS, Group, declared_groups, file_of, wrong_groups
from sqlpriv.methods.sdgs.policy import SdgsPolicy
from sqlpriv.methods.sdgs.terms import DECLARED, FOUR, SMOOTH, declared_terms, go_together, smooth_curve
from sqlpriv.release.file import ReleaseFile
from sqlpriv.release.layout import Contents, NumberNames, one_of, plain_json
from sqlpriv.release.verify import Check, check_all, is_close, named_by_digest, published

LAYOUT = labels_layout(
    {"node": plain_json, "counts": COUNTED, "unit": one_of("row", "person")},
    NumberNames(frozenset(DECLARED), frozenset({"n_public", "exposed"})),
    may={"nodes": plain_json, GROUPS: plain_json},
    tables={"smooth": SMOOTH},
    requires=False,
)


def file_contents(file: ReleaseFile) -> Contents:
    """The rows of each group, the tables of their labels, and a view of each."""
    if wrong_groups(file):
        raise ValueError
    groups = [(group, _columns(file, group)) for group in declared_groups(file)]
    return Contents(
        tuple(rows_stored(columns, group.table) for group, columns in groups),
        tuple(label_tables(file.attributes)),
        tuple(rows_shown_as(group.view(file.about["table"]), columns, group.table) for group, columns in groups),
    )


def _columns(file: ReleaseFile, group: Group) -> list[Attribute]:
    return [c for c in file.attributes if c["name"] in group.columns]


def verify_file(file: ReleaseFile) -> Iterator[Check]:
    """All checks that only sampled k-anonymity needs."""
    yield named_by_digest(file)
    yield from _promises(Calls(file.con), file)
    yield check_levels(file)
    for group in declared_groups(file):
        part, columns = file_of(file, group), _columns(file, group)
        yield from check_labels(part, columns)
        yield _classes(part, group, columns)
    yield from _claims(file)


# -------------------- with the policy


def differences(file: ReleaseFile, policy: SdgsPolicy) -> Iterator[str]:
    """Where the file is not one of the policy: domains, levels, groups and numbers."""
    yield from domains_beyond(file, policy)
    about, declared = file.about, file.parameters
    if folded_node(_node(about["node"]) or {}) not in [folded_node(node) for node in policy.nodes]:
        yield "the policy asks for another node"
    if _nodes(file) != ([folded_node(node) for node in policy.nodes] if len(policy.nodes) > 1 else None):
        yield "the policy has other nodes to choose from"
    if _folded(policy.groups) != _folded([g.columns for g in declared_groups(file)] if GROUPS in about else None):
        yield "the policy has other groups"
    given = {**policy.numbers, "node_epsilon": policy.node_epsilon, "rows_each": policy.rows_each}
    yield from (f"{name} is another" for name, value in given.items() if not is_close(declared[name], value))
    if declared.get("n_public") != policy.n_public:
        yield "n_public is another"
    if (about["unit"] == "person") != (policy.person is not None):
        yield "the policy is about rows, or persons, and the release is not"


def _folded(groups: Sequence[Sequence[str]] | None) -> list[set[str]] | None:
    return None if groups is None else [{folded(name) for name in group} for group in groups]


def _node(text: str) -> dict[str, int] | None:
    try:
        return read_node(json.loads(text))
    except ValueError:
        return None


def _nodes(file: ReleaseFile) -> list[dict[str, int]] | None:
    """The nodes that the file says one was drawn from; None where it was one from the start."""
    if "nodes" not in file.about:
        return None
    found = [read_node(node) for node in json.loads(file.about["nodes"])]
    return [folded_node(node or {}) for node in found]


# -------------------- the promise


def _promises(calls: Calls, file: ReleaseFile) -> Iterator[Check]:
    declared = file.parameters
    four = {name: declared[name] for name in FOUR}
    title = f"epsilon, delta, k and beta are ones of the theorem: k {four['k']:g}, beta {four['beta']:.6g}"
    together = go_together(calls, four)
    yield Check(title, together, "" if together else "delta must be larger, or epsilon")
    if not together:
        return
    each = declared["rows_each"]
    if not (each >= 1 and each == int(each) and declared["node_epsilon"] >= 0):
        yield Check("rows of a person and the epsilon of the node are possible", False)
        return
    terms = declared_terms(calls, file)
    wrong = [n for n, value in terms.numbers.items() if not is_close(declared[n], value)]
    if ("n_public" in declared) != ("exposed" in declared):
        wrong.append("exposed")
    elif "n_public" in declared:
        exposed = float(calls.value(f"_exposed({terms.total_delta!r}, {declared['n_public']!r})"))
        wrong += [] if is_close(declared["exposed"], exposed) else ["exposed"]
    claim = f"({terms.total_epsilon:.4g}, {terms.total_delta:.3g})-differential privacy of a {terms.unit}"
    yield Check(claim, not wrong, f"{wrong[0]} is another" if wrong else "")
    counted = []
    if file.about["unit"] == "row" and terms.rows_each != 1:
        counted.append("rows of a person are several, and it is about rows")
    if file.about["counts"] != ("persons" if terms.of_persons and terms.rows_each == 1 else "rows"):
        counted.append("something else is counted")
    yield check_all("it says what is counted", counted)
    points = [tuple(r.values()) for r in sorted(file.rows("smooth"), key=lambda r: r["epsilon"])]
    right = smooth_curve(calls, terms.k, terms.beta, terms.epsilon)
    same = len(points) == len(right) and all(
        is_close(a, b) for p, q in zip(points, right, strict=True) for a, b in zip(p, q, strict=True)
    )
    yield Check("larger breaches are as rare as is declared", same)


def _classes(file: ReleaseFile, group: Group, columns: Sequence[Attribute]) -> Check:
    """Every published tuple, in all columns of a group, is there k times at least."""
    cells = ", ".join(f"CAST({quoted(str(c['name']))} AS VARCHAR)" for c in columns)
    k = int(file.parameters["k"])
    rare = fetch(
        file.con,
        f"SELECT count(*) FROM (SELECT count(*) AS n FROM {published(file)} GROUP BY {cells} HAVING count(*) < {k})",
    )[0][0]
    return Check(
        f"every row of {group.table} is there {k:,} times at least",
        not rare,
        f"{rare:,} kinds of rows are not" if rare else "",
    )


def _claims(file: ReleaseFile) -> Iterator[Check]:
    yield Check(f"each row was sampled with probability {file.parameters['beta']:.6g} by a coin of its own", None)
    nodes = _nodes(file)
    if GROUPS in file.about:
        yield Check("of each group by a coin of its own", None)
    if nodes is None:
        why = file.reasons.get("node_is_public", "")
        what = "levels and groups" if GROUPS in file.about else "levels"
        yield Check(f"the {what} were chosen without looking at the table", None, why)
        return
    node = folded_node(_node(file.about["node"]) or {})
    is_drawn = node in nodes and file.parameters["node_epsilon"] > 0 and len(nodes) > 1
    yield Check("the levels are one of the nodes to choose from", is_drawn)
    why = file.reasons.get("node_is_public", "")
    yield Check(
        "they were drawn by the exponential mechanism, from a list that does not depend on the table", None, why
    )
