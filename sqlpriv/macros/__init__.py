"""The macros: sql/ is read, installed into DuckDB, expanded into plain SQL, and printed as pages.

language  the small macro language of sql/: headers, helpers, optional parameters
catalog   the one registry of all macros, each inlined when it is first used, and the SQL that creates them
install   creates them in a connection or a database file, or copies them from a file that holds them already
calls     macros called over a connection, each created when it is first called
expand    a call as plain DuckDB SQL, and views of it
dialects  the same for other engines
pages     docs/macros.md
"""
