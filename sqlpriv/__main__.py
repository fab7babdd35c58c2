"""`python -m sqlpriv` is the command line."""

from sqlpriv.doors.cli.main import main

main()
