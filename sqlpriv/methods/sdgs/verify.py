"""Judge a release by sampled k-anonymity from its file alone: numbers, guarantee, levels, labels, and every class.

What the file alone cannot tell stays a claim: that each row was sampled by a coin of its own with probability beta, and
that the node was chosen without the table, or drawn as it should be.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from math import isclose

from sqlpriv.engine import fetch
from sqlpriv.macros.calls import Calls
from sqlpriv.methods.labelled.policy import read_node
from sqlpriv.methods.labelled.stated import ATTRIBUTES
from sqlpriv.methods.labelled.verify_frame import Frame, Shown, check_frame
from sqlpriv.methods.labelled.verify_leaves import check_leaves, domains_of_policy, is_stated, own_tables
from sqlpriv.methods.labelled.verify_levels import Stated, check_labels, check_levels, folded_node
from sqlpriv.methods.sdgs.groups import DIGESTS, GROUPS, file_of, group_digests
from sqlpriv.methods.sdgs.policy import SdgsPolicy
from sqlpriv.methods.sdgs.stated import FOUR, stated_groups, stated_terms, wrong_groups
from sqlpriv.methods.sdgs.terms import Terms, go_together, smooth_curve
from sqlpriv.methods.sdgs.told import details, promise
from sqlpriv.policy.file import Declared, Policy
from sqlpriv.release.file import SCHEMA, ReleaseFile
from sqlpriv.release.stamp import STAMPED, TOGETHER
from sqlpriv.release.verify import Check, published
from sqlpriv.sqltext import folded, quoted
from sqlpriv.version import __version__

_NEEDED = frozenset({
    "format", "sqlpriv", "method", "table", "node", "counts", "unit", "guarantee", "details", "release", *STAMPED,
})  # fmt: skip
_MAY = frozenset({"nodes", "node_is_public", "beside", GROUPS, DIGESTS, TOGETHER})
_NUMBERS = (
    "epsilon", "delta", "k", "beta", "node_epsilon", "rows_each", "total_epsilon", "total_delta", "replaced_epsilon",
    "replaced_delta",
)  # fmt: skip
_TOLD = ("n_public", "exposed")


def verify_file(method: Declared, calls: Calls, file: ReleaseFile, policy: Policy | None) -> Iterator[Check]:
    """All checks."""
    columns = yield from check_frame(_FRAME, method, file, policy)
    if columns is None:
        return
    qis = [c for c in columns if c["role"] == "quasi-identifier"]
    yield from _promises(calls, file)
    yield check_levels(file, qis)
    for part in _shown(file, columns):
        for qi in part.columns:
            if qi["role"] == "quasi-identifier":
                yield check_labels(part.file, qi, has_stars=False)
        yield from check_leaves(part.file, part.columns, has_stars=False)
        yield _classes(part)
    if GROUPS in file.about:
        yield _same_digests(file)
    yield from _claims(file)


def _unread(file: ReleaseFile) -> str:
    """Why the release cannot be judged at all; empty where it can."""
    rows = [str(r["name"]) for r in file.rows("about")]
    beyond = sorted(set(rows) - _NEEDED - _MAY) + sorted({name for name in rows if rows.count(name) > 1})
    lacking = sorted(_NEEDED - set(rows))
    if beyond or lacking or list(file.columns(SCHEMA, "about")) != ["name", "value"]:
        return f"{SCHEMA}.about says {f'nothing of {lacking[0]}' if lacking else 'more than it should'}"
    for table, wanted in (
        ("attributes", ATTRIBUTES), ("parameters", ("name", "value")), ("smooth", ("epsilon", "delta", "bound")),
    ):  # fmt: skip
        if (SCHEMA, table) not in file.tables:
            return f"{SCHEMA}.{table} is missing"
        if tuple(file.columns(SCHEMA, table)) != wanted:
            return f"{SCHEMA}.{table} has other columns than it should"
    names = [str(r["name"]) for r in file.rows("parameters")]
    if sorted(names) not in (sorted(_NUMBERS), sorted((*_NUMBERS, *_TOLD))):
        return f"{SCHEMA}.parameters has other numbers than it should"
    if any(r["value"] is None or not math.isfinite(r["value"]) for r in file.rows("parameters")):
        return f"{SCHEMA}.parameters has a number that is none"
    found = file.rows("attributes")
    if not found or sorted(-1 if c["position"] is None else int(c["position"]) for c in found) != [*range(len(found))]:
        return f"{SCHEMA}.attributes does not number the columns"
    if (GROUPS in file.about) != (DIGESTS in file.about) or wrong_groups(file):
        return f"{SCHEMA}.about does not say which columns stand together"
    return ""


def _tables(columns: Sequence[Stated]) -> list[tuple[str, str]]:
    qis = [str(c["name"]) for c in columns if c["role"] == "quasi-identifier"]
    own = ("attributes", "parameters", "smooth", *(f"hierarchy_{name}" for name in qis))
    return [*((SCHEMA, table) for table in own), *own_tables(columns)]


def _shown(file: ReleaseFile, columns: Sequence[Stated]) -> list[Shown]:
    """The rows of each group."""
    table, groups = file.about["table"], stated_groups(file)
    return [
        Shown(
            file_of(file, group),
            group.table,
            group.view(table),
            [c for c in columns if c["name"] in group.columns],
            group.comment(table) if len(groups) > 1 else None,
        )
        for group in groups
    ]


# -------------------- with the policy


def _follows(file: ReleaseFile, policy: Policy, columns: Sequence[Stated]) -> Iterator[Check]:
    assert isinstance(policy, SdgsPolicy)
    wanted = {folded(c.name): c.role for c in policy.columns if c.role in {"quasi-identifier", "sensitive", "other"}}
    roles = {folded(str(c["name"])): c["role"] for c in columns}
    wrong = [f"{name!r} is not published by the policy" for name in roles if name not in wanted]
    wrong += [f"{name!r} is missing" for name in wanted if name not in roles]
    wrong += [f"{n!r} is {role}, by the policy {wanted[n]}" for n, role in roles.items() if wanted.get(n, role) != role]
    yield Check("no column beyond the policy, each in its role", not wrong, "; ".join(wrong))
    yield domains_of_policy(columns, policy)
    about, wrong, stated = file.about, [], file.parameters
    if folded(about["table"]) != folded(policy.table.name):
        wrong.append(f"the table of the policy is {policy.table.name!r}")
    if folded_node(_node(about["node"]) or {}) not in [folded_node(node) for node in policy.nodes]:
        wrong.append("the policy asks for another node")
    if _nodes(file) != ([folded_node(node) for node in policy.nodes] if len(policy.nodes) > 1 else None):
        wrong.append("the policy has other nodes to choose from")
    if _folded(policy.groups) != _folded([g.columns for g in stated_groups(file)] if GROUPS in about else None):
        wrong.append("the policy has other groups")
    given = {**policy.numbers, "node_epsilon": policy.node_epsilon, "rows_each": policy.rows_each}
    wrong += [f"{name} is another" for name, value in given.items() if not isclose(stated[name], value, rel_tol=1e-9)]
    if stated.get("n_public") != policy.n_public:
        wrong.append("n_public is another")
    if (about["unit"] == "person") != (policy.person is not None):
        wrong.append("the policy is about rows, or persons, and the release is not")
    wrong += [f"{name} is not what the policy says" for name in ("beside", "node_is_public")
              if about.get(name) != getattr(policy, name)]  # fmt: skip
    yield Check("table, numbers and levels are those of the policy", not wrong, "; ".join(wrong))


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
    stated = file.parameters
    four = {name: stated[name] for name in FOUR}
    title = f"epsilon, delta, k and beta are ones of the theorem: k {four['k']:g}, beta {four['beta']:.6g}"
    together = go_together(calls, four)
    yield Check(title, together, "" if together else "delta must be larger, or epsilon")
    if not together:
        return
    each = stated["rows_each"]
    if not (each >= 1 and each == int(each) and stated["node_epsilon"] >= 0):
        yield Check("rows of a person and the epsilon of the node are some", False)
        return
    terms = stated_terms(calls, file)
    wrong = [n for n, value in terms.numbers.items() if not isclose(stated[n], value, rel_tol=1e-9)]
    if "n_public" in stated:
        exposed = float(calls.value(f"_exposed({terms.total_delta!r}, {stated['n_public']!r})"))
        wrong += [] if isclose(stated["exposed"], exposed, rel_tol=1e-9) else ["exposed"]
    told = f"({terms.total_epsilon:.4g}, {terms.total_delta:.3g})-differential privacy of a {terms.unit}"
    yield Check(told, not wrong, f"{wrong[0]} is another" if wrong else "")
    yield _words(file, terms)
    points = [tuple(r.values()) for r in sorted(file.rows("smooth"), key=lambda r: r["epsilon"])]
    right = smooth_curve(calls, terms.k, terms.beta, terms.epsilon)
    same = len(points) == len(right) and all(
        isclose(a, b, rel_tol=1e-9) for p, q in zip(points, right, strict=True) for a, b in zip(p, q, strict=True)
    )
    yield Check("larger breaches are as rare as is stated", same)


def _words(file: ReleaseFile, terms: Terms) -> Check:
    """The guarantee in words is the one of the numbers; other versions may word it otherwise."""
    title = "the guarantee in words is that of the numbers"
    about = file.about
    if about["unit"] not in {"row", "person"} or (about["unit"] == "row" and terms.rows_each != 1):
        return Check(title, False, "it does not say whom it is about")
    counts = "persons" if terms.of_persons and terms.rows_each == 1 else "rows"
    if about["sqlpriv"] != __version__:
        return Check(title, None, "another version wrote it")
    same = (about["guarantee"], about["details"], about["counts"])
    return Check(title, same == (promise(terms), json.dumps(details(terms)), counts))


def _classes(part: Shown) -> Check:
    """Every published tuple, in all its columns, is there k times at least."""
    file, cells = part.file, ", ".join(f"CAST({quoted(str(c['name']))} AS VARCHAR)" for c in part.columns)
    k = int(file.parameters["k"])
    rare = fetch(
        file.con,
        f"SELECT count(*) FROM (SELECT count(*) AS n FROM {published(file)} GROUP BY {cells} HAVING count(*) < {k})",
    )[0][0]
    return Check(
        f"every row of {part.table} is there {k:,} times at least",
        not rare,
        f"{rare:,} kinds of rows are not" if rare else "",
    )


def _same_digests(file: ReleaseFile) -> Check:
    tables = [file.table(group.table) for group in stated_groups(file)]
    same = group_digests(file.con, tables) == file.about[DIGESTS]
    return Check("the rows of the other groups are those of their digests", same, "" if same else "they are others")


def _claims(file: ReleaseFile) -> Iterator[Check]:
    yield Check(f"each row was sampled with probability {file.parameters['beta']:.6g} by a coin of its own", None)
    nodes = _nodes(file)
    if GROUPS in file.about:
        yield Check("of each group by a coin of its own", None)
    if nodes is None:
        why = file.about.get("node_is_public", "")
        what = "levels and groups" if GROUPS in file.about else "levels"
        yield Check(f"the {what} were chosen without looking at the table", None, why)
        return
    node = folded_node(_node(file.about["node"]) or {})
    is_drawn = node in nodes and file.parameters["node_epsilon"] > 0 and len(nodes) > 1
    yield Check("the levels are one of the nodes to choose from", is_drawn)
    why = file.about.get("node_is_public", "")
    yield Check(
        "they were drawn by the exponential mechanism, from a list that does not depend on the table", None, why
    )


_FRAME = Frame(_unread, is_stated, _tables, _follows, _shown)
