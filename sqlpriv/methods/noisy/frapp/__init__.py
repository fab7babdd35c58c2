"""FRAPP (Agrawal and Haritsa 2005): every record stays, or goes to any other tuple of the domain.

policy      what [release] may say: the bound
mechanism   how likely a record stays, from (d, gamma), what that guarantees and costs
write       the tables of the release
wording     the guarantee in words
"""

from sqlpriv.methods.noisy.frapp.method import METHOD

__all__ = ["METHOD"]
