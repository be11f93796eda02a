"""The command line: parse, call, print."""

import json
import sys
import time
from pathlib import Path
from typing import Annotated, NoReturn

import typer

import anchorot as ao

app = typer.Typer(
    name="anchorot",
    help="Compare probability measures that live in different spaces, exactly and fast.",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
)

JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of a table.")]


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(ao.__version__)
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and leave.")
    ] = False,
) -> None:
    pass


@app.command(epilog="Example: [bold]anchorot compare one.npz two.csv[/]")
def compare(
    a: Annotated[Path, typer.Argument(help="First space: .npz, .npy, .csv or .txt.", show_default=False)],
    b: Annotated[Path, typer.Argument(help="Second space.", show_default=False)],
    p: Annotated[int, typer.Option(help="Power of the cost.", min=1)] = 1,
    points: Annotated[bool, typer.Option("--points", help="The files hold points, one a row, not costs.")] = False,
    metric: Annotated[str, typer.Option(help="Distance between points, any of SciPy's.")] = "euclidean",
    threads: Annotated[int, typer.Option(help="Threads to compute with.", min=1)] = 1,
    as_json: JsonOption = False,
) -> None:
    """Anchor Energy between two spaces read from files, of their costs and of their ranks."""
    start = time.perf_counter()
    x, y = (ao.read(path, points=points, metric=metric) for path in (a, b))
    seconds = {"read": time.perf_counter() - start}
    values = {}
    for name, robust in (("anchor_energy", False), ("robust_anchor_energy", True)):
        start = time.perf_counter()
        values[name] = ao.anchor_energy(x, y, p, robust, threads=threads)
        seconds[name] = time.perf_counter() - start
    if as_json:
        typer.echo(json.dumps({"a": str(a), "b": str(b), "n": x.n, "m": y.n, "p": p, **values, "seconds": seconds}))
        return
    from rich.console import Console
    from rich.table import Table

    table = Table(title=f"{a.name} ({x.n} points) and {b.name} ({y.n} points), p = {p}", title_justify="left")
    table.add_column("")
    table.add_column("value", justify="right")
    table.add_column("seconds", justify="right", style="dim")
    table.add_row("reading", "", f"{seconds['read']:.3f}")
    for name, value in values.items():
        table.add_row(name.replace("_", " "), f"[bold]{value:.9g}[/]", f"{seconds[name]:.3f}")
    Console().print(table)


@app.command(epilog="Example: [bold]anchorot demo --output shapes.png[/]")
def demo(
    output: Annotated[Path, typer.Option("--output", "-o", help="The picture to write.")] = Path("anchorot-demo.png"),
    n_points: Annotated[int, typer.Option(help="Points of each shape.", min=6, max=2000)] = 150,
    seed: Annotated[int, typer.Option(help="Seed of the random shapes and graphs.", min=0)] = 0,
    as_json: JsonOption = False,
) -> None:
    """Compare shapes and graphs of several kinds and sizes; needs no files and no network."""
    from anchorot import demo as demonstration
    from anchorot.plot import new_figure

    new_figure(1, 1)  # a missing matplotlib should be told before the work, not after
    if not output.resolve().parent.is_dir():
        raise ao.InputError(f"{output}: there is no folder {output.resolve().parent}")
    examples, comparisons = demonstration.run(n_points, seed)
    demonstration.draw(examples, comparisons, output)
    hits = {c.name: sum(demonstration.same_kind(examples, c)) for c in comparisons}
    pairs = len(examples) * (len(examples) - 1) // 2
    if as_json:
        found = {
            c.name: {"same_kind": hits[c.name], "seconds": c.seconds, "distances": c.distances.tolist()}
            for c in comparisons
        }
        names = [example.name for example in examples]
        typer.echo(json.dumps({"examples": names, "pairs": pairs, "picture": str(output), **found}))
        return
    from rich.console import Console
    from rich.table import Table

    console = Console()
    table = Table(title=f"nearest neighbour of each of {len(examples)} shapes and graphs", title_justify="left")
    table.add_column("space")
    for comparison in comparisons:
        table.add_column(f"by {comparison.name}")
    nearest = [comparison.nearest() for comparison in comparisons]
    for i, example in enumerate(examples):
        others = [examples[found[i]] for found in nearest]
        cells = [f"[{'green' if other.kind == example.kind else 'red'}]{other.name}[/]" for other in others]
        table.add_row(example.name, *cells, end_section=i + 1 < len(examples) and examples[i + 1].kind != example.kind)
    console.print(table)
    for comparison in comparisons:
        console.print(
            f"{comparison.name}: nearest of the same kind for [bold]{hits[comparison.name]} of {len(examples)}[/]; "
            f"{pairs} pairs in {comparison.seconds:.2f} s"
        )
    console.print(f"picture: [bold]{output}[/]")


@app.command(epilog="Example: [bold]anchorot config[/]")
def config(as_json: JsonOption = False) -> None:
    """Which kernels and versions are in use."""
    from anchorot.config import config as found

    if as_json:
        typer.echo(json.dumps(found()))
    else:
        ao.show_config()


def main() -> None:
    """Run the command line; bad input ends in one line on standard error and status 2."""
    try:
        app()
    except ao.AnchorotError as error:
        _leave(str(error))
    except OSError as error:
        _leave(f"{error.filename}: {error.strerror}" if error.filename is not None else str(error))


def _leave(message: str) -> NoReturn:
    print(f"anchorot: {message}", file=sys.stderr)
    sys.exit(2)
