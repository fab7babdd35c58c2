"""Judge what only a disclosure has, and say what it promises.

From the rows follow the utility of every one, the share of each level, and that nothing but labels of hierarchies is
told. What the file alone cannot tell stays a claim: the risk, which needs the dictionary and the weights of all nodes
(verify_risk.py). Publishing computed it twice, the second time from the rows that were written.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from sqlpriv.core.engine import fetch
from sqlpriv.core.facts import Line, shown_number
from sqlpriv.core.sqltext import literal, quoted
from sqlpriv.macros.calls import Calls
from sqlpriv.macros.catalog import inlined
from sqlpriv.methods.disclose.policy import ATTRIBUTES, BAYES, BOTH, RISK, UTILITY, WORST, DisclosePolicy
from sqlpriv.methods.disclose.verify_risk import check_risk
from sqlpriv.methods.disclose.wording import GIVEN, ITSELF, DiscloseTerms, promise, rule_warnings, share_grid, terms_of
from sqlpriv.methods.generalized.layout import Attribute, boxes_layout
from sqlpriv.methods.generalized.verify import check_labels, domains_beyond
from sqlpriv.methods.generalized.wording import answers_mean
from sqlpriv.policy.file import Policy
from sqlpriv.release.file import ReleaseFile
from sqlpriv.release.layout import Names, flag, one_of
from sqlpriv.release.show import Wording
from sqlpriv.release.verify import Check, check_all, named_by_digest, published
from sqlpriv.table.hierarchies import TOP

_GOALS = (RISK, UTILITY, BOTH)
_DICTIONARIES = (GIVEN, ITSELF, BAYES, WORST)
LAYOUT = boxes_layout(
    {
        "suppressed_rows": one_of("0"), "counts": one_of("rows"), "goal": one_of(*_GOALS), "average": flag,
        "form": one_of("linear", "multiplicative"), "dictionary": one_of(*_DICTIONARIES), "psi_of_cells": flag,
        "personal": flag,
    },
    Names(frozenset({"c", "psi", "risk", "worst", "utility"})),
    roles=ATTRIBUTES,
    requires=False,
    from_policy=("goal", "form"),
)  # fmt: skip
_HAIR = 1e-9
_ROWS = "disclosed_rows"


def verify_file(file: ReleaseFile, policy: Policy | None) -> Iterator[Check]:
    """All checks that only a disclosure needs."""
    yield named_by_digest(file)
    wrong = sorted(name for name, value in file.parameters.items() if not 0 <= value < math.inf)
    yield check_all("risk and utility are finite and not below 0", wrong)
    chosen = [c for c in file.attributes if c["role"] in ATTRIBUTES]
    labels = [*(_no_nulls(file, str(c["name"])) for c in chosen), *check_labels(file, file.attributes)]
    yield from labels
    if not wrong and all(check.passed for check in labels):
        yield from _utility(file, chosen)
        yield check_risk(file, policy, chosen)


def declared_terms(file: ReleaseFile) -> DiscloseTerms:
    """What a file says was asked for, and against whom."""
    about = file.about
    numbers = file.parameters
    average, cells, personal = (about[name] == "yes" for name in ("average", "psi_of_cells", "personal"))
    return DiscloseTerms(
        about["goal"], average, numbers["c"], about["form"], numbers["psi"], cells, personal, about["dictionary"]
    )


def differences(file: ReleaseFile, policy: DisclosePolicy) -> Iterator[str]:
    """Where the file is not one of the policy."""
    yield from domains_beyond(file, policy)
    if declared_terms(file) != terms_of(policy):
        yield "the policy has another goal, c, form, psi or dictionary, or other weights"


def _no_nulls(file: ReleaseFile, name: str) -> Check:
    """What is not told is *, whether or not there was something."""
    empty = fetch(file.con, f"SELECT count(*) FROM {published(file)} WHERE {quoted(name)} IS NULL")[0][0]
    return Check(f"no cell of {name!r} tells that it is missing", not empty, f"{empty:,} are NULL" if empty else "")


# -------------------- utility


def _utility(file: ReleaseFile, chosen: Sequence[Attribute]) -> Iterator[Check]:
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


def _utilities(file: ReleaseFile, chosen: Sequence[Attribute]) -> str:
    """A call for the utility of every row, by the labels that the file has above each."""
    con, weights = file.con, []
    names = ", ".join(f"CAST({quoted(str(c['name']))} AS VARCHAR) AS a{a}" for a, c in enumerate(chosen))
    fetch(con, f"CREATE OR REPLACE TEMP TABLE {_ROWS} AS SELECT {names} FROM {published(file)}")
    for a, column in enumerate(chosen):
        # A label is written on all levels up to its own: it is one step wherever it stands.
        listed = ", ".join(
            f"CASE WHEN {i} <= level THEN label ELSE above[{i} - level] END AS level{i}"
            for i in range(int(column["levels"]) + 1)
        )
        nodes = f"SELECT {listed} FROM {_tree(file, column)} WHERE label <> {literal(TOP)}"
        if fetch(con, f"CREATE OR REPLACE TEMP TABLE disclosed_{a} AS {nodes}")[0][0]:
            weights.append({"attribute": f"a{a}", "hierarchy": f"disclosed_{a}"})
    if not weights:
        return f"(SELECT 0 AS utility FROM {_ROWS})"
    return f"{Calls(con).need('disclosure_utility')}({literal(_ROWS)}, {literal(weights)})"


# -------------------- what it says of itself


def wording(file: ReleaseFile) -> Wording:
    """What is promised, and how much of each column is disclosed on which level."""
    terms, shares, numbers = declared_terms(file), _shares(file), file.parameters
    figures = (
        f"risk at most {shown_number(numbers['risk'])}, the worst row at most {shown_number(numbers['worst'])}; "
        f"utility {shown_number(numbers['utility'])}"
    )
    return Wording(
        warnings=rule_warnings(terms),
        before_columns=(Line(promise(terms), "claimed"), Line(figures, "claimed"), share_grid(shares)),
        after_columns=answers_mean(file),
        content={"promise": promise(terms), "shares": {n: list(s) for n, s in shares.items()}},
    )


def _tree(file: ReleaseFile, column: Attribute) -> str:
    return file.table(f"labels_{column['name']}")


def _shares(file: ReleaseFile) -> dict[str, tuple[float, ...]]:
    found = {}
    for column in file.attributes:
        if column["role"] not in ATTRIBUTES:
            continue
        name = str(column["name"])
        levels = f"(SELECT label, max(level) AS level FROM {_tree(file, column)} GROUP BY label)"
        share = inlined("_share_of(count(*) FILTER (h.level = l.level), count(*))")
        rows = fetch(
            file.con,
            f"SELECT l.level, {share} FROM {published(file)} AS p JOIN {levels} AS h ON p.{quoted(name)} = h.label "
            f"CROSS JOIN (SELECT unnest(range({int(column['levels'])} + 1)) AS level) AS l GROUP BY 1 ORDER BY 1",
        )
        found[name] = tuple(float(s) for _, s in rows)
    return found
