"""The seam holds: a whole method in one class, which everything else works on without knowing it.

The method publishes how often each value of one column occurs, rounded to a multiple of a base. It protects nobody.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb
import pytest
from support.policies import write_policy

import sqlpriv
from sqlpriv import publishing
from sqlpriv.attacks.run import run_attacks
from sqlpriv.attacks.target import AttackOptions, Inputs
from sqlpriv.checks.verdict import Evidence
from sqlpriv.comparison.facts import comparison_facts
from sqlpriv.comparison.run import CompareOptions, compare_methods
from sqlpriv.core.engine import fetch
from sqlpriv.core.errors import InputError, ReleaseError
from sqlpriv.core.facts import Facts, Line
from sqlpriv.core.sqltext import literal, quoted
from sqlpriv.methods import METHODS
from sqlpriv.methods.method import Edition, Made, Method, Plan, Request, Written
from sqlpriv.policy.file import Policy
from sqlpriv.policy.keys import Fail, Key, number
from sqlpriv.publishing import dry_run
from sqlpriv.release.file import (
    SCHEMA,
    WRITTEN,
    ReleaseFile,
    open_file,
    written,
)
from sqlpriv.release.layout import Contents, Layout, NumberNames, Stored
from sqlpriv.release.ledger.show import show_ledger
from sqlpriv.release.read import describe
from sqlpriv.release.show import Wording
from sqlpriv.release.verify import Check
from sqlpriv.release.write import write_description, write_table
from sqlpriv.reports.html import render
from sqlpriv.reports.pages import report_policy, report_release
from sqlpriv.rewrite.release import Release
from sqlpriv.table.source import Source

pytestmark = [pytest.mark.one_version, pytest.mark.usefixtures("rounded_counts")]

ATTRIBUTES = {"position": "INTEGER", "name": "VARCHAR", "type": "VARCHAR", "size": "INTEGER", "role": "VARCHAR"}
DOMAIN_WEIGHTS = {"power": "INTEGER", **dict.fromkeys(("weight", "variance", "skew"), "DOUBLE")}


class RoundedPolicy(Policy):
    """One column is published, and the others are dropped."""

    @property
    def column(self) -> str:
        return self.named("published")[0]

    @property
    def base(self) -> int:
        return int(self.release["base"])

    def check(self, fail: Fail) -> None:
        if len(self.named("published")) != 1:
            raise fail("one column is published, and no other", "columns")


@dataclass(frozen=True)
class RoundedPlan(Plan[RoundedPolicy]):
    """The values with their rounded counts."""

    counts: Mapping[str, int]

    def seed_parameters(self) -> dict[str, object]:
        return {"column": self.policy.column, "base": self.policy.base}

    def facts(self, written: Written | None = None) -> Facts:
        where = None if written is None else str(written.output)
        content = {"method": self.policy.method, "values": len(self.counts), "output": where}
        return Facts(f"{len(self.counts)} counts", content, (Line(f"rounded to {self.policy.base}"),))


class RoundedCounts(Method[RoundedPolicy, RoundedPlan]):
    """Counts of the values of one column, rounded to a base."""

    name = "rounded_counts"
    policy = RoundedPolicy
    roles = {"published": (), "drop": ()}  # noqa: RUF012
    options = (Key("base", number(0, 1000, whole=True), "what counts are rounded to", required=True),)
    sections = ()
    against = "nothing"

    def plan(self, source: Source, policy: RoundedPolicy, request: Request) -> RoundedPlan:
        self.refuse_queries(request)
        value = f"CAST({quoted(policy.column)} AS VARCHAR)"
        counted = f"SELECT {value}, count(*) FROM {source.table} WHERE {value} IS NOT NULL GROUP BY ALL ORDER BY ALL"
        found = {str(value): policy.base * round(n / policy.base) for value, n in fetch(source.con, counted)}
        return RoundedPlan(policy, source, found)

    def write(self, plan: RoundedPlan, edition: Edition, path: Path, request: Request) -> Made:
        con, column = plan.source.con, plan.policy.column
        rows = [(literal(value), str(count)) for value, count in plan.counts.items()]
        with written(con, path):
            listed = ", ".join(f"({value}, {count})" for value, count in rows)
            values = f"(VALUES {listed}) AS v(value, n)"
            weights = f"n::DOUBLE AS __weight, {plan.policy.base**2 / 12}::DOUBLE AS __variance, 0::DOUBLE AS __skew"
            fetch(
                con,
                f"CREATE TABLE {WRITTEN}.{SCHEMA}.published AS SELECT value AS {quoted(column)}, {weights} "
                f"FROM {values}",
            )
            domain = quoted(WRITTEN, "domain", column)
            fetch(con, f"CREATE TABLE {domain} AS SELECT value, NULL::DOUBLE AS share FROM {values}")
            attributes = (ATTRIBUTES, [(0, column, "VARCHAR", len(rows), "published")])
            about = {"method": self.name, "table": plan.policy.table.name}
            write_description(con, about, plan.policy.reasons, {"base": plan.policy.base}, attributes)
            write_table(con, "domain_weights", DOMAIN_WEIGHTS, [(0, 0.0, 0.0, 0.0)])
        return Made(len(rows), len(rows))

    def layout_of(self, file: ReleaseFile) -> Layout:
        return Layout(
            ATTRIBUTES,
            numbers=NumberNames(frozenset({"base"})),
            tables={"domain_weights": DOMAIN_WEIGHTS},
        )

    def contents(self, file: ReleaseFile) -> Contents:
        (column,) = (str(row["name"]) for row in file.attributes)
        weights = dict.fromkeys(("__weight", "__variance", "__skew"), "DOUBLE")
        rows = Stored(SCHEMA, "published", {column: "VARCHAR", **weights})
        return Contents((rows,), (Stored("domain", column, {"value": "VARCHAR", "share": "DOUBLE"}),))

    def wording(self, file: ReleaseFile) -> Wording:
        return Wording("Nothing is guaranteed.")

    def verify(self, file: ReleaseFile, policy: RoundedPolicy | None = None) -> Iterator[Check]:
        odd = f"SELECT count(*) FROM {file.table('published')} WHERE __weight % {file.parameters['base']} <> 0"
        yield Check("every count is a multiple of the base", not fetch(file.con, odd)[0][0])

    def evidence(self, file: ReleaseFile, policy: Policy | None = None) -> Iterable[Evidence]:
        return ()  # its rows are counts, and no rows of people

    def open(self, files: Sequence[ReleaseFile]) -> Release:
        return describe([self.only(files)])


def test_a_method_is_at_most_150_lines() -> None:
    made = [inspect.getsource(part).splitlines() for part in (RoundedPolicy, RoundedPlan, RoundedCounts)]
    assert sum(map(len, made)) <= 150


POLICY = """
[table]
source = "people.csv"
[columns]
town = { role = "published" }
age = { role = "drop" }
[release]
method = "rounded_counts"
base = 5
output = "out.duckdb"
"""
PEOPLE = "town,age\n" + "".join(f"{'Bath' if i % 3 else 'Ayr'},{i}\n" for i in range(38))


@pytest.fixture
def rounded_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    assert isinstance(METHODS, dict)
    monkeypatch.setitem(METHODS, RoundedCounts.name, RoundedCounts())


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return write_policy(tmp_path, POLICY, files={"people.csv": PEOPLE})


@pytest.fixture
def release(path: Path, tmp_path: Path) -> Path:
    return publishing.publish(path, ledger_file=tmp_path / "ledger").written.output


def test_it_is_planned_and_published_once(path: Path, tmp_path: Path) -> None:
    assert publishing.plan(path).passed
    assert dry_run(publishing.read_policy(path), ledger_file=tmp_path / "ledger").passed
    first = publishing.publish(path, ledger_file=tmp_path / "ledger")
    again = publishing.publish(path, ledger_file=tmp_path / "ledger")
    assert (first.written.again, again.written.again) == (False, True)
    with pytest.raises(InputError, match="no random noise"):
        publishing.plan(path, queries=["SELECT count(*) FROM people"])


def test_it_is_verified_and_shown(path: Path, release: Path) -> None:
    assert publishing.verify(release, path).passed
    shown = publishing.show(release)
    assert shown.content["parameters"] == {"base": 5.0}
    assert "town" in str(shown)
    with duckdb.connect(str(release)) as con:
        con.execute("UPDATE sqlpriv_release.published SET __weight = 26 WHERE town = 'Bath'").fetchall()
    failed = {c["check"] for c in publishing.verify(release).content["checks"] if c["passed"] is False}
    assert failed == {"every count is a multiple of the base", "the published rows are those of the digest"}


def test_it_answers_queries_and_keeps_views(release: Path) -> None:
    sqlpriv.add_view(release, "towns", "SELECT town, count(*) AS n FROM people GROUP BY town")
    assert publishing.verify(release).passed
    with publishing.open_release(release) as opened:
        assert opened.sql("SELECT count(*) AS n FROM people WHERE town = 'Bath'").fetchall()[0][0] == 25
    with pytest.raises(ReleaseError, match="no further views"):
        publishing.open_release(release, release)


@pytest.mark.slow
def test_it_is_compared(path: Path) -> None:
    policy = publishing.read_policy(path)
    done = compare_methods(policy, (RoundedCounts.name, "mondrian"), CompareOptions())
    row, refused = done.rows
    assert row.measured is not None
    assert row.measured.p90_error is not None
    assert row.measured.p90_error <= 5
    assert row.posterior is None, "nothing is known of beliefs, so nothing is claimed"
    assert refused.refused is not None
    assert comparison_facts(done).content["methods"][0]["against"] == "nothing"


@pytest.mark.parametrize("with_policy", [True, False])
def test_it_is_attacked(path: Path, release: Path, with_policy: bool) -> None:
    policy = publishing.read_policy(path) if with_policy else None
    facts = run_attacks(Inputs(release, policy=policy), AttackOptions()).facts()
    assert facts.content["method"] == RoundedCounts.name
    whys = {each["attack"]: each["why"] for each in facts.content["not_run"]}
    assert "no column is sensitive" in whys["homogeneity"]
    assert "not retraced" in whys["minimality"]


def test_it_is_reported(path: Path, release: Path) -> None:
    for page in (report_release(release), report_policy(publishing.read_policy(path), release)):
        assert page.passed
        assert RoundedCounts.name in render(page)


def test_the_ledger_knows_it(path: Path, release: Path, tmp_path: Path) -> None:
    (entry,) = show_ledger(publishing.read_policy(path), tmp_path / "ledger").content
    assert (entry["method"], entry["output"]) == (RoundedCounts.name, release.name)
    (tmp_path / "policy.toml").write_text(POLICY.replace("base = 5", "base = 7"), encoding="utf-8")
    with pytest.raises(ReleaseError, match="released"):
        publishing.publish(path, tmp_path / "other.duckdb", ledger_file=tmp_path / "ledger")
    with open_file(release) as file:
        assert file.parameters == {"base": 5.0}
