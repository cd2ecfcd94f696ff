"""The examples on the pages about just-in-time runs fail and work as the pages say."""

import re

import pytest

import monograph


def examples(name, kind):
    """Give the code of the page's examples of a kind."""
    return re.findall(rf"```python {kind}\n(.*?)```", monograph.explain(name), re.DOTALL)


@pytest.mark.parametrize("name", ["graph-break", "nothing-fails"])
def test_the_example_fails_and_the_repaired_one_works(name, tmp_path):
    """The first raises this name, the second nothing."""
    (failing,) = examples(name, f"fails: {name}")
    with pytest.raises(monograph.MonographError) as caught:
        exec(compile(failing, "page.py", "exec"), {"__name__": "page"})
    assert caught.value.diagnostic.name == name
    (repaired,) = examples(name, "repaired")
    file = tmp_path / "page.py"
    file.write_text(repaired, encoding="utf-8")
    exec(compile(repaired, str(file), "exec"), {"__name__": "page"})
