"""Every registered model, rewritten, answers as itself at sizes unlike the example."""

import pytest
import torch

from bench.models import ResNet, perturbed
from monograph import export, passes
from tests.models.harness import SEED_OF_CALL, build, call, captured_once, inputs_at
from tests.models.test_models import every_model

CHANGES = {
    "common_subexpressions": passes.common_subexpressions(),
    "fold_batch_norm": passes.fold_batch_norm(),
    "fold_constants": passes.fold_constants(state=True),
    "dead_code": passes.dead_code(),
    "to_dtype": passes.to_dtype(torch.float64),
}


@every_model
@pytest.mark.parametrize("name", CHANGES)
def test_rewritten_model_answers_at_other_sizes(model, name, exporter):
    """Captured with varying sizes and rewritten, it gives what the model gives."""
    program = captured_once(model, exporter, "automatic")
    rewritten = program.transform(CHANGES[name])
    for sizes in model.sizes[:1] if model.training else model.sizes:
        reference, inputs = build(model)
        given = inputs_at(inputs, sizes, SEED_OF_CALL)
        expected, _ = call(reference, given)
        if name == "to_dtype":
            given = torch.utils._pytree.tree_map(doubled, given)
        found, _ = call(rewritten.module(), given)
        leaves = torch.utils._pytree.tree_leaves
        for one, other in zip(leaves(expected), leaves(found), strict=True):
            if isinstance(one, torch.Tensor):
                torch.testing.assert_close(other.to(one.dtype), one, rtol=1e-3, atol=1e-4)


def doubled(leaf):
    """Give a float32 tensor in double precision."""
    is_single = isinstance(leaf, torch.Tensor) and leaf.dtype is torch.float32
    return leaf.double() if is_single else leaf


def test_normalisation_is_gone_from_resnet():
    """No batch normalisation is left, nor its state, and the answers stay within rounding."""
    module = perturbed(ResNet()).eval()
    image = torch.randn(2, 3, 64, 64)
    program = export(module, (image,), dynamic_shapes="image: n, 3, h, w")
    folded = program.transform(passes.fold_batch_norm())
    targets = {str(node.target) for node in folded.graph.nodes}
    assert not [name for name in targets if "batch_norm" in name]
    assert "stem.1.running_mean" not in folded.state_dict
    other = torch.randn(3, 3, 96, 80)
    torch.testing.assert_close(folded.module()(other), module(other), rtol=1e-4, atol=1e-4)
