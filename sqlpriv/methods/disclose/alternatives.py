"""Other choices than the best one, which a plan reports for comparison.

At other thresholds c: risk, utility and levels, as Figures 9, 10 and 11 show them. And by the closed form of section
4.2: which cells to disclose if attributes were independent.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from sqlpriv.core.engine import fetch
from sqlpriv.core.errors import PolicyError
from sqlpriv.core.relation import Relation
from sqlpriv.core.sqltext import literal
from sqlpriv.macros.catalog import inlined
from sqlpriv.methods.disclose.choose import WeighedRecords
from sqlpriv.methods.disclose.policy import RISK, UTILITY

_POINTS = 8


@dataclass(frozen=True)
class Threshold:
    """Risk, utility and levels at a threshold."""

    c: float
    risk: float
    worst: float
    utility: float
    levels: dict[str, tuple[float, ...]]
    """For each attribute, the share of the rows that disclose it so many steps below the top."""

    @property
    def content(self) -> dict[str, Any]:
        """For JSON."""
        levels = {name: list(shares) for name, shares in self.levels.items()}
        return {"c": self.c, "risk": self.risk, "worst": self.worst, "utility": self.utility, "levels": levels}


def sweep(records: WeighedRecords) -> tuple[Threshold, ...]:
    """The results at several thresholds, the policy's own among them."""
    policy, wanted = records.tables.policy, _thresholds(records)
    with records.scan.source.scratch.nested() as scratch:
        if not policy.is_average and not policy.is_minimax:
            return _summarize(records, scratch.table(records.choices_at(wanted), "swept"))
        swept = scratch.table(f"SELECT 0e0 AS c, * FROM {records.candidates.name} LIMIT 0", "swept")
        for c in wanted:
            with scratch.nested() as inner:
                if policy.is_minimax:
                    chosen = f"SELECT {c!r}::DOUBLE, * FROM ({records.minimax_choice(c, inner)[0]})"
                else:
                    chosen = f"SELECT {c!r}::DOUBLE, * EXCLUDE (gap) FROM ({records.average_choice(c)})"
                try:
                    records.tables.fetch(f"INSERT INTO {swept.name} {chosen}")
                except PolicyError:  # no choice keeps c
                    continue
        return _summarize(records, swept)


def _thresholds(records: WeighedRecords) -> list[float]:
    """Every step of utility; or quantiles of the losses, or of the prices of a step of utility."""
    con, policy = records.scan.source.con, records.tables.policy
    if policy.goal == RISK:
        most = inlined("_mean_of(m.utility, f.__priv_n)") if policy.is_average else "max(m.utility)"
        frequencies = records.scan.frequencies.relation.name
        joined = f"FROM {records.full_utility.name} AS m JOIN {frequencies} AS f ON m.number = f.rowid"
        ((last,),) = fetch(con, f"SELECT CAST(floor({most}) AS INTEGER) {joined}")
        found = [float(step) for step in range(int(last) + 1)]
    else:
        what = "loss" if policy.goal == UTILITY else inlined("_price_of_utility(loss, utility)")
        shares = ", ".join(f"{i}/{_POINTS}" for i in range(_POINTS + 1))
        finite = f"FROM {records.candidates.name} WHERE isfinite({what})"
        found = [float(c) for (c,) in fetch(con, f"SELECT unnest(quantile_disc({what}, [{shares}])) AS c {finite}")]
    return sorted({*found, policy.c})


