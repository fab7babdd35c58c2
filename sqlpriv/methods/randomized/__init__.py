"""Randomized releases: a view with a proven (d, gamma) guarantee that anyone can query without bias.

policy      what the owner declares: domains, prior bound, gamma, adversary
domains     the public domain of each attribute, as a numbered table
elements    a tuple (with its slot) as one or a few whole numbers
coins       keyed coins: the same key and data give the same release
parameters  from (d, gamma) to probabilities and back, with what they cost; what is not private is refused
view        the randomized view as SQL, in batches
ledger      what has been released from a table, and what may follow
publish     all of it together, into a release file
"""
