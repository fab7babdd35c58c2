"""A release attached to the user's own connection: `FROM priv.ask('SELECT ...')`, in whatever SQL stands around it.

`priv.ask` is a macro over query(), whose text is made by the rewriter while DuckDB binds the statement
(udfs/rewrite.py): a view or a table made of it holds estimates, and the question itself never runs. The release is
opened twice: for the rewriter in a connection of its own, where nothing of the user's reaches, and read-only in the
user's connection under the same name, where the rewritten SQL runs.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from threading import Lock
from typing import Any

import duckdb
import sqlglot
from sqlglot import TokenType, exp

from sqlpriv.core.engine import fetch
from sqlpriv.core.errors import InputError, InternalError, ReleaseError, SqlprivError
from sqlpriv.core.sqltext import folded, literal, quoted
from sqlpriv.macros.catalog import MARK
from sqlpriv.macros.catalog import SCHEMA as MACROS
from sqlpriv.macros.install import in_transaction
from sqlpriv.release.digest import table_digest
from sqlpriv.release.file import SCHEMA, ReleaseFile, attach_release, refuse_no_file
from sqlpriv.release.open import OpenRelease, Opens, open_files
from sqlpriv.release.place import file_state
from sqlpriv.release.read import read_public
from sqlpriv.rewrite.bind.parse import parsed
from sqlpriv.rewrite.bind.time_of_asking import time_of_asking
from sqlpriv.udfs.rewrite import REFUSED, REWRITE, answer_by, answering, register

SYSTEM = "system.main"
"""Where DuckDB keeps its own functions."""
# After these a word with a parenthesis is a type, a list of columns, FILTER (...), or has its place already.
_NO_CALL_AFTER = frozenset(
    {TokenType.DOT, TokenType.ALIAS, TokenType.DCOLON, TokenType.R_PAREN, TokenType.VAR, TokenType.IDENTIFIER}
)
_NO_NAME = frozenset({TokenType.IDENTIFIER, TokenType.STRING})
_SETTINGS = (
    "integer_division", "ieee_floating_point_ops", "default_collation", "default_null_order", "default_order",
    "scalar_subquery_error_on_multiple_rows", "order_by_non_integer_literal",
)  # fmt: skip
"""What changes the meaning of SQL, the rewritten query's too: it must be as DuckDB has it by itself."""
_SETTINGS_SQL = f"[{', '.join(f'CAST({SYSTEM}.current_setting({literal(name)}) AS VARCHAR)' for name in _SETTINGS)}]"
_OF_RELEASES = frozenset({SCHEMA, MACROS, "main", "domain", "public", "memory", "system", "temp"})
_IDENTIFYING = frozenset({"method", "table", "release", "digest"})
"""What distinguishes two releases."""
_ASK = "ask"
_NULL = f"{REFUSED}{MACROS}.{_ASK} takes a question, and maybe a confidence; NULL is neither"


def attach(
    con: duckdb.DuckDBPyConnection, methods: Mapping[str, Opens], path: Path, public: Mapping[str, Any], budget: float
) -> None:
    """Attach a release, and let `priv.ask` answer questions about its table."""
    refuse_no_file(path)
    if in_transaction(con):
        raise InputError("the connection is in a transaction: commit it first, then attach the release")
    attached, place = _attached_releases(con), _Place(con)
    catalog = place.free_name(path)
    aside = f"{catalog}_public"
    state = file_state(path)
    opened = open_files(methods, [path], public, budget, catalog, aside)
    try:
        attached.refuse_second(opened.table, place.databases)
        _attach_to(con, path, opened, public, (catalog, aside))
        if file_state(path) != state:
            fetch(con, f"DETACH {catalog}")
            raise ReleaseError(f"{path.name} was replaced meanwhile; attach it again")
        place.make_macro(attached.token)
    except BaseException:
        opened.close()
        raise
    attached.add(catalog, opened)
    answer_by(attached.token, attached)


