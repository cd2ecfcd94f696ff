"""Every registered model, captured, answers as itself on values and at sizes unlike the example."""

import pytest
import torch

from tests.models import hugging_face, own  # noqa: F401  importing registers the models
from tests.models.harness import (
    assert_answers_as,
    build,
    call,
    capture,
    captured_once,
    gradients,
    inputs_at,
)
from tests.models.registry import MODELS

every_model = pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
dynamic = pytest.mark.parametrize("how", ["named", "automatic"])


@every_model
def test_static_capture_answers_on_fresh_values(model, exporter):
    """Captured at fixed sizes, the program gives what the model gives on other values."""
    module = capture(model, exporter, "static").module()
    assert_answers_as(model, module, model.sizes[0])


@every_model
@dynamic
def test_dynamic_capture_answers_at_other_sizes(model, how, exporter):
    """Captured with varying sizes, the program gives what the model gives at every other size."""
    program = capture(model, exporter, how)
    for sizes in model.sizes:
        # Buffers that a call updates start anew.
        assert_answers_as(model, fresh(program, model), sizes)


@every_model
def test_edges_agree_or_are_refused(model, exporter):
    """At sizes 0 and 1 the program answers as the model, or refuses before it runs."""
    if not model.edges:
        pytest.skip("no edges are listed")
    program = captured_once(model, exporter, "automatic")
    for sizes in model.edges:
        _, inputs = build(model)
        at_edge = inputs_at(inputs, sizes, 5)
        try:
            call(fresh(program, model), at_edge)
        except exporter.refusals:
            continue
        assert_answers_as(model, fresh(program, model), sizes)


@pytest.mark.parametrize("name", ["gpt", "gpt_train", "resnet", "resnet_train"])
def test_gradients_flow_through_the_program(name, exporter):
    """The parameters of the program receive the gradients that the model's receive."""
    model = MODELS[name]
    program = captured_once(model, exporter, "automatic")
    for sizes in model.sizes:
        reference, inputs = build(model)
        at_sizes = inputs_at(inputs, sizes, 6)
        expected = gradients(reference, at_sizes)
        actual = gradients(fresh(program, model), at_sizes)
        # A tied weight may keep either of its names.
        assert actual.keys() <= expected.keys()
        for parameter, gradient in actual.items():
            torch.testing.assert_close(gradient, expected[parameter], msg=parameter)


def fresh(program, model):
    """Give the program as a module that has the weights and statistics the model starts with."""
    module = program.module()
    module.load_state_dict(build(model)[0].state_dict(), strict=False)
    return module
