"""Judge what only randomized releases have: tuples in their domains, weights, attackers, and the bound."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlpriv.core.engine import fetch
from sqlpriv.core.sqltext import quoted
from sqlpriv.macros.calls import Calls
from sqlpriv.methods.noisy.attackers import Attacker, list_attackers, uncovered
from sqlpriv.methods.noisy.mechanism import WEIGHTS, AllWeights, Mechanism
from sqlpriv.methods.noisy.read import (
    background_of,
    combination_names,
    is_sequence,
    public_names,
    shared_columns,
    wanted_role,
)
from sqlpriv.methods.noisy.verify_policy import most_choices
from sqlpriv.methods.noisy.wording import size_is_rounded
from sqlpriv.methods.noisy.write import PUBLIC_TABLES
from sqlpriv.policy.keys import NOISY_ROLES
from sqlpriv.release.file import SCHEMA, ReleaseFile
from sqlpriv.release.layout import Contents, Layout, Names, Stored, flag, one_of
from sqlpriv.release.stamp import declared_policy
from sqlpriv.release.verify import Check, check_all, is_close, published
from sqlpriv.rewrite.release import Weights
from sqlpriv.table.domains import is_declared

_COMMON = frozenset(
    {"d", "gamma", "elements", "slots", "cross_estimate", "cross_square", "epsilon", "times", "rows_each"}
    | {"view", "views"}
)
_ATTRIBUTES = {
    "position": "INTEGER",
    "name": "VARCHAR",
    "type": "VARCHAR",
    "size": "INTEGER",
    "declared": "VARCHAR",
    "role": "VARCHAR",
    "choices": "BIGINT",
}
_OWN = "__weight", "__variance", "__skew"
_SEQUENCE = {"__slot": "BIGINT", "__view": "BOOLEAN", "__earlier": "BOOLEAN"}
_WHOLE = frozenset({"slots", "view", "views", "rows", "n_public", "rows_each"})
ROW_WEIGHTS = "the weights of the rows are those of the parameters"


def declared_mechanism(file: ReleaseFile, mechanisms: Sequence[type[Mechanism]]) -> type[Mechanism]:
    """The one that a file names; the first where it names none of these, which the layout then refuses."""
    return next((m for m in mechanisms if m.name == file.about.get("mechanism")), mechanisms[0])


def file_layout(file: ReleaseFile, mechanisms: Sequence[type[Mechanism]]) -> Layout:
    """What every file of a randomized release holds; its numbers are those of the mechanism that it declares."""
    declared = declared_mechanism(file, mechanisms)
    return Layout(
        attributes=_ATTRIBUTES,
        about={
            "mechanism": one_of(*(m.name for m in mechanisms)),
            "counts": one_of("rows", "distinct tuples"),
            "adversary": one_of("exclusive", "independent", "informed"),
            "n_public_is_rounded": flag,
        },
        numbers=Names(_COMMON | declared.held.always, declared.held.may),
        tables={
            "domain_weights": {"power": "INTEGER", "weight": "DOUBLE", "variance": "DOUBLE", "skew": "DOUBLE"},
            "public_tables": PUBLIC_TABLES,
        },
        is_attribute=lambda c: c["role"] in NOISY_ROLES and is_declared(str(c["declared"])) and bool(c["type"]),
    )


def file_contents(file: ReleaseFile, mechanisms: Sequence[type[Mechanism]]) -> Contents:
    """The view, the domain of every column, and the public tables."""
    columns = {str(c["name"]): str(c["type"]) for c in file.attributes}
    shared = shared_columns(file) if declared_mechanism(file, mechanisms).follows == "column" else []
    view = columns | (_SEQUENCE if is_sequence(file) else {}) | dict.fromkeys(_OWN, "DOUBLE")
    domains = (
        Stored("domain", name, {"value": kind, "share": "DOUBLE"} | ({"noise": "DOUBLE"} if name in shared else {}))
        for name, kind in columns.items()
    )
    public = (Stored("public", name, file.columns("public", name)) for name in sorted(public_names(file)))
    # Where rows stand says nothing, since they are sorted before they are written; it is not compared.
    return Contents((Stored(SCHEMA, "published", view),), (*domains, *public), are_sorted=False)


@dataclass(frozen=True)
class Meaning:
    """What the numbers of a file guarantee: in words, and by how much odds may change."""

    promise: str
    details: tuple[str, ...]
    factor: float
    of_values: tuple[float, ...] = ()
    """By how much the odds of each value of the column with public shares may change."""


def check_fits(file: ReleaseFile, mechanism: type[Mechanism]) -> Check:
    """Numbers and words fit each other."""
    return check_all("numbers and words fit together", _misfits(file, mechanism))


def _misfits(file: ReleaseFile, mechanism: type[Mechanism]) -> Iterator[str]:
    numbers = file.parameters
    if mechanism.follows == "column" and (len(shared_columns(file)) != 1 or background_of(file).shared is None):
        yield "the noise does not follow the shares of one sensitive column"
    yield from (f"{n} is no whole number" for n in sorted(_WHOLE & set(numbers)) if not _is_whole(numbers[n]))
    if file.about["counts"] != "rows" and numbers["slots"] != 1:
        yield "what is counted does not fit the slots"
    if not 1 <= numbers["view"] <= numbers["views"]:
        yield "the number of the view does not fit the views"
    if not set(combination_names(file)) <= public_names(file):
        yield "the combinations are no public tables of the file"
    if size_is_rounded(file) != ("n_public" in numbers and "n_public" not in _of_policy(file, "release")):
        yield "it does not say whether n_public was declared"
    columns = _of_policy(file, "columns")
    for column in file.attributes:
        given, name = columns.get(str(column["name"])), column["name"]
        if isinstance(given, dict) and not _is_declared_as(str(column["declared"]), given):
            yield f"the domain of {name!r} is not given as {column['declared']}"


def _of_policy(file: ReleaseFile, section: str) -> Mapping[str, Any]:
    """A section of the public part of the policy; empty where it cannot be read."""
    part = declared_policy(file)
    found = part.get(section) if isinstance(part, dict) else None
    return found if isinstance(found, dict) else {}


def _is_declared_as(declared: str, given: Mapping[str, Any]) -> bool:
    """Whether the public part of the policy says the same of a domain; of a range it has no ends."""
    kind = declared.removeprefix("level of ").partition(":")[0]
    # A hierarchy without a level is for methods that generalize; in the role `published` the level is 1.
    is_level = "hierarchy" in given and ("level" in given or given.get("role") == "published")
    return kind == given.get("domain") and declared.startswith("level of ") == is_level


def _is_whole(value: float) -> bool:
    return math.isfinite(value) and value == int(value) and value >= 1


def check_rows(file: ReleaseFile, mechanism: Mechanism, weights: AllWeights) -> Iterator[Check]:
    """Tuples are in their domains, and these have the sizes that are declared and the weights of the parameters."""
    columns = {str(c["name"]): str(c["type"]) for c in file.attributes}
    yield _in_domains(file, columns)
    shared = {"nothing": [], "column": shared_columns(file), "tuple": [*columns]}
    yield _domains(file, shared[mechanism.follows])
    yield _domain_weights(file, weights)


def _in_domains(file: ReleaseFile, columns: Mapping[str, str]) -> Check:
    outside = {}
    for name in columns:
        domain = quoted(file.catalog, "domain", name)
        rows = fetch(
            file.con,
            f"SELECT count(*) FROM (SELECT DISTINCT {quoted(name)} AS value FROM {published(file)}) AS p "
            f"WHERE NOT EXISTS (FROM {domain} AS d WHERE d.value IS NOT DISTINCT FROM p.value)",
        )
        if rows[0][0]:
            outside[name] = rows[0][0]
    listed = ", ".join(f"{n:,} values of {name!r}" for name, n in outside.items())
    return Check("every published tuple is in its domain", not outside, f"outside: {listed}" if outside else "")


def _domains(file: ReleaseFile, shared: Collection[str]) -> Check:
    """Domains have the sizes that are declared, no value twice, and shares where noise follows them."""
    wrong, tuples = [], 1
    for attribute in file.attributes:
        name = str(attribute["name"])
        size, distinct, shares, good, total = fetch(
            file.con,
            "SELECT count(*), count(DISTINCT value) + bool_or(value IS NULL)::INTEGER, count(share), "
            "count(*) FILTER (share > 0 AND share <= 1), sum(share) "
            f"FROM {quoted(file.catalog, 'domain', name)}",
        )[0]
        tuples *= size
        has_shares = name in shared
        if size != attribute["size"]:
            wrong.append(f"{name!r} has {size:,} values")
        elif distinct != size:
            wrong.append(f"{name!r} has a value twice")
        elif not has_shares and shares:
            wrong.append(f"{name!r} has shares, which the noise does not follow")
        elif has_shares and not (good == size and math.isclose(total, 1, rel_tol=1e-6)):
            wrong.append(f"the shares of {name!r} are none")
    if not is_close(file.parameters["elements"], float(tuples)):
        wrong.append(f"there are {tuples:,} tuples")
    return Check("the domains are as large as is declared", not wrong, "; ".join(wrong))


def _domain_weights(file: ReleaseFile, weights: AllWeights) -> Check:
    rows = file.rows("domain_weights")
    found = {int(r["power"]): [r[part] for part in WEIGHTS] for r in rows}
    wanted = {power: [getattr(w, part) for part in WEIGHTS] for power, w in weights.domain.items()}
    same = (
        len(rows) == len(found)
        and found.keys() == wanted.keys()
        and all(is_close(a, b) for power in wanted for a, b in zip(found[power], wanted[power], strict=True))
        and is_close(file.parameters["cross_estimate"], weights.cross_estimate)
        and is_close(file.parameters["cross_square"], weights.cross_square)
    )
    return Check("the weights of the domain are those of the parameters", same)


def check_row_weights(file: ReleaseFile, mechanism: Mechanism, weights: AllWeights) -> Check:
    """Rows of a kind have the weights of their kind."""
    rows = fetch(file.con, f"SELECT DISTINCT {mechanism.row_kind}, {', '.join(_OWN)} FROM {published(file)}")
    return Check(ROW_WEIGHTS, all(_matches(weights.view.get(kind), *found) for kind, *found in rows))


def _matches(weights: Weights | None, *found: float | None) -> bool:
    return weights is not None and all(
        is_close(a, getattr(weights, part)) for a, part in zip(found, WEIGHTS, strict=True)
    )


def attackers_of(calls: Calls, file: ReleaseFile, meaning: Meaning) -> tuple[Attacker, ...]:
    """Who might attack the release, as its numbers say."""
    return list_attackers(calls, background_of(file), file.parameters["gamma"], meaning.factor, meaning.of_values)


def attacker_checks(calls: Calls, file: ReleaseFile, meaning: Meaning) -> Iterator[Check]:
    """Roles and choices make sense, and an attacker who is not covered is named with a reason."""
    roles = _roles(file)
    yield roles
    if roles.passed:
        said = "uncovered" in file.reasons
        title = "an attacker who is not covered is named with a reason"
        yield Check(title, said == bool(uncovered(attackers_of(calls, file, meaning))))


def _roles(file: ReleaseFile) -> Check:
    wrong = []
    wanted, most = wanted_role(file), most_choices(file)
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
    return Check("the roles of the columns make sense", not wrong, "; ".join(wrong))
