"""`python -m hekla`: the same as the command."""

from hekla.cli.main import main

main()
