"""Source files with edits: read with their encoding, imported as edited, written atomically."""

from __future__ import annotations

import difflib
import io
import linecache
import os
import shutil
import sys
import tempfile
import tokenize
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.machinery import SourceFileLoader
from importlib.util import source_from_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from monograph.diagnostics.code_origin import is_standard

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping, Sequence

SITES = {"site-packages", "dist-packages"}


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file as it was read: its bytes, the encoding that it declares, and its text."""

    path: Path
    data: bytes
    encoding: str
    text: str

    def check_writable(self) -> None:
        """Hold that the file is what was read, and may be written. Raises: OSError."""
        if self.path.read_bytes() != self.data:
            raise OSError(f"{self.path} was changed meanwhile, and is left as it is")
        if not os.access(self.path, os.W_OK):
            raise PermissionError(f"{self.path} may not be written")

    def write(self, text: str) -> None:
        """Replace the file by one with this text, in one step, with its encoding and its mode.

        Raises: OSError (it cannot be written, or is not what was read).
        """
        self.check_writable()
        handle, name = tempfile.mkstemp(dir=self.path.parent, prefix=f".{self.path.name}.")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(text.encode(self.encoding))
            shutil.copymode(self.path, name)
            Path(name).replace(self.path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise

    def diff(self, before: str, after: str) -> str:
        """A unified diff of two texts of this file, as `patch -p1` takes it."""
        name = shown(self.path)
        lines = difflib.unified_diff(
            _lines(before), _lines(after), f"a/{name}", f"b/{name}", lineterm=""
        )
        return "\n".join(line.rstrip("\r\n") for line in lines)


def read(path: str | Path) -> SourceFile:
    """Read a source file; line ends stay as they are.

    Raises: OSError, SyntaxError (of an encoding that is not known), UnicodeError.
    """
    data = Path(path).read_bytes()
    encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
    return SourceFile(Path(path), data, encoding, data.decode(encoding))


def write_all(edited: Sequence[tuple[SourceFile, str]]) -> None:
    """Write files, none of them where one may not be. Raises: OSError."""
    for file, _ in edited:
        file.check_writable()
    for file, text in edited:
        file.write(text)


def shown(path: Path) -> str:
    """A path as seen from the current folder."""
    return str(path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path)


def is_users(file: str, roots: tuple[Path, ...]) -> bool:
    """Whether a file may be edited: in one of the folders, and of no installed package."""
    path = Path(file).resolve()
    if not path.is_file() or path.suffix != ".py" or is_standard(str(path)):
        return False
    inside = [path.relative_to(root) for root in roots if path.is_relative_to(root)]
    environments = [each for each in (sys.prefix, sys.base_prefix) if path.is_relative_to(each)]
    is_project = not environments or any(root.is_relative_to(sys.prefix) for root in roots)
    return bool(inside) and is_project and not SITES & set(path.parts)


@contextmanager
def imported_as(edited: Mapping[str, str]) -> Generator[None]:
    """Let Python import files as edited, for the rest of this process's imports of them."""
    texts = {str(Path(file).resolve()): text for file, text in edited.items()}
    contents = {file: text.encode(read(file).encoding) for file, text in texts.items()}
    original = SourceFileLoader.get_data

    def get_data(self: SourceFileLoader, path: str) -> bytes:
        name = str(Path(path).resolve())
        if name in contents:
            return contents[name]
        if name.endswith(".pyc") and _source_of(name) in contents:
            raise OSError("compiled from what the file holds, not from the edited text")
        return original(self, path)

    for file, text in texts.items():
        lines = io.StringIO(text, newline=None).readlines()
        linecache.cache[file] = (len(text), None, lines, file)
    loader: Any = SourceFileLoader
    loader.get_data = get_data
    try:
        yield
    finally:
        loader.get_data = original


def _source_of(compiled: str) -> str:
    try:
        return source_from_cache(compiled)
    except ValueError:
        return ""


def _lines(text: str) -> list[str]:
    return io.StringIO(text, newline="").readlines()


__all__ = ["SourceFile", "imported_as", "is_users", "read", "shown", "write_all"]
