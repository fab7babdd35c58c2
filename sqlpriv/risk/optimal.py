"""The optimal disclosure of every record of a large table: the answer of priv.optimal_disclosure, in steps.

The macro compares every choice of every record in one query. Here equal records are considered once, in passes over a
few combinations of depths at a time. A record without a consistent entry is disclosed as it is. For all others, a
choice that reveals less has more consistent entries and a smaller sensitivity. So the counts at coarse depths, which
are few and quick, bound the loss at fine ones: these are counted only for the records that could still gain by them.
"""

from __future__ import annotations

from collections.abc import Sequence

import duckdb

from sqlpriv.core.engine import fetch
from sqlpriv.core.sqltext import literal
from sqlpriv.macros.calls import Calls
from sqlpriv.risk.coding import Coding, DisclosureProblem, Workspace, code
from sqlpriv.risk.counts import count_entries, count_rows, keyed
from sqlpriv.risk.goals import Choice, read_goal
from sqlpriv.risk.passes import write_best_choices
from sqlpriv.risk.record_groups import RecordGroup


def disclose_optimally(
    con: duckdb.DuckDBPyConnection, into: str, problem: DisclosureProblem, goal: str, c: float | str
) -> None:
    """Create the table `into` with the columns and rows of priv.optimal_disclosure, in any order."""
    work = Workspace(con, Calls(con))
    [(ordered,)] = fetch(con, "SELECT current_setting('preserve_insertion_order')")
    # The order of rows is not needed here, and keeping it costs DuckDB memory in every thread.
    fetch(con, "SET preserve_insertion_order = false")
    try:
        wanted = read_goal(work.calls, goal, c)
        coding = code(work, problem)
        counts = count_entries(coding)
        groups = count_rows(coding, problem.table, "record", "copies")
        choices: list[Choice] = []
        best = []
        for number, (depths, records) in enumerate(groups.items()):
            group = RecordGroup(coding, counts, wanted, depths, wanted.choices(depths, len(choices)), number)
            choices += group.choices
            best.append(write_best_choices(group, records))
        counts.drop()
        _write(coding, choices, best, into)
    finally:
        work.clear()
        fetch(con, f"SET preserve_insertion_order = {literal(ordered)}")


def _write(coding: Coding, choices: Sequence[Choice], tables: Sequence[str], into: str) -> None:
    """Write every record with what is disclosed of it; `tables` are of the best choices by key."""
    work, places = coding.work, [a.place for a in coding.attributes]
    masks = ", ".join(f"m{place}" for place in places)
    listed = ", ".join(
        f"({c.number}, {list(c.depths)!r}, {c.utility}, {', '.join(coding.mask({p: c.depths[p - 1]}) for p in places)})"
        for c in choices
    )
    chosen = work.make("chosen", f"FROM (VALUES {listed}) AS v(number, depths, utility, {masks})")
    best = work.make("best", " UNION ALL ".join(f"FROM {table}" for table in tables))
    refusal = f"error({literal(work.calls.value('_no_choice()'))})"
    labels = ", ".join(f"coalesce(n{place}.node, '*')" for place in places)
    joins = " ".join(
        f"LEFT JOIN (FROM {coding.nodes} WHERE place = {place} AND depth > 0) AS n{place} "
        f"ON b.key & v.m{place} = n{place}.code"
        for place in places
    )
    fetch(
        work.con,
        f"""CREATE TABLE {into} AS
        SELECT r.record, [{labels}] AS labels, CAST(v.depths AS BIGINT[]) AS depths, b.entries,
          CASE WHEN b.number IS NULL THEN {refusal} ELSE b.loss END AS loss, CAST(v.utility AS BIGINT) AS utility
        FROM ({keyed(coding, coding.problem.table, "record")}) AS r LEFT JOIN {best} AS b ON r.key = b.key
        LEFT JOIN {chosen} AS v ON b.number = v.number {joins}""",
    )
