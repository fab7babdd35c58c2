"""Whether a release is one that a policy asks for: its columns and their roles, public tables, bound and shares."""

from __future__ import annotations

import math
from collections.abc import Iterator

from sqlpriv.engine import fetch
from sqlpriv.macros.calls import Calls
from sqlpriv.methods.randomized.attackers import person_prior
from sqlpriv.methods.randomized.policy import RandomizedPolicy
from sqlpriv.methods.randomized.stated import combination_names, public_names, shared_columns
from sqlpriv.methods.randomized.warned import size_is_rounded
from sqlpriv.release.file import ReleaseFile
from sqlpriv.release.verify import is_close
from sqlpriv.sqltext import folded, quoted
from sqlpriv.table.domains import declared_as


def differences(file: ReleaseFile, policy: RandomizedPolicy) -> Iterator[str]:
    """Where the file is not one of the policy: public tables, domains, the bound and the shares."""
    public = public_names(file)
    yield from (f"the policy names no public table {t!r}" for t in sorted(public - set(policy.public)))
    yield from (f"the public table {t!r} of the policy is missing" for t in sorted(set(policy.public) - public))
    yield from _domains_differ(file, policy)
    yield from policy.differs(file.about, file.parameters)
    yield from _prior_differs(file, policy)
    if combination_names(file) != sorted(policy.combinations):
        yield "the combinations are others"
    if size_is_rounded(file) != policy.told_size:
        yield "it does not say whether n_public was declared"
    yield from _shares_differ(file, policy)


def _prior_differs(file: ReleaseFile, policy: RandomizedPolicy) -> list[str]:
    """The d of a policy is about a row, and that of a file about a person."""
    if policy.d is None:
        return []
    d = person_prior(Calls(file.con), policy.d, policy.rows_each)
    return [] if is_close(file.parameters.get("d"), d) else [f"d is not {d:g}"]


def _shares_differ(file: ReleaseFile, policy: RandomizedPolicy) -> list[str]:
    """Where the noise of a bag follows shares, they are those of the policy, as far as its own text has them."""
    found = shared_columns(file)
    if [folded(name) for name in found] != [folded(name) for name in (policy.shared,) if name is not None]:
        return ["its noise does not follow the column with shares"]
    given = [c.share for c in policy.published if c.name == policy.shared]
    if not given or not isinstance(given[0], tuple):
        return []
    domain, total = quoted(file.catalog, "domain", found[0]), math.fsum(given[0])
    shares = [r[0] for r in fetch(file.con, f"SELECT share FROM {domain} ORDER BY share")]
    same = len(shares) == len(given[0]) and all(map(is_close, shares, (s / total for s in sorted(given[0]))))
    return [] if same else [f"the shares of {found[0]!r} are others"]


def _domains_differ(file: ReleaseFile, policy: RandomizedPolicy) -> Iterator[str]:
    given = {folded(c.name): declared_as(c) for c in policy.published}
    for column in file.attributes:
        name, declared = str(column["name"]), column["declared"]
        if given.get(folded(name), declared) != declared:
            yield f"the domain of {name!r} is not given as {declared}"
