"""Every link of every document leads to a file, and to a heading that the file has."""

import re
from functools import cache

import pytest

from tests.repo.sources import ROOT

DOCUMENTS = [
    *sorted(ROOT.glob("*.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "bench").glob("*.md")),
]
CODE = re.compile(r"^```.*?^```$|`[^`\n]*`", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\[(?:[^\[\]]|\[[^\]]*\])*\]\(([^()\s]+)\)")
HEADING = re.compile(r"^#{1,6} (.+)$", re.MULTILINE)


@cache
def anchors(path):
    """The headings of a document, as links spell them."""
    fences = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)
    text = fences.sub("", path.read_text(encoding="utf-8"))
    found = set()
    for heading in HEADING.findall(text):
        plain = re.sub(r"[^\w\s-]", "", heading.strip().lower())
        found.add(re.sub(r"[-\s]+", "-", plain))
    return found


@pytest.mark.parametrize("path", DOCUMENTS, ids=[str(path.relative_to(ROOT)) for path in DOCUMENTS])
def test_links_resolve(path):
    """Relative ones; a page of the site links within `docs` alone, for the site has no more."""
    text = path.read_text(encoding="utf-8")
    for target in LINK.findall(CODE.sub("code", text)):
        if target.startswith(("https://", "mailto:")):
            continue
        name, _, anchor = target.partition("#")
        to = (path.parent / name).resolve() if name else path
        assert to.exists(), f"{path.name}: {target}"
        if (ROOT / "docs") in path.parents:
            assert (ROOT / "docs") in to.parents, f"{path.name}: {target} is not on the site"
        if anchor and to.suffix == ".md":
            assert anchor in anchors(to), f"{path.name}: {target}"
