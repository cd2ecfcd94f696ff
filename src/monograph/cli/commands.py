"""The commands as typer knows them: names, options, and an example in each help text."""

from __future__ import annotations

from functools import partial
from typing import Any, NoReturn

import typer

from monograph.cli import fixing, planning, programs, reading, sweeping
from monograph.cli.output import quiet, say
from monograph.diagnostics import page_names
from monograph.lazy_imports import deferred

STATUS = "Exit status: 0 as it should be; 1 refused or different; 2 not there, or not understood."
_version = deferred("importlib.metadata:version")
app = typer.Typer(no_args_is_help=True, pretty_exceptions_show_locals=False, epilog=STATUS)
verb = partial(app.command, epilog=STATUS)
JSON: Any = typer.Option(False, "--json", help="the answer as JSON")
PLAIN: Any = typer.Option(True, "--strict/--plain", help="interpret Python, or run it as it is")
FILE: Any = typer.Argument(help="a .pt2 file, written here or by torch.export")
CONFIG: Any = typer.Option([], help="a setting of its configuration: name=value")
ENTRY: Any = typer.Option(None, help="of several programs in the file: its name")
HTML: Any = typer.Option(None, help="the graph as a page that loads nothing")
PLACE: Any = typer.Argument(help="package.module:attribute or file.py:attribute")


def said_version(asked: bool) -> None:
    """Print the version, if it was asked for."""
    if asked:
        say(f"monograph {_version('monograph')}")
        raise typer.Exit


@app.callback()
def options(
    version: bool = typer.Option(
        False, "--version", help="print the version", is_eager=True, callback=said_version
    ),
    quietly: bool = typer.Option(False, "--quiet", "-q", help="no progress, no notes"),
) -> None:
    """Capture PyTorch programs, and look at, verify, compare and convert them.

    monograph -q export model.py:make -o model.pt2
    """
    del version  # its callback has answered
    quiet(quietly)


def _starting_with(names: tuple[str, ...], begun: str) -> list[str]:
    return [name for name in names if name.startswith(begun)]


def names_of_pages(incomplete: str) -> list[str]:
    """Error names, for the completion of shells."""
    return _starting_with(page_names(), incomplete)


def names_of_targets(incomplete: str) -> list[str]:
    """What programs are converted to, for the completion of shells."""
    return _starting_with(programs.TARGETS, incomplete)


def end(status: int) -> NoReturn:
    """Leave with an exit status.

    Raises: typer.Exit.
    """
    raise typer.Exit(status)


@verb()
def export(
    place: str | None = typer.Argument(None, help="package.module:attribute or file.py:attribute"),
    output: str = typer.Option(..., "--output", "-o", help="the .pt2 file that is written"),
    dynamic: str | None = typer.Option(None, help='sizes that vary: "x: batch, 4"'),
    transformers: str | None = typer.Option(None, help="a class of transformers, in its place"),
    config: list[str] = CONFIG,
    report: str | None = typer.Option(None, help="problems as .html, .json, .sarif or .txt"),
    strict: bool = PLAIN,
    check: bool = typer.Option(False, "--verify", help="compare with the module, keep evidence"),
    json: bool = JSON,
) -> None:
    """Export what a factory gives: (module, args), or with kwargs and dynamic_shapes.

    monograph export model.py:make -o model.pt2 --dynamic "x: batch, 4"

    monograph export --transformers BertModel --config num_hidden_layers=2 -o bert.pt2
    """
    if (place is None) == (transformers is None):
        raise typer.BadParameter("name a factory, or a class with --transformers")
    end(
        programs.export(
            place or transformers or "",
            output,
            dynamic=dynamic,
            strict=strict,
            report=report,
            config=None if transformers is None else config,
            check=check,
            as_json=json,
        )
    )


@verb()
def report(
    place: str = PLACE,
    output: str | None = typer.Option(None, "--output", "-o", help=".html, .json, .sarif or .txt"),
    dynamic: str | None = typer.Option(None, help='sizes that vary: "x: batch, 4"'),
    strict: bool = PLAIN,
    json: bool = JSON,
) -> None:
    """Say everything that stands in the way of an export, and where its time goes.

    monograph report model.py:make -o problems.html
    """
    end(programs.report(place, output, dynamic=dynamic, strict=strict, as_json=json))


