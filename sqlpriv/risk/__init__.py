"""Disclosure risk, and the optimal disclosure of large tables.

`sqlpriv risk` measures what a table loses against dictionaries, by the macros of sql/risk:

    dictionaries   a dictionary that an attacker may hold, and what it knows of a column
    request        the columns, weights and dictionaries to measure, opened as tables
    measure        the figures, the points of the charts, and both for people and machines

`sqlpriv find` says by which columns people can be found, by the macros of sql/risk/uniqueness.sql:

    uniqueness     the sets of columns that are measured, in steps that take any table
    find           the findings, for people and machines

What a reader learns who looks at all groups of a release in which people and values are published apart:

    learned          the model, fitted to the release alone, and what it believes
    permutations     all ways to hand out the values of a group
    learned_figures  how often the guesses are right, and whether that breaks a promise

The method `disclose` needs the answer of priv.optimal_disclosure on tables that are too large for the macro:

    optimal        the search for the best choice of each record, in passes
    coding         cells and nodes of hierarchies as numbers
    counts         consistent entries at any depths
    choices        choices, the three goals as their order, and the loss of each
    minimax        choices whose largest mean loss, over several dictionaries, is small
"""
