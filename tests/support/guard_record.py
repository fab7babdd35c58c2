"""What the guard records of one policy: published relations, what every command tells, and answers.

Everything runs in the process of the caller, which should be a fresh one (guard.py starts one for each policy): the
sources of chance are replaced before sqlpriv is loaded.
"""

from __future__ import annotations

import datetime
import hashlib
import io
import json
import math
import os
import random
import re
import secrets
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from itertools import groupby
from pathlib import Path
from typing import Any

import duckdb

from tests.support import guard_policies as given
from tests.support.guard_policies import Policy

Json = Any
FIXTURES = Path(__file__).resolve().parents[1] / "fixtures"
DESCRIBED = frozenset({"about", "attributes", "parameters", "views"})
"""Tables of a release that say what it is; all others hold what is published, or what answers are made from."""
KEY = b"a key for the guard, not a secret"
MOST_ROWS = 24
"""Of a longer answer so many rows are kept, and of the others their number and sums."""
VARYING = frozenset({"seconds", "publish_seconds", "ask_seconds", "bytes", "place"})
"""Keys of times, of sizes of files, and of hashes of where the private table is."""
_TOKEN = "feed"
_BRANCHES = re.compile("[│├└─]")
"""What trees and tables are drawn with."""
_TOKENS = re.compile(rf"{_TOKEN}[0-9a-f]{{4,60}}")
_TIME = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?([+-]\d\d(:\d\d)?|Z)?")
_SECONDS = re.compile(r"\b\d+(\.\d+)? (seconds|second|s|ms)\b")


def fix_chance() -> None:
    """Keys and names that would be random are the same in every run; to be called before sqlpriv is loaded.

    `os.urandom` always gives the same bytes, so that it does not matter how often and in which order it is asked. Names
    must differ from each other: they are numbered, with a mark by which they are found in what is recorded.
    """
    numbers = iter(range(1, 1 << 40))

    def urandom(size: int) -> bytes:
        return hashlib.shake_256(b"the guard").digest(size)

    def token_hex(size: int | None = None) -> str:
        digits = 2 * (size or 32) - len(_TOKEN)
        return f"{_TOKEN}{next(numbers):0{digits}x}"

    os.urandom = urandom
    secrets.token_hex = token_hex
    random.seed(0)


