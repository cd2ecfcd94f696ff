"""Pages made from other sources are current: those of errors, and the reference."""

import pytest

import monograph
from monograph.diagnostics import page_names
from tests.docs import errors_pages, reference_pages


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", page_names())
def test_the_page_of_an_error_is_current(name):
    """Written anew by `python -W ignore -m tests.docs.errors_pages`, it is the same."""
    if "import transformers" in monograph.explain(name):
        pytest.importorskip("transformers")
    page = (errors_pages.FOLDER / f"{name}.md").read_text(encoding="utf-8")
    assert errors_pages.error_page(name) == page


def test_every_error_has_a_page_and_the_index_lists_it():
    """And no page is of a name that is gone."""
    pages = {path.stem for path in errors_pages.FOLDER.glob("*.md")}
    assert pages == {*page_names(), "index"}
    assert errors_pages.index() == (errors_pages.FOLDER / "index.md").read_text(encoding="utf-8")


def test_an_error_page_has_case_cause_and_repair():
    """What happened, why, and a message; where a program is known to show it, it and its repair."""
    for name in page_names():
        page = (errors_pages.FOLDER / f"{name}.md").read_text(encoding="utf-8")
        assert "## What happened" in page, name
        assert "## Why it is refused" in page, name
        if "```python\n" in page:
            assert "## Repaired" in page, name


def test_the_reference_is_current():
    """Written anew by `python -W ignore -m tests.docs.reference_pages`, it is the same."""
    pages = reference_pages.pages()
    assert {path.name for path in reference_pages.FOLDER.glob("*.md")} == {*pages}
    for name, text in pages.items():
        assert text == (reference_pages.FOLDER / name).read_text(encoding="utf-8"), name


def test_the_reference_has_every_public_name_once():
    """With its docstring: those of `monograph.__all__`."""
    subjects = reference_pages.SUBJECTS.values()
    names = [name for _, *groups in subjects for group in groups for name in group]
    assert sorted(names) == sorted(monograph.__all__)
