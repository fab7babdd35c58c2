"""Sums over the whole domain, without enumerating it. Knows variables and expressions, and nothing of queries.

variables    the relations whose product is summed over
formulas     SQL's three-valued logic as two-valued formulas
products     a value as a sum of products
factors      what is summed: conditions, groups and values as factors
eliminate    in which order, and what it costs
sql          the elimination as SQL
sums         all of it: sums over the domain, or the refusal of what costs too much
"""
