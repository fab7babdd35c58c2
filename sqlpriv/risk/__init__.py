"""Disclosure risk on large tables: what the macros of sql/optimal_disclosure.sql define, in steps."""
