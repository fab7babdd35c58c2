"""What a node publishes: which classes are suppressed, the labels of the others, its rows, and the class of stars.

Labels of bins are read from the data, so they are made once more here, from the rows that are published: otherwise the
ends of a bin would reveal a value that only a suppressed row has.

`NodeReleases` makes a node the release that it would be, for queries: in tables of the search's own connection, one
node at a time. They have the names of those of a file (generalized/layout.py), so that one rewriting serves for both.
They hold only the columns of the queries, and each combination of cells once, with its number of rows. The labels of a
public domain on a level are worked out once, unless published rows name them, as those of bins. A column without a
public domain is answered as if the values that its hierarchy lists were one: that is for the owner, who wants to know
which node is best, and a reader of the release cannot do it.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace

from sqlpriv.checks.measures import POPULATION, TABLE
from sqlpriv.core.engine import fetch
from sqlpriv.core.errors import ReleaseError
from sqlpriv.core.relation import Relation, Scratch
from sqlpriv.core.sqltext import folded, literal, quoted
from sqlpriv.macros.catalog import inlined
from sqlpriv.methods.generalized.columns import Known, ShownColumn, describe
from sqlpriv.methods.generalized.evaluate import class_ctes, evaluate, write_nodes
from sqlpriv.methods.generalized.generalize.policy import GeneralizePolicy
from sqlpriv.methods.generalized.generalize.wording import holds
from sqlpriv.methods.generalized.layout import (
    BINS,
    DATES,
    NEVER_SHOWN,
    RANGES,
    counted_leaves,
    has_leaves,
    without_values,
)
from sqlpriv.methods.generalized.measures import ClassMeasure
from sqlpriv.methods.generalized.read import Counts, PublishedColumn, generalized_release
from sqlpriv.methods.generalized.scan import Scan, number_rows
from sqlpriv.methods.generalized.write import NodeLabels, label_rows, leaf_rows, write_node_labels
from sqlpriv.methods.lattice import Node, Outcome
from sqlpriv.release.file import SCHEMA, ReleaseFile
from sqlpriv.rewrite.release import GeneralizedRelease
from sqlpriv.table.hierarchies import TOP
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


def write_shown(scan: Scan, measures: Sequence[ClassMeasure], node: Node, scratch: Scratch | None = None) -> NodeLabels:
    """The labels of a node, and which classes it suppresses; in the scope of the table, where none is given."""
    scratch = scratch or scan.source.scratch
    with scratch.nested() as inner:
        nodes = write_nodes(inner, [node])
        query = f"WITH {class_ctes(scan, measures, nodes)} SELECT class FROM __priv_classes WHERE fails"
        suppressed = scratch.table(query, "suppressed")
        binned = [a for a in range(len(scan.hierarchies)) if is_binned(scan, a)] if suppressed.written else []
        paths = inner.table(f"FROM {scan.labels.paths}", "shown_paths") if binned else None
        for a in binned:
            assert paths is not None
            _name_bins(scan, inner, node, suppressed, paths, a)
        return write_node_labels(scan, node, scratch, paths, suppressed)


def _name_bins(scan: Scan, scratch: Scratch, node: Node, suppressed: Relation, paths: Relation, attribute: int) -> None:
    """Give the bins of an attribute the names that its published rows give them, in these paths."""
    hierarchy = scan.hierarchies[attribute]
    con, column, levels = scan.source.con, quoted(hierarchy.column), range(1, hierarchy.height)
    number = " + ".join(f"l{a}.numbers[{level + 1}]" for a, level in enumerate(node))
    rows = number_rows(scan.policy, scan.frequencies.relation, f"t.{column} AS cell", scan.labels.leaves)
    cells = (
        f"SELECT CAST(cell AS VARCHAR) AS value, first(cell) AS cell FROM ({rows} WHERE ({number}) NOT IN "
        f"(FROM {suppressed}) AND t.{column} IS NOT NULL) GROUP BY 1"
    )
    labelled = ", ".join(f"p.labels[{i + 1}] AS old{i}, min(cell) OVER (PARTITION BY old{i}) AS low{i}" for i in levels)
    numbered = ", ".join(f"dense_rank() OVER (ORDER BY low{i}) - 1 AS bin{i}" for i in levels)
    bins = scratch.table(
        f"SELECT *, {numbered} FROM (SELECT c.*, {labelled} FROM ({cells}) AS c "
        f"JOIN {scan.labels.paths} AS p ON p.attribute = {attribute} AND p.labels[1] = c.value)",
        "kept_bins",
    )
    renamed = inlined(f"FROM _bins_named({literal(bins.name)}, {len(levels)})")
    names = " UNION ALL ".join(
        f"SELECT DISTINCT {i} AS level, old{i} AS old, label{i} AS name FROM {bins} JOIN ({renamed}) USING (value)"
        for i in levels
    )
    named = scratch.table(names, "bin_names")
    renaming = ", ".join(
        f"CASE WHEN labels[{i + 1}] IS NOT NULL THEN coalesce((SELECT name FROM {named} WHERE level = {i} "
        f"AND old = labels[{i + 1}]), {literal(NEVER_SHOWN)}) END"
        for i in levels
    )
    fetch(
        con,
        f"UPDATE {paths} SET labels = [labels[1], {renaming}, {literal(TOP)}] WHERE attribute = {attribute}",
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
    """A query for what a node shows of rows of the private table.

    `keep`: whether the policy wants suppressed rows kept, `stars`: whether they are. Another table than the private one
    may be given, and more columns of it, as SQL.
    """
    place = {folded(qi): a for a, qi in enumerate(scan.policy.qis)}
    number = " + ".join(f"l{a}.number" for a in range(len(shown.node)))
    hidden = shown.is_hidden(number)
    cells, starred = [], []
    of = table or scan.source.private
    kinds = {folded(name): kind for name, kind in of.columns.items()}
    for column in columns:
        kind = kinds[folded(column)]
        name, cell = quoted(column), without_values(f"t.{quoted(column)}", kind)
        a = place.get(folded(column))
        if a is None:
            cells.append(f"{cell} AS {name}")
            starred.append(f"{cell} AS {name}")
        else:
            # A column that was not generalized keeps its type, unless a star has to stand in it, or values and texts
            # of the type are not the same: classes go by texts.
            by_text = _TWO_OF_ONE_TEXT.search(kind) or reads_apart(kind)
            typed = shown.node[a] == 0 and not keep and not by_text
            label = cell if typed else f"l{a}.label"
            cells.append(f"{label} AS {name}")
            starred.append(f"{literal(TOP)} AS {name}")
    if shown.suppressed is None:
        labelled = {place[folded(c)] for c in columns if folded(c) in place}
        return number_rows(scan.policy, of, ", ".join(cells) + more, shown.labels, labelled)
    rows = number_rows(scan.policy, of, ", ".join(cells) + more, shown.labels) + f" WHERE NOT {hidden}"
    if stars:
        rows += " UNION ALL " + number_rows(scan.policy, of, ", ".join(starred) + more, shown.labels)
        rows += f" WHERE {hidden}"
    return rows


def judge_stars(scan: Scan, measures: tuple[ClassMeasure, ...], shown: NodeLabels) -> Stars:
    """Judge all suppressed rows as the one class that a reader would see."""
    _refuse_other_stars(scan, shown)
    beside = tuple(m.requirement.text for m in measures if m.kind == POPULATION)
    if beside:
        # Of the population nobody shows stars, so there is nothing that the class could be compared with.
        return Stars(beside, None)
    numbers = [f"a{a}[{level + 1}]" for a, level in enumerate(shown.node)]
    listed = [f"s{j}" for j in range(len(scan.policy.sensitive))] + (["holder"] if scan.policy.person else []) + ["n"]
    columns = one_class(scan, shown, shown.is_hidden(" + ".join(numbers)), numbers)
    with scan.source.scratch.nested() as scratch:
        starred = scratch.table(f"SELECT {', '.join([*columns, *listed])} FROM {scan.base}", "starred")
        (outcome,) = evaluate(scan, measures, [shown.node], base=starred)
    failing = [m.requirement.text for m in measures if outcome.suppressed_by[m.number] > 0]
    failing += [m.requirement.text for m in measures if m.kind == TABLE and not holds(m, outcome)]
    return Stars(tuple(failing), outcome)


def one_class(scan: Scan, shown: NodeLabels, hidden: str, numbers: Sequence[str]) -> list[str]:
    """The columns a<i> of a base in which the rows that are `hidden` have the number of one suppressed class."""
    star = f"CAST((SELECT min(class) FROM {shown.suppressed}) AS {scan.number_type})"
    given = [f"CASE WHEN {hidden} THEN {star if a == 0 else 0} ELSE {n} END" for a, n in enumerate(numbers)]
    # The number stands on every level, so that the one that is looked at is right.
    return [
        f"list_resize([{n}], {height + 1}, {n}) AS a{a}"
        for a, (n, height) in enumerate(zip(given, scan.heights, strict=True))
    ]


def _refuse_other_stars(scan: Scan, shown: NodeLabels) -> None:
    """Kept rows are told from the others by their stars, so the others must not show stars in all columns, too."""
    asked = f"SELECT count(DISTINCT attribute) FROM {shown.labels} WHERE label = {literal(TOP)}"
    starred = fetch(scan.source.con, asked)
    if starred[0][0] == len(scan.policy.qis):
        raise ReleaseError(
            f"rows that are published could show {TOP} in every quasi-identifier, like the suppressed rows that are "
            "kept; call that value or label something else, or set keep_suppressed = false"
        )


_COPIES = "__priv_n"


@dataclass(frozen=True)
class NodeRelease:
    """A node as a release; nodes of the same shape are asked by the same SQL text."""

    release: GeneralizedRelease
    shape: Hashable


class NodeReleases:
    """Makes the release of a node; the one before is gone then."""

    def __init__(
        self,
        scan: Scan,
        policy: GeneralizePolicy,
        measures: tuple[ClassMeasure, ...],
        known: Known,
        columns: Sequence[str],
    ) -> None:
        self._scan, self._policy, self._measures = scan, policy, measures
        self._known = _with_listed_values(scan, known)
        self._columns = columns
        self._places = {folded(q): a for a, q in enumerate(policy.qis)}
        self._roles = {folded(c.name): c.role for c in policy.columns}
        con = scan.source.con
        self._file = ReleaseFile(con, str(fetch(con, "SELECT current_database()")[0][0]), "the release")
        self._rows = self._file.table("rows")
        self._counts = Counts(_COPIES, f"(SELECT gone FROM {self._rows})", f"(SELECT shown FROM {self._rows})")
        self._labelled: dict[tuple[str, int], Relation] = {}
        """Domains with the labels of a level, by column and level, as far as they do not change with the node."""
        self._counted: dict[tuple[str, ...], Relation] = {}
        """Relations of the combinations of some columns, with their number of rows."""
        for schema in (SCHEMA, "domain"):
            fetch(con, f"CREATE SCHEMA IF NOT EXISTS {quoted(self._file.catalog, schema)}")

    def opened(self, node: Node, suppressed: int, columns: Sequence[str] | None = None) -> NodeRelease:
        """A node, of which so many rows are suppressed, as a release for queries; of all columns, or of some."""
        with self._scan.source.scratch.nested() as scratch:
            if suppressed:
                shown = write_shown(self._scan, self._measures, node, scratch)
            else:
                shown = write_node_labels(self._scan, node, scratch)
            return self._opened(shown, suppressed, self._columns if columns is None else columns)

    def _opened(self, shown: NodeLabels, suppressed: int, columns: Sequence[str]) -> NodeRelease:
        scan, con, published = self._scan, self._scan.source.con, self._file.table("published")
        keep = self._policy.keep_suppressed
        stars = suppressed > 0 and keep and judge_stars(scan, self._measures, shown).kept
        table = scan.frequencies.relation if suppressed else self._combinations(tuple(columns))
        rows = shown_rows(scan, shown, columns, keep, stars, table, f", t.{_COPIES} AS {_COPIES}")
        fetch(con, f"CREATE OR REPLACE TABLE {published} AS {_summed(columns, rows)}")
        gone = 0 if stars else suppressed
        fetch(con, f"CREATE OR REPLACE TABLE {self._rows} AS SELECT {gone} AS gone, {scan.rows - suppressed} AS shown")
        kinds = {r[0]: r[1] for r in fetch(con, f"DESCRIBE {published}")}
        found = []
        described = describe(scan, shown.node, columns, self._known)
        for column in described:
            self._write_leaves(shown, column)
            row = {
                "name": column.name,
                "type": kinds[column.name],
                "role": self._roles[folded(column.name)],
                "original": column.original,
                "labels": column.labels,
                "has_domain": column.domain is not None,
            }
            found.append(PublishedColumn(self._file, row, _COPIES))
        release = generalized_release(self._file, self._policy.table.name, found, suppressed, stars, self._counts)
        release = replace(release, facts=None)
        return NodeRelease(release, (release.attributes, tuple(c.labels for c in described), suppressed > 0, stars))

    def _combinations(self, columns: tuple[str, ...]) -> Relation:
        """The combinations of some columns: far fewer than of all, so that labels are found sooner."""
        if any(reads_apart(self._known.types[c]) for c in columns):  # equal values may have several labels
            return self._scan.frequencies.relation
        if columns not in self._counted:
            summed = _summed(columns, f"FROM {self._scan.frequencies}")
            self._counted[columns] = self._scan.source.scratch.table(summed, "counted")
        return self._counted[columns]

    def _write_leaves(self, shown: NodeLabels, column: ShownColumn) -> None:
        con, a = self._scan.source.con, self._places.get(folded(column.name))
        labels = self._file.table(f"labels_{column.name}")
        if a is not None and column.has_ends:
            rows = label_rows(self._scan, shown, a, column, self._file.table("published"))
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
        fetch(con, f"CREATE OR REPLACE VIEW {view} AS FROM {self._labelled[key]}")


def _summed(columns: Sequence[str], rows: str) -> str:
    """Each combination once."""
    listed = ", ".join(map(quoted, columns))
    return f"SELECT {listed}, CAST(sum({_COPIES}) AS BIGINT) AS {_COPIES} FROM ({rows}) GROUP BY ALL"


def _with_listed_values(scan: Scan, known: Known) -> Known:
    """Domains also of those quasi-identifiers that have none, where labels do not name ranges."""
    found = dict(known.domains)
    kinds = {folded(name): (name, kind) for name, kind in known.types.items()}
    for a, qi in enumerate(scan.policy.qis):
        name, kind = kinds[folded(qi)]
        given = scan.policy.hierarchies[qi]
        names_ranges = isinstance(given, str) and given.partition(":")[0] in (RANGES, DATES, BINS)
        if name in found or names_ranges:
            continue
        listed = f"SELECT DISTINCT labels[1] AS text FROM {scan.labels.paths} WHERE attribute = {a}"
        value = f"TRY_CAST(text AS {kind})"
        rows = (
            f"SELECT {value} AS value, CAST(NULL AS DOUBLE) AS share "
            f"FROM ({listed}) WHERE CAST({value} AS VARCHAR) IS NOT DISTINCT FROM text"
        )
        found[name] = scan.source.scratch.table(rows, "listed").name
    return replace(known, domains=found)
