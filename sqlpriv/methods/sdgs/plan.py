"""A release by sampled k-anonymity that could be made: the table is scanned, nothing is sampled yet."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from sqlpriv.checks.verdict import Evidence
from sqlpriv.core.engine import fetch
from sqlpriv.core.errors import PolicyError
from sqlpriv.core.facts import Facts, Line, Part
from sqlpriv.core.sqltext import folded
from sqlpriv.methods.charts import Deltas
from sqlpriv.methods.generalized.columns import PublicColumns, ShownColumn, describe, read_public_columns, refuse_names
from sqlpriv.methods.generalized.policy import folded_node
from sqlpriv.methods.generalized.scan import Scan, node_of, published_columns, scan_table
from sqlpriv.methods.generalized.write import write_node_labels
from sqlpriv.methods.lattice import Node
from sqlpriv.methods.method import Plan, Written
from sqlpriv.methods.sdgs.classes import SampleCounts, expected_rows, refuse_kinds, refuse_too_many, write_classes
from sqlpriv.methods.sdgs.groups import Group, declared_groups, file_of, groups_of
from sqlpriv.methods.sdgs.policy import SdgsPolicy
from sqlpriv.methods.sdgs.terms import SdgsTerms, delta_curves, linking_posterior, make_terms, smooth_curve
from sqlpriv.methods.sdgs.wording import (
    OWNER,
    GroupCounts,
    counts,
    details,
    exposure,
    promise,
    smooth_grid,
    terms_evidence,
    where,
)
from sqlpriv.release.file import count_rows, open_file
from sqlpriv.release.ledger import Entry
from sqlpriv.release.ledger.entry import Spent
from sqlpriv.table.digest import rows_digest
from sqlpriv.table.hierarchies import comes_from_a_table
from sqlpriv.table.named_tables import private_reads, reads_private
from sqlpriv.table.source import Source
from sqlpriv.version import __version__

_SEARCHED = (
    "the guarantee needs a node that was chosen without looking at this table; write in node_is_public why it is one, "
    "and the release carries it"
)
_SNIFFED = (
    "the types of the columns are read from the file, and count as public; where that is not so, give types in [table]"
)
_EMPTY = (
    "less than one row can be expected in the release, or in one of its groups, because nearly all classes have fewer "
    "sampled rows than k. Take higher levels, a larger beta or a smaller k, or publish fewer columns"
)
_MUCH = 0.01
_LIKELY = (
    "delta times the number of rows is above 0.01: the guarantee is not unlikely to fail for somebody; ask for a "
    "smaller delta"
)
_TEXT_FILES = (".csv", ".tsv", ".txt", ".json", ".jsonl", ".ndjson", ".gz", ".zst")


@dataclass
class DrawnSample:
    """The node and the sample of a plan, once they are drawn. For the owner."""

    node: Node | None = None
    sampled: tuple[SampleCounts, ...] | None = None
    """By group."""


@dataclass(frozen=True)
class SdgsPlan(Plan[SdgsPolicy]):
    """What would be published, and what it guarantees."""

    scan: Scan
    terms: SdgsTerms
    known: PublicColumns
    """What may be known of the published columns."""
    drawn: DrawnSample = field(default_factory=DrawnSample, compare=False)

    def seed_parameters(self) -> dict[str, object]:
        """All that the policy says of the release, and its labels."""
        policy = self.policy
        return {
            "columns": {c.name: c.seed for c in policy.columns},
            "nodes": [dict(node) for node in policy.nodes],
            **({} if policy.groups is None else {"groups": [list(group.columns) for group in self.groups]}),
            # Random numbers go by labels: other labels under the same name would be a second sample.
            "labels": rows_digest(self.source.con, self.scan.labels.paths.name),
            **self.terms.numbers,
        }

    @cached_property
    def groups(self) -> tuple[Group, ...]:
        """The columns that are published together, in the order of the table."""
        published = published_columns(self.scan)
        given = [published] if self.policy.groups is None else self.policy.groups
        return groups_of([[c for c in published if folded(c) in {folded(name) for name in names}] for names in given])

    def columns(self, node: Node) -> list[ShownColumn]:
        """The published columns under a node, and what a reader may know of their values."""
        return describe(self.scan, node, published_columns(self.scan), self.known)

    def named(self, node: Node) -> dict[str, int]:
        """A node by the names of the quasi-identifiers."""
        return dict(zip(self.policy.qis, node, strict=True))

    @property
    def node(self) -> Node | None:
        """The one node, or the one that was drawn."""
        return node_of(self.scan, self.policy.nodes[0]) if len(self.policy.nodes) == 1 else self.drawn.node

    @cached_property
    def n_public(self) -> int:
        """The public number of rows: for readers only where the policy declares it, else for the owner."""
        return self.policy.n_public or int(self.source.calls.row("public_size", self.scan.rows)[0])

    @cached_property
    def expected(self) -> tuple[float, ...] | None:
        """How many rows of each group are to be expected, where that does not depend on a random draw to come."""
        if self.node is None or (self.policy.person is not None and self.policy.rows_each == 1):
            return None
        scan, found = self.scan, []
        with self.source.scratch.nested() as scratch:
            shown = write_node_labels(scan, self.node, scratch)
            for group in self.groups:
                classes = write_classes(scan, scan.frequencies.relation, shown, group, scratch)
                found.append(expected_rows(scan, classes, self.terms.k, self.terms.beta))
        return tuple(found)

    def spent(self) -> Spent:
        """What the ledger adds up. A person with several rows, or a choice of levels, has no curve of its own."""
        terms = self.terms
        alone = terms.rows_each == 1 and not terms.node_epsilon
        added, replaced = (terms.total_epsilon, terms.total_delta), (terms.replaced_epsilon, terms.replaced_delta)
        return Spent(terms.unit, added, replaced, samples=((terms.k, terms.beta),) * terms.groups if alone else ())

    def warnings(self) -> tuple[str, ...]:
        """What the owner should know."""
        policy = self.policy
        node = (_SEARCHED,) if len(policy.nodes) == 1 and policy.node_is_public is None else ()
        reference = self.source.reference
        is_text = reference.is_in_file and reference.file_name.lower().endswith(_TEXT_FILES)
        types = (_SNIFFED,) if is_text and "types" not in reference.read_options else ()
        size = () if policy.n_public is None or policy.n_public >= self.scan.rows else (
            "n_public is below the number of rows, so that delta times n_public is less than it should be",
        )  # fmt: skip
        likely = (_LIKELY,) if self.exposed > _MUCH else ()
        empty = (_EMPTY,) if self.expected is not None and min(self.expected) < 1 else ()
        return (*node, *types, *size, *likely, *empty)

    def evidence(self) -> Iterator[Evidence]:
        """By its numbers, which are public."""
        exposed = None if self.policy.n_public is None else self.exposed
        return terms_evidence(self.terms, exposed, is_public=self.policy.node_is_public is not None)

    def refuse_after(self, earlier: Sequence[Entry]) -> None:
        """Refuse a node that an earlier release of the table was made with: that one was searched for in the table."""
        if self.policy.node_is_public is not None:
            return
        own = [folded_node(node) for node in self.policy.nodes]
        for entry in earlier:
            node = entry.parameters.get("node")
            if entry.method != self.policy.method and isinstance(node, dict) and folded_node(node) in own:
                levels = ", ".join(f"{name} = {level}" for name, level in node.items())
                raise PolicyError(
                    f"{entry.output!r}, a release of the table by {entry.method}, has the levels {levels}, "
                    "which were found by looking at the table: sdgs has no guarantee for them. Choose others, or write "
                    'why they do not depend on the table: node_is_public = "..."'
                )

    def facts(self, written: Written | None = None) -> Facts:
        """What it guarantees, what is to be expected, and where the release is. Much of it is for the owner alone."""
        terms, method, sampled = self.terms, self.policy.method, self.drawn.sampled
        node = None if self.node is None else self.named(self.node)
        shown = None if sampled is None else tuple(s.shown for s in sampled)
        if written is not None and written.again:  # as the file says, since nothing was drawn now
            sampled = None
            with open_file(written.output) as file:
                node = {str(name): int(level) for name, level in json.loads(file.about["node"]).items()}
                shown = tuple(count_rows(file_of(file, group)) for group in declared_groups(file))
        groups = [
            GroupCounts(
                group.columns,
                None if self.expected is None else self.expected[i],
                None if sampled is None else sampled[i],
                None if shown is None else shown[i],
            )
            for i, group in enumerate(self.groups)
        ]
        warnings = self.all_warnings(written)
        content: dict[str, Any] = {
            "version": __version__,
            "method": method,
            "node": node,
            "rows": self.scan.rows,
            "sampled_rows": None if sampled is None else sum(s.seen for s in sampled),
            "published_rows": None if written is None or shown is None else sum(shown),
            "suppressed_rows": None if sampled is None else sum(s.seen - s.shown for s in sampled),
            "expected_rows": None if self.expected is None else sum(self.expected),
            "classes": None if sampled is None else sum(s.classes for s in sampled),
            "loss": None,
            "guarantee": {"epsilon": terms.total_epsilon, "delta": terms.total_delta, "k": terms.k, "beta": terms.beta},
            "replaced": {"epsilon": terms.replaced_epsilon, "delta": terms.replaced_delta},
            "parameters": terms.numbers,
            "promise": promise(terms),
            "details": list(details(terms)),
            "n_public": self.n_public,
            "exposed": self.exposed,
            "smooth": [{"epsilon": e, "delta": d, "bound": b} for e, d, b in self.smooth],
            "posterior": linking_posterior(self.source.calls, terms, self.choices),
            "warnings": list(warnings),
            "output": None if written is None else str(written.output),
        }
        if len(groups) > 1:
            content["groups"] = [group.content for group in groups]
        parts: list[Part] = [
            Line(promise(terms)),
            *(Line(f"- {text}", quiet=True) for text in details(terms)),
            Line(exposure(terms, self.n_public, self.exposed)),
            smooth_grid(self.smooth, terms.groups),
            Line(f"{counts(self.scan.rows, groups)} {OWNER}"),
            *where(written),
        ]
        levels = ", ".join(f"{q} {level}" for q, level in (node or {}).items()) or "drawn when it is published"
        four = f"epsilon {terms.epsilon:.4g}, delta {terms.delta:.3g}, k {terms.k}, beta {terms.beta:.4g}"
        many = f" in each of {terms.groups} groups" if terms.groups > 1 else ""
        return Facts(f"{method}  {four}{many}; levels: {levels}", content, tuple(parts), warnings)

    @property
    def choices(self) -> list[int | None]:
        """The sizes of the public domains of the sensitive columns."""
        found = [self.known.domains.get(s) for s in self.policy.sensitive]
        return [None if t is None else int(fetch(self.source.con, f"SELECT count(*) FROM {t}")[0][0]) for t in found]

    def charts(self) -> tuple[Deltas]:
        """Delta against epsilon by k and beta, as Figures 2 and 3 of the paper, and the closed bound of Theorem 6."""
        return (Deltas(delta_curves(self.source.calls, self.terms), (self.terms.epsilon, self.terms.delta)),)

    @cached_property
    def exposed(self) -> float:
        """delta times the number of rows: the chance that the guarantee fails for somebody, about."""
        return float(self.source.calls.value(f"_exposed({self.terms.total_delta!r}, {self.n_public})"))

    @cached_property
    def smooth(self) -> list[tuple[float, float, float]]:
        """Points of the f-smooth guarantee."""
        return smooth_curve(self.source.calls, self.terms.k, self.terms.beta, self.terms.epsilon)


def make_plan(source: Source, policy: SdgsPolicy) -> SdgsPlan:
    """Scan the table, and refuse what cannot be published."""
    terms = make_terms(source.calls, policy)
    _refuse_private_hierarchies(source, policy)
    scan = scan_table(source, policy, policy.named("other"))
    refuse_kinds(scan)
    if policy.person is not None and policy.rows_each > 1:
        refuse_too_many(scan, policy)
    known = read_public_columns(source, policy, published_columns(scan))
    for given in policy.nodes:
        columns = describe(scan, node_of(scan, given), published_columns(scan), known)
        refuse_names(columns, published_columns(scan))
    return SdgsPlan(policy, source, scan, terms, known)


def _refuse_private_hierarchies(source: Source, policy: SdgsPolicy) -> None:
    """Labels must not be read from the private table, nor from what is made of it."""
    from_tables = {c: g for c, g in policy.hierarchies.items() if isinstance(g, str) and comes_from_a_table(g)}
    private = private_reads(source) if from_tables else set()
    for column, given in from_tables.items():
        name = given.partition(":")[2] if given.startswith(("tree:", "table:")) else given
        if reads_private(source, name, private):
            raise PolicyError(
                f"the hierarchy of {column!r} is read from the private table, and the guarantee needs labels that do "
                "not depend on it; name a file or table that anybody may see"
            )
