"""The classes of the table under a node, their random sample, and which of them are shown.

A class is a whole published tuple: labels of the quasi-identifiers together with the values of every other published
column, or of those of one group (groups.py). So what is compared with k is how often exactly this row would stand in
the release (strongly safe in the words of the paper). Of a class only its number of rows matters. So each of them has a
random number by the class and a number from 1 on: equal rows have independent ones, and the order of the table has no
part in it.

One of several nodes is drawn by the exponential mechanism: the better its score, the likelier. The score of a node is
how many rows are to be expected in its release, of the whole table. Rows are then sampled with random numbers of their
own: the sample of which a node is good would reveal more than either. docs/sample.md has the proof.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlpriv.core.engine import fetch
from sqlpriv.core.errors import PolicyError
from sqlpriv.core.relation import Relation, Scratch
from sqlpriv.core.sqltext import literal, quoted
from sqlpriv.macros.catalog import inlined
from sqlpriv.methods.generalized.layout import without_enums
from sqlpriv.methods.generalized.scan import Scan, node_of, number_rows, published_columns
from sqlpriv.methods.generalized.write import NodeLabels, write_node_labels
from sqlpriv.methods.lattice import Node
from sqlpriv.methods.sdgs.groups import Group
from sqlpriv.methods.sdgs.policy import SdgsPolicy
from sqlpriv.methods.sdgs.terms import SdgsTerms, sensitivity
from sqlpriv.table.digest import WRITTEN_ONE_WAY
from sqlpriv.table.engines.rows import COUNT


@dataclass(frozen=True)
class SampleCounts:
    """The sample of a group, counted. For the owner alone: only what is shown is published."""

    relation: Relation
    """The classes with seen: how many of their rows are sampled."""

    rows: int
    """Rows that could be sampled."""
    seen: int
    """Rows that were sampled."""
    shown: int
    """Rows that are published."""
    classes: int
    """Classes that are published."""


def refuse_kinds(scan: Scan) -> None:
    """What is counted as equal must read alike, in every column that is published."""
    kinds = scan.source.private.columns
    for name in published_columns(scan):
        if not WRITTEN_ONE_WAY.fullmatch(kinds[name]):
            kind = without_enums(kinds[name])
            raise PolicyError(
                f"{name!r} is of type {kind}, of which equal values may read differently, or the same value in many "
                "ways; cast it to a plain type in a view, or drop it"
            )


def write_rows(scan: Scan, policy: SdgsPolicy, prefix: str) -> Relation:
    """The rows that count, with __priv_n. Of persons one row each, at random, or all where none has too many."""
    frequencies = scan.frequencies.relation
    if policy.person is not None and policy.rows_each > 1:
        refuse_too_many(scan, policy)
    elif policy.person is not None:
        columns = [f"t.{quoted(c)}" for c in [*published_columns(scan), policy.person]]
        coin = inlined(f"_coin_bits({literal(prefix)}, 'person|' || {_text(columns)} || '|' || CAST(copy AS VARCHAR))")
        copies = f"SELECT *, unnest(range(__priv_n)) AS copy FROM {frequencies.name}"
        place = f"row_number() OVER (PARTITION BY t.{quoted(policy.person)} ORDER BY {coin}) AS place"
        rows = f"SELECT * EXCLUDE (copy, place, __priv_n), 1 AS __priv_n FROM (SELECT *, {place} FROM ({copies}) AS t) "
        return scan.source.scratch.table(f"{rows}WHERE place = 1", "rows")
    return frequencies


def refuse_too_many(scan: Scan, policy: SdgsPolicy) -> None:
    """Somebody with more rows than the guarantee is made for would have less of it."""
    person = quoted(policy.person or "")
    counted = f"SELECT sum(__priv_n) AS n FROM {scan.frequencies.relation.name} GROUP BY {person}"
    beyond = int(fetch(scan.source.con, f"SELECT count(*) FROM ({counted}) WHERE n > {policy.rows_each}")[0][0])
    if beyond:
        raise PolicyError(
            f"the table has persons with more than {policy.rows_each} rows, {beyond:,} of them; raise rows_each, or "
            "leave it out"
        )


def _text(cells: Sequence[str]) -> str:
    """SQL for cells as one text, different for different cells: each with its length before it."""
    return " || ".join(
        f"coalesce(CAST(length({text}) AS VARCHAR) || ':' || {text}, 'n')"
        for text in (f"CAST({cell} AS VARCHAR)" for cell in cells)
    )


def tuple_cells(scan: Scan, node: Node, columns: Sequence[str]) -> list[str]:
    """SQL for the cells of a published tuple, over a row t whose quasi-identifiers are joined with their labels."""
    place = {qi: a for a, qi in enumerate(scan.policy.qis)}
    kinds = scan.source.private.columns
    cells = []
    for name in columns:
        a, plain = place.get(name), without_enums(kinds[name])
        cell = f"t.{quoted(name)}" if plain == kinds[name] else f"CAST(t.{quoted(name)} AS {plain})"
        cells.append(cell if a is None or node[a] == 0 else f"l{a}.label")
    return cells


def write_classes(scan: Scan, rows: Relation, shown: NodeLabels, group: Group, scratch: Scratch) -> Relation:
    """The classes of a group: c0, c1, ..., the tuple; rows, how often it is there; name, the tuple as one text."""
    cells = tuple_cells(scan, shown.node, group.columns)
    named = [f"c{i}" for i in range(len(cells))]
    listed = ", ".join(f"{cell} AS {name}" for cell, name in zip(cells, named, strict=True))
    labelled = number_rows(scan.policy, rows, f"{listed}, t.{COUNT} AS n", shown.labels)
    names = ", ".join(named)
    grouped = f"SELECT {names}, CAST(sum(n) AS BIGINT) AS rows FROM ({labelled}) GROUP BY {names}"
    return scratch.table(f"SELECT *, {_text(named)} AS name FROM ({grouped})", "classes")


def write_sample(scan: Scan, classes: Relation, group: Group, k: int, beta: float, prefix: str) -> SampleCounts:
    """A sample of the classes of a group."""
    con, start = scan.source.con, literal(group.random_prefix)
    coin = inlined(f"_coin_share(_coin_bits({literal(prefix)}, {start} || name || '|' || CAST(copy AS VARCHAR)))")
    coins = f"SELECT name, unnest(range(rows)) AS copy FROM {classes.name}"
    seen = f"SELECT name, count(*) AS seen FROM ({coins}) WHERE {coin} < {beta!r} GROUP BY name"
    sample = scan.source.scratch.table(
        f"SELECT c.*, s.seen FROM {classes.name} AS c JOIN ({seen}) AS s USING (name)", "sample"
    )
    found = f"sum(seen), sum(seen) FILTER (seen >= {k}), count(*) FILTER (seen >= {k})"
    rows = fetch(con, f"SELECT sum(rows) FROM {classes.name}")[0][0]
    return SampleCounts(
        sample, int(rows or 0), *(int(n or 0) for n in fetch(con, f"SELECT {found} FROM {sample.name}")[0])
    )


def expected_rows(scan: Scan, classes: Relation, k: int, beta: float) -> float:
    """How many rows of a group are to be expected in the release, by its classes: the score of their node."""
    sizes = f"SELECT rows, count(*) AS n FROM {classes.name} GROUP BY rows"
    shown = f"{scan.source.need('sdgs_shown_rows')}(rows, {k}, {beta!r})"
    # In the order of the sizes, so that doubles add up to the same every time.
    found = fetch(
        scan.source.con, f"SELECT sum(n * shown ORDER BY rows) FROM (SELECT rows, n, {shown} AS shown FROM ({sizes}))"
    )
    return float(found[0][0] or 0.0)


def draw_node(
    scan: Scan, rows: Relation, nodes: Sequence[Mapping[str, int]], group: Group, terms: SdgsTerms, prefix: str
) -> Node:
    """One of the nodes, at random by their scores by the rows that count; the only one, where there is one.

    Where there are several, all columns are one group.
    """
    found = [node_of(scan, node) for node in nodes]
    if len(found) == 1:
        return found[0]
    scores = []
    for node in found:
        with scan.source.scratch.nested() as scratch:
            classes = write_classes(scan, rows, write_node_labels(scan, node, scratch), group, scratch)
            scores.append(expected_rows(scan, classes, terms.k, terms.beta))
    con, calls = scan.source.con, scan.source.calls
    most = sensitivity(calls, terms.k, terms.beta)
    coin = inlined(f"_coin_share(_coin_bits({literal(prefix)}, 'node|'))")
    drawn = inlined(f"_exponential_draw({literal(scores)}, {terms.node_epsilon!r}, {most!r}, ({coin}))")
    return found[int(fetch(con, f"SELECT {drawn}")[0][0]) - 1]
