"""Judge what only releases of boxes have: labels of many levels, what is below them, and every requirement.

What the file alone cannot tell stays a claim: a requirement that counts persons, who are not published; one against a
prior that is not in the file; and that nothing more was required, unless the policy is there to compare.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlpriv.methods.labelled.box_policy import WARNINGS, BoxPolicy
from sqlpriv.methods.labelled.layout import COUNTED, QI, boxes_layout
from sqlpriv.methods.labelled.verify_box_labels import check_labels
from sqlpriv.methods.labelled.verify_leaves import check_domain, domains_beyond
from sqlpriv.methods.labelled.verify_requirements import judge_requirement
from sqlpriv.release.file import ReleaseFile
from sqlpriv.release.layout import one_of
from sqlpriv.release.verify import Check, named_by_digest

LAYOUT = boxes_layout(
    {"cuts": one_of(*WARNINGS), "suppressed_rows": one_of("0"), "counts": COUNTED}, from_policy=("cuts",)
)


def verify_boxes(file: ReleaseFile) -> Iterator[Check]:
    """All checks that only releases of boxes need."""
    yield named_by_digest(file)
    for column in file.attributes:
        if column["role"] == QI:
            yield from check_labels(file, column)
        elif column["has_domain"]:
            yield check_domain(file, column, False)
    required = file.rows("requirements")
    yield Check("something is required", bool(required))
    for row in required:
        yield judge_requirement(file, row, is_whole=True)


def differences(file: ReleaseFile, policy: BoxPolicy) -> Iterator[str]:
    """Where the file is not one of the policy."""
    yield from domains_beyond(file, policy)
    counted = "rows" if policy.person is None else "persons"
    if file.about["counts"] != counted:
        yield f"the policy counts {counted}"
    if file.about["cuts"] != policy.cuts:
        yield f"the policy takes cuts from {policy.cuts}"
