"""People's own weights: table disclose_minds of persons, attributes by the names of ours, and weights."""

from __future__ import annotations

from sqlpriv.engine import fetch
from sqlpriv.errors import PolicyError
from sqlpriv.methods.disclose.dictionary import PERSON, paired, shown_weight
from sqlpriv.methods.disclose.entries import described, with_texts
from sqlpriv.methods.disclose.policy import DisclosePolicy
from sqlpriv.sqltext import folded, literal, quoted
from sqlpriv.table.source import Source

MINDS = "disclose_minds"


def write_minds(source: Source, policy: DisclosePolicy) -> None:
    """The table, where the policy names one; refused where it is about something else than attributes and pairs."""
    if policy.personal is None:
        return
    name, what = policy.personal.source, "the table of personal weights,"
    columns = described(source, name, what)
    if len(columns) != 3:
        raise PolicyError(
            f"{what} {name!r} must have three columns, persons, attributes and weights, and has {len(columns)}"
        )
    person, attribute, weight = (quoted(c) for c in columns)
    rows = with_texts(source, name, list(columns)[:2])
    names = _names(policy)
    found = [r[0] for r in fetch(source.con, f"SELECT DISTINCT CAST({attribute} AS VARCHAR) FROM {rows}")]
    strange = [one for one in found if one is None or folded(one) not in names]
    if strange:
        raise PolicyError(
            f"{what} {name!r} names {len(strange):,} attributes that are none of the policy; there are "
            f"{', '.join(map(repr, policy.qis))}, and pairs as in 'age and zip'"
        )
    known = ", ".join(f"({literal(one)}, {literal(names[folded(one)])})" for one in found)
    fetch(
        source.con,
        f"CREATE OR REPLACE TABLE {MINDS} AS SELECT CAST({person} AS VARCHAR) AS {PERSON}, k.ours AS attribute, "
        f"{weight} AS weight FROM {rows} AS t JOIN (VALUES {known or '(NULL, NULL)'}) AS k(given, ours) ON "
        f"CAST(t.{attribute} AS VARCHAR) = k.given",
    )


def _names(policy: DisclosePolicy) -> dict[str, str]:
    """Attributes and pairs as people may call them, with their names in lists of weights."""
    found = {folded(name): f"a{a}" for a, name in enumerate(policy.qis)}
    for pair, item in zip(policy.pairs, paired(policy), strict=True):
        for one, other in (pair.columns, pair.columns[::-1]):
            found[folded(f"{one} and {other}")] = f"{item['attribute']} and {item['also']}"
    return found


def of_persons(policy: DisclosePolicy) -> str:
    """The last arguments of macros that know persons, with the comma before them; nothing where all mind alike."""
    if policy.personal is None:
        return ""
    return f", {literal(PERSON)}, {literal(MINDS)}, {literal(shown_weight(policy.personal.total))}"
