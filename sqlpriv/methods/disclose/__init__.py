"""Disclosure: every cell at the level that best balances the risk of its record against its utility.

The framework is that of Lebanon, Scannapieco, Fouad and Bertino (2009). Sections, propositions and equations in these
modules are theirs.

keys              kinds of values in a policy: weights, pairs, personal weights, dictionaries
policy            the keys of a policy
attributes        columns, hierarchies and weights, as tables for the macros of risk
entries           the dictionaries, as tables
personal_weights  people's own weights, as a table
candidates        the choices of each record that may be best
choose            the best choice of each record
sweep             risk and utility at other thresholds
independent       the closed form for independent attributes, for comparison
losses            the risk of given rows, by other macros than those that chose them
plan              a release that could be made
wording           its sentences
write             the file, and its comparison with the private table
verify            judging a release from its file
verify_risk       judging its risk, where the policy names the dictionary
method            the method
"""

from sqlpriv.methods.disclose.method import METHOD as METHOD
