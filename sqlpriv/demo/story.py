"""`sqlpriv demo`: the whole story on a generated hospital, one screen a step.

Check the table (it fails), write the best generalized release, and verify it from its file (it holds). Then publish a
randomized one with its guarantee, compare three answers with the truth, and say what to type next. All of it goes
through the same calls as the commands that it prints, with a ledger of its own in the demo's folder.
"""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.rule import Rule

from sqlpriv import publishing
from sqlpriv.apps.python import check, publish
from sqlpriv.core.engine import open_memory
from sqlpriv.core.errors import UnsupportedSQLError
from sqlpriv.core.facts import Facts, Grid, Line
from sqlpriv.core.sqltext import literal
from sqlpriv.demo import hospital
from sqlpriv.display.progress import progress
from sqlpriv.display.terminal import show

GENERALIZE = """\
# The best generalization under k-anonymity and l-diversity.
[table]
source = "hospital.parquet"
[columns]
patient_id     = { role = "person" }
zip            = { role = "quasi-identifier", hierarchy = "mask:5" }
birth_date     = { role = "quasi-identifier", hierarchy = "dates:year,decade" }
sex            = { role = "quasi-identifier", hierarchy = "suppression", domain = ["F", "M", "X"] }
nationality    = { role = "drop" }
admission_date = { role = "drop" }
diagnosis      = { role = "sensitive", domain = "table:hospital_diagnosis.parquet.diagnosis", null = true }
length_of_stay = { role = "drop" }
[require]
k = 5
distinct_l = { diagnosis = 3 }
[release]
method = "generalize"
suppression = 0.02
output = "hospital-release.duckdb"
"""
NOISE = """\
# Rows among noise. Whoever knows everything of a person but the diagnosis, one of 33, and believes in one of them with
# up to twice the odds of chance, shall not believe in it with more than gamma afterwards.
[table]
source = "hospital.parquet"
[columns]
patient_id     = { role = "identifier" }
zip            = { role = "drop" }
birth_date     = { role = "drop" }
sex            = { role = "quasi-identifier", domain = ["F", "M", "X"] }
nationality    = { role = "drop" }
admission_date = { role = "drop" }
diagnosis      = { role = "sensitive", domain = "table:hospital_diagnosis.parquet.diagnosis", null = true }
length_of_stay = { role = "quasi-identifier", domain = "range:1..90", outside = "drop" }
[public]
chapters = "hospital_diagnosis.parquet"
[views]
by_diagnosis = "SELECT diagnosis, count(*) AS n, avg(length_of_stay) AS stay FROM hospital GROUP BY diagnosis"
[release]
method = "noisy_counts"
gamma = 0.3
n_public = 24000
output = "hospital-noise.duckdb"
coexists_because = "a demonstration on people who do not exist; of a real table publish one of the two"
"""
QUESTIONS = (
    "SELECT sex, count(*) AS n FROM hospital WHERE diagnosis = 'Pneumonia' GROUP BY sex ORDER BY sex",
    "SELECT avg(length_of_stay) AS stay FROM hospital WHERE diagnosis = 'Pneumonia'",
    "SELECT chapter, count(*) AS n FROM hospital JOIN chapters USING (diagnosis) GROUP BY chapter ORDER BY chapter",
)
ASKED = {"hospital-release.duckdb": {"chapters": "hospital_diagnosis.parquet"}, "hospital-noise.duckdb": {}}
"""The releases that answer questions, each with the public tables that it does not bring along."""


def demo_command(
    folder: Annotated[
        Path | None,
        typer.Option(help="Where to keep the files; else they go to a temporary folder, which is named."),
    ] = None,
    only_table: Annotated[
        bool,
        typer.Option("--only-table", help="Write the hospital table and two policies for it, and publish nothing."),
    ] = False,
) -> None:
    """Walk through all steps on a generated hospital table."""
    target = folder or Path(tempfile.mkdtemp(prefix="sqlpriv-demo-"))
    target.mkdir(parents=True, exist_ok=True)
    if only_table:
        print(f"The hospital table is {_write(target).admissions}; generalize.toml and noise.toml are policies for it")
    else:
        tell(Console(highlight=False), target)


def tell(console: Console, folder: Path) -> None:
    """All steps, one after the other."""
    for title, command, step in (
        ("1. A hospital, and whether it may go out", _CHECK, _check),
        ("2. The best generalization", "sqlpriv publish generalize.toml", _generalize),
        ("3. What the file holds", "sqlpriv verify hospital-release.duckdb", _verify),
        ("4. Rows among noise", "sqlpriv publish noise.toml", _publish),
        ("5. Three questions", 'sqlpriv query RELEASE "SELECT ..."', _ask),
        ("6. What to type next", "", _next),
    ):
        console.print(Rule(title, align="left"))
        if command:
            console.print(f"$ {command}\n", soft_wrap=True, style="bold")
        show(console, step(folder))
        console.print()


