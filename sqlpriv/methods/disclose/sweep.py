"""Risk, utility and levels at other thresholds c, as Figures 9, 10 and 11 show them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlpriv.core.engine import fetch
from sqlpriv.core.errors import PolicyError
from sqlpriv.macros.catalog import inlined
from sqlpriv.methods.disclose.attributes import Attributes, fetch_risk
from sqlpriv.methods.disclose.candidates import CANDIDATES, FULL_UTILITY, average_choice, choices_at
from sqlpriv.methods.disclose.policy import RISK, UTILITY, DisclosePolicy
from sqlpriv.methods.generalized.points import BoxScan

_SWEPT = "disclose_swept"
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


def sweep(scan: BoxScan, policy: DisclosePolicy, attributes: Attributes) -> tuple[Threshold, ...]:
    """The results at several thresholds, the policy's own among them. Reads table disclose_candidates."""
    con, wanted = scan.source.con, _thresholds(scan, policy)
    if policy.is_average:
        fetch(con, f"CREATE OR REPLACE TABLE {_SWEPT} AS SELECT 0e0 AS c, * FROM {CANDIDATES} LIMIT 0")
        for c in wanted:
            try:
                chosen = f"SELECT {c!r}::DOUBLE, * EXCLUDE (gap) FROM ({average_choice(scan, policy, c)})"
                fetch_risk(scan.source, attributes, f"INSERT INTO {_SWEPT} {chosen}")
            except PolicyError:  # no choice keeps c
                continue
    else:
        fetch(con, f"CREATE OR REPLACE TABLE {_SWEPT} AS {choices_at(policy.goal, wanted)}")
    return _summarize(scan)


def _thresholds(scan: BoxScan, policy: DisclosePolicy) -> list[float]:
    """Every step of utility; or quantiles of the losses, or of the prices of a step of utility."""
    if policy.goal == RISK:
        most = inlined("_mean_of(m.utility, f.__priv_n)") if policy.is_average else "max(m.utility)"
        joined = f"FROM {FULL_UTILITY} AS m JOIN {scan.frequencies} AS f ON m.number = f.rowid"
        ((last,),) = fetch(scan.source.con, f"SELECT CAST(floor({most}) AS INTEGER) {joined}")
        found = [float(step) for step in range(int(last) + 1)]
    else:
        what = "loss" if policy.goal == UTILITY else inlined("_price_of_utility(loss, utility)")
        shares = ", ".join(f"{i}/{_POINTS}" for i in range(_POINTS + 1))
        quantiles = f"SELECT unnest(quantile_disc({what}, [{shares}])) AS c FROM {CANDIDATES} WHERE isfinite({what})"
        found = [float(c) for (c,) in fetch(scan.source.con, quantiles)]
    return sorted({*found, policy.c})


def _summarize(scan: BoxScan) -> tuple[Threshold, ...]:
    con = scan.source.con
    joined = f"FROM {_SWEPT} AS s JOIN {scan.frequencies} AS f ON s.row = f.rowid"
    means = ", ".join(inlined(f"_mean_of({value}, f.__priv_n)") for value in ("s.loss", "s.utility"))
    rows = fetch(
        con,
        f"SELECT c, {means}, max(s.loss) {joined} GROUP BY c HAVING sum(f.__priv_n) = {scan.rows} ORDER BY c",
    )
    levels: dict[tuple[float, str], dict[int, float]] = {}
    for axis in scan.axes:
        depth = f"s.depths[{axis.number + 1}]"
        share = inlined("_share_of(sum(f.__priv_n), sum(sum(f.__priv_n)) OVER (PARTITION BY c))")
        for c, step, part in fetch(con, f"SELECT c, {depth}, {share} {joined} GROUP BY c, 2"):
            levels.setdefault((c, axis.column), {})[int(step)] = float(part)
    return tuple(
        Threshold(float(c), float(risk), float(worst), float(utility), _by_step(scan, levels, c))
        for c, risk, utility, worst in rows
    )


def _by_step(
    scan: BoxScan, levels: dict[tuple[float, str], dict[int, float]], c: float
) -> dict[str, tuple[float, ...]]:
    found = {}
    for axis in scan.axes:
        own, height = levels[c, axis.column], axis.height or 0
        found[axis.column] = tuple(own.get(step, 0.0) for step in range(height + 1))
    return found


def level_rows(thresholds: Sequence[Threshold]) -> list[dict[str, Any]]:
    """The levels by threshold, a row each, for a chart."""
    return [
        {"c": t.c, "attribute": name, "level": step, "share": share}
        for t in thresholds
        for name, shares in t.levels.items()
        for step, share in enumerate(shares)
    ]
