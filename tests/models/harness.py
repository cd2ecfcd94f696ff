"""What a program is held against: the model itself, on values and at sizes unlike the example.

The harness knows exporters only by their call, so that a peer can stand in for ours.
"""

import copy
import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import ModuleType

import torch
from torch import Tensor, nn
from torch.testing import assert_close
from torch.utils import _pytree as pytree

import monograph
from bench.models import perturbed
from monograph.diagnostics import ContractError
from tests.models.registry import Model
from tests.seeding import reseed

SEED_OF_WEIGHTS = 20
SEED_OF_EXAMPLE = 21
SEED_OF_CALL = 22


@dataclass(frozen=True, slots=True)
class Exporter:
    """An exporter and the module whose `Dim` it understands."""

    export: Callable
    home: ModuleType

    @property
    def is_ours(self) -> bool:
        """A peer that stands in shows that the harness works; it need not keep our promises."""
        return self.home.__name__ == "monograph"

    @property
    def refusals(self) -> tuple[type[Exception], ...]:
        """What a program raises before it runs, when the call breaks its contract."""
        return (ContractError,) if self.is_ours else (AssertionError, RuntimeError)


def exporter_named(path: str) -> Exporter:
    """Find `module:function`."""
    module, _, name = path.partition(":")
    home = importlib.import_module(module)
    return Exporter(getattr(home, name), home)


# ----------------------------------------------------------------------------- making the example
def build(model: Model) -> tuple[nn.Module, Callable]:
    """Build the module, the same weights every time."""
    reseed(SEED_OF_WEIGHTS)
    module, inputs = model.build()
    return perturbed(module).train(model.training), inputs


def inputs_at(inputs: Callable, sizes: Mapping[str, int], seed: int):
    """Draw (args, kwargs) at these sizes."""
    reseed(seed)
    return inputs(**sizes)


def dynamic_shapes(model: Model, exporter: Exporter, how: str):
    """Turn the names in `model.axes` into Dims of the exporter: "named", or "automatic" ones."""
    if how == "static":
        return None
    dims = exporter.home.Dim

    def dim(name: str):
        lower, upper = model.ranges.get(name, (None, None))
        return dims.AUTO if how == "automatic" else dims(name, min=lower, max=upper)

    made: dict[str, object] = {}

    def spec(axes):
        if isinstance(axes, str):
            return made.setdefault(axes, dim(axes)) if axes not in made else made[axes]
        if isinstance(axes, Mapping):
            return {key: spec(value) for key, value in axes.items()}
        if isinstance(axes, (tuple, list)):
            return type(axes)(map(spec, axes))
        return axes

    return spec(model.axes)


def capture(model: Model, exporter: Exporter, how: str, *, strict: bool = False):
    """Export the model at its first sizes, and hold that it came back untouched."""
    module, inputs = build(model)
    args, kwargs = inputs_at(inputs, model.sizes[0], SEED_OF_EXAMPLE)
    before, rng = snapshot(module), torch.random.get_rng_state()
    values = copy.deepcopy((args, kwargs))
    program = exporter.export(
        module, args, kwargs, dynamic_shapes=dynamic_shapes(model, exporter, how), strict=strict
    )
    if exporter.is_ours:
        assert_unchanged(before, snapshot(module))
    assert torch.equal(rng, torch.random.get_rng_state()), "capturing drew random numbers"
    assert_same(values, (args, kwargs), "the example inputs")
    return program


_CAPTURED: dict[tuple[str, str, str], monograph.ExportedProgram] = {}


def captured_once(model: Model, exporter: Exporter, how: str):
    """A copy of what `capture` gives, made once in a process."""
    key = model.name, exporter.home.__name__, how
    if key not in _CAPTURED:
        _CAPTURED[key] = capture(model, exporter, how)
    return copy.deepcopy(_CAPTURED[key])


