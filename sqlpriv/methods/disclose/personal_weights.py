"""People's own weights, as table disclose_personal_weights: person, attribute (a0, a1, ...), weight."""

from __future__ import annotations

from sqlpriv.core.engine import fetch
from sqlpriv.core.errors import PolicyError
from sqlpriv.core.sqltext import folded, literal, quoted
from sqlpriv.methods.disclose.attributes import PERSON, paired, shown_weight
from sqlpriv.methods.disclose.entries import described
from sqlpriv.methods.disclose.policy import DisclosePolicy
from sqlpriv.risk.dictionaries import from_with_texts
from sqlpriv.table.source import Source

PERSONAL_WEIGHTS = "disclose_personal_weights"


def write_personal_weights(source: Source, policy: DisclosePolicy) -> None:
    """Write the table, where the policy has personal weights; refuse other names than of attributes and pairs."""
    if policy.personal is None:
        return
    name, what = policy.personal.source, "the table of personal weights,"
    columns = described(source, name, what)
    if len(columns) != 3:
        raise PolicyError(
            f"{what} {name!r} must have three columns, persons, attributes and weights, and has {len(columns)}"
        )
    person, attribute, weight = (quoted(c) for c in columns)
    rows = from_with_texts(source, name, list(columns)[:2])
    names = _names(policy)
    found = [r[0] for r in fetch(source.con, f"SELECT DISTINCT CAST({attribute} AS VARCHAR) FROM {rows}")]
    unknown = [one for one in found if one is None or folded(one) not in names]
    if unknown:
        raise PolicyError(
            f"{what} {name!r} names {len(unknown):,} attributes that the policy does not have; it has "
            f"{', '.join(map(repr, policy.qis))}, and pairs as in 'age and zip'"
        )
    known = ", ".join(f"({literal(one)}, {literal(names[folded(one)])})" for one in found)
    fetch(
        source.con,
        f"CREATE OR REPLACE TABLE {PERSONAL_WEIGHTS} AS SELECT CAST({person} AS VARCHAR) AS {PERSON}, "
        f"k.numbered AS attribute, {weight} AS weight FROM {rows} AS t "
        f"JOIN (VALUES {known or '(NULL, NULL)'}) AS k(given, numbered) ON "
        f"CAST(t.{attribute} AS VARCHAR) = k.given",
    )


def _names(policy: DisclosePolicy) -> dict[str, str]:
    """Attributes and pairs by their names in the owner's table, with their names in lists of weights."""
    found = {folded(name): f"a{a}" for a, name in enumerate(policy.qis)}
    for pair, item in zip(policy.pairs, paired(policy), strict=True):
        for one, other in (pair.columns, pair.columns[::-1]):
            found[folded(f"{one} and {other}")] = f"{item['attribute']} and {item['also']}"
    return found


def person_arguments(policy: DisclosePolicy) -> str:
    """The last arguments of macros with personal weights, after a comma; empty where weights are not personal."""
    if policy.personal is None:
        return ""
    return f", {literal(PERSON)}, {literal(PERSONAL_WEIGHTS)}, {literal(shown_weight(policy.personal.total))}"
