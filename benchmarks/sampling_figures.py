"""Figures 1, 4, 5 and 6 of "k-anonymity meets differential privacy": `python -m benchmarks.sampling_figures`.

1  how many of n equal rows are sampled, with beta n and gamma n: what lies beyond gamma n is delta (Theorem 1)
4  pairs of k and beta that protect about alike: beta is doubled, and k grows from 15 to 22, 35 and 60
5  very small k, with a sampling probability of 0.025
6  the epsilon that each k reaches with a delta of at most 1e-6

The numbers are those of the macros; Figures 2, 3 and 7 are what `sqlpriv plan --chart` draws.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import duckdb
import typer
from rich.console import Console
from rich.table import Table

import sqlpriv
from sqlpriv.display.charts import Picture, draw
from sqlpriv.display.charts.marks import BLUE, RED, Data, Rows, altair, curves, logarithmic
from sqlpriv.macros.catalog import inlined

Con = duckdb.DuckDBPyConnection
Points = list[tuple[float, float]]
FIGURE_1 = (20, 0.2, 0.25)
"""k, beta and epsilon: of Table 1 the cell with the largest delta, so that there is a tail to see."""
FIGURE_4 = ((15, 0.05), (22, 0.1), (35, 0.2), (60, 0.4))
FIGURE_5 = tuple((k, 0.025) for k in range(1, 6))
FIGURE_6 = (0.05, 0.1, 0.2, 0.3, 0.4)
DELTA = 1e-6
EPSILONS = (0.6, 0.75, 1.0, 1.25, 1.5, 1.75, 2.0)
SMALL_EPSILONS = (0.05, 0.1, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0)
KS = (10, 15, 20, 30, 40, 50)
_SAMPLED, _CHANCE, _WHERE = "rows sampled", "chance", "where"

screen = Console()


def tail(con: Con, k: int, beta: float, epsilon: float) -> tuple[float, float, Points]:
    """beta n, gamma n, and how likely each number of sampled rows is, for the largest n that k rows decide."""
    trials = inlined(f"_trials({k}, {beta!r}::DOUBLE, {epsilon!r})")
    (n, gamma) = con.execute(f"SELECT {trials}, {inlined(f'_gamma({beta!r}::DOUBLE, {epsilon!r})')}").fetchall()[0]
    chance = inlined(f"_log_binomial({n!r}::DOUBLE, j, {beta!r}::DOUBLE)")
    points = con.execute(f"SELECT j, exp({chance}) FROM range({int(n) + 1}) AS r(j) ORDER BY j").fetchall()
    return beta * n, gamma * n, points


def privacies(con: Con, pairs: Sequence[tuple[int, float]], epsilons: Sequence[float]) -> dict[str, Points]:
    """1 / delta against epsilon, for each k and beta."""
    asked = "SELECT e, 1 / priv.sdgs_delta({}, {}::DOUBLE, e) FROM (SELECT unnest({}::DOUBLE[]) AS e) ORDER BY e"
    listed = [float(e) for e in epsilons]
    return {f"k = {k}, beta = {beta:g}": con.execute(asked.format(k, beta, listed)).fetchall() for k, beta in pairs}


def epsilons_by_k(con: Con, betas: Sequence[float], ks: Sequence[int], delta: float) -> dict[str, Points]:
    """The least epsilon of each k and beta; a k without one is left out: no delta is below beta^k."""
    asked = "FROM priv.sdgs_epsilon({}, {}, {})"
    return {
        f"beta = {beta:g}": [
            (k, float(con.execute(asked.format(k, beta, delta)).fetchall()[0][0])) for k in ks if beta**k <= delta
        ]
        for beta in betas
    }


def pictures(con: Con) -> dict[str, Picture]:
    """The four figures, by their names."""
    k, beta, epsilon = FIGURE_1
    inner, outer, chances = tail(con, k, beta, epsilon)
    bars = [{_SAMPLED: j, _CHANCE: p, _WHERE: "bad" if j > outer else "good"} for j, p in chances]
    beyond = sum(p for j, p in chances if j > outer)
    said = (
        f"How many of {len(chances) - 1} equal rows are sampled, beta = {beta:g}. The lines are beta n = {inner:.1f} "
        f"and gamma n = {outer:.1f} for epsilon = {epsilon:g}. What lies beyond is bad, in all {beyond:.3g}: "
        f"delta for k = {k}."
    )
    first = Picture("Figure 1", said, bars, partial(_bars, bars, (inner, outer)))
    alike, small = privacies(con, FIGURE_4, EPSILONS), privacies(con, FIGURE_5, SMALL_EPSILONS)
    reached = epsilons_by_k(con, FIGURE_6, KS, DELTA)
    return {
        "figure1": first,
        "figure4": _lines("Figure 4", "Pairs of k and beta that protect about alike.", alike, "epsilon", "1 / delta"),
        "figure5": _lines("Figure 5", "Very small k, and a small sample.", small, "epsilon", "1 / delta"),
        "figure6": _lines("Figure 6", f"The epsilon that k reaches with delta {DELTA:g}.", reached, "k", "epsilon"),
    }


def _bars(rows: Rows, ends: tuple[float, float]) -> Any:
    alt, data = altair(), Data(rows)
    colours = alt.Color(data.field(_WHERE), scale=alt.Scale(domain=["good", "bad"], range=[BLUE, RED]), title=None)
    axes = {"x": alt.X(data.field(_SAMPLED), title=_SAMPLED), "y": alt.Y(data.field(_CHANCE), title=_CHANCE)}
    marked = Data([{_SAMPLED: end} for end in ends])
    rules = alt.Chart(marked.values).mark_rule(strokeDash=[5, 4]).encode(x=alt.X(marked.field(_SAMPLED)))
    return alt.Chart(data.values).mark_bar(size=6).encode(**axes, color=colours, tooltip=data.tips()) + rules


def _lines(title: str, said: str, found: Mapping[str, Points], x: str, y: str) -> Picture:
    rows = [{"for": name, x: a, y: b} for name, points in found.items() for a, b in points]
    return Picture(title, said, rows, partial(_chart, rows, list(found), x, y))


def _chart(rows: Rows, names: Sequence[str], x: str, y: str) -> Any:
    alt, data = altair(), Data(rows)
    up = {"format": ".0e"} if y == "1 / delta" else {}
    scale = logarithmic(alt.Y, data.field(y), y, [row[y] for row in rows], **up)
    return curves(data, names, "for", {"x": alt.X(data.field(x), title=x), "y": scale})


def main(
    charts: Annotated[Path | None, typer.Option(help="A folder for the pictures, as SVG.")] = None,
) -> None:
    """Print the numbers of the four figures, and draw them."""
    with duckdb.connect() as con:
        sqlpriv.load(con)
        found = pictures(con)
    for name, picture in found.items():
        screen.print(f"{picture.title}. {picture.description}", highlight=False)
        table = Table(*picture.numbers.headings)
        for row in picture.numbers.rows:
            table.add_row(*(f"{cell:.4g}" if isinstance(cell, float) else str(cell) for cell in row))
        screen.print(table)
        if charts is not None:
            charts.mkdir(parents=True, exist_ok=True)
            screen.print(f"drawn into {draw(picture, charts / f'{name}.svg').name}", highlight=False)


if __name__ == "__main__":
    typer.run(main)
