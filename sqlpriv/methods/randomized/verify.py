"""Judge a randomized release from its file alone: tables, columns, tuples in their domains, weights, and the bound.

Whatever a table of the file can hold is compared with what it should: what nobody looks at could carry anything out.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from sqlpriv.engine import fetch
from sqlpriv.errors import SqlprivError
from sqlpriv.macros.catalog import inlined
from sqlpriv.methods.randomized.attackers import COLUMNS
from sqlpriv.methods.randomized.file import NOISE, WEIGHTS
from sqlpriv.methods.randomized.policy import RandomizedPolicy
from sqlpriv.methods.randomized.stated import CLOSE, is_close, is_sequence, shared_columns, stated_public
from sqlpriv.methods.randomized.verify_policy import follows
from sqlpriv.methods.randomized.verify_public import same_public
from sqlpriv.methods.randomized.warned import wrong_declarations, wrong_warnings
from sqlpriv.methods.randomized.weights import AllWeights
from sqlpriv.policy.file import Declared, Policy
from sqlpriv.release.file import SCHEMA, ReleaseFile, double
from sqlpriv.release.stamp import STAMPED, TOGETHER, check_stamp
from sqlpriv.release.verify import Check, check_columns, check_tables, published
from sqlpriv.rewrite.release import Weights
from sqlpriv.sqltext import quoted

COMMON = frozenset(
    {"d", "gamma", "elements", "slots", "cross_estimate", "cross_square", "epsilon", "times", "rows_each"}
)
"""The numbers that every randomized release states."""
_TABLES: Mapping[str, Mapping[str, str]] = {
    "about": {"name": "VARCHAR", "value": "VARCHAR"},
    "attributes": {
        "position": "INTEGER",
        "name": "VARCHAR",
        "type": "VARCHAR",
        "size": "INTEGER",
        "declared": "VARCHAR",
        "role": "VARCHAR",
        "choices": "BIGINT",
    },
    "attackers": COLUMNS,
    "parameters": {"name": "VARCHAR", "value": "DOUBLE"},
    "domain_weights": {"power": "INTEGER", "weight": "DOUBLE", "variance": "DOUBLE", "skew": "DOUBLE"},
}
_ABOUT = frozenset(
    {"format", "sqlpriv", "method", "table", "guarantee", "details", "counts", "adversary", "view", "release"}
    | {"warnings"}
    | STAMPED
)
_ABOUT_IF_ANY = frozenset({"beside", "combinations", "public", "uncovered", TOGETHER})
_OWN = "__weight", "__variance", "__skew"
_SEQUENCE = {"__slot": "BIGINT", "__view": "BOOLEAN", "__earlier": "BOOLEAN"}
_WHOLE = frozenset({"slots", "views", "rows", "n_public", "rows_each"})


@dataclass(frozen=True)
class Numbers:
    """The numbers that a method states beside the common ones: always, and where they are needed."""

    always: frozenset[str]
    if_any: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Judged:
    """What the macros say of the numbers that a file states."""

    weights: AllWeights
    checks: Sequence[Check]


@dataclass(frozen=True)
class Stated:
    """What follows from the numbers that a file states: the guarantee in words, and by how much odds may change."""

    promise: str
    details: tuple[str, ...]
    factor: float
    of_values: tuple[float, ...] = ()
    """By how much the odds of each value of the column with public shares may change."""


def verify_file(
    method: Declared,
    file: ReleaseFile,
    policy: Policy | None,
    numbers: Callable[[], Numbers],
    judge: Callable[[], Judged],
) -> Iterator[Check]:
    """All checks. `judge` asks the macros, once there is something to ask about."""
    missing = [t for t in (*_TABLES, "published") if (SCHEMA, t) not in file.tables]
    if missing:
        yield Check("the file holds the tables of its method", False, f"{SCHEMA}.{missing[0]} is missing")
        return
    columns = {str(r["name"]): str(r["type"]) for r in file.rows("attributes")}
    public = stated_public(file)
    if isinstance(policy, RandomizedPolicy):
        yield follows(file, policy, columns, public)
        yield same_public(file, policy)
    expected = [(SCHEMA, t) for t in (*_TABLES, "published")]
    expected += [*(("domain", c) for c in columns), *(("public", t) for t in public)]
    tables = check_tables(file, expected, comments={(SCHEMA, "published"): NOISE})
    yield tables
    if not tables.passed:
        return
    # Each is asked only when those before hold.
    asked: tuple[Callable[[], Check], ...] = (
        lambda: _forms(file, columns),
        lambda: _names(file, numbers()),
        lambda: _says(file, policy),
    )
    for ask in asked:
        stated = ask()
        yield stated
        if not stated.passed:
            return
    own = dict.fromkeys(_OWN, "DOUBLE")
    shown = check_columns(file, columns | (_SEQUENCE if is_sequence(file) else {}) | own)
    yield shown
    if not shown.passed:
        return
    yield from check_stamp(file, method, policy)
    yield _in_domains(file, columns)
    yield _domains(file)
    try:
        judged = judge()
    except (SqlprivError, ArithmeticError, LookupError, TypeError, ValueError) as error:
        why = str(error) if isinstance(error, SqlprivError) else "some are missing, or no numbers"
        yield Check("the parameters are those of a release", False, why)
        return
    yield _domain_weights(file, judged.weights)
    yield _row_weights(file, columns, judged.weights)
    yield from judged.checks


def same_number(file: ReleaseFile, name: str, wanted: float) -> Check:
    """Whether a number that others depend on is the one that follows from them."""
    return Check(f"{name} is the one that the others make", is_close(file.parameters[name], wanted))


def _forms(file: ReleaseFile, columns: Mapping[str, str]) -> Check:
    """No table has a column more or less."""
    wanted = {(SCHEMA, table): dict(form) for table, form in _TABLES.items()}
    shared = shared_columns(file) if "q" in file.parameters else []
    wanted |= {
        ("domain", name): {"value": kind, "share": "DOUBLE"} | ({"noise": "DOUBLE"} if name in shared else {})
        for name, kind in columns.items()
    }
    wrong = [".".join(t) for t, form in wanted.items() if not _fits(file.columns(*t), form)]
    return Check("the tables have the columns of their kind", not wrong, f"not {', '.join(wrong)}" if wrong else "")


def _fits(found: Mapping[str, str], form: Mapping[str, str]) -> bool:
    """The same columns; how wide a whole number is does not matter, and a share that is never given has no type."""
    whole = {"BIGINT", "HUGEINT", "INTEGER"}
    return list(found) == list(form) and all(
        kind == form[name] or {kind, form[name]} <= whole for name, kind in found.items()
    )


def _names(file: ReleaseFile, numbers: Numbers) -> Check:
    """What is stated is stated once, and nothing that the method does not state."""
    wrong = []
    for table, always, if_any in (
        ("about", _ABOUT, _ABOUT_IF_ANY),
        ("parameters", COMMON | numbers.always, numbers.if_any),
    ):
        rows = file.rows(table)
        names = [str(r["name"]) for r in rows]
        wrong += [f"{n} is unknown" for n in sorted(set(names) - always - if_any)]
        wrong += [f"{n} is missing" for n in sorted(always - set(names))]
        wrong += [f"{n} is stated twice" for n in sorted({n for n in names if names.count(n) > 1})]
        wrong += [f"{r['name']} is empty" for r in rows if r["value"] is None]
    attributes = file.rows("attributes")
    if [r["position"] for r in attributes] != list(range(len(attributes))):
        wrong.append("the columns are not numbered")
    return Check("what is stated is what the method states", not wrong, "; ".join(wrong))


def _says(file: ReleaseFile, policy: Policy | None) -> Check:
    """Words and numbers fit each other."""
    slots, views, counts = file.parameters["slots"], file.parameters.get("views", 1), file.about["counts"]
    wrong = [f"{n} is no whole number" for n in sorted(_WHOLE & set(file.parameters)) if not _is_whole(file, n)]
    if counts != "rows" and not (counts == "distinct tuples" and slots == 1):
        wrong.append("what is counted does not fit the slots")
    number, _, of = file.about["view"].partition(" of ")
    if not (number.isdecimal() and of == f"{views:g}" and 1 <= int(number) <= views):
        wrong.append("the number of the view does not fit the views")
    wrong += [*wrong_declarations(file), *wrong_warnings(file, policy)]
    return Check("what is stated fits together", not wrong, "; ".join(wrong))


def _is_whole(file: ReleaseFile, name: str) -> bool:
    value = file.parameters[name]
    return math.isfinite(value) and value == int(value) and value >= 1


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


def _domains(file: ReleaseFile) -> Check:
    """Domains have the sizes that are stated, no value twice, and shares where noise follows them."""
    wrong, tuples, shared = [], 1, shared_columns(file)
    if len(shared) > 1:
        wrong.append("more than one column has noise by shares")
    for attribute in file.rows("attributes"):
        name = str(attribute["name"])
        size, distinct, shares, good, total = fetch(
            file.con,
            "SELECT count(*), count(DISTINCT value) + bool_or(value IS NULL)::INTEGER, count(share), "
            "count(*) FILTER (share > 0 AND share <= 1), sum(share) "
            f"FROM {quoted(file.catalog, 'domain', name)}",
        )[0]
        tuples *= size
        has_shares = "rate" in file.parameters or name in shared
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
    return Check("the domains are as large as is stated", not wrong, "; ".join(wrong))


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


def _row_weights(file: ReleaseFile, columns: Mapping[str, str], weights: AllWeights) -> Check:
    title = "the weights of the rows are those of the parameters"
    if "rate" in file.parameters:
        return Check(title, _follows_shares(file, columns))
    if "negative" in weights.view:
        rows = fetch(file.con, f"SELECT DISTINCT __weight < 0, {', '.join(_OWN)} FROM {published(file)}")
        of_sign = {True: weights.view["negative"], False: weights.view["view"]}
        return Check(title, all(_matches(of_sign.get(below), *found) for below, *found in rows))
    kinds = "__view, __earlier" if is_sequence(file) else "true, false"
    rows = fetch(file.con, f"SELECT DISTINCT {kinds}, {', '.join(_OWN)} FROM {published(file)}")
    expected = {
        (True, True): weights.view.get("both"),
        (True, False): weights.view.get("view"),
        (False, True): weights.view.get("earlier"),
    }
    return Check(title, all(_matches(expected.get((now, before)), *found) for now, before, *found in rows))


def _matches(weights: Weights | None, *found: float | None) -> bool:
    return weights is not None and all(
        is_close(a, getattr(weights, part)) for a, part in zip(found, WEIGHTS, strict=True)
    )


def _follows_shares(file: ReleaseFile, columns: Mapping[str, str]) -> bool:
    """Noise by shares: the weights of a row depend on the shares of its values."""
    alpha, rate, slots = (double(file.parameters[k]) for k in ("alpha", "rate", "slots"))
    shares = " * ".join(f"d{i}.share" for i in range(len(columns)))
    joins = " ".join(
        f"JOIN {quoted(file.catalog, 'domain', name)} AS d{i} ON d{i}.value IS NOT DISTINCT FROM p.{quoted(name)}"
        for i, name in enumerate(columns)
    )
    noise = f"_source_noise({rate}, {slots}, {shares})"
    weights = (f"_source_weight({alpha})", f"_source_variance({alpha}, {noise})", f"_source_skew({alpha}, {noise})")
    alike = " AND ".join(
        f"coalesce(abs(p.{own} - ({sql})) <= {CLOSE} * abs({sql}), false)"
        for own, sql in zip(_OWN, map(inlined, weights), strict=True)
    )
    wrong = fetch(file.con, f"SELECT count(*) FROM {published(file)} AS p {joins} WHERE NOT ({alike})")[0][0]
    return int(wrong) == 0
