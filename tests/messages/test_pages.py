"""Pages of refusals: the example fails under the name, its help is code that works, or prose."""

import linecache
import re

import pytest

from monograph import MonographError, explain
from monograph.diagnostics import page_names
from tests.messages.conftest import check_helps

ELSEWHERE = ("archive-", "spec-", "extra-", "not-handed", "not-taken")
"""Tested in the folders of their own."""
OURS = {"bug", "capture-raises", "invalid-program", "wrong-on-replay", "wrong-after-saving"}
"""Mistakes of ours: no program is known to show them."""
NAMES = [
    name
    for name in page_names()
    if not name.startswith(ELSEWHERE) and name not in {*OURS, "wrong-after-handing-over"}
]

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.mark.parametrize("name", NAMES)
def test_the_example_fails_and_what_is_offered_works(name, tmp_path, monkeypatch):
    """The page's own repair works, too."""
    monkeypatch.chdir(tmp_path)
    page = explain(name)
    if "import transformers" in page:
        pytest.importorskip("transformers")
    failing = re.search(r"```python fails: [a-z-]+\n(.*?)```", page, re.DOTALL)[1]
    repaired = re.search(r"```python repaired\n(.*?)```", page, re.DOTALL)[1]
    error = raised(failing, tmp_path / "page.py")
    assert error is not None
    assert name in {each.diagnostic.name for each in error.problems}
    for each in error.problems:
        check_helps(each.diagnostic.helps)
        for edit in each.diagnostic.edits:
            after = raised(edit.applied(failing), tmp_path / "edited.py")
            assert after is None, f"after {edit.shown()}\n{after}"
    assert raised(repaired, tmp_path / "repaired.py") is None


def raised(source, path):
    """What running a page's example raises."""
    path.write_text(source, encoding="utf-8")
    linecache.checkcache(str(path))
    try:
        exec(compile(source, str(path), "exec"), {"__name__": "page"})
    except MonographError as error:
        return error
    return None
