"""What a release of labels lets an attacker believe who finds a person's class in it."""

from __future__ import annotations

from sqlpriv.engine import fetch
from sqlpriv.macros.calls import Calls
from sqlpriv.release.file import ReleaseFile
from sqlpriv.sqltext import literal


def largest_share(file: ReleaseFile) -> float | None:
    """The largest share that a sensitive value has in a published class; None where no column is sensitive.

    It is the belief of one who knows the quasi-identifiers of a person and that the person's row is published, and
    finds the person no likelier to have a value than others are.
    """
    roles = [(str(row["role"]), str(row["name"])) for row in file.rows("attributes")]
    qis = [name for role, name in roles if role == "quasi-identifier"]
    sensitive = [name for role, name in roles if role == "sensitive"]
    if not sensitive:
        return None
    alpha = Calls(file.con).need("alpha_k_anonymity")
    asked = (f"({literal(file.table('published'))}, {literal(qis)}, {literal(name)})" for name in sensitive)
    return max(float(fetch(file.con, f"SELECT alpha FROM {alpha}{arguments}")[0][0]) for arguments in asked)
