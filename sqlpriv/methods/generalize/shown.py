"""What a node shows of the table: which classes are suppressed, the labels of the others, and the class of stars.

    suppressed   the numbers of the classes that fail
    shown        each value's label and number under the node, and the labels above it
    starred      a base like that of the table in which all suppressed rows are one class

Labels of bins are read from the data, so they are made once more here, from the rows that are published: the ends of a
bin would else tell a value that only a suppressed row has.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from sqlpriv.checks.measures import POPULATION, TABLE
from sqlpriv.engine import fetch
from sqlpriv.errors import ReleaseError
from sqlpriv.macros.catalog import inlined
from sqlpriv.methods.generalize.refusals import holds
from sqlpriv.methods.labelled.evaluate import class_ctes, evaluate, write_nodes
from sqlpriv.methods.labelled.kinds import NEVER_SHOWN, without_values
from sqlpriv.methods.labelled.measures import ClassMeasure
from sqlpriv.methods.labelled.node_labels import write_node_labels
from sqlpriv.methods.labelled.scan import FREQUENCIES, Scan, number_rows
from sqlpriv.methods.lattice import Node, Outcome
from sqlpriv.sqltext import folded, literal, quoted
from sqlpriv.table.hierarchies import TOP, Hierarchy
from sqlpriv.table.private_table import reads_apart

# Types in which the number 1 and the text '1' are two values.
_TWO_OF_ONE_TEXT = re.compile(r"\b(UNION|VARIANT)\b")


@dataclass(frozen=True)
class Stars:
    """Suppressed rows as one class: what they would fail, and what is published with them."""

    failing: tuple[str, ...]
    outcome: Outcome | None

    @property
    def kept(self) -> bool:
        """Whether they are published, as a class that holds like any other."""
        return not self.failing


def is_binned(scan: Scan, attribute: int) -> bool:
    """Whether the labels of an attribute are read from the data."""
    given = scan.policy.hierarchies[scan.policy.qis[attribute]]
    return isinstance(given, str) and given.startswith("bins:")


def write_shown(scan: Scan, measures: Sequence[ClassMeasure], node: Node, *, whole: bool = False) -> None:
    """Tables suppressed and shown; `whole`: it is known that nothing is suppressed."""
    con = scan.source.con
    if whole:
        fetch(con, f"CREATE OR REPLACE TABLE suppressed (class {scan.number_type})")
        write_node_labels(scan, node)
        return
    write_nodes(scan, [node])
    query = f"WITH {class_ctes(scan, measures)} SELECT class FROM __priv_classes WHERE fails"
    fetch(con, f"CREATE OR REPLACE TABLE suppressed AS {query}")
    fetch(con, "CREATE OR REPLACE TABLE shown_paths AS FROM paths")
    if fetch(con, "SELECT count(*) FROM suppressed")[0][0]:
        for a, hierarchy in enumerate(scan.hierarchies):
            if is_binned(scan, a):
                _name_bins(scan, node, a, hierarchy)
    write_node_labels(scan, node, "shown_paths")


def _name_bins(scan: Scan, node: Node, attribute: int, hierarchy: Hierarchy) -> None:
    """Give the bins of an attribute the names that its published rows give them."""
    con, column, levels = scan.source.con, quoted(hierarchy.column), range(1, hierarchy.height)
    number = " + ".join(f"l{a}.numbers[{level + 1}]" for a, level in enumerate(node))
    rows = number_rows(scan.policy, FREQUENCIES, f"t.{column} AS cell")
    cells = (
        f"SELECT CAST(cell AS VARCHAR) AS value, first(cell) AS cell FROM ({rows} WHERE ({number}) NOT IN "
        f"(FROM suppressed) AND t.{column} IS NOT NULL) GROUP BY 1"
    )
    labelled = ", ".join(f"p.labels[{i + 1}] AS old{i}, min(cell) OVER (PARTITION BY old{i}) AS low{i}" for i in levels)
    numbered = ", ".join(f"dense_rank() OVER (ORDER BY low{i}) - 1 AS bin{i}" for i in levels)
    fetch(
        con,
        f"CREATE OR REPLACE TABLE kept_bins AS SELECT *, {numbered} FROM (SELECT c.*, {labelled} FROM ({cells}) AS c "
        f"JOIN paths AS p ON p.attribute = {attribute} AND p.labels[1] = c.value)",
    )
    renamed = inlined(f"FROM _bins_named('kept_bins', {len(levels)})")
    names = " UNION ALL ".join(
        f"SELECT DISTINCT {i} AS level, old{i} AS old, label{i} AS name FROM kept_bins JOIN ({renamed}) USING (value)"
        for i in levels
    )
    fetch(con, f"CREATE OR REPLACE TABLE bin_names AS {names}")
    renaming = ", ".join(
        f"CASE WHEN labels[{i + 1}] IS NOT NULL THEN coalesce((SELECT name FROM bin_names WHERE level = {i} "
        f"AND old = labels[{i + 1}]), {literal(NEVER_SHOWN)}) END"
        for i in levels
    )
    fetch(
        con,
        f"UPDATE shown_paths SET labels = [labels[1], {renaming}, {literal(TOP)}] WHERE attribute = {attribute}",
    )


def shown_rows(
    scan: Scan,
    node: Node,
    columns: Sequence[str],
    keep: bool,
    stars: bool,
    table: str | None = None,
    more: str = "",
    *,
    whole: bool = False,
) -> str:
    """A query for what a node shows of rows of the private table. Tables suppressed and shown are there.

    `keep`: whether the policy wants suppressed rows kept, `stars`: whether they are; `whole`: it is known that there
    are none. Another table than the private one may be given, and more columns of it, as SQL.
    """
    place = {folded(qi): a for a, qi in enumerate(scan.policy.qis)}
    number = " + ".join(f"l{a}.number" for a in range(len(node)))
    hidden = f"({number}) IN (FROM suppressed)"
    shown, starred = [], []
    of = table or scan.source.table
    kinds = {folded(r[0]): r[1] for r in fetch(scan.source.con, f"DESCRIBE FROM {of}")}
    for column in columns:
        kind = kinds[folded(column)]
        name, cell = quoted(column), without_values(f"t.{quoted(column)}", kind)
        a = place.get(folded(column))
        if a is None:
            shown.append(f"{cell} AS {name}")
            starred.append(f"{cell} AS {name}")
        else:
            # A column that was not generalized keeps its type, unless a star has to stand in it, or values and texts
            # of the type are not the same: classes go by texts.
            by_text = _TWO_OF_ONE_TEXT.search(kind) or reads_apart(kind)
            typed = node[a] == 0 and not keep and not by_text
            label = cell if typed else f"l{a}.label"
            shown.append(f"{label} AS {name}")
            starred.append(f"{literal(TOP)} AS {name}")
    if whole:
        labelled = {place[folded(c)] for c in columns if folded(c) in place}
        return number_rows(scan.policy, of, ", ".join(shown) + more, "shown", labelled)
    rows = number_rows(scan.policy, of, ", ".join(shown) + more, "shown") + f" WHERE NOT {hidden}"
    if stars:
        rows += " UNION ALL " + number_rows(scan.policy, of, ", ".join(starred) + more, "shown")
        rows += f" WHERE {hidden}"
    return rows


def judge_stars(scan: Scan, measures: tuple[ClassMeasure, ...], node: Node) -> Stars:
    """Judge all suppressed rows as the one class that a reader would see. Tables suppressed and shown are there."""
    _refuse_other_stars(scan)
    beside = tuple(m.requirement.text for m in measures if m.kind == POPULATION)
    if beside:
        # Of the population nobody shows stars, so there is nothing that the class could be compared with.
        return Stars(beside, None)
    number = " + ".join(f"a{a}[{level + 1}]" for a, level in enumerate(node))
    listed = [f"s{j}" for j in range(len(scan.policy.sensitive))] + (["holder"] if scan.policy.person else []) + ["n"]
    columns = one_class(scan, f"({number}) IN (FROM suppressed)", [f"a{a}[{i + 1}]" for a, i in enumerate(node)])
    fetch(scan.source.con, f"CREATE OR REPLACE TABLE starred AS SELECT {', '.join([*columns, *listed])} FROM base")
    (outcome,) = evaluate(scan, measures, [node], base="starred")
    failing = [m.requirement.text for m in measures if outcome.suppressed_by[m.number] > 0]
    failing += [m.requirement.text for m in measures if m.kind == TABLE and not holds(m, outcome)]
    return Stars(tuple(failing), outcome)


def one_class(scan: Scan, hidden: str, numbers: Sequence[str]) -> list[str]:
    """The columns a<i> of a base in which the rows that are `hidden` have the number of one suppressed class."""
    star = f"CAST((SELECT min(class) FROM suppressed) AS {scan.number_type})"
    given = [f"CASE WHEN {hidden} THEN {star if a == 0 else 0} ELSE {n} END" for a, n in enumerate(numbers)]
    # The number stands on every level, so that the one that is looked at is right.
    return [
        f"list_resize([{n}], {height + 1}, {n}) AS a{a}"
        for a, (n, height) in enumerate(zip(given, scan.heights, strict=True))
    ]


def _refuse_other_stars(scan: Scan) -> None:
    """Kept rows are told from the others by their stars, so the others must not show stars in all columns, too."""
    starred = fetch(scan.source.con, f"SELECT count(DISTINCT attribute) FROM shown WHERE label = {literal(TOP)}")
    if starred[0][0] == len(scan.policy.qis):
        raise ReleaseError(
            f"rows that are published could show {TOP} in every quasi-identifier, like the suppressed rows that are "
            "kept; call that value or label something else, or set keep_suppressed = false"
        )
