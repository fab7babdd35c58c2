"""A disclosure that could be made: the table is scanned, and the best choice of every record is found."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from sqlpriv.checks.verdict import Evidence
from sqlpriv.core.engine import fetch
from sqlpriv.core.errors import PolicyError
from sqlpriv.core.facts import Facts
from sqlpriv.macros.catalog import inlined
from sqlpriv.methods.charts import Sweep
from sqlpriv.methods.disclose.alternatives import Independent, Threshold, independents, level_rows, sweep
from sqlpriv.methods.disclose.choose import Chosen, WeighedRecords, choose, chosen_boxes, read_records, summarize
from sqlpriv.methods.disclose.policy import DEFAULT_WEIGHT, UTILITY, DisclosePolicy
from sqlpriv.methods.disclose.wording import DiscloseTerms, disclosure_evidence, owner_facts, owner_warnings, terms_of
from sqlpriv.methods.generalized.box_files import describe_boxes
from sqlpriv.methods.generalized.boxes import Boxes
from sqlpriv.methods.generalized.columns import ShownColumn, refuse_names
from sqlpriv.methods.generalized.points import BoxScan, scan_points
from sqlpriv.methods.generalized.scan import published_columns, scan_values
from sqlpriv.methods.method import Plan, Request, Written
from sqlpriv.table.digest import rows_digest
from sqlpriv.table.source import Source


@dataclass(frozen=True)
class DisclosePlan(Plan[DisclosePolicy]):
    """The best choices, and their risk and utility."""

    scan: BoxScan
    records: WeighedRecords
    boxes: Boxes
    """Every combination with the labels that are disclosed of it."""
    chosen: Chosen

    @cached_property
    def terms(self) -> DiscloseTerms:
        """What the release promises, and against which attacker."""
        return terms_of(self.policy)

    @cached_property
    def columns(self) -> list[ShownColumn]:
        """The published columns, and what is public of their values."""
        return describe_boxes(self.scan)

    @property
    def digest(self) -> str:
        """Of the columns that are published: without noise nothing depends on the others."""
        return self.scan.digest

    def seed_parameters(self) -> dict[str, object]:
        """All keys of the policy, and digests of the other tables that the choice depends on."""
        policy = self.policy
        return {
            "columns": {c.name: c.seed for c in policy.columns},
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
        tables = self.records.tables
        # The keys are part of the seed, by which the ledger knows a release again: they stay.
        read = {f"disclose_tree_{a.axis.number}": a.tree for a in tables.attributes}
        read |= {f"disclose_values_{a.axis.number}": a.values for a in tables.attributes if a.values is not None}
        if len(self.policy.dictionaries) > 1:
            read |= {f"disclose_entries_{n}": own for n, own in enumerate(tables.entries, start=1)}
        elif self.policy.dictionaries:
            read["disclose_entries"] = tables.entries[0]
        if tables.personal is not None:
            read["disclose_minds"] = tables.personal
        return {key: rows_digest(self.source.con, own.name) for key, own in read.items()}

    def warnings(self) -> tuple[str, ...]:
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

    def evidence(self) -> Iterator[Evidence]:
        """By its risk: every cell has a level of its own, so that there are no classes."""
        table, others = self.source.table, self.policy.named("other")
        return disclosure_evidence(self.source.calls, table, others, self.terms, self.numbers)

    @cached_property
    def numbers(self) -> dict[str, float]:
        """The numbers of the release: its risk is rounded up."""
        chosen, c = self.chosen, self.policy.c
        rounded = ", ".join(inlined(f"_rounded_up(CAST({n!r} AS DOUBLE))") for n in (chosen.risk, chosen.worst))
        ((risk, worst),) = fetch(self.source.con, f"SELECT {rounded}")
        if self.policy.goal == UTILITY:  # where c is the bound, nothing above it need be said
            risk = min(risk, c)
            worst = worst if self.policy.is_average else min(worst, c)
        return {"c": c, "psi": self.policy.psi, "risk": float(risk), "worst": float(worst), "utility": chosen.utility}

    @cached_property
    def thresholds(self) -> tuple[Threshold, ...]:
        """Risk, utility and levels at other thresholds."""
        return sweep(self.records)

    @cached_property
    def independents(self) -> tuple[Independent, ...]:
        """The choices of the closed form for independent attributes, where the policy asks for them."""
        return independents(self.records) if self.policy.independent and self.thresholds else ()

    def charts(self) -> tuple[Sweep]:
        """Risk against utility and levels by threshold."""
        return (Sweep([t.content for t in self.thresholds], level_rows(self.thresholds), self.policy.c),)

    def facts(self, written: Written | None = None) -> Facts:
        """Risk, utility, the share of each level, and where the release is."""
        thresholds, closed = ((), ()) if written is not None else (self.thresholds, self.independents)
        return owner_facts(
            *(self.policy, self.terms, self.chosen, self.scan.rows, self.all_warnings(written)),
            *(written, thresholds, closed),
        )


def plan_disclosure(source: Source, policy: DisclosePolicy) -> DisclosePlan:
    """Scan the table, read the dictionary, and choose; or say what cannot be kept."""
    scan = scan_points(scan_values(source, policy), policy)
    refuse_names(describe_boxes(scan), published_columns(scan))
    records = read_records(scan, policy)
    chosen, minimax = choose(records)
    boxes = chosen_boxes(records, chosen)
    return DisclosePlan(policy, source, scan, records, boxes, summarize(records, chosen, boxes, minimax))
