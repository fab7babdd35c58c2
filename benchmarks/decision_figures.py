"""Figures 7a, 7b and 9c of the decision-theoretic paper: `python -m benchmarks.decision_figures` (see --help).

Section 7.2 is done again with names of our own making, since the paper's items are not public: people with surname,
first name, street, job, town and birth year, of whom some are disclosed with typing errors. An entry of the dictionary
is consistent with a record if names, street and job are similar by 0.8 (Jaro), and if of town and year one is above
the other. Weights are drawn by lot. A record can have a utility of 10: a step for each text, three for town and year.

    7a  the least risk with a utility of at least c, by c and by the size of the dictionary, in both forms
    7b  k-anonymity rules drawn by lot, ten for each k, against the best rule with the same mean utility
    9c  risk and utility of rules drawn by lot for the members of section 8, and their correlation (the paper has 0.858)

7a and 7b are of one run. The people who are disclosed stand in each dictionary, so that Proposition 1 orders the risks.
The exit code says whether the findings of the paper hold.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import duckdb
import typer
from rich.console import Console
from rich.table import Table

import sqlpriv
from benchmarks import disclose, linkage
from sqlpriv.display.charts import Picture, draw, risk_by_entries_picture
from sqlpriv.display.charts.marks import COLOURS, SHAPES, Data, Rows, altair, styled

Con = duckdb.DuckDBPyConnection
Item = Mapping[str, Any]
PARTS, MOST_C, RULES, FORMS = 10, 10, 10, ("linear", "multiplicative")
K = (1, 2, 5, 10, 20, 50, 100)
LEAST_CORRELATION = 0.6

# Of the dictionaries, each is contained in the next, and the people who are disclosed stand in all of them.
TABLES = """
ALTER TABLE people ADD COLUMN street VARCHAR; ALTER TABLE people ADD COLUMN job VARCHAR;
ALTER TABLE people ADD COLUMN town VARCHAR; ALTER TABLE people ADD COLUMN part INTEGER;
UPDATE people SET street = syllable(drawn(id, 20, 60)) || syllable(drawn(id, 21, 40)) || syllable(drawn(id, 22, 10)),
  job = syllable(drawn(id, 23, 12)) || syllable(drawn(id, 24, 4)) || 'er', town = concat('town ', drawn(id, 25, 48));
