"""`python -m sqlpriv` is the command line."""

from sqlpriv.apps.cli.main import main

main()
