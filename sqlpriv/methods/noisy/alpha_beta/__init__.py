"""The alpha-beta algorithm (Rastogi, Suciu and Hong 2007): rows kept at random among noise from the domain.

policy      what [release] may say: distinct tuples or slots, sequences of views, alpha and beta
mechanism   uniform noise, noise by public shares, or one view of a sequence
calibrate   from (d, gamma) to alpha and beta, what they guarantee and cost
slots       equal rows in slots of their own
earlier     the views before, in a sequence
write       the tables of the release
verify      whether the noise that a file declares keeps its bound
wording     the guarantee in words
"""

from sqlpriv.methods.noisy.alpha_beta.method import METHOD

__all__ = ["METHOD"]
