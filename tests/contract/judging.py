"""How a call of a program is judged: it agrees with eager, is refused, fails, or is wrong.

Everything a caller can see is compared: results (values, dtypes, shapes, strides, flags, identity
and shared storage), what became of the inputs and of their containers, buffers, gradients of inputs
and parameters, and the state of the random generator.
"""

import copy
import enum
import random
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from types import FunctionType

import numpy as np
import torch
from torch import Tensor, nn
from torch.testing import assert_close
from torch.utils import _pytree as pytree

from monograph.diagnostics import MonographError
from monograph.program import ExportedProgram
from tests.contract.forms import Form
from tests.contract.registry import Call, Probe
from tests.programs.harness import aliases, same, start_anew
from tests.seeding import reseed

SEED_OF_WEIGHTS = 3
SEED_OF_EXAMPLE = 4
SEED_OF_CALL = 5

NO_GRADIENT = "backward is refused"
"""Autograd says so of a lowered write that it was not to see, whose value has no derivative."""

AGREES, REFUSED, FAILS, WRONG = "agrees", "refused", "fails", "silently wrong"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of one call; `why` is the diagnostic's name or the first difference."""

    kind: str
    why: str = ""
    raised: bool = False
    """Whether eager raised, and the program with it."""
    message: str = field(default="", compare=False)
    """What a refusal says, to whoever did not expect it."""

    def __str__(self) -> str:
        return f"{self.kind}: {self.why}" if self.why else self.kind


@dataclass(frozen=True, slots=True)
class Seen:
    """What a caller can see of one call."""

    result: object
    classes: object
    """Of the result's containers: a `torch.Size` is no plain tuple."""
    inputs: object
    aliasing: list
    aliasing_of_state: dict[str, list]
    replaced: set[str]
    """Buffers that are other objects than before: a program writes into the ones it has, so what
    shares storage with them is not compared."""
    flags: list
    gradients: object
    buffers: dict[str, Tensor]
    random: Tensor
    grad_mode: bool


def made(probe: Probe) -> nn.Module:
    """Build the module, with the same weights every time."""
    reseed(SEED_OF_WEIGHTS)
    return probe.build()


def inputs_of(call: Call, seed: int) -> tuple[tuple, dict]:
    """Make (args, kwargs)."""
    reseed(seed)
    given = call.inputs()
    if len(given) == 2 and isinstance(given[0], tuple) and isinstance(given[1], dict):
        return given
    return given, {}


def captured(probe: Probe, form: Form) -> ExportedProgram:
    """Export at the example."""
    module = made(probe)
    args, kwargs = inputs_of(probe.example, SEED_OF_EXAMPLE)
    shapes = None if probe.shapes is None else probe.shapes(form.Dim)
    with probe.example.under():
        return form.export(module, args, kwargs, shapes)


_CAPTURED: dict[tuple[str, Callable], ExportedProgram] = {}


def captured_once(probe: Probe, form: Form) -> ExportedProgram:
    """A copy of what `captured` gives for a registered probe, made once in a process."""
    key = probe.name, form.export
    if key not in _CAPTURED:
        _CAPTURED[key] = captured(probe, form)
    return copy.deepcopy(_CAPTURED[key])


def exported(
    probe: Probe, form: Form, capture: Callable[[Probe, Form], ExportedProgram] = captured
) -> tuple[nn.Module | None, Verdict]:
    """The callable program, or None and what became of the export."""
    try:
        return form.callable_from(capture(probe, form)), Verdict(AGREES)
    except form.refusals as error:
        return None, refusal(error)
    except Exception as error:  # noqa: BLE001  what user code raises of itself is no refusal
        return None, Verdict(FAILS, described(error))


def refusal(error: Exception) -> Verdict:
    """A refusal by the name of its diagnostic, or of a peer's exception."""
    if isinstance(error, MonographError):
        name = error.diagnostic.name
        return Verdict(FAILS if name == "bug" else REFUSED, name, message=str(error))
    return Verdict(REFUSED, type(error).__name__)


def described(error: Exception) -> str:
    """An exception on one line."""
    return f"{type(error).__name__}: {str(error)[:200]}".replace("\n", " ")


def judged(probe: Probe, program: nn.Module, form: Form, call: Call) -> Verdict:
    """Call the module as it was at the export, and the program, and compare."""
    reference = made(probe)
    start_anew(program, reference)
    expected = observed(reference, call, program)
    actual = observed(program, call, reference)
    if isinstance(actual, Exception) and isinstance(expected, Exception):
        return Verdict(AGREES, raised=True)
    if isinstance(actual, form.refusals):
        return refusal(actual)
    if isinstance(actual, Exception):
        return Verdict(FAILS, described(actual))
    if isinstance(expected, Exception):
        return Verdict(WRONG, f"eager raises {described(expected)}")
    for at, (left, right) in enumerate(zip(expected, actual, strict=True)):
        if right.gradients == NO_GRADIENT != left.gradients:
            return Verdict(REFUSED, NO_GRADIENT)
        difference = difference_of(left, right)
        if difference:
            return Verdict(WRONG, f"call {at + 1}: {difference}" if call.times > 1 else difference)
    return Verdict(AGREES)


