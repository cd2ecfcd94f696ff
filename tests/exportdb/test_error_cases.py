"""Each error name has a case: a program that is refused under it, and one that works."""

import linecache
import re

import pytest
import torch

import monograph
from monograph import diagnostics, exportdb
from monograph.exportdb import ErrorCase
from tests.exportdb.recording import exports, importable
from tests.messages.conftest import check_helps

NAMES = [entry.name for entry in diagnostics.entries() if "monograph" in entry.template.__module__]
UNKNOWN = {"bug", "capture-raises"}
"""By their meaning: what a program shows is mended, or refused under its own name."""
WITHOUT_VALUES = {
    *("weights-do-not-fit", "collective-in-branch"),
    *("collective-not-awaited", "unsupported-collective", "state-frozen"),
}
"""What is exported there is on the meta device, or of processes that are gone when it has been; or
the model is given other weights afterwards.
"""
NEEDED = ("transformers", "onnxscript", "onnxruntime", "safetensors")

pytestmark = pytest.mark.filterwarnings("ignore")


def case_of(name):
    """The case of a name, where what it needs is installed."""
    case = exportdb.cases[name]
    for package in NEEDED:
        if f"import {package}" in case.source or f"from {package}" in case.source:
            pytest.importorskip(package)
    return case


def test_every_name_has_a_case_and_every_case_of_that_kind_a_name():
    """Found by the name, first; with a text of its own, and two programs, but for one name."""
    cases = [case for case in exportdb.cases.values() if isinstance(case, ErrorCase)]
    assert [case.name for case in cases] == NAMES
    assert len({case.text for case in cases}) == len(cases)
    assert {case.name for case in cases if not case.source or not case.rewrite} == UNKNOWN
    for case in cases:
        assert exportdb.search(case.name)[0] is case
        assert case.text.endswith("."), case.name
        assert case.source != case.rewrite or case.name in UNKNOWN


@pytest.mark.parametrize("name", [name for name in NAMES if name not in UNKNOWN])
def test_the_program_is_refused_and_what_is_offered_works(name, tmp_path, monkeypatch):
    """Under exactly its name; what is refused names its page and its case, and edits apply."""
    case = case_of(name)
    torch.manual_seed(0)
    with pytest.raises(monograph.MonographError) as refused:
        case.export()
    assert {each.diagnostic.name for each in refused.value.problems} == {name}
    assert f'monograph.explain("{name}"), exportdb.cases["{name}"]' in str(refused.value)
    monkeypatch.chdir(tmp_path)
    for each in refused.value.problems:
        check_helps(each.diagnostic.helps)
        for edit in each.diagnostic.edits:
            after = raised(edit.applied(case.source), tmp_path / "edited.py")
            assert after is None, f"after {edit.shown()}\n{after}"


@pytest.mark.parametrize("name", [name for name in NAMES if name not in UNKNOWN])
def test_the_rewritten_program_works_and_is_right(name):
    """What it exports agrees with the model, on inputs that are drawn."""
    case = case_of(name)
    torch.manual_seed(0)
    with exports() as calls:
        case.export(rewritten=True)
    is_model = re.search(r"^(\w+ = )?(monograph\.)?export\(", case.rewrite, re.MULTILINE)
    assert calls or not is_model
    for call in calls if name not in WITHOUT_VALUES else ():
        with importable(name, call.model):
            found = monograph.verify(call.program, call.model, samples=4)
        assert found, f"{name}: {found}"


@pytest.mark.parametrize("name", sorted(UNKNOWN))
def test_where_no_program_is_known(name):
    """It is said so."""
    with pytest.raises(ValueError, match=f"no program is known that is refused as {name}"):
        exportdb.cases[name].export()


def test_nothing_is_left_behind(tmp_path, monkeypatch):
    """A case that writes a file writes it elsewhere, also where it is refused."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(monograph.MonographError):
        exportdb.cases["nothing-to-verify-against"].export()
    assert not list(tmp_path.iterdir())


def raised(source, path):
    """What running a program raises."""
    path.write_text(source, encoding="utf-8")
    linecache.checkcache(str(path))
    try:
        exec(compile(source, str(path), "exec"), {"__name__": "page"})
    except monograph.MonographError as error:
        return error
    return None
