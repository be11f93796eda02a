"""Put the results of the experiments into README and docs: `python -m experiments.fill`."""

from experiments.common.filling import Results, fill
from experiments.common.runner import CHECKOUT, HERE, NAMES


def main() -> None:
    """Fill all pages, and say which changed."""
    for path in fill(CHECKOUT, Results(HERE / "results", NAMES)):
        print(f"filled {path.relative_to(CHECKOUT)}")


if __name__ == "__main__":
    main()
