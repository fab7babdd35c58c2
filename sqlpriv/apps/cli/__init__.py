"""The command line.

main       the table of commands, loaded when they are called; errors and exit codes
options    options that several commands have; printing and writing results
checks     check
policies   init, lattice, hierarchy
releases   plan, publish, verify, show, ledger
find       find
assess     attack, compare, risk, report
query      query, view
serve      serve, mcp
dbt        dbt
macros     sql, docs, install
"""
