"""Passes over the records of one kind: each looks at a few nodes.

A node is a depth for each attribute that the dictionary knows; all choices of it have the same consistent entries. The
state of a record is its best choice so far: its number, rank, worth and loss, and the entries consistent with it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product

from sqlpriv.engine import fetch
from sqlpriv.risk.attributes import Depths
from sqlpriv.risk.counts import Lookup
from sqlpriv.risk.goals import BOTH, Choice
from sqlpriv.risk.kinds import Kind

_STATE = "key, number, rank, worth, loss, entries"
_NONE_YET = (
    "CAST(NULL AS INTEGER) AS number, 0 AS rank, CAST(NULL AS DOUBLE) AS worth, CAST(NULL AS DOUBLE) AS loss, "
    "CAST(NULL AS BIGINT) AS entries"
)
_FEW_KEYS, _KEYS_SHARE = 50_000, 8
"""Nodes with so many keys, or this part of the records, are looked at for all records; finer ones where need be."""
_PASS_NODES, _PASS_CHOICES, _PASS_ROWS = 12, 60, 2_000_000
"""What one pass looks at: so many tables, choices, and rows of tables that were made for it."""


def settle(kind: Kind, records: str) -> str:
    """The table of the records of a kind with their best choices, in the place of the table of these records."""
    desk = kind.coded.desk
    finest = kind.node(Choice(0, kind.depths))
    size = desk.rows(records)
    found = desk.make(f"found_{kind.number}", _found(kind, records, finest))
    desk.drop(records)
    whole = next(choice for choice in kind.choices if choice.depths == kind.depths)
    # Nobody is found by what a record tells, so nothing is lost by telling all of it.
    lost = "CAST(0 AS DOUBLE)"
    alone = desk.make(
        f"alone_{kind.number}",
        f"SELECT key, CAST({whole.number} AS INTEGER) AS number, {kind.goal.rank(whole)} AS rank, "
        f"{kind.goal.worth(lost, whole)} AS worth, {lost} AS loss, CAST(0 AS BIGINT) AS entries "
        f"FROM {found} WHERE entries = 0 AND {'true' if kind.goal.kept(whole) else 'false'}",
    )
    state = desk.make(f"state_{kind.number}", f"SELECT key, {_NONE_YET} FROM {found} WHERE entries > 0")
    desk.drop(found)
    if desk.rows(state):
        state = _passed(kind, state, finest, size)
    settled = desk.make(f"settled_{kind.number}", f"SELECT {_STATE} FROM {state} UNION ALL FROM {alone}")
    desk.drop(state, alone)
    return settled


def _found(kind: Kind, records: str, finest: Depths) -> str:
    """SQL text of the records with the number of entries that are consistent with all they tell."""
    lookups = kind.counts.lookups(finest)
    joins, names = _joined(lookups)
    return f"SELECT s.key, {_total(lookups, names)} AS entries FROM {records} AS s{joins}"


def _passed(kind: Kind, state: str, finest: Depths, records: int) -> str:
    """All passes: over the coarse nodes for all records, over each finer one for those that could gain by it."""
    counts = kind.counts
    few = max(_FEW_KEYS, records // _KEYS_SHARE)
    nodes = list(dict.fromkeys(kind.node(choice) for choice in kind.needed))
    fine = sorted((node for node in nodes if counts.most(node) > few), key=counts.most)
    few_keys = [node for node in product(*(range(k + 1) for k in finest)) if counts.most(node) <= few]
    bounds = list(dict.fromkeys(max((n for n in few_keys if _above(n, node)), key=counts.most) for node in fine))
    coarse = list(dict.fromkeys([*bounds, *(node for node in nodes if node not in fine)]))
    for batch in _batches(kind, coarse):
        state = _step(kind, state, {node: counts.lookups(node) for node in batch}, bounds)
    if not fine:
        return state
    desk = kind.coded.desk
    whole = desk.make(f"bounded_{kind.number}", _bounded(kind, state, fine, bounds))
    is_open = " OR ".join(f"f{_name(node)}" for node in fine)
    rest = desk.make(f"rest_{kind.number}", f"SELECT {_STATE} FROM {whole} WHERE NOT ({is_open})")
    left = desk.make(f"open_{kind.number}", f"FROM {whole} WHERE {is_open}")
    desk.drop(state, whole)
    left = _look_finer(kind, left, fine, bounds)
    state = desk.make(f"passed_{kind.number}", f"FROM {rest} UNION ALL SELECT {_STATE} FROM {left}")
    desk.drop(rest, left)
    return state


def _look_finer(kind: Kind, state: str, fine: Sequence[Depths], bounds: Sequence[Depths]) -> str:
    """The state after a look at all fine nodes, each for the records that could still gain by it."""
    desk = kind.coded.desk
    looked: dict[Depths, Sequence[Lookup]] = {}
    rows = choices = 0
    for place, node in enumerate(fine, start=1):
        # Others may have been found meanwhile that are better than this one could be.
        still = f"(SELECT * EXCLUDE (f{_name(node)}) FROM {state} WHERE f{_name(node)})"
        tested = _bounded(kind, still, [node], bounds)
        keys = desk.make("keys", f"SELECT key FROM ({tested}) WHERE f{_name(node)}")
        if desk.rows(keys):
            looked[node] = kind.counts.lookups_for(node, keys)
            rows += sum(desk.rows(lookup.table) for lookup in looked[node])
            choices += kind.choices_of(node)
        if looked and (rows > _PASS_ROWS or choices > _PASS_CHOICES or place == len(fine)):
            state = _step(kind, state, looked, bounds, fine)
            desk.drop(*(lookup.table for own in looked.values() for lookup in own))
            looked, rows, choices = {}, 0, 0
    desk.drop(f"{desk.prefix}keys")
    return state


def _batches(kind: Kind, nodes: Sequence[Depths]) -> Iterator[list[Depths]]:
    """Nodes for one pass each: not too many tables to join, nor choices to compare."""
    batch: list[Depths] = []
    choices = 0
    for node in nodes:
        own = kind.choices_of(node)
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
    """SQL text that joins lookups to the keys of `s`, and their names there."""
    names = {lookup: f"k{number}" for number, lookup in enumerate(dict.fromkeys(lookups))}
    joins = [f" LEFT JOIN {own.table} AS {name} ON s.key & {own.mask} = {name}.key" for own, name in names.items()]
    return "".join(joins), names


def _total(lookups: Sequence[Lookup], names: Mapping[Lookup, str]) -> str:
    """SQL text of the number of entries that some lookups find together."""
    return " + ".join(f"coalesce({names[own]}.entries, 0)" for own in lookups)


def _name(node: Depths) -> str:
    return "_".join(map(str, node))


def _laddered(kind: Kind, choices: Sequence[Choice]) -> tuple[str, str]:
    """SQL text of the columns of ladders that some choices need, and of the joins that bring them."""
    used = sorted({(place, k) for c in choices for place, k in enumerate(c.depths, start=1) if k})
    columns = "".join(f", t{place}_{k}, g{place}_{k}" for place, k in used)
    joins = []
    for place in sorted({place for place, _ in used}):
        mask = kind.coded.constant(kind.coded.attributes[place - 1].whole)
        # Each key has its row there. LEFT, so that DuckDB builds no table of all records to look up the ladders in.
        joins.append(f" LEFT JOIN {kind.ladders[place]} AS l{place} ON s.key & {mask} = l{place}.code")
    return columns, "".join(joins)


def _bounded(kind: Kind, state: str, nodes: Sequence[Depths], bounds: Sequence[Depths]) -> str:
    """SQL text of the state with a flag for each node: whether some choice of it could be better, or as good.

    No node has more consistent entries than one above it, so that the loss there is no smaller than with those.
    """
    goal = kind.goal
    choices = [choice for choice in kind.needed if kind.node(choice) in nodes]
    columns, joins = _laddered(kind, choices)
    flags = []
    for node in nodes:
        above = ", ".join(f"e{_name(b)}" for b in bounds if _above(b, node))
        tests = []
        for choice in (own for own in choices if kind.node(own) == node):
            chance = kind.chance(f"least({above})")
            least = goal.worth(f"({kind.loss(f'({chance})', choice)})", choice)
            rank = goal.rank(choice)
            better = f"number IS NULL OR {rank} < rank OR ({rank} = rank AND {least} <= worth)"
            tests.append(f"({goal.allowed(least)} AND ({better}))")
        flags.append(f"{' OR '.join(tests)} AS f{_name(node)}")
    inner = f"SELECT s.*{columns} FROM {state} AS s{joins}"
    dropped = f" EXCLUDE ({columns.lstrip(', ')})" if columns else ""
    return f"SELECT *{dropped}, {', '.join(flags)} FROM ({inner})"


def _step(
    kind: Kind,
    state: str,
    looked: Mapping[Depths, Sequence[Lookup]],
    bounds: Sequence[Depths],
    flagged: Sequence[Depths] = (),
) -> str:
    """The state after a look at some nodes: a new table in place of the old one. Bounds and flags are kept."""
    desk = kind.coded.desk
    known = {str(name) for name, *_ in fetch(desk.con, f"DESCRIBE {state}")} | {f"e{_name(node)}" for node in looked}
    kept = [name for name in (*(f"e{_name(n)}" for n in bounds), *(f"f{_name(n)}" for n in flagged)) if name in known]
    desk.steps += 1
    after = desk.make(f"step_{desk.steps}", _compared(kind, state, looked, kept))
    desk.drop(state)
    return after


def _compared(kind: Kind, state: str, looked: Mapping[Depths, Sequence[Lookup]], kept: Sequence[str]) -> str:
    """SQL text of a pass. Each level needs the columns of the one below it, which must not be computed again."""
    goal = kind.goal
    choices = [choice for choice in kind.needed if kind.node(choice) in looked]
    also_kept = "".join(f", {name}" for name in kept)
    columns, ladders = _laddered(kind, choices)
    joins, names = _joined(own for lookups in looked.values() for own in lookups)
    # A key that was not looked up has no entries here, and NULL is never the least.
    entries = "".join(f", nullif({_total(own, names)}, 0) AS e{_name(node)}" for node, own in looked.items())
    text = f"SELECT s.*{columns}{entries} FROM {state} AS s{ladders}{joins}"
    if not choices:
        return f"SELECT {_STATE}{also_kept} FROM ({text})"
    chances = {node: kind.chance(f"e{_name(node)}") for node in looked}
    text = f"SELECT *{''.join(f', {own} AS p{_name(node)}' for node, own in chances.items())} FROM ({text})"
    losses = [f"{kind.loss(f'p{_name(kind.node(c))}', c)} AS l{c.number}" for c in choices]
    text = f"SELECT *, {', '.join(losses)} FROM ({text})"
    worths = [f"{goal.worth(f'l{c.number}', c)} AS w{c.number}" for c in choices]
    text = f"SELECT *, {', '.join(worths)} FROM ({text})"
    ranks = goal.ranks(choices)
    least = [f"least({', '.join(f'w{c.number}' for c in own)}) AS r{place}" for place, (_, own) in enumerate(ranks)]
    text = f"SELECT *, {', '.join(least)} FROM ({text})"
    new = {"rank": "", "worth": "", "number": ""}
    for place, (rank, own) in enumerate(ranks):
        when = f" WHEN {goal.allowed(f'r{place}')} THEN "
        first = " ".join(f"WHEN w{c.number} = r{place} THEN {c.number}" for c in own)
        new["rank"] += f"{when}{rank}"
        new["worth"] += f"{when}r{place}"
        new["number"] += f"{when}CASE {first} END"
    text = f"SELECT *, {', '.join(f'CASE{cases} END AS new_{name}' for name, cases in new.items())} FROM ({text})"
    tied = "new_worth < worth OR (new_worth = worth AND new_number < number)"
    better = f"new_number IS NOT NULL AND (number IS NULL OR new_rank < rank OR (new_rank = rank AND ({tied})))"
    text = f"SELECT *, {better} AS better FROM ({text})"
    taken = {
        "number": "new_number",
        "rank": "new_rank",
        "worth": "new_worth",
        "loss": _taken("l", [(str(c.number), [c.number]) for c in choices]) if goal.name == BOTH else "new_worth",
        "entries": _taken("e", [(_name(n), [c.number for c in choices if kind.node(c) == n]) for n in looked]),
    }
    shown = ", ".join(f"CASE WHEN better THEN {expr} ELSE {name} END AS {name}" for name, expr in taken.items())
    return f"SELECT key, {shown}{also_kept} FROM ({text})"


def _taken(prefix: str, columns: Sequence[tuple[str, Sequence[int]]]) -> str:
    """SQL text of the column that belongs to the new choice."""
    cases = [f"WHEN new_number IN ({', '.join(map(str, own))}) THEN {prefix}{name}" for name, own in columns if own]
    return f"CASE {' '.join(cases)} END"
