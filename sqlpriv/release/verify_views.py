"""Judge the views in a release: each is what its question becomes, and nothing else would run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import duckdb
import sqlglot
from sqlglot import exp

from sqlpriv.core.engine import attached, fetch, open_memory, scratch_folder
from sqlpriv.core.errors import PolicyError, SqlprivError
from sqlpriv.core.sqltext import folded, literal, quoted
from sqlpriv.policy.file import Policy
from sqlpriv.release.file import SCHEMA, ReleaseFile
from sqlpriv.release.open import Opens
from sqlpriv.release.verify import Check
from sqlpriv.release.views import (
    COLUMNS,
    TABLE,
    Rewriter,
    View,
    declared_views,
    wanted_views,
    wrong_name,
    wrong_question,
)

_TWIN = "__priv_twin_of_views"
ANOTHER = "or another version of sqlpriv made it: then add it again"


def check_views(method: Opens, file: ReleaseFile, policy: Policy | None = None) -> list[Check]:
    """Whether the views are those of their questions, and with a policy, whether they are its own."""
    views = declared_views(file)
    wanted_any = policy is not None and (policy.questions or policy.auto_views)
    if not views and not wanted_any and (SCHEMA, TABLE) not in file.tables:
        return []
    title = "each view is what its question becomes"
    if wrong := _wrong_words(file, views):
        return [Check(title, False, wrong)]
    try:
        rewriter = Rewriter(method, file)
        wrong = "; ".join(_wrong_sql(file, rewriter, views))
        found = [Check(title, not wrong, wrong)]
        return found if policy is None else [*found, _of_policy(rewriter, policy, views)]
    except SqlprivError as error:
        return [Check(title, False, str(error))]


def _wrong_words(file: ReleaseFile, views: Sequence[View]) -> str:
    """What is declared of the views is what a view may declare, and nothing more."""
    if file.columns(SCHEMA, TABLE) != COLUMNS if (SCHEMA, TABLE) in file.tables else bool(views):
        return f"{SCHEMA}.{TABLE} has other columns than it should"
    names = [folded(view.name) for view in views]
    if len(set(names)) < len(names):
        return "a view is declared twice"
    wrong = [w for v in views for w in (wrong_name(v.name, file.about["table"]), wrong_question(v.question)) if w]
    return "; ".join(wrong)


def _wrong_sql(file: ReleaseFile, rewriter: Rewriter, views: Sequence[View]) -> list[str]:
    """Compared as DuckDB writes them, the one of the file and one that is made now; neither is ever run."""
    made, wrong = {}, []
    for view in views:
        try:
            made[view] = rewriter(view)
        except SqlprivError as error:
            wrong.append(f"{view.name}: {error}")
    found, wanted = _texts(file.con, file.catalog), _texts_of(file, made)
    return wrong + [f"{v.name} is not, {ANOTHER}" for v in made if not _same(found.get(v.name, ""), wanted[v.name])]


def _same(found: str, wanted: str) -> bool:
    """Letter by letter, or as trees: of x NOT IN (...) DuckDB's versions keep one of two forms in a file."""
    if found == wanted:
        return True
    trees = _tree(found), _tree(wanted)
    return trees[0] is not None and trees[0] == trees[1]


def _tree(sql: str) -> exp.Expr | None:
    """The tree of a statement, in one of the forms that mean the same; None of what is no single statement."""
    try:
        statements = sqlglot.parse(sql, dialect="duckdb")
    except (sqlglot.errors.SqlglotError, RecursionError):
        return None
    if len(statements) != 1 or not isinstance(statements[0], exp.Create):
        return None
    tree = statements[0]
    for parenthesis in list(tree.find_all(exp.Paren)):
        parenthesis.replace(parenthesis.this)
    for negated in list(tree.find_all(exp.Not)):
        if isinstance(same := negated.this, exp.NullSafeEQ):
            negated.replace(exp.NullSafeNEQ(this=same.this, expression=same.expression))
    for dotted in list(tree.find_all(exp.Dot)):  # 1.5 names the schema of functions that everybody has
        if dotted.this == exp.to_identifier("main") and isinstance(dotted.expression, exp.Func):
            dotted.replace(dotted.expression)
    return tree


def _texts_of(file: ReleaseFile, made: Mapping[View, str]) -> dict[str, str]:
    """How DuckDB writes views once they were in a file: it does not keep every constant as it was written.

    DuckDB makes no view of what is not there, so the twin of the file has the same tables, without rows.
    """
    tables = sorted(file.tables - file.views)
    with scratch_folder() as folder, open_memory() as con:
        path = folder / "twin.duckdb"
        with attached(con, path, _TWIN, write=True):
            fetch(con, f"USE {_TWIN}")
            for schema in sorted({schema for schema, _ in tables if schema != "main"}):
                fetch(con, f"CREATE SCHEMA {quoted(schema)}")
            for name in tables:
                columns = ", ".join(f"{quoted(column)} {kind}" for column, kind in file.columns(*name).items())
                fetch(con, f"CREATE TABLE {quoted(*name)} ({columns})")
            for view, sql in made.items():
                fetch(con, view.statement(_TWIN, sql))
            fetch(con, "USE memory")
        with attached(con, path, _TWIN):
            return _texts(con, _TWIN)


def _texts(con: duckdb.DuckDBPyConnection, catalog: str) -> dict[str, str]:
    in_main = f"schema_name = 'main' AND database_name = {literal(catalog)}"
    return {
        str(name): str(sql) for name, sql in fetch(con, f"SELECT view_name, sql FROM duckdb_views() WHERE {in_main}")
    }


def _of_policy(rewriter: Rewriter, policy: Policy, views: Sequence[View]) -> Check:
    """Those that the policy names, and no others: what stands in a question is not for everybody to choose."""
    wanted, found = set(wanted_views(rewriter, policy.questions, policy.auto_views)), set(views)
    listed = [f"{v.name} is not the policy's, or not as it words it" for v in views if v not in wanted]
    listed += sorted(f"{v.name} is missing" for v in wanted if v.name not in {f.name for f in found})
    return Check("the views are those of the policy", not listed, "; ".join(listed))


def refuse_to_lose(method: Opens, file: ReleaseFile, policy: Policy) -> None:
    """A release that is published again may be written anew, and would lose views that the policy does not name."""
    views = declared_views(file)
    names = {v.name for v in wanted_views(Rewriter(method, file), policy.questions, policy.auto_views)} if views else ()
    added = [v.name for v in views if v.name not in names]
    if added:
        raise PolicyError(
            f"{file.name} holds views that the policy does not name, as {added[0]!r}; put them into [views], or take "
            "them out with sqlpriv view drop"
        )
