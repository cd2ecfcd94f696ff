"""Models lowered to core ATen: they answer as themselves, and in the operators PyTorch's use."""

from collections import Counter

import pytest
import torch

import monograph
from bench.models import CASES
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


def operators(program):
    """Every operator called, with how often, subgraphs included; regions are no operators."""
    return Counter(
        str(node.target)
        for module in program.graph_module.modules()
        if isinstance(module, torch.fx.GraphModule)
        for node in module.graph.nodes
        if isinstance(node.target, torch._ops.OpOverload)
    )


# What PyTorch writes beside the program: checks of types, and views of the whole.
BESIDE = {"aten._assert_tensor_metadata.default", "aten.alias.default"}
NORMALISES = "aten._native_batch_norm_legit.default"


@pytest.mark.parametrize("name", ["GPT, 12 layers", "ResNet-18, eval", "ResNet-18, train"])
def test_operators_are_those_of_torch(name):
    """PyTorch's own lowering of the same model calls the same operators as often."""
    case = CASES[name]()
    ours = monograph.export(case.module, (), case.kwargs).run_decompositions()
    theirs = torch.export.export(case.module, (), case.kwargs).run_decompositions()
    expected = operators(theirs)
    for operator in BESIDE:
        expected.pop(operator, None)
    # PyTorch's functional form has no gradient; ours writes to copies of the statistics.
    normalised = expected.pop("aten._native_batch_norm_legit_functional.default", 0)
    if normalised:
        expected[NORMALISES] += normalised
        expected["aten.clone.default"] += 2 * normalised
    assert operators(ours) == expected
    assert not set(ours.exceptions) - {*theirs_not_core(theirs), NORMALISES}


def theirs_not_core(program):
    """Operators that PyTorch leaves although it does not call them core."""
    return [
        str(node.target)
        for node in program.graph.nodes
        if isinstance(node.target, torch._ops.OpOverload) and torch.Tag.core not in node.target.tags
    ]
