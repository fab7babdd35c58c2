"""Disclosure: every cell at the level that best balances the risk of its record against its utility.

The framework is that of Lebanon, Scannapieco, Fouad and Bertino (2009). Sections, propositions and equations in these
modules are theirs.

policy        the keys of a policy: weights, pairs, personal weights, dictionaries, the goal
risk_tables   hierarchies, weights and dictionaries as tables for the macros of risk
choose        the best choice of each record
alternatives  other thresholds, and the closed form for independent attributes, for comparison
plan          a release that could be made
wording       its sentences
write         the file, and its comparison with the private table
verify        judging a release from its file, its risk where the policy names the dictionary
method        the method
"""

from sqlpriv.methods.disclose.method import METHOD as METHOD