_CHECK = (
    "sqlpriv check hospital.parquet --qi zip,sex --sensitive diagnosis --person patient_id "
    "--require 'k>=5' --require 'distinct_l>=3'"
)


def _write(folder: Path) -> hospital.HospitalFiles:
    """The table and the two policies."""
    files = hospital.write(folder)
    (folder / "generalize.toml").write_text(GENERALIZE, encoding="utf-8")
    (folder / "noise.toml").write_text(NOISE, encoding="utf-8")
    return files


def _check(folder: Path) -> Facts:
    files = _write(folder)
    with progress("checking") as on_progress:
        found = check(
            files.admissions,
            ["zip", "sex"],
            "diagnosis",
            person="patient_id",
            require=["k>=5", "distinct_l>=3"],
            on_progress=on_progress,
        )
    said = (
        Line("It must not go out as it is: zip and sex alone leave people in classes of their own."),
        Line("(The command prints every model; here are a few of them.)", quiet=True),
    )
    return replace(found, parts=(*(_fewer(part) for part in found.parts), *said))


def _fewer(part: Line | Grid) -> Line | Grid:
    """Of the report a few models: a step is one screen."""
    if isinstance(part, Line):
        return part
    chosen = {"k_anonymity", "l_diversity (distinct)", "t_closeness", "risk (prosecutor)", "risk (uniques)"}
    return replace(part, rows=tuple(row for row in part.rows if row[0] in chosen))


def _generalize(folder: Path) -> Facts:
    return _published(folder, "generalize.toml")


def _verify(folder: Path) -> Facts:
    return publishing.verify(folder / "hospital-release.duckdb", folder / "generalize.toml")


def _publish(folder: Path) -> Facts:
    """Of the guarantee its first two sentences: what a steward can say aloud. `sqlpriv show` prints all of it."""
    found = _published(folder, "noise.toml")
    promise, *rest = (part.text for part in found.parts if isinstance(part, Line))
    spoken = ". ".join(promise.split(". ")[:2]).rstrip(".") + "."
    more = Line("sqlpriv show hospital-noise.duckdb prints all that is promised, and what is not.", quiet=True)
    return replace(found, parts=(Line(spoken), *(Line(text) for text in rest), more))


def _published(folder: Path, policy: str) -> Facts:
    with progress("publishing") as on_progress:
        return publish(folder / policy, ledger_file=folder / "demo-ledger.db", on_progress=on_progress)


def _ask(folder: Path) -> Facts:
    """Answers with their bounds, and the truth that only the owner can know; the same questions to every release."""
    parts: list[Line | Grid] = []
    with open_memory() as con:
        for name, file in (("hospital", "hospital"), ("chapters", "hospital_diagnosis")):
            path = literal(str(folder / f"{file}.parquet"))
            con.execute(f"CREATE VIEW {name} AS FROM {path}").fetchall()
        for question in QUESTIONS:
            truth = con.execute(question).fetchall()
            parts.append(Line(question))
            parts += [_answer(folder, file, question, truth) for file in ASKED]
    return Facts(
        "Estimates with bounds: certain without noise; with noise they hold the truth in 95 of 100 releases",
        {},
        tuple(parts),
    )


def _answer(folder: Path, file: str, question: str, truth: list[Any]) -> Line | Grid:
    """What one release says, and the truth; or that it cannot say it."""
    public = {name: folder / source for name, source in ASKED[file].items()}
    with publishing.open_release(folder / file, public=public) as release:
        try:
            answer = release.sql(question)
        except UnsupportedSQLError as refused:
            return Line(f"{file}: {refused}", "refused")
        rows = tuple(
            (*(_shown(v) for v in estimated), _shown(true[-1]))
            for estimated, true in zip(answer.fetchall(), truth, strict=True)
        )
        return Grid((*answer.columns, "truth"), rows, title=file)


def _shown(value: Any) -> Any:
    return f"{value:,.1f}" if isinstance(value, float) else value


def _next(folder: Path) -> Facts:
    files = (
        ("hospital.parquet", "the private table: 24,000 admissions, generated"),
        ("generalize.toml, noise.toml", "the two policies: read them"),
        ("hospital-release.duckdb", "the generalized release: open it with any DuckDB"),
        ("hospital-noise.duckdb", "the randomized release: ask it with sqlpriv query, or read its views"),
        ("demo-ledger.db", "what was released from the table; it stays with its owner"),
    )
    commands = (
        ("check your own table", "sqlpriv check FILE --qi a,b --sensitive s --require 'k>=5'"),
        ("propose a policy for it", "sqlpriv init FILE"),
        ("see what a policy costs", "sqlpriv plan policy.toml"),
        ("estimates in any DuckDB", "ATTACH 'hospital-noise.duckdb' AS h; FROM h.by_diagnosis"),
        ("checks in any DuckDB", "sqlpriv install my.duckdb, then FROM priv.report('t', ['a', 'b'], 's')"),
        ("read about a check", "sqlpriv docs t_closeness"),
    )
    return Facts(f"The files are in {folder}", {}, (Grid((), files), Grid((), commands)))
