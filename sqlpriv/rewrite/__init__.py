"""Ordinary SQL over a private table, rewritten into estimators over its release.

A query is parsed, and what can be written in two ways is spelt in one (bind/parse, bind/spelling). It is read from the
outside in (query), and its names are bound: FROM becomes rows that are joined, filtered and projected, with subqueries
merged into them (bind/sources), and every column becomes variable.column (bind/expressions); public tables are read by
themselves (bind/public_relations), and a sum over an answer is flattened into one over the rows below that answer
(bind/flatten). GROUP BY becomes a list of grouping sets (bind/group_sets). Each expression over aggregates gets a form,
such as a combination of sums or the ratio of two (estimate/forms_of). What the forms need is summed over the view, and
over the domain without enumerating it (estimate/sums, domain/sums). From the sums come the values of the forms and
their bounds (estimate/bounds). The SELECT list, HAVING, ORDER BY and LIMIT are written over these (clauses), for
queries over rows (grouped) and for queries over answers (answers). Quantiles and histograms are read off the counts of
each value, beside the sums (by_value). Where the release threw no coins, the sums and their bounds are those over all
tables that it may stand for (estimate/hard_sums, estimate/hard_bounds), and all else is the same. What is public is
answered as it is (asides, extremes). What no layer knows is refused (bind/refusals).

Each layer imports only from those above it in this list, and no module from itself in a circle:

    release, public_facts, syntax       what is known of a release, and what is asked of a tree
    domain, bind                        sums over the domain; what names stand for; neither knows the other
    estimate                            sums, forms and bounds
    clauses; by_value; asides, extremes, grouped, answers; query    the query as a whole
"""
