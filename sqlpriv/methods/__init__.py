"""The ways to protect a table, by family; each family holds what its methods share, and a folder for each of them.

generalized/    labels in place of values: generalize, mondrian, hilbert
noisy/          rows among random noise: noisy_counts, alpha_beta, frapp
split/          columns published apart from each other: anatomy, slicing
sdgs/           a random sample, generalized
disclose/       of each record as much as its risk allows
method          the base class of all
records         what attacks read of a release
recheck         what anybody can run on a release to judge it again
learned         what a reader of the whole file learns
lattice         the nodes of a search; charts: what can be drawn of a plan

A method is added by its folder, one line here, its page in docs/ and its tests.
"""

from sqlpriv.methods import disclose, sdgs
from sqlpriv.methods.generalized import generalize, hilbert, mondrian
from sqlpriv.methods.method import Methods
from sqlpriv.methods.noisy import alpha_beta, frapp, noisy_counts
from sqlpriv.methods.split import anatomy, slicing

METHODS: Methods = {
    m.name: m
    for m in (
        generalize.METHOD,
        mondrian.METHOD,
        hilbert.METHOD,
        sdgs.METHOD,
        noisy_counts.METHOD,
        alpha_beta.METHOD,
        frapp.METHOD,
        anatomy.METHOD,
        slicing.METHOD,
        disclose.METHOD,
    )
}
