"""PT2 archives member by member, for tools that keep files of their own beside a program.

The classes have the names and methods of `torch.export.pt2_archive`.
"""

from __future__ import annotations

import io
import os
from contextlib import ExitStack
from pathlib import Path
from typing import IO, TYPE_CHECKING

from monograph.archive.errors import Refused, reading
from monograph.archive.files.zip_reading import open_container
from monograph.archive.files.zip_writing import ZipWriter
from monograph.archive.versions import ARCHIVE_VERSION
from monograph.diagnostics import ArchiveError

if TYPE_CHECKING:
    from typing import Self

    PathOrFile = str | os.PathLike[str] | IO[bytes]

LAST = {
    "archive_format": b"pt2",
    "archive_version": ARCHIVE_VERSION.encode(),
    ".data/version": b"6\n",
    "byteorder": b"little",
}
"""What every archive says of itself; written at the end unless the caller wrote it."""


class PT2ArchiveWriter:
    """Writes an archive member by member; leaving the `with` block ends it.

    Raises: ValueError, where a member is written twice.
    """

    def __init__(self, archive_path_or_buffer: PathOrFile) -> None:
        given = archive_path_or_buffer
        self._files = ExitStack()
        if isinstance(given, str | os.PathLike):
            opened = Path(given).open("wb")  # noqa: SIM115 - `close` closes it
            file: IO[bytes] = self._files.enter_context(opened)
        else:
            file = given
        self._zip = ZipWriter(file, "archive")
        self._names: set[str] = set()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def has_record(self, name: str) -> bool:
        """Whether this member was written."""
        return name in self._names

    def count_prefix(self, prefix: str) -> int:
        """How many members were written whose names begin so."""
        return sum(name.startswith(prefix) for name in self._names)

    def write_bytes(self, name: str, data: bytes) -> None:
        """Write one member."""
        if name in self._names:
            raise ValueError(f"the archive has a member `{name}` already")
        self._names.add(name)
        self._zip.write(name, data)

    def write_string(self, name: str, data: str) -> None:
        """Write one member that is text."""
        self.write_bytes(name, data.encode())

    def write_file(self, name: str, file_path: str) -> None:
        """Write a file as one member."""
        self.write_bytes(name, Path(file_path).read_bytes())

    def write_folder(self, archive_dir: str, folder_dir: str) -> None:
        """Write every file of a folder, in the order of their names."""
        for path in sorted(each for each in Path(folder_dir).rglob("*") if each.is_file()):
            inside = path.relative_to(folder_dir).as_posix()
            self.write_file(f"{archive_dir}/{inside}", str(path))

    def close(self) -> None:
        """Write what every archive has, and the list of members."""
        for name, data in LAST.items():
            if name not in self._names:
                self.write_bytes(name, data)
        self._zip.close()
        self._files.close()


class PT2ArchiveReader:
    """Reads an archive member by member.

    Raises: archive-damaged, archive-invalid, archive-unsafe.
    """

    def __init__(self, archive_path_or_buffer: PathOrFile) -> None:
        given = archive_path_or_buffer
        self._container = open_container(
            Path(given) if isinstance(given, str | os.PathLike) else given
        )
        with reading("archive_format"):
            if self.read_bytes("archive_format") != b"pt2":
                raise Refused("it is no archive of programs")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing is held open."""

    def read_bytes(self, name: str) -> bytes:
        """Return one member.

        Raises: archive-invalid, where there is none.
        """
        with reading(name):
            return bytes(self._container.view(name))

    def read_string(self, name: str) -> str:
        """Return one member that is text."""
        with reading(name):
            return str(self._container.view(name), "utf-8")

    def archive_version(self) -> int:
        """Return the version of the archive; 0 where it has none."""
        has_one = "archive_version" in self._container.members
        return int(self.read_string("archive_version")) if has_one else 0

    def get_file_names(self) -> list[str]:
        """Return the names of the members, in their order."""
        return list(self._container.members)


def is_pt2_package(serialized_model: bytes | str) -> bool:
    """Whether these bytes, or the file of this name, are an archive of programs."""
    given = serialized_model
    try:
        PT2ArchiveReader(io.BytesIO(given) if isinstance(given, bytes) else given)
    except (ArchiveError, OSError):
        return False
    return True


__all__ = ["PT2ArchiveReader", "PT2ArchiveWriter", "is_pt2_package"]
