"""Put the results of the experiments into RESULTS.md, README and docs: `python -m experiments.fill`."""

from experiments.common.code import CHECKOUT, HERE
from experiments.common.filling import Results, fill
from experiments.common.page import write_page
from experiments.common.rules import NAMES


def main() -> None:
    """Make the page of results from the answers, fill all other pages, and say which changed."""
    write_page(HERE / "results", list(NAMES))
    for path in fill(CHECKOUT, Results(HERE / "results", NAMES)):
        print(f"filled {path.relative_to(CHECKOUT)}")


if __name__ == "__main__":
    main()
