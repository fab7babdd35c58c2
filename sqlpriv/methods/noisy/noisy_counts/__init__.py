"""Noisy counts: how often each tuple of the domain occurs, with geometric noise on every one, in the table or not.

A release of a table with equal rows shows how often a tuple occurs. So the bound has to be about a person's row
whatever the counts: the odds of any statement about one row change by at most a factor, also for an attacker who knows
all others. That is differential privacy. docs/noise.md has the proof, sql/estimates the formulas.

policy      what [release] may say
mechanism   one-sided (rows are kept at random, and noise is added), by public shares, or signed (noise goes both ways)
plan        from (d, gamma) to the mechanism with the smaller error; the p that is best for the owner's questions
write       the tables of the release
wording     the guarantee in words
method      all of it as a method; whether the noise that a file declares keeps its bound
"""

from sqlpriv.methods.noisy.noisy_counts.method import METHOD

__all__ = ["METHOD"]
