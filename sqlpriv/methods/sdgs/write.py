"""Write a release by sampled k-anonymity.

The file has the layout of generalized releases (generalized/layout.py), and further

    group_2, ...   of several groups of columns the rows of all but the first
    parameters     the four numbers, what they guarantee, and n_public where the policy declares it
    smooth         points of the f-smooth guarantee: epsilon, delta, the closed bound on delta

Nothing in it depends on the table but the published rows and, where the policy lets it be drawn, the node: no number of
rows, no number of suppressed ones, no label that only they have. Rows are sorted by what they show.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from sqlpriv.core.errors import ReleaseError
from sqlpriv.core.sqltext import quoted
from sqlpriv.methods.generalized.write import NodeLabels, Rows, node_labels, write_generalized, write_node_labels
from sqlpriv.methods.lattice import Node
from sqlpriv.methods.method import Edition, Made
from sqlpriv.methods.sdgs.classes import SampleCounts, write_classes, write_rows, write_sample
from sqlpriv.methods.sdgs.groups import GROUPS, Group
from sqlpriv.methods.sdgs.nodes import draw_node
from sqlpriv.methods.sdgs.plan import SdgsPlan
from sqlpriv.release.file import double, write_values, written


def throw(plan: SdgsPlan, prefix: str) -> tuple[NodeLabels, Sequence[SampleCounts]]:
    """Throw all coins: persons' rows, the node, and then a sample of each group by its own."""
    scan, terms, scratch = plan.scan, plan.terms, plan.source.scratch
    rows = write_rows(scan, plan.policy, prefix)
    node = draw_node(scan, rows, plan.policy.nodes, plan.groups[0], terms, prefix)
    shown, found = write_node_labels(scan, node), []
    for group in plan.groups:
        classes = write_classes(scan, rows, shown, group, scratch)
        sampled = write_sample(scan, classes, group, terms.k, terms.beta, prefix)
        if not plan.source.calls.value(f"_is_a_sample({sampled.seen}, {sampled.rows}, {terms.beta!r})"):
            raise ReleaseError("the coins were not thrown as they should be, so nothing was published; run it again")
        found.append(sampled)
    plan.drawn.node, plan.drawn.sampled = node, tuple(found)
    return shown, found


def write(plan: SdgsPlan, edition: Edition, path: Path) -> Made:
    """Write the release into a new file."""
    scan, con, table = plan.scan, plan.source.con, plan.policy.table.name
    shown, sampled = throw(plan, edition.prefix)
    node = shown.node
    columns = plan.columns(node)
    labels = node_labels(scan, shown, columns, {name: g.written for g in plan.groups for name in g.columns})
    drawn = zip(plan.groups, sampled, strict=True)
    groups = [Rows(group.table, _rows(plan, group, sample), group.view(table)) for group, sample in drawn]
    with written(con, path):
        rows = write_generalized(con, plan.policy, groups, columns, labels, _about(plan, node), _numbers(plan))
        points = (tuple(double(n) for n in point) for point in plan.smooth)
        write_values(con, "smooth", "epsilon, delta, bound", points)
    return Made(rows, float(sum(s.shown for s in sampled)))


def _rows(plan: SdgsPlan, group: Group, sampled: SampleCounts) -> str:
    """A query for the rows of a group."""
    listed = ", ".join(f"c{i} AS {quoted(name)}" for i, name in enumerate(group.columns))
    copies = f"SELECT *, unnest(range(seen)) AS copy FROM {sampled.relation} WHERE seen >= {plan.terms.k}"
    return f"SELECT {listed} FROM ({copies})"


def _numbers(plan: SdgsPlan) -> dict[str, float]:
    """A number of rows made from the table would be one thing more that depends on a row: a declared one is told."""
    told = plan.policy.n_public is not None
    return plan.terms.numbers | ({"n_public": plan.n_public, "exposed": plan.exposed} if told else {})


def _about(plan: SdgsPlan, node: Node) -> dict[str, str]:
    policy, terms = plan.policy, plan.terms
    about = {
        "node": json.dumps(plan.named(node)),
        "counts": "persons" if terms.of_persons and terms.rows_each == 1 else "rows",
        "unit": terms.unit,
    }
    drawn = {"nodes": json.dumps([dict(n) for n in policy.nodes])} if len(policy.nodes) > 1 else {}
    if len(plan.groups) > 1:
        drawn |= {GROUPS: json.dumps([group.columns for group in plan.groups])}
    return about | drawn
