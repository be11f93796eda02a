"""Clusters that commands compute on."""

import logging
from contextlib import nullcontext
from typing import Annotated, Any

import typer

import anchorot as ao

DaskOption = Annotated[
    str | None, typer.Option("--dask", help="Address of a Dask scheduler to compute on.", show_default=False)
]


def dask_client(address: str | None) -> Any:
    """A context that gives a client of the scheduler at an address, or None if there is no address."""
    if address is None:
        return nullcontext()
    try:
        from distributed import Client
    except ImportError:
        raise ao.MissingExtraError("distributed", "dask") from None
    logging.disable(logging.ERROR)  # Dask logs tracebacks of what commands say in one line
    try:
        return Client(address, timeout=10)  # type: ignore[no-untyped-call]
    except (OSError, ValueError) as error:
        raise ao.InputError(f"no Dask scheduler answers at {address} ({error})") from None
