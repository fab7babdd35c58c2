"""The main job: report on a table and judge it against requirements.

`check` runs priv.report once for all combinations and takes from it what the requirements ask; only a requirement with
parameters of its own runs its macro. Without a sensitive column, the measures that need none are computed from the
sizes of the classes. The result holds numbers and names of columns; values of quasi-identifiers are part of it only on
request.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from sqlpriv.checks.exposure import PublishedRows
from sqlpriv.checks.measures import MEASURES, SIZE, K
from sqlpriv.checks.requirements import Requirement
from sqlpriv.checks.verdict import Verdict, judge
from sqlpriv.core.engine import fetch
from sqlpriv.core.errors import InputError
from sqlpriv.core.facts import Facts, Grid, Line, OnProgress, Part, shown_number
from sqlpriv.core.relation import Relation, Scratch
from sqlpriv.core.sqltext import folded, literal, quoted, rows_of
from sqlpriv.macros.catalog import inlined
from sqlpriv.macros.expand import call_text
from sqlpriv.table.source import Source
from sqlpriv.version import __version__

_NEARLY_UNIQUE = 10
"""Members of a class so small that its values come close to naming people."""


@dataclass(frozen=True)
class Finding:
    """One row of the report."""

    qis: tuple[str, ...]
    sensitive: str | None
    model: str
    parameters: str
    value: float
    meaning: str
    worst_class_size: int


@dataclass(frozen=True)
class Judged:
    """A requirement, judged for one combination of columns."""

    requirement: str
    qis: tuple[str, ...]
    sensitive: str | None
    value: float
    passed: bool


@dataclass(frozen=True)
class WorstClass:
    """A small class: its size, and its values and sensitive counts when they were asked for."""

    qis: tuple[str, ...]
    size: int
    values: dict[str, Any] | None
    sensitive: dict[str, dict[Any, int]] | None


@dataclass(frozen=True)
class CheckResult:
    """All that a check found out."""

    data: str
    rows: int
    person: str | None
    findings: tuple[Finding, ...]
    judged: tuple[Judged, ...]
    worst: tuple[WorstClass, ...]
    verdict: Verdict | None = None
    """Whether the table may go out; asked where nothing is required."""

    @property
    def passed(self) -> bool | None:
        """Whether no requirement failed; None where there is none."""
        return all(j.passed for j in self.judged) if self.judged else None

    def facts(self) -> Facts:
        """The report, the smallest classes and the verdicts; as data never a value of a class."""
        content = {
            "version": __version__,
            "data": self.data,
            "rows": self.rows,
            "person": self.person,
            "passed": self.passed,
            "requirements": [asdict(j) for j in self.judged],
            "report": [asdict(f) for f in self.findings],
            "worst_classes": [{"qis": w.qis, "size": w.size} for w in self.worst],
        }
        if self.verdict is not None:
            content["verdict"] = self.verdict.to_json()
        grids = tuple(
            self._grid(qis, sensitive) for qis, sensitive in dict.fromkeys((f.qis, f.sensitive) for f in self.findings)
        )
        counted = f", counted by {self.person}" if self.person else ""
        parts: tuple[Part, ...] = (*grids, *self._smallest(), *(_line(j) for j in self.judged), *self._said())
        return Facts(f"{self.data}: {self.rows:,} rows{counted}", content, parts, passed=self.passed)

    def _said(self) -> tuple[Part, ...]:
        return () if self.verdict is None else self.verdict.parts()

    def _grid(self, qis: tuple[str, ...], sensitive: str | None) -> Grid:
        rows = tuple(
            (_named(f), shown_number(f.value), f"{f.worst_class_size:,}", f.meaning)
            for f in self.findings
            if (f.qis, f.sensitive) == (qis, sensitive)
        )
        return Grid(
            ("model", "value", "class", "what it means"),
            rows,
            f"{', '.join(qis)}{f'  /  {sensitive}' if sensitive else ''}",
            "class: the size of the smallest class that attains the value",
            folded=("model", "what it means"),
        )

    def _smallest(self) -> Iterator[Line]:
        for qis in dict.fromkeys(w.qis for w in self.worst):
            worst = [w for w in self.worst if w.qis == qis]
            yield Line(f"Smallest classes by {', '.join(qis)}: sizes {', '.join(f'{w.size:,}' for w in worst)}")
            for w in worst:
                if w.values is not None:
                    held = "; ".join(f"{c}: {counts}" for c, counts in (w.sensitive or {}).items())
                    yield Line(f"  {w.values}  {held}")
        if self.worst and self.worst[0].values is None:
            yield Line(f"{_whose(min(w.size for w in self.worst))}; --show-values prints them.", quiet=True)


def _named(finding: Finding) -> str:
    """A model as a requirement writes it: posterior(l=3) is negation_diversity (l=3)."""
    return f"{finding.model} ({finding.parameters.replace(' = ', '=')})" if finding.parameters else finding.model


def _whose(smallest: int) -> str:
    """Whose values the smallest classes have: said of nobody of whom it is not true."""
    if smallest == 1:
        return "Some of their values are those of single people"
    if smallest <= _NEARLY_UNIQUE:
        return f"Some of their values are those of no more than {smallest} people"
    return "Their values are not printed"


def _line(judged: Judged) -> Line:
    where = f"{', '.join(judged.qis)}{f' / {judged.sensitive}' if judged.sensitive else ''}"
    text = f"{judged.requirement}  (is {shown_number(judged.value)}; {where})"
    return Line(text, "holds" if judged.passed else "FAILS")


@dataclass(frozen=True)
class Job:
    """What to check: lists of quasi-identifiers, sensitive columns, the person, the requirements."""

    qis: tuple[tuple[str, ...], ...]
    sensitive: tuple[str, ...]
    person: str | None = None
    requirements: tuple[Requirement, ...] = ()
    worst: int = 5
    show_values: bool = False

    @property
    def columns(self) -> list[str]:
        """The columns that are looked at."""
        return [*(name for qis in self.qis for name in qis), *self.sensitive, *filter(None, [self.person])]

    @property
    def read(self) -> list[str] | None:
        """The columns that are read; None for all, at which the verdict looks where nothing is required."""
        return self.columns if self.requirements else None


def check(source: Source, job: Job, on_progress: OnProgress = None) -> CheckResult:
    """Report on the source and judge it."""
    source.refuse_unknown(job.columns)
    for requirement in job.requirements:
        if requirement.measure.needs_sensitive and not job.sensitive:
            raise InputError(f"{requirement.text!r} needs a sensitive column: name it with --sensitive")
    findings = _report(source, job, on_progress) if job.sensitive else []
    worst: list[WorstClass] = []
    for qis in job.qis:
        with source.scratch.nested() as scratch:
            arguments = ", ".join(map(literal, [source.checked, qis, *filter(None, [job.person])]))
            sizes = inlined(f"SELECT class, size, size AS value FROM _sizes({arguments})")
            classes = scratch.table(sizes, "classes", on_progress)
            if not job.sensitive:
                findings += _findings_by_size(classes, qis)
            worst += _worst_classes(source, job, qis, classes)
    judged = [j for r in job.requirements for j in _judge(source, job, r, findings)]
    table, counted = rows_of(source.checked)
    rows = int(fetch(source.con, f"SELECT coalesce({counted}, 0) FROM {table}")[0][0])
    verdict = None
    if not job.requirements:
        each = (table_rows(source, qis, job.sensitive, job.person) for qis in job.qis)
        verdict = judge(evidence for published in each for evidence in published.evidence())
    return CheckResult(source.label, rows, job.person, tuple(findings), tuple(judged), tuple(worst), verdict)


def table_rows(
    source: Source, qis: Sequence[str], sensitive: Sequence[str], person: str | None = None
) -> PublishedRows:
    """A table as it would go out, with all its columns: what is not named counts as known to a neighbour."""
    spelt = {folded(name): name for name in source.columns}
    known, wanted = (tuple(spelt[folded(name)] for name in names) for names in (qis, sensitive))
    named = {*known, *wanted, *(spelt[folded(name)] for name in filter(None, [person]))}
    others = tuple(c for c in source.columns if c not in named)
    return PublishedRows(source.calls, source.checked, known, wanted, others, person)


def _report(source: Source, job: Job, on_progress: OnProgress) -> list[Finding]:
    report = call_text("report", source.checked, job.qis, job.sensitive, *filter(None, [job.person]))
    rows = fetch(source.con, f"FROM {report}", on_progress=on_progress)
    return [Finding(tuple(r[0]), *r[1:]) for r in rows]


def _findings_by_size(classes: Relation, qis: tuple[str, ...]) -> list[Finding]:
    """The rows of the report that need no sensitive column, in its words, from the classes with their sizes."""
    reported = [m for m in MEASURES.values() if m.reported is not None and not m.needs_sensitive]
    worst = {m.name: f"{m.direction.worst}({m.formula.format(size='size')})" for m in reported if m.reads == SIZE}
    counts = "count(*) AS classes, sum(size) AS size, count(CASE WHEN size = 1 THEN 1 END) AS uniques"
    summary = ", ".join([counts, *(f"{value} AS {quoted(name)}" for name, value in worst.items())])
    rows = ", ".join(
        f"({place}, {literal(m.macro)}, {literal(m.reported)}, "
        f"CAST({quoted(m.name) if m.name in worst else m.formula} AS DOUBLE))"
        for place, m in enumerate(reported)
    )
    found = fetch(
        classes.con,
        inlined(
            f"WITH __priv_summary AS (SELECT {summary} FROM {classes.name} HAVING _unless_empty(true)) "
            "SELECT m.model, m.parameters, r.value, _meaning(r.value, m.before_value, m.after_value, m.when_infinite), "
            f"s.{quoted(K.name)} FROM __priv_summary AS s, "
            f"LATERAL (VALUES {rows}) AS r(place, model, parameters, value) "
            "JOIN (FROM _models()) AS m ON m.model = r.model AND m.parameters = r.parameters ORDER BY r.place"
        ),
    )
    return [Finding(qis, None, *row) for row in found]


def _judge(source: Source, job: Job, requirement: Requirement, findings: Sequence[Finding]) -> list[Judged]:
    measure = requirement.measure
    sensitive = job.sensitive if measure.needs_sensitive else (job.sensitive[:1] or (None,))
    judged = []
    for qis in job.qis:
        for column in sensitive:
            row = (qis, column, measure.macro, measure.reported)
            reported = [f.value for f in findings if (f.qis, f.sensitive, f.model, f.parameters) == row]
            value = reported[0] if reported else _measured(source, job, requirement, qis, column)
            shown = column if measure.needs_sensitive else None
            judged.append(Judged(requirement.text, qis, shown, value, requirement.holds(value)))
    return judged


def _measured(source: Source, job: Job, requirement: Requirement, qis: tuple[str, ...], sensitive: str | None) -> float:
    """The value, computed by the macro of the measure."""
    measure, arguments = requirement.measure, dict(requirement.arguments)
    with source.scratch.nested() as scratch:
        for argument in measure.arguments:
            if argument.is_table:
                arguments[argument.name] = _table(source, str(arguments[argument.name]), sensitive, scratch)
        called = source.need(measure.macro)
        query = measure.select(called, source.checked, qis, sensitive, arguments, job.person)
        return float(fetch(source.con, query)[0][0])


def _table(source: Source, name: str, sensitive: str | None, scratch: Scratch) -> str:
    """A table that a requirement names: a file, one next to the checked table, or a shape that is made from it."""
    if name in {"uniform", "table"}:
        macro = "uniform_shape" if name == "uniform" else "shape_from_counts"
        rows = f"FROM {source.need(macro)}({literal(source.checked)}, {literal(sensitive)})"
        return scratch.table(rows, "shape").name
    if Path(name).is_file():
        return name
    head, dot, _ = source.table.rpartition(".")
    return f'{head}{dot}"{name}"' if dot else name


def _worst_classes(source: Source, job: Job, qis: tuple[str, ...], classes: Relation) -> list[WorstClass]:
    smallest = inlined(f"FROM _smallest_first({classes.name}, true)")
    rows = fetch(source.con, f"SELECT class, size {smallest} LIMIT {job.worst}")
    return [
        WorstClass(qis, size, values if job.show_values else None,
                   _sensitive_counts(source, job, values) if job.show_values else None)
        for values, size in rows
    ]  # fmt: skip


def _sensitive_counts(source: Source, job: Job, values: dict[str, Any]) -> dict[str, dict[Any, int]]:
    same = " AND ".join(f"{quoted(name)} IS NOT DISTINCT FROM ?" for name in values)
    found: dict[str, dict[Any, int]] = {}
    table, counted = rows_of(source.checked)
    for column in job.sensitive:
        sql = f"SELECT {quoted(column)}, {counted} FROM {table} WHERE {same} GROUP BY 1 ORDER BY 2 DESC, 1"
        found[column] = dict(fetch(source.con, sql, list(values.values())))
    return found
