"""The SQL macros, the one source of every check: one concept a file, packaged as `sqlpriv.sql`.

base.sql    helpers that all others use
checks/     what a table reveals of its people, and what it is still good for
operators/  tables made from tables: hierarchies, generalization, buckets, keyed noise
estimates/  randomized releases: parameters, guarantees, weights, and answers with bounds
risk/       what an attacker gains by linking or reasoning, and what that costs
"""
