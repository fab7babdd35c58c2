"""Classes along a Hilbert curve: neighbours on a line that visits every cell of the space of the quasi-identifiers.

curve       the points of the table in their order on the curve, and how large boxes are on every axis
grouping    the best grouping of the line into classes of k rows or more (udfs/line.py), merged until more than k holds
method      the rest is what all boxes share (generalized/)
"""

from sqlpriv.methods.generalized.hilbert.method import METHOD

__all__ = ["METHOD"]
