"""Sampled k-anonymity (Li, Qardaji and Su 2011): sample, generalize by a fixed node, suppress what is rare.

policy    what a policy may say
terms     from three of (epsilon, delta, k, beta) the fourth, and what they guarantee: for rows, persons, replaced rows
groups    columns that are published together, each group a sample of its own
classes   the classes of the whole tuple under a node, their sample, and which of them are shown
nodes     one of several nodes, drawn by the exponential mechanism
plan      the release that could be made, and what is told of it
write     the file
stated    the numbers and groups that a file states
verify    the file judged
answers   the file opened for queries
"""

from sqlpriv.methods.sdgs.method import METHOD

__all__ = ["METHOD"]
