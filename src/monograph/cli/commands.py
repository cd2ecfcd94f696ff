"""The commands as typer knows them: names, options, and an example in each help text."""

from __future__ import annotations

from importlib import metadata
from typing import Any, NoReturn

import typer

from monograph.cli import fixing, programs, reading
from monograph.cli.output import say

app = typer.Typer(no_args_is_help=True)
FILE: Any = typer.Argument(help="a .pt2 file, written here or by torch.export")
PLACE: Any = typer.Argument(help="package.module:attribute or file.py:attribute")


def said_version(asked: bool) -> None:
    """Print the version, if it was asked for."""
    if asked:
        say(f"monograph {metadata.version('monograph')}")
        raise typer.Exit


@app.callback()
def options(
    version: bool = typer.Option(
        False, "--version", help="print the version", is_eager=True, callback=said_version
    ),
) -> None:
    """Capture PyTorch programs, and look at, verify, compare and convert them."""
    del version  # its callback has answered


def end(status: int) -> NoReturn:
    """Leave with an exit status.

    Raises: typer.Exit.
    """
    raise typer.Exit(status)


@app.command()
def export(
    place: str = PLACE,
    output: str = typer.Option(..., "--output", "-o", help="the .pt2 file that is written"),
    dynamic: str | None = typer.Option(None, help='sizes that vary: "x: batch, 4"'),
    report: str | None = typer.Option(None, help="problems as .html, .json, .sarif or .txt"),
    strict: bool = typer.Option(default=False, help="interpret all Python"),
) -> None:
    """Export what a factory gives: (module, args), or with kwargs and dynamic_shapes.

    monograph export model.py:make -o model.pt2 --dynamic "x: batch, 4"
    """
    end(programs.export(place, output, dynamic=dynamic, strict=strict, report=report))


@app.command()
def fix(
    place: str = typer.Argument(help="a script that exports, or file.py:factory"),
    dynamic: str | None = typer.Option(None, help='sizes that vary: "x: batch, 4"'),
    yes: bool = typer.Option(False, "--yes", "-y", help="apply without asking"),
    assume: bool = typer.Option(default=False, help="also what states something of all inputs"),
    dry_run: bool = typer.Option(False, "--dry-run", help="show the diffs, change nothing"),
    plain: bool = typer.Option(False, "--plain", help="run Python as it is (strict=False)"),
) -> None:
    """Apply the edits that refusals offer, as diffs to accept, until the model exports.

    Each edit is tried before it is shown, in a process of its own; files are written in the end.

    monograph fix model.py:make --dynamic "x: batch, 4" --dry-run
    """
    end(
        fixing.fix(
            place,
            ask=typer.confirm,
            dynamic=dynamic,
            strict=not plain,
            yes=yes,
            assume=assume,
            dry_run=dry_run,
        )
    )


@app.command()
def inspect(
    file: str = FILE,
    checksums: bool = typer.Option(default=False, help="read all weights and compare sums"),
    weights: str | None = typer.Option(None, help="where weights lie that are elsewhere"),
) -> None:
    """Print what a file holds: versions, programs, contracts, operators, weights.

    monograph inspect model.pt2
    """
    end(programs.inspect(file, checksums=checksums, weights=weights))


@app.command()
def show(
    file: str = FILE,
    python: bool = typer.Option(default=False, help="as a Python file that runs"),
) -> None:
    """Print the graph of a program and its contract.

    monograph show model.pt2
    """
    end(programs.show(file, python=python))


@app.command()
def run(file: str = FILE) -> None:
    """Call a program on its example inputs, and print what it gives.

    monograph run model.pt2
    """
    end(programs.run(file))


@app.command()
def verify(
    file: str = FILE,
    module: str | None = typer.Option(None, help="package.module:attribute of its module"),
    samples: int = typer.Option(20, help="how many legal calls are tried"),
    seed: int = typer.Option(0, help="of the random generator that draws them"),
    json: bool = typer.Option(default=False, help="all calls, as JSON"),
) -> None:
    """Call a program and its module with inputs the contract admits, and compare.

    Without --module it is compared with the evidence that its file holds.

    monograph verify model.pt2 --module model.py:make
    """
    end(programs.verify(file, module, samples=samples, seed=seed, as_json=json))


@app.command()
def diff(a: str = FILE, b: str = FILE) -> None:
    """Print in what two programs differ: graph, contract, weights.

    monograph diff old.pt2 new.pt2
    """
    end(programs.diff(a, b))


@app.command()
def convert(
    file: str = FILE,
    output: str = typer.Option(..., "--output", "-o", help="the file that is written"),
    to: str = typer.Option("onnx", help=f"one of {', '.join(programs.TARGETS)}"),
) -> None:
    """Hand a program over to another system.

    monograph convert model.pt2 --to onnx -o model.onnx
    """
    end(programs.convert(file, output, to=to))


@app.command()
def explain(name: str = typer.Argument(help="the name in the brackets of a message")) -> None:
    """Print the page of an error name.

    monograph explain contract-broken
    """
    end(reading.explain(name))


WORDS: Any = typer.Argument(None, help="words that a case has")


@app.command()
def examples(
    words: list[str] = WORDS,
    tag: str | None = typer.Option(None, help="such as torch.cond"),
    unsupported: bool = typer.Option(default=False, help="refused ones alone"),
) -> None:
    """List small programs that show one feature each.

    monograph examples optional input
    """
    end(reading.examples(" ".join(words or ()), tag=tag, unsupported=unsupported))


@app.command()
def doctor() -> None:
    """Check the installation: versions, private names of torch, a program there and back.

    monograph doctor
    """
    end(reading.doctor())


__all__ = ["app"]
