"""Format versions: which one a file has, and how an older one becomes one of today.

`extra/monograph.<model>.json` carries `format`; each upgrader turns the version it is named for
into the next. A file newer than this reader is refused: it may hold what this reader would ignore.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from monograph.archive.errors import Refused
from monograph.archive.schema.json_fields import integer

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from monograph.archive.schema.values import Json

FORMAT: Final = 1
"""The version of our own record in a file."""

SCHEMA: Final = (8, 20)
"""The version of the published schema: readers ask for the major number, we write both."""

OPSETS: Final = {"aten": 10}
"""The versions of operators' meanings that are written, by namespace."""

ARCHIVE_VERSION: Final = "0"
ZIP_VERSIONS: Final = range(1, 11)

UPGRADES: dict[int, Callable[[Json], Json]] = {}


def upgrade(version: int) -> Callable[[Callable[[Json], Json]], Callable[[Json], Json]]:
    """Register the function that turns a record of this version into one of the next."""

    def register(function: Callable[[Json], Json]) -> Callable[[Json], Json]:
        if version in UPGRADES:
            raise ValueError(f"there are two upgraders from version {version}")
        UPGRADES[version] = function
        return function

    return register


def upgraded(record: Json, newest: int = FORMAT) -> Json:
    """The record as it would be written today.

    Raises: Refused (archive-newer).
    """
    version = integer(record.get("format"), 1)
    if version > newest:
        raise Refused(f"its record is of format {version}, and {newest} is known", "archive-newer")
    while version < newest:
        record = UPGRADES[version](record)
        version += 1
    return {**record, "format": version}


def opsets(asked: Mapping[str, int]) -> dict[str, int]:
    """What a file says of operators: ours, and the namespaces that the caller adds.

    Raises: Refused.
    """
    for name, version in OPSETS.items():
        if asked.get(name, version) != version:
            raise Refused(f"its operators are of version {version} of `{name}`, not {asked[name]}")
    return {**OPSETS, **asked}


def check_opsets(written: Any, expected: Mapping[str, int]) -> None:
    """Hold that a file's operators are of the versions that its reader expects.

    Raises: Refused.
    """
    for name, version in expected.items():
        found = written.get(name) if isinstance(written, dict) else None
        if found != version:
            raise Refused(f"its operators are of version {found} of `{name}`, not {version}")


def check_schema(version: Any) -> None:
    """Hold that a program's schema is one that can be read.

    Raises: Refused (archive-newer).
    """
    major = integer(version["major"], 0)
    if major != SCHEMA[0]:
        reason = f"its schema is of version {major}, and {SCHEMA[0]} is known"
        raise Refused(reason, "archive-newer")


__all__ = [
    "ARCHIVE_VERSION",
    "FORMAT",
    "OPSETS",
    "SCHEMA",
    "ZIP_VERSIONS",
    "check_opsets",
    "check_schema",
    "opsets",
    "upgrade",
    "upgraded",
]
