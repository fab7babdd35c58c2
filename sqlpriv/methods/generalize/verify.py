"""Judge a generalized release from its file alone: tables, columns, labels, and every requirement that it states.

What the file alone cannot tell stays a claim: a requirement that counts persons, who are not published; one against a
population or prior that is not in the file; one against the values of the whole table, where rows were suppressed; how
many rows were suppressed and left out; and that nothing more was required, unless the policy is there to compare.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from sqlpriv.engine import fetch
from sqlpriv.macros.calls import Calls
from sqlpriv.methods.generalize.policy import OBJECTIVES, GeneralizePolicy
from sqlpriv.methods.labelled.stated import ATTRIBUTES, REQUIREMENTS
from sqlpriv.methods.labelled.verify_frame import Frame, check_frame
from sqlpriv.methods.labelled.verify_leaves import check_leaves, domains_of_policy, is_stated, own_tables
from sqlpriv.methods.labelled.verify_levels import check_labels, check_levels, folded_node
from sqlpriv.methods.labelled.verify_requirements import Stated, follows_policy, judge_requirement
from sqlpriv.policy.file import Declared, Policy
from sqlpriv.release.file import SCHEMA, ReleaseFile
from sqlpriv.release.stamp import STAMPED
from sqlpriv.release.verify import Check, published
from sqlpriv.sqltext import folded, literal, quoted
from sqlpriv.table.hierarchies import TOP

_ABOUT = frozenset({
    "format", "sqlpriv", "method", "table", "objective", "node", "suppressed_rows", "kept_suppressed", "optimal",
    "counts", "release", "beside", *STAMPED,
})  # fmt: skip


def verify_file(method: Declared, calls: Calls, file: ReleaseFile, policy: Policy | None) -> Iterator[Check]:
    """All checks of a generalized release."""
    columns = yield from check_frame(_FRAME, method, file, policy)
    if columns is None:
        return
    qis = [c for c in columns if c["role"] == "quasi-identifier"]
    yield check_levels(file, qis)
    for qi in qis:
        yield check_labels(file, qi, _has_stars(file))
    yield from check_leaves(file, columns, _has_stars(file))
    names = [str(q["name"]) for q in qis]
    if _has_stars(file):
        yield _stars(file, names)
    elif _suppressed(file):
        yield Check(
            "no value that only suppressed rows have", None, "they are not in the file; publishing searched it for them"
        )
    for row in file.rows("requirements"):
        yield judge_requirement(calls, file, row, columns, _is_whole(file))


def _unread(file: ReleaseFile) -> str:
    """Why the release cannot be judged at all; empty where it can."""
    for table, wanted in (("attributes", ATTRIBUTES), ("requirements", REQUIREMENTS)):
        if (SCHEMA, table) not in file.tables:
            return f"{SCHEMA}.{table} is missing"
        if tuple(file.columns(SCHEMA, table)) != wanted:
            return f"{SCHEMA}.{table} has other columns than it should"
        if not fetch(file.con, f"SELECT count(*) FROM {file.table(table)}")[0][0]:
            return f"{SCHEMA}.{table} is empty"
    if any(c["position"] is None for c in file.rows("attributes")):
        return f"{SCHEMA}.attributes has a column without a position"
    lacking = [
        name for name in ("table", "node", "suppressed_rows", "release", *sorted(STAMPED)) if name not in file.about
    ]
    if lacking:
        return f"{SCHEMA}.about says nothing of {lacking[0]}"
    return _unknown(file)


def _unknown(file: ReleaseFile) -> str:
    """What a release of this kind does not say; empty where there is nothing of it."""
    rows = [str(r["name"]) for r in file.rows("about")]
    beyond = sorted(set(rows) - _ABOUT) + sorted({name for name in rows if rows.count(name) > 1})
    if beyond or list(file.columns(SCHEMA, "about")) != ["name", "value"]:
        return f"{SCHEMA}.about says more than it should"
    about = file.about
    if not about["suppressed_rows"].isdecimal() or about.get("counts") not in {"rows", "persons"}:
        return f"{SCHEMA}.about does not say what is counted"
    if about.get("objective") not in {*OBJECTIVES, "workload"} or about.get("optimal") not in {"yes", "no"}:
        return f"{SCHEMA}.about does not say what was searched for"
    if (SCHEMA, "parameters") in file.tables and (
        list(file.columns(SCHEMA, "parameters")) != ["name", "value"] or file.rows("parameters")
    ):
        return f"{SCHEMA}.parameters holds something, and a generalized release has none"
    positions = sorted(int(c["position"]) for c in file.rows("attributes"))
    return "" if positions == list(range(len(positions))) else f"{SCHEMA}.attributes does not number the columns"


def _tables(columns: Sequence[Stated]) -> list[tuple[str, str]]:
    qis = [str(c["name"]) for c in columns if c["role"] == "quasi-identifier"]
    own = ("attributes", "parameters", "requirements", *(f"hierarchy_{name}" for name in qis))
    return [*((SCHEMA, table) for table in own), *own_tables(columns)]


# -------------------- with the policy


def _follows(file: ReleaseFile, policy: Policy, columns: Sequence[Stated]) -> Iterator[Check]:
    """Columns, requirements and suppression are those of the policy."""
    assert isinstance(policy, GeneralizePolicy)
    yield from follows_policy(file, policy, columns)
    yield domains_of_policy(columns, policy)
    yield _keeps_to(file, policy)


def _keeps_to(file: ReleaseFile, policy: GeneralizePolicy) -> Check:
    about, wrong = file.about, []
    if folded(about["table"]) != folded(policy.table.name):
        wrong.append(f"the table of the policy is {policy.table.name!r}")
    if about.get("counts") != ("rows" if policy.person is None else "persons"):
        wrong.append(f"the policy counts {'rows' if policy.person is None else 'persons'}")
    if _has_stars(file) and not policy.keep_suppressed:
        wrong.append("the policy leaves suppressed rows out")
    if about.get("beside") != policy.beside:
        wrong.append("beside is not what the policy says")
    if policy.node is not None and folded_node(json.loads(about["node"])) != folded_node(policy.node):
        wrong.append("the policy asks for another node")
    suppressed = _suppressed(file)
    rows = _count(file, published(file)) + (0 if _has_stars(file) else suppressed)
    if suppressed > policy.suppression * rows + 1e-9 * rows:
        wrong.append(f"{suppressed:,} of {rows:,} rows are suppressed, more than {policy.suppression:g} of them")
    return Check("table, persons and suppression are those of the policy", not wrong, "; ".join(wrong))


# -------------------- rows and labels


def _has_stars(file: ReleaseFile) -> bool:
    return file.about.get("kept_suppressed") == "yes"


def _suppressed(file: ReleaseFile) -> int:
    given = file.about["suppressed_rows"]
    return int(given) if given.isdecimal() else 0


def _is_whole(file: ReleaseFile) -> bool:
    """Whether the rows of the file are all rows of the table."""
    return file.about["suppressed_rows"] == "0" or _has_stars(file)


def _count(file: ReleaseFile, rows: str) -> int:
    return int(fetch(file.con, f"SELECT count(*) FROM {rows}")[0][0])


def _starred(qis: Sequence[str]) -> str:
    return " AND ".join(f"{quoted(q)} IS NOT DISTINCT FROM {literal(TOP)}" for q in qis)


def _stars(file: ReleaseFile, qis: Sequence[str]) -> Check:
    """Suppressed rows that were kept are as many as are stated. They are a class, and judged with all the others."""
    rows = _count(file, f"{published(file)} WHERE {_starred(qis)}")
    found = "" if rows == _suppressed(file) else f"there are {rows:,}"
    return Check(f"{_suppressed(file):,} suppressed rows are kept, with stars", not found, found)


_FRAME = Frame(_unread, is_stated, _tables, _follows)
