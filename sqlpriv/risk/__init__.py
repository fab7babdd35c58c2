"""Disclosure risk, and the optimal disclosure of large tables.

`sqlpriv risk` measures what a table loses against dictionaries, by the macros of sql/risk:

    dictionaries   a dictionary that an attacker may hold, and what it knows of a column
    request        the columns, weights and dictionaries to measure, opened as tables
    measure        the figures, and the points of the charts
    facts          the figures for people and machines

The method `disclose` needs the answer of priv.optimal_disclosure on tables that are too large for the macro:

    optimal        the steps, one after the other
    coding         cells and nodes of hierarchies as numbers
    counts         consistent entries at any depths
    goals          the three goals, as an order of choices
    record_groups  records with equal depths: their choices and losses
    passes         the search for the best choice of each record
"""
