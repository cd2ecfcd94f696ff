"""The examples on the page about graph breaks fail and work as the page says."""

import re

import pytest

import monograph


def examples(kind):
    """Give the code of the page's examples of a kind."""
    return re.findall(rf"```python {kind}\n(.*?)```", monograph.explain("graph-break"), re.DOTALL)


def test_the_example_fails_and_the_repaired_one_works():
    """The first raises this name, the second nothing."""
    (failing,) = examples("fails: graph-break")
    with pytest.raises(monograph.UnsupportedError) as caught:
        exec(compile(failing, "page.py", "exec"), {"__name__": "page"})
    assert caught.value.diagnostic.name == "graph-break"
    (repaired,) = examples("repaired")
    exec(compile(repaired, "page.py", "exec"), {"__name__": "page"})