@verb()
def fix(
    place: str = typer.Argument(help="a script that exports, or file.py:factory"),
    dynamic: str | None = typer.Option(None, help='sizes that vary: "x: batch, 4"'),
    yes: bool = typer.Option(False, "--yes", "-y", help="apply without asking"),
    assume: bool = typer.Option(default=False, help="also what states something of all inputs"),
    dry_run: bool = typer.Option(False, "--dry-run", help="show the diffs, change nothing"),
    strict: bool = PLAIN,
    json: bool = JSON,
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
            strict=strict,
            yes=yes,
            assume=assume,
            dry_run=dry_run,
            as_json=json,
        )
    )


@verb()
def inspect(
    file: str = FILE,
    checksums: bool = typer.Option(default=False, help="read all weights and compare sums"),
    weights: str | None = typer.Option(None, help="where weights lie that are elsewhere"),
    json: bool = JSON,
) -> None:
    """Print what a file holds: versions, programs, contracts, operators, weights.

    monograph inspect model.pt2
    """
    end(programs.inspect(file, checksums=checksums, weights=weights, as_json=json))


@verb()
def show(
    file: str = FILE,
    python: bool = typer.Option(default=False, help="as a Python file that runs"),
    entry: str | None = ENTRY,
    json: bool = JSON,
    html: str | None = HTML,
) -> None:
    """Print the graph of a program and its contract, or draw it.

    monograph show model.pt2

    monograph show model.pt2 --html model.html
    """
    end(programs.show(file, python=python, entry=entry, as_json=json, html=html))


@verb()
def run(
    file: str = FILE,
    on: str | None = typer.Option(None, help="a file called in its place: .onnx, .xml, .pte, .pt2"),
    entry: str | None = ENTRY,
    json: bool = JSON,
) -> None:
    """Call a program on its example inputs, and print what it gives.

    monograph run model.pt2

    monograph run model.pt2 --on model.onnx
    """
    end(programs.run(file, on=on, entry=entry, as_json=json))


@verb()
def verify(
    file: str = FILE,
    module: str | None = typer.Option(None, help="package.module:attribute of its module"),
    handed_over: str | None = typer.Option(None, help=".onnx, .xml, .pte or .pt2 in its place"),
    samples: int = typer.Option(20, help="how many legal calls are tried"),
    seed: int = typer.Option(0, help="of the random generator that draws them"),
    entry: str | None = ENTRY,
    json: bool = typer.Option(default=False, help="all calls, as JSON"),
    html: str | None = typer.Option(None, help="all calls, as a page"),
) -> None:
    """Call a program and its module with inputs the contract admits, and compare.

    Without --module it is compared with the evidence that its file holds.

    monograph verify model.pt2 --module model.py:make

    monograph verify model.pt2 --handed-over model.onnx
    """
    given: dict[str, Any] = {"samples": samples, "seed": seed, "entry": entry}
    end(programs.verify(file, module, handed_over=handed_over, as_json=json, html=html, **given))


SIZES: Any = typer.Option([], "--at", help="a size: name=number")


@verb()
def estimate(
    file: str = FILE,
    at: list[str] = SIZES,
    device: str | None = typer.Option(None, help="for a roofline: 312e12,2e12,80e9"),
    json: bool = JSON,
) -> None:
    """Print what a call of a program needs: parameters, FLOPs, bytes, and peak memory.

    monograph estimate model.pt2 --at batch=8
    """
    end(planning.estimate(file, at=at, device=device, as_json=json))


@verb()
def diff(a: str = FILE, b: str = FILE, json: bool = JSON, html: str | None = HTML) -> None:
    """Print in what two programs differ: graph, contract, weights; or draw both.

    monograph diff old.pt2 new.pt2

    monograph diff old.pt2 new.pt2 --html both.html
    """
    end(programs.diff(a, b, as_json=json, html=html))


