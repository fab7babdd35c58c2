"""Table 5 and Figures 2 and 3 of the epsilon-privacy paper, on our ACS table: `python -m benchmarks.epsilon_lattice`.

All 72 generalizations of age (ranges of 5, 10, 20, 40, then *), marital status (a taxonomy), race and sex (suppressed
or not), and the smallest epsilon each needs against each adversary, with salary_class sensitive. The paper's data are
of 2006 and not ours, so the figures are not its figures; its claims are checked on every node (epsilon_claims.py), and
the exit code is 1 where one does not hold.

Where the ranges of age start matters a lot: the last range may hold hardly anybody with a high salary. The paper does
not say where its ranges start. Ours start at 17, the youngest age, so that 17-56 and 57-96 are the two ranges of 40.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from benchmarks.data import acs_file
from benchmarks.epsilon_claims import Adversary, Claim, Figures, adversaries, all_claims
from benchmarks.policies import generalizing
from sqlpriv.display.charts import draw, lattice_picture, stubbornness_picture
from sqlpriv.methods.generalized.generalize.lattice import Curve, all_nodes, lattice_of, stubbornness_curves
from sqlpriv.methods.generalized.generalize.policy import GeneralizePolicy
from sqlpriv.methods.generalized.measures import write_measures
from sqlpriv.methods.generalized.scan import scan_table
from sqlpriv.methods.lattice import Node, NodeRow
from sqlpriv.publishing import open_private

ORIGIN = 17
SIGMAS = (1e2, 1e3, 1e4, 1e5, 1e6, 1e7)
TABLE_5 = (
    Adversary("class1", "uniform", 1e6),
    Adversary("class1", "table", 1e6),
    Adversary("class2", "", 1e3),
    Adversary("class2", "", 1e6),
    Adversary("class3", "uniform"),
    Adversary("class3", "table"),
)
SHOWN_BELOW = 20.0  # a node is a row of Table 5 if some adversary needs less
LIMIT = 2.5  # the epsilon of Figures 2(b), 2(c) and 3
FIGURE_2_NODE = (5, 1, 1, 0)
FIGURE_3 = (Adversary("class3", "uniform"), Adversary("class3", "table"), Adversary("class2", "", 1e6))
AGE = 0  # the place of age in a node

screen = Console()


@dataclass(frozen=True)
class Measured:
    """All nodes with all adversaries, under ranges of age from one origin."""

    origin: int
    nodes: list[NodeRow]
    figures: Figures

    def epsilons(self, node: Node) -> list[float]:
        """A row of Table 5."""
        return [self.figures.epsilon[adversary][node] for adversary in TABLE_5]


# -------------------- measuring


def make_policy(file: Path, origin: int, requirements: str) -> GeneralizePolicy:
    text = f"""
[table]
source = "{file.name}"
[columns]
age = {{ role = "quasi-identifier", hierarchy = "ranges:5,10,20,40@{origin}" }}
marital = {{ role = "quasi-identifier", hierarchy = [
  "CASE marital WHEN 1 THEN 'married' WHEN 5 THEN 'never married' ELSE 'other' END"] }}
