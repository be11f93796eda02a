"""What show_config and `anchorot config` report."""

import json

import anchorot as ao
from tests.command_line import anchorot


def test_config_says_which_kernels():
    found = json.loads(anchorot("config", "--json").stdout)
    assert found == ao.config.config()
    numpy = anchorot("config", fresh=True, ANCHOROT_KERNELS="numpy")  # which is read when anchorot is imported
    assert numpy.stdout.splitlines()[1].split() == ["kernels", "numpy"]
