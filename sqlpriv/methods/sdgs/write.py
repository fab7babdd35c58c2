"""Write a release by sampled k-anonymity.

Schema main holds a view of the rows under the private table's own name; schema sqlpriv_release says what they are:

    published      the rows
    attributes     each published column, as in a generalized release
    parameters     the four numbers, what they guarantee, and n_public where the policy declares it
    smooth         points of the f-smooth guarantee: epsilon, delta, the closed bound on delta
    hierarchy_<c>  the labels of column c that occur, with the labels above them
    ends_<c>       where these are ranges, their ends; and domain.<c> the public domain of c, if any

Nothing in it depends on the table but the published rows and, where the policy lets it be drawn, the node: no number of
rows, no number of suppressed ones, no label that only they have. Rows are sorted by what they show.
"""

from __future__ import annotations

import json
from pathlib import Path

from sqlpriv.engine import fetch
from sqlpriv.errors import ReleaseError
from sqlpriv.methods.labelled.evaluate import Node
from sqlpriv.methods.labelled.leaves import write_leaves
from sqlpriv.methods.labelled.node_labels import ROWS, write_attributes, write_hierarchies
from sqlpriv.methods.labelled.scan import published_columns
from sqlpriv.methods.labelled.view import view_of_rows
from sqlpriv.methods.method import Edition, Made
from sqlpriv.methods.sdgs.classes import Sampled, write_classes, write_rows, write_sample
from sqlpriv.methods.sdgs.nodes import draw_node
from sqlpriv.methods.sdgs.plan import SdgsPlan
from sqlpriv.methods.sdgs.told import details, promise
from sqlpriv.release.file import SCHEMA, WRITTEN, double, write_about, write_numbers, write_values, written
from sqlpriv.sqltext import quoted


def throw(plan: SdgsPlan, prefix: str) -> tuple[Node, Sampled]:
    """Throw all coins: persons' rows, the node, and then the sample by its own. Table __sample is there then."""
    scan, terms = plan.scan, plan.terms
    write_rows(scan, plan.policy, prefix)
    node = draw_node(scan, plan.policy.nodes, terms, prefix)
    write_classes(scan, node)
    sampled = write_sample(scan, terms.k, terms.beta, prefix)
    plan.drawn.node, plan.drawn.sampled = node, sampled
    if not plan.source.calls.value(f"_is_a_sample({sampled.seen}, {sampled.rows}, {terms.beta!r})"):
        raise ReleaseError("the coins were not thrown as they should be, so nothing was published; run it again")
    return node, sampled


def write(plan: SdgsPlan, edition: Edition, path: Path) -> Made:
    """Write the release into a new file."""
    scan, con = plan.scan, plan.source.con
    node, sampled = throw(plan, edition.prefix)
    columns = plan.columns(node)
    with written(con, path):
        fetch(con, f"CREATE TABLE {ROWS} AS {_shown_rows(plan)}")
        write_about(con, _about(plan, node))
        write_numbers(con, _numbers(plan))
        points = (tuple(double(n) for n in point) for point in plan.smooth)
        write_values(con, "smooth", "epsilon, delta, bound", points)
        write_attributes(scan, node, columns)
        write_hierarchies(scan, node)
        write_leaves(scan, node, columns, WRITTEN, SCHEMA)
        shown = [(c.name, c.ends if c.has_ends else None) for c in columns]
        fetch(con, view_of_rows(quoted(WRITTEN, "main", plan.policy.table.name), shown))
        rows = int(fetch(con, f"SELECT count(*) FROM {ROWS}")[0][0])
    return Made(rows, float(sampled.shown))


def _shown_rows(plan: SdgsPlan) -> str:
    listed = ", ".join(f"c{i} AS {quoted(name)}" for i, name in enumerate(published_columns(plan.scan)))
    copies = f"SELECT *, unnest(range(seen)) AS copy FROM __sample WHERE seen >= {plan.terms.k}"
    return f"FROM (SELECT {listed} FROM ({copies})) ORDER BY ALL"


def _numbers(plan: SdgsPlan) -> dict[str, float]:
    """A number of rows made from the table would be one thing more that depends on a row: a declared one is told."""
    told = plan.policy.n_public is not None
    return plan.terms.numbers | ({"n_public": plan.n_public, "exposed": plan.exposed} if told else {})


def _about(plan: SdgsPlan, node: Node) -> dict[str, str]:
    policy, terms = plan.policy, plan.terms
    about = {
        "method": policy.method,
        "table": policy.table.name,
        "node": json.dumps(plan.named(node)),
        "counts": "persons" if terms.of_persons and terms.rows_each == 1 else "rows",
        "unit": terms.unit,
        "guarantee": promise(terms),
        "details": json.dumps(details(terms)),
    }
    drawn = {"nodes": json.dumps([dict(n) for n in policy.nodes])} if len(policy.nodes) > 1 else {}
    reasons = {"node_is_public": policy.node_is_public, "beside": policy.beside}
    return about | drawn | {name: text for name, text in reasons.items() if text}
