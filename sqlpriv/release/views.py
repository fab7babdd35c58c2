"""Questions kept in a release as plain SQL views: every DuckDB client reads estimates by a name, without Python.

    sqlpriv_release.views    name, question, confidence
    main.<name>              the question rewritten, over the release's own tables

A view runs with the rights of whoever reads it. So none is believed: what stands in the file must be, letter by letter,
what this version makes of the question that the file declares for it (verify_views.py).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import duckdb
import sqlglot
from sqlglot import TokenType, exp

from sqlpriv.core.engine import attached, fetch, open_memory
from sqlpriv.core.errors import InputError, ReleaseError, SqlprivError, UnsupportedSQLError
from sqlpriv.core.facts import has_control_characters
from sqlpriv.core.sqltext import NUMERIC_TYPE, folded, literal, quoted
from sqlpriv.release.file import SCHEMA, ReleaseFile, open_file
from sqlpriv.release.open import Opens
from sqlpriv.rewrite.clauses import BUDGET, Options
from sqlpriv.rewrite.query import rewrite
from sqlpriv.rewrite.release import Attribute, Release

TABLE = "views"
COLUMNS = {"name": "VARCHAR", "question": "VARCHAR", "confidence": "DOUBLE"}
CONFIDENCE = 0.95
_MOST_GROUPS = 1000
"""Of a view by one column; a longer list is nothing that people read."""
_MOST_PAIRS = 400
"""Groups of a view by two columns."""
_MOST_CATEGORIES = 100
"""Groups by which numbers are summed up."""
_MOST_VIEWS = 60


@dataclass(frozen=True)
class View:
    """A question with the name under which its answer is read."""

    name: str
    question: str
    confidence: float = CONFIDENCE

    def statement(self, catalog: str, sql: str) -> str:
        """The statement that makes it."""
        return f"CREATE VIEW {quoted(catalog, 'main', self.name)} AS {sql}"


def declared_views(file: ReleaseFile) -> tuple[View, ...]:
    """The views that a file declares, in the order of their names."""
    if (SCHEMA, TABLE) not in file.tables:
        return ()
    listed = fetch(file.con, f"SELECT name, question, confidence FROM {file.table(TABLE)} ORDER BY name")
    return tuple(View(str(name), str(question), float(confidence)) for name, question, confidence in listed)


class Rewriter:
    """Rewrites questions about a file for views in that file, where no name of a database may stand."""

    def __init__(self, method: Opens, file: ReleaseFile) -> None:
        self._file = file
        self._release = method.open([file])

    def __call__(self, view: View) -> str:
        """The SQL of a view; the file is open under a name that nobody could have written into a question."""
        return (
            self.by_full_name(view).replace(f"{quoted(self._file.catalog)}.", "").replace(f"{self._file.catalog}.", "")
        )

    def by_full_name(self, view: View) -> str:
        """The same with the name of the database before every table of the file, for views that stand elsewhere."""
        sql = rewrite(view.question, self._release, Options(view.confidence, budget=BUDGET)).sql  # at no time: it stays
        _refuse_offsets(sql)
        return _lasting(sql)

    def proposed(self) -> tuple[View, ...]:
        """A useful set of views, of what this release can answer."""
        found = []
        for name, question in _first_questions(self._release).items():
            view = View(name, question)
            try:
                self(view)
            except UnsupportedSQLError:
                continue
            found.append(view)
        return tuple(found)


def _refuse_offsets(sql: str) -> None:
    """DuckDB 1.5 and 2.0 lose or double the second and third argument of lag and lead in each other's files."""
    for node in sqlglot.parse_one(sql, dialect="duckdb").find_all(exp.Lag, exp.Lead):
        if node.args.get("offset") is not None or node.args.get("default") is not None:
            raise UnsupportedSQLError(
                "lag() and lead() with an offset cannot be kept in a view, since DuckDB's versions read it differently "
                "from a file; write lag(x) and lead(x), or ask by sqlpriv query"
            )


