"""The command line: `monograph inspect program.pt2`, `monograph verify`, `monograph doctor`."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

from monograph import verification
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


def verify(
    file: str, module: str | None = None, *, samples: int = 20, seed: int = 0, as_json: bool = False
) -> int:
    """Compare a program with its module, or with the evidence it holds; give the exit status.

    `module` is `package.name:attribute`: a module, or a function that makes one.
    """
    if not Path(file).is_file():
        _complain(f"there is no file {file}")
        return MISSING
    try:
        made = None if module is None else _made(module)
    except (ImportError, AttributeError, ValueError) as error:
        _complain(f"there is no module {module}: {error}")
        return MISSING
    try:
        found = verification.verify(file, made, samples=samples, seed=seed)
    except (MonographError, ValueError) as error:
        _complain(str(error))
        return WRONG
    print(found.as_json() if as_json else found)  # noqa: T201  (what the command is for)
    return 0 if found else WRONG


def _made(place: str) -> Any:
    """What stands at `package.name:attribute`, called if it is not a module itself."""
    name, _, attribute = place.partition(":")
    if not attribute:
        raise ValueError("write package.name:attribute")
    if str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    found = getattr(import_module(name), attribute)
    return found if hasattr(found, "forward") and not isinstance(found, type) else found()


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

    place = typer.Option(None, "--module", help="package.name:attribute, a module or what makes it")
    many = typer.Option(20, help="how many calls the contract admits are tried")
    number = typer.Option(0, help="of the random generator that draws them")
    text = typer.Option(default=False, help="all calls, as JSON")

    def compare(
        file: str = file,
        module: str | None = place,
        samples: int = many,
        seed: int = number,
        json: bool = text,  # noqa: FBT001
    ) -> None:
        """Call a program and its module with inputs the contract admits, and compare.

        Without --module it is compared with the evidence that its file holds.
        """
        raise typer.Exit(verify(file, module, samples=samples, seed=seed, as_json=json))

    app = typer.Typer(add_completion=False, no_args_is_help=True)
    app.callback()(programs)
    app.command("inspect")(command)
    app.command("verify")(compare)
    app.command("doctor")(check)
    app()


__all__ = ["doctor", "inspect", "main", "verify"]