@verb()
def convert(
    file: str = FILE,
    output: str = typer.Option(..., "--output", "-o", help="the file that is written"),
    to: str = typer.Option(
        "onnx", help=f"one of {', '.join(programs.TARGETS)}", autocompletion=names_of_targets
    ),
    entry: str | None = ENTRY,
    json: bool = JSON,
) -> None:
    """Hand a program over to another system.

    monograph convert model.pt2 --to onnx -o model.onnx
    """
    end(programs.convert(file, output, to=to, entry=entry, as_json=json))


@verb()
def explain(
    name: str = typer.Argument(
        help="the name in the brackets of a message", autocompletion=names_of_pages
    ),
    json: bool = JSON,
) -> None:
    """Print the page of an error name.

    monograph explain contract-broken
    """
    end(reading.explain(name, as_json=json))


@verb()
def minify(
    place: str = PLACE,
    output: str | None = typer.Option(None, "--output", "-o", help="the script that is written"),
    backend: str = typer.Option("eager", help="what compiles the graphs, such as inductor"),
    accuracy: bool = typer.Option(default=False, help="numbers unlike eager code's fail, too"),
) -> None:
    """Reduce a model that cannot be compiled, or is compiled wrongly, to a small script.

    monograph minify model.py:make --backend inductor --accuracy -o smallest.py
    """
    end(programs.minify(place, output, backend=backend, accuracy=accuracy))


TO: Any = typer.Option([], help="a conversion; may be repeated")


@verb()
def sweep(
    models: str = typer.Argument(help="a list of models: .toml, .py, or a folder of them"),
    folder: str = typer.Option("sweep", "--output", "-o", help="where results and reports go"),
    convert: list[str] = TO,
    exporter: str = typer.Option("monograph", help="torch.export: that beside ours"),
    processes: int | None = typer.Option(None, min=1, help="at once; as many as processors"),
    seconds: float | None = typer.Option(None, help="of processor time a model may take; 600"),
    memory: float | None = typer.Option(None, help="GB a model may take"),
    samples: int | None = typer.Option(None, min=0, help="calls to compare; 8"),
    ray: str | None = typer.Option(None, help="address of a Ray cluster: auto, local, host:port"),
    against: str | None = typer.Option(None, help="the report.json to compare with"),
    only_regressions: bool = typer.Option(default=False, help="what failed before may fail"),
    keep: bool = typer.Option(default=False, help="keep the programs that are written"),
    fresh: bool = typer.Option(default=False, help="do again what was done"),
    json: bool = JSON,
) -> None:
    """Capture, verify, lower and convert a list of models, each in a process of its own.

    Results are kept model by model: the same command goes on where it was ended.
    The exit status is 0 where all models passed or, with --only-regressions, none got worse.

    monograph sweep models.toml --seconds 300 --memory 8 -o sweep
    """
    given = {"seconds": seconds, "memory": memory, "samples": samples, "convert": convert or None}
    end(
        sweeping.sweep(
            models,
            folder,
            exporter=exporter,
            processes=processes,
            ray=ray,
            against=against,
            only_regressions=only_regressions,
            keep=keep,
            fresh=fresh,
            as_json=json,
            **{name: value for name, value in given.items() if value is not None},
        )
    )


WORDS: Any = typer.Argument(None, help="words that a case has")


@verb()
def examples(
    words: list[str] = WORDS,
    tag: str | None = typer.Option(None, help="such as torch.cond"),
    unsupported: bool = typer.Option(default=False, help="refused ones alone"),
    json: bool = JSON,
) -> None:
    """List small programs that show one feature each.

    monograph examples optional input
    """
    text = " ".join(words or ())
    end(reading.examples(text, tag=tag, unsupported=unsupported, as_json=json))


@verb()
def doctor(json: bool = JSON) -> None:
    """Check the installation: versions, private names of torch, a program there and back.

    monograph doctor
    """
    end(reading.doctor(as_json=json))


__all__ = ["app"]
