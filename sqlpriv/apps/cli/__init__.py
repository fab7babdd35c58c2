"""The command line.

main       the table of commands, loaded when they are called; errors and exit codes
options    options that several commands have; printing and writing results
checks     check
policies   init, lattice, hierarchy
releases   plan, publish, verify, show, ledger
attack, compare, risk, report, query, serve, views, dbt, mcp    the command of that name; views: view
macros     sql, docs, install
"""