def _summarize(records: WeighedRecords, swept: Relation) -> tuple[Threshold, ...]:
    scan, con = records.scan, records.scan.source.con
    joined = f"FROM {swept.name} AS s JOIN {scan.frequencies.relation.name} AS f ON s.row = f.rowid"
    means = ", ".join(inlined(f"_mean_of({value}, f.__priv_n)") for value in ("s.loss", "s.utility"))
    rows = fetch(
        con,
        f"SELECT s.c, {means}, max(s.loss) {joined} GROUP BY s.c HAVING sum(f.__priv_n) = {scan.rows} ORDER BY s.c",
    )
    shares: dict[tuple[float, str, int], float] = {}
    for axis in scan.axes:
        depth = f"s.depths[{axis.number + 1}]"
        share = inlined("_share_of(sum(f.__priv_n), sum(sum(f.__priv_n)) OVER (PARTITION BY s.c))")
        for c, step, part in fetch(con, f"SELECT s.c, {depth}, {share} {joined} GROUP BY s.c, 2"):
            shares[c, axis.column, int(step)] = float(part)
    return tuple(
        Threshold(
            float(c),
            float(risk),
            float(worst),
            float(utility),
            {
                axis.column: tuple(shares.get((c, axis.column, step), 0.0) for step in range((axis.height or 0) + 1))
                for axis in scan.axes
            },
        )
        for c, risk, utility, worst in rows
    )


def level_rows(thresholds: Sequence[Threshold]) -> list[dict[str, Any]]:
    """The levels by threshold, a row each, for a chart."""
    return [
        {"c": t.c, "attribute": name, "level": step, "share": share}
        for t in thresholds
        for name, shares in t.levels.items()
        for step, share in enumerate(shares)
    ]


@dataclass(frozen=True)
class Independent:
    """The closed form where k cells of every record are disclosed as they are, and no others."""

    k: int
    estimated: float
    """The risk by the closed form."""
    risk: float
    """The true risk of its choice."""
    exact: float
    """The least risk with as much utility of every record."""

    @property
    def content(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


def independents(records: WeighedRecords) -> tuple[Independent, ...]:
    """By the number of cells, while every record has so many."""
    found = []
    for k in range(1, len(records.tables.attributes) + 1):
        try:
            found.append(_independent(records, k))
        except PolicyError:  # a record has fewer cells
            break
    return tuple(found)


def _independent(records: WeighedRecords, k: int) -> Independent:
    source, tables = records.scan.source, records.tables
    frequencies = records.scan.frequencies.relation.name
    weights = [a.as_weight for a in tables.attributes]
    linked = literal([{**a.as_weight, "entry": a.entry} for a in tables.attributes])
    given = f"{literal(records.relation.name)}, {literal(tables.entries[0].name)}, {linked}, {k}"
    call = f"{source.need('independent_disclosure')}({given})"
    with source.scratch.nested() as scratch, tables.naming():
        chosen = scratch.table(f"SELECT record.number AS row, labels, loss FROM {call}", "independent")
        cells = ", ".join(f"labels[{a.axis.number + 1}] AS a{a.axis.number}" for a in tables.attributes)
        copies = f"(SELECT rowid AS row, unnest(range(__priv_n)) AS copy FROM {frequencies}) AS f"
        rows = scratch.table(f"SELECT {cells} FROM {chosen.name} AS t JOIN {copies} ON t.row = f.row", "labels")
        risk, _ = tables.risk_of(rows)
        numbered = scratch.table(f"SELECT row, {cells} FROM {chosen.name}", "labels")
        listed = f"{literal(numbered.name)}, {literal(weights)}"
        utilities = f"SELECT record.row AS row, utility FROM {source.need('disclosure_utility')}({listed})"
        least = (
            f"SELECT u.row, min(o.loss) AS loss FROM ({utilities}) AS u "
            f"JOIN {records.candidates.name} AS o ON u.row = o.row AND o.utility >= u.utility GROUP BY u.row"
        )
        means = ", ".join(inlined(f"_mean_of({value}, f.__priv_n)") for value in ("t.loss", "l.loss"))
        ((estimated, exact),) = fetch(
            source.con,
            f"SELECT {means} FROM {chosen.name} AS t JOIN ({least}) AS l ON t.row = l.row "
            f"JOIN {frequencies} AS f ON t.row = f.rowid",
        )
    return Independent(k, float(estimated), risk, float(exact))