def observed(module: nn.Module, call: Call, other: nn.Module) -> list[Seen] | Exception:
    """Call as often as it says; everything visible each time, or the first exception."""
    try:
        if call.before is not None:
            call.before(module)
        return [
            observed_once(module, call, SEED_OF_CALL + turn, other) for turn in range(call.times)
        ]
    except Exception as error:  # noqa: BLE001  whatever is raised is compared
        return error
    finally:
        torch.set_grad_enabled(True)


def observed_once(module: nn.Module, call: Call, seed: int, other: nn.Module) -> Seen:
    """One call and what is visible of it; afterwards the caller reuses the inputs' memory."""
    args, kwargs = inputs_of(call, seed)
    numbers: dict[int, tuple[int, object]] = {}
    tensors = [
        leaf for leaf in pytree.tree_leaves(opened((args, kwargs), {})) if isinstance(leaf, Tensor)
    ]
    before = module.state_dict(keep_vars=True)
    names = sorted(before.keys() & other.state_dict().keys())
    module.zero_grad()
    seed_all(seed)
    with call.under():
        result = module(*args, **kwargs)
    inputs = opened((args, kwargs), numbers)
    result = opened(result, numbers)
    drawn, grad_mode = torch.random.get_rng_state(), torch.is_grad_enabled()
    torch.set_grad_enabled(True)
    after = module.state_dict(keep_vars=True)
    seen = Seen(
        kept(result),
        classes(result),
        kept(inputs),
        aliases(tensors, result, module, []),
        {name: aliases([], result, module, [name]) for name in names},
        {name for name in names if after[name] is not before[name]},
        [flags_of(leaf) for leaf in [*pytree.tree_leaves(result), *tensors]],
        gradients(module, tensors, result, names),
        {name: kept(after[name]) for name in names},
        drawn,
        grad_mode,
    )
    overwrite(tensors)
    return seen


def opened(tree: object, numbers: dict[int, tuple[int, object]]) -> object:
    """Objects of classes that no pytree knows as dicts of what they hold, and where they are again.

    Objects are the same where they have the same number: in the inputs, and in the result.
    """
    kind = type(tree)
    if isinstance(tree, Tensor | nn.Module | type | enum.Enum) or tree is None:
        return tree
    if kind in {list, tuple}:
        return kind([opened(each, numbers) for each in tree])
    if kind in {dict, OrderedDict}:
        return kind((key, opened(each, numbers)) for key, each in tree.items())
    if pytree.is_namedtuple_class(kind):
        return kind(*[opened(each, numbers) for each in tree])
    if not is_users(kind):
        return tree
    if id(tree) in numbers:
        return {"again": numbers[id(tree)][0]}
    numbers[id(tree)] = (len(numbers), tree)
    found = {"class": kind.__qualname__, **held_by(tree)}
    return {name: opened(each, numbers) for name, each in found.items()}


def is_users(kind: type) -> bool:
    """Whether a class is one of these tests', or a bag of attributes of Python's."""
    if kind in pytree.SUPPORTED_NODES or issubclass(kind, torch.Size | np.ndarray | FunctionType):
        return False
    return kind.__module__ in {"types", "collections"} or kind.__module__.startswith("tests.")


def held_by(tree: object) -> dict[str, object]:
    """Content and attributes of an object, read past its class."""
    kind = type(tree)
    found = {}
    for base in (OrderedDict, dict, list, tuple):
        if issubclass(kind, base):
            content = base.items(tree) if issubclass(base, dict) else base.__iter__(tree)
            found["content"] = list(content)
            break
    if kind.__dictoffset__:
        found |= object.__getattribute__(tree, "__dict__")
    slots = [(each, name) for each in kind.__mro__ for name in vars(each).get("__slots__", ())]
    for owner, name in slots:
        is_private = name.startswith("__") and not name.endswith("__")
        mangled = f"_{owner.__name__}{name}" if is_private else name
        with suppress(AttributeError):
            found[mangled] = object.__getattribute__(tree, mangled)
    return found


def seed_all(seed: int) -> None:
    """Seed every generator that user code is likely to draw from."""
    reseed(seed)
    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002  the generator that user code shares


def overwrite(tensors: list[Tensor]) -> None:
    """Write to the inputs as a caller does who reuses their memory."""
    for tensor in tensors:
        if tensor.layout == torch.strided and tensor.numel() and not tensor.is_inference():
            tensor.detach().as_strided((1,), (1,)).zero_()


def kept(tree: object) -> object:
    """A copy that later writes do not reach; a tensor's copy has its strides."""
    return pytree.tree_map(
        lambda leaf: laid_as(leaf) if isinstance(leaf, Tensor) else copy.copy(leaf), tree
    )