race = {{ role = "quasi-identifier", hierarchy = "suppression" }}
sex = {{ role = "quasi-identifier", hierarchy = "suppression" }}
salary_class = {{ role = "sensitive" }}
[require]
{requirements}
[release]
method = "generalize"
"""
    return generalizing(text, file.parent)


def listed(them: list[Adversary] | tuple[Adversary, ...]) -> str:
    return f"epsilon = [{', '.join(a.toml for a in them)}]"


def measure(file: Path, origin: int = ORIGIN) -> Measured:
    """One scan of the table and one evaluation of all 72 nodes."""
    everybody = list(adversaries(SIGMAS))
    diversity = "recursive = { salary_class = { c = 4, l = 2 } }"
    policy = make_policy(file, origin, f"{diversity}\n{listed(everybody)}")
    with open_private(policy) as (source, policy):
        domain = scan_table(source, policy)
        nodes = all_nodes(domain, write_measures(domain))
        (values,) = domain.values
    # The values stand in the order of the policy: (c,2)-diversity first.
    worst = {row.node: [math.inf if w is None else float(w) for w in row.outcome.worst] for row in nodes}
    epsilon = {a: {node: w[i] for node, w in worst.items()} for i, a in enumerate(everybody, 1)}
    shares = {"uniform": 1 / values.kinds, "table": values.least}
    diverse = {node: w[0] for node, w in worst.items()}
    return Measured(origin, nodes, Figures(domain.rows, shares, SIGMAS, epsilon, diverse))


# -------------------- pictures


def draw_figures(file: Path, measured: Measured, folder: Path) -> list[Path]:
    """Figure 2 (a), (b), (c) and Figure 3."""
    folder.mkdir(parents=True, exist_ok=True)
    definitions = f"recursive = {{ salary_class = {{ c = 4, l = 2 }} }}\nt = 0.2\n{listed(FIGURE_3)}"
    policy = make_policy(file, measured.origin, definitions)
    with open_private(policy) as (source, policy):
        domain = scan_table(source, policy)
        curves = stubbornness_curves(domain, FIGURE_2_NODE, "salary_class", [*SIGMAS, math.inf])
        measures = write_measures(domain)
        nodes = all_nodes(domain, measures)
    least = {"discernibility": ("b", "all_squares", 1), "average class size": ("c", "all_classes", -1)}
    pictures = {"figure2a": stubbornness_picture(curves, f"Minimum epsilon of {list(FIGURE_2_NODE)}")}
    for cost, (letter, count, power) in least.items():
        title = f"Least {cost} of a table that is {LIMIT:g}-private"
        scale = 1.0 if power > 0 else float(measured.figures.rows)
        curve = {
            f"class {name}": least_cost(measured, kind, shape, count, power, scale)
            for name, kind, shape in (("I, uniform", "class1", "uniform"), ("I, shape of the table", "class1", "table"),
                                      ("II, any shape", "class2", ""))
        }  # fmt: skip
        pictures[f"figure2{letter}"] = stubbornness_picture(curve, title, f"least {cost}")
    pictures["figure3"] = lattice_picture(lattice_of(domain, measures, nodes))
    return [draw(picture, folder / f"{name}.svg") for name, picture in pictures.items()]


def least_cost(measured: Measured, kind: str, shape: str, count: str, power: int, scale: float) -> Curve:
    """For each sigma the least cost of a node that is private enough; infinite where there is none."""
    curve = []
    for sigma in SIGMAS:
        epsilon = measured.figures.epsilon[Adversary(kind, shape, sigma)]
        costs = [scale * getattr(r.outcome, count) ** power for r in measured.nodes if epsilon[r.node] <= LIMIT]
        curve.append((sigma, float(min(costs, default=math.inf))))
    return curve


# -------------------- printing


def number(value: float) -> str:
    if math.isinf(value):
        return "∞"
    return f"{value:,.3f}" if value < 100 else f"{value:,.0f}"


def table_5(measured: Measured) -> Table:
    table = Table(title=f"Smallest epsilon for privacy against each adversary (ranges of age from {measured.origin})")
    for heading in ("level", "node", *(a.label for a in TABLE_5)):
        table.add_column(heading, justify="right" if heading != "node" else "left")
    level = None
    for row in sorted(measured.nodes, key=lambda row: (-sum(row.node), row.node)):
        epsilons = measured.epsilons(row.node)
        if min(epsilons) < SHOWN_BELOW:
            shown = "" if sum(row.node) == level else str(sum(row.node))
            level = sum(row.node)
            table.add_row(shown, f"\\{list(row.node)}", *map(number, epsilons))
    counts = [sum(e < SHOWN_BELOW for e in measured.figures.epsilon[a].values()) for a in TABLE_5]
    table.add_section()
    table.add_row("", f"nodes below {SHOWN_BELOW:g}", *map(str, counts))
    return table


def origins_table(one: Measured, other: Measured) -> Table:
    """What another origin changes: age alone generalized, and how many nodes stay below 20."""
    table = Table(title=f"Ranges of age from {one.origin} → from {other.origin}")
    for heading in ("node", *(a.label for a in TABLE_5)):
        table.add_column(heading, justify="right" if heading != "node" else "left")
    for level in (4, 3, 2, 1):
        node = (level, 2, 1, 1)
        pairs = zip(one.epsilons(node), other.epsilons(node), strict=True)
        table.add_row(f"\\{list(node)}", *(f"{number(a)} → {number(b)}" for a, b in pairs))
    counts = [[sum(e < SHOWN_BELOW for e in m.figures.epsilon[a].values()) for a in TABLE_5] for m in (one, other)]
    table.add_section()
    table.add_row(f"nodes below {SHOWN_BELOW:g}", *(f"{a} → {b}" for a, b in zip(*counts, strict=True)))
    return table


def show_claims(claims: list[Claim]) -> None:
    for claim in claims:
        verdict = "[bold red]FAILS[/]" if claim.failures else "[green]holds[/]"
        remark = f"; {claim.remark}" if claim.remark else ""
        screen.print(f"{verdict}  {claim.text} ({claim.compared:,} comparisons{remark})", highlight=False)
        for failure in claim.failures[:5]:
            screen.print(f"       {failure}", highlight=False, markup=False)


def main(
    *,
    charts: Annotated[Path | None, typer.Option(help="Draw Figures 2 and 3 into this folder.")] = None,
    origin: Annotated[int, typer.Option(help="Where the ranges of age start.")] = ORIGIN,
    other: Annotated[int, typer.Option(help="Another origin, to show what it changes.")] = 0,
) -> None:
    """Print Table 5 for our data and check the paper's claims; exit 1 if one fails."""
    file = acs_file()
    measured = measure(file, origin)
    screen.print(f"{measured.figures.rows:,} rows, {len(measured.nodes)} nodes \\[age, marital, race, sex]")
    screen.print(table_5(measured))
    screen.print(origins_table(measured, measure(file, other)))
    claims = all_claims(measured.figures)
    show_claims(claims)
    if charts:
        for path in draw_figures(file, measured, charts):
            screen.print(f"drawn: {path.name}")
    raise typer.Exit(1 if any(claim.failures for claim in claims) else 0)


if __name__ == "__main__":
    typer.run(main)
