"""Interpreted and plain capture write the same graphs; static ones have the same guards, too."""

import pytest

import monograph
from tests.models import hugging_face, own  # noqa: F401  importing registers the models
from tests.models.harness import build, dynamic_shapes, inputs_at
from tests.models.registry import MODELS


def written(model, exporter, how, *, strict):
    """Give the graph, and the contract with its guards and ranges, of one capture, as text."""
    module, inputs = build(model)
    args, kwargs = inputs_at(inputs, model.sizes[0], 5)
    shapes = dynamic_shapes(model, exporter, how)
    program = monograph.export(module, args, kwargs, dynamic_shapes=shapes, strict=strict)
    assert not program.report.native_islands
    return str(program.graph), str(program.contract)


BOTH_WAYS = {"vit_any_size"}
"""Models with a branch on a size, of which the interpreter records both ways."""


@pytest.mark.parametrize("how", ["static", "automatic"])
@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_interpreted_as_plain(model, exporter, how):
    """The interpreter changes nothing about what a model computes, and nothing runs unseen.

    Plain capture decides comparisons of open sizes at once in code that asks for their class, and
    may guard more then.
    """
    graph, contract = written(model, exporter, how, strict=True)
    plain, narrower = written(model, exporter, how, strict=False)
    if model.name not in BOTH_WAYS:
        assert graph == plain
    assert contract == narrower or how == "automatic"
