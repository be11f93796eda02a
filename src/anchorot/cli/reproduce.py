"""`anchorot reproduce`: where the paper's experiments are. They are no part of the package, which executes none."""

import typer

import anchorot as ao


def reproduce(context: typer.Context) -> None:
    """Say how to run the experiments of the paper: from a checkout, as they are not installed."""
    raise ao.InputError(
        "the experiments of the paper are not installed: run `python -m experiments all` in a checkout of anchorot, "
        "or `python -m experiments --help` for the rest"
    )
