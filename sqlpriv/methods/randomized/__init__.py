"""Randomized releases: a view with a proven (d, gamma) guarantee that anyone can query without bias.

policy      what the owner declares: domains, prior bound, gamma, adversary
domains     the public domain of each attribute, as a numbered table
elements    a tuple (with its slot) as one or a few whole numbers
instance    the private table as a set of elements
terms       from (d, gamma) to probabilities and back, with what they cost; what is not private is refused
plan        a release that could be made
file        what the files of these releases have in common; weights: what rows and domain count for
verify      the file judged
method      what these methods share as methods
"""
