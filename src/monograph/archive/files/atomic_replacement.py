"""Atomic file replacement: written beside, then renamed, so a reader sees the old or the new."""

from __future__ import annotations

import os
import secrets
from contextlib import contextmanager, suppress
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path


@contextmanager
def replacing(path: Path) -> Generator[tuple[IO[bytes], Path]]:
    """A file to write to, and where it is; it takes the path's place at the end, unless that fails.

    It has the permissions of the file it replaces; a new one has those that the process gives.
    """
    beside = path.with_name(f".{path.name}.{secrets.token_hex(8)}.part")
    # The kernel takes the process's mask off; asking for the mask would set it, for all threads.
    handle = os.open(beside, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666)
    try:
        with os.fdopen(handle, "wb") as file:
            with suppress(FileNotFoundError):
                os.fchmod(handle, path.stat().st_mode & 0o777)
            yield file, beside
            file.flush()
            os.fsync(handle)
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


__all__ = ["replacing"]
