"""Judge a randomized release from its file alone: tables, columns, tuples in their domains, weights, and the bound."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from sqlpriv.engine import fetch
from sqlpriv.macros.catalog import inlined
from sqlpriv.methods.randomized.file import WEIGHTS
from sqlpriv.methods.randomized.policy import RandomizedPolicy
from sqlpriv.methods.randomized.weights import AllWeights
from sqlpriv.policy.file import Policy
from sqlpriv.release.file import SCHEMA, ReleaseFile, double
from sqlpriv.release.verify import Check, check_columns, check_tables, published
from sqlpriv.rewrite.release import Weights
from sqlpriv.sqltext import folded, quoted

_TABLES = ("attributes", "parameters", "published", "domain_weights")
_OWN = "__weight", "__variance", "__skew"
_SEQUENCE = {"__slot": "BIGINT", "__view": "BOOLEAN", "__earlier": "BOOLEAN"}
_CLOSE = 1e-9


def verify_file(
    file: ReleaseFile, policy: Policy | None, weights: AllWeights, more: Sequence[Check]
) -> Iterator[Check]:
    """All checks. `weights` are what the macros give for the parameters stated; `more`, what the method knows."""
    columns = {str(r["name"]): str(r["type"]) for r in file.rows("attributes")}
    public = {table for schema, table in file.tables if schema == "public"}
    if isinstance(policy, RandomizedPolicy):
        yield _follows(policy, columns, public)
        public = set(policy.public)
    expected = [(SCHEMA, t) for t in _TABLES] + [("domain", c) for c in columns] + [("public", t) for t in public]
    tables = check_tables(file, expected)
    yield tables
    if not tables.passed:
        return
    own = dict.fromkeys(_OWN, "DOUBLE")
    yield check_columns(file, columns | (_SEQUENCE if _is_sequence(file) else {}) | own)
    yield _in_domains(file, columns)
    yield from _sizes(file)
    yield _domain_weights(file, weights)
    yield _row_weights(file, columns, weights)
    yield from more


def _is_sequence(file: ReleaseFile) -> bool:
    return file.parameters.get("views", 1) > 1


def _follows(policy: RandomizedPolicy, columns: Mapping[str, str], public: set[str]) -> Check:
    """No column and no public table beyond the policy."""
    wanted = {folded(c.name) for c in policy.published}
    listed = [f"{c!r} is not published by the policy" for c in columns if folded(c) not in wanted]
    listed += [f"the policy names no public table {t!r}" for t in sorted(public - set(policy.public))]
    if wanted - {folded(c) for c in columns}:
        listed.append("a column of the policy is missing")
    return Check("columns and public tables are those of the policy", not listed, "; ".join(listed))


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


def _sizes(file: ReleaseFile) -> Iterator[Check]:
    wrong = [
        str(r["name"])
        for r in file.rows("attributes")
        if fetch(file.con, f"SELECT count(*) FROM {quoted(file.catalog, 'domain', str(r['name']))}")[0][0] != r["size"]
    ]
    yield Check(
        "the domains have the sizes that are stated", not wrong, f"not those of {', '.join(wrong)}" if wrong else ""
    )


def _domain_weights(file: ReleaseFile, weights: AllWeights) -> Check:
    found = {int(r["power"]): [float(r[part]) for part in WEIGHTS] for r in file.rows("domain_weights")}
    wanted = {power: [getattr(w, part) for part in WEIGHTS] for power, w in weights.domain.items()}
    crossed = [
        (file.parameters.get("cross_estimate", 0.0), weights.cross_estimate),
        (file.parameters.get("cross_square", 0.0), weights.cross_square),
    ]
    same = found.keys() == wanted.keys() and all(
        _close(a, b) for power in wanted for a, b in zip(found[power], wanted[power], strict=True)
    )
    return Check(
        "the weights of the domain are those of the parameters", same and all(_close(a, b) for a, b in crossed)
    )


def _row_weights(file: ReleaseFile, columns: Mapping[str, str], weights: AllWeights) -> Check:
    title = "the weights of the rows are those of the parameters"
    if "rate" in file.parameters:
        return Check(title, _follows_shares(file, columns))
    kinds = "__view, __earlier" if _is_sequence(file) else "true, false"
    rows = fetch(file.con, f"SELECT DISTINCT {kinds}, {', '.join(_OWN)} FROM {published(file)}")
    expected = {
        (True, True): weights.view.get("both"),
        (True, False): weights.view.get("view"),
        (False, True): weights.view.get("earlier"),
    }
    return Check(title, all(_matches(expected.get((now, before)), *found) for now, before, *found in rows))


def _matches(weights: Weights | None, *found: float) -> bool:
    return weights is not None and all(
        _close(a, getattr(weights, part)) for a, part in zip(found, WEIGHTS, strict=True)
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
    wanted = [inlined(sql) for sql in weights]
    worst = ", ".join(
        f"coalesce(max(abs(p.{own} - {sql}) / (1 + abs({sql}))), 0)" for own, sql in zip(_OWN, wanted, strict=True)
    )
    differences = fetch(file.con, f"SELECT {worst} FROM {published(file)} AS p {joins}")[0]
    return all(float(d) <= _CLOSE for d in differences)


def _close(found: float, wanted: float) -> bool:
    return abs(found - wanted) <= _CLOSE * max(1.0, abs(wanted))
