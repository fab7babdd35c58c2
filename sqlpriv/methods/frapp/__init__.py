"""FRAPP (Agrawal and Haritsa 2005): every record stays, or goes to any other tuple of the domain."""

from sqlpriv.methods.frapp.method import METHOD

__all__ = ["METHOD"]
