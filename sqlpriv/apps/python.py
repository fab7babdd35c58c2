"""The commands as Python calls, `sqlpriv.check` and others. Each returns Facts and prints nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb

from sqlpriv import publishing
from sqlpriv.attacks.run import run_attacks
from sqlpriv.attacks.target import WORLDS, AttackedColumns, AttackOptions, Inputs, Knowledge
from sqlpriv.checks import requirements
from sqlpriv.checks.run import Job
from sqlpriv.checks.run import check as run_check
from sqlpriv.comparison.facts import comparison_facts
from sqlpriv.comparison.run import CompareOptions, compare_methods
from sqlpriv.comparison.typical import with_answers
from sqlpriv.core.arguments import checked
from sqlpriv.core.errors import InputError
from sqlpriv.core.facts import Facts, OnProgress
from sqlpriv.display.charts import (
    attacks_picture,
    comparison_picture,
    if_any,
    pictures_of,
    ready,
    uniqueness_picture,
)
from sqlpriv.methods import METHODS
from sqlpriv.methods.method import AnyPlan
from sqlpriv.policy.file import Policy
from sqlpriv.policy.propose_policy import check_target, write_policy
from sqlpriv.publishing.against import with_differences
from sqlpriv.publishing.proposing import propose
from sqlpriv.release.attach import attach as attach_release
from sqlpriv.release.ledger.show import show_ledger
from sqlpriv.rewrite.clauses import BUDGET
from sqlpriv.risk.find import FindOptions, find_people
from sqlpriv.table.source import open_source


@checked
def attach(
    con: duckdb.DuckDBPyConnection,
    release: str | Path,
    *,
    public: Mapping[str, Any] | None = None,
    budget: float = BUDGET,
) -> None:
    """Attach a release to your own connection: `FROM priv.ask('SELECT ...')` then answers there, in any SQL around it.

    `public` names tables that questions may join: files (Parquet, CSV, JSON), data frames or Arrow tables.
    """
    attach_release(con, METHODS, Path(release), public or {}, budget)


@checked
def attack(
    data: Any,
    second: str | Path | None = None,
    *,
    policy: Policy | str | Path | None = None,
    second_policy: Policy | str | Path | None = None,
    qis: str | Sequence[str] = (),
    sensitive: str | Sequence[str] = (),
    person: str | None = None,
    database: str | Path | None = None,
    dictionary: Any = None,
    truth: str | None = None,
    negations: int = 2,
    implications: int = 2,
    worlds: int = WORLDS,
    show_values: bool = False,
    on_progress: OnProgress = None,
) -> Facts:
    """Run what an attacker would on a release or a table, and report it.

    `data` is a release file, or a table as `check` takes it: then `qis` and `sensitive` say what attackers know and
    want, or `policy` does. The policy also names the private table, whose numbers are shown next to those of a release.
    With a `second` release of the same table, the two are intersected; `second_policy` is its policy, where it has
    other hierarchies. `dictionary` is what an attacker holds, a file or a data frame, and `truth` its column that
    identifies persons, if the private table has that column, too.
    """
    read, more = (
        p if p is None or isinstance(p, Policy) else publishing.read_policy(p) for p in (policy, second_policy)
    )
    other, held = (None if path is None else Path(path) for path in (second, database))
    columns = AttackedColumns(_names(qis), _names(sensitive), person)
    options = AttackOptions(Knowledge(negations, implications), truth, worlds, show_values)
    found = run_attacks(Inputs(data, other, read, more, held, columns, dictionary), options, on_progress)
    return replace(found.facts(), pictures=if_any(attacks_picture, found.title, found.found))


@checked
def check(
    data: Any,
    qis: str | Sequence[str] | Sequence[Sequence[str]],
    sensitive: str | Sequence[str] = (),
    *,
    person: str | None = None,
    copies: str | None = None,
    require: str | Sequence[str] = (),
    database: str | Path | None = None,
    read_options: Mapping[str, Any] | None = None,
    worst: int = 5,
    show_values: bool = False,
    on_progress: OnProgress = None,
) -> Facts:
    """Report every privacy model on a table, and judge it against requirements.

    `data` is a file, a folder or pattern of files, with `database` a table of it, or a data frame of pandas or polars,
    an Arrow table or a DuckDB relation. `qis` is one combination of columns, or a list of combinations.
    `read_options` are those of read_csv. `copies` is a column that says how many rows each row stands for.

    >>> import duckdb, sqlpriv
    >>> people = duckdb.sql("FROM (VALUES (13053, 'flu'), (13053, 'cancer')) AS v(zip, disease)")
    >>> found = sqlpriv.check(people, "zip", "disease", require=["k>=2", "distinct_l>=3"])
    >>> [(r["requirement"], r["value"], r["passed"]) for r in found.content["requirements"]]
    [('k>=2', 2.0, True), ('distinct_l>=3', 2.0, False)]
    """
    job = Job(
        qis=_combinations(qis),
        sensitive=_names(sensitive),
        person=person,
        requirements=tuple(requirements.parse(text) for text in _names(require)),
        worst=worst,
        show_values=show_values,
    )
    at = None if database is None else Path(database)
    with open_source(data, at, read_options, job.read, copies=copies) as source:
        return run_check(source, job, on_progress).facts()


@checked
def find(
    data: Any,
    columns: str | Sequence[str] = (),
    *,
    most: int | None = None,
    person: str | None = None,
    fraction: float | None = None,
    database: str | Path | None = None,
    read_options: Mapping[str, Any] | None = None,
    on_progress: OnProgress = None,
) -> Facts:
    """Find the columns, and sets of up to `most` columns, that identify people.

    `data` is what `check` takes, and `columns` are those to look at, all if none are named. With `fraction`, the share
    of the population that is in the table, the number of people alone in the population is estimated too.

    >>> import duckdb, sqlpriv
    >>> people = duckdb.sql("SELECT i % 40 AS age, i % 3 AS ward, i % 2 AS sex FROM range(120) AS r(i)")
    >>> found = sqlpriv.find(people)
    >>> [(one["columns"], one["uniques"]) for one in found.content["sets"][:2]]
    [(('age', 'ward'), 120), (('age', 'sex'), 0)]
    """
    held = None if database is None else Path(database)
    options = FindOptions(_names(columns), most, person, fraction)
    found = find_people(data, held, read_options or {}, options, on_progress)
    return replace(found.facts(), pictures=if_any(uniqueness_picture, found))


@checked
def init(
    data: Any,
    output: str | Path = "policy.toml",
    *,
    method: str | None = None,
    database: str | Path | None = None,
    name: str | None = None,
    force: bool = False,
    read_options: Mapping[str, Any] | None = None,
    words: str | Path | None = None,
) -> Facts:
    """Look at a table and write a policy for it, for you to review; without a method one is proposed.

    `data` is what `check` takes; a data frame, an Arrow table or a relation is called `name` in the policy.
    `read_options` are those of read_csv, such as its encoding; the policy then has them, too. `words` is a TOML file of
    more words that names of sensitive columns have. The policy is planned before it is written.

    >>> import duckdb, sqlpriv
    >>> people = duckdb.sql("SELECT 20 + i % 40 AS age, i % 3 = 0 AS ill FROM range(400) AS r(i)")
    >>> proposed = sqlpriv.init(people, "policy.toml", name="people", method="generalize")
    >>> [(column["name"], column["role"]) for column in proposed.content["columns"]]
    [('age', 'quasi-identifier'), ('ill', 'sensitive')]
    """
    target, held = Path(output), None if database is None else Path(database)
    given = str(data) if isinstance(data, Path) else data
    if isinstance(given, str) and name is not None:
        raise InputError("a table of a file or a database has its name already: leave `name` out")
    check_target(target, given, held, force)
    more = None if words is None else Path(words)
    proposed = propose(given, held, target.parent, method, name, read_options, more)
    write_policy(proposed, target)
    return proposed.facts()


@checked
def plan(
    policy: Policy | str | Path,
    *,
    data: Any = None,
    queries: Sequence[str] = (),
    against: str | Path | None = None,
    time_limit: float | None = None,
    on_progress: OnProgress = None,
) -> Facts:
    """What a policy would publish, guarantee and cost; nothing is written.

    `data` is a data frame, an Arrow table or a relation in the place of the table that the policy names. `queries` are
    questions to the release: the standard errors of their answers are reported, for the owner alone. `against` is an
    earlier release, to see what would differ from it.

    >>> import duckdb, sqlpriv
    >>> policy = '''
    ... table   = { source = "people.csv" }
    ... columns = { age = { role = "quasi-identifier", hierarchy = "ranges:10", domain = "range:20..59" } }
    ... require = { k = 5 }
    ... release = { method = "generalize", output = "people.duckdb" }'''
    >>> _ = Path("policy.toml").write_text(policy)
    >>> people = duckdb.sql("SELECT 20 + i % 40 AS age FROM range(80) AS r(i)")
    >>> planned = sqlpriv.plan("policy.toml", data=people)
    >>> planned.content["node"], planned.content["classes"]
    ({'age': 1}, 4)
    """
    read = _policy(policy, data)

    def look(facts: Facts, plan: AnyPlan) -> Facts:
        facts = with_answers(facts, plan)
        return facts if against is None else with_differences(facts, plan, Path(against))

    return publishing.plan(
        read, queries=queries, time_limit=time_limit, on_progress=on_progress, pictures_of=pictures_of, look=look
    )


@checked
def publish(
    policy: Policy | str | Path,
    output: str | Path | None = None,
    *,
    data: Any = None,
    key_file: str | Path | None = None,
    ledger_file: str | Path | None = None,
    force: bool = False,
    time_limit: float | None = None,
    on_progress: OnProgress = None,
) -> Facts:
    """Publish a table under its policy and enter it in the ledger; what was published, for the owner.

    `data` is a data frame, an Arrow table or a relation that replaces the table named by the policy. The release uses
    that name, and the ledger recognises the rows. The same rows, policy and key again give the release that exists.

    >>> import duckdb, sqlpriv
    >>> policy = '''
    ... table   = { source = "people.csv" }
    ... columns = { age = { role = "quasi-identifier", hierarchy = "ranges:10", domain = "range:20..59" } }
    ... require = { k = 5 }
    ... release = { method = "generalize", output = "people.duckdb" }'''
    >>> _ = Path("policy.toml").write_text(policy)
    >>> people = duckdb.sql("SELECT 20 + i % 40 AS age FROM range(80) AS r(i)")
    >>> sqlpriv.publish("policy.toml", data=people).content["rows"]
    80
    >>> with sqlpriv.open_release("people.duckdb") as release:
    ...     release.sql("SELECT count(*) AS n FROM people WHERE age < 25").fetchall()
    [(10.0, 0.0, 20.0)]
    """
    target, key, own_ledger = (None if file is None else Path(file) for file in (output, key_file, ledger_file))
    read = _policy(policy, data)
    return publishing.publish(read, target, key, own_ledger, on_progress, force=force, time_limit=time_limit).facts


@checked
def compare(
    policy: Policy | str | Path,
    workload: str | Path | None = None,
    *,
    methods: str | Sequence[str] = (),
    data: Any = None,
    seed: int = 0,
    key_file: str | Path | None = None,
    time_limit: float | None = None,
    tune: bool = True,
    on_progress: OnProgress = None,
) -> Facts:
    """Compare methods on a workload at the protection of a policy: errors, bounds, protection and cost of each.

    `workload` is a file of questions; without it 500 counts are made up by `seed`. `methods` are a list, or a text
    with commas between them; all, if none is named. Nothing is published: each release is made in a scratch folder,
    asked, and removed, and the ledger does not count it. The result is for the owner alone.
    """
    queries, key = (None if file is None else Path(file) for file in (workload, key_file))
    options = CompareOptions(queries, seed, key, time_limit, tune)
    found = compare_methods(_policy(policy, data), methods, options, on_progress)
    return replace(comparison_facts(found), pictures=if_any(comparison_picture, found.rows))


@checked
def report(
    target: str | Path,
    output: str | Path | None = None,
    *,
    policy: Policy | str | Path | None = None,
    compare: str | Path | None = None,
    workload: str | Path | None = None,
    charts: str | Path | None = None,
    show_values: bool = False,
    on_progress: OnProgress = None,
) -> Facts:
    """Write the page that a steward signs: of a release, of a policy (.toml), or of both; with `compare` of two.

    A page of a release alone shows what its file holds. With the policy it is also about the private table.
    """
    from sqlpriv.reports import html, pages

    path = Path(target)
    page = Path(f"{path.stem}-report.html") if output is None else Path(output)
    html.refuse_target(page)
    folder, questions = (None if given is None else Path(given) for given in (charts, workload))
    if compare is not None:
        if policy is not None or workload is not None or path.suffix == ".toml":
            raise InputError("two releases are compared by their files alone: leave policy and workload out")
        return html.write_page(pages.report_two(path, Path(compare)), page, folder)
    of_policy = path.suffix == ".toml"
    if policy is None and not of_policy:
        if workload is not None or show_values:
            raise InputError("questions and values are of the private table: give the policy of the release, too")
        return html.write_page(pages.report_release(path), page, folder)
    if policy is not None and of_policy:
        raise InputError(f"{path.name} is a policy already; give a release, or leave `policy` out")
    ready()
    read = _policy(path if policy is None else policy, None)
    made = pages.report_policy(read, None if of_policy else path, questions, show_values, on_progress)
    return html.write_page(made, page, folder)


@checked
def evidence(
    release: str | Path,
    output: str | Path | None = None,
    *,
    policy: str | Path | None = None,
    ledger_file: str | Path | None = None,
    on_progress: OnProgress = None,
) -> Facts:
    """Write a folder to file with a release: page, policy, ledger entry, verification, and a record for machines.

    Without `output` it is NAME-evidence next to the release. With the policy it is for the owner alone.
    """
    from sqlpriv.reports.evidence import write_evidence

    folder, read, ledger = (None if given is None else Path(given) for given in (output, policy, ledger_file))
    return write_evidence(Path(release), read, folder, ledger, on_progress)


def _policy(policy: Policy | str | Path, data: Any) -> Policy:
    read = policy if isinstance(policy, Policy) else publishing.read_policy(policy)
    if isinstance(data, (str, Path)):
        raise InputError(
            "a file is named by the policy, in [table]; data is a data frame, an Arrow table or a relation"
        )
    return read.holding(data)


@checked
def ledger(policy: Policy | str | Path | None = None, ledger_file: str | Path | None = None) -> Facts:
    """What has been released from the table of a policy; without one, all that the ledger holds."""
    read = policy if policy is None or isinstance(policy, Policy) else publishing.read_policy(policy)
    return show_ledger(read, None if ledger_file is None else Path(ledger_file))


def _names(given: str | Sequence[str]) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else tuple(given)


def _combinations(qis: str | Sequence[str] | Sequence[Sequence[str]]) -> tuple[tuple[str, ...], ...]:
    """One combination, or several: a list of names is one, a list of lists is several."""
    if isinstance(qis, str):
        return ((qis,),)
    alone = [isinstance(q, str) for q in qis]
    if not alone or (any(alone) and not all(alone)):
        raise InputError("qis is a list of column names, or a list of such lists: write ['zip', 'age']")
    return (_names([str(q) for q in qis]),) if all(alone) else tuple(_names(q) for q in qis)
