"""Branches and loops, of operators and of Python, are handed over, compiled and packaged."""

import logging
import shutil

import pytest
import torch

import monograph
from tests.archive.corpora import Case, cases
from tests.archive.peers import quietly
from tests.archive.test_matrix import NO_FORM, NO_ROUND, outcome, outcomes
from tests.programs.harness import same

pytestmark = pytest.mark.filterwarnings("ignore")

CORPORA = ("operators", "branching", "looped")
CASES = [case for case in cases() if case.corpus in CORPORA and case.name not in NO_FORM]
NAMES = {case.name: case for case in CASES}
FEW = (
    *("Nested", "MapTree", "LoopInLoop", "Cumulative", "Associative"),
    *("if_else", "elif_chain", "counted", "EarlyExit", "GreedyDecode", "bool_of_a_tensor"),
    *("truth_is", "running_state", "in_branches"),
)


@pytest.fixture(autouse=True)
def anew():
    """Forget what was compiled before and after."""
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


def marked(few):
    """All cases, those that are not among the few as slow ones."""
    return pytest.mark.parametrize(
        "case",
        [
            pytest.param(case, id=name, marks=[] if name in few else [pytest.mark.slow])
            for name, case in NAMES.items()
        ],
    )


def answers(case: Case, expected: list, reader, *, may_lack_rounds: bool = False) -> None:
    """What was made of the program answers and refuses as the program."""
    for at, (call, left) in enumerate(zip(case.calls, expected, strict=True)):
        right = outcome(reader, call)
        if may_lack_rounds and isinstance(right, IndexError) and NO_ROUND in str(right):
            continue
        if isinstance(left, Exception):
            assert isinstance(right, Exception) or may_lack_rounds, f"call {at}"
            continue
        assert not isinstance(right, Exception), f"call {at}: {right!r}"
        same(left.result, right.result, f"the result of call {at}")
        same(left.inputs, right.inputs, f"the inputs of call {at}")


def test_the_few_are_there():
    """Names change; then this list does."""
    assert set(FEW) <= NAMES.keys()


@marked(FEW)
def test_programs_with_branches_become_torchs(case):
    """torch.export's own operators run them; `scan` needs a round, and no gradients."""
    expected = outcomes(case, case.exported().module())
    with quietly():
        theirs = case.exported().to_torch().module()
    with torch.no_grad():
        answers(case, expected, theirs, may_lack_rounds=True)


@marked(FEW)
def test_programs_with_branches_compile(case):
    """As one graph where Dynamo can, else as they are; the answers are those of the program."""
    if case.name == "BatchNormInBranch":
        pytest.skip("torch's own operator differentiates by the running mean, and raises")
    expected = outcomes(case, case.exported().module())
    with quietly():
        run = case.exported().compile(backend="eager")
        answers(case, expected, run)


@pytest.mark.parametrize("name", ["if_else", "elif_chain", "Nested", "LoopInLoop", "MapTree"])
def test_branches_are_one_graph(name):
    """`fullgraph=True` gives the backend one graph, with the operators in it."""
    case, graphs = NAMES[name], []

    def backend(graph, _):
        graphs.append(graph)
        return graph.forward

    expected = outcomes(case, case.exported().module())
    with quietly():
        run = case.exported().compile(backend=backend, fullgraph=True)
        answers(case, expected, run)
    higher = [
        node
        for node in graphs[0].graph.nodes
        if isinstance(node.target, torch._ops.HigherOrderOperator)
    ]
    assert higher


def test_what_does_not_compile_says_so(caplog):
    """A loop that Dynamo refuses ends graphs, and is logged; `fullgraph=True` raises."""
    case = NAMES["GreedyDecode"]
    caplog.set_level(logging.WARNING, "monograph.interop")
    args, kwargs = case.calls[0]()
    expected = case.exported().module()(*args, **kwargs)
    found = case.exported().compile(backend="eager")(*args, **kwargs)
    same(expected, found, "the result")
    assert "a program is compiled in parts" in caplog.text
    run = case.exported().compile(backend="eager", fullgraph=True)
    with pytest.raises(torch._dynamo.exc.TorchDynamoException):
        run(*args, **kwargs)


has_compiler = pytest.mark.skipif(shutil.which("g++") is None, reason="there is no g++")


@has_compiler
@pytest.mark.slow
@pytest.mark.parametrize("name", ["if_else", "elif_chain", "EarlyExit", "Nested", "LoopInLoop"])
def test_programs_with_branches_are_packaged(name, tmp_path):
    """AOTInductor makes machine code of branches and whiles, and the contract goes with it."""
    case = NAMES[name]
    expected = outcomes(case, case.exported().module())
    with quietly():
        case.exported().package(tmp_path / "packed.pt2")
        answers(case, expected, monograph.load_package(tmp_path / "packed.pt2"))


@has_compiler
@pytest.mark.slow
def test_what_is_not_packaged_is_refused(tmp_path):
    """AOTInductor of torch 2.13 does not take `scan`: nothing is written."""
    with pytest.raises(monograph.HandOverError) as refused, quietly():
        NAMES["running_state"].exported().package(tmp_path / "packed.pt2")
    assert refused.value.diagnostic.name == "not-handed-over"
    assert not list(tmp_path.iterdir())
