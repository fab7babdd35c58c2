"""The ways to protect a table, a folder each; generalized/, split/ and noisy/ hold what several of them share.

A method is added by its folder, one line here, its page in docs/ and its tests.
"""

from sqlpriv.methods import (
    alpha_beta,
    anatomy,
    disclose,
    frapp,
    generalize,
    hilbert,
    mondrian,
    noisy_counts,
    sdgs,
    slicing,
)
from sqlpriv.methods.method import Methods

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