class _AttachedReleases:
    """The releases that are attached to one database, by their tables: it answers questions about them."""

    def __init__(self) -> None:
        self.token = secrets.token_hex(16)
        self._lock = Lock()
        self._releases: dict[str, tuple[str, OpenRelease]] = {}
        self._wanted: tuple[str, ...] = ()
        self._functions: frozenset[str] = frozenset()
        self._answer = lru_cache(maxsize=256)(self._rewritten)

    def refuse_second(self, table: str, databases: set[str]) -> None:
        """A table has one release here, or a question could be about either; one that was detached is forgotten."""
        catalog, opened = self._releases.get(folded(table), ("", None))
        if opened is None:
            return
        if folded(catalog) in databases:
            raise InputError(f"a release of {table!r} is attached already; DETACH {catalog} first")
        with self._lock:
            del self._releases[folded(table)]
            self._answer.cache_clear()
        opened.close()

    def add(self, catalog: str, opened: OpenRelease) -> None:
        """Answer questions about one more table."""
        with self._lock:
            # As DuckDB has them by itself, read in a connection that nobody has changed.
            self._wanted = tuple(fetch(opened.con, f"SELECT {_SETTINGS_SQL}")[0][0])
            self._functions = functions_of_duckdb(opened.con)
            self._releases[folded(opened.table)] = (catalog, opened)
            self._answer.cache_clear()

    def __call__(self, question: str, confidence: float, settings: tuple[str, ...]) -> str:
        """The SQL for a question, or the refusal; DuckDB's threads may ask at the same time."""
        for name, found, wanted in zip(_SETTINGS, settings, self._wanted, strict=True):
            if found != wanted:
                return f"{REFUSED}estimates are right only where {name} is {wanted!r}: RESET {name} before you ask"
        with self._lock:
            return self._answer(question, confidence)

    def _rewritten(self, question: str, confidence: float) -> str:
        try:
            catalog, release = self._release_of(question)
            sql = release.explain(question, confidence).sql
        except SqlprivError as error:
            return f"{REFUSED}{error}"
        except Exception as error:  # a fault of ours must not be printed with what is in its frames
            return f"{REFUSED}{InternalError(f'the question could not be rewritten ({type(error).__name__})')}"
        return f"SELECT * FROM ({by_full_name(sql, self._functions)}) WHERE {_is_there(catalog, release)}"

    def _release_of(self, question: str) -> tuple[str, OpenRelease]:
        named = {folded(table.name) for table in parsed(question, now=time_of_asking(question)).find_all(exp.Table)}
        found = [of for table, of in self._releases.items() if table in named]
        if len(found) == 1:
            return found[0]
        if not found and len(self._releases) == 1:  # about public tables, or which tables there are
            return next(iter(self._releases.values()))
        listed = ", ".join(sorted(repr(opened.table) for _, opened in self._releases.values()))
        if found:
            raise InputError(f"a question is about one release at a time; join the answers of two, of {listed}")
        raise InputError(f"the question reads no table of a release that is attached: there is {listed or 'none'}")


def _is_there(catalog: str, release: OpenRelease) -> str:
    """SQL that is true where the release is attached, and an error where it is not, or another has its name."""
    # Of a release that was detached DuckDB would read Python variables with the names of its tables.
    there = f"EXISTS (FROM {SYSTEM}.pragma_table_info({literal(quoted(catalog, SCHEMA, 'about'))}))"
    about = ReleaseFile(release.con, catalog, catalog).about
    rows = ", ".join(f"({literal(name)}, {literal(about[name])})" for name in about if name in _IDENTIFYING)
    other = f"{REFUSED}another file is attached as {catalog}: DETACH {catalog}, and attach it by sqlpriv.attach"
    differs = f"EXISTS (FROM (VALUES {rows}) EXCEPT SELECT name, value FROM {quoted(catalog, SCHEMA, 'about')})"
    return f"{there} AND CASE WHEN {differs} THEN CAST({SYSTEM}.error({literal(other)}) AS BOOLEAN) ELSE true END"


def _attached_releases(con: duckdb.DuckDBPyConnection) -> _AttachedReleases:
    """The releases of the database of a connection, found by the token in its macro; none yet where it has none."""
    made = fetch(
        con,
        "SELECT macro_definition FROM duckdb_functions() WHERE function_name = "
        f"{literal(_ASK)} AND contains(macro_definition, {literal(REWRITE)})",
    )
    for (text,) in made:
        token = re.search(rf"{REWRITE}\('([0-9a-f]+)'", str(text))
        known = answering(token[1]) if token else None
        if isinstance(known, _AttachedReleases):
            return known
    return _AttachedReleases()


