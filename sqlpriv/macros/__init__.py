"""The macros: sql/ is read, installed into DuckDB, expanded into plain SQL, and printed as pages.

language    the small macro language of sql/: headers, helpers, optional parameters
catalog     the one registry of all macros, each inlined when it is first used
statements  the SQL that creates them, one by one or as one script, sqlpriv.sql
install     creates them in a connection or a database file
prepared    a database file that holds them already, to copy from
calls       macros called over a connection, each created when it is first called
expand      a call as plain DuckDB SQL
dialects    the same for other engines
views       queries with macros kept as views in plain SQL
pages       docs/macros.md
"""
