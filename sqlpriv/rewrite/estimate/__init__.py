"""Estimates and their bounds: which sums an expression over aggregates needs, and the SQL that computes them.

    texts            expressions, numbers and formulas as SQL text
    joined_tables    what is joined to the private table, and whether rows count several times
    summands         what an aggregate sums, and the products of that
    sums             the sums of an answer by their numbers, also over several groups of it
    forms            the forms that expressions over sums can have
    form_builder     the form of each expression of a query
    windows          window functions over estimates
    statistics       variances, correlations and regressions
    bounds           the values of forms, and what every kind of bounds has

and for each kind of release its sums and bounds:

    noisy_sums, noisy_bounds    weighted sums over view and domain; confidence intervals
    classes, ranges             the query over classes of rows; columns published in ranges
    hard_bounds                 bounds that hold for certain
    buckets                     the same where columns are published apart
    sampled_bounds              confidence limits around such bounds
"""
