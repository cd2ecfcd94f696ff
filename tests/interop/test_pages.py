"""The examples on the pages about other systems fail and work as the pages say."""

import re

import pytest

from monograph.diagnostics import MonographError, explain

pytestmark = pytest.mark.filterwarnings("ignore")
PAGES = ["backend-unknown", "extra-not-installed", "not-handed-over", "not-taken-over"]


def examples(name, kind):
    """Give the code of the page's examples of a kind."""
    return re.findall(rf"```python {kind}\n(.*?)```", explain(name), re.DOTALL)


@pytest.mark.parametrize("name", PAGES)
def test_the_example_fails_and_the_repaired_one_works(name):
    """The first raises this name, the second nothing."""
    (failing,) = examples(name, f"fails: {name}")
    with pytest.raises(MonographError) as caught:
        exec(compile(failing, f"{name}.py", "exec"), {"__name__": "page"})
    assert caught.value.diagnostic.name == name
    (repaired,) = examples(name, "repaired")
    exec(compile(repaired, f"{name}.py", "exec"), {"__name__": "page"})
