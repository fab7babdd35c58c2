"""Python functions for DuckDB, packaged as `sqlpriv.udfs`: one family a module, Arrow-vectorised.

Only what SQL cannot say belongs here, and nothing here imports from `sqlpriv`, so that a module
works on its own wherever it is sent.
"""
