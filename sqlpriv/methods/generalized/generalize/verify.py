"""Judge a generalized release from its file alone: tables, columns, labels, and every requirement that it declares.

The file alone cannot prove everything. Some requirements stay claims: one that counts persons, who are not published,
and one against a population or prior that is not in the file. So does one against the values of the whole table, where
rows were suppressed, and the number of rows that were suppressed and left out. That nothing more was required is a
claim, too, unless the policy is there to compare.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from sqlpriv.core.engine import fetch
from sqlpriv.core.sqltext import literal, quoted, rows_of
from sqlpriv.methods.generalized.generalize.policy import OBJECTIVES, GeneralizePolicy
from sqlpriv.methods.generalized.layout import COUNTED, QI, labels_layout
from sqlpriv.methods.generalized.policy import folded_node
from sqlpriv.methods.generalized.pseudonyms import check_pseudonyms
from sqlpriv.methods.generalized.verify import (
    check_labels,
    check_levels,
    check_requirements,
    differs_in_persons,
    domains_beyond,
)
from sqlpriv.release.file import ReleaseFile
from sqlpriv.release.layout import flag, one_of, plain_json, whole
from sqlpriv.release.verify import Check, named_by_digest
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
    suppressed, has_stars = _suppressed(file), _has_stars(file)
    yield named_by_digest(file)
    yield check_levels(file)
    yield from check_labels(file, file.attributes, has_stars)
    yield from check_pseudonyms(file)
    if has_stars:
        qis = [str(c["name"]) for c in file.attributes if c["role"] == QI]
        starred = " AND ".join(f"{quoted(q)} IS NOT DISTINCT FROM {literal(TOP)}" for q in qis)
        rows = _count(file, f"WHERE {starred}")
        found = "" if rows == suppressed else f"there are {rows:,}"
        # They are a class, and judged with all the others.
        yield Check(f"{suppressed:,} suppressed rows are kept, with stars", not found, found)
    elif suppressed:
        yield Check(
            "no value that only suppressed rows have", None, "they are not in the file; publishing searched it for them"
        )
    yield from check_requirements(file, is_whole=has_stars or not suppressed)


def differences(file: ReleaseFile, policy: GeneralizePolicy) -> Iterator[str]:
    """Where the file is not one of the policy: domains, persons, suppression and the node."""
    yield from domains_beyond(file, policy)
    yield from differs_in_persons(file, policy)
    if _has_stars(file) and not policy.keep_suppressed:
        yield "the policy leaves suppressed rows out"
    if policy.node is not None and folded_node(json.loads(file.about["node"])) != folded_node(policy.node):
        yield "the policy asks for another node"
    suppressed = _suppressed(file)
    rows = _count(file) + (0 if _has_stars(file) else suppressed)
    if suppressed > policy.suppression * rows + 1e-9 * rows:
        yield f"{suppressed:,} of {rows:,} rows are suppressed, more than {policy.suppression:g} of them"


def _has_stars(file: ReleaseFile) -> bool:
    return file.about.get("kept_suppressed") == "yes"


def _suppressed(file: ReleaseFile) -> int:
    return int(file.about["suppressed_rows"])


def _count(file: ReleaseFile, condition: str = "") -> int:
    rows, number = rows_of(file.checked)
    return int(fetch(file.con, f"SELECT coalesce({number}, 0) FROM {rows} {condition}")[0][0])
