"""The optimal disclosure of every record of a large table: the answer of priv.optimal_disclosure, in steps.

The macro looks at every choice of every record in one query. Here records that are alike are looked at once, in passes
over a few combinations of depths at a time. A record of which no entry is found keeps all it has. For all others, what
tells less has more consistent entries and a smaller sensitivity, so the counts at coarse depths, which are few and
quick, bound the loss at fine ones: those are counted only for the records that could still gain by them.
"""

from __future__ import annotations

from collections.abc import Sequence

import duckdb

from sqlpriv.engine import fetch
from sqlpriv.macros.calls import Calls
from sqlpriv.risk.attributes import Coded, Desk, Question, code
from sqlpriv.risk.counts import count_entries, count_rows, keyed
from sqlpriv.risk.goals import Choice, read_goal
from sqlpriv.risk.kinds import Kind
from sqlpriv.risk.passes import settle
from sqlpriv.sqltext import literal


def disclose_optimally(
    con: duckdb.DuckDBPyConnection, into: str, question: Question, goal: str, c: float | str
) -> None:
    """Create a table with the columns of priv.optimal_disclosure, and the same rows in any order."""
    desk = Desk(con, Calls(con))
    [(ordered,)] = fetch(con, "SELECT current_setting('preserve_insertion_order')")
    # Order is of no use here, and to keep it DuckDB holds back rows of every thread in memory.
    fetch(con, "SET preserve_insertion_order = false")
    try:
        wanted = read_goal(desk.calls, goal, c)
        coded = code(desk, question)
        counts = count_entries(coded)
        kinds = count_rows(coded, question.table, "record", "copies")
        choices: list[Choice] = []
        settled = []
        for number, (depths, records) in enumerate(kinds.items()):
            kind = Kind(coded, counts, wanted, depths, wanted.choices(depths, len(choices)), number)
            choices += kind.choices
            settled.append(settle(kind, records))
        counts.drop()
        _write(coded, choices, settled, into)
    finally:
        desk.clear()
        fetch(con, f"SET preserve_insertion_order = {literal(ordered)}")


def _write(coded: Coded, choices: Sequence[Choice], settled: Sequence[str], into: str) -> None:
    """Every record with what is disclosed of it."""
    desk, places = coded.desk, [a.place for a in coded.attributes]
    masks = ", ".join(f"m{place}" for place in places)
    listed = ", ".join(
        f"({c.number}, {list(c.depths)!r}, {c.utility}, {', '.join(coded.mask({p: c.depths[p - 1]}) for p in places)})"
        for c in choices
    )
    chosen = desk.make("chosen", f"FROM (VALUES {listed}) AS v(number, depths, utility, {masks})")
    best = desk.make("best", " UNION ALL ".join(f"FROM {table}" for table in settled))
    refusal = f"error({literal(desk.calls.value('_no_choice()'))})"
    labels = ", ".join(f"coalesce(n{place}.node, '*')" for place in places)
    joins = " ".join(
        f"LEFT JOIN (FROM {coded.nodes} WHERE place = {place} AND depth > 0) AS n{place} "
        f"ON b.key & v.m{place} = n{place}.code"
        for place in places
    )
    fetch(
        desk.con,
        f"""CREATE TABLE {into} AS
        SELECT r.record, [{labels}] AS labels, CAST(v.depths AS BIGINT[]) AS depths, b.entries,
          CASE WHEN b.number IS NULL THEN {refusal} ELSE b.loss END AS loss, CAST(v.utility AS BIGINT) AS utility
        FROM ({keyed(coded, coded.question.table, "record")}) AS r LEFT JOIN {best} AS b ON r.key = b.key
        LEFT JOIN {chosen} AS v ON b.number = v.number {joins}""",
    )
