"""Views over macros, kept as plain SQL: any DuckDB reads them, and they may be stacked.

DuckDB 2.0 refuses a macro over a view made with the same macro, so a chain such as hide over hide works only when the
views hold what the macros would run, not the calls.
"""

from __future__ import annotations

import duckdb

from sqlpriv.core.arguments import checked
from sqlpriv.core.engine import translate
from sqlpriv.core.errors import InputError
from sqlpriv.core.sqltext import table_parts
from sqlpriv.macros.expand import called, expand


@checked
def create_view(con: duckdb.DuckDBPyConnection, name: str, sql: str, replace: bool = False) -> None:
    """Create a view of `sql`, a query that may call `priv` macros, under a name as query_table reads it."""
    plain = expand(sql, con) if called(sql) else sql
    _refuse_other_than_one_query(con, plain)
    view = ".".join(f'"{part}"' for part in table_parts(name))
    try:
        con.execute(f"CREATE {'OR REPLACE ' if replace else ''}VIEW {view} AS {plain}").fetchall()
    except duckdb.CatalogException as error:
        if "of type Table" in str(error) or ("Table with name" in str(error) and "already exists" in str(error)):
            raise InputError(f"there is already a table called {name!r}; drop it or choose another name") from None
        if "already exists" in str(error):
            raise InputError(f"there is already a view called {name!r}; say that it may be replaced") from None
        raise translate(error) from None
    except duckdb.Error as error:
        raise translate(error) from None


def _refuse_other_than_one_query(con: duckdb.DuckDBPyConnection, sql: str) -> None:
    """What follows CREATE VIEW ... AS may not go on with another statement."""
    try:
        statements = con.extract_statements(sql)
    except duckdb.Error:
        raise InputError("this is no SQL that DuckDB can read") from None
    if [s.type for s in statements] != [duckdb.StatementType.SELECT]:
        raise InputError("a view is made of one SELECT")
