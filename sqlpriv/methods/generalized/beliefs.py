"""What an adversary believes before the release: the prior of class I, the stubbornness of class II, the shape of III.

Checked as the macros of epsilon_privacy.sql check theirs: every value of the table is in it, no sigma(s) is below
1, shares add up to 1. A uniform shape, or that of the table, is an expression over the values; another is a table.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlpriv.checks.measures import Adversary
from sqlpriv.checks.requirements import Requirement, limit
from sqlpriv.core.engine import fetch
from sqlpriv.core.errors import PolicyError
from sqlpriv.core.relation import Relation, Scratch
from sqlpriv.macros.catalog import inlined
from sqlpriv.methods.generalized.scan import ScannedTable
from sqlpriv.table.named_tables import find_named
from sqlpriv.table.source import Source


@dataclass(frozen=True)
class Belief:
    """The weight of a value (its sigma or share), as SQL over the values, and the stubbornness, their sum."""

    word: str
    weight: str
    stubbornness: float
    values: Relation
    """The values of the sensitive column; with column w<i>, where the weights are read from a table."""
    listed: Relation | None = None
    """The weights as they are read from a table: item, weight."""


def read_belief(
    scan: ScannedTable, values: Relation, i: int, j: int, requirement: Requirement, adversary: Adversary
) -> Belief:
    """The belief of the i-th requirement, about the j-th sensitive column, whose values are given."""
    arguments = requirement.arguments
    shape, sigma = str(arguments.get("shape", "")), float(arguments.get("sigma", 1))
    kinds, least = scan.values[j].kinds, scan.values[j].least
    word = adversary.weights
    if word is None:
        if not kinds <= sigma <= 1e300:
            raise PolicyError(f"{requirement.text}: sigma must be at least {kinds}, the number of sensitive values")
        return Belief("sigma", "1", sigma, values)
    if shape not in {"uniform", "table"}:
        return _read_table(scan.source, values, i, requirement, word)
    smallest = 1 / kinds if shape == "uniform" else least
    if word == "sigma" and not limit(1, ">=") <= sigma * smallest <= 1e300:
        raise PolicyError(
            f"{requirement.text}: some value gets a sigma below 1, which no prior of whole counts has; "
            f"sigma must be at least {1 / smallest:.6g}"
        )
    share = "1 / kinds" if shape == "uniform" else "share"
    weight = f"({share})" if word == "share" else inlined(f"_sigma_of({sigma!r}, {share})")
    return Belief(word, weight, sigma, values)


def write_weights(scratch: Scratch, belief: Belief) -> Relation:
    """The belief as a relation (value, sigma or share), as the macros read it."""
    rows = f"SELECT value, {belief.weight} AS {belief.word} FROM {belief.values}"
    if belief.listed is not None:
        rows = f"SELECT item AS value, weight AS {belief.word} FROM {belief.listed}"
    return scratch.table(rows, "weights")


def _read_table(source: Source, values: Relation, i: int, requirement: Requirement, word: str) -> Belief:
    """A shape or prior from a table; its weights are added to the values as column w<i>."""
    arguments, scratch = requirement.arguments, source.scratch
    shape = scratch.table(f"FROM {find_named(source, str(arguments['shape']))}", "shape")
    present = {name.lower() for name in shape.columns}
    if "value" not in present or not present & {word, "share"}:
        raise PolicyError(f"{requirement.text}: the table of the shape needs the columns value and {word}")
    if word not in present and "sigma" not in arguments:
        raise PolicyError(f"{requirement.text}: the shape holds shares, so sigma must be given too")
    if word == "sigma" and word in present and "sigma" in arguments:
        raise PolicyError(f"{requirement.text}: the table of the shape gives every sigma already; leave sigma out")
    given = word if word in present else inlined(f"_sigma_of({float(arguments['sigma'])!r}, share)")
    weights = scratch.table(
        f"SELECT CAST(value AS VARCHAR) AS item, TRY_CAST({given} AS DOUBLE) AS weight FROM {shape}", "shape_weights"
    )
    total = _check_weights(weights, values, requirement, word)
    weighed = scratch.table(
        f"SELECT v.*, w.weight AS w{i} FROM {values} AS v "
        f"JOIN {weights} AS w ON CAST(v.value AS VARCHAR) IS NOT DISTINCT FROM w.item",
        "values",
    )
    return Belief(word, f"w{i}", total, weighed, weights)


def _check_weights(weights: Relation, values: Relation, requirement: Requirement, word: str) -> float:
    least = 1 if word == "sigma" else 0
    twice, wrong, missing, total = fetch(
        weights.con,
        f"SELECT (SELECT count(*) FROM (SELECT item FROM {weights} GROUP BY item HAVING count(*) > 1)), "
        f"count(CASE WHEN weight BETWEEN {least} AND 1e300 THEN NULL ELSE 1 END), "
        f"(SELECT count(*) FROM {values} AS v WHERE NOT EXISTS (FROM {weights} AS w "
        f"WHERE w.item IS NOT DISTINCT FROM CAST(v.value AS VARCHAR))), sum(weight) FROM {weights}",
    )[0]
    fault = None
    if missing:
        fault = f"the shape misses {missing} sensitive value(s) of the table"
    elif twice:
        fault = f"the shape has {twice} value(s) twice"
    elif wrong and least:
        fault = f"{wrong} value(s) get a sigma below 1, which no prior of whole counts has; give a larger sigma"
    elif wrong:
        fault = f"{wrong} share(s) of the shape are not numbers of at least 0"
    elif word == "share" and abs(total - 1) > 1e-9:
        fault = "the shares of the shape do not add up to 1"
    if fault:
        raise PolicyError(f"{requirement.text}: {fault}")
    return float(total)
