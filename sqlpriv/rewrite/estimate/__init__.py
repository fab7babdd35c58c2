"""Estimates and their bounds: which sums an expression over aggregates needs, and the SQL that computes them.

aggregates, summands    what an aggregate sums, and the products of that
multiplying, signs      what is known of it: whether rows count several times, whether it is ever below 0
parts, sums             the sums over the view and over the domain, in one query
windowed, windows       sums over several groups, and the window functions that are such
statistics              variances, correlations and regressions
forms, arithmetic, forms_of    the forms that expressions over sums can have, and the form of each expression
combined, bounds        the values and bounds of forms
cuts, hard_classes, hard_sums, hard_bounds    the same where no coins were thrown: bounds that hold for certain
sampled_classes, sampled_sums, sampled_bounds    and where rows were sampled: limits around such bounds
intervals, texts        formulas and expressions as SQL
"""
