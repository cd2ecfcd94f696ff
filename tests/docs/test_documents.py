"""What the documents show is what happens: every block runs, and prints what it says."""

import doctest

import pytest

from tests.docs.blocks import FLAGS, Page, is_as_shown, pages, run
from tests.repo.sources import ROOT

DOCUMENTS = [path for path in pages() if ">>> " in path.read_text(encoding="utf-8")]
PROGRAMS = [
    path
    for path in pages()
    if any(each.language in {"python", "console"} for each in Page(path).blocks)
]
NEEDED = ("transformers", "onnxruntime", "onnx", "openvino", "executorch", "torchao")
PLAIN = {"", "text", "py"}
"""Blocks that are shown: formats, messages; a file that is included, which has tests of its own."""


def skip_without_packages(text):
    """What a page imports must be installed."""
    for name in NEEDED:
        if f"import {name}" in text or f"from {name}" in text:
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


@pytest.mark.parametrize("path", pages(), ids=[str(path.relative_to(ROOT)) for path in pages()])
def test_every_block_is_run(path):
    """Only what is no code is not: each other block is Python, a session of it, or commands."""
    others = {
        each.language
        for each in Page(path).blocks
        if each.language not in {"python", "console", "pycon", *PLAIN}
    }
    assert not others, f"{path}: {others}"