UPDATE people SET part = o.part FROM (SELECT p.id, CAST((row_number() OVER (
    ORDER BY p.id NOT IN (SELECT truth FROM records), hash(p.id)) - 1) * {parts} // count(*) OVER () AS INTEGER) AS part
  FROM people AS p) AS o WHERE people.id = o.id;
CREATE TABLE disclosed AS SELECT r.truth AS id, r.surname, r.first_name,
  CASE WHEN drawn(r.truth, 26, 2) = 0 THEN p.street
    ELSE mistyped(p.street, drawn(r.truth, 27, 4), 1 + drawn(r.truth, 28, 4), 'x') END AS street, p.job, p.town, r.born
  FROM records AS r JOIN people AS p ON r.truth = p.id ORDER BY ALL;
CREATE TABLE towns AS SELECT concat('town ', t) AS town, concat('county ', t // 4) AS county,
  concat('region ', t // 16) AS region, '*' AS top FROM range(48) AS r(t);
CREATE TABLE years AS SELECT y AS year, concat(y // 10, '0s') AS decade, concat('from ', y // 20 * 20) AS era,
  '*' AS top FROM range(1930, 2005) AS r(y);
"""
TEXTS, TREES = ("surname", "first_name", "street", "job"), {"town": "towns", "born": "years"}
MEMBERS, HEIGHTS = [{**own, "entry": own.get("entry")} for own in disclose.WEIGHTS], (4, 2, 3, 4)

screen = Console(width=110)


def weights_by_lot(seed: int) -> list[Item]:
    """The attributes of section 7.2, with weights drawn uniformly."""
    chance = random.Random(seed)
    texts = [{"attribute": name, "similarity": "0.8", "hierarchy": None} for name in TEXTS]
    trees = [{"attribute": name, "similarity": None, "hierarchy": tree} for name, tree in TREES.items()]
    return [{**own, "entry": own["attribute"], "weight": str(round(chance.random(), 3))} for own in texts + trees]


def create_people(con: Con, records: int, people: int) -> None:
    """The people, those who are disclosed, and the hierarchies."""
    sqlpriv.load(con)
    con.execute(linkage.TABLES.format(records=records, people=people) + TABLES.format(parts=PARTS)).fetchall()


def figure_7a(con: Con, weights: Sequence[Item], parts: Sequence[int] = range(1, PARTS + 1)) -> list[dict[str, Any]]:
    """The least risk with a utility of at least c, for each c, part of the dictionary, and form."""
    found = []
    for part in parts:
        con.execute(f"CREATE OR REPLACE TABLE part AS FROM people WHERE part < {part}").fetchall()
        [(entries,)] = con.execute("SELECT count(*) FROM part").fetchall()
        for form in FORMS:
            _offer(con, "part", weights, form)
            best = con.execute(
                "SELECT c, avg(loss) FROM (SELECT c, record, min(loss) AS loss FROM offered, "
                f"range({MOST_C} + 1) AS r(c) WHERE utility >= c GROUP BY ALL) GROUP BY c ORDER BY c"
            ).fetchall()
            found += [{"form": form, "c": c, "entries": entries, "risk": risk} for c, risk in best]
    return found


def figure_7b(con: Con, weights: Sequence[Item], form: str = "multiplicative") -> list[dict[str, Any]]:
    """For each k the mean risk and utility of k-anonymity rules, and the least risk with that mean utility.

    A rule discloses of each record, by lot, one of the choices that at least k of the disclosed records fit (10).
    """
    _offer(con, "people", weights, form)
    _list_choices(con, "disclosed", weights)
    _price(con, "disclosed", weights, form, "in_table")
    _price(con, "people", weights, form, "in_people")
    found = []
    [(records,)] = con.execute("SELECT count(*) FROM disclosed").fetchall()
    for k in (k for k in K if k <= records):
        [(risk, utility)] = con.execute(
            f"""SELECT avg(drawn['loss']), avg(drawn['utility']) FROM (
              SELECT rule, id, arg_min({{'loss': p.loss, 'utility': p.utility}}, hash(rule, id, choice)) AS drawn
              FROM in_table AS t JOIN in_people AS p USING (id, choice), range({RULES}) AS r(rule)
              WHERE t.entries >= {k} GROUP BY rule, id)"""
        ).fetchall()
        [(best, gap)] = con.execute(
            f"SELECT avg(loss), max(gap) FROM priv.average_disclosure('offered', 'risk', {utility!r})"
        ).fetchall()
        found.append({"k": k, "utility": utility, "risk": risk, "best": best, "gap": gap})
    return found


def figure_9c(con: Con, members: int, people: int, rules: int) -> tuple[list[dict[str, Any]], float]:
    """Risk and utility of rules drawn by lot, and their correlation.

    A rule draws how much it may disclose of each attribute, and then for each record how much it does.
    """
    sqlpriv.load(con)
    con.execute(disclose.TABLES.format(members=members, people=people, inside=members * 4 // 5)).fetchall()
    _list_choices(con, "members", MEMBERS)
    _price(con, "people", MEMBERS, "multiplicative", "in_people")
    kept = " AND ".join(
        f"depths[{place}] = hash(rule, id, {place}) % (1 + hash(rule, {place}) % {height + 1})"
        for place, height in enumerate(HEIGHTS, start=1)
    )
    con.execute(
        "CREATE OR REPLACE TABLE ruled AS SELECT rule, avg(loss) AS risk, avg(utility) AS utility "
        f"FROM in_people, range({rules}) AS r(rule) WHERE {kept} GROUP BY rule"
    ).fetchall()
    [(correlation,)] = con.execute("SELECT corr(risk, utility) FROM ruled").fetchall()
    rows = con.execute("SELECT risk, utility FROM ruled ORDER BY risk, utility").fetchall()
    return [{"risk": risk, "utility": utility} for risk, utility in rows], float(correlation)


def _offer(con: Con, dictionary: str, weights: Sequence[Item], form: str) -> None:
    """`offered`: for each record and utility the least loss."""
    con.execute(
        "CREATE OR REPLACE TABLE offered AS SELECT record.id AS record, 1 AS copies, loss, utility FROM "
        f"priv.disclosure_offers('disclosed', '{dictionary}', {_listed(weights)}, '{form}', 0, 'bayes')"
    ).fetchall()


def _list_choices(con: Con, table: str, weights: Sequence[Item]) -> None:
    """`told`: each record with all that could be disclosed of it; depths are the steps below the tops."""
    labels, joins, depths = [], [], []
    for place, own in enumerate(weights):
        name, tree = own["attribute"], own.get("hierarchy")
        ladder = f"[CAST(t.{name} AS VARCHAR), '*']"
        if tree:
            columns = [column for column, *_ in con.execute(f"DESCRIBE {tree}").fetchall()]
            ladder = f"[{', '.join(f'CAST(h{place}.{column} AS VARCHAR)' for column in columns)}]"
            joins.append(
                f"JOIN {tree} AS h{place} ON CAST(t.{name} AS VARCHAR) = CAST(h{place}.{columns[0]} AS VARCHAR)"
            )
        joins.append(f"CROSS JOIN LATERAL (SELECT unnest(range(1, len({ladder}) + 1)) AS i) AS i{place}")
        labels.append(f"({ladder})[i{place}.i] AS {name}")
        depths.append(f"len({ladder}) - i{place}.i")
    con.execute(
        f"CREATE OR REPLACE TABLE told AS SELECT t.id, [{', '.join(depths)}] AS depths, {', '.join(labels)} "
        f"FROM {table} AS t {' '.join(joins)}"
    ).fetchall()


def _price(con: Con, dictionary: str, weights: Sequence[Item], form: str, name: str) -> None:
    """A table of all choices with entries, loss and utility against a dictionary, by the macros for one table."""
    priced = [{key: own.get(key) for key in ("attribute", "weight", "hierarchy")} for own in weights]
    links = [
        {"record": own["attribute"], **{key: own.get(key) for key in ("entry", "hierarchy", "similarity")}}
        for own in weights
        if own["entry"]
    ]
    con.execute(
        "CREATE OR REPLACE TABLE weighed AS SELECT record.*, sensitivity FROM "
        f"priv.sensitivity('told', {_listed(priced)}, '{form}')"
    ).fetchall()
    risks = f"priv.disclosure_risk_records('weighed', '{dictionary}', {_listed(links)}, 'sensitivity', 0, -1)"
    con.execute(
        f"CREATE OR REPLACE TABLE {name} AS SELECT record.id AS id, CAST(record.depths AS VARCHAR) AS choice, "
        f"record.depths AS depths, entries, loss, list_sum(record.depths) AS utility FROM {risks}"
    ).fetchall()


def _listed(items: Sequence[Item]) -> str:
    """A list of maps, as the macros take it."""
    maps = (", ".join(f"'{key}': '{value}'" for key, value in own.items() if value is not None) for own in items)
    return f"[{', '.join(f'MAP {{{own}}}' for own in maps)}]"


# -------------------- what is shown


def main(
    records: Annotated[int, typer.Option(help="Records to disclose (7a, 7b), about")] = 300,
    people: Annotated[int, typer.Option(help="People of the whole table (7a, 7b)")] = 4_000,
    members: Annotated[int, typer.Option(help="Members to disclose (9c)")] = 200,
    census: Annotated[int, typer.Option(help="People of the dictionary (9c)")] = 20_000,
    rules: Annotated[int, typer.Option(help="Rules drawn by lot (9c)")] = 200,
    seed: Annotated[int, typer.Option(help="Of the weights")] = 1,
    charts: Annotated[Path | None, typer.Option(help="A folder for the pictures")] = None,
) -> None:
    """Compute the figures, print them, and draw them where a folder is named."""
    weights = weights_by_lot(seed)
    screen.print("weights: " + ", ".join(f"{own['attribute']} {own['weight']}" for own in weights))
    with duckdb.connect() as con:
        create_people(con, records, people)
        by_size, by_k = figure_7a(con, weights), figure_7b(con, weights)
    with duckdb.connect() as con:
        points, correlation = figure_9c(con, members, census, rules)
    _print(by_size, by_k, correlation, len(points))
    if charts is not None:
        charts.mkdir(exist_ok=True)
        for form in FORMS:
            curves = [{**row, "curve": f"c = {row['c']}"} for row in by_size if row["form"] == form]
            draw(risk_by_entries_picture(curves), charts / f"decision-figure-7a-{form}.svg")
        draw(_rules_picture(by_k), charts / "decision-figure-7b.svg")
        draw(_lot_picture(points, correlation), charts / "decision-figure-9c.svg")
    if problems := faults(by_size, by_k, correlation):
        sys.exit("; ".join(problems))


def faults(by_size: Rows, by_k: Rows, correlation: float) -> list[str]:
    """What the paper finds and these figures do not show."""
    risk = {(row["form"], row["c"], row["entries"]): row["risk"] for row in by_size}
    sizes = sorted({row["entries"] for row in by_size})
    less = 1 + 1e-12
    found = {
        "a larger dictionary finds more": any(
            risk[form, c, large] > risk[form, c, small] * less
            for form, c, small in risk
            for large in sizes
            if large > small
        ),
        "a larger c is less risky": any(
            c and risk[form, c - 1, size] > risk[form, c, size] * less for form, c, size in risk
        ),
        "the linear form is riskier": any(
            form == "linear" and own > risk["multiplicative", c, size] for (form, c, size), own in risk.items()
        ),
        "a k-anonymity rule beats the best one": any(row["risk"] * less < row["best"] - row["gap"] for row in by_k),
        f"the correlation of 9c is below {LEAST_CORRELATION}": correlation < LEAST_CORRELATION,
    }
    return [name for name, is_so in found.items() if is_so]


def _print(by_size: Rows, by_k: Rows, correlation: float, rules: int) -> None:
    sizes = sorted({row["entries"] for row in by_size})
    for form in FORMS:
        table = Table(title=f"7a: the least risk with a utility of at least c, {form} form, by entries")
        for name in ("c", *(f"{size:,}" for size in sizes)):
            table.add_column(name, justify="right")
        for c in range(MOST_C + 1):
            own = {row["entries"]: row["risk"] for row in by_size if (row["form"], row["c"]) == (form, c)}
            table.add_row(str(c), *(f"{own[size]:.2g}" for size in sizes))
        screen.print(table)
    table = Table(title="7b: k-anonymity rules by lot, and the best rule with the same mean utility")
    for name in ("k", "utility", "risk", "best risk", "difference", "gap"):
        table.add_column(name, justify="right")
    for row in by_k:
        figures = (row["utility"], row["risk"], row["best"], row["risk"] - row["best"], row["gap"])
        table.add_row(str(row["k"]), *(f"{figure:.3g}" for figure in figures))
    screen.print(table)
    screen.print(f"9c: the correlation of risk and utility of {rules} rules by lot is {correlation:.3f}")


_KINDS = ("k-anonymity rules by lot", "the best rule with their utility")
_RISK, _UTILITY = "risk: mean loss of a record", "utility: mean steps below the tops"


def _rules_picture(rows: Rows) -> Picture:
    """Figure 7b: for each k two points, at the same utility."""
    points = [
        {"k": row["k"], "utility": row["utility"], "risk": row[key], "kind": kind}
        for row in rows
        for key, kind in zip(("risk", "best"), _KINDS, strict=True)
    ]
    said = "Each k-anonymity point is the mean of ten rules; the best rule has no less utility."
    looks = {kind: (COLOURS[place], SHAPES[place]) for place, kind in enumerate(_KINDS)}
    return Picture("Figure 7b", said, points, partial(_scatter, points, looks))


def _lot_picture(rows: Rows, correlation: float) -> Picture:
    """Figure 9c: a point for each rule."""
    points = [{**row, "kind": "a rule drawn by lot"} for row in rows]
    said = f"Each point is a rule drawn by lot. The correlation of risk and utility is {correlation:.3f}."
    return Picture(
        "Figure 9c", said, points, partial(_scatter, points, {"a rule drawn by lot": (COLOURS[0], SHAPES[0])})
    )


def _scatter(points: Rows, looks: Mapping[str, tuple[str, str]]) -> Any:
    alt, data = altair(), Data(points)
    axes = {
        "x": alt.X(data.field("utility"), title=_UTILITY),
        "y": alt.Y(data.field("risk"), title=_RISK),
        **styled(data.field("kind"), looks, len(looks)),
    }
    return alt.Chart(data.values).mark_point(filled=True, size=50, opacity=1).encode(**axes)


if __name__ == "__main__":
    typer.run(main)
