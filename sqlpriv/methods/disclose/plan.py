"""A disclosure that could be made: the table is scanned, and the best choice of every record is found."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from sqlpriv.core.errors import PolicyError
from sqlpriv.core.facts import Facts
from sqlpriv.core.sqltext import quoted
from sqlpriv.methods.charts import Sweep
from sqlpriv.methods.disclose.attributes import Attributes, read_attributes
from sqlpriv.methods.disclose.candidates import write_candidates
from sqlpriv.methods.disclose.choose import Chosen, choose
from sqlpriv.methods.disclose.entries import entry_tables
from sqlpriv.methods.disclose.independent import Independent, independents
from sqlpriv.methods.disclose.keys import DEFAULT_WEIGHT
from sqlpriv.methods.disclose.personal_weights import PERSONAL_WEIGHTS, write_personal_weights
from sqlpriv.methods.disclose.policy import DisclosePolicy
from sqlpriv.methods.disclose.sweep import Threshold, level_rows, sweep
from sqlpriv.methods.disclose.wording import Alternatives, DiscloseTerms, owner_facts, owner_warnings, terms_of
from sqlpriv.methods.generalized.axes import BoxScan
from sqlpriv.methods.generalized.box_labels import describe_boxes
from sqlpriv.methods.generalized.box_scan import scan_points
from sqlpriv.methods.generalized.boxes import Boxes
from sqlpriv.methods.generalized.leaves import ShownColumn, refuse_names
from sqlpriv.methods.generalized.scan import published_columns, scan_values
from sqlpriv.methods.method import Plan, Request, Written
from sqlpriv.table.fingerprint import rows_digest
from sqlpriv.table.source import Source


@dataclass(frozen=True)
class DisclosePlan(Plan[DisclosePolicy]):
    """The best choices, and their risk and utility."""

    scan: BoxScan
    attributes: Attributes
    boxes: Boxes
    """Every combination with the labels that are disclosed of it."""
    chosen: Chosen

    @property
    def terms(self) -> DiscloseTerms:
        """What the release promises, and against which attacker."""
        return terms_of(self.policy)

    @cached_property
    def columns(self) -> list[ShownColumn]:
        """The published columns, and what is public of their values."""
        return describe_boxes(self.scan)

    def seed_parameters(self) -> dict[str, object]:
        """All keys of the policy, and digests of the other tables that the choice depends on."""
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
            "dictionaries": [
                [dictionary.source, dictionary.prior, *sorted(dictionary.entries.items())]
                for dictionary in policy.dictionaries
            ],
            "judge": policy.judge,
            "read": self._digests(),
        }

    def _digests(self) -> dict[str, str]:
        """Digests of hierarchies, weights and dictionaries: their rows may change under the same name."""
        tables = {name: name for a in self.attributes for name in (a.tree, a.values) if name is not None}
        tables |= {name: name for name in entry_tables(self.policy)} if self.policy.dictionaries else {}
        # The key is part of the seed, by which the ledger knows a release again: it stays.
        tables |= {"disclose_minds": PERSONAL_WEIGHTS} if self.policy.personal else {}
        return {key: rows_digest(self.source.con, quoted(name)) for key, name in tables.items()}

    def warnings(self) -> tuple[str, ...]:
        """What the owner should know before publishing."""
        return self.all_warnings

    @cached_property
    def all_warnings(self) -> tuple[str, ...]:
        """Warnings about every such release, and about this table."""
        columns = () if self.policy.personal else self.policy.columns
        unweighted = [c.name for c in columns if c.given.get("weight") == DEFAULT_WEIGHT and c.name in self.policy.qis]
        return owner_warnings(self.terms, self.chosen, self.scan.rows, unweighted)

    def refuse(self, request: Request) -> None:
        """Refuse to disclose cells of infinite weight of rows that can be found."""
        if self.chosen.worst == float("inf"):
            raise PolicyError(
                "cells of infinite weight would be disclosed of rows that can be found in the dictionary; ask for less "
                "utility, or make their weight a number"
            )

    @cached_property
    def thresholds(self) -> tuple[Threshold, ...]:
        """Risk, utility and levels at other thresholds."""
        if not self.policy.is_average and self.policy.is_plain:  # else they were written to choose from
            write_candidates(self.scan, self.policy, self.attributes)
        return sweep(self.scan, self.policy, self.attributes)

    @cached_property
    def independents(self) -> tuple[Independent, ...]:
        """The choices of the closed form for independent attributes, where the policy asks for them."""
        if not self.policy.independent or not self.thresholds:  # thresholds write the candidates to compare with
            return ()
        return independents(self.scan, self.policy, self.attributes)

    def charts(self) -> tuple[Sweep]:
        """Risk against utility and levels by threshold."""
        return (Sweep([t.content for t in self.thresholds], level_rows(self.thresholds), self.policy.c),)

    def facts(self, written: Written | None = None) -> Facts:
        """Risk, utility, the share of each level, and where the release is."""
        other = ((), ()) if written is not None else (self.thresholds, self.independents)
        return owner_facts(
            self.policy, self.terms, self.chosen, self.scan.rows, self.all_warnings, written, Alternatives(*other)
        )


def plan_disclosure(source: Source, policy: DisclosePolicy) -> DisclosePlan:
    """Scan the table, read the dictionary, and choose; or say what cannot be kept."""
    scan = scan_points(scan_values(source, policy), policy)
    refuse_names(describe_boxes(scan), published_columns(scan))
    attributes = read_attributes(scan, policy)
    write_personal_weights(source, policy)
    return DisclosePlan(policy, source, scan, attributes, *choose(scan, policy, attributes))
