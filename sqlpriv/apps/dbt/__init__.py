"""dbt: a plugin for dbt-duckdb, and the package of tests, macros and the materialization that goes with it.

plugin      loads the macros into dbt's connection, and answers the requests of the package
policies    the policy of a model, from its meta
release     a model published by its policy; the copies of its tables in the warehouse, and SQL over them
questions   questions about releases as plain SQL over the copies
package/    the dbt package, as data: `sqlpriv dbt init` copies it into a project
"""
