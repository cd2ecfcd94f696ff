"""Models exported with a batch of one, whose batch varies from 1 to 32, answer as themselves."""

import pytest

import monograph
from monograph import ContractError, Dim
from tests.models import hugging_face, own  # noqa: F401  importing registers the models
from tests.models.harness import SEED_OF_EXAMPLE, assert_answers_as, build, inputs_at
from tests.models.registry import MODELS

BATCHES = (1, 2, 7, 32)
NAMES = ("resnet", "bert", "llama_masked", "gpt")


def exported(name, **sizes):
    """Export a registered model at a batch of one: the model, the program, its example's sizes."""
    model = MODELS[name]
    module, inputs = build(model)
    example = {**model.sizes[0], "batch": 1} | sizes
    args, kwargs = inputs_at(inputs, example, SEED_OF_EXAMPLE)
    dims = {axis: Dim(axis, min=low, max=high) for axis, (low, high) in model.ranges.items()}
    dims["batch"] = Dim("batch", min=1, max=32)

    def declared(axes):
        return {
            key: declared(value) if isinstance(value, dict) else dims.setdefault(value, Dim(value))
            for key, value in axes.items()
        }

    program = monograph.export(module, args, kwargs, dynamic_shapes=declared(model.axes))
    return model, program, example


@pytest.mark.parametrize("name", NAMES)
def test_a_batch_of_one_is_an_example_of_every_batch(name):
    """The ends of the range included; beyond them the program refuses."""
    model, program, example = exported(name)
    module = program.module()
    for batch in BATCHES:
        assert_answers_as(model, module, example | {"batch": batch})
    _, inputs = build(model)
    for batch in (0, 33):
        args, kwargs = inputs_at(inputs, example | {"batch": batch}, SEED_OF_EXAMPLE)
        with pytest.raises(ContractError):
            module(*args, **kwargs)


def test_a_model_that_asks_whether_the_batch_is_one():
    """Without a mask, `transformers` expands the positions where the batch is not one."""
    for batch in (1, 3):
        model, program, example = exported("llama", batch=batch)
        assert not [guard for guard in program.guards if "shape[0] != 1" in guard.relation]
        for other in BATCHES:
            assert_answers_as(model, program.module(), example | {"batch": other})


@pytest.mark.parametrize(
    "name", [name for name in MODELS if {"batch", "seq"} <= MODELS[name].sizes[0].keys()]
)
def test_one_token(name):
    """An example of one sequence, or of one token, or both, is an example of more, and of one."""
    for sizes in ({}, {"seq": 1}, {"batch": 3, "seq": 1}):
        model, program, example = exported(name, **sizes)
        module = program.module()
        for batch, seq in ((1, 1), (2, 1), (32, 1), (1, 2), (7, 20)):
            assert_answers_as(model, module, example | {"batch": batch, "seq": seq})
