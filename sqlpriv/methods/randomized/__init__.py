"""Randomized releases: a view with a proven (d, gamma) guarantee that anyone can query without bias.

policy      what the owner declares: domains, prior bound, gamma, adversary
domains     the public domain of each attribute, as a numbered table
elements    a tuple (with its slot) as one or a few whole numbers
coins       keyed coins: the same key and data give the same release
"""
