"""Ordinary SQL over a private table, rewritten into estimators over its release.

It is given the text of a query and a Release (release.py), and returns an Answer: the SQL to run, and its columns. How
a query goes through it:

1. It is parsed, with its parameters replaced by values, and ways of writing the same are spelt alike (bind/parse).
2. It is read from the outside in (query). FROM becomes rows that are joined, filtered and projected, with subqueries
   merged into them (bind/sources), and every column becomes variable.column (bind/expressions). Public tables are read
   by themselves (bind/public_queries). A sum over an answer becomes one over the rows below it (bind/flatten). GROUP BY
   becomes a list of grouping sets (grouped).
3. Each expression over aggregates gets a form, such as a combination of sums or the ratio of two
   (estimate/form_builder). Quantiles and histograms are read off the counts of each value (by_value).
4. What the forms need is summed, and from the sums come their values and bounds, for each kind of release in its own
   way. With noise, sums are over the view, and over the domain without enumerating it (estimate/noisy_sums,
   domain/sums, estimate/noisy_bounds). Without noise, they are over all tables that the release may stand for
   (estimate/classes, estimate/hard_bounds).
5. The SELECT list, HAVING, ORDER BY and LIMIT are written over these (clauses), for queries over rows (grouped) and for
   queries over answers (answers). What is public is answered as it is (public_answers). What no sum over rows stands
   for, such as the largest of several counts, is evaluated over the estimates of answers (on_estimates).

What no step knows is refused (bind/refusals). Each line imports only from those above it:

    release, syntax, aggregates                     what is known of a release, of a tree, and of aggregates
    domain, bind                                    sums over the domain; what names stand for; neither knows the other
    estimate                                        sums, forms and bounds
    clauses, by_value, public_answers, grouped, answers, on_estimates, query    the query as a whole
"""
