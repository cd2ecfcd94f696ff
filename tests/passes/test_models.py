"""Models lowered to core ATen: they answer as themselves, and in the operators PyTorch's use."""

from functools import partial

import pytest
import torch

import monograph
from bench.lowered_operators import ATTENTION, EQUAL, NO_MORE, operators, verdict
from bench.models import CASES
from monograph.interop import to_torch
from tests.models import hugging_face, own  # noqa: F401  importing registers the models
from tests.models.harness import (
    Exporter,
    assert_answers_as,
    build,
    capture,
    captured_once,
    exporter_named,
)
from tests.models.registry import MODELS

OURS = exporter_named("monograph:export")


@pytest.mark.parametrize("how", ["static", "automatic"])
@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_lowered_model_answers_as_the_model(model, how):
    """At all sizes that the captured program is held to; nothing else is left to lower."""
    lowered = captured_once(model, OURS, how).run_decompositions()
    assert not lowered.graph_signature.mutated_in_place
    for sizes in model.sizes if how == "automatic" else model.sizes[:1]:
        module = lowered.module()
        module.load_state_dict(build(model)[0].state_dict(), strict=False)
        assert_answers_as(model, module, sizes)
    assert operators(lowered.run_decompositions()) == operators(lowered)


def lowered_whole(program, tables):
    """Lower without the formula of attention, the one that lays its result out in another way."""
    table = tables.default_decompositions()
    del table[ATTENTION]
    return program.run_decompositions(table)


@pytest.mark.parametrize("name", ["GPT, 12 layers", "ResNet-18, eval", "ResNet-18, train"])
def test_operators_are_those_of_torch(name):
    """PyTorch's own lowering calls the same operators as often."""
    case = CASES[name]()
    ours = lowered_whole(monograph.export(case.module, (), case.kwargs), monograph)
    theirs = lowered_whole(torch.export.export(case.module, (), case.kwargs), torch.export)
    found, difference = verdict(ours, theirs)
    assert found in EQUAL, difference
    assert not set(ours.exceptions) - {*theirs_not_core(theirs)}


def test_with_torchs_formula_of_attention_operators_are_the_same():
    """Nothing but its formulas differs: in our table, it leads to what PyTorch's lowering makes."""
    case = CASES["GPT, 12 layers"]()
    program = monograph.export(case.module, (), case.kwargs)
    table = monograph.default_decompositions()
    formulas = torch.export.default_decompositions()
    for corrected in (ATTENTION, torch.ops.aten._safe_softmax.default):
        table[corrected] = formulas[corrected]
    theirs = to_torch(program).run_decompositions()
    found, difference = verdict(program.run_decompositions(table), theirs)
    assert found in EQUAL, difference


PEER = exporter_named("torch.export:export")
FEW = ("attention", "lstm", "resnet")
"""One of each kind: torch.export and its lowering take seconds for each."""


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[] if name in FEW else [pytest.mark.slow]) for name in MODELS],
)
def test_operators_are_those_of_torch_but_for_what_is_explained(name):
    """PyTorch lowers its own program to the same, and ours to no fewer operators.

    Attention's result lies as eager's does in ours, and otherwise in PyTorch's lowered programs:
    what follows it is copied there, or multiplied in stacks. PyTorch's own capture tells the model
    that it is exported, and it makes masks that eager code does not. Attention, recurrence and
    convolution are tried here, every other model by the slow tests.
    """
    model = MODELS[name]
    captured = captured_once(model, OURS, "static")
    lowered = captured.run_decompositions()
    found, difference = verdict(lowered, to_torch(captured).run_decompositions())
    assert found in NO_MORE, difference
    theirs = lowered_whole(capture(model, PEER, "static"), torch.export)
    exporting = Exporter(partial(monograph.export, is_exporting=True), monograph)
    ours = lowered_whole(capture(model, exporting, "static"), monograph)
    found, difference = verdict(ours, theirs)
    assert found in EQUAL, difference


def theirs_not_core(program):
    """Operators that PyTorch leaves although it does not call them core."""
    return [
        str(node.target)
        for node in program.graph.nodes
        if isinstance(node.target, torch._ops.OpOverload) and torch.Tag.core not in node.target.tags
    ]
