"""Anatomy (Xiao and Tao 2006): quasi-identifiers and sensitive values in two tables, by groups of different values."""

from sqlpriv.methods.split.anatomy.method import METHOD

__all__ = ["METHOD"]
