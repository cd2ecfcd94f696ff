"""Tests mirror the sources: each source file has a test file, or a line that says where."""

import tomllib
from pathlib import Path

import pytest

from tests.repo.sources import PACKAGE, ROOT, sources

TABLE = Path(__file__).with_name("tests_of_sources.toml")
LINES = tomllib.loads(TABLE.read_text(encoding="utf-8"))


def name_of(path: Path) -> str:
    """The dotted name of a file of the package."""
    return ".".join(path.relative_to(PACKAGE).with_suffix("").parts)


def unit_test_of(path: Path) -> Path:
    """The test file of this source file alone."""
    here = path.relative_to(PACKAGE)
    return ROOT / "tests" / "unit" / here.parent / f"test_{here.stem}.py"


def line_of(name: str) -> str | None:
    """The longest line that fits: of the file, or of a folder that it is in."""
    parts = name.split(".")
    names = (".".join(parts[:end]) for end in range(len(parts), 0, -1))
    return next((each for each in names if each in LINES), None)


WITHOUT = [
    name_of(source.path)
    for source in sources()
    if source.path.name != "__init__.py" and not unit_test_of(source.path).exists()
]


def test_each_file_has_tests():
    """By its name in `tests/unit`, or by a line of the table."""
    assert [name for name in WITHOUT if line_of(name) is None] == []


@pytest.mark.parametrize("line", LINES)
def test_each_line_says_where(line):
    """It names tests that are there, and is the line of a file without tests of its own."""
    named = LINES[line]
    for path in [named] if isinstance(named, str) else named:
        found = ROOT / path
        assert path.startswith("tests/"), path
        assert found.name.startswith("test_") or found.is_dir(), path
        assert found.exists(), path
    assert line in {line_of(name) for name in WITHOUT}, "no file needs this line"