def classes(tree: object) -> object:
    """The classes of a result's containers, nested as they are."""
    if isinstance(tree, dict):
        return type(tree), {key: classes(value) for key, value in tree.items()}
    return (type(tree), list(map(classes, tree))) if isinstance(tree, list | tuple) else None


def laid_as(tensor: Tensor) -> Tensor:
    """A copy with the same strides: of everything between its first element and its last."""
    given = tensor.detach()
    if given.layout != torch.strided or not given.numel():
        return given.clone()
    if given.is_conj():
        return laid_as(given.conj()).conj()
    if given.is_neg():
        return laid_as(given._neg_view())._neg_view()
    span = 1 + sum((n - 1) * stride for n, stride in zip(given.shape, given.stride(), strict=True))
    return given.as_strided((span,), (1,)).clone().as_strided(given.shape, given.stride())


def flags_of(leaf: object) -> object:
    """What a tensor says of itself beside its type; nothing of other leaves."""
    if not isinstance(leaf, Tensor):
        return None
    return {
        "requires_grad": leaf.requires_grad,
        "is_leaf": leaf.is_leaf,
        "is_conj": leaf.is_conj(),
        "is_neg": leaf.is_neg(),
        "is_inference": leaf.is_inference(),
        "class": type(leaf).__name__,
    }


def gradients(module: nn.Module, inputs: list[Tensor], result: object, names: list[str]) -> object:
    """What inputs and parameters receive from the sum of squares of the results."""
    sums = [
        leaf.abs().square().sum().double()
        for leaf in pytree.tree_leaves(result)
        if isinstance(leaf, Tensor) and leaf.requires_grad
    ]
    if not sums:
        return None
    try:
        torch.stack(sums).sum().backward()
    except RuntimeError as error:  # such as a value changed after it was saved for backward
        return NO_GRADIENT if "is not implemented" in str(error) else type(error).__name__
    state = module.state_dict(keep_vars=True)
    leaves = [*(each for each in inputs if each.is_leaf), *(state[name] for name in names)]
    return [None if leaf.grad is None else leaf.grad.clone() for leaf in leaves]


def difference_of(expected: Seen, actual: Seen) -> str:
    """The first visible difference, "" if there is none."""
    comparisons = {
        "the result": lambda: same(expected.result, actual.result, "the result"),
        "classes": lambda: same_text(expected.classes, actual.classes, "the classes"),
        "signs": lambda: same_signs(expected.result, actual.result),
        "the inputs": lambda: same(expected.inputs, actual.inputs, "the inputs"),
        "aliasing": lambda: same_text(expected.aliasing, actual.aliasing, "aliasing"),
        "state": lambda: same_sharing(expected, actual),
        "flags": lambda: same_text(expected.flags, actual.flags, "flags"),
        "gradients": lambda: same_gradients(expected.gradients, actual.gradients),
        "buffers": lambda: same(expected.buffers, actual.buffers, "the buffers"),
        "grad mode": lambda: same_text(expected.grad_mode, actual.grad_mode, "grad mode"),
        "random": lambda: same_random(expected.random, actual.random),
    }
    for name, compare in comparisons.items():
        try:
            compare()
        except AssertionError as error:
            return f"{name}: {str(error)[:300]}".replace("\n", " ")
    return ""


def same_gradients(expected: object, actual: object) -> None:
    """Hold that there are the same, or none, or that autograd refuses both by the same name."""
    kinds = [
        each if isinstance(each, str) else "none" if each is None else "some"
        for each in (expected, actual)
    ]
    same_text(*kinds, "the kind")
    same(expected, actual, "the gradients")


def same_text(expected: object, actual: object, what: str) -> None:
    """Hold that two tables are equal."""
    assert expected == actual, f"{what}: {expected} became {actual}"


def same_sharing(expected: Seen, actual: Seen) -> None:
    """Hold that results share storage with the same state."""
    for name, sharing in expected.aliasing_of_state.items():
        if name not in expected.replaced:
            same_text(sharing, actual.aliasing_of_state[name], name)


def same_random(expected: Tensor, actual: Tensor) -> None:
    """Hold that as many random numbers were drawn."""
    assert torch.equal(expected, actual), "the random generator stands elsewhere"


def same_signs(expected: object, actual: object) -> None:
    """Hold that zeros have the same sign: what follows may divide by them."""
    pairs = zip(pytree.tree_leaves(expected), pytree.tree_leaves(actual), strict=True)
    for left, right in pairs:
        if isinstance(left, Tensor) and left.is_floating_point() and left.layout == torch.strided:
            zero = (left == 0) & (right == 0)
            assert_close(right.signbit() & zero, left.signbit() & zero)
        if isinstance(left, float) and left == 0:
            assert str(left) == str(right), f"{left} became {right}"
