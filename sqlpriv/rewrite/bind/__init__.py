"""What a query means before anything is estimated: its tree, what its names stand for, and which rows it aggregates.

`names` owns what all of it shares. Nothing here knows of forms, sums or intervals.

    parse, parameters       the tree, with the values of parameters in it
    postgres                the same of what is written in PostgreSQL's SQL
    time_of_asking          now() and series, as constants
    lengths                 how long its texts can be
    refusals, functions     what may not stand in it, and what may
    relations               what is read and shown
    names                   what an expression can see, and what it is called
    catalog                 which tables and columns there are
    labels                  columns that are published in ranges, said by name
    expressions, sources    columns and tables, resolved
    public_queries          queries over public tables alone
    joins                   outer joins and unions, as inner joins with public relations
    chosen_groups           groups that a query chooses by its own estimates, as conditions
    two_steps               queries over rows as queries over the answers of others
    flatten                 sums over an answer, as sums over the rows below it
    below_answers           queries over answers, as queries over rows
"""
