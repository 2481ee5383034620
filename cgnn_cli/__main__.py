"""`python -m cgnn_cli`: the same as the `cgnn` command."""

from cgnn_cli.commands.main import main

if __name__ == "__main__":
    main()