class Recorder:
    """Records in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        os.environ.update(
            XDG_DATA_HOME=str(folder / "data"), SQLPRIV_LEDGER=str(folder / "ledger.db"), SQLPRIV_REPORT="0",
            COLUMNS="120", NO_COLOR="1", TERM="dumb",
        )  # fmt: skip
        from sqlpriv.version import __version__

        # A name of the folder that ends in another is replaced first.
        today = datetime.datetime.now(datetime.timezone.utc).date()
        days = [(today + datetime.timedelta(days=d)).isoformat() for d in (-1, 0, 1)]
        self._plain = [
            *((name, "<folder>") for name in sorted({str(folder), str(folder.resolve())}, key=len, reverse=True)),
            *((day, "<today>") for day in days),
        ]
        version = re.escape(__version__)
        self._version = re.compile(rf"(?<![\d.]){version}(?![\d.]*\d)|{re.escape(duckdb.__version__)}(?!\d)")

    # --- the files beside the policy

    def write(self, policy: Policy) -> None:
        """The private database, the public tables, the key and the policy."""
        self.make_table(policy.table)
        (self.folder / "queries.sql").write_text(given.WORKLOAD, encoding="utf-8")
        (self.folder / "key").write_bytes(KEY)
        (self.folder / "policy.toml").write_text(policy.text(), encoding="utf-8")

    def make_table(self, table: str) -> None:
        """A private database with this table, and files of the public ones."""
        (self.folder / "private.duckdb").unlink(missing_ok=True)
        with duckdb.connect(str(self.folder / "private.duckdb")) as con:
            con.execute(given.TABLES[table]).fetchall()
            if table == "people":
                pairs = "SELECT sex, ill FROM (SELECT unnest(['F', 'M', 'X']) AS sex), kinds "
                con.execute(
                    f"COPY ({pairs} WHERE sex <> 'X' OR ill <> 'ill 7' ORDER BY ALL) "
                    f"TO '{self.folder / 'pairs.csv'}' (HEADER)"
                ).fetchall()
            for name, query in given.PUBLIC_TABLES[table].items():
                con.execute(f"COPY ({query}) TO '{self.folder / given.file_of(name)}' (FORMAT parquet)").fetchall()

    def change(self, sql: str) -> None:
        """Change the private table."""
        if sql:
            with duckdb.connect(str(self.folder / "private.duckdb")) as con:
                con.execute(sql).fetchall()

    # --- commands

    def run(self, *arguments: str) -> dict[str, Json]:
        """Run a command: its exit code, what it printed, as JSON if it is some, and what it complained of."""
        code, out, err = _run(self.folder, arguments)
        found: dict[str, Json] = {"exit": code}
        if out.strip():
            try:
                found["json"] = self.normal(json.loads(out))
            except ValueError:
                lines = (" ".join(_BRANCHES.sub("", line).split()) for line in out.splitlines())
                found["text"] = self.normal([line for line in lines if line])
        if err.strip():
            found["said"] = self.normal(" ".join(err.split()))
        return found

    def normal(self, value: Json) -> Json:
        """Without what changes by nature: places, days, versions, times and random names; floats to 12 digits."""
        if isinstance(value, dict):
            return {
                self._text(str(k)): f"<{k}>" if k in VARYING and v is not None else self.normal(v)
                for k, v in value.items()
            }
        if isinstance(value, (list, tuple)):
            return [self.normal(v) for v in value]
        if isinstance(value, bool) or value is None or isinstance(value, int):
            return value
        if isinstance(value, float):
            return rounded(value)
        return self._text(str(value))

    def _text(self, text: str) -> str:
        for old, new in self._plain:
            text = text.replace(old, new)
        text = _TIME.sub(lambda m: "<time>" if "<today>" in m[0] else m[0], text)
        text = re.sub(r"<today>[T ]\d\d:\d\d:\d\d(\.\d+)?([+-]\d\d(:\d\d)?|Z)?", "<time>", text)
        text = _TOKENS.sub("<token>", text)
        text = _SECONDS.sub("<seconds>", text)
        return self._version.sub("<version>", text)

    # --- relations

    def relations(self, path: Path, source: str) -> dict[str, Json]:
        """Every table of a release: those that are published by digests, those that describe it in full, and views.

        The view that shows the published rows under the name of the private table, `source`, counts as published.
        """
        published: dict[str, Json] = {}
        described: dict[str, Json] = {}
        views: dict[str, Json] = {}
        with duckdb.connect(str(path), read_only=True) as con:
            listed = con.execute(
                "SELECT schema_name, table_name, false FROM duckdb_tables() UNION ALL "
                "SELECT schema_name, view_name, true FROM duckdb_views() WHERE NOT internal ORDER BY ALL"
            ).fetchall()
            for schema, table, is_view in listed:
                name, relation = f"{schema}.{table}", f"{_quoted(schema)}.{_quoted(table)}"
                if schema == "sqlpriv_release" and table in DESCRIBED:
                    described[name] = self.normal(_rows(con, relation))
                elif is_view and table != source:
                    views[name] = self.normal(answer_of(con.sql(f"FROM {relation}"), ordered=False))
                else:
                    published[name] = _digests(con, relation)
        return {"relations": published, "described": described, "views": views}

    # --- answers

    def answers(self, paths: Sequence[Path], policy: Policy, queries: Sequence[tuple[str, str, Json]]) -> Json:
        """What queries (name, SQL, parameters) find: rows, or the refusal's text."""
        import sqlpriv

        public = {} if policy.public else {n: self.folder / given.file_of(n) for n in given.PUBLIC_TABLES[policy.table]}
        found: dict[str, Json] = {}
        try:
            opened = sqlpriv.open_release(*paths, public=public)
        except sqlpriv.SqlprivError as refused:
            return {"": {"refused": self.normal(str(refused))}}
        with opened as release:
            for name, sql, parameters in queries:
                try:
                    answer = release.sql(sql, parameters=parameters) if parameters is not None else release.sql(sql)
                    found[name] = self.normal(answer_of(answer, "ORDER BY" in sql.rpartition(")")[2].upper()))
                except (sqlpriv.SqlprivError, duckdb.Error) as refused:
                    found[name] = {"refused": self.normal(str(refused)), "kind": type(refused).__name__}
        return found


