"""Range ends: an end that is read off the data is somebody's value.

The largest value of a column may be known of one person, and a range that ends there reveals it: the extreme-value
attack of Li, Qardaji and Su (2011, section 3.2). So ends must be points of a grid that does not depend on the data, or
of a public domain. Beyond an end that is not the domain's there must be as many people as a class needs, since a point
near the largest value reveals roughly how large it is.
"""

from __future__ import annotations

import math

from sqlpriv.attacks.findings import AttackFinding, Figure, Findings, NotRun, Pair, number, people
from sqlpriv.attacks.target import Target
from sqlpriv.checks.verdict import Evidence
from sqlpriv.core.engine import fetch
from sqlpriv.core.sqltext import folded, quoted
from sqlpriv.publishing import method_of
from sqlpriv.release.file import ReleaseFile, declared_requirement

ATTACK = "range ends"
_NO_RANGES = "no column is published in ranges that a method made: ends of hierarchies are those that the policy names"
_FIGURES = (
    Figure("ends", "closed ends of ranges"),
    Figure("read_off", "ends that are neither points of a grid nor of a domain"),
    Figure("of_few", "of these, values of fewer people than a class needs"),
    Figure("owners", "people whose own value is such an end", is_drawn=True),
    Figure("beyond", "ends beyond which there are fewer people than a class needs"),
)


def attack(target: Target) -> Findings:
    """Of each column in ranges, how many ends are read off the data, or have too few people beyond them."""
    policies = (target.policy, target.second_policy or target.policy)
    found = False
    for file, policy in zip(target.files, policies, strict=False):
        for column, ends in method_of(file).range_ends(file, policy).items():
            found = True
            pair = Pair(_numbers(target, file, column, ends))
            few = Evidence("range_end_of_few", pair.own.get("beyond") or 0, column)
            yield AttackFinding(ATTACK, _sentence(column, pair), pair.figures(_FIGURES), case=column, evidence=(few,))
    if not found:
        yield NotRun(ATTACK, _NO_RANGES)


def _numbers(target: Target, file: ReleaseFile, column: str, listed: str) -> dict[str, float | None]:
    con = target.calls.con
    with target.scratch.nested() as scratch:
        ends = scratch.table(listed, "range_ends").name
        counted = f"SELECT count(*), count(*) FILTER (is_point IS NOT TRUE) FROM {ends}"
        found: dict[str, float | None] = dict(
            zip(("ends", "read_off"), map(float, fetch(con, counted)[0]), strict=True)
        )
        spelt = {} if target.private is None else {folded(c): c for c in target.private.columns}
        if target.private is None or folded(column) not in spelt:
            return found
        person = target.policy.person if target.policy is not None else None
        held = quoted(spelt[folded(column)])
        rows = f"SELECT {held} AS cell, {quoted(person) if person else '1'} AS who FROM {target.private.private.name}"
        values = scratch.table(f"SELECT * FROM ({rows}) WHERE cell IS NOT NULL", "range_values").name
        judged = _people_at_ends(ends, values, person is not None)
        needed, off = _least_people(file), "is_point IS NOT TRUE"
        query = (
            f"SELECT count(*) FILTER ({off} AND own BETWEEN 1 AND {needed} - 1), coalesce(sum(own) FILTER ({off}), 0), "
            f"count(*) FILTER (NOT is_outer AND beyond < {needed}) FROM ({judged})"
        )
        return found | dict(zip(("of_few", "owners", "beyond"), map(float, fetch(con, query)[0]), strict=True))


def _people_at_ends(ends: str, values: str, of_persons: bool) -> str:
    """A query for ends with how many people have that value, and how many are beyond.

    A person with several rows is beyond an end with one of them.
    """
    count = "count(DISTINCT who)" if of_persons else "count(*)"
    at = f"SELECT cell, {count} AS own FROM {values} GROUP BY cell"
    sides = {}
    for side, end, order in (("below", "min", "ASC"), ("above", "max", "DESC")):
        outermost = (
            f"SELECT {end}(cell) AS cell FROM {values} GROUP BY who" if of_persons else f"SELECT cell FROM {values}"
        )
        counted = f"SELECT cell, count(*) AS n FROM ({outermost}) GROUP BY cell"
        sides[side] = f"SELECT cell, CAST(sum(n) OVER (ORDER BY cell {order}) AS BIGINT) AS people FROM ({counted})"
    return (
        "SELECT e.edge, e.is_low, e.is_point, e.is_outer, coalesce(o.own, 0) AS own, "
        "coalesce(CASE WHEN e.is_low THEN b.people ELSE a.people END, 0) AS beyond "
        f"FROM {ends} AS e LEFT JOIN ({at}) AS o ON e.edge = o.cell ASOF LEFT JOIN ({sides['below']}) AS b "
        f"ON e.edge > b.cell ASOF LEFT JOIN ({sides['above']}) AS a ON e.edge < a.cell"
    )


def _least_people(file: ReleaseFile) -> int:
    """How many people a class needs at least, by what the release declares."""
    declared = filter(None, map(declared_requirement, file.rows("requirements")))
    return max([1, *(math.ceil(r.threshold) for r in declared if r.measure.at_most_size)])


def _sentence(column: str, pair: Pair) -> str:
    own = pair.own
    text = (
        f"Of {number(own['ends'])} closed ends of ranges of {column}, {number(own['read_off'])} are read off the "
        "data: they are points of no grid and no domain."
    )
    if "beyond" in own:
        text += (
            f" Such an end is the own value of {people(own['owners'])}; {number(own['of_few'])} of them are values of "
            f"fewer people than a class needs, and beyond {number(own['beyond'])} ends there are fewer."
        )
    return text
