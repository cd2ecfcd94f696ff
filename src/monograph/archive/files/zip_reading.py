"""A zip reader that does not trust its file: members by name, as views of the mapped file.

Law: every byte of a member lies inside the file and belongs to no other member; the end record ends
the file and the directory ends where it begins; local headers and directory agree. Members may be
deflated, and all of those together are no larger than `most_inflated` says for the file. Sums are
checked when a member is read, those of weights by whoever reads them.
"""

from __future__ import annotations

import mmap
import struct
import zlib
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from monograph.archive.errors import Refused, reading

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import IO

END = struct.Struct("<IHHHHIIH")
END64_LOCATOR = struct.Struct("<IIQI")
END64 = struct.Struct("<IQHHIIQQQQ")
DIRECTORY = struct.Struct("<IHHHHHHIIIHHHHHII")
LOCAL = struct.Struct("<IHHHHHIIIHH")

END_MAGIC, END64_LOCATOR_MAGIC, END64_MAGIC = 0x06054B50, 0x07064B50, 0x06064B50
DIRECTORY_MAGIC, LOCAL_MAGIC = 0x02014B50, 0x04034B50

MOST_MEMBERS = 1 << 20
DEFLATED = 8
ENCRYPTED, DESCRIPTOR = 0x0001, 0x0008


@dataclass(frozen=True, slots=True)
class Member:
    """Where a member's bytes are, and their sum; `size` is the inflated one."""

    offset: int
    stored: int
    size: int
    crc: int
    is_deflated: bool = False


@dataclass(frozen=True, slots=True)
class Container:
    """An opened archive: its bytes, and its members by their name below the root folder."""

    data: memoryview
    members: Mapping[str, Member]

    def view(self, name: str, *, checked: bool = True) -> memoryview:
        """The bytes of a member, without a copy where they are not deflated.

        Raises: Refused (there is none, or its sum is wrong).
        """
        member = self.members.get(name)
        if member is None:
            raise Refused("it is not in the file")
        found = self.data[member.offset : member.offset + member.stored]
        if member.is_deflated:
            found, checked = _inflated(found, member.size), True
        if checked and zlib.crc32(found) != member.crc:
            raise Refused("its bytes do not have the checksum they were written with", DAMAGED)
        return found


DAMAGED = "archive-damaged"


def most_inflated(size: int) -> int:
    """How many bytes the deflated members of a file of this size may have, all together."""
    return (16 << 20) + 64 * size


def _inflated(data: memoryview, size: int) -> memoryview:
    stream = zlib.decompressobj(-zlib.MAX_WBITS)
    try:
        found = stream.decompress(data, size)
        is_whole = len(found) == size and not stream.decompress(stream.unconsumed_tail, 1)
    except zlib.error:
        is_whole, found = False, b""
    if not is_whole or not stream.eof or stream.unused_data:
        raise Refused("it cannot be inflated to the size that it is said to have", DAMAGED)
    return memoryview(bytearray(found))


def open_container(file: str | Path | IO[bytes]) -> Container:
    """Map a file into memory, copy on write, and find its members; nothing else is read.

    Raises: archive-damaged, archive-invalid, archive-unsafe.
    """
    data = mapped(Path(file)) if isinstance(file, str | Path) else memoryview(_rest(file))
    with reading("the file"):
        return Container(data, members_of(data, most_inflated(len(data))))


def _rest(file: IO[bytes]) -> bytearray:
    """What lies ahead; all of a file that was just written, and stands at its end."""
    found = bytearray(file.read())
    if not found and file.seekable():
        file.seek(0)
        found = bytearray(file.read())
    return found


def mapped(path: Path) -> memoryview:
    """The bytes of a file, copy on write."""
    with path.open("rb") as file:
        try:
            return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY))
        except ValueError:  # an empty file cannot be mapped
            return memoryview(bytearray(file.read()))


def members_of(data: memoryview, most: int = 0) -> dict[str, Member]:
    """Find the members of a zip file, of which those that are deflated have at most so many bytes.

    Raises: Refused.
    """
    count, size, start = _directory_place(data)
    if count > MOST_MEMBERS:
        raise Refused(f"it lists {count} members")
    root = ""
    found: dict[str, Member] = {}
    spans: list[tuple[int, int]] = []
    for entry in _entries(data[start : start + size], count):
        first, slash, name = entry.name.partition("/")
        if not slash or (root and first != root):
            raise Refused(f"{entry.name!r} is not in the one folder of the file")
        root = first
        _check_name(entry.name)
        if name in found:
            raise Refused(f"it has two members named {name!r}", "archive-unsafe")
        payload = _payload_start(data, entry, start)
        is_deflated = entry.method == DEFLATED
        found[name] = Member(payload, entry.stored, entry.size, entry.crc, is_deflated)
        spans.append((entry.header, payload + entry.stored))
        most -= entry.size if is_deflated else 0
        if is_deflated and most < 0:
            raise Refused(f"{entry.name!r} inflates to more than a file of its size may hold")
    spans.sort()
    for (_, end), (begin, _) in pairwise(spans):
        if begin < end:
            raise Refused("two of its members overlap", "archive-unsafe")
    return found


def _directory_place(data: memoryview) -> tuple[int, int, int]:
    """(how many entries, their size in bytes, where they begin)."""
    at = len(data) - END.size
    if at < 0 or int.from_bytes(data[at : at + 4], "little") != END_MAGIC:
        raise Refused("it does not end as a zip file ends: it is cut off, or no program", DAMAGED)
    _, disk, first_disk, here, count, size, start, comment = END.unpack_from(data, at)
    if comment or disk or first_disk or here != count:
        raise Refused("it is a zip file in several parts, or with a comment")
    locator = at - END64_LOCATOR.size
    is_large = locator >= 0 and _magic(data, locator) == END64_LOCATOR_MAGIC
    if is_large:
        at, count, size, start = _large_place(data, locator)
    elif count == 0xFFFF or 0xFFFFFFFF in (size, start):
        raise Refused("its directory is said elsewhere, and nowhere is", DAMAGED)
    if start + size != at:
        raise Refused("its directory is not where it is said to be", DAMAGED)
    return count, size, start


