"""Estimates and their bounds: which sums an expression over aggregates needs, and the SQL that computes them."""
