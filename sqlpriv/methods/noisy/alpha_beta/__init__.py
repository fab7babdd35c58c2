"""The alpha-beta algorithm (Rastogi, Suciu and Hong 2007): rows kept at random among noise from the domain.

policy      what [release] may say: distinct tuples or slots, sequences of views, alpha and beta
mechanism   uniform noise, noise by public shares, or one view of a sequence
plan        from (d, gamma) to alpha and beta, what they guarantee and cost
slots       equal rows in slots of their own
write       the tables of the release; in a sequence from the views before, too
verify      whether the noise that a file declares keeps its bound
wording     the guarantee in words
method      all of it as a method
"""

from sqlpriv.methods.noisy.alpha_beta.method import METHOD

__all__ = ["METHOD"]