def _lasting(sql: str) -> str:
    """The same in words that DuckDB keeps in a file as they are, whichever version reads it and writes it again.

    Of 2.5e0 it writes 2.5, and reads a decimal; true and IS NOT TRUE its versions write in different words.
    """
    tokens = sqlglot.tokenize(sql, dialect="duckdb")
    kinds = [token.token_type for token in tokens]
    parts, done = [], 0
    for place, token in enumerate(tokens):
        start, words = place, ""
        if kinds[place] is TokenType.NUMBER and "e" in token.text.lower():
            words = f"CAST({literal(token.text)} AS DOUBLE)"
        elif kinds[place] in {TokenType.TRUE, TokenType.FALSE}:
            words = f"CAST({literal(token.text[:1].lower())} AS BOOLEAN)"
            negated = kinds[max(place - 2, 0) : place] == [TokenType.IS, TokenType.NOT]
            if negated or kinds[max(place - 1, 0)] is TokenType.IS:
                start, words = place - 1 - negated, f"IS {'' if negated else 'NOT '}DISTINCT FROM {words}"
        if words:
            parts += [sql[done : tokens[start].start], words]
            done = token.end + 1
    return "".join([*parts, sql[done:]])


def wanted_views(rewriter: Rewriter, given: Mapping[str, str], auto: bool) -> tuple[View, ...]:
    """The views of a policy: those it names, and with `auto` the proposed ones that it does not name."""
    own = tuple(View(name, without_comments(question)) for name, question in given.items())
    names = {folded(view.name) for view in own}
    return (*own, *(v for v in rewriter.proposed() if folded(v.name) not in names)) if auto else own


def write_views(method: Opens, path: Path, given: Mapping[str, str], auto: bool) -> None:
    """Put the views of a policy into a file that is not published yet."""
    if not given and not auto:
        return
    with open_file(path) as file:
        rewriter = Rewriter(method, file)
        made = make_views(file, rewriter, wanted_views(rewriter, given, auto))
    put_views(path, made)


def make_views(
    file: ReleaseFile, rewriter: Rewriter, views: Sequence[View], replaced: Sequence[str] = ()
) -> dict[View, str]:
    """The SQL of views, or the refusal of the first that cannot be one; names of `replaced` views are free."""
    made: dict[View, str] = {}
    taken = {folded(name) for schema, name in file.tables if schema == "main" and name not in replaced}
    for view in views:
        if why := wrong_name(view.name, file.about["table"]) or wrong_question(view.question):
            raise InputError(why)
        if folded(view.name) in taken:
            raise InputError(f"there is already a view {view.name!r}; choose another name, or replace it")
        taken.add(folded(view.name))
        try:
            made[view] = rewriter(view)
        except SqlprivError as error:
            raise type(error)(f"the view {view.name!r}: {error}") from None
    return made


def wrong_name(name: str, table: str) -> str:
    """Why a view cannot have this name; empty where it can."""
    if not name.isidentifier() or folded(name).startswith("__priv"):
        return f"{name!r} is no name for a view: write letters, digits and underscores, as in count_by_sex"
    if folded(name) == folded(table):
        return f"a view cannot be called {name!r}, like the private table; choose another name"
    return ""


def wrong_question(question: str) -> str:
    """Why a question cannot be kept, whatever it asks: it is shown on the terminals of those who read the release."""
    if has_control_characters(question.replace("\n", " ").replace("\t", " ")):
        return "the question of a view holds control characters; write it as plain text"
    if question != without_comments(question):
        return "the question of a view holds a comment, which nothing could verify; write it without"
    return ""


def without_comments(question: str) -> str:
    """A question as a release keeps it: what no answer depends on could say anything."""
    try:
        tokens = sqlglot.tokenize(question, dialect="duckdb")
    except sqlglot.errors.SqlglotError:  # it is refused when it is rewritten
        return question.strip()
    parts, done = [], 0
    for token in tokens:
        between = question[done : token.start]
        parts += [" " if between.strip() else between, question[token.start : token.end + 1]]
        done = token.end + 1
    return "".join(parts).strip()


