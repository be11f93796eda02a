"""`python -m anchorot`: the command line."""

if __name__ == "__main__":
    from anchorot.cli import main

    main()