class _Place:
    """Where in a connection the macro goes, and which names are free there."""

    def __init__(self, con: duckdb.DuckDBPyConnection) -> None:
        self._con = con
        listed = fetch(con, "SELECT lower(database_name), readonly FROM duckdb_databases()")
        self.databases = {str(name) for name, _ in listed}
        [(here,)] = fetch(con, "SELECT current_database()")
        self._is_read_only = any(name == folded(here) and readonly for name, readonly in listed)
        in_schema = fetch(
            con, "SELECT lower(schema_name) FROM duckdb_schemas() WHERE database_name = current_database()"
        )
        self._schemas = {str(name) for (name,) in in_schema}
        self._refuse_ambiguity()

    def _refuse_ambiguity(self) -> None:
        """Refuse where `priv.ask` could mean something else, or has no place."""
        is_ours = f"contains(macro_definition, {literal(REWRITE)})"
        if MACROS in self.databases:
            # Where the other one is open for reading only it may be ours: in memory, with nothing but the macro in it.
            inside = fetch(
                self._con, f"SELECT {is_ours} FROM duckdb_functions() WHERE database_name = {literal(MACROS)}"
            )
            if not self._is_read_only or not inside or not all(ours for (ours,) in inside):
                raise InputError(
                    f"a database is called {MACROS}, and DuckDB could not tell it from the schema of {MACROS}.{_ASK}; "
                    "attach it under another name"
                )
        if self._is_read_only and MACROS in self._schemas:
            raise InputError(
                f"the database is open for reading only and has a schema {MACROS}, so that {MACROS}.{_ASK} has no "
                "place; attach the release to a connection in memory, and your database next to it"
            )
        own = fetch(
            self._con,
            "SELECT 1 FROM duckdb_functions() WHERE database_name = current_database() "
            f"AND schema_name = {literal(MACROS)} AND function_name = {literal(_ASK)} AND NOT {is_ours}",
        )
        if own:
            raise InputError(f"there is a macro {MACROS}.{_ASK} of your own; drop or rename it")

    def free_name(self, path: Path) -> str:
        """The name of the file, as SQL can write it without quotes, and as nothing else is called."""
        words = {str(w) for (w,) in fetch(self._con, "SELECT keyword_name FROM duckdb_keywords()")}
        stem = re.sub(r"[^a-z0-9_]", "_", folded(path.name.partition(".")[0]))
        plain = stem if re.match(r"[a-z]", stem) else f"release_{stem}"
        taken = self.databases | self._schemas | _OF_RELEASES | words
        names = [plain, f"{plain}_release", *(f"{plain}_{number}" for number in range(2, 1000))]
        return next(name for name in names if name not in taken and f"{name}_public" not in taken)

    def make_macro(self, token: str) -> None:
        """`priv.ask`, in the schema priv; a database that is open for reading only gets one in memory next to it."""
        register(self._con)
        place = MACROS
        if self._is_read_only:
            place = f"{MACROS}.main"
            if MACROS not in self.databases:
                fetch(self._con, f"ATTACH ':memory:' AS {MACROS} (READ_WRITE)")
        else:
            fetch(self._con, f"CREATE SCHEMA IF NOT EXISTS {MACROS}")

        def body(confidence: str) -> str:
            call = f"{REWRITE}({literal(token)}, question, {confidence}, {_SETTINGS_SQL})"
            call = f"coalesce({call}, {literal(_NULL)})"
            refused = f"{SYSTEM}.starts_with({call}, {literal(REFUSED)})"
            return f"(FROM {SYSTEM}.query(CASE WHEN {refused} THEN {SYSTEM}.error({call}) ELSE {call} END))"

        overloads = (f"(question) AS TABLE {body('0.95')}", f"(question, confidence) AS TABLE {body('confidence')}")
        fetch(self._con, f"CREATE OR REPLACE MACRO {place}.{_ASK}{', '.join(overloads)}")
        comment = f"{MARK}Estimates, with bounds, of the answer to a question about the table of an attached release."
        fetch(self._con, f"COMMENT ON MACRO TABLE {place}.{_ASK} IS {literal(comment)}")


def _attach_to(
    con: duckdb.DuckDBPyConnection, path: Path, opened: OpenRelease, public: Mapping[str, Any], names: tuple[str, str]
) -> None:
    """The release and its public tables, under the names that the rewriter knows them by."""
    catalog, aside = names
    file = attach_release(con, path, catalog)
    try:
        if file.about != ReleaseFile(opened.con, catalog, path.name).about:
            raise ReleaseError(
                f"the connection holds an earlier {path.name}, which was replaced since; DETACH that, then attach this"
            )
        read_public(con, public, aside)
        for name in public:
            table = quoted(aside, "public", name)
            if table_digest(con, table) != table_digest(opened.con, table):
                raise InputError(f"the public table {name!r} reads differently twice; give a file or a data frame")
    except BaseException:
        fetch(con, f"DETACH {catalog}")
        fetch(con, f"DETACH DATABASE IF EXISTS {aside}")
        raise


# -------------------- functions by their full names: a macro of the user's does not take the place of DuckDB's own


def functions_of_duckdb(con: duckdb.DuckDBPyConnection) -> frozenset[str]:
    """Those that can be called by a full name: no operators, nor overlay, which has words between its arguments."""
    own = "internal AND database_name = 'system' AND schema_name = 'main'"
    listed = {str(n) for (n,) in fetch(con, f"SELECT DISTINCT function_name FROM duckdb_functions() WHERE {own}")}
    return frozenset(name for name in listed if name.isidentifier() and name != "overlay")


def by_full_name(sql: str, names: frozenset[str]) -> str:
    """The same SQL with `system.main.sum(x)` for `sum(x)`.

    >>> names = frozenset({"sum", "sqrt", "filter"})
    >>> by_full_name('SELECT sum("a") FILTER (WHERE sqrt("b") > 1) AS "sum" FROM t AS sum(a)', names)
    'SELECT system.main.sum("a") FILTER (WHERE system.main.sqrt("b") > 1) AS "sum" FROM t AS sum(a)'
    """
    tokens = sqlglot.tokenize(sql, dialect="duckdb")
    parts, done = [], 0
    for before, token, after in zip([None, *tokens], tokens, tokens[1:], strict=False):
        if after.token_type is not TokenType.L_PAREN or token.token_type in _NO_NAME:
            continue
        if before is not None and before.token_type in _NO_CALL_AFTER:
            continue
        if token.text.lower() in names:
            parts += [sql[done : token.start], f"{SYSTEM}."]
            done = token.start
    return "".join([*parts, sql[done:]])
