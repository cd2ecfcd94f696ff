"""Models lowered to core ATen: they answer as themselves, and in the operators PyTorch's use."""

import pytest
import torch

import monograph
from bench.lowered_operators import Verdict, operators, verdict
from bench.models import CASES
from monograph.interop import to_torch
from tests.models import hugging_face, own  # noqa: F401  importing registers the models
from tests.models.harness import assert_answers_as, build, capture, exporter_named
from tests.models.registry import MODELS

OURS = exporter_named("monograph:export")


@pytest.mark.parametrize("how", ["static", "automatic"])
@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_lowered_model_answers_as_the_model(model, how):
    """At all sizes that the captured program is held to; nothing else is left to lower."""
    lowered = capture(model, OURS, how).run_decompositions()
    assert not lowered.graph_signature.mutated_in_place
    for sizes in model.sizes if how == "automatic" else model.sizes[:1]:
        module = lowered.module()
        module.load_state_dict(build(model)[0].state_dict(), strict=False)
        assert_answers_as(model, module, sizes)
    assert operators(lowered.run_decompositions()) == operators(lowered)


EXPLAINED = {Verdict.SAME, Verdict.BESIDE, Verdict.FEWER, Verdict.ATTENTION}
"""Attention's result lies as eager's does in ours, and otherwise in PyTorch's lowered programs:
what follows it is copied there, or multiplied in stacks."""


@pytest.mark.parametrize("name", ["GPT, 12 layers", "ResNet-18, eval", "ResNet-18, train"])
def test_operators_are_those_of_torch(name):
    """PyTorch's own lowering calls the same operators as often, but for what follows attention."""
    case = CASES[name]()
    ours = monograph.export(case.module, (), case.kwargs).run_decompositions()
    theirs = torch.export.export(case.module, (), case.kwargs).run_decompositions()
    expected = EXPLAINED if name.startswith("GPT") else {Verdict.SAME, Verdict.BESIDE}
    assert verdict(ours, theirs)[0] in expected
    assert not set(ours.exceptions) - {*theirs_not_core(theirs), NORMALISES}


NORMALISES = "aten._native_batch_norm_legit.default"
PEER = exporter_named("torch.export:export")
NOT_LOWERED_BY_TORCH = {"gpt2"}
"""PyTorch refuses to lower its own program: attention's result cannot be viewed any more."""
HUGGING_FACE = [name for name, each in MODELS.items() if each.build.__module__.endswith("_face")]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.slow) if name in HUGGING_FACE else name
        for name in MODELS
    ],
)
def test_operators_are_those_of_torch_but_for_what_is_explained(name):
    """PyTorch lowers its own program and ours to the same, but for what follows attention."""
    model = MODELS[name]
    captured = capture(model, OURS, "static")
    ours = captured.run_decompositions()
    found, difference = verdict(ours, to_torch(captured).run_decompositions())
    assert found in EXPLAINED, difference
    theirs = capture(model, PEER, "static")
    if name in NOT_LOWERED_BY_TORCH:
        with pytest.raises(ValueError, match="Cannot view a tensor"):
            theirs.run_decompositions()
        return
    found, difference = verdict(ours, theirs.run_decompositions())
    assert found in EXPLAINED, difference


def theirs_not_core(program):
    """Operators that PyTorch leaves although it does not call them core."""
    return [
        str(node.target)
        for node in program.graph.nodes
        if isinstance(node.target, torch._ops.OpOverload) and torch.Tag.core not in node.target.tags
    ]