def put_views(path: Path, made: Mapping[View, str], dropped: Sequence[str] = ()) -> None:
    """Write views into a file, in one transaction; `dropped` are taken out before."""
    catalog = "release_with_views"
    with open_memory() as con, attached(con, path, catalog, write=True, error=ReleaseError):
        # The names in a view are looked for in its schema: so they are when it is made.
        fetch(con, f"USE {catalog}")
        fetch(con, "BEGIN")
        try:
            _write(con, catalog, made, dropped)
        except BaseException:
            fetch(con, "ROLLBACK")
            raise
        else:
            fetch(con, "COMMIT")
        finally:
            fetch(con, "USE memory")


def _write(con: duckdb.DuckDBPyConnection, catalog: str, made: Mapping[View, str], dropped: Sequence[str]) -> None:
    columns = ", ".join(f"{name} {kind}" for name, kind in COLUMNS.items())
    fetch(con, f"CREATE TABLE IF NOT EXISTS {SCHEMA}.{TABLE} ({columns})")
    for name in dropped:
        fetch(con, f"DROP VIEW {quoted('main', name)}")
        fetch(con, f"DELETE FROM {SCHEMA}.{TABLE} WHERE name = {literal(name)}")
    for view, sql in made.items():
        try:
            con.execute(view.statement(catalog, sql)).fetchall()
        except (duckdb.BinderException, duckdb.ParserException):
            raise InputError(
                f"the view {view.name!r}: DuckDB cannot bind its question; check that the types fit the functions and "
                "operators it uses"
            ) from None
        row = (literal(view.name), literal(view.question), repr(view.confidence))
        fetch(con, f"INSERT INTO {SCHEMA}.{TABLE} VALUES ({', '.join(row)})")


# -------------------- proposed views


def _first_questions(release: Release) -> dict[str, str]:
    """Questions that a release is asked first, by names for their views.

    Counts by each column, numbers by each category, counts by each small pair of columns.
    """
    table, columns = quoted(release.table), release.attributes
    numbers = [c for c in columns if NUMERIC_TYPE.fullmatch(c.type)]
    categories = [c for c in columns if c.size <= _MOST_CATEGORIES and c not in numbers]
    found = {"count_all": f"SELECT count(*) AS n FROM {table}"}
    for column in columns:
        if column.size <= _MOST_GROUPS:
            _add_count(found, table, column)
    for number in numbers:
        for category in categories:
            value, key = quoted(number.name), quoted(category.name)
            total, mean = (_free_alias(word, number, category) for word in ("total", "mean"))
            question = f"SELECT {key}, sum({value}) AS {total}, avg({value}) AS {mean} FROM {table} GROUP BY {key}"
            found[_free_name(found, f"{number.name}_by_{category.name}")] = question
    for one, two in combinations(columns, 2):
        if one.size * two.size <= _MOST_PAIRS:
            _add_count(found, table, one, two)
    return dict(list(found.items())[:_MOST_VIEWS])


def _add_count(found: dict[str, str], table: str, *columns: Attribute) -> None:
    keys = ", ".join(quoted(c.name) for c in columns)
    name = _free_name(found, f"count_by_{'_and_'.join(c.name for c in columns)}")
    found[name] = f"SELECT {keys}, count(*) AS {_free_alias('n', *columns)} FROM {table} GROUP BY {keys}"


def _free_alias(word: str, *columns: Attribute) -> str:
    """A name for an estimate that no column of the question has."""
    while folded(word) in {folded(c.name) for c in columns}:
        word = f"{word}_estimated"
    return word


def _free_name(found: Mapping[str, str], wanted: str) -> str:
    """A name of letters, digits and underscores that no other view has."""
    plain = re.sub(r"\W+", "_", wanted).strip("_")
    plain = plain if plain.isidentifier() and not folded(plain).startswith("__priv") else f"view_{plain}"
    taken = {folded(name) for name in found}
    name, number = plain, 1
    while folded(name) in taken:
        number += 1
        name = f"{plain}_{number}"
    return name