def _run(folder: Path, arguments: Sequence[str]) -> tuple[int, str, str]:
    """The command line in this process."""
    from sqlpriv.apps.cli.main import main

    out, err, before = io.StringIO(), io.StringIO(), (sys.argv, sys.stdin, os.getcwd())
    sys.argv, sys.stdin = ["sqlpriv", *arguments], io.StringIO("")
    os.chdir(folder)
    try:
        with redirect_stdout(out), redirect_stderr(err):
            try:
                main()
                code = 0
            except SystemExit as stopped:
                code = int(stopped.code or 0)
    finally:
        sys.argv, sys.stdin = before[:2]
        os.chdir(before[2])
    return code, out.getvalue(), err.getvalue()


def rounded(value: float) -> Json:
    """A number to 12 digits; what JSON has no word for as text."""
    return float(f"{value:.12g}") if math.isfinite(value) else f"<{value}>"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _digests(con: duckdb.DuckDBPyConnection, source: str) -> dict[str, Json]:
    """Rows, columns with their types, and digests of all rows and of each column, whatever the order of rows."""
    columns = [(str(r[0]), str(r[1])) for r in con.execute(f"DESCRIBE FROM {source}").fetchall()]
    cells = [
        f"format('{{:.12g}}', {_quoted(name)})" if kind in {"DOUBLE", "FLOAT"} else f"CAST({_quoted(name)} AS VARCHAR)"
        for name, kind in columns
    ]
    rows = [tuple("\0" if c is None else str(c) for c in row) for row in _fetch(con, cells, source)]
    return {
        "rows": len(rows),
        "digest": _sha("\n".join(sorted("\x1f".join(row) for row in rows))),
        "columns": {
            name: f"{kind} {_sha(chr(10).join(sorted(row[place] for row in rows)))[:16]}"
            for place, (name, kind) in enumerate(columns)
        },
    }


def _fetch(con: duckdb.DuckDBPyConnection, cells: Sequence[str], source: str) -> list[tuple[Any, ...]]:
    return con.execute(f"SELECT {', '.join(cells)} FROM {source}").fetchall()


