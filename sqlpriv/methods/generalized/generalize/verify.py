"""Judge a generalized release from its file alone: tables, columns, labels, and every requirement that it states.

What the file alone cannot tell stays a claim: a requirement that counts persons, who are not published; one against a
population or prior that is not in the file; one against the values of the whole table, where rows were suppressed; how
many rows were suppressed and left out; and that nothing more was required, unless the policy is there to compare.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from sqlpriv.core.engine import fetch
from sqlpriv.core.sqltext import literal, quoted
from sqlpriv.methods.generalized.generalize.policy import OBJECTIVES, GeneralizePolicy
from sqlpriv.methods.generalized.layout import COUNTED, QI, labels_layout
from sqlpriv.methods.generalized.policy import folded_node
from sqlpriv.methods.generalized.verify import check_labels, check_levels, domains_beyond, judge_requirement
from sqlpriv.release.file import ReleaseFile
from sqlpriv.release.layout import flag, one_of, plain_json, whole
from sqlpriv.release.verify import Check, named_by_digest, published
from sqlpriv.table.hierarchies import TOP

LAYOUT = labels_layout(
    {
        "objective": one_of(*OBJECTIVES, "workload"), "node": plain_json, "suppressed_rows": whole,
        "kept_suppressed": flag, "optimal": flag, "counts": COUNTED,
    },
    from_policy=("objective",),
)  # fmt: skip


def verify_file(file: ReleaseFile) -> Iterator[Check]:
    """All checks that only a generalized release needs."""
    yield named_by_digest(file)
    yield check_levels(file)
    yield from check_labels(file, file.attributes, _has_stars(file))
    if _has_stars(file):
        yield _stars(file, [str(c["name"]) for c in file.attributes if c["role"] == QI])
    elif _suppressed(file):
        yield Check(
            "no value that only suppressed rows have", None, "they are not in the file; publishing searched it for them"
        )
    required = file.rows("requirements")
    yield Check("something is required", bool(required))
    for row in required:
        yield judge_requirement(file, row, _is_whole(file))


def differences(file: ReleaseFile, policy: GeneralizePolicy) -> Iterator[str]:
    """Where the file is not one of the policy: domains, persons, suppression and the node."""
    yield from domains_beyond(file, policy)
    counted = "rows" if policy.person is None else "persons"
    if file.about["counts"] != counted:
        yield f"the policy counts {counted}"
    if _has_stars(file) and not policy.keep_suppressed:
        yield "the policy leaves suppressed rows out"
    if policy.node is not None and folded_node(json.loads(file.about["node"])) != folded_node(policy.node):
        yield "the policy asks for another node"
    suppressed = _suppressed(file)
    rows = _count(file, published(file)) + (0 if _has_stars(file) else suppressed)
    if suppressed > policy.suppression * rows + 1e-9 * rows:
        yield f"{suppressed:,} of {rows:,} rows are suppressed, more than {policy.suppression:g} of them"


# -------------------- rows and labels


def _has_stars(file: ReleaseFile) -> bool:
    return file.about.get("kept_suppressed") == "yes"


def _suppressed(file: ReleaseFile) -> int:
    return int(file.about["suppressed_rows"])


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
