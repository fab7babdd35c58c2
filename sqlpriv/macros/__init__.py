"""The macros: sql/ is read, installed into DuckDB, expanded into plain SQL, and printed as pages.

language   the small macro language of sql/: headers, helpers, optional parameters
catalog    the one registry of all macros, helpers inlined
install    into a connection or a database file
expand     a call as plain DuckDB SQL; dialects: for other engines; views: kept as views
pages      docs/macros.md
"""
