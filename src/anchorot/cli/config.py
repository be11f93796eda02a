"""`anchorot config`: which anchorot this is."""

import anchorot as ao
from anchorot.cli.options import JsonOption
from anchorot.cli.output import print_json


def config(as_json: JsonOption = False) -> None:
    """Which kernels and versions are in use."""
    from anchorot.config import config as found

    if as_json:
        print_json(found())
    else:
        ao.show_config()
