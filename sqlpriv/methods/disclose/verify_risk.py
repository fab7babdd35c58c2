"""The risk of a release from its file, where the policy brings the dictionary: the private table is not looked at.

A value weighs what the policy says, whatever else there is. A label above weighs by how many values are below it: that
is known where the hierarchy is a file, or where the release has the public domain, which holds all values of the table.
Where it is not, the risk stays a claim.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlpriv.core.engine import fetch, open_memory
from sqlpriv.core.errors import SqlprivError
from sqlpriv.core.facts import shown_number
from sqlpriv.core.sqltext import folded, literal, quoted
from sqlpriv.macros.calls import Calls
from sqlpriv.macros.catalog import inlined
from sqlpriv.methods.disclose.attributes import write_attributes
from sqlpriv.methods.disclose.losses import risk_of_rows
from sqlpriv.methods.disclose.policy import UTILITY, DisclosePolicy
from sqlpriv.methods.generalized.axes import Axis
from sqlpriv.methods.generalized.layout import Attribute
from sqlpriv.policy.file import Policy
from sqlpriv.release.file import ReleaseFile
from sqlpriv.release.verify import Check, published
from sqlpriv.table.hierarchies import TOP, comes_from_a_table
from sqlpriv.table.source import Source

_TITLE = "the risk is what it says"
_ROWS = "disclose_written"
_HAIR = 1e-9


def check_risk(file: ReleaseFile, policy: Policy | None, chosen: Sequence[Attribute]) -> Check:
    """Price the published rows against the dictionary of the policy; `chosen` are the columns with weights."""
    why = _why_not(policy, chosen)
    if why or not isinstance(policy, DisclosePolicy):
        return Check(_TITLE, None, f"{why}; publishing priced the written rows by it")
    try:
        risk, worst, rounded = _priced(file, policy, chosen)
    except SqlprivError as error:
        return Check(_TITLE, None, f"it cannot be computed again: {error}")
    for name, found, bound in zip(("risk", "worst"), (risk, worst), rounded, strict=True):
        stated, is_bounded = file.parameters[name], policy.goal == UTILITY and (name == "risk" or not policy.is_average)
        most = min(bound, policy.c) if is_bounded else bound
        if not found * (1 - _HAIR) <= stated <= most * (1 + _HAIR):
            return Check(_TITLE, False, f"it says {shown_number(stated)} where {name} is {shown_number(found)}")
    return Check(_TITLE, True, f"is {shown_number(risk)}, the worst row {shown_number(worst)}")


def _why_not(policy: Policy | None, chosen: Sequence[Attribute]) -> str:
    """Why the risk cannot be computed from the file and the policy; empty where it can."""
    if not isinstance(policy, DisclosePolicy) or not policy.dictionaries:
        return "that takes the dictionary"
    if policy.personal is not None:
        return "people's weights are their own, and the release does not tell whose row it is"
    if not all(policy.table.is_file(dictionary.source) for dictionary in policy.dictionaries):
        return "the dictionary of the policy is no file" if len(policy.dictionaries) == 1 else "a dictionary is no file"
    weights = {folded(c.name): c.given.get("weight") for c in policy.columns}
    given = {folded(name): words for name, words in policy.hierarchies.items()}
    for column in chosen:
        name = folded(str(column["name"]))
        words, weight = given[name], weights[name]
        if isinstance(weight, str) and not policy.table.is_file(weight):
            return f"the weights of {column['name']!r} are in no file"
        if isinstance(words, str) and comes_from_a_table(words):
            if not policy.table.is_file(words.removeprefix("tree:")):
                return f"the hierarchy of {column['name']!r} is in no file"
        elif column["levels"] > 1 and not column["has_domain"]:
            return f"how many values are below labels of {column['name']!r} is not public"
    return ""


def _priced(
    file: ReleaseFile, policy: DisclosePolicy, chosen: Sequence[Attribute]
) -> tuple[float, float, tuple[float, float]]:
    """Risk and worst loss, and both rounded up as releases say them."""
    given = {folded(name): words for name, words in policy.hierarchies.items()}
    # The order of the policy, by which attributes are numbered.
    by_name = {folded(str(c["name"])): c for c in chosen}
    columns = [by_name[folded(name)] for name in policy.qis]
    with open_memory() as con:
        source = Source(con, Calls(con), _ROWS, file.name, (), given=policy.table)
        cells = ", ".join(f"CAST({quoted(str(c['name']))} AS VARCHAR) AS a{a}" for a, c in enumerate(columns))
        con.register("labels", file.con.sql(f"SELECT 1 AS one, {cells} FROM {published(file)}").to_arrow_table())
        fetch(con, f"CREATE TABLE {_ROWS} AS FROM labels")
        axes, types, values = [], {}, []
        for a, column in enumerate(columns):
            name, original = str(column["name"]), str(column["original"])
            axes.append(Axis(a, name, original, str(column["labels"]), given[folded(name)], int(column["levels"])))
            types[name] = original
            con.register(f"values_{a}", file.con.sql(_values(file, column)).to_arrow_table())
            values.append(f"SELECT CAST(value AS {original}) AS {quoted(name)} FROM values_{a}")
        risk, worst = risk_of_rows(source, policy, write_attributes(source, policy, axes, types, values), _ROWS)
        rounded = ", ".join(inlined(f"_rounded_up(CAST({number!r} AS DOUBLE))") for number in (risk, worst))
        ((most, worst_of_all),) = fetch(con, f"SELECT {rounded}")
    return risk, worst, (float(most), float(worst_of_all))


def _values(file: ReleaseFile, column: Attribute) -> str:
    """The values that the file knows of a column, as texts: its domain, and those that rows show."""
    tree = file.table(f"labels_{column['name']}")
    shown = f"SELECT label AS value FROM {tree} WHERE level = 0 AND label <> {literal(TOP)}"
    if not column["has_domain"]:
        return shown
    domain = quoted(file.catalog, "domain", str(column["name"]))
    return f"{shown} UNION SELECT CAST(value AS VARCHAR) FROM {domain}"
