"""dbt: a plugin for dbt-duckdb, and the package of tests, macros and the materialization that goes with it.

plugin     loads the macros into dbt's connection, and answers what the package asks
policies   the policy of a model, from its meta
releasing  a model published by it, and which tables go into the warehouse (warehouse)
asking     questions about releases as plain SQL
copying    the package into a project
package/   the dbt package, as data: `sqlpriv dbt init` copies it into a project
"""
