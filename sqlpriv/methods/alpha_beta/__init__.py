"""The alpha-beta algorithm (Rastogi, Suciu and Hong 2007): rows kept by coins among noise from the domain.

policy    what [release] may say
terms     from (d, gamma) to coins, what they guarantee and cost
draw      the noise, as SQL; earlier: the views before, in a sequence
write     the tables of the release; weights: what rows and domain count for
"""

from sqlpriv.methods.alpha_beta.method import METHOD

__all__ = ["METHOD"]
