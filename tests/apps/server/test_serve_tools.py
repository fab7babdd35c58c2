"""What BI tools ask before they show anything: which tables they may read, types, keys, and their own connection."""

from __future__ import annotations

import psycopg
import pytest
from psycopg import sql as composed
from support.serving import Running

pytestmark = pytest.mark.one_version

TABLES = [("public", "regions"), ("public", "visits")]

# Each in the manner of a tool: it must find both tables, and nothing else.
LISTS_OF_TABLES = {
    "metabase": """
        WITH rights AS (
            SELECT NULL AS role, t.schemaname AS schema, t.objectname AS "table",
                pg_catalog.has_any_column_privilege(current_user, t.quoted, 'select') AS "select",
                pg_catalog.has_any_column_privilege(current_user, t.quoted, 'update') AS "update",
                pg_catalog.has_table_privilege(current_user, t.quoted, 'delete') AS "delete"
            FROM (
                SELECT schemaname, tablename AS objectname,
                    '"' || replace(schemaname, '"', '""') || '"."' || replace(tablename, '"', '""') || '"' AS quoted
                FROM pg_catalog.pg_tables
                UNION ALL
                SELECT schemaname, viewname, '"' || schemaname || '"."' || viewname || '"' FROM pg_catalog.pg_views
            ) AS t
            WHERE t.schemaname !~ '^pg_' AND t.schemaname <> 'information_schema'
                AND pg_catalog.has_schema_privilege(current_user, t.schemaname, 'usage')
        )
        SELECT schema, "table" FROM rights WHERE "select" AND NOT "update" AND NOT "delete" ORDER BY 1, 2
        """,
    "power bi": """
        select TABLE_SCHEMA, TABLE_NAME from INFORMATION_SCHEMA.tables
        where TABLE_SCHEMA not in ('information_schema', 'pg_catalog') and TABLE_TYPE = 'BASE TABLE'
        order by TABLE_SCHEMA, TABLE_NAME
        """,
    "vs code": """
        SELECT n.nspname, c.relname
        FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
        WHERE c.relkind = 'r' AND n.nspname NOT IN ('information_schema', 'pg_catalog', 'pg_toast')
            AND has_schema_privilege(n.oid, 'USAGE') AND has_table_privilege(c.oid, 'SELECT')
            AND has_table_privilege(quote_ident(n.nspname) || '.' || quote_ident(c.relname), 'SELECT, INSERT')
        ORDER BY 1, 2
        """,
    "grants": """
        SELECT table_schema, table_name FROM information_schema.table_privileges
        WHERE grantee = current_user AND privilege_type = 'SELECT' ORDER BY 1, 2
        """,
}


@pytest.mark.parametrize("tool", LISTS_OF_TABLES)
def test_tools_list_the_tables_that_may_be_read(server: Running, tool: str) -> None:
    with server.connect() as con:
        assert con.execute(LISTS_OF_TABLES[tool].encode()).fetchall() == TABLES


def test_rights_are_to_read_and_nothing_else(server: Running) -> None:
    asked = "SELECT has_table_privilege('visits', %s), has_any_column_privilege('visits', %s)"
    with server.connect() as con:
        assert con.execute(asked, ["SELECT", "SELECT"]).fetchall() == [(True, True)]
        assert con.execute(asked, ["INSERT, UPDATE, DELETE", "INSERT, UPDATE, REFERENCES"]).fetchall() == [
            (False, False)
        ]
        column = "SELECT has_column_privilege('visits', 'region', 'SELECT'), has_schema_privilege('public', 'CREATE')"
        assert con.execute(column.encode()).fetchall() == [(True, False)]


# What a tool wants to know of types, keys and itself: it need not be told much, but must be answered.
OF_TYPES_AND_KEYS = [
    """
    SELECT n.nspname, t.oid, t.typname, t.typtype, t.typnotnull, e.oid AS element
    FROM pg_type AS t JOIN pg_namespace AS n ON n.oid = t.typnamespace
        LEFT JOIN pg_proc AS p ON p.oid = t.typreceive LEFT JOIN pg_type AS e ON e.oid = t.typelem
        LEFT JOIN pg_class AS c ON c.oid = t.typrelid LEFT JOIN pg_range AS r ON r.rngtypid = t.oid
    WHERE t.typtype IN ('b', 'r', 'm', 'e', 'd') AND p.proname <> 'array_recv'
        AND (c.relkind IS NULL OR c.relkind = 'c')
    ORDER BY 3
    """,
    "SELECT pg_type.oid, enumlabel FROM pg_enum RIGHT JOIN pg_type ON pg_type.oid = enumtypid LIMIT 1",
    """
    select COLUMN_NAME, ORDINAL_POSITION, IS_NULLABLE,
        case when (data_type like '%unsigned%') then DATA_TYPE || ' unsigned' else DATA_TYPE end as DATA_TYPE
    from INFORMATION_SCHEMA.columns where TABLE_SCHEMA = 'public' and TABLE_NAME = 'visits'
    order by TABLE_SCHEMA, TABLE_NAME, ORDINAL_POSITION
    """,
    "select character_set_name from INFORMATION_SCHEMA.character_sets",
    "SELECT version(), current_setting('server_version_num'), pg_backend_pid() > 0, pg_is_in_recovery()",
    "SELECT current_setting('max_index_keys'), current_setting('nothing.here', true), current_schemas(true)",
    "SHOW transaction_isolation", "SHOW TRANSACTION ISOLATION LEVEL", "SHOW server_version",
    "SHOW max_identifier_length",
    "SELECT set_config('bytea_output', 'hex', false) FROM pg_settings WHERE name = 'bytea_output'",
    "SELECT obj_description(oid), pg_get_userbyid(relowner) FROM pg_class WHERE oid = 'visits'::regclass",
]  # fmt: skip


