"""The source files of monograph as the repository tests see them: paths, text and syntax trees."""

import ast
import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "monograph"


@dataclass(frozen=True, slots=True)
class Source:
    """One file of the package."""

    path: Path
    text: str
    tree: ast.Module

    @property
    def folder(self) -> str:
        """The folder below `monograph`, or the file's own name where it stands in none."""
        return self.path.relative_to(PACKAGE).parts[0].removesuffix(".py")

    def at(self, node: ast.AST) -> str:
        """Name a place in it, clickable."""
        return f"{self.path.relative_to(ROOT)}:{node.lineno}"


@cache
def sources() -> tuple[Source, ...]:
    """Read and parse every file of the package once."""
    found = []
    for path in sorted(PACKAGE.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        found.append(Source(path, text, ast.parse(text, str(path))))
    return tuple(found)


def imported(tree: ast.AST) -> Iterator[tuple[ast.stmt, str]]:
    """Give every import at any depth, with the full name of what it imports."""
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                yield from ((node, alias.name) for alias in names)
            case ast.ImportFrom(module=str(module), names=names):
                yield from ((node, f"{module}.{alias.name}") for alias in names)


def dotted(node: ast.expr) -> str | None:
    """Spell a chain of attributes such as `torch._C._log`, or None for anything else."""
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=value, attr=attr):
            before = dotted(value)
            return None if before is None else f"{before}.{attr}"
    return None


def is_within(name: str, package: str) -> bool:
    """Say whether a dotted name is the package or lies in it."""
    return name == package or name.startswith(f"{package}.")


def environment() -> dict[str, str]:
    """Give a fresh process what it needs to find the package from its sources."""
    path = os.pathsep.join(filter(None, [str(ROOT / "src"), os.environ.get("PYTHONPATH")]))
    return {**os.environ, "PYTHONPATH": path}
