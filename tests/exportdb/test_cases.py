"""ExportDB: supported cases export and agree, refused ones are refused as said and rewritten."""

import subprocess
import sys
from pathlib import Path

import pytest
import torch

import monograph
from monograph import exportdb

CASES = exportdb.cases
SUPPORTED = {name: case for name, case in CASES.items() if not case.error}
REFUSED = {
    name: case
    for name, case in CASES.items()
    if case.error and not isinstance(case, exportdb.ErrorCase)
}
OF_TORCH = Path(torch.__file__).parent / "_export" / "db" / "examples"

UNLIKE_ITSELF = {"while_loop_operator", "dynamic_shape_map"}
"""PyTorch's operators: one raises where what it carries lies otherwise after a round, the other
gives a tuple of rows for a tensor, after it has been compiled for other sizes."""

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.mark.parametrize("case", SUPPORTED.values(), ids=SUPPORTED)
def test_supported(case):
    """The program agrees with the model on the example, the extra inputs, and drawn ones."""
    torch.manual_seed(0)
    model = case.model()
    shapes = None if case.shapes is None else case.shapes()
    program = monograph.export(model, case.example(), case.kwargs(), dynamic_shapes=shapes)
    if case.name not in UNLIKE_ITSELF:
        found = monograph.verify(program, model, samples=4)
        assert not found.differences, found
    if case.extra is not None:
        program.check_inputs(*case.extra(), **case.kwargs())
        extra = case.extra()
        expected, actual = (_called(run, case, extra) for run in (model, program.module()))
        torch.testing.assert_close(actual, expected)


def _called(run, case, inputs):
    state = {name: each.clone() for name, each in run.state_dict().items()}
    torch.manual_seed(0)
    result = run(
        *(x.clone() if isinstance(x, torch.Tensor) else x for x in inputs), **case.kwargs()
    )
    run.load_state_dict(state)
    return result


@pytest.mark.parametrize("case", REFUSED.values(), ids=REFUSED)
def test_refused_and_rewritten(case):
    """The error is the one named; the rewritten model exports and is right."""
    with pytest.raises(monograph.MonographError) as caught:
        case.export()
    assert {each.diagnostic.name for each in caught.value.problems} == {case.error}
    assert monograph.explain(case.error)
    model = case.rewrite()
    shapes = None if case.shapes is None else case.shapes()
    program = monograph.export(model, case.example(), dynamic_shapes=shapes)
    found = monograph.verify(program, model, samples=4)
    assert found, found


def test_there_are_enough_and_all_tags_are_used():
    """A case is small, has a text of its own, and there are as many as were promised."""
    assert len(CASES) >= 120
    assert {tag for case in CASES.values() for tag in case.tags} == set(exportdb.TAGS)
    texts = [case.text for case in CASES.values()]
    assert len(set(texts)) == len(texts)
    assert all(text.endswith(".") for text in texts)


def test_what_torch_has_is_here():
    """Each example of PyTorch's own database has a case."""
    ours = {getattr(case, "in_torch", "") for case in CASES.values()}
    theirs = {path.stem for path in OF_TORCH.glob("*.py")} - {"__init__"}
    assert theirs - ours == set()


def test_search():
    """By name, tag, text, error and support; names first; nothing for nonsense."""
    assert exportdb.search("optional input")[0].name == "optional_input"
    assert {case.name for case in exportdb.search("torch.cond")} >= {"cond_operands"}
    assert "for_over_what_is_not_zero" in {case.name for case in exportdb.search("loop continue")}
    found = [case.name for case in exportdb.search("branches-disagree")]
    assert found == ["branches-disagree", "branches_of_two_types"]
    assert {case.name for case in exportdb.search("refused")} >= set(REFUSED)
    assert exportdb.search("quantum flux") == []
    assert len(exportdb.search("")) == len(CASES)


def test_unknown_tags_and_taken_names_are_refused():
    """A mistake in a case is found where it is made."""
    registry = exportdb.registry.CaseTable()
    case = next(iter(CASES.values()))
    registry.add(case)
    with pytest.raises(ValueError, match="a name that is taken"):
        registry.add(case)
    with pytest.raises(ValueError, match=r"unknown tags \['torch.magic'\]"):
        registry.add(exportdb.Case("other", "Text.", ("torch.magic",), case.model, case.example))


def test_cases_are_imported_from_either_end():
    """The registry imports the cases, and these the registry."""
    code = "import monograph_exportdb.control_flow, monograph.exportdb as d; assert d.cases"
    subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=True)
