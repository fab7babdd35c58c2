"""The SQL macros, the one source of every check: one concept a file, packaged as `sqlpriv.sql`."""
