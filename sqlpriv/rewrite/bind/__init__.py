"""What a query means before anything is estimated: its tree, what its names stand for, and which rows it aggregates.

`names` owns what all of it shares. Nothing here knows of forms, sums or intervals.

    parse, parameters, spelling              the tree
    refusals, functions                      what may not stand in it, and what may
    relations, scope, names                  what is read and shown, what can be seen, and what it is called
    expressions, sources                     columns and tables, resolved
    public_subquery, public_relations        queries over public tables alone
    catalog                                  which tables and columns there are
    chosen                                   groups that a query chooses by its own estimates, as conditions
    outer_joins, united_rows                 joins and unions, as inner joins with public relations
    joined_answers                           outer joins of answers
    scalar_select, flatten, below_answers    queries over answers, as queries over rows
    group_sets                               what is grouped by
"""
