"""Ordinary SQL over a private table, rewritten into estimators over its release."""
