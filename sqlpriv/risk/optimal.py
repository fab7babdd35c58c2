"""The optimal disclosure of every record of a large table: the answer of priv.optimal_disclosure, in steps.

The macro compares every choice of every record in one query. Here equal records are considered once, in passes over a
few combinations of depths at a time. A record without a consistent entry is disclosed as it is. For all others, a
choice that reveals less has more consistent entries and a smaller sensitivity. So the counts at coarse depths, which
are few and quick, bound the loss at fine ones: these are counted only for the records that could still gain by them.

A node is a depth for each attribute that the dictionary knows; all choices of a node have the same consistent entries.
The state of a record is its best choice so far: number, rank, score, loss, and the entries consistent with it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product

from sqlpriv.core.engine import fetch
from sqlpriv.core.relation import Relation, Scratch
from sqlpriv.core.sqltext import literal
from sqlpriv.macros.calls import Calls
from sqlpriv.risk.choices import BOTH, Choice, RecordGroup, read_goal
from sqlpriv.risk.coding import Coding, Depths, DisclosureProblem, code
from sqlpriv.risk.counts import EntryCounts, Lookup, count_rows, keyed

_STATE = "key, number, rank, score, loss, entries"
_NONE_YET = (
    "CAST(NULL AS INTEGER) AS number, 0 AS rank, CAST(NULL AS DOUBLE) AS score, CAST(NULL AS DOUBLE) AS loss, "
    "CAST(NULL AS BIGINT) AS entries"
)
_FEW_KEYS, _KEYS_SHARE = 50_000, 8
"""Nodes with at most so many keys, or this part of the records, are compared for all records; finer ones if needed."""
_PASS_NODES, _PASS_CHOICES, _PASS_ROWS = 12, 60, 2_000_000
"""The most that one pass compares: nodes, choices, and rows of tables that were made for it."""


def disclose_optimally(scratch: Scratch, problem: DisclosureProblem, goal: str, c: float | str) -> Relation:
    """A table with the columns and rows of priv.optimal_disclosure, in any order."""
    con, calls = scratch.con, Calls(scratch.con)
    [(ordered,)] = fetch(con, "SELECT current_setting('preserve_insertion_order')")
    # The order of rows is not needed here, and keeping it costs DuckDB memory in every thread.
    fetch(con, "SET preserve_insertion_order = false")
    try:
        with scratch.nested() as kept:
            wanted = read_goal(calls, goal, c)
            coding = code(kept, calls, problem)
            choices: list[Choice] = []
            best = []
            with kept.nested() as inner:
                counts = EntryCounts(coding, inner, count_rows(coding, inner, "entry", "entries"))
                for depths, records in count_rows(coding, inner, "record", "copies").items():
                    group = RecordGroup(coding, counts, wanted, depths, wanted.choices(depths, len(choices)), inner)
                    choices += group.choices
                    best.append(best_choices(group, records, kept))
            return _disclosed(coding, choices, best, scratch)
    finally:
        fetch(con, f"SET preserve_insertion_order = {literal(ordered)}")


def _disclosed(coding: Coding, choices: Sequence[Choice], tables: Sequence[Relation], scratch: Scratch) -> Relation:
    """Every record with what is disclosed of it; `tables` are of the best choices by key."""
    places = [a.place for a in coding.attributes]
    masks = ", ".join(f"m{place}" for place in places)
    listed = ", ".join(
        f"({c.number}, {list(c.depths)!r}, {c.utility}, {', '.join(coding.mask({p: c.depths[p - 1]}) for p in places)})"
        for c in choices
    )
    chosen = coding.scratch.table(f"FROM (VALUES {listed}) AS v(number, depths, utility, {masks})", "choices")
    best = " UNION ALL ".join(f"FROM {table.name}" for table in tables)
    refusal = f"error({literal(coding.calls.value('_no_choice()'))})"
    labels = ", ".join(f"coalesce(n{place}.node, '*')" for place in places)
    joins = " ".join(
        f"LEFT JOIN (FROM {coding.nodes.name} WHERE place = {place} AND depth > 0) AS n{place} "
        f"ON b.key & v.m{place} = n{place}.code"
        for place in places
    )
    return scratch.table(
        f"""SELECT r.record, [{labels}] AS labels, CAST(v.depths AS BIGINT[]) AS depths, b.entries,
          CASE WHEN b.number IS NULL THEN {refusal} ELSE b.loss END AS loss, CAST(v.utility AS BIGINT) AS utility
        FROM ({keyed(coding, "record")}) AS r LEFT JOIN ({best}) AS b ON r.key = b.key
        LEFT JOIN {chosen.name} AS v ON b.number = v.number {joins}""",
        "disclosed",
    )


# -------------------- the best choices of a group of records


def best_choices(group: RecordGroup, records: Relation, kept: Scratch) -> Relation:
    """The best choice of each record of a group, by key, made in `kept`. `records` is dropped."""
    scratch, goal = group.scratch, group.goal
    finest = group.node(Choice(0, group.depths))
    lookups = group.counts.lookups(finest)
    joins, names = _joined(lookups)
    found = scratch.table(f"SELECT s.key, {_total(lookups, names)} AS entries FROM {records.name} AS s{joins}", "found")
    scratch.drop(records)
    whole = next(choice for choice in group.choices if choice.depths == group.depths)
    # Nobody is found by the whole record, so nothing is lost by disclosing all of it.
    lost = "CAST(0 AS DOUBLE)"
    alone = scratch.table(
        f"SELECT key, CAST({whole.number} AS INTEGER) AS number, {goal.rank(whole)} AS rank, "
        f"{goal.score(lost, whole)} AS score, {lost} AS loss, CAST(0 AS BIGINT) AS entries "
        f"FROM {found.name} WHERE entries = 0 AND {'true' if goal.may_take(whole) else 'false'}",
        "alone",
    )
    state = scratch.table(f"SELECT key, {_NONE_YET} FROM {found.name} WHERE entries > 0", "state")
    scratch.drop(found)
    if state.written:
        state = _search(group, state, finest, records.written or 0)
    best = kept.table(f"SELECT {_STATE} FROM {state.name} UNION ALL FROM {alone.name}", "best")
    scratch.drop(state, alone)
    return best


def _search(group: RecordGroup, state: Relation, finest: Depths, records: int) -> Relation:
    """All passes: coarse nodes for all records, each finer node for the records that could gain by it."""
    counts = group.counts
    few = max(_FEW_KEYS, records // _KEYS_SHARE)
    nodes = list(dict.fromkeys(group.node(choice) for choice in group.needed))
    fine = sorted((node for node in nodes if counts.most(node) > few), key=counts.most)
    few_keys = [node for node in product(*(range(k + 1) for k in finest)) if counts.most(node) <= few]
    bounds = list(dict.fromkeys(max((n for n in few_keys if _above(n, node)), key=counts.most) for node in fine))
    coarse = list(dict.fromkeys([*bounds, *(node for node in nodes if node not in fine)]))
    for batch in _batches(group, coarse):
        state = _step(group, state, {node: counts.lookups(node) for node in batch}, bounds)
    if not fine:
        return state
    scratch = group.scratch
    whole = scratch.table(_bounded(group, state.name, fine, bounds), "bounded")
    is_open = " OR ".join(f"f{_name(node)}" for node in fine)
    rest = scratch.table(f"SELECT {_STATE} FROM {whole.name} WHERE NOT ({is_open})", "rest")
    left = scratch.table(f"FROM {whole.name} WHERE {is_open}", "open")
    scratch.drop(state, whole)
    left = _search_finer(group, left, fine, bounds)
    state = scratch.table(f"FROM {rest.name} UNION ALL SELECT {_STATE} FROM {left.name}", "state")
    scratch.drop(rest, left)
    return state


def _search_finer(group: RecordGroup, state: Relation, fine: Sequence[Depths], bounds: Sequence[Depths]) -> Relation:
    """The state after all fine nodes, each compared for the records that could still gain by it."""
    scratch = group.scratch
    by_node: dict[Depths, Sequence[Lookup]] = {}
    rows = choices = 0
    for place, node in enumerate(fine, start=1):
        # A better choice than any of this node may have been found meanwhile.
        still = f"(SELECT * EXCLUDE (f{_name(node)}) FROM {state.name} WHERE f{_name(node)})"
        tested = _bounded(group, still, [node], bounds)
        keys = scratch.table(f"SELECT key FROM ({tested}) WHERE f{_name(node)}", "keys")
        if keys.written:
            by_node[node] = group.counts.lookups_for(node, keys)
            rows += sum(lookup.table.written or 0 for lookup in by_node[node])
            choices += group.choices_of(node)
        scratch.drop(keys)
        if by_node and (rows > _PASS_ROWS or choices > _PASS_CHOICES or place == len(fine)):
            state = _step(group, state, by_node, bounds, fine)
            scratch.drop(*(lookup.table for own in by_node.values() for lookup in own))
            by_node, rows, choices = {}, 0, 0
    return state


def _batches(group: RecordGroup, nodes: Sequence[Depths]) -> Iterator[list[Depths]]:
    """The nodes in parts for one pass each: not too many tables to join, nor choices to compare."""
    batch: list[Depths] = []
    choices = 0
    for node in nodes:
        own = group.choices_of(node)
        if batch and (len(batch) == _PASS_NODES or choices + own > _PASS_CHOICES):
            yield batch
            batch, choices = [], 0
        batch.append(node)
        choices += own
    if batch:
        yield batch


def _above(node: Depths, other: Depths) -> bool:
    return all(a <= b for a, b in zip(node, other, strict=True))


def _joined(lookups: Iterable[Lookup]) -> tuple[str, dict[Lookup, str]]:
    """SQL that joins lookups to the keys of `s`, and their names there."""
    names = {lookup: f"k{number}" for number, lookup in enumerate(dict.fromkeys(lookups))}
    joins = [f" LEFT JOIN {own.table.name} AS {name} ON s.key & {own.mask} = {name}.key" for own, name in names.items()]
    return "".join(joins), names


def _total(lookups: Sequence[Lookup], names: Mapping[Lookup, str]) -> str:
    """SQL of the number of entries that some lookups find together."""
    return " + ".join(f"coalesce({names[own]}.entries, 0)" for own in lookups)


def _name(node: Depths) -> str:
    return "_".join(map(str, node))


def _with_ladders(group: RecordGroup, choices: Sequence[Choice]) -> tuple[str, str]:
    """SQL of the columns of ladders that some choices need, and of the joins for them."""
    used = sorted({(place, k) for c in choices for place, k in enumerate(c.depths, start=1) if k})
    columns = "".join(f", t{place}_{k}, g{place}_{k}" for place, k in used)
    joins = []
    for place in sorted({place for place, _ in used}):
        mask = group.coding.constant(group.coding.attributes[place - 1].whole)
        # Each key has its row there. LEFT keeps DuckDB from building the hash table on all records.
        joins.append(f" LEFT JOIN {group.ladders[place].name} AS l{place} ON s.key & {mask} = l{place}.code")
    return columns, "".join(joins)


def _bounded(group: RecordGroup, state: str, nodes: Sequence[Depths], bounds: Sequence[Depths]) -> str:
    """SQL of the state with a flag for each node: whether some choice of it could be better, or as good.

    A node has no more consistent entries than a node above it, so its loss is at least the loss with those entries.
    """
    goal = group.goal
    choices = [choice for choice in group.needed if group.node(choice) in nodes]
    columns, joins = _with_ladders(group, choices)
    flags = []
    for node in nodes:
        above = ", ".join(f"e{_name(b)}" for b in bounds if _above(b, node))
        tests = []
        for choice in (own for own in choices if group.node(own) == node):
            chance = group.chance(f"least({above})")
            least = goal.score(f"({group.loss(f'({chance})', choice)})", choice)
            rank = goal.rank(choice)
            better = f"number IS NULL OR {rank} < rank OR ({rank} = rank AND {least} <= score)"
            tests.append(f"({goal.allowed(least)} AND ({better}))")
        flags.append(f"{' OR '.join(tests)} AS f{_name(node)}")
    inner = f"SELECT s.*{columns} FROM {state} AS s{joins}"
    dropped = f" EXCLUDE ({columns.lstrip(', ')})" if columns else ""
    return f"SELECT *{dropped}, {', '.join(flags)} FROM ({inner})"


def _step(
    group: RecordGroup,
    state: Relation,
    by_node: Mapping[Depths, Sequence[Lookup]],
    bounds: Sequence[Depths],
    flagged: Sequence[Depths] = (),
) -> Relation:
    """The state after a pass over some nodes: a new table in place of the old one. Bounds and flags stay."""
    known = {*state.columns, *(f"e{_name(node)}" for node in by_node)}
    kept = [name for name in (*(f"e{_name(n)}" for n in bounds), *(f"f{_name(n)}" for n in flagged)) if name in known]
    after = group.scratch.table(_compared(group, state, by_node, kept), "state")
    group.scratch.drop(state)
    return after


def _compared(
    group: RecordGroup, state: Relation, by_node: Mapping[Depths, Sequence[Lookup]], kept: Sequence[str]
) -> str:
    """SQL of a pass, nested so that each SELECT reuses the columns of the one below it."""
    goal = group.goal
    choices = [choice for choice in group.needed if group.node(choice) in by_node]
    also_kept = "".join(f", {name}" for name in kept)
    columns, ladders = _with_ladders(group, choices)
    joins, names = _joined(own for lookups in by_node.values() for own in lookups)
    # A key that was not looked up has no entries here, and NULL is never the least.
    entries = "".join(f", nullif({_total(own, names)}, 0) AS e{_name(node)}" for node, own in by_node.items())
    text = f"SELECT s.*{columns}{entries} FROM {state.name} AS s{ladders}{joins}"
    if not choices:
        return f"SELECT {_STATE}{also_kept} FROM ({text})"
    chances = {node: group.chance(f"e{_name(node)}") for node in by_node}
    text = f"SELECT *{''.join(f', {own} AS p{_name(node)}' for node, own in chances.items())} FROM ({text})"
    losses = [f"{group.loss(f'p{_name(group.node(c))}', c)} AS l{c.number}" for c in choices]
    text = f"SELECT *, {', '.join(losses)} FROM ({text})"
    scores = [f"{goal.score(f'l{c.number}', c)} AS w{c.number}" for c in choices]
    text = f"SELECT *, {', '.join(scores)} FROM ({text})"
    ranks = goal.ranks(choices)
    least = [f"least({', '.join(f'w{c.number}' for c in own)}) AS r{place}" for place, (_, own) in enumerate(ranks)]
    text = f"SELECT *, {', '.join(least)} FROM ({text})"
    new = {"rank": "", "score": "", "number": ""}
    for place, (rank, own) in enumerate(ranks):
        when = f" WHEN {goal.allowed(f'r{place}')} THEN "
        first = " ".join(f"WHEN w{c.number} = r{place} THEN {c.number}" for c in own)
        new["rank"] += f"{when}{rank}"
        new["score"] += f"{when}r{place}"
        new["number"] += f"{when}CASE {first} END"
    text = f"SELECT *, {', '.join(f'CASE{cases} END AS new_{name}' for name, cases in new.items())} FROM ({text})"
    tied = "new_score < score OR (new_score = score AND new_number < number)"
    better = f"new_number IS NOT NULL AND (number IS NULL OR new_rank < rank OR (new_rank = rank AND ({tied})))"
    text = f"SELECT *, {better} AS better FROM ({text})"
    taken = {
        "number": "new_number",
        "rank": "new_rank",
        "score": "new_score",
        "loss": _of_new_choice("l", [(str(c.number), [c.number]) for c in choices])
        if goal.name == BOTH
        else "new_score",
        "entries": _of_new_choice(
            "e", [(_name(n), [c.number for c in choices if group.node(c) == n]) for n in by_node]
        ),
    }
    shown = ", ".join(f"CASE WHEN better THEN {expr} ELSE {name} END AS {name}" for name, expr in taken.items())
    return f"SELECT key, {shown}{also_kept} FROM ({text})"


def _of_new_choice(prefix: str, columns: Sequence[tuple[str, Sequence[int]]]) -> str:
    """SQL of the column that belongs to the new choice."""
    cases = [f"WHEN new_number IN ({', '.join(map(str, own))}) THEN {prefix}{name}" for name, own in columns if own]
    return f"CASE {' '.join(cases)} END"
