"""A zip writer, front to back: each member at a multiple of 64, as it is or deflated.

Law: the bytes depend on the members alone, not on the time, the path or the process. Nothing is
held but the directory; a member is summed and written from where it lies. What is deflated is no
larger than the reader admits for what was written by then.
"""

from __future__ import annotations

import struct
import zlib
from typing import TYPE_CHECKING

from monograph.archive.files.zip_reading import (
    DEFLATED,
    DIRECTORY,
    DIRECTORY_MAGIC,
    END,
    END64,
    END64_LOCATOR,
    END64_LOCATOR_MAGIC,
    END64_MAGIC,
    END_MAGIC,
    LOCAL,
    LOCAL_MAGIC,
    most_inflated,
)

if TYPE_CHECKING:
    from typing import IO

ALIGNMENT = 64
LEVEL = 1  # of deflation: graphs become a twentieth; the others take longer and gain little
UTF8 = 0x0800
EPOCH = 0x0021  # the first of January 1980, the earliest date a zip file knows
LIMIT, LIMIT_COUNT = 0xFFFFFFFF, 0xFFFF
PADDING = 0x4246  # "FB": what PyTorch calls the field that aligns a member


class ZipWriter:
    """Writes members into a file that is open for writing; `close` writes the directory."""

    def __init__(self, file: IO[bytes], root: str) -> None:
        self.file = file
        self.root = root
        self.at = 0
        self.directory: list[bytes] = []
        self.inflated = 0

    def write(self, name: str, payload: bytes | memoryview, *, deflated: bool = False) -> int:
        """Write one member, deflated where that is asked for and makes it smaller; give its sum."""
        raw = f"{self.root}/{name}".encode()
        size, crc, header = len(payload), zlib.crc32(payload), self.at
        method = 0
        if deflated and self.inflated + size <= most_inflated(self.at):
            stream = zlib.compressobj(LEVEL, zlib.DEFLATED, -zlib.MAX_WBITS)
            packed = stream.compress(payload) + stream.flush()
            if len(packed) < size:
                method, payload = DEFLATED, packed
                self.inflated += size
        stored = len(payload)
        large = b"" if size < LIMIT else struct.pack("<HHQQ", 1, 16, size, stored)
        taken = header + LOCAL.size + len(raw) + len(large) + 4
        padding = -taken % ALIGNMENT
        extra = large + struct.pack("<HH", PADDING, padding) + b"Z" * padding
        version = 45 if large else 20
        local = LOCAL.pack(
            *(LOCAL_MAGIC, version, UTF8, method, 0, EPOCH, crc),
            *(LIMIT if large else stored, min(size, LIMIT), len(raw), len(extra)),
        )
        self._put(local + raw + extra)
        self._put(payload)
        self._enter(raw, (size, stored), crc, header, method)
        return crc

    def _enter(
        self, raw: bytes, sizes: tuple[int, int], crc: int, header: int, method: int
    ) -> None:
        size, stored = sizes
        far = [number for number in (size, stored, header) if number >= LIMIT]
        extra = struct.pack(f"<HH{len(far)}Q", 1, 8 * len(far), *far) if far else b""
        version = 45 if far else 20
        fields = (0, EPOCH, crc, min(stored, LIMIT), min(size, LIMIT), len(raw), len(extra))
        rest = (0, 0, 0, 0, min(header, LIMIT))
        packed = DIRECTORY.pack(DIRECTORY_MAGIC, version, version, UTF8, method, *fields, *rest)
        self.directory.append(packed + raw + extra)

    def close(self) -> None:
        """Write the directory, which ends the file."""
        start, count = self.at, len(self.directory)
        self._put(b"".join(self.directory))
        size, at = self.at - start, self.at
        if count >= LIMIT_COUNT or start >= LIMIT or size >= LIMIT:
            end = END64.pack(END64_MAGIC, END64.size - 12, 45, 45, 0, 0, count, count, size, start)
            self._put(end + END64_LOCATOR.pack(END64_LOCATOR_MAGIC, 0, at, 1))
        shown = min(count, LIMIT_COUNT)
        self._put(END.pack(END_MAGIC, 0, 0, shown, shown, min(size, LIMIT), min(start, LIMIT), 0))

    def _put(self, data: bytes | memoryview) -> None:
        self.file.write(data)
        self.at += len(data)


__all__ = ["ZipWriter"]
