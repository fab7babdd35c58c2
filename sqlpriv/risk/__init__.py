"""Disclosure risk on large tables: what the macros of sql/risk/optimal_disclosure.sql define, in steps."""
