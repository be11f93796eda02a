"""What every wheel must do where it is installed: hold the C++ kernels and the data, and compute with them."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np

import anchorot

TWO_POINTS = np.array([[0.0, 1.0], [1.0, 0.0]])


def main() -> None:
    """Fail unless the C++ kernels are there, agree with NumPy's, and the command works."""
    anchorot.config.show_config()
    assert anchorot.config.config()["kernels"].startswith("native"), "the C++ kernels are not in the wheel"
    # on half of all levels all mass lies at 1 against 2: twice 1/2
    assert anchorot.anchor_energy(TWO_POINTS, 2 * TWO_POINTS) == 1.0
    assert _energy_by("native") == _energy_by("numpy")
    assert len(anchorot.datasets.neurons()) == 5, "the neurons are not in the wheel"
    command = [str(Path(sys.executable).parent / "anchorot"), "--help"]
    assert subprocess.run(command, capture_output=True, check=True).stdout


def _energy_by(kernels: str) -> str:
    program = "import anchorot, numpy as np; r = np.random.default_rng(0).random; s = anchorot.from_points; "
    program += "print(round(anchorot.anchor_energy(s(r((50, 3))), s(r((60, 2)))), 12))"
    environment = {**os.environ, "ANCHOROT_KERNELS": kernels}
    command = [sys.executable, "-I", "-c", program]
    return subprocess.run(command, env=environment, capture_output=True, check=True, text=True).stdout


if __name__ == "__main__":
    main()
