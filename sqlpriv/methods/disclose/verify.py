"""Judge a disclosure from its file alone, and show what it says of itself.

From the rows follow the utility of every one, the share of each level, and that nothing but labels of hierarchies is
told. What the file alone cannot tell stays a claim: the risk, which needs the dictionary and the weights of all nodes
(verify_risk.py). Publishing computed it twice, the second time from the rows that were written.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

from sqlpriv.engine import fetch
from sqlpriv.facts import Facts, Line, shown_number
from sqlpriv.macros.calls import Calls
from sqlpriv.macros.catalog import inlined
from sqlpriv.methods.disclose.policy import ATTRIBUTES, BAYES, BOTH, RISK, UTILITY, WORST, DisclosePolicy
from sqlpriv.methods.disclose.told import GIVEN, ITSELF, Terms, of_the_rule, promise, share_grid, terms_of
from sqlpriv.methods.disclose.verify_risk import check_risk
from sqlpriv.methods.labelled.answers import show_labelled
from sqlpriv.methods.labelled.box_verify import boxed_tables, is_boxed_column, unread_boxes
from sqlpriv.methods.labelled.verify_box_labels import check_labels
from sqlpriv.methods.labelled.verify_frame import Frame, check_frame
from sqlpriv.methods.labelled.verify_leaves import check_domain, domains_of_policy
from sqlpriv.methods.labelled.verify_requirements import Stated, follows_policy
from sqlpriv.policy.file import Declared, Policy
from sqlpriv.release.file import SCHEMA, ReleaseFile
from sqlpriv.release.stamp import STAMPED
from sqlpriv.release.verify import Check, published
from sqlpriv.sqltext import folded, literal, quoted
from sqlpriv.table.hierarchies import TOP

_ABOUT = frozenset({
    "format", "sqlpriv", "method", "table", "suppressed_rows", "counts", "goal", "average", "form", "dictionary",
    "psi_of_cells", "personal",
    "promise", "warnings", "release", "beside", *STAMPED,
})  # fmt: skip
_NUMBERS = ("c", "psi", "risk", "worst", "utility")
_WORDS = {"goal": (RISK, UTILITY, BOTH), "average": ("yes", "no"), "form": ("linear", "multiplicative"),
          "dictionary": (GIVEN, ITSELF, BAYES, WORST), "counts": ("rows",), "psi_of_cells": ("yes", "no"),
          "personal": ("yes", "no")}  # fmt: skip
_HAIR = 1e-9
_ROWS = "disclosed_rows"


def verify_file(method: Declared, file: ReleaseFile, policy: Policy | None) -> Iterator[Check]:
    """All checks of a disclosure."""
    columns = yield from check_frame(_FRAME, method, file, policy)
    if columns is None:
        return
    chosen = [c for c in columns if c["role"] in ATTRIBUTES]
    labels = [check for c in chosen for check in (_no_nulls(file, str(c["name"])), *check_labels(file, c))]
    labels += [check_domain(file, c, False) for c in columns if c["role"] not in ATTRIBUTES and c["has_domain"]]
    yield from labels
    if all(check.passed for check in labels):
        yield from _utility(file, chosen)
        yield check_risk(file, policy, chosen)


def _unread(file: ReleaseFile) -> str:
    return unread_boxes(file, _ABOUT) or _unknown(file)


def _is_stated(column: Stated) -> bool:
    return is_boxed_column(column, ATTRIBUTES)


def _tables(columns: Sequence[Stated]) -> list[tuple[str, str]]:
    return boxed_tables(columns, ATTRIBUTES)


def _follows(file: ReleaseFile, policy: Policy, columns: Sequence[Stated]) -> Iterator[Check]:
    assert isinstance(policy, DisclosePolicy)
    yield from follows_policy(file, policy, columns)
    yield domains_of_policy(columns, policy)
    yield _keeps_to(file, policy)


_FRAME = Frame(_unread, _is_stated, _tables, _follows, boxes=True)


def _unknown(file: ReleaseFile) -> str:
    """What such a release does not say; empty where there is nothing of it."""
    about = file.about
    for name, words in _WORDS.items():
        if about[name] not in words:
            return f"{SCHEMA}.about does not say what the {name} is"
    if (SCHEMA, "parameters") not in file.tables or list(file.columns(SCHEMA, "parameters")) != ["name", "value"]:
        return f"{SCHEMA}.parameters is missing, or has other columns"
    names = [str(r["name"]) for r in file.rows("parameters")]
    if sorted(names) != sorted(_NUMBERS) or not all(0 <= file.parameters[n] < math.inf for n in _NUMBERS):
        return f"{SCHEMA}.parameters does not say what the release comes to"
    if file.rows("requirements"):
        return f"{SCHEMA}.requirements holds something, and a disclosure requires nothing"
    terms = _terms(file)
    if about["promise"] != promise(terms) or about["warnings"] != json.dumps(of_the_rule(terms)):
        return f"{SCHEMA}.about promises or warns of something else than such a release does"
    return ""


def _terms(file: ReleaseFile) -> Terms:
    about = file.about
    numbers = file.parameters
    average, cells, personal = (about[name] == "yes" for name in ("average", "psi_of_cells", "personal"))
    return Terms(
        about["goal"], average, numbers["c"], about["form"], numbers["psi"], cells, personal, about["dictionary"]
    )


def _keeps_to(file: ReleaseFile, policy: DisclosePolicy) -> Check:
    about, wrong = file.about, []
    if folded(about["table"]) != folded(policy.table.name):
        wrong.append(f"the table of the policy is {policy.table.name!r}")
    if _terms(file) != terms_of(policy):
        wrong.append("the policy has another goal, c, form, psi or dictionary, or other weights")
    if about.get("beside") != policy.beside:
        wrong.append("beside is not what the policy says")
    return Check("table, goal and dictionary are those of the policy", not wrong, "; ".join(wrong))


def _no_nulls(file: ReleaseFile, name: str) -> Check:
    """What is not told is *, whether or not there was something."""
    empty = fetch(file.con, f"SELECT count(*) FROM {published(file)} WHERE {quoted(name)} IS NULL")[0][0]
    return Check(f"no cell of {name!r} tells that it is missing", not empty, f"{empty:,} are NULL" if empty else "")


# -------------------- utility


def _utility(file: ReleaseFile, chosen: Sequence[Stated]) -> Iterator[Check]:
    """The utility of the rows is what is said, and where that was asked for at least c."""
    utilities = f"SELECT utility FROM {_utilities(file, chosen)}"
    mean = inlined("_mean_of(utility, 1)")
    ((found, least),) = fetch(file.con, f"SELECT {mean}, min(utility) FROM ({utilities})")
    stated, c = file.parameters["utility"], file.parameters["c"]
    same = math.isclose(found, stated, rel_tol=_HAIR)
    yield Check("the utility is that of the rows", same, "" if same else f"it is {shown_number(found)}")
    if file.about["goal"] == RISK:
        kept, which = (found, "mean utility") if file.about["average"] == "yes" else (least, "utility of every row")
        yield Check(f"the {which} is at least c", kept >= c * (1 - _HAIR), f"is {shown_number(float(kept))}")
    elif file.about["goal"] == UTILITY:
        bounded, which = ("risk", "risk") if file.about["average"] == "yes" else ("worst", "loss of every row")
        least_said = file.parameters[bounded]
        kept = least_said <= c * (1 + _HAIR)
        yield Check(f"the {which} is said to be at most c", kept, "" if kept else f"it says {shown_number(least_said)}")


def _utilities(file: ReleaseFile, chosen: Sequence[Stated]) -> str:
    """A call for the utility of every row, by the labels that the file has above each."""
    con, weights = file.con, []
    names = ", ".join(f"CAST({quoted(str(c['name']))} AS VARCHAR) AS a{a}" for a, c in enumerate(chosen))
    fetch(con, f"CREATE OR REPLACE TEMP TABLE {_ROWS} AS SELECT {names} FROM {published(file)}")
    for a, column in enumerate(chosen):
        # A label is written on all levels up to its own: it is one step wherever it stands.
        listed = ", ".join(
            f"CASE WHEN {i} <= level THEN value ELSE above[{i} - level] END AS level{i}"
            for i in range(int(column["levels"]) + 1)
        )
        nodes = f"SELECT {listed} FROM {_tree(file, column)} WHERE value <> {literal(TOP)}"
        if fetch(con, f"CREATE OR REPLACE TEMP TABLE disclosed_{a} AS {nodes}")[0][0]:
            weights.append({"attribute": f"a{a}", "hierarchy": f"disclosed_{a}"})
    if not weights:
        return f"(SELECT 0 AS utility FROM {_ROWS})"
    return f"{Calls(con).need('disclosure_utility')}({literal(_ROWS)}, {literal(weights)})"


# -------------------- what it says of itself


def show_file(file: ReleaseFile) -> Facts:
    """What a release says of itself, and how much of each column it discloses on which level."""
    facts, shares, told = show_labelled(file), _shares(file), file.parameters
    content = {**facts.content, "parameters": dict(told), "shares": {n: list(s) for n, s in shares.items()}}
    numbers = (
        f"risk at most {shown_number(told['risk'])}, the worst row at most {shown_number(told['worst'])}; utility "
        f"{shown_number(told['utility'])}"
    )
    parts = (Line(file.about["promise"], "claimed"), Line(numbers, "claimed"), share_grid(shares), *facts.parts)
    return replace(facts, content=content, parts=parts)


def _tree(file: ReleaseFile, column: Stated) -> str:
    return file.table(f"hierarchy_{column['name']}")


def _shares(file: ReleaseFile) -> dict[str, tuple[float, ...]]:
    found = {}
    for column in sorted(file.rows("attributes"), key=lambda c: int(c["position"])):
        if column["role"] not in ATTRIBUTES:
            continue
        name = str(column["name"])
        levels = f"(SELECT value, max(level) AS level FROM {_tree(file, column)} GROUP BY value)"
        share = inlined("_share_of(count(*) FILTER (h.level = l.level), count(*))")
        rows = fetch(
            file.con,
            f"SELECT l.level, {share} FROM {published(file)} AS p JOIN {levels} AS h ON p.{quoted(name)} = h.value "
            f"CROSS JOIN (SELECT unnest(range({int(column['levels'])} + 1)) AS level) AS l GROUP BY 1 ORDER BY 1",
        )
        found[name] = tuple(float(s) for _, s in rows)
    return found
