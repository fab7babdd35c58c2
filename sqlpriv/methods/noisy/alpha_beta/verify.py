"""Whether the noise that an alpha-beta release declares keeps the bound that it declares, by the adversary it names."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from sqlpriv.core.engine import fetch
from sqlpriv.core.sqltext import quoted
from sqlpriv.macros.calls import Calls
from sqlpriv.macros.catalog import inlined
from sqlpriv.methods.noisy.alpha_beta.mechanism import ByShares, Sequence, Uniform
from sqlpriv.methods.noisy.alpha_beta.wording import meaning_of, prior_of_element
from sqlpriv.methods.noisy.calibration import Meaning
from sqlpriv.methods.noisy.mechanism import WEIGHTS
from sqlpriv.methods.noisy.verify import ROW_WEIGHTS
from sqlpriv.release.file import ReleaseFile, count_rows
from sqlpriv.release.verify import Check, is_close, published, same_number

_CLOSE = 1e-9


def own_checks(calls: Calls, file: ReleaseFile, mechanism: Uniform) -> Iterator[Check]:
    """The bound, what follows from it, and whether the noise can have made the rows."""
    numbers, adversary = file.parameters, file.about["adversary"]
    d, gamma = numbers["d"], numbers["gamma"]
    prior = prior_of_element(calls, adversary, d, mechanism.slots)
    worth = calls.row("alpha_beta_guarantee", prior, gamma, mechanism.alpha, mechanism.beta)
    # By the macros: the noise chosen for the bound, or for one view any that is at least as private.
    if isinstance(mechanism, Sequence) != (numbers["views"] > 1):
        keeps = False
    elif isinstance(mechanism, ByShares):
        share = _share_of_tuple(file, "max") / mechanism.slots
        alpha, rate = calls.row("alpha_beta_source_parameters", prior, share, gamma)
        beta = calls.row("alpha_beta_source_noise", rate, share)[0]
        keeps = adversary == "independent" and _are_close(numbers, alpha=alpha, rate=rate, beta=beta)
    elif isinstance(mechanism, Sequence):
        alpha, beta, persist = calls.row("sequence_parameters", prior, gamma, int(numbers["views"]))
        keeps = adversary == "independent" and _are_close(numbers, alpha=alpha, beta=beta, persist=persist)
    else:
        keeps = bool({"independent": worth[0], "exclusive": worth[1]}.get(adversary))
    yield Check(f"the noise keeps beliefs of at most {d:.4g} at or below {gamma:g} ({adversary} adversary)", keeps)
    yield same_number(file, "epsilon", worth[6])
    yield _copies(file)
    yield _rows(calls, file, mechanism)


def meaning(calls: Calls, file: ReleaseFile, mechanism: Uniform) -> Meaning:
    """What the numbers of a file guarantee; where noise follows shares, the rarest tuple has the least."""
    numbers, least = file.parameters, mechanism.beta
    if isinstance(mechanism, ByShares):
        share = _share_of_tuple(file, "min") / mechanism.slots
        least = float(calls.row("alpha_beta_source_noise", mechanism.rate, share)[0])
    adversary = file.about["adversary"]
    return meaning_of(calls, mechanism, least, numbers["d"], numbers["gamma"], adversary, int(numbers["views"]))


def _are_close(numbers: Mapping[str, float], **wanted: float) -> bool:
    return all(is_close(numbers[name], number) for name, number in wanted.items())


def _share_of_tuple(file: ReleaseFile, which: str) -> float:
    found = 1.0
    for attribute in file.attributes:
        domain = quoted(file.catalog, "domain", attribute["name"])
        found *= float(fetch(file.con, f"SELECT {which}(share) FROM {domain}")[0][0])
    return found


def _copies(file: ReleaseFile) -> Check:
    """A view is a set: every element of it, a tuple in a slot, is there once."""
    slots = int(file.parameters["slots"])
    names = ", ".join(quoted(str(a["name"])) for a in file.attributes)
    if file.parameters["views"] > 1:
        outside = f"SELECT count(*) FROM {published(file)} WHERE NOT coalesce(__slot BETWEEN 1 AND {slots}, false)"
        twice = f"SELECT count(*) FROM (SELECT 1 FROM {published(file)} GROUP BY {names}, __slot HAVING count(*) > 1)"
    else:
        outside = "SELECT 0"
        twice = f"SELECT count(*) FROM (SELECT 1 FROM {published(file)} GROUP BY {names} HAVING count(*) > {slots})"
    wrong = fetch(file.con, f"SELECT ({outside}) + ({twice})")[0][0]
    return Check("no tuple is there more often than there are slots", wrong == 0)


def _rows(calls: Calls, file: ReleaseFile, mechanism: Uniform) -> Check:
    """At least the noise is there, and at most what a table of the whole domain would leave, by six deviations."""
    elements = file.parameters["elements"] * mechanism.slots
    numbers = (mechanism.alpha, mechanism.beta, mechanism.persists)
    if isinstance(mechanism, ByShares):
        # How much noise an empty table would have, in the mean.
        domains, noise = [quoted(file.catalog, "domain", str(a["name"])) for a in file.attributes], 0.0
        for row in file.rows("domain_weights"):
            sums = (fetch(file.con, f"SELECT sum(share ** {int(row['power'])}) FROM {d}")[0][0] for d in domains)
            noise -= row["weight"] * math.prod(map(float, sums))
        noise *= mechanism.alpha
    else:
        noise = calls.row("sequence_rows", *numbers, 0, 0, elements)[0]
    kept = calls.row("sequence_rows", *numbers, elements, 0, elements)[0]
    low, high = noise - 6 * math.sqrt(noise) - 0.5, kept + 6 * math.sqrt(kept) + 0.5
    return Check("the number of rows is one that the noise can make", low <= count_rows(file) <= high)


def check_row_weights_by_shares(file: ReleaseFile, mechanism: ByShares) -> Check:
    """Where noise follows shares, the weights of a row depend on the shares of its values."""
    columns = [str(c["name"]) for c in file.attributes]
    shares = " * ".join(f"d{i}.share" for i in range(len(columns)))
    joins = " ".join(
        f"JOIN {quoted(file.catalog, 'domain', name)} AS d{i} ON d{i}.value IS NOT DISTINCT FROM p.{quoted(name)}"
        for i, name in enumerate(columns)
    )
    weights = mechanism.row_weights(mechanism.noise_of(shares))
    alike = " AND ".join(
        f"coalesce(abs(p.__{part} - ({sql})) <= {_CLOSE} * abs({sql}), false)"
        for part, sql in zip(WEIGHTS, map(inlined, weights), strict=True)
    )
    wrong = fetch(file.con, f"SELECT count(*) FROM {published(file)} AS p {joins} WHERE NOT ({alike})")[0][0]
    return Check(ROW_WEIGHTS, int(wrong) == 0)
