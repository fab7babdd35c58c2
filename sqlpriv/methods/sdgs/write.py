"""Draw the sample, write a release by sampled k-anonymity, and compare the file with what was drawn.

The file has the layout of generalized releases (generalized/layout.py), and further

    group_2, ...   of several groups of columns the rows of all but the first
    parameters     the four numbers, what they guarantee, and n_public where the policy declares it
    smooth         points of the f-smooth guarantee: epsilon, delta, the closed bound on delta

Nothing in it depends on the table but the published rows and, where the policy lets it be drawn, the node. It holds no
number of rows, no number of suppressed ones, and no label that only they have. Rows are sorted by what they show.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from sqlpriv.core.engine import attached, fetch
from sqlpriv.core.errors import ReleaseError
from sqlpriv.core.sqltext import quoted
from sqlpriv.methods.generalized.write import (
    NodeLabels,
    PublishedTable,
    node_labels,
    write_generalized,
    write_node_labels,
)
from sqlpriv.methods.method import Edition, Made
from sqlpriv.methods.sdgs.classes import SampleCounts, draw_node, write_classes, write_rows, write_sample
from sqlpriv.methods.sdgs.groups import GROUPS
from sqlpriv.methods.sdgs.plan import SdgsPlan
from sqlpriv.methods.sdgs.terms import SMOOTH
from sqlpriv.release.file import WRITTEN, written
from sqlpriv.release.write import write_table


def draw(plan: SdgsPlan, prefix: str) -> tuple[NodeLabels, Sequence[SampleCounts]]:
    """Draw persons' rows, the node, and then a sample of each group by random numbers of its own."""
    scan, terms, scratch = plan.scan, plan.terms, plan.source.scratch
    rows = write_rows(scan, plan.policy, prefix)
    node = draw_node(scan, rows, plan.policy.nodes, plan.groups[0], terms, prefix)
    shown, found = write_node_labels(scan, node), []
    for group in plan.groups:
        classes = write_classes(scan, rows, shown, group, scratch)
        sampled = write_sample(scan, classes, group, terms.k, terms.beta, prefix)
        if not plan.source.calls.value(f"_is_a_sample({sampled.seen}, {sampled.rows}, {terms.beta!r})"):
            raise ReleaseError("the random draws are not as they should be, so nothing was published; run it again")
        found.append(sampled)
    plan.drawn.node, plan.drawn.sampled = node, tuple(found)
    return shown, found


def write_release(plan: SdgsPlan, edition: Edition, path: Path) -> Made:
    """Write the release into a new file."""
    policy, terms, table = plan.policy, plan.terms, plan.policy.table.name
    shown, sampled = draw(plan, edition.prefix)
    columns = plan.columns(shown.node)
    written_in = {name: group.written for group in plan.groups for name in group.columns}
    labels = node_labels(plan.scan, shown, columns, written_in)
    rows = []
    for group, sample in zip(plan.groups, sampled, strict=True):
        listed = ", ".join(f"c{i} AS {quoted(name)}" for i, name in enumerate(group.columns))
        copies = f"SELECT *, unnest(range(seen)) AS copy FROM {sample.relation.name} WHERE seen >= {terms.k}"
        rows.append(PublishedTable(group.table, f"SELECT {listed} FROM ({copies})", group.view(table)))
    about = {
        "node": json.dumps(plan.named(shown.node)),
        "counts": "persons" if terms.of_persons and terms.rows_each == 1 else "rows",
        "unit": terms.unit,
    }
    if len(policy.nodes) > 1:
        about["nodes"] = json.dumps([dict(node) for node in policy.nodes])
    if len(plan.groups) > 1:
        about[GROUPS] = json.dumps([group.columns for group in plan.groups])
    # A number of rows made from the table would be one thing more that depends on a row: only a declared one is there.
    declared = {} if policy.n_public is None else {"n_public": plan.n_public, "exposed": plan.exposed}
    with written(plan.source.con, path):
        number = write_generalized(plan.source.con, policy, rows, columns, labels, about, terms.numbers | declared)
        write_table(plan.source.con, "smooth", SMOOTH, [tuple(map(float, point)) for point in plan.smooth])
    return Made(number, float(sum(s.shown for s in sampled)))


def compare(plan: SdgsPlan, path: Path) -> None:
    """Refuse a file whose rows are not those of the samples that were just drawn."""
    con = plan.source.con
    with attached(con, path, WRITTEN, error=ReleaseError):
        for group, sampled in zip(plan.groups, plan.drawn.sampled or (), strict=True):
            names = group.columns
            if tuple(r[0] for r in fetch(con, f"DESCRIBE {group.written}")) != names:
                raise ReleaseError("the release does not have the columns it should have; nothing was published")
            listed = ", ".join(f"{quoted(name)} AS c{i}" for i, name in enumerate(names))
            cells = ", ".join(f"c{i}" for i in range(len(names)))
            found = f"SELECT {cells}, count(*) AS seen FROM (SELECT {listed} FROM {group.written}) GROUP BY {cells}"
            wanted = f"SELECT {cells}, seen FROM {sampled.relation.name} WHERE seen >= {plan.terms.k} AND seen <= rows"
            differ = f"SELECT count(*) FROM (({found} EXCEPT {wanted}) UNION ALL ({wanted} EXCEPT {found}))"
            if fetch(con, differ)[0][0]:
                raise ReleaseError("the rows of the release are not those that were drawn; nothing was published")
