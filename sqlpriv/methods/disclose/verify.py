"""Judge what only a disclosure has, and say what it promises.

From the rows follow the utility of every one, the share of each level, and that nothing but labels of hierarchies is
revealed. The risk needs the dictionary and the weights of all nodes: it is computed again where the policy brings the
dictionary, and stays a claim elsewhere. The private table is not looked at. Publishing computed it twice, the second
time from the rows that were written.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from sqlpriv.core.engine import fetch, open_memory
from sqlpriv.core.errors import SqlprivError
from sqlpriv.core.facts import Line, shown_number
from sqlpriv.core.relation import Scratch
from sqlpriv.core.sqltext import literal, quoted
from sqlpriv.macros.calls import Calls
from sqlpriv.macros.catalog import inlined
from sqlpriv.methods.disclose.policy import ATTRIBUTES, BAYES, BOTH, RISK, UTILITY, WORST, DisclosePolicy
from sqlpriv.methods.disclose.risk_tables import read_tables
from sqlpriv.methods.disclose.wording import GIVEN, ITSELF, DiscloseTerms, promise, rule_warnings, share_grid, terms_of
from sqlpriv.methods.generalized.axes import Axis
from sqlpriv.methods.generalized.layout import Attribute, boxes_layout
from sqlpriv.methods.generalized.verify import check_labels, domains_beyond
from sqlpriv.methods.generalized.wording import answers_mean
from sqlpriv.release.file import ReleaseFile
from sqlpriv.release.layout import NumberNames, flag, one_of
from sqlpriv.release.show import Wording
from sqlpriv.release.verify import Check, check_all, named_by_digest, published
from sqlpriv.table.engines.duck import held
from sqlpriv.table.engines.rows import each_copy
from sqlpriv.table.hierarchies import TOP, comes_from_a_table
from sqlpriv.table.source import Source

LAYOUT = boxes_layout(
    {
        "suppressed_rows": one_of("0"), "counts": one_of("rows"), "goal": one_of(RISK, UTILITY, BOTH), "average": flag,
        "form": one_of("linear", "multiplicative"), "dictionary": one_of(GIVEN, ITSELF, BAYES, WORST),
        "psi_of_cells": flag, "personal": flag,
    },
    NumberNames(frozenset({"c", "psi", "risk", "worst", "utility"})),
    roles=ATTRIBUTES,
    requires=False,
    from_policy=("goal", "form"),
)  # fmt: skip
_HAIR = 1e-9
_RISK = "the risk is what it says"


def verify_file(file: ReleaseFile, policy: DisclosePolicy | None) -> Iterator[Check]:
    """All checks that only a disclosure needs."""
    yield named_by_digest(file)
    wrong = sorted(name for name, value in file.parameters.items() if not 0 <= value < math.inf)
    yield check_all("risk and utility are finite and not below 0", wrong)
    chosen = [c for c in file.attributes if c["role"] in ATTRIBUTES]
    labels = [*(_no_nulls(file, str(c["name"])) for c in chosen), *check_labels(file, file.attributes)]
    yield from labels
    if not wrong and all(check.passed for check in labels):
        yield from _utility(file, chosen)
        yield _check_risk(file, policy, chosen)


def declared_terms(file: ReleaseFile) -> DiscloseTerms:
    """The goal that a file declares, and the attacker."""
    about, numbers = file.about, file.parameters
    return DiscloseTerms(
        goal=about["goal"], is_average=about["average"] == "yes", c=numbers["c"], form=about["form"],
        psi=numbers["psi"], psi_of_cells=about["psi_of_cells"] == "yes", personal=about["personal"] == "yes",
        dictionary=about["dictionary"],
    )  # fmt: skip


def differences(file: ReleaseFile, policy: DisclosePolicy) -> Iterator[str]:
    """Where the file is not one of the policy."""
    yield from domains_beyond(file, policy)
    if declared_terms(file) != terms_of(policy):
        yield "the policy has another goal, c, form, psi or dictionary, or other weights"


def _no_nulls(file: ReleaseFile, name: str) -> Check:
    """A cell that is not disclosed is *, whether or not it had a value."""
    empty = fetch(file.con, f"SELECT count(*) FROM {published(file)} WHERE {quoted(name)} IS NULL")[0][0]
    return Check(
        f"no cell of {name!r} reveals that its value is missing", not empty, f"{empty:,} are NULL" if empty else ""
    )


# -------------------- utility


def _utility(file: ReleaseFile, chosen: Sequence[Attribute]) -> Iterator[Check]:
    """The utility of the rows is what is declared, and at least c where the goal says so."""
    with Scratch(file.con).nested() as scratch:
        utilities = f"SELECT utility FROM {_utilities(file, chosen, scratch)}"
        mean = inlined("_mean_of(utility, 1)")
        ((found, least),) = fetch(file.con, f"SELECT {mean}, min(utility) FROM ({utilities})")
    declared, c = file.parameters["utility"], file.parameters["c"]
    same = math.isclose(found, declared, rel_tol=_HAIR)
    yield Check("the utility is that of the rows", same, "" if same else f"it is {shown_number(found)}")
    if file.about["goal"] == RISK:
        kept, which = (found, "mean utility") if file.about["average"] == "yes" else (least, "utility of every row")
        yield Check(f"the {which} is at least c", kept >= c * (1 - _HAIR), f"is {shown_number(float(kept))}")
    elif file.about["goal"] == UTILITY:
        bounded, which = ("risk", "risk") if file.about["average"] == "yes" else ("worst", "loss of every row")
        bound = file.parameters[bounded]
        kept = bound <= c * (1 + _HAIR)
        yield Check(f"the {which} is said to be at most c", kept, "" if kept else f"it says {shown_number(bound)}")


def _utilities(file: ReleaseFile, chosen: Sequence[Attribute], scratch: Scratch) -> str:
    """A call for the utility of every row, by the labels that the file has above each."""
    names = ", ".join(f"CAST({quoted(str(c['name']))} AS VARCHAR) AS a{a}" for a, c in enumerate(chosen))
    rows = scratch.table(f"SELECT {names} FROM {published(file)}", "disclosed")
    weights = []
    for a, column in enumerate(chosen):
        # A label is written on all levels up to its own: it is one step wherever it stands.
        listed = ", ".join(
            f"CASE WHEN {i} <= level THEN label ELSE above[{i} - level] END AS level{i}"
            for i in range(int(column["levels"]) + 1)
        )
        tree = scratch.table(f"SELECT {listed} FROM {_tree(file, column)} WHERE label <> {literal(TOP)}", "tree")
        if tree.written:
            weights.append({"attribute": f"a{a}", "hierarchy": tree.name})
    if not weights:
        return f"(SELECT 0 AS utility FROM {rows.name})"
    return f"{Calls(file.con).need('disclosure_utility')}({literal(rows.name)}, {literal(weights)})"


# -------------------- risk


def _check_risk(file: ReleaseFile, policy: DisclosePolicy | None, chosen: Sequence[Attribute]) -> Check:
    """The risk of the published rows against the dictionary of the policy; `chosen` are the columns with weights."""
    why = _why_not(policy, chosen)
    if why or policy is None:
        return Check(_RISK, None, f"{why}; publishing computed the risk of the written rows with it")
    try:
        risk, worst, rounded = _risks(file, policy, chosen)
    except SqlprivError as error:
        return Check(_RISK, None, f"it cannot be computed again: {error}")
    for name, found, bound in zip(("risk", "worst"), (risk, worst), rounded, strict=True):
        declared, is_bounded = (
            file.parameters[name],
            policy.goal == UTILITY and (name == "risk" or not policy.is_average),
        )
        most = min(bound, policy.c) if is_bounded else bound
        if not found * (1 - _HAIR) <= declared <= most * (1 + _HAIR):
            return Check(_RISK, False, f"it says {shown_number(declared)} where {name} is {shown_number(found)}")
    return Check(_RISK, True, f"is {shown_number(risk)}, the worst row {shown_number(worst)}")


def _why_not(policy: DisclosePolicy | None, chosen: Sequence[Attribute]) -> str:
    """Why the risk cannot be computed from the file and the policy; empty where it can."""
    if policy is None or not policy.dictionaries:
        return "that takes the dictionary"
    if policy.personal is not None:
        return "people's weights are their own, and the release does not tell whose row it is"
    if not all(policy.table.is_file(dictionary.source) for dictionary in policy.dictionaries):
        return "the dictionary of the policy is no file" if len(policy.dictionaries) == 1 else "a dictionary is no file"
    weights = {c.name: c.given.get("weight") for c in policy.columns}
    for column in chosen:
        words, weight = policy.hierarchies[str(column["name"])], weights[str(column["name"])]
        if isinstance(weight, str) and not policy.table.is_file(weight):
            return f"the weights of {column['name']!r} are in no file"
        if isinstance(words, str) and comes_from_a_table(words):
            if not policy.table.is_file(words.removeprefix("tree:")):
                return f"the hierarchy of {column['name']!r} is in no file"
        elif column["levels"] > 1 and not column["has_domain"]:
            return f"how many values are below labels of {column['name']!r} is not public"
    return ""


def _risks(
    file: ReleaseFile, policy: DisclosePolicy, chosen: Sequence[Attribute]
) -> tuple[float, float, tuple[float, float]]:
    """Risk and worst loss, and both rounded up as releases say them."""
    # The order of the policy, by which attributes are numbered.
    by_name = {str(c["name"]): c for c in chosen}
    columns = [by_name[name] for name in policy.qis]
    with open_memory() as con:
        scratch = Scratch(con)
        cells = ", ".join(f"CAST({quoted(str(c['name']))} AS VARCHAR) AS a{a}" for a, c in enumerate(columns))
        # The file is open where nothing else can be read, and the dictionary here: combinations of labels cross.
        with held(file.con.table(published(file))) as rows:
            counted = rows.histogram(con, rows.spelt([str(c["name"]) for c in columns]), "combinations")
        labels = scratch.table(f"SELECT 1 AS one, {cells} FROM {each_copy(counted)}", "labels")
        source = Source(con, Calls(con), labels.name, file.name, (), given=policy.table, scope=scratch)
        axes, types, values = [], {}, []
        for a, column in enumerate(columns):
            name, original = str(column["name"]), str(column["original"])
            axes.append(Axis(a, name, original, str(column["labels"]), policy.hierarchies[name], int(column["levels"])))
            types[name] = original
            listed = scratch.arrow(file.con.sql(_values(file, column)).to_arrow_table(), "values")
            values.append(f"SELECT CAST(value AS {original}) AS {quoted(name)} FROM {listed.name}")
        tables = read_tables(source, policy, axes, types, values, f"FROM {labels.name}")
        risk, worst = tables.risk_of(labels)
        rounded = ", ".join(inlined(f"_rounded_up(CAST({number!r} AS DOUBLE))") for number in (risk, worst))
        ((most, worst_of_all),) = fetch(con, f"SELECT {rounded}")
    return risk, worst, (float(most), float(worst_of_all))


def _values(file: ReleaseFile, column: Attribute) -> str:
    """The values that the file knows of a column, as texts: its domain, and those that rows show."""
    shown = f"SELECT label AS value FROM {_tree(file, column)} WHERE level = 0 AND label <> {literal(TOP)}"
    if not column["has_domain"]:
        return shown
    domain = quoted(file.catalog, "domain", str(column["name"]))
    return f"{shown} UNION SELECT CAST(value AS VARCHAR) FROM {domain}"


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
