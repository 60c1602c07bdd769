"""`python -m vacate` is the `vacate` command."""

from vacate.cli.main import main

main()
