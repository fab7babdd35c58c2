-- version() -> version
-- The version of sqlpriv that these macros came from. All macros of a database are of one version.
-- example: FROM priv.version()
CREATE MACRO version() AS TABLE
SELECT '__SQLPRIV_VERSION__' AS version;
