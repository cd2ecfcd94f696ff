"""The examples on the pages about declarations fail and work as the pages say."""

import re

import pytest

from monograph import MonographError, explain
from monograph.diagnostics import page_names

NAMES = [name for name in page_names() if name.startswith("spec-")]


@pytest.mark.parametrize("name", NAMES)
def test_the_example_fails_and_the_repaired_one_exports(name):
    """Under this name, and without a word."""
    page = explain(name)
    failing = re.search(r"```python fails: [a-z-]+\n(.*?)```", page, re.DOTALL)[1]
    repaired = re.search(r"```python repaired\n(.*?)```", page, re.DOTALL)[1]
    with pytest.raises(MonographError) as refused:
        exec(compile(failing, "page.py", "exec"), {"__name__": "page"})
    assert refused.value.diagnostic.name == name
    exec(compile(repaired, "page.py", "exec"), {"__name__": "page"})
