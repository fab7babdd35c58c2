"""A disclosure that could be made: the table scanned, and of every record the best choice found."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from sqlpriv.errors import PolicyError
from sqlpriv.facts import Facts
from sqlpriv.methods.charts import Sweep
from sqlpriv.methods.disclose.choose import Chosen, choose
from sqlpriv.methods.disclose.dictionary import Attributes, read_attributes
from sqlpriv.methods.disclose.entries import entry_tables
from sqlpriv.methods.disclose.independent import Independent, independents
from sqlpriv.methods.disclose.keys import WITHOUT_A_WORD
from sqlpriv.methods.disclose.minds import MINDS, write_minds
from sqlpriv.methods.disclose.offers import write_offers
from sqlpriv.methods.disclose.policy import DisclosePolicy
from sqlpriv.methods.disclose.sweep import Threshold, level_rows, sweep
from sqlpriv.methods.disclose.told import Others, Terms, owner_facts, terms_of, warned
from sqlpriv.methods.labelled.axes import BoxScan
from sqlpriv.methods.labelled.box_labels import describe_boxes
from sqlpriv.methods.labelled.box_scan import scan_points
from sqlpriv.methods.labelled.leaves import ShownColumn, refuse_names
from sqlpriv.methods.labelled.scan import count_combinations, published_columns
from sqlpriv.methods.method import Plan, Request, Written
from sqlpriv.sqltext import quoted
from sqlpriv.table.digest import rows_digest
from sqlpriv.table.source import Source


@dataclass(frozen=True)
class DisclosePlan(Plan[DisclosePolicy]):
    """The best choices, and what they come to. Tables chosen, classed and boxes are there."""

    scan: BoxScan
    attributes: Attributes
    chosen: Chosen

    @property
    def terms(self) -> Terms:
        """What the release promises, and against whom."""
        return terms_of(self.policy)

    @cached_property
    def columns(self) -> list[ShownColumn]:
        """The published columns, and what a reader may know of their values."""
        return describe_boxes(self.scan)

    def seed_parameters(self) -> dict[str, object]:
        """All that the policy says of the release, and digests of what else it depends on."""
        policy = self.policy
        return {
            "columns": {c.name: [c.role, *(str(v) for v in c.given.values())] for c in policy.columns},
            "goal": policy.goal,
            "c": policy.c,
            "per": policy.release["per"],
            "form": policy.form,
            "psi": policy.psi,
            "pairs": [[*pair.columns, str(pair.weight)] for pair in policy.pairs],
            "personal": policy.personal and [policy.personal.source, str(policy.personal.total)],
            "dictionaries": [[held.source, held.prior, *sorted(held.entries.items())] for held in policy.held],
            "judge": policy.judge,
            "read": self._read(),
        }

    def _read(self) -> dict[str, str]:
        """Digests of what the choice depends on beside the table: other rows under the same name choose otherwise."""
        tables = [name for a in self.attributes for name in (a.tree, a.values) if name is not None]
        tables += [*entry_tables(self.policy)] if self.policy.held else []
        tables += [MINDS] if self.policy.personal else []
        return {name: rows_digest(self.source.con, quoted(name)) for name in tables}

    def warnings(self) -> tuple[str, ...]:
        """What the owner should know before publishing."""
        return self.all_warnings

    @cached_property
    def all_warnings(self) -> tuple[str, ...]:
        """What holds of every such release, and what is to be said of this table."""
        columns = () if self.policy.personal else self.policy.columns
        unweighed = [c.name for c in columns if c.given.get("weight") == WITHOUT_A_WORD and c.name in self.policy.qis]
        return warned(self.terms, self.chosen, self.scan.rows, unweighed)

    def refuse(self, request: Request) -> None:
        """Refuse what tells of somebody what must never be told."""
        if self.chosen.worst == float("inf"):
            raise PolicyError(
                "cells of infinite weight would be disclosed of rows that can be found in the dictionary; ask for less "
                "utility, or make their weight a number"
            )

    @cached_property
    def thresholds(self) -> tuple[Threshold, ...]:
        """What other thresholds would give."""
        if not self.policy.is_average and self.policy.is_plain:  # else they were what was chosen from
            write_offers(self.scan, self.policy, self.attributes)
        return sweep(self.scan, self.policy, self.attributes)

    @cached_property
    def independents(self) -> tuple[Independent, ...]:
        """What the closed form for independent attributes would choose, where that is asked for."""
        if not self.policy.independent or not self.thresholds:  # which write what it is compared with
            return ()
        return independents(self.scan, self.policy, self.attributes)

    def charts(self) -> tuple[Sweep]:
        """Risk against utility and levels by threshold."""
        return (Sweep([t.content for t in self.thresholds], level_rows(self.thresholds), self.policy.c),)

    def facts(self, written: Written | None = None) -> Facts:
        """Risk, utility, the share of each level, and where the release is."""
        other = ((), ()) if written is not None else (self.thresholds, self.independents)
        return owner_facts(
            self.policy, self.terms, self.chosen, self.scan.rows, self.all_warnings, written, Others(*other)
        )


def plan_disclosure(source: Source, policy: DisclosePolicy) -> DisclosePlan:
    """Scan the table, read the dictionary, and choose; or say what cannot be kept."""
    scan = scan_points(count_combinations(source, policy), policy)
    refuse_names(describe_boxes(scan), published_columns(scan))
    attributes = read_attributes(scan, policy)
    write_minds(source, policy)
    return DisclosePlan(policy, source, scan, attributes, choose(scan, policy, attributes))
