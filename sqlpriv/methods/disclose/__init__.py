"""Disclosure: of every record as much as is best, by its risk against a dictionary and its utility.

The framework is that of Lebanon, Scannapieco, Fouad and Bertino (2009). Sections, propositions and equations in these
modules are theirs.

keys        what the keys of a policy may be
policy      what a policy may say
entries     what the attacker holds
dictionary  the attributes as the macros of risk have them
minds       people's own weights
priced      what rows lose, by other macros than those that chose them
offers      all choices that are worth making
choose      the best level of every cell
sweep       what other thresholds would give
independent the closed form for independent attributes, to be compared
plan        a release that could be made
told        what is told of it
write       the file, and comparing it with the private table
verify      judging a release from its file
verify_risk its risk, where the policy brings the dictionary
method      all of it as a method
"""

from sqlpriv.methods.disclose.method import METHOD as METHOD
