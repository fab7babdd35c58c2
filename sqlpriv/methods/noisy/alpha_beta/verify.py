"""Whether the noise that an alpha-beta release declares keeps the bound that it declares, by the adversary it names."""

from __future__ import annotations

import math
from collections.abc import Iterator

from sqlpriv.core.engine import Row, fetch
from sqlpriv.core.sqltext import quoted
from sqlpriv.macros.calls import Calls
from sqlpriv.macros.catalog import inlined
from sqlpriv.methods.noisy.alpha_beta.calibrate import linking_factor, persist_of, prior_of_element
from sqlpriv.methods.noisy.alpha_beta.mechanism import ByShares, Sequence, Uniform, read_mechanism
from sqlpriv.methods.noisy.alpha_beta.wording import Promised, details, promise
from sqlpriv.methods.noisy.mechanism import WEIGHTS
from sqlpriv.methods.noisy.read import is_sequence
from sqlpriv.methods.noisy.verify import ROW_WEIGHTS, Meaning
from sqlpriv.release.file import ReleaseFile, count_rows
from sqlpriv.release.verify import Check, is_close, published, same_number

_CLOSE = 1e-9


def own_checks(calls: Calls, file: ReleaseFile) -> Iterator[Check]:
    """The bound, what follows from it, and whether the noise can have made the rows."""
    d, gamma, adversary = file.parameters["d"], file.parameters["gamma"], file.about["adversary"]
    prior, worth = _worth(calls, file)
    yield Check(
        f"the noise keeps beliefs of at most {d:.4g} at or below {gamma:g} ({adversary} adversary)",
        adversary in {"exclusive", "independent"} and _keeps_bound(calls, file, prior, worth[:2]),
    )
    yield same_number(file, "epsilon", worth[6])
    yield _copies(file)
    yield _rows(calls, file)


def meaning(calls: Calls, file: ReleaseFile) -> Meaning:
    """What the numbers of a file guarantee."""
    numbers, mechanism, (prior, worth) = file.parameters, read_mechanism(calls, file), _worth(calls, file)
    slots, views = int(numbers["slots"]), int(numbers["views"])
    by_shares = isinstance(mechanism, ByShares)
    given = Promised(
        numbers["d"], prior, numbers["gamma"], file.about["adversary"], slots, views, by_shares, *worth[3:5]
    )
    factor = linking_factor(calls, mechanism, _least_noise(calls, file, mechanism), views)
    return Meaning(promise(given), details(given), factor)


def _worth(calls: Calls, file: ReleaseFile) -> tuple[float, Row]:
    """The prior of an element, and what the noise is worth against it."""
    numbers = file.parameters
    prior = prior_of_element(calls, file.about["adversary"], numbers["d"], int(numbers["slots"]))
    return prior, calls.row("alpha_beta_guarantee", prior, numbers["gamma"], numbers["alpha"], numbers["beta"])


def _keeps_bound(calls: Calls, file: ReleaseFile, prior: float, private: tuple[bool, bool]) -> bool:
    """By the macros: the noise chosen for the bound, or for one view any that is at least as private."""
    numbers, independent = file.parameters, file.about["adversary"] == "independent"
    gamma, slots, mechanism = numbers["gamma"], int(numbers["slots"]), read_mechanism(calls, file)
    if isinstance(mechanism, Sequence) != is_sequence(file):
        return False
    if isinstance(mechanism, ByShares):
        share = _largest_share(file) / slots
        alpha, rate = calls.row("alpha_beta_source_parameters", prior, share, gamma)
        beta = calls.row("alpha_beta_source_noise", rate, share)[0]
        return independent and _alike(file, alpha=alpha, rate=rate, beta=beta)
    if isinstance(mechanism, Sequence):
        alpha, beta, persist = calls.row("sequence_parameters", prior, gamma, int(numbers["views"]))
        return independent and _alike(file, alpha=alpha, beta=beta, persist=persist)
    return bool(private[0] if independent else private[1])


def _alike(file: ReleaseFile, **wanted: float) -> bool:
    return all(is_close(file.parameters[name], number) for name, number in wanted.items())


def _largest_share(file: ReleaseFile) -> float:
    return _share_of_tuple(file, "max")


def _least_noise(calls: Calls, file: ReleaseFile, mechanism: Uniform) -> float:
    """The noise of the rarest tuple; that of all where it is uniform."""
    if not isinstance(mechanism, ByShares):
        return mechanism.beta
    share = _share_of_tuple(file, "min") / file.parameters["slots"]
    return float(calls.row("alpha_beta_source_noise", mechanism.rate, share)[0])


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
    mechanism, elements = read_mechanism(calls, file), file.parameters["elements"] * file.parameters["slots"]
    numbers = (mechanism.alpha, mechanism.beta, persist_of(mechanism))
    by_shares = isinstance(mechanism, ByShares)
    noise = _noise(file) if by_shares else calls.row("sequence_rows", *numbers, 0, 0, elements)[0]
    kept = calls.row("sequence_rows", *numbers, elements, 0, elements)[0]
    low, high = noise - 6 * math.sqrt(noise) - 0.5, kept + 6 * math.sqrt(kept) + 0.5
    return Check("the number of rows is one that the noise can make", low <= count_rows(file) <= high)


def _noise(file: ReleaseFile) -> float:
    """How much noise that follows shares an empty table would have, in the mean."""
    domains = [quoted(file.catalog, "domain", str(a["name"])) for a in file.attributes]
    total = 0.0
    for row in file.rows("domain_weights"):
        sums = (fetch(file.con, f"SELECT sum(share ** {int(row['power'])}) FROM {d}")[0][0] for d in domains)
        total -= row["weight"] * math.prod(map(float, sums))
    return total * file.parameters["alpha"]


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
