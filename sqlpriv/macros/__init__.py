"""The macros: sql/ is read, installed into DuckDB, expanded into plain SQL, and printed as pages.

language   the small macro language of sql/: headers, helpers, optional parameters
catalog    the one registry of all macros, each inlined when it is asked for
statements the SQL that creates them, also as one script; prepared: a database file that holds them, to copy from
install    into a connection or a database file; calls: over a connection, each created when it is first called
expand     a call as plain DuckDB SQL; dialects: for other engines; views: kept as views
pages      docs/macros.md
"""
