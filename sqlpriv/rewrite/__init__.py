"""Queries over a private table, rewritten into estimates over its release."""
