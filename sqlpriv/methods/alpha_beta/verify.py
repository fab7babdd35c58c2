"""Whether the coins that an alpha-beta release states keep the bound that it states, against the adversary it names."""

from __future__ import annotations

import math
from collections.abc import Iterator

from sqlpriv.engine import Row, fetch
from sqlpriv.macros.calls import Calls
from sqlpriv.methods.alpha_beta.terms import Promised, details, linking_factor, prior_of_element, promise
from sqlpriv.methods.randomized.stated import is_sequence
from sqlpriv.methods.randomized.verify import Meaning
from sqlpriv.release.file import ReleaseFile, count_rows
from sqlpriv.release.verify import Check, is_close, published, same_number
from sqlpriv.sqltext import quoted


def own_checks(calls: Calls, file: ReleaseFile) -> Iterator[Check]:
    """The bound, what follows from it, and whether the rows are ones that the coins make."""
    d, gamma, adversary = file.parameters["d"], file.parameters["gamma"], file.about["adversary"]
    prior, worth = _worth(calls, file)
    yield Check(
        f"the coins keep beliefs of at most {d:.4g} at or below {gamma:g} ({adversary} adversary)",
        adversary in {"exclusive", "independent"} and _keeps_bound(calls, file, prior, worth[:2]),
    )
    yield same_number(file, "epsilon", worth[6])
    yield _copies(file)
    yield _rows(calls, file)


def meaning(calls: Calls, file: ReleaseFile) -> Meaning:
    """What the numbers of a file guarantee."""
    numbers, (prior, worth) = file.parameters, _worth(calls, file)
    slots, views = int(numbers["slots"]), int(numbers["views"])
    given = Promised(
        numbers["d"], prior, numbers["gamma"], file.about["adversary"], slots, views, "rate" in numbers, *worth[3:5]
    )
    factor = linking_factor(calls, numbers, _least_noise(calls, file), views)
    return Meaning(promise(given), details(given), factor)


def _worth(calls: Calls, file: ReleaseFile) -> tuple[float, Row]:
    """The prior of an element, and what the coins are worth against it."""
    numbers = file.parameters
    prior = prior_of_element(calls, file.about["adversary"], numbers["d"], int(numbers["slots"]))
    return prior, calls.row("alpha_beta_guarantee", prior, numbers["gamma"], numbers["alpha"], numbers["beta"])


def _keeps_bound(calls: Calls, file: ReleaseFile, prior: float, private: tuple[bool, bool]) -> bool:
    """By the macros: the coins chosen for the bound, or for one view any that are at least as private."""
    stated, independent = file.parameters, file.about["adversary"] == "independent"
    gamma, slots = stated["gamma"], int(stated["slots"])
    if "rate" in stated:
        share = _largest_share(file) / slots
        alpha, rate = calls.row("alpha_beta_source_parameters", prior, share, gamma)
        beta = calls.row("alpha_beta_source_noise", rate, share)[0]
        return independent and _alike(file, alpha=alpha, rate=rate, beta=beta)
    if "persist" in stated or stated["views"] > 1:
        alpha, beta, persist = calls.row("sequence_parameters", prior, gamma, int(stated["views"]))
        return independent and _alike(file, alpha=alpha, beta=beta, persist=persist)
    return bool(private[0] if independent else private[1])


def _alike(file: ReleaseFile, **wanted: float) -> bool:
    return all(is_close(file.parameters[name], number) for name, number in wanted.items())


def _largest_share(file: ReleaseFile) -> float:
    return _share_of_tuple(file, "max")


def _least_noise(calls: Calls, file: ReleaseFile) -> float:
    """The noise of the rarest tuple; that of all where it is uniform."""
    stated = file.parameters
    if "rate" not in stated:
        return stated["beta"]
    share = _share_of_tuple(file, "min") / stated["slots"]
    return float(calls.row("alpha_beta_source_noise", stated["rate"], share)[0])


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
    if is_sequence(file):
        outside = f"SELECT count(*) FROM {published(file)} WHERE NOT coalesce(__slot BETWEEN 1 AND {slots}, false)"
        twice = f"SELECT count(*) FROM (SELECT 1 FROM {published(file)} GROUP BY {names}, __slot HAVING count(*) > 1)"
    else:
        outside = "SELECT 0"
        twice = f"SELECT count(*) FROM (SELECT 1 FROM {published(file)} GROUP BY {names} HAVING count(*) > {slots})"
    wrong = fetch(file.con, f"SELECT ({outside}) + ({twice})")[0][0]
    return Check("no tuple is there more often than there are slots", wrong == 0)


def _rows(calls: Calls, file: ReleaseFile) -> Check:
    """At least the noise is there, and at most what a table of the whole domain would leave, by six deviations."""
    stated = file.parameters
    elements = stated["elements"] * stated["slots"]
    coins = (stated["alpha"], stated["beta"], stated.get("persist", 0.5))
    noise = calls.row("sequence_rows", *coins, 0, 0, elements)[0] if "rate" not in stated else _noise(file)
    kept = calls.row("sequence_rows", *coins, elements, 0, elements)[0]
    low, high = noise - 6 * math.sqrt(noise) - 0.5, kept + 6 * math.sqrt(kept) + 0.5
    return Check("the number of rows is one that the coins can make", low <= count_rows(file) <= high)


def _noise(file: ReleaseFile) -> float:
    """How much noise that follows shares the coins make of an empty table, in the mean."""
    stated = file.parameters
    domains = [quoted(file.catalog, "domain", str(a["name"])) for a in file.attributes]
    total = 0.0
    for row in file.rows("domain_weights"):
        sums = (fetch(file.con, f"SELECT sum(share ** {int(row['power'])}) FROM {d}")[0][0] for d in domains)
        total -= row["weight"] * math.prod(map(float, sums))
    return total * stated["alpha"]
