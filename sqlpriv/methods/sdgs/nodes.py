"""One of several nodes, drawn by the exponential mechanism: the better its score, the likelier.

The score of a node is how many rows are to be expected in its release, of the whole table. Then rows are sampled with
coins of their own: the sample of which a node is good would tell more than either. docs/sdgs.md has the proof.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlpriv.core.engine import fetch
from sqlpriv.core.relation import Relation
from sqlpriv.core.sqltext import literal
from sqlpriv.macros.catalog import inlined
from sqlpriv.methods.generalized.scan import Scan, node_of
from sqlpriv.methods.generalized.write import write_node_labels
from sqlpriv.methods.lattice import Node
from sqlpriv.methods.sdgs.classes import expected_rows, write_classes
from sqlpriv.methods.sdgs.groups import Group
from sqlpriv.methods.sdgs.terms import SdgsTerms, sensitivity


def draw_node(
    scan: Scan, rows: Relation, nodes: Sequence[Mapping[str, int]], group: Group, terms: SdgsTerms, prefix: str
) -> Node:
    """One of the nodes, by a coin and their scores by the rows that count; the only one, where there is one.

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
