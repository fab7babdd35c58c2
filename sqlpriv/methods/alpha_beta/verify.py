"""Whether the coins that an alpha-beta release states keep the bound that it states, against the adversary it names."""

from __future__ import annotations

import math

from sqlpriv.engine import fetch
from sqlpriv.macros.calls import Calls
from sqlpriv.methods.alpha_beta.terms import prior_of_element
from sqlpriv.release.file import ReleaseFile
from sqlpriv.release.verify import Check
from sqlpriv.sqltext import quoted

_CLOSE = 1e-9


def keeps_bound(calls: Calls, file: ReleaseFile) -> Check:
    """By the macros: the coins chosen for the bound, or for one view any that are at least as private."""
    stated, adversary = file.parameters, file.about["adversary"]
    d, gamma, slots = stated["d"], stated["gamma"], int(stated["slots"])
    title = f"the coins keep beliefs of at most {d:.4g} at or below {gamma:g} ({adversary} adversary)"
    prior = prior_of_element(calls, adversary, d, slots)
    if "rate" in stated:
        wanted = calls.row("alpha_beta_source_parameters", prior, _largest_share(file) / slots, gamma)
        return Check(title, _alike(wanted, (stated["alpha"], stated["rate"])))
    if "persist" in stated:
        wanted = calls.row("sequence_parameters", prior, gamma, int(stated["views"]))
        return Check(title, _alike(wanted, (stated["alpha"], stated["beta"], stated["persist"])))
    worth = calls.row("alpha_beta_guarantee", prior, gamma, stated["alpha"], stated["beta"])
    return Check(title, bool(worth[1] if adversary == "exclusive" else worth[0]))


def _largest_share(file: ReleaseFile) -> float:
    largest = 1.0
    for attribute in file.rows("attributes"):
        domain = quoted(file.catalog, "domain", attribute["name"])
        largest *= float(fetch(file.con, f"SELECT max(share) FROM {domain}")[0][0])
    return largest


def _alike(wanted: tuple[float, ...], stated: tuple[float, ...]) -> bool:
    return all(math.isclose(a, b, rel_tol=_CLOSE) for a, b in zip(wanted, stated, strict=True))
