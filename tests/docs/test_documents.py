"""What the documents show is what happens: every block runs, and prints what it says."""

import doctest
import importlib
import re

import pytest

from monograph import explain
from monograph.diagnostics import page_names
from tests.docs.blocks import FLAGS, Page, is_as_shown, pages, run
from tests.docs.session import PAGE as SESSION
from tests.repo.sources import ROOT

DOCUMENTS = [path for path in pages() if ">>> " in path.read_text(encoding="utf-8")]
PROGRAMS = [
    path
    for path in pages()
    if any(each.language in {"python", "console"} for each in Page(path).blocks)
]
EVERY = sorted({*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")})
MODULES = [
    ".".join(path.relative_to(ROOT / "src").with_suffix("").parts).removesuffix(".__init__")
    for path in sorted((ROOT / "src" / "monograph").rglob("*.py"))
    if ">>> " in path.read_text(encoding="utf-8")
]
RULES = [path.read_text(encoding="utf-8") for path in (ROOT / "src/monograph/rules").rglob("*.py")]
NEEDED = ("transformers", "onnxruntime", "onnx", "openvino", "executorch", "torchao")
PLAIN = {"", "text", "py"}
"""Blocks that are shown: formats, messages; a file that is included, which has tests of its own."""


def skip_without_packages(text):
    """What a page imports must be installed."""
    for name in NEEDED:
        if any(f"{word} {name}" in text for word in ("import", "from", "--to")):
            pytest.importorskip(name)


@pytest.mark.parametrize("path", DOCUMENTS, ids=[str(path.relative_to(ROOT)) for path in DOCUMENTS])
def test_examples_print_what_they_say(path):
    """The examples of a document, run from its top, print what stands below them."""
    # A fence ends an example, as a blank line would.
    text = path.read_text(encoding="utf-8").replace("\n```", "\n\n")
    skip_without_packages(text)
    test = doctest.DocTestParser().get_doctest(text, {}, path.name, str(path), 0)
    said: list[str] = []
    outcome = doctest.DocTestRunner(optionflags=FLAGS).run(test, out=said.append)
    assert outcome.failed == 0, "".join(said)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("path", PROGRAMS, ids=[str(path.relative_to(ROOT)) for path in PROGRAMS])
def test_a_page_prints_what_it_says(path):
    """Its blocks, run in order, print what stands below each of them."""
    page = Page(path)
    skip_without_packages(page.text)
    for block, printed in run(page):
        shown = block.body if block.language == "console" else block.shown and block.shown.body
        assert is_as_shown(block, printed), f"{path.name}:{block.line}\n{shown}\n---\n{printed}"


@pytest.mark.parametrize("name", MODULES)
def test_docstrings_print_what_they_say(name):
    """The examples of a module, run in it, print what stands below them."""
    module = importlib.import_module(name)
    said: list[str] = []
    runner = doctest.DocTestRunner(optionflags=FLAGS)
    for test in doctest.DocTestFinder().find(module, name):
        runner.run(test, out=said.append)
    assert runner.summarize(verbose=False).failed == 0, "".join(said)


def held_by(path, block):
    """The test that holds a block of a page, or that it is no code; None where neither is so."""
    folder, language = path.parent.name, block.language
    if path == ROOT / "DESIGN.md" and language == "python":
        return "the source" if any(block.body in text for text in RULES) else None
    if block.file is not None and path in PROGRAMS:
        return "test_a_page_prints_what_it_says, which writes the file"
    if language in PLAIN:
        is_code = re.search(
            r"^(>>> |import |from \w+ import |monograph )", block.body, re.MULTILINE
        )
        return "shown" if path == SESSION or not is_code else None
    if folder == "reference":
        return {"python": "its signature, from the source", "pycon": "its docstring"}.get(language)
    if folder == "errors":
        return "tests/exportdb" if language == "python" else None
    if folder == "exportdb":
        return "test_exportdb_page" if language == "python" else None
    if language in {"python", "console"}:
        return "test_a_page_prints_what_it_says" if path in PROGRAMS else None
    is_session = language == "pycon" and path in DOCUMENTS
    return "test_examples_print_what_they_say" if is_session else None


def test_every_block_of_every_page_is_held():
    """Of all documents, with those that are generated: each block of code is run by some test."""
    found = {path: Page(path).blocks for path in EVERY}
    assert sum(len(blocks) for blocks in found.values()) > 900
    loose = [
        f"{path.relative_to(ROOT)}:{block.line}"
        for path, blocks in found.items()
        for block in blocks
        if held_by(path, block) is None
    ]
    assert loose == []


@pytest.mark.parametrize("name", page_names())
def test_each_block_of_an_error_is_one_that_fails_or_its_repair(name):
    """As ExportDB knows them, whose tests run all that are marked so."""
    marks = re.findall(r"^```python ?(.*)$", explain(name), re.MULTILINE)
    assert [mark.partition(":")[0] for mark in marks] in (["fails", "repaired"], [])
