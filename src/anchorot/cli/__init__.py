"""The command line: parse, call, print."""

from typing import Annotated

import typer

import anchorot as ao
from anchorot.cli.compare import compare
from anchorot.cli.convert import cache_app, config, convert
from anchorot.cli.demo import demo
from anchorot.cli.duplicates import duplicates
from anchorot.cli.many import barycenter, embed, pairwise
from anchorot.cli.match import match
from anchorot.cli.output import run
from anchorot.cli.search import app as search_app
from anchorot.cli.two_sample import AgainstManyFiles, two_sample

app = typer.Typer(
    name="anchorot",
    help="Compare and match shapes, graphs, cells and embeddings that share no coordinates.",
    epilog="Example: [bold]anchorot compare cat.off graph.graphml[/]",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command(epilog="Example: [bold]anchorot compare cat0.mat dog0.mat --n-points 500[/]")(compare)
app.command(epilog="Example: [bold]anchorot match cat0.mat cat1.mat --n-points 500 --report cats.html[/]")(match)
app.command(epilog="Example: [bold]anchorot pairwise shapes/*.off --n-points 200 -o D.npz --picture D.png[/]")(pairwise)
app.command(epilog="Example: [bold]anchorot duplicates crystals/ --threshold 0.01 --types element[/]")(duplicates)
app.command(epilog="Example: [bold]anchorot convert scans/*.ply --n-points 500 -o spaces[/]")(convert)
app.command(epilog="Example: [bold]anchorot embed shapes/*.off --n-points 200 -o E.npz[/]")(embed)
app.add_typer(search_app, name="search", epilog="Example: [bold]anchorot search query shapes.index cat3.off -k 5[/]")
app.command(
    name="test",
    cls=AgainstManyFiles,
    epilog="Example: [bold]anchorot test real/*.graphml --against model/*.graphml --statistic clustering[/]",
)(two_sample)
app.command(epilog="Example: [bold]anchorot barycenter digits/ --kind points --support 80 -o mean.csv[/]")(barycenter)
app.add_typer(cache_app, name="cache", epilog="Example: [bold]anchorot cache info[/]")
app.command(epilog="Example: [bold]anchorot demo --output shapes.png[/]")(demo)
app.command(epilog="Example: [bold]anchorot config --json[/]")(config)


def _version(is_given: bool) -> None:
    if is_given:
        print(ao.__version__)
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    pass


def main() -> None:
    """Run the command line; bad input ends in one line on standard error and status 2."""
    run(app)
