"""The ways to protect a table, a folder each; randomized/ holds what the randomized ones share.

A method is added by its folder, one line here, its page in docs/ and its tests.
"""

from sqlpriv.methods import alpha_beta, frapp, generalize, mondrian, sdgs
from sqlpriv.methods.method import Methods

METHODS: Methods = {
    m.name: m for m in (generalize.METHOD, mondrian.METHOD, alpha_beta.METHOD, frapp.METHOD, sdgs.METHOD)
}
