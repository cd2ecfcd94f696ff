"""The command line: `monograph inspect program.pt2`, `monograph doctor`."""

from __future__ import annotations

import sys
from pathlib import Path

from monograph.archive import inspected
from monograph.diagnostics import MonographError
from monograph.doctor import diagnosis

WRONG = 1
MISSING = 2


def inspect(file: str, *, checksums: bool = False, weights: str | None = None) -> int:
    """Print what a file holds; give the exit status of the process."""
    if not Path(file).is_file():
        _complain(f"there is no file {file}")
        return MISSING
    try:
        text, is_whole = inspected(file, checksums=checksums, weights=weights)
    except MonographError as error:
        _complain(str(error))
        return WRONG
    print(text)  # noqa: T201  (what the command is for)
    return 0 if is_whole else WRONG


def doctor() -> int:
    """Say what is installed and whether it works; give the exit status of the process."""
    text, works = diagnosis()
    print(text)  # noqa: T201  (what the command is for)
    return 0 if works else WRONG


def _complain(text: str) -> None:
    print(text, file=sys.stderr)  # noqa: T201  (to the terminal of whoever gave the command)


def main() -> None:
    """Run the command that the arguments of the process name."""
    try:
        import typer  # noqa: PLC0415
    except ImportError:
        _complain("this needs typer: pip install 'monograph[cli]'")
        raise SystemExit(MISSING) from None

    file = typer.Argument(help="a .pt2 file, written here or by torch.export")
    sums = typer.Option(default=False, help="read all weights and compare their sums")
    where = typer.Option(None, help="where weights lie that are not in the file")

    def programs() -> None:
        """Programs of monograph on disk."""

    def command(file: str = file, checksums: bool = sums, weights: str | None = where) -> None:  # noqa: FBT001
        """Print what a file holds: versions, programs, contracts, operators, weights."""
        raise typer.Exit(inspect(file, checksums=checksums, weights=weights))

    def check() -> None:
        """Check the installation: versions, private names of torch, a program there and back."""
        raise typer.Exit(doctor())

    app = typer.Typer(add_completion=False, no_args_is_help=True)
    app.callback()(programs)
    app.command("inspect")(command)
    app.command("doctor")(check)
    app()


__all__ = ["doctor", "inspect", "main"]
