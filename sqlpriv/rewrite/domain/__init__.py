"""Sums over the whole domain, without enumerating it."""
