"""Judge what only randomized releases have: tuples in their domains, weights, attackers, and the bound.

Given is a file whose layout is verified, with the mechanism that it declares; returned are checks. With a policy, also
whether the file is one that the policy asks for: public tables, domains, bound and shares.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import duckdb

from sqlpriv.core.engine import fetch, open_memory
from sqlpriv.core.errors import SqlprivError
from sqlpriv.core.relation import Relation, Scratch
from sqlpriv.core.sqltext import file_literal, folded, quoted
from sqlpriv.macros.calls import Calls
from sqlpriv.methods.noisy.attackers import person_prior, uncovered
from sqlpriv.methods.noisy.background import (
    declared_background,
    most_choices,
    public_tables,
    shared_columns,
    wanted_role,
)
from sqlpriv.methods.noisy.calibration import Meaning
from sqlpriv.methods.noisy.mechanism import WEIGHTS, AllWeights, Mechanism
from sqlpriv.methods.noisy.policy import RandomizedPolicy
from sqlpriv.methods.noisy.read import OWN
from sqlpriv.methods.noisy.wording import size_is_rounded
from sqlpriv.policy.keys import NOISY_ROLES
from sqlpriv.release.digest import table_digest
from sqlpriv.release.file import ReleaseFile
from sqlpriv.release.verify import Check, check_all, is_close, published
from sqlpriv.table.domains import declared_as
from sqlpriv.table.named_tables import find_named
from sqlpriv.table.private_table import open_table

_WHOLE = frozenset({"slots", "view", "views", "rows", "n_public", "rows_each"})
ROW_WEIGHTS = "the weights of the rows are those of the parameters"

# -------------------- what the file alone shows


def check_fits(file: ReleaseFile, mechanism: type[Mechanism]) -> Check:
    """Numbers and words fit each other."""
    wrong = []
    numbers, part = file.parameters, file.policy
    # Sections of the public part of the policy; empty where it cannot be read.
    release, columns = ((part.get(name) if isinstance(part, dict) else None) for name in ("release", "columns"))
    if mechanism.follows == "column" and (len(shared_columns(file)) != 1 or declared_background(file).shared is None):
        wrong.append("the noise does not follow the shares of one sensitive column")
    for name in sorted(_WHOLE & set(numbers)):
        if not (math.isfinite(numbers[name]) and numbers[name] == int(numbers[name]) and numbers[name] >= 1):
            wrong.append(f"{name} is no whole number")
    if file.about["counts"] != "rows" and numbers["slots"] != 1:
        wrong.append("what is counted does not fit the slots")
    if not 1 <= numbers["view"] <= numbers["views"]:
        wrong.append("the number of the view does not fit the views")
    is_given = isinstance(release, dict) and "n_public" in release
    if size_is_rounded(file) != ("n_public" in numbers and not is_given):
        wrong.append("it does not say whether n_public was declared")
    if size_is_rounded(file) and numbers.get("rows_each", 1) > 1:
        wrong.append("the number of rows is made from the table, and depends on how many of them one person has")
    for column in file.attributes:
        name, declared = str(column["name"]), str(column["declared"])
        given = columns.get(name) if isinstance(columns, dict) else None
        if isinstance(given, dict):
            # The public part describes a domain in the same way, but has no ends of a range. A hierarchy without a
            # level is for methods that generalize; in the role `published` the level is 1.
            kind = declared.removeprefix("level of ").partition(":")[0]
            is_level = "hierarchy" in given and ("level" in given or given.get("role") == "published")
            if kind != given.get("domain") or declared.startswith("level of ") != is_level:
                wrong.append(f"the domain of {name!r} is not given as {declared}")
    return check_all("numbers and words fit together", wrong)


def check_rows(file: ReleaseFile, mechanism: Mechanism, weights: AllWeights) -> Iterator[Check]:
    """Tuples are in their domains, and these have the sizes that are declared and the weights of the parameters."""
    names = [str(c["name"]) for c in file.attributes]
    shared = {"nothing": [], "column": shared_columns(file), "tuple": names}[mechanism.follows]
    outside, wrong, tuples = [], [], 1
    for attribute, name in zip(file.attributes, names, strict=True):
        domain = quoted(file.catalog, "domain", name)
        lost = fetch(
            file.con,
            f"SELECT count(*) FROM (SELECT DISTINCT {quoted(name)} AS value FROM {published(file)}) AS p "
            f"WHERE NOT EXISTS (FROM {domain} AS d WHERE d.value IS NOT DISTINCT FROM p.value)",
        )[0][0]
        if lost:
            outside.append(f"{lost:,} values of {name!r}")
        size, distinct, shares, good, total = fetch(
            file.con,
            "SELECT count(*), count(DISTINCT value) + bool_or(value IS NULL)::INTEGER, count(share), "
            f"count(*) FILTER (share > 0 AND share <= 1), sum(share) FROM {domain}",
        )[0]
        tuples *= size
        if size != attribute["size"]:
            wrong.append(f"{name!r} has {size:,} values")
        elif distinct != size:
            wrong.append(f"{name!r} has a value twice")
        elif name not in shared and shares:
            wrong.append(f"{name!r} has shares, which the noise does not follow")
        elif name in shared and not (good == size and math.isclose(total, 1, rel_tol=1e-6)):
            wrong.append(f"the shares of {name!r} are none")
    if not is_close(file.parameters["elements"], float(tuples)):
        wrong.append(f"there are {tuples:,} tuples")
    found = f"outside: {', '.join(outside)}" if outside else ""
    yield Check("every published tuple is in its domain", not outside, found)
    yield check_all("the domains are as large as is declared", wrong)

    rows = file.rows("domain_weights")
    by_power = {int(r["power"]): [r[part] for part in WEIGHTS] for r in rows}
    wanted = {power: [getattr(w, part) for part in WEIGHTS] for power, w in weights.domain.items()}
    pairs = [(file.parameters[name], getattr(weights, name)) for name in ("cross_estimate", "cross_square")]
    is_same = len(rows) == len(by_power) and by_power.keys() == wanted.keys()
    if is_same:
        pairs += [pair for power in wanted for pair in zip(by_power[power], wanted[power], strict=True)]
    same = is_same and all(is_close(a, b) for a, b in pairs)
    yield Check("the weights of the domain are those of the parameters", same)


def check_row_weights(file: ReleaseFile, mechanism: Mechanism, weights: AllWeights) -> Check:
    """Rows of a kind have the weights of their kind."""
    rows = fetch(file.con, f"SELECT DISTINCT {mechanism.row_kind}, {', '.join(OWN)} FROM {published(file)}")
    pairs: list[tuple[float | None, float]] = []
    for kind, *found in rows:
        if kind not in weights.view:
            return Check(ROW_WEIGHTS, False)
        pairs += zip(found, (getattr(weights.view[kind], part) for part in WEIGHTS), strict=True)
    return Check(ROW_WEIGHTS, all(is_close(a, b) for a, b in pairs))


def attacker_checks(calls: Calls, file: ReleaseFile, meaning: Meaning) -> Iterator[Check]:
    """Roles and choices make sense, and an attacker who is not covered is named with a reason."""
    wrong, wanted, most = [], wanted_role(file), most_choices(file)
    for row in file.attributes:
        name, choices = row["name"], row["choices"]
        if row["role"] not in NOISY_ROLES:
            wrong.append(f"{name!r} has no role that is published")
        elif row["role"] == wanted and not (choices is not None and 1 <= choices <= most[name]):
            wrong.append(f"{name!r} has another number of choices")
        elif row["role"] != wanted and choices is not None:
            wrong.append(f"nobody wants {name!r}, and it has choices")
    if not 1 <= file.parameters["times"] <= 1e6:
        wrong.append("times is out of range")
    yield check_all("the roles of the columns make sense", wrong)
    if not wrong:
        bare = uncovered(meaning.attackers(calls, declared_background(file), file.parameters["gamma"]))
        yield Check(
            "an attacker who is not covered is named with a reason", ("uncovered" in file.reasons) == bool(bare)
        )


# -------------------- whether it is what a policy asks for


def differences(file: ReleaseFile, policy: RandomizedPolicy) -> Iterator[str]:
    """Where the file is not one of the policy: public tables, domains, the bound and the shares."""
    public, combinations = public_tables(file)
    yield from (f"the policy names no public table {t!r}" for t in public if t not in policy.public)
    yield from (f"the public table {t!r} of the policy is missing" for t in sorted(policy.public) if t not in public)
    given = {c.name: declared_as(c) for c in policy.published}
    for column in file.attributes:
        name, declared = str(column["name"]), column["declared"]
        if given.get(name, declared) != declared:
            yield f"the domain of {name!r} is not given as {declared}"
    yield from policy.differs(file.about, file.parameters)
    if policy.d is not None:
        # The d of a policy is about a row, and that of a file about a person.
        d = person_prior(Calls(file.con), policy.d, policy.rows_each)
        if not is_close(file.parameters.get("d"), d):
            yield f"d is not {d:g}"
    if combinations != sorted(policy.combinations):
        yield "the combinations are others"
    if size_is_rounded(file) != policy.reveals_size:
        yield "it does not say whether n_public was declared"
    shared = shared_columns(file)
    if [folded(name) for name in shared] != [folded(name) for name in (policy.shared,) if name is not None]:
        yield "its noise does not follow the column with shares"
        return
    # The shares are those of the policy, as far as its own text has them.
    for listed in (c.share for c in policy.published if c.name == policy.shared):
        if isinstance(listed, tuple):
            domain, total = quoted(file.catalog, "domain", shared[0]), math.fsum(listed)
            shares = [r[0] for r in fetch(file.con, f"SELECT share FROM {domain} ORDER BY share")]
            if len(shares) != len(listed) or not all(map(is_close, shares, (s / total for s in sorted(listed)))):
                yield f"the shares of {shared[0]!r} are others"


def same_public(file: ReleaseFile, policy: RandomizedPolicy) -> Check:
    """Whether the public tables have the columns and rows of those that the policy names, as far as they are there."""
    wrong, unread = [], []
    for name in sorted(policy.public):
        if ("public", name) not in file.tables:
            continue
        try:
            wanted = _content_of_policy(policy, policy.public[name].removeprefix("table:"))
        except (SqlprivError, duckdb.Error, OSError):
            unread.append(name)
            continue
        if _content(Relation(file.con, quoted(file.catalog, "public", name))) != wanted:
            wrong.append(name)
    title = "the public tables hold what those of the policy hold"
    if wrong:
        return Check(title, False, f"others: {', '.join(wrong)}")
    return Check(title, None if unread else True, f"cannot be read: {', '.join(unread)}" if unread else "")


def _content_of_policy(policy: RandomizedPolicy, name: str) -> tuple[list[tuple[str, str]], str]:
    """The content of a public table. A file is read alone: a verifier may not have the private table."""
    if policy.table.is_file(name):
        with open_memory() as con:
            return _content(Scratch(con).table(f"FROM {file_literal(policy.table.path(name))}", "public"))
    with open_table(policy.table, policy.by_text) as source:
        return _content(source.scratch.table(f"FROM {find_named(source, name)}", "public"))


def _content(table: Relation) -> tuple[list[tuple[str, str]], str]:
    """Columns with their types, and a digest of the rows."""
    return list(table.columns.items()), table_digest(table.con, table.name)