def _large_place(data: memoryview, locator: int) -> tuple[int, int, int, int]:
    _, disk, at, disks = END64_LOCATOR.unpack_from(data, locator)
    if disk or disks > 1 or at + END64.size != locator or _magic(data, at) != END64_MAGIC:
        raise Refused("its directory is not where it is said to be", DAMAGED)
    _, _, _, _, disk, first_disk, here, count, size, start = END64.unpack_from(data, at)
    if disk or first_disk or here != count:
        raise Refused("it is a zip file in several parts")
    return at, count, size, start


def _magic(data: memoryview, at: int) -> int:
    return int.from_bytes(data[at : at + 4], "little")


@dataclass(slots=True)
class _DirectoryEntry:
    """One line of the directory."""

    name: str
    raw_name: bytes
    flags: int
    method: int
    crc: int
    stored: int
    size: int
    header: int


def _entries(directory: memoryview, count: int) -> Iterator[_DirectoryEntry]:
    at = 0
    for _ in range(count):
        if at + DIRECTORY.size > len(directory) or _magic(directory, at) != DIRECTORY_MAGIC:
            raise Refused("its directory ends too early", DAMAGED)
        fields = DIRECTORY.unpack_from(directory, at)
        _, _, _, flags, method, _, _, crc, stored, size = fields[:10]
        n_name, n_extra, n_comment, disk, _, _, header = fields[10:]
        at += DIRECTORY.size
        raw = bytes(directory[at : at + n_name])
        extra = directory[at + n_name : at + n_name + n_extra]
        at += n_name + n_extra + n_comment
        if at > len(directory) or disk not in (0, 0xFFFF):
            raise Refused("its directory ends too early", DAMAGED)
        size, stored, header = _large_numbers(extra, size, stored, header)
        yield _DirectoryEntry(_decoded(raw), raw, flags, method, crc, stored, size, header)
    if at != len(directory):
        raise Refused("its directory is longer than its entries", DAMAGED)


def _decoded(raw: bytes) -> str:
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        raise Refused("a member's name is not UTF-8") from None


def _large_numbers(extra: memoryview, size: int, stored: int, header: int) -> tuple[int, int, int]:
    """Sizes and offset beyond 4 GiB, which stand in an extra field."""
    wanted = [number == 0xFFFFFFFF for number in (size, stored, header)]
    if not any(wanted):
        return size, stored, header
    field = next((body for kind, body in _extra_fields(extra) if kind == 1), None)
    if field is None or len(field) < 8 * sum(wanted):
        raise Refused("a member's size is said elsewhere, and nowhere is", DAMAGED)
    numbers = iter(struct.unpack_from(f"<{len(field) // 8}Q", field))
    size, stored, header = [
        next(numbers) if is_wanted else number
        for is_wanted, number in zip(wanted, (size, stored, header), strict=True)
    ]
    return size, stored, header


def _extra_fields(extra: memoryview) -> Iterator[tuple[int, memoryview]]:
    at = 0
    while at + 4 <= len(extra):
        kind, size = struct.unpack_from("<HH", extra, at)
        yield kind, extra[at + 4 : at + 4 + size]
        at += 4 + size


def _payload_start(data: memoryview, entry: _DirectoryEntry, directory: int) -> int:
    """Where a member's bytes begin, after its local header was found to agree."""
    if entry.flags & ENCRYPTED:
        raise Refused(f"{entry.name!r} is encrypted")
    if entry.method not in {0, DEFLATED}:
        raise Refused(f"{entry.name!r} is compressed in another way than programs are")
    if not entry.method and entry.stored != entry.size:
        raise Refused(f"{entry.name!r} has two sizes", DAMAGED)
    at = entry.header
    if at + LOCAL.size > directory or _magic(data, at) != LOCAL_MAGIC:
        raise Refused(f"{entry.name!r} is not where it is said to be", DAMAGED)
    _, _, flags, method, _, _, crc, stored, size, n_name, n_extra = LOCAL.unpack_from(data, at)
    at += LOCAL.size
    begin = at + n_name + n_extra
    if bytes(data[at : at + n_name]) != entry.raw_name or begin > directory:
        raise Refused(f"{entry.name!r} is called otherwise in its own header", "archive-unsafe")
    is_later = bool(flags & DESCRIPTOR)
    sizes = {(stored, entry.stored), (size, entry.size)}
    is_alike = all(here in {there, 0xFFFFFFFF} for here, there in sizes)
    if method != entry.method or not (is_later or (crc == entry.crc and is_alike)):
        raise Refused(f"{entry.name!r} has other sizes in its own header", DAMAGED)
    if begin + entry.stored > directory:
        raise Refused(f"{entry.name!r} reaches beyond the file", DAMAGED)
    return begin


def _check_name(name: str) -> None:
    parts = name.split("/")
    if (
        any(part in {"", ".", ".."} for part in parts)
        or "\\" in name
        or ":" in parts[0]
        or not name.isprintable()
        or len(name) > 4096
    ):
        raise Refused(f"{name!r} is no name a member may have", "archive-unsafe")


__all__ = [
    "DAMAGED",
    "Container",
    "Member",
    "mapped",
    "members_of",
    "most_inflated",
    "open_container",
]
