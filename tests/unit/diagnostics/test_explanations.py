"""Pages: what `explain` shows."""

from __future__ import annotations

import re

import pytest

from monograph.diagnostics import explain, page_names

SECTIONS = ["What happened", "Why it is refused", "Example", "Repaired", "Related"]


@pytest.mark.parametrize("name", page_names())
def test_a_page_has_its_sections(name: str) -> None:
    """Every page has the five sections in order; two lack a model that fails."""
    page = explain(name)
    found = re.findall(r"^## (.*)$", page, re.MULTILINE)
    without_model = name in {"bug", "capture-raises"}
    assert page.startswith(f"# {name}\n")
    assert found == [title for title in SECTIONS if title != "Repaired" or not without_model]
    assert (f"```python fails: {name}\n" in page) is not without_model
    assert ("```python repaired\n" in page) is not without_model


@pytest.mark.parametrize("name", page_names())
def test_examples_are_python_and_relations_are_names(name: str) -> None:
    """Each example compiles; each related name has a page."""
    page = explain(name)
    for source in re.findall(r"```python [^\n]*\n(.*?)```", page, re.DOTALL):
        compile(source, name, "exec")
    related = re.findall(r"`([a-z-]+)`", page.partition("## Related")[2])
    assert related
    assert set(related) <= set(page_names()) - {name}


def test_an_unknown_name_suggests_the_nearest() -> None:
    """A misspelt name is answered with the one that was meant."""
    with pytest.raises(KeyError, match="did you mean 'sizes-disagree'"):
        explain("size-disagree")
    with pytest.raises(KeyError, match="no message named"):
        explain("../frames")
