"""Bags: rows kept by coins, and geometric noise on every tuple of the domain, in the table or not.

A release of a table with equal rows shows how often a tuple occurs, so the bound has to be about a person's row
whatever the counts: the odds of any statement about one row change by at most a factor, also for someone who knows all
others. That is differential privacy. In a signed bag all rows stay and the noise goes both ways; the planner takes
whichever makes the smaller error. docs/bags.md has the proof, bag.sql and signed_bag.sql the formulas.
"""