@pytest.mark.some(4)
@pytest.mark.parametrize("asked", OF_TYPES_AND_KEYS)
def test_types_and_the_connection_itself_are_told(server: Running, asked: str) -> None:
    with server.connect() as con:
        assert con.execute(asked.encode()).fetchall()


def test_there_are_no_keys_and_no_indexes(server: Running) -> None:
    keys = """
        SELECT i.CONSTRAINT_SCHEMA || '_' || i.CONSTRAINT_NAME AS INDEX_NAME, ii.COLUMN_NAME
        FROM INFORMATION_SCHEMA.table_constraints AS i INNER JOIN INFORMATION_SCHEMA.key_column_usage AS ii
            ON i.CONSTRAINT_SCHEMA = ii.CONSTRAINT_SCHEMA AND i.CONSTRAINT_NAME = ii.CONSTRAINT_NAME
        WHERE i.TABLE_SCHEMA = 'public' AND i.TABLE_NAME = 'visits' AND i.CONSTRAINT_TYPE IN ('PRIMARY KEY', 'UNIQUE')
        """
    with server.connect() as con:
        assert con.execute(keys.encode()).fetchall() == []
        assert con.execute("SELECT * FROM pg_indexes WHERE tablename = 'visits'").fetchall() == []


@pytest.mark.some(2)
@pytest.mark.parametrize(
    "asked",
    [
        "SELECT query_to_xml('SELECT count(*) FROM visits', true, true, ''), version()",
        "SELECT ts_stat('SELECT to_tsvector(region) FROM visits'), version()",
        "SELECT version() FROM pg_class LEFT JOIN visits ON false",
        "SELECT relname FROM pg_class WHERE 1 = (SELECT count(*) FROM visits LIMIT 0)",
    ],
)
def test_what_may_be_read_is_still_not_read_in_the_catalog(server: Running, asked: str) -> None:
    """Its tables are empty, which is no answer; nor is it one where row security is set aside."""
    with server.connect() as con:
        for setting in ("on", "off"):
            con.execute("SELECT set_config('row_security', %s, false)", [setting])
            with pytest.raises(psycopg.Error) as refused:
                con.execute(composed.SQL(asked))
            assert refused.value.diag.sqlstate in {"42501", "0A000", "42P01"}


def test_tools_show_what_tables_and_columns_are(server: Running) -> None:
    """As \\d+ and the browsers of BI tools read it: that numbers are estimates, and what a column may hold."""
    asked = """
        SELECT a.attname, col_description(c.oid, a.attnum), obj_description(c.oid, 'pg_class')
        FROM pg_class AS c JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum > 0
        WHERE c.relname = %s ORDER BY a.attnum
        """
    for database in ("sqlpriv", "sqlpriv?bounds=off"):
        with server.connect(dbname=database) as con:
            columns = con.execute(asked.encode(), ["visits"]).fetchall()
            (public, *_) = con.execute(asked.encode(), ["regions"]).fetchall()
        assert {name: text for name, text, _ in columns} == {
            "region": "east, north, south, or NULL", "product": "a, b, c", "amount": "5, 10, 20, 30, 50",
            "quantity": "1, 2, 4", "day": "2023-11-30, 2024-01-01, 2024-01-31, 2024-02-29, 2024-05-05, 2024-12-31",
            "paid": "false, true",
        }  # fmt: skip
        assert columns[0][2].startswith("visits: estimates of a private table, from a release by")
        assert "x_low and x_high" in columns[0][2]
        assert public[1:] == (None, "a public table: its rows are exact")


@pytest.mark.parametrize(
    "asked",
    ["SELECT pg_logical_emit_message(false, 'a', 'b')", "SELECT pg_export_snapshot()"],
)
def test_the_catalog_writes_nothing(server: Running, asked: str) -> None:
    with server.connect() as con, pytest.raises(psycopg.errors.InsufficientPrivilege):
        con.execute(composed.SQL(asked))
