"""`python -m agspec_tui` is `agspec-tui`."""

from agspec_tui.cli.main import main

if __name__ == "__main__":
    main()
