"""Nodes as the releases that they would be, for queries: in tables of the search's own connection, one node at a time.

They have the names of those of a file (generalized/layout.py), so that one rewriting serves for both. There are
only the columns that are asked for, and each combination of cells once, with its number of rows. The labels of a
public domain on a level are worked out once, unless published rows name them, as those of bins. A column without a
public domain is asked as if the values that its hierarchy lists were one: that is for the owner, who wants to know
which node is best, and a reader of the release cannot do it.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace

from sqlpriv.core.engine import fetch
from sqlpriv.core.relation import Relation
from sqlpriv.core.sqltext import folded, quoted
from sqlpriv.methods.generalized.answers import Counts, labelled_release
from sqlpriv.methods.generalized.generalize.policy import GeneralizePolicy
from sqlpriv.methods.generalized.generalize.shown import judge_stars, shown_rows, write_shown
from sqlpriv.methods.generalized.kinds import BINS, DATES, RANGES, counted_leaves
from sqlpriv.methods.generalized.labels import NodeLabels
from sqlpriv.methods.generalized.layout import has_leaves
from sqlpriv.methods.generalized.leaves import Known, ShownColumn, describe
from sqlpriv.methods.generalized.measures import ClassMeasure
from sqlpriv.methods.generalized.node_labels import label_rows, leaf_rows, write_node_labels
from sqlpriv.methods.generalized.read import PublishedColumn
from sqlpriv.methods.generalized.scan import Scan
from sqlpriv.methods.lattice import Node
from sqlpriv.release.file import SCHEMA, ReleaseFile
from sqlpriv.rewrite.release import GeneralizedRelease
from sqlpriv.table.private_table import reads_apart

_COPIES = "__priv_n"


@dataclass(frozen=True)
class AskedNode:
    """A node as a release; nodes of the same shape are asked by the same SQL text."""

    release: GeneralizedRelease
    shape: Hashable


class AskedNodes:
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

    def opened(self, node: Node, suppressed: int, columns: Sequence[str] | None = None) -> AskedNode:
        """A node, of which so many rows are suppressed, as a release for queries; of all columns, or of some."""
        with self._scan.source.scratch.nested() as scratch:
            if suppressed:
                shown = write_shown(self._scan, self._measures, node, scratch)
            else:
                shown = write_node_labels(self._scan, node, scratch)
            return self._opened(shown, suppressed, self._columns if columns is None else columns)

    def _opened(self, shown: NodeLabels, suppressed: int, columns: Sequence[str]) -> AskedNode:
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
        release = labelled_release(self._file, self._policy.table.name, found, suppressed, stars, self._counts)
        release = replace(release, facts=None)
        return AskedNode(release, (release.attributes, tuple(c.labels for c in described), suppressed > 0, stars))

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
