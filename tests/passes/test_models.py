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


PEER = exporter_named("torch.export:export")
LINEAR_AFTER_ATTENTION = Counter(
    {
        "aten.clone.default": 1,
        "aten.view.default": -1,
        "aten.expand.default": -2,
        "aten.bmm.default": -1,
    }
)
"""What ours has more for a linear layer whose input is attention's result, made contiguous.

PyTorch's attention lies otherwise once it is lowered, but its programs lost the `contiguous()` when
they were exported; so the layer becomes a stack of products, and an addition if it has a bias. For
GPT-2 PyTorch then refuses to lower its own program.
"""
NOT_LOWERED_BY_TORCH = {"gpt2"}
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
    """Differences are linear layers after attention, views of all of it, and kept `detach`es."""
    model = MODELS[name]
    ours = counted(capture(model, OURS, "static").run_decompositions())
    theirs = capture(model, PEER, "static")
    if name in NOT_LOWERED_BY_TORCH:
        with pytest.raises(ValueError, match="Cannot view a tensor"):
            theirs.run_decompositions()
        return
    expected = counted(theirs.run_decompositions())
    n_layers = expected["aten.bmm.default"] - ours["aten.bmm.default"]
    assert n_layers in range(9)
    for operator, more in LINEAR_AFTER_ATTENTION.items():
        expected[operator] += more * n_layers
    for layer, product in ((0, "aten.mm.default"), (1, "aten.addmm.default")):
        n_more = ours[product] - expected[product]
        expected[product] += n_more
        n_layers -= n_more
        expected["aten.add.Tensor"] -= n_more * layer
    assert n_layers == 0
    assert +ours == +expected


def counted(program):
    """Operators that compute; a fresh tensor of any values counts as one that is full of zeros."""
    found = operators(program)
    for node in program.graph.nodes:
        if node.target is torch.ops.aten.slice.Tensor:
            found["aten.slice.Tensor"] -= node.meta["val"].shape == node.args[0].meta["val"].shape
    for operator in {*BESIDE, "aten.detach.default"}:
        found.pop(operator, None)
    found["aten.full_like.default"] += found.pop("aten.empty_permuted.default", 0)
    normalised = found.pop("aten._native_batch_norm_legit_functional.default", 0)
    found[NORMALISES] += normalised
    found["aten.clone.default"] += 2 * normalised
    return found


def theirs_not_core(program):
    """Operators that PyTorch leaves although it does not call them core."""
    return [
        str(node.target)
        for node in program.graph.nodes
        if isinstance(node.target, torch._ops.OpOverload) and torch.Tag.core not in node.target.tags
    ]
