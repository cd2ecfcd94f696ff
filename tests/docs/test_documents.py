"""What the documents show is what happens: every example in them runs, and prints what it says."""

import doctest

import pytest

from tests.repo.sources import ROOT

DOCUMENTS = [
    path
    for path in sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
    if ">>> " in path.read_text(encoding="utf-8")
]
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


@pytest.mark.parametrize("path", DOCUMENTS, ids=[str(path.relative_to(ROOT)) for path in DOCUMENTS])
def test_examples_print_what_they_say(path):
    """The examples of a document, run from its top, print what stands below them."""
    # A fence ends an example, as a blank line would.
    text = path.read_text(encoding="utf-8").replace("\n```", "\n\n")
    if "import transformers" in text:
        pytest.importorskip("transformers")
    test = doctest.DocTestParser().get_doctest(text, {}, path.name, str(path), 0)
    said: list[str] = []
    outcome = doctest.DocTestRunner(optionflags=FLAGS).run(test, out=said.append)
    assert outcome.failed == 0, "".join(said)