# --------------------------------------------------------------------------- the model, untouched
def snapshot(module: nn.Module) -> dict[str, dict[str, object]]:
    """Remember every attribute of every submodule: by identity, tensors by value too."""
    return {
        path: {name: remembered(value) for name, value in vars(part).items()}
        for path, part in module.named_modules()
    }


def remembered(value: object) -> object:
    """Remember one attribute."""
    if isinstance(value, Tensor):
        return (id(value), value.detach().clone(), value.requires_grad)
    if isinstance(value, dict):
        return (id(value), {key: remembered(inner) for key, inner in value.items()})
    if isinstance(value, (list, tuple)):
        return (id(value), tuple(map(id, value)))
    if isinstance(value, (set, frozenset)):
        return (id(value), tuple(sorted(map(id, value))))
    return (id(value),)


def assert_unchanged(before: object, after: object, path: str = "module") -> None:
    """Hold that two snapshots agree, naming the first attribute that does not."""
    assert type(before) is type(after), path
    match before:
        case Tensor():
            assert torch.equal(before, after), f"{path} changed its value"
        case dict():
            assert list(before) == list(after), f"{path} lost, gained or reordered attributes"
            for key in before:
                assert_unchanged(before[key], after[key], f"{path}.{key}")
        case tuple():
            for one, other in zip(before, after, strict=True):
                assert_unchanged(one, other, path)
        case _:
            assert before == after, f"{path} was replaced"


# ------------------------------------------------------------------------------- beside the model
def call(function: Callable, inputs):
    """Call on a private copy, random numbers seeded; give the result and the inputs afterwards."""
    args, kwargs = copy.deepcopy(inputs)
    reseed(SEED_OF_CALL)
    return function(*args, **kwargs), (args, kwargs)


def assert_same(expected: object, actual: object, what: str) -> None:
    """Hold that two pytrees have one structure and equal leaves."""
    expected_leaves, expected_spec = pytree.tree_flatten(expected)
    actual_leaves, actual_spec = pytree.tree_flatten(actual)
    assert expected_spec == actual_spec, f"{what} has another structure"
    for place, (left, right) in enumerate(zip(expected_leaves, actual_leaves, strict=True)):
        if isinstance(left, Tensor):
            assert_close(right, left, msg=lambda text, at=place: f"{what}, leaf {at}: {text}")
        else:
            assert left == right, f"{what}, leaf {place}: {left!r} became {right!r}"


def assert_answers_as(model: Model, module: nn.Module, sizes: Mapping[str, int]) -> None:
    """Hold that `module` answers at these sizes as the model: results, inputs and buffers after."""
    reference, inputs = build(model)
    fresh = inputs_at(inputs, sizes, SEED_OF_CALL)
    expected, expected_inputs = call(reference, fresh)
    actual, actual_inputs = call(module, fresh)
    assert_same(expected, actual, f"the result at {dict(sizes)}")
    assert_same(expected_inputs, actual_inputs, f"the inputs after the call at {dict(sizes)}")
    assert_buffers_agree(reference, module)


def assert_buffers_agree(reference: nn.Module, module: nn.Module) -> None:
    """Hold that every buffer the model keeps in its state has the same value in the program."""
    kept, state = dict(reference.named_buffers()), module.state_dict()
    for name in kept.keys() & state.keys():
        assert_close(state[name], kept[name], msg=lambda text, at=name: f"buffer {at}: {text}")


def gradients(module: nn.Module, inputs) -> dict[str, Tensor | None]:
    """Differentiate the mean square of every floating-point result by every parameter."""
    module.zero_grad()
    result, _ = call(module, inputs)
    leaves = [leaf for leaf in pytree.tree_leaves(result) if isinstance(leaf, Tensor)]
    torch.stack(
        [leaf.square().mean() for leaf in leaves if leaf.is_floating_point()]
    ).sum().backward()
    return {name: parameter.grad for name, parameter in module.named_parameters()}
