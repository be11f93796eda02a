"""`python -m anchorot`: the command line."""

from anchorot.cli import main

if __name__ == "__main__":
    main()
