"""Whether a release is one that a policy asks for: its columns and their roles, public tables, bound and shares."""

from __future__ import annotations

import math
from collections.abc import Mapping

from sqlpriv.engine import fetch
from sqlpriv.macros.calls import Calls
from sqlpriv.methods.randomized.attackers import person_prior
from sqlpriv.methods.randomized.domains import declared_as
from sqlpriv.methods.randomized.policy import RandomizedPolicy
from sqlpriv.methods.randomized.stated import is_close, shared_columns, stated_combinations
from sqlpriv.release.file import SCHEMA, ReleaseFile
from sqlpriv.release.verify import Check
from sqlpriv.sqltext import folded, quoted


def follows(file: ReleaseFile, policy: RandomizedPolicy, columns: Mapping[str, str], public: set[str]) -> Check:
    """No column and no public table beyond the policy, and what it asks for is what the file states."""
    wanted = {folded(c.name) for c in policy.published}
    listed = [f"{c!r} is not published by the policy" for c in columns if folded(c) not in wanted]
    listed += [f"the policy names no public table {t!r}" for t in sorted(public - set(policy.public))]
    listed += [f"the public table {t!r} of the policy is missing" for t in sorted(set(policy.public) - public)]
    if wanted - {folded(c) for c in columns}:
        listed.append("a column of the policy is missing")
    listed += _roles_differ(file, policy)
    listed += policy.differs(file.about, file.parameters)
    listed += _prior_differs(file, policy)
    listed += _words_differ(file, policy)
    listed += _shares_differ(file, policy)
    return Check("columns, public tables and the bound are those of the policy", not listed, "; ".join(listed))


def _prior_differs(file: ReleaseFile, policy: RandomizedPolicy) -> list[str]:
    """The d of a policy is about a row, and that of a file about a person."""
    if policy.d is None:
        return []
    d = person_prior(Calls(file.con), policy.d, policy.rows_each)
    return [] if is_close(file.parameters.get("d"), d) else [f"d is not {d:g}"]


def _words_differ(file: ReleaseFile, policy: RandomizedPolicy) -> list[str]:
    """The owner's sentences are theirs, word by word; nobody else may give reasons in their name."""
    about = file.about
    listed = [] if about.get("beside") == policy.beside else ["beside is not what the policy says"]
    if "uncovered" in about and about["uncovered"] != policy.uncovered:  # where all are covered it is left out
        listed.append("uncovered is not what the policy says")
    if stated_combinations(file) != sorted(policy.combinations):
        listed.append("the combinations are others")
    return listed


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


def _roles_differ(file: ReleaseFile, policy: RandomizedPolicy) -> list[str]:
    wanted = {folded(c.name): (c.role, declared_as(c)) for c in policy.published}
    if not {"role", "declared"} <= set(file.columns(SCHEMA, "attributes")):
        return ["the roles of the columns are missing"]
    stated = {str(r["name"]): (r["role"], r["declared"]) for r in file.rows("attributes")}
    found = [(name, *given, *wanted.get(folded(name), given)) for name, given in stated.items()]
    listed = [f"{name!r} is not {role}" for name, role, _, wanted_role, _ in found if role != wanted_role]
    return listed + [f"the domain of {n!r} is not given as {d}" for n, _, d, _, wanted_d in found if d != wanted_d]
