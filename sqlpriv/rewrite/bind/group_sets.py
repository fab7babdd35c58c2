"""GROUP BY: expressions, ordinals, ALL, and ROLLUP, CUBE and GROUPING SETS as the list of the sets they stand for."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations, product
from typing import TypeAlias

from sqlglot import exp

from sqlpriv.rewrite.bind.refusals import refuse
from sqlpriv.rewrite.bind.relations import mark

Keys: TypeAlias = list[exp.Expr]
Sets: TypeAlias = list[tuple[int, ...]]
_MOST_SETS = 64


def group_sets(
    group: exp.Group | None, plain_items: Keys, resolve: Callable[[exp.Expr], exp.Expr], sql: str
) -> tuple[Keys, Sets]:
    """The group keys, and which of them make up each grouping set; without GROUP BY one empty set."""
    if group is None:
        return [], [()]
    for argument, value in group.args.items():
        if value and argument not in {"expressions", "all", "grouping_sets", "rollup", "cube"}:
            refuse(sql, group, f"GROUP BY ... {argument}", "write ROLLUP (...), CUBE (...) or GROUPING SETS (...)")
    keys: Keys = []
    if group.args.get("all"):
        return plain_items, [tuple(range(len(plain_items)))]

    def key(node: exp.Expr) -> int:
        resolved = resolve(node)
        for place, other in enumerate(keys):
            if other == resolved and mark(other) == mark(resolved):
                return place
        keys.append(resolved)
        return len(keys) - 1

    listed = [n for arg in ("expressions", "grouping_sets", "rollup", "cube") for n in group.args.get(arg) or []]
    factors = [_sets(node, key, sql) for node in listed]
    sets = [tuple(dict.fromkeys(k for part in parts for k in part)) for parts in product(*factors)]
    if len(sets) > _MOST_SETS:
        refuse(sql, group, f"GROUP BY with {len(sets)} grouping sets", f"ask for {_MOST_SETS} at most")
    return keys, sets


def _sets(node: exp.Expr, key: Callable[[exp.Expr], int], sql: str) -> Sets:
    if isinstance(node, exp.Rollup):
        parts = [_tuple(n, key) for n in node.expressions]
        return [_joined(parts[:length]) for length in range(len(parts), -1, -1)]
    if isinstance(node, exp.Cube):
        parts = [_tuple(n, key) for n in node.expressions]
        if len(parts) > 6:
            refuse(sql, node, "CUBE of more than 6 columns", "name the GROUPING SETS you need")
        return [_joined(chosen) for length in range(len(parts), -1, -1) for chosen in combinations(parts, length)]
    if isinstance(node, exp.GroupingSets):
        return [s for n in node.expressions for s in (_sets(n, key, sql) if _nested(n) else [_tuple(n, key)])]
    return [_tuple(node, key)]


def _nested(node: exp.Expr) -> bool:
    return isinstance(node, (exp.Rollup, exp.Cube, exp.GroupingSets))


def _tuple(node: exp.Expr, key: Callable[[exp.Expr], int]) -> tuple[int, ...]:
    if isinstance(node, exp.Tuple):
        return tuple(key(n) for n in list(node.expressions))
    return (key(node.unnest() if isinstance(node, exp.Paren) else node),)


def _joined(parts: list[tuple[int, ...]] | tuple[tuple[int, ...], ...]) -> tuple[int, ...]:
    return tuple(dict.fromkeys(k for part in parts for k in part))
