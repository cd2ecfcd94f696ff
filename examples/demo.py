"""Capture two transformers with varying batch and sequence, and hold the graphs beside the models.

make demo
"""

import re
import statistics
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TaskID, TextColumn
from rich.rule import Rule
from rich.syntax import Syntax
from rich.table import Table
from rich.text import Text
from torch import Tensor

import monograph
from bench.models import Case, gpt_case, llama_case
from monograph.diagnostics import ContractError

WIDTH = 100
HEAD_LINES = 25
ROUNDS = 3
OTHER_SIZES = [(3, 7), (2, 50), (4, 19), (5, 64), (9, 100)]
SIZES = {"batch": (1, 64), "seq": (1, 128)}

console = Console(width=WIDTH, highlight=False)


@dataclass(frozen=True, slots=True)
class Captured:
    """A model, its program, and how long each exporter took, in processor seconds."""

    name: str
    case: Case
    program: monograph.ExportedProgram
    ours: float
    theirs: float


def main() -> None:
    """Tell the story in five parts."""
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    torch.manual_seed(0)
    console.print(f"[bold]monograph[/bold] {monograph.__version__}, torch {torch.__version__}\n")
    gpt = captured("GPT, 12 layers", gpt_case())
    llama = captured("Llama, 4 layers", llama_case())

    section("the program, its first lines")
    show_head(gpt.program)
    section("what a caller must satisfy")
    show_contract(gpt.program)
    section("at other sizes, beside the model")
    compare([gpt, llama])
    section("a call it cannot vouch for")
    show_refusal(gpt)
    section("the time it took")
    show_times([gpt, llama])


# ------------------------------------------------------------------------------------- capturing
def captured(name: str, case: Case) -> Captured:
    """Capture with both exporters, in turns, and show how far that is."""
    dims = {name: monograph.Dim(name, min=low, max=high) for name, (low, high) in SIZES.items()}
    shapes = {
        argument: {axis: dims[dim] for axis, dim in axes.items()}
        for argument, axes in case.axes.items()
    }

    def ours() -> monograph.ExportedProgram:
        return monograph.export(case.module, (), case.kwargs, dynamic_shapes=shapes)

    def theirs() -> object:
        automatic = case.dynamic_shapes(torch.export.Dim.AUTO)
        return torch.export.export(
            case.module, (), case.kwargs, dynamic_shapes=automatic, strict=False
        )

    with steps(f"{name:<16}", 2 + 2 * ROUNDS) as step:
        program = step("capturing", ours)
        step("and with torch.export", theirs)
        taken = [(seconds(step, ours), seconds(step, theirs)) for _ in range(ROUNDS)]
    n_calls = sum(node.op == "call_function" for node in program.graph.nodes)
    console.print(f"[green]captured[/green] {name}: one graph of {n_calls} operator calls")
    return Captured(
        name, case, program, *(statistics.median(column) for column in zip(*taken, strict=True))
    )


def seconds(step: Callable, function: Callable) -> float:
    """Time one capture in processor seconds."""
    start = time.process_time()
    step("timing", function)
    return time.process_time() - start


@contextmanager
def steps(title: str, total: int) -> Iterator[Callable]:
    """Show a bar that moves one step with every function run through the callable given."""
    columns = (
        SpinnerColumn(),
        TextColumn("{task.fields[title]}"),
        BarColumn(30),
        TextColumn("[dim]{task.description}[/dim]"),
    )
    quiet = not console.is_terminal
    with Progress(*columns, console=console, transient=True, disable=quiet) as progress:
        task: TaskID = progress.add_task("", total=total, title=title)

        def step(what: str, function: Callable) -> object:
            progress.update(task, description=what, refresh=True)
            result = function()
            progress.advance(task)
            return result

        yield step


# --------------------------------------------------------------------------------------- showing
def section(title: str) -> None:
    """Begin a part."""
    console.print()
    console.print(Rule(f"[bold]{title}[/bold]", align="left", style="dim"))
    console.print()


def show_head(program: monograph.ExportedProgram) -> None:
    """Print the first lines of the program, each shortened to what a reader needs."""
    lines = [short for line in str(program).splitlines() if (short := shortened(line)).strip()]
    head = "\n".join(lines[:HEAD_LINES])
    console.print(Syntax(head, "python", theme="ansi_light", background_color="default"))
    console.print(f"[dim]… {len(lines) - HEAD_LINES} more lines[/dim]")


def shortened(line: str) -> str:
    """Cut a line of a program: most weights, the file's folders, the values no longer needed."""
    line = line.replace("# No stacktrace found for following nodes", "")
    line = line.replace("torch.ops.aten.", "aten.")
    line = re.sub(r";  [\w = ]+ = None$", "", line)
    line = re.sub(r"# File: \S*/(\S+:\d+) in [^,]+, code: ", r"# \1  ", line)
    if match := re.match(r'(.*\(self, [^,]+, ).*, (\w+: "[^"]*"\):)$', line):
        line = f"{match[1]}…, {match[2]}"
    return line if len(line) <= WIDTH else line[: WIDTH - 1] + "…"


def show_contract(program: monograph.ExportedProgram) -> None:
    """Print the contract as the program words it."""
    console.print(Text(str(program.contract)))


def compare(programs: list[Captured]) -> None:
    """Run every program at five other sizes beside its model."""
    table = Table(box=SIMPLE_HEAD, header_style="bold")
    table.add_column("model", no_wrap=True)
    for column in ("batch", "seq", "result", "largest difference"):
        table.add_column(column, justify="right")
    for captured in programs:
        module = captured.program.module()
        for batch, seq in OTHER_SIZES:
            ids = torch.randint(0, 256, (batch, seq))
            call = dict.fromkeys(captured.case.kwargs, ids)
            with torch.no_grad():
                expected, actual = logits(captured.case.module(**call)), logits(module(**call))
            assert expected.shape == actual.shape
            worst = float((expected - actual).abs().max())
            shape = "f32" + str(list(actual.shape))
            table.add_row(captured.name, str(batch), str(seq), shape, f"{worst:.1e}")
    console.print(table)


def logits(result: object) -> Tensor:
    """Give the logits, plain or as a field."""
    return result if isinstance(result, Tensor) else result.logits


def show_refusal(captured: Captured) -> None:
    """Call with a longer sequence than was declared, and print what comes back."""
    longest = SIZES["seq"][1]
    ids = torch.randint(0, 256, (2, longest + 1))
    console.print(f"[dim]>>> program.module()(ids=torch.randint(0, 256, (2, {longest + 1})))[/dim]")
    try:
        captured.program.module()(ids=ids)
    except ContractError as refusal:
        console.print(Text(str(refusal)))


def show_times(programs: list[Captured]) -> None:
    """Print the medians and their ratio."""
    table = Table(box=SIMPLE_HEAD, header_style="bold")
    table.add_column("capture with varying sizes", no_wrap=True)
    for column in ("monograph ms", "torch.export ms", "ratio"):
        table.add_column(column, justify="right")
    for one in programs:
        ours, theirs = f"{1000 * one.ours:.1f}", f"{1000 * one.theirs:.0f}"
        table.add_row(one.name, ours, theirs, f"[bold]{one.theirs / one.ours:.0f}x[/bold]")
    console.print(table)
    console.print(f"[dim]processor time, medians of {ROUNDS}, both in this process by turns[/dim]")


if __name__ == "__main__":
    main()
