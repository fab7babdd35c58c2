"""Slicing (Li et al. 2012): groups of columns published apart, inside buckets of rows."""

from sqlpriv.methods.split.slicing.method import METHOD

__all__ = ["METHOD"]
