"""Every source file says what it is for, stays small, and leaves nothing for later."""

import ast
import re

import pytest

from tests.repo.sources import PACKAGE, ROOT, sources

LONGEST = 600
every_source = pytest.mark.parametrize(
    "source", sources(), ids=[str(source.path.relative_to(ROOT)) for source in sources()]
)


@every_source
def test_a_module_says_its_idea(source):
    """The module has a docstring whose first line is one sentence."""
    docstring = ast.get_docstring(source.tree)
    assert docstring, f"{source.path} has no docstring"
    first = docstring.splitlines()[0].rstrip()
    assert first.endswith((".", "?", ":")), f"{source.path}: {first!r}"
    assert len(first.split()) > 3, f"{source.path}: {first!r}"


@every_source
def test_a_file_is_short_or_a_table(source):
    """A file has at most 600 lines, unless it is one table and says so in its first lines."""
    lines = source.text.splitlines()
    if any(line.startswith("# table") for line in lines[:10]):
        return
    assert len(lines) <= LONGEST, f"{source.path} has {len(lines)} lines"


@every_source
def test_nothing_is_left_for_later(source):
    """No file keeps a note of unfinished work."""
    found = re.findall(r".*\b(?:TODO|FIXME|XXX|HACK)\b.*", source.text)
    assert not found, f"{source.path}: {found}"


def test_no_file_is_named_for_nothing():
    """No file or folder has a name that could hold anything."""
    vague = {"utils", "util", "helpers", "common", "misc", "base", "core", "impl"}
    found = [
        source.path
        for source in sources()
        if {*source.path.relative_to(PACKAGE).with_suffix("").parts} & vague
    ]
    assert not found


def test_nothing_written_names_where_it_was_written():
    """Pages and fixtures are generated in somebody's checkout, which is nobody's business."""
    here = str(ROOT).encode()
    written = (each for name in ("docs", "tests", "bench") for each in (ROOT / name).rglob("*.*"))
    kinds = {".md", ".pt2", ".json", ".py", ".toml"}
    found = [each for each in written if each.suffix in kinds and here in each.read_bytes()]
    assert not found
