"""Slicing (Li et al. 2012): groups of columns published apart, inside buckets of rows.

method        the method
correlated    which columns go together, by their correlation
"""

from sqlpriv.methods.split.slicing.method import METHOD

__all__ = ["METHOD"]
