"""Sampled k-anonymity (Li, Qardaji and Su 2011): sample, generalize by a fixed node, suppress what is rare.

policy    the keys of a policy
terms     from three of (epsilon, delta, k, beta) the fourth, and what they guarantee: for rows, persons, replaced rows
groups    columns that are published together, each group a sample of its own
classes   the classes of the whole tuple under a node, their sample, and one of several nodes drawn
plan      the release that could be made
wording   its sentences
write     the file, and its comparison with the sample
verify    the file judged
answers   the file opened for queries
method    the method
"""

from sqlpriv.methods.sdgs.method import METHOD

__all__ = ["METHOD"]