def _sha(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _rows(con: duckdb.DuckDBPyConnection, source: str) -> Json:
    """A small table in full: of two columns name and value by name, JSON in cells as what it says."""
    found = con.execute(f"FROM {source}")
    names = [d[0] for d in found.description or []]
    rows = [[_opened(plain(v)) for v in row] for row in found.fetchall()]
    if names == ["name", "value"]:
        return {str(name): value for name, value in rows}
    return {"columns": names, "rows": sorted(rows, key=repr)}


def _opened(value: Json) -> Json:
    if isinstance(value, str) and value[:1] in {"{", "["}:
        try:
            return json.loads(value)
        except ValueError:
            return value
    return value


def plain(value: Any) -> Json:
    """A value of DuckDB as one of JSON."""
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return rounded(value)
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if isinstance(value, dict):
        return {str(k): plain(v) for k, v in value.items()}
    return f"{type(value).__name__} {value}"


def answer_of(relation: Any, ordered: bool) -> dict[str, Json]:
    """The columns and rows of an answer; of a long one the first rows, and sums and digests of all."""
    columns = [f"{name} {kind}" for name, kind in zip(relation.columns, relation.types, strict=True)]
    rows = [[plain(v) for v in row] for row in relation.fetchall()]
    rows = _ties_sorted(rows) if ordered else sorted(rows, key=_order)
    if len(rows) <= MOST_ROWS:
        return {"columns": columns, "rows": rows}
    return {
        "columns": columns,
        "count": len(rows),
        "all": [_summary([row[place] for row in rows]) for place in range(len(columns))],
        "rows": rows[: MOST_ROWS // 3],
    }


def _order(row: Sequence[Json]) -> tuple[list[str], list[str]]:
    """Rows in the order of all that is no estimate, then of estimates to few digits."""
    exact = [repr(v) for v in row if not isinstance(v, float)]
    return exact, [f"{v:.5g}" for v in row if isinstance(v, float)]


def _ties_sorted(rows: Sequence[list[Json]]) -> list[list[Json]]:
    """Rows in their order, but for neighbours with the same estimates: which comes first may hang on a last bit."""
    ties = groupby(rows, key=lambda row: [f"{v:.9g}" for v in row if isinstance(v, float)] or object())
    return [row for _, tied in ties for row in sorted(tied, key=_order)]


def _summary(values: Sequence[Json]) -> Json:
    """Sums of what is above and below 0, which one sum might hide; of other values a digest, whatever their order."""
    numbers = [float(v) for v in values if isinstance(v, (int, float)) and not isinstance(v, bool)]
    others = sorted(repr(v) for v in values if not isinstance(v, (int, float)) or isinstance(v, bool))
    found: list[Json] = []
    if numbers:
        found += [rounded(math.fsum(v for v in numbers if v > 0)), rounded(math.fsum(v for v in numbers if v < 0))]
    if others:
        found.append(f"{len(others)} {_sha(chr(10).join(others))[:16]}")
    return found


# --- corpora ------------------------------------------------------------------------------------


def corpus(name: str) -> list[tuple[str, str, Json]]:
    """The queries of a folder of fixtures: a name, SQL, and parameters."""
    found = [query for file in sorted((FIXTURES / name).glob("*.sql")) for query in _READERS[name](file)]
    return [(named, sql, parameters) for named, sql, parameters in found if not _OF_TODAY.search(sql)]


def _rewrite(file: Path) -> Iterator[tuple[str, str, Json]]:
    for number, text in enumerate(file.read_text(encoding="utf-8").split(";\n")):
        if text.strip():
            yield f"{file.stem}-{number}", text.strip().replace("«", "").replace("»", ""), None


_CASE = re.compile(r"-- (?P<name>\w+)\n(?:-- parameters: (?P<parameters>.*)\n)?(?P<query>(?:(?!-- refused: ).+\n?)+)")


def _cases(file: Path) -> Iterator[tuple[str, str, Json]]:
    for case in re.split(r"\n\n+", file.read_text(encoding="utf-8").strip()):
        found = _CASE.match(case + "\n")
        assert found, case
        parameters = json.loads(found["parameters"]) if found["parameters"] else None
        yield f"{file.stem}-{found['name']}", found["query"].strip(), parameters


_OF_TODAY = re.compile(r"\b(now\(\)|current_(date|timestamp))", re.IGNORECASE)
"""What is answered differently on another day."""
_READERS: dict[str, Callable[[Path], Iterator[tuple[str, str, Json]]]] = {
    "rewrite": _rewrite,
    "bi": _cases,
    "refuse": _cases,
}


# --- a policy -----------------------------------------------------------------------------------


@contextmanager
def recorder() -> Iterator[Recorder]:
    """In a folder that is removed."""
    fix_chance()
    with tempfile.TemporaryDirectory(prefix="guard-") as folder:
        yield Recorder(Path(folder))


def record_policy(policy: Policy) -> dict[str, Json]:
    """All that is recorded of a policy."""
    with recorder() as on:
        on.write(policy)
        commands: dict[str, Json] = {}
        found: dict[str, Json] = {}
        outputs: list[str] = []
        for number, change in enumerate(policy.changes, 1):
            on.change(change)
            several = len(policy.changes) > 1
            mark = f" {number}" if several else ""
            output = f"view{number}.duckdb" if several else given.OUTPUT
            outputs.append(output)
            _record_release(on, policy, output, mark, commands)
            if (on.folder / output).exists():
                for section, tables in on.relations(on.folder / output, policy.source).items():
                    found.setdefault(section, {}).update({f"{name}{mark}": t for name, t in tables.items()})
        _record_extra(on, policy, outputs[-1], commands)
        asked = [(sql, sql, None) for sql in given.SELECTIONS[policy.table]]
        asked += [query for name in policy.corpora for query in corpus(name)]
        paths = [on.folder / output for output in outputs]
        answers = {"last": on.answers(paths[-1:], policy, asked)}
        if len(paths) > 1:
            answers["together"] = on.answers(paths, policy, asked)
        return {**found, "commands": commands, "answers": answers}


def _record_release(on: Recorder, policy: Policy, output: str, mark: str, commands: dict[str, Json]) -> None:
    commands[f"plan{mark}"] = on.run("plan", "policy.toml", "--json")
    key = ("--key-file", "key") if policy.kind in given.KEYED else ()
    keyed = (*key, "--output", output, "--no-report", "--json")
    commands[f"dry-run{mark}"] = on.run("publish", "policy.toml", "--dry-run", *keyed)
    commands[f"publish{mark}"] = on.run("publish", "policy.toml", *policy.publish, *keyed)
    if not mark:
        commands["again"] = on.run("publish", "policy.toml", *policy.publish, *keyed)
    commands[f"show{mark}"] = on.run("show", output, "--json")
    commands[f"verify{mark}"] = on.run("verify", output, "--policy", "policy.toml", "--json")
    if not mark:
        commands["verify alone"] = on.run("verify", output, "--json")
    commands[f"attack{mark}"] = on.run("attack", output, "--policy", "policy.toml", "--worlds", "10", "--json")
    if commands[f"attack{mark}"]["exit"]:  # not every release can be attacked beside its private table
        commands[f"attack alone{mark}"] = on.run("attack", output, "--worlds", "10", "--json")
    commands[f"ledger{mark}"] = on.run("ledger", "policy.toml", "--json")


def _record_extra(on: Recorder, policy: Policy, output: str, commands: dict[str, Json]) -> None:
    if "report" in policy.commands:
        commands["report"] = on.run("report", output, "--policy", "policy.toml", "-o", "page.html", "--json")
        if (on.folder / "page.html").exists():
            commands["report"]["page"] = on.normal(page_text((on.folder / "page.html").read_text(encoding="utf-8")))
    if "query" in policy.commands:
        question = "SELECT age, count(*) AS n FROM people GROUP BY age ORDER BY age"
        for name, options in {
            "query": ("--json",),
            "query no intervals": ("--no-intervals", "--json"),
            "query confidence": ("--confidence", "0.8", "--nonnegative", "--json"),
            "query csv": ("--csv", "-"),
            "query for people": ("--most", "5"),
        }.items():
            commands[name] = on.run("query", output, question, *options)
        extremes = "SELECT min(age) AS lo, max(age) AS hi FROM people"
        commands["query extremes"] = on.run("query", output, extremes, "--domain-extremes", "--json")
        view = "SELECT nationality, count(*) AS n FROM people GROUP BY nationality"
        commands["view add"] = on.run("view", "add", output, "by_nation", view, "--json")
        commands["view verify"] = on.run("verify", output, "--json")
        commands["view show"] = on.run("show", output, "--json")
        commands["view drop"] = on.run("view", "drop", output, "by_nation", "--json")


_HIDDEN = re.compile(r"<(script|style|svg)\b.*?</\1>", re.DOTALL)
_TABLE = re.compile(r"<table\b.*?</table>", re.DOTALL)
_FILE_DIGEST = re.compile(r"\b[0-9a-f]{64}\b")
MOST_OF_A_TABLE = 40
"""Longer tables of a page stand beside charts of a lattice, whose nodes `lattice` tells; ties there fall either way."""


def page_text(html: str) -> list[str]:
    """The words of a page, line by line; of long tables their length, and no digests of files, which hold a date."""
    text = re.sub(r"<[^>]*>", "\n", _TABLE.sub(_table, _HIDDEN.sub("", html)))
    return [_FILE_DIGEST.sub("<digest>", " ".join(line.split())) for line in text.splitlines() if line.strip()]


def _table(found: re.Match[str]) -> str:
    rows = found[0].count("<tr")
    return found[0] if rows <= MOST_OF_A_TABLE else f"\n(a table of {rows} rows)\n"


# --- what is recorded once ------------------------------------------------------------------------


def record_table_commands() -> dict[str, Json]:
    """Commands that need no release: check, lattice, hierarchies, init, risk, docs, sql, install."""
    with recorder() as on:
        lattice = next(p for p in given.POLICIES if p.name == "generalize-persons")
        on.write(lattice)
        commands: dict[str, Json] = {}
        source = ("people", "--database", "private.duckdb")
        check = ("check", *source, "--qi", "age,zip,sex", "--sensitive", "ill")
        commands["check"] = on.run(*check, "--json")
        commands["check persons"] = on.run(
            *check, "--or-qi", "age,born", "--person", "pid", "--require", "k>=2", "--require", "t<=0.9", "--json"
        )
        commands["lattice"] = on.run("lattice", "policy.toml", "--json")
        commands["lattice minimal"] = on.run("lattice", "policy.toml", "--minimal", "--json")
        for column in ("age", "zip", "sex"):
            commands[f"hierarchy {column}"] = on.run("hierarchy", "show", column)
        commands["hierarchy save"] = on.run("hierarchy", "save", "trees.duckdb")
        with duckdb.connect(str(on.folder / "trees.duckdb"), read_only=True) as con:
            names = [r[0] for r in con.execute("SELECT table_name FROM duckdb_tables() ORDER BY ALL").fetchall()]
            saved = {name: _digests(con, _quoted(name)) for name in names}
        commands["attack table"] = on.run("attack", *source, "--qi", "age,zip,sex", "--sensitive", "ill", "--json")
        commands["docs"] = on.run("docs")
        for macro in ("t_closeness", "k_anonymity", "disclosure_risk"):
            commands[f"docs {macro}"] = on.run("docs", macro)
        sql = "FROM priv.k_anonymity('people', ['age', 'sex'])"
        for dialect in ("duckdb", "postgres"):
            commands[f"sql {dialect}"] = on.run("sql", sql, "--dialect", dialect, "--database", "private.duckdb")
        commands["install"] = on.run("install", "macros.duckdb")
        on.make_table("club")
        weighed = ("risk", *source, "--weights", "age=0.5,city=0.3,sex=0.1", "--hierarchy", "age=ranges:5,20")
        commands["risk"] = on.run(*weighed, "--json")
        commands["risk dictionaries"] = on.run(
            *weighed, "--dictionary", "residents=0.4", "--dictionary", "members=0.6", "--json"
        )
        commands["risk dictionary"] = on.run(
            *weighed, "--dictionary", "residents", "--form", "multiplicative", "--psi", "0.2", "--json"
        )
        (on.folder / "policy.toml").write_text(
            next(p for p in given.POLICIES if p.name == "disclose-worst").text(), encoding="utf-8"
        )
        commands["risk policy"] = on.run("risk", "--policy", "policy.toml", "--json")
        commands["risk policy members"] = on.run("risk", "--policy", "policy.toml", "--dictionary", "members", "--json")
        return {"relations": saved, "commands": commands}


def record_init() -> dict[str, Json]:
    """`init` for each method: what it tells, and the policy that it writes."""
    with recorder() as on:
        on.make_table("people")
        commands: dict[str, Json] = {}
        for method in (None, *given.METHODS):
            chosen = ("--method", method) if method else ()
            options = ("init", "people", "--database", "private.duckdb", *chosen, "-o", "new.toml", "--force", "--json")
            name = f"init {method or 'proposed'}"
            commands[name] = on.run(*options)
            if (on.folder / "new.toml").exists():
                text = (on.folder / "new.toml").read_text(encoding="utf-8")
                commands[name]["policy"] = on.normal([line for line in text.splitlines() if line.strip()])
        return {"commands": commands}


def record_refused() -> dict[str, Json]:
    """What is said of policies that cannot be published, and of a second release of a table."""
    commands: dict[str, Json] = {}
    with recorder() as on:
        for policy in given.REFUSED:
            on.write(policy)
            commands[f"plan {policy.name}"] = on.run("plan", "policy.toml", "--json")
            key = ("--key-file", "key") if policy.kind in given.KEYED else ()
            commands[f"publish {policy.name}"] = on.run("publish", "policy.toml", *key, "--json")
        first = next(p for p in given.POLICIES if p.name == "generalize-keep")
        on.write(first)
        commands["first"] = on.run("publish", "policy.toml", "--output", "first.duckdb", "--json")
        (on.folder / "first.toml").write_text(first.text(), encoding="utf-8")
        second = next(p for p in given.POLICIES if p.name == "mondrian-data")
        (on.folder / "policy.toml").write_text(second.text(), encoding="utf-8")
        commands["second"] = on.run("publish", "policy.toml", "--output", "second.duckdb", "--json")
        coexisting = second.text().replace("[release]", '[release]\ncoexists_because = "nobody is real"')
        (on.folder / "policy.toml").write_text(coexisting, encoding="utf-8")
        commands["second coexists_because"] = on.run("publish", "policy.toml", "--output", "second.duckdb", "--json")
        commands["ledger"] = on.run("ledger", "policy.toml", "--json")
        commands["attack both"] = on.run(
            "attack",
            "first.duckdb",
            "second.duckdb",
            "--policy",
            "first.toml",
            "--second-policy",
            "policy.toml",
            "--worlds",
            "10",
            "--json",
        )
        commands["wrong method"] = on.run("verify", "first.duckdb", "--policy", "policy.toml", "--json")
        commands["no release"] = on.run("show", "private.duckdb", "--json")
        commands["no option"] = on.run("publish", "policy.toml", "--jsn")
    return {"commands": commands}


def record_compare() -> dict[str, Json]:
    """`compare` of all methods on one policy."""
    with recorder() as on:
        on.write(given.COMPARED)
        (on.folder / "queries.sql").write_text(WORKLOAD, encoding="utf-8")
        asked = ("compare", "policy.toml", "--workload", "queries.sql", "--key-file", "key", "--json")
        commands = {
            "compare": on.run(*asked, "--methods", given.TUNED),
            "compare no tune": on.run(*asked, "--no-tune", "--methods", given.UNTUNED),
        }
        return {"commands": commands}


WORKLOAD = """SELECT count(*) FROM people WHERE age < 24;
SELECT count(*) FROM people WHERE sex = 'F' AND age BETWEEN 22 AND 26;
SELECT ill, count(*) FROM people GROUP BY ill;
SELECT nationality, count(*) FROM people GROUP BY nationality;
"""
ONCE: dict[str, Callable[[], dict[str, Json]]] = {
    "once-table": record_table_commands,
    "once-init": record_init,
    "once-refused": record_refused,
    "once-compare": record_compare,
}
"""What is recorded beside the policies."""


def names() -> list[str]:
    """Everything that is recorded."""
    return [*ONCE, *(policy.name for policy in given.POLICIES)]


def record(name: str) -> dict[str, Json]:
    """What is recorded under a name; in a fresh process."""
    if name in ONCE:
        return ONCE[name]()
    return record_policy(next(p for p in given.POLICIES if p.name == name))
