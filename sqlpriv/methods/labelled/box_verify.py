"""Judge a release of boxes from its file alone: tables, columns, labels, what is below them, and every requirement.

What the file alone cannot tell stays a claim: a requirement that counts persons, who are not published; one against a
prior that is not in the file; and that nothing more was required, unless the policy is there to compare.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence

from sqlpriv.macros.calls import Calls
from sqlpriv.methods.labelled.box_policy import WARNINGS, BoxPolicy
from sqlpriv.methods.labelled.kinds import BOXES, DATES, OTHER, RANGES, VALUES, has_ends
from sqlpriv.methods.labelled.stated import ATTRIBUTES, REQUIREMENTS
from sqlpriv.methods.labelled.verify_box_labels import check_labels
from sqlpriv.methods.labelled.verify_frame import Frame, check_frame
from sqlpriv.methods.labelled.verify_leaves import check_domain, domains_of_policy
from sqlpriv.methods.labelled.verify_requirements import Stated, follows_policy, judge_requirement
from sqlpriv.policy.file import Declared, Policy
from sqlpriv.release.file import SCHEMA, ReleaseFile
from sqlpriv.release.stamp import STAMPED
from sqlpriv.release.verify import Check
from sqlpriv.sqltext import folded

_ABOUT = frozenset({
    "format", "sqlpriv", "method", "table", "cuts", "suppressed_rows", "counts", "warnings", "release", "beside",
    *STAMPED,
})  # fmt: skip
_QI = "quasi-identifier"


def verify_boxes(method: Declared, calls: Calls, file: ReleaseFile, policy: Policy | None) -> Iterator[Check]:
    """All checks of a release of boxes."""
    columns = yield from check_frame(_FRAME, method, file, policy)
    if columns is None:
        return
    for column in columns:
        if column["role"] == _QI:
            yield from check_labels(file, column)
        elif column["has_domain"]:
            yield check_domain(file, column, False)
    for row in file.rows("requirements"):
        yield judge_requirement(calls, file, row, columns, True)


def unread_boxes(file: ReleaseFile, about: frozenset[str]) -> str:
    """Why the release cannot be judged at all; empty where it can. `about`: all that it may say of itself."""
    for table, wanted in (("attributes", ATTRIBUTES), ("requirements", REQUIREMENTS)):
        if (SCHEMA, table) not in file.tables:
            return f"{SCHEMA}.{table} is missing"
        if tuple(file.columns(SCHEMA, table)) != wanted:
            return f"{SCHEMA}.{table} has other columns than it should"
    positions = [c["position"] for c in file.rows("attributes")]
    if not positions:
        return f"{SCHEMA}.attributes is empty"
    if None in positions or sorted(map(int, positions)) != list(range(len(positions))):
        return f"{SCHEMA}.attributes does not number the columns"
    lacking = sorted(about - {"beside"} - set(file.about))
    if lacking:
        return f"{SCHEMA}.about says nothing of {lacking[0]}"
    rows = [str(r["name"]) for r in file.rows("about")]
    if set(rows) - about or len(set(rows)) < len(rows) or list(file.columns(SCHEMA, "about")) != ["name", "value"]:
        return f"{SCHEMA}.about says more than it should"
    if file.about["suppressed_rows"] != "0" or file.about["counts"] not in {"rows", "persons"}:
        return f"{SCHEMA}.about does not say what is counted"
    return ""


def _unread(file: ReleaseFile) -> str:
    """Why a release of boxes cannot be judged at all; empty where it can."""
    unread = unread_boxes(file, _ABOUT) or ("" if file.rows("requirements") else f"{SCHEMA}.requirements is empty")
    return unread or _unknown(file)


def _unknown(file: ReleaseFile) -> str:
    """What a release of boxes does not say; empty where there is nothing of it."""
    about = file.about
    if about["cuts"] not in WARNINGS or about["warnings"] != json.dumps([WARNINGS[about["cuts"]]]):
        return f"{SCHEMA}.about does not say where the cuts come from, and what that means"
    if (SCHEMA, "parameters") in file.tables and (
        list(file.columns(SCHEMA, "parameters")) != ["name", "value"] or file.rows("parameters")
    ):
        return f"{SCHEMA}.parameters holds something, and a release of boxes has none"
    return ""


def is_boxed_column(column: Stated, roles: Collection[str] = (_QI,)) -> bool:
    """Columns of these roles are labels, of any level, and all else is values."""
    if not isinstance(column["has_domain"], bool) or not column["original"] or column["level"] is not None:
        return False
    if column["role"] not in roles:
        return column["labels"] == VALUES and column["levels"] is None and column["type"] == column["original"]
    if column["type"] != "VARCHAR" or column["labels"] not in (BOXES, RANGES, DATES, OTHER):
        return False
    if column["labels"] == BOXES:
        return column["levels"] is None and has_ends(BOXES, str(column["original"]))
    return isinstance(column["levels"], int) and column["levels"] > 0


def boxed_tables(columns: Sequence[Stated], roles: Collection[str] = (_QI,)) -> list[tuple[str, str]]:
    """Schema and name of all tables but that of the rows, where columns of these roles are labels."""
    found = [(SCHEMA, name) for name in ("attributes", "parameters", "requirements")]
    for column in columns:
        name, is_tree = str(column["name"]), column["role"] in roles and column["labels"] != BOXES
        found += [("domain", name)] if column["has_domain"] else []
        found += [(SCHEMA, f"hierarchy_{name}")] if is_tree else []
        found += [(SCHEMA, f"leaves_{name}")] if is_tree and column["has_domain"] else []
        found += [(SCHEMA, f"ends_{name}")] if has_ends(str(column["labels"]), str(column["original"])) else []
    return found


def _follows(file: ReleaseFile, policy: Policy, columns: Sequence[Stated]) -> Iterator[Check]:
    assert isinstance(policy, BoxPolicy)
    yield from follows_policy(file, policy, columns)
    yield domains_of_policy(columns, policy)
    yield _keeps_to(file, policy)


def _keeps_to(file: ReleaseFile, policy: BoxPolicy) -> Check:
    about, wrong = file.about, []
    counted = "rows" if policy.person is None else "persons"
    if folded(about["table"]) != folded(policy.table.name):
        wrong.append(f"the table of the policy is {policy.table.name!r}")
    if about["counts"] != counted:
        wrong.append(f"the policy counts {counted}")
    if about["cuts"] != policy.cuts:
        wrong.append(f"the policy takes cuts from {policy.cuts}")
    if about.get("beside") != policy.beside:
        wrong.append("beside is not what the policy says")
    return Check("table, persons and cuts are those of the policy", not wrong, "; ".join(wrong))


_FRAME = Frame(_unread, is_boxed_column, boxed_tables, _follows, boxes=True)
