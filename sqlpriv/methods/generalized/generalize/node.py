"""What a node publishes: which classes are suppressed, the labels of the others, its rows, and the class of stars.

Labels of bins are read from the data, so they are made once more here, from the rows that are published. Otherwise a
bin of texts would be named by a value that only a suppressed row has, and one of numbers would end where nobody is
beyond it whose row is published.

`NodeReleases` makes a node the release that it would be, for queries: in tables of the search's own connection, one
node at a time. They have the names of those of a file (generalized/layout.py), so that one rewriting serves for both.
They hold only the columns of the queries, and each combination of cells once, with its number of rows. The labels of a
public domain on a level are worked out once, unless published rows name them, as those of bins. A column without a
public domain is answered as if the values that its hierarchy lists were one. That is for the owner, who wants to know
which node is best, and a reader of the release cannot do it.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace

from sqlpriv.checks.measures import POPULATION
from sqlpriv.core.engine import fetch
from sqlpriv.core.errors import ReleaseError
from sqlpriv.core.relation import Relation, Scratch
from sqlpriv.core.sqltext import literal, quoted
from sqlpriv.macros.catalog import inlined
from sqlpriv.methods.generalized.columns import PublicColumns, ShownColumn, describe
from sqlpriv.methods.generalized.evaluate import class_ctes, evaluate, write_nodes
from sqlpriv.methods.generalized.generalize.policy import GeneralizePolicy
from sqlpriv.methods.generalized.layout import (
    BINS,
    DATES,
    NEVER_SHOWN,
    RANGES,
    counted_leaves,
    has_ends,
    has_leaves,
    without_values,
)
from sqlpriv.methods.generalized.measures import ClassMeasure
from sqlpriv.methods.generalized.pseudonyms import pseudonym
from sqlpriv.methods.generalized.read import PublishedColumn, RowCounts, generalized_release
from sqlpriv.methods.generalized.scan import Scan, number_rows
from sqlpriv.methods.generalized.write import NodeLabels, label_rows, leaf_rows, write_node_labels
from sqlpriv.methods.lattice import Node, Outcome
from sqlpriv.release.file import SCHEMA, ReleaseFile
from sqlpriv.rewrite.release import GeneralizedRelease
from sqlpriv.table.engines.types import reads_apart
from sqlpriv.table.hierarchies import TOP

_COPIES = "__priv_n"


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


def reveals_values(scan: Scan, attribute: int) -> bool:
    """Whether the labels of an attribute are values of rows: bins of what has no grid, such as texts."""
    column = scan.hierarchies[attribute].column
    return is_binned(scan, attribute) and not has_ends(BINS, scan.frequencies.relation.columns[column])


def write_shown(scan: Scan, measures: Sequence[ClassMeasure], node: Node, scratch: Scratch | None = None) -> NodeLabels:
    """The labels of a node, and which classes it suppresses; in the scope of the table, where none is given."""
    scratch = scratch or scan.source.scratch
    with scratch.nested() as inner:
        nodes = write_nodes(inner, [node])
        query = f"WITH {class_ctes(scan, measures, nodes)} SELECT class FROM __priv_classes WHERE fails"
        suppressed = scratch.table(query, "suppressed")
        binned = [a for a in range(len(scan.hierarchies)) if is_binned(scan, a)] if suppressed.written else []
        paths = inner.table(f"FROM {scan.labels.paths.name}", "shown_paths") if binned else scan.labels.paths
        for a in binned:
            _name_bins(scan, inner, node, suppressed, paths, a)
        return write_node_labels(scan, node, scratch, paths, suppressed)


def _name_bins(scan: Scan, scratch: Scratch, node: Node, suppressed: Relation, paths: Relation, attribute: int) -> None:
    """Give the bins of an attribute the names that its published rows give them, in these paths."""
    hierarchy = scan.hierarchies[attribute]
    con, column, levels = scan.source.con, quoted(hierarchy.column), range(1, hierarchy.height)
    number = " + ".join(f"l{a}.numbers[{level + 1}]" for a, level in enumerate(node))
    rows = number_rows(scan.policy, scan.frequencies.relation, f"t.{column} AS cell", scan.labels.leaves)
    cells = (
        f"SELECT CAST(cell AS VARCHAR) AS value, first(cell) AS cell, count(*) AS copies FROM ({rows} "
        f"WHERE ({number}) NOT IN (FROM {suppressed.name}) AND t.{column} IS NOT NULL) GROUP BY 1"
    )
    placed = (
        f"SELECT c.*, place, p.labels[place + 1] AS old FROM ({inlined(f'FROM _bin_points(({cells}))')}) AS c "
        f"JOIN {scan.labels.paths.name} AS p ON p.attribute = {attribute} AND p.labels[1] = c.value, "
        f"(SELECT unnest(range(1, {hierarchy.height})) AS place)"
    )
    least = f"SELECT *, min(cell) OVER (PARTITION BY place, old) AS low FROM ({placed})"
    numbered = f"SELECT *, dense_rank() OVER (PARTITION BY place ORDER BY low) - 1 AS bin FROM ({least})"
    bins = scratch.table(numbered, "kept_bins")
    renamed = inlined(f"FROM _bins_named({bins.name})")
    names = f"SELECT DISTINCT place AS level, old, label AS name FROM {bins.name} JOIN ({renamed}) USING (value, place)"
    named = scratch.table(names, "bin_names")
    renaming = ", ".join(
        f"CASE WHEN labels[{i + 1}] IS NOT NULL THEN coalesce((SELECT name FROM {named.name} WHERE level = {i} "
        f"AND old = labels[{i + 1}]), {literal(NEVER_SHOWN)}) END"
        for i in levels
    )
    fetch(
        con,
        f"UPDATE {paths.name} SET labels = [labels[1], {renaming}, {literal(TOP)}] WHERE attribute = {attribute}",
    )


def shown_rows(
    scan: Scan,
    shown: NodeLabels,
    columns: Sequence[str],
    keep: bool,
    stars: bool,
    table: Relation | None = None,
    more: str = "",
) -> str:
    """A query for the rows of the private table as a node shows them.

    `keep`: whether the policy wants suppressed rows kept, `stars`: whether they are. Another table than the private one
    may be given, and more columns of it, as SQL.
    """
    table = table or scan.source.private
    cells, starred = [], []
    for column in columns:
        a, kind = scan.places.get(column), table.columns[column]
        is_person = column == scan.policy.pseudonym
        cell = star = pseudonym(column) if is_person else without_values(f"t.{quoted(column)}", kind)
        if a is not None:
            # A column that was not generalized keeps its type, unless a star has to stand in it, or values and texts
            # of the type are not the same: classes go by texts.
            by_text = reads_apart(kind)
            cell = cell if shown.node[a] == 0 and not keep and not by_text else f"l{a}.label"
            star = literal(TOP)
        cells.append(f"{cell} AS {quoted(column)}")
        starred.append(f"{star} AS {quoted(column)}")
    if shown.suppressed is None:
        labelled = {scan.places[c] for c in columns if c in scan.places}
        return number_rows(scan.policy, table, ", ".join(cells) + more, shown.labels, labelled)
    hidden = shown.is_hidden()
    rows = number_rows(scan.policy, table, ", ".join(cells) + more, shown.labels) + f" WHERE NOT {hidden}"
    if stars:
        rows += " UNION ALL " + number_rows(scan.policy, table, ", ".join(starred) + more, shown.labels)
        rows += f" WHERE {hidden}"
    return rows


def judge_stars(scan: Scan, measures: tuple[ClassMeasure, ...], shown: NodeLabels) -> Stars:
    """Judge all suppressed rows as the one class that a reader would see."""
    query = f"SELECT count(DISTINCT attribute) FROM {shown.labels.name} WHERE label = {literal(TOP)}"
    if fetch(scan.source.con, query)[0][0] == len(scan.policy.qis):
        # Kept rows are recognised by their stars, so the others must not show stars in all columns, too.
        raise ReleaseError(
            f"rows that are published could show {TOP} in every quasi-identifier, like the suppressed rows that are "
            "kept; call that value or label something else, or set keep_suppressed = false"
        )
    populations = tuple(m.requirement.text for m in measures if m.kind == POPULATION)
    if populations:
        # Nobody of the population has stars, so there is nothing that the class could be compared with.
        return Stars(populations, None)
    numbers = [f"a{a}[{level + 1}]" for a, level in enumerate(shown.node)]
    listed = [f"s{j}" for j in range(len(scan.policy.sensitive))] + (["holder"] if scan.policy.person else []) + ["n"]
    columns = one_class(scan, shown, shown.is_hidden(" + ".join(numbers)), numbers)
    with scan.source.scratch.nested() as scratch:
        starred = scratch.table(f"SELECT {', '.join([*columns, *listed])} FROM {scan.base.name}", "starred")
        (outcome,) = evaluate(scan, measures, [shown.node], base=starred)
    failing = [m.requirement.text for m in measures if outcome.suppressed_by[m.number] > 0]
    failing += [m.requirement.text for m in measures if m.of_table and not m.holds(outcome)]
    return Stars(tuple(failing), outcome)


def one_class(scan: Scan, shown: NodeLabels, hidden: str, numbers: Sequence[str]) -> list[str]:
    """The columns a<i> of a base in which the `hidden` rows have the number of one suppressed class."""
    assert shown.suppressed is not None
    star = f"CAST((SELECT min(class) FROM {shown.suppressed.name}) AS {scan.labels.number_type})"
    given = [f"CASE WHEN {hidden} THEN {star if a == 0 else 0} ELSE {n} END" for a, n in enumerate(numbers)]
    # The number is on every level, so that it is also on the one that is evaluated.
    return [
        f"list_resize([{n}], {height + 1}, {n}) AS a{a}"
        for a, (n, height) in enumerate(zip(given, scan.heights, strict=True))
    ]


@dataclass(frozen=True)
class NodeRelease:
    """A node as a release; nodes of the same shape are answered by the same SQL text."""

    release: GeneralizedRelease
    shape: Hashable


class NodeReleases:
    """Makes the release of a node, in tables that take the place of those of the node before."""

    def __init__(
        self,
        scan: Scan,
        policy: GeneralizePolicy,
        measures: tuple[ClassMeasure, ...],
        known: PublicColumns,
        columns: Sequence[str],
    ) -> None:
        self._scan, self._policy, self._measures = scan, policy, measures
        self._known = _with_listed_values(scan, known)
        self._columns = columns
        self._roles = {c.name: c.role for c in policy.columns}
        con = scan.source.con
        self._file = ReleaseFile(con, str(fetch(con, "SELECT current_database()")[0][0]), "the release")
        self._published, self._rows = self._file.table("published"), self._file.table("rows")
        self._labelled: dict[tuple[str, int], Relation] = {}
        """Domains with the labels of a level, by column and level, as far as they do not change with the node."""
        self._counted: dict[tuple[str, ...], Relation] = {}
        """Relations of the combinations of some columns, with their number of rows."""
        for schema in (SCHEMA, "domain"):
            fetch(con, f"CREATE SCHEMA IF NOT EXISTS {quoted(self._file.catalog, schema)}")

    def opened(self, node: Node, suppressed: int, columns: Sequence[str] | None = None) -> NodeRelease:
        """A node with so many suppressed rows as a release for queries; of all columns, or of some."""
        scan, con, keep = self._scan, self._scan.source.con, self._policy.keep_suppressed
        columns = self._columns if columns is None else columns
        with scan.source.scratch.nested() as scratch:
            if suppressed:
                shown, table = write_shown(scan, self._measures, node, scratch), scan.frequencies.relation
            else:
                shown, table = write_node_labels(scan, node, scratch), self._combinations(tuple(columns))
            stars = suppressed > 0 and keep and judge_stars(scan, self._measures, shown).kept
            rows = _summed(columns, shown_rows(scan, shown, columns, keep, stars, table, f", t.{_COPIES} AS {_COPIES}"))
            fetch(con, f"CREATE OR REPLACE TABLE {self._published} AS {rows}")
            left_out, published = 0 if stars else suppressed, scan.rows - suppressed
            fetch(con, f"CREATE OR REPLACE TABLE {self._rows} AS SELECT {left_out} AS gone, {published} AS shown")
            kinds = {r[0]: r[1] for r in fetch(con, f"DESCRIBE {self._published}")}
            described, found = describe(scan, node, columns, self._known), []
            for column in described:
                self._write_leaves(shown, column)
                row = {
                    "name": column.name,
                    "type": kinds[column.name],
                    "role": self._roles[column.name],
                    "original": column.original,
                    "labels": column.labels,
                    "has_domain": column.domain is not None,
                }
                found.append(PublishedColumn(self._file, row, _COPIES))
        counts = RowCounts(_COPIES, f"(SELECT gone FROM {self._rows})", f"(SELECT shown FROM {self._rows})")
        release = generalized_release(self._file, self._policy.table.name, found, suppressed, stars, counts)
        shape = release.attributes, tuple(c.labels for c in described), suppressed > 0, stars
        return NodeRelease(replace(release, facts=None), shape)

    def _combinations(self, columns: tuple[str, ...]) -> Relation:
        """The combinations of some columns: far fewer than of all, so that labels are found sooner."""
        table = self._scan.frequencies.relation
        if any(reads_apart(self._known.types[c]) for c in columns):  # equal values may have several labels
            return table
        if columns not in self._counted:
            summed = _summed(columns, f"FROM {table.name}")
            self._counted[columns] = self._scan.source.scratch.table(summed, "counted")
        return self._counted[columns]

    def _write_leaves(self, shown: NodeLabels, column: ShownColumn) -> None:
        con, a = self._scan.source.con, self._scan.places.get(column.name)
        labels = self._file.table(f"labels_{column.name}")
        if a is not None and column.has_ends:
            rows = label_rows(self._scan, shown, a, column, self._published)
            fetch(con, f"CREATE OR REPLACE TABLE {labels} AS {rows}")
        if column.domain is None:
            return
        domain = quoted(self._file.catalog, "domain", column.name)
        fetch(con, f"CREATE OR REPLACE VIEW {domain} AS FROM {column.domain}")
        if a is None or not has_leaves(column.labels, True):
            return
        scratch, key = self._scan.source.scratch, (column.name, shown.node[a])
        if key in self._labelled and column.labels == BINS:
            scratch.drop(self._labelled.pop(key))
        if key not in self._labelled:
            leaves = counted_leaves(leaf_rows(self._scan, shown, a, column, labels))
            self._labelled[key] = scratch.table(leaves, "leaves")
        view = self._file.table(f"leaves_{column.name}")
        fetch(con, f"CREATE OR REPLACE VIEW {view} AS FROM {self._labelled[key].name}")


def _summed(columns: Sequence[str], rows: str) -> str:
    """Each combination once."""
    listed = ", ".join(map(quoted, columns))
    return f"SELECT {listed}, CAST(sum({_COPIES}) AS BIGINT) AS {_COPIES} FROM ({rows}) GROUP BY ALL"


def _with_listed_values(scan: Scan, known: PublicColumns) -> PublicColumns:
    """Domains also of those quasi-identifiers that have none, where labels do not name ranges."""
    found = dict(known.domains)
    for a, name in enumerate(scan.policy.qis):
        kind, given = known.types[name], scan.policy.hierarchies[name]
        names_ranges = isinstance(given, str) and given.partition(":")[0] in (RANGES, DATES, BINS)
        if name in found or names_ranges:
            continue
        listed = f"SELECT DISTINCT labels[1] AS text FROM {scan.labels.paths.name} WHERE attribute = {a}"
        value = f"TRY_CAST(text AS {kind})"
        rows = (
            f"SELECT {value} AS value, CAST(NULL AS DOUBLE) AS share "
            f"FROM ({listed}) WHERE CAST({value} AS VARCHAR) IS NOT DISTINCT FROM text"
        )
        found[name] = scan.source.scratch.table(rows, "listed").name
    return replace(known, domains=found)
