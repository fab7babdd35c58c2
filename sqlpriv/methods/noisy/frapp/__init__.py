"""FRAPP (Agrawal and Haritsa 2005): every record stays, or goes to any other tuple of the domain.

mechanism   how likely a record stays, from (d, gamma), what that guarantees, in words too, and what it costs
write       the tables of the release
method      what [release] may say, and all of it as a method
"""

from sqlpriv.methods.noisy.frapp.method import METHOD

__all__ = ["METHOD"]
