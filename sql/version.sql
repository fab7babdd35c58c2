-- version() -> version
-- The version of sqlpriv that these macros came from. All macros of a database are of one version.
-- nulls: none.
-- guarantee: none.
-- example: SELECT count(*) FROM priv.version()
-- expect: [(1,)]
CREATE MACRO version() AS TABLE
SELECT __priv_v AS version FROM (SELECT '__SQLPRIV_VERSION__' AS __priv_v);
