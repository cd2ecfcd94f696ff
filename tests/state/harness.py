"""How a program with state is judged: three calls of it beside three calls of the module.

The world is what outlives a call outside of the module: the globals of the file that defines the
program, its caches, and what the program's witness tells. It begins anew for the module and for the
program, and the export itself must leave it as it was.
"""

import copy
import functools
import importlib
import random
import types

import numpy as np
import torch
from torch import nn
from torch.utils import _pytree as pytree

from monograph.abstract.tensor import AbstractTensor
from tests.contract.forms import Form
from tests.contract.judging import (
    AGREES,
    FAILS,
    WRONG,
    Verdict,
    described,
    difference_of,
    observed_once,
    refusal,
    seed_all,
)
from tests.contract.registry import Call
from tests.programs.harness import same
from tests.seeding import reseed
from tests.state.registry import StateProgram

CALLS = 3
SEED_OF_WEIGHTS, SEED_OF_EXAMPLE, SEED_OF_CALL = 3, 4, 5
DATA = (int, float, str, list, dict, set, tuple, type(None), torch.Tensor, types.SimpleNamespace)


class World:
    """The globals of one file: what they are at first, how they come back, how they stand."""

    def __init__(self, file: types.ModuleType) -> None:
        self._file = file
        self._first = copy.deepcopy(self._data())
        self._caches = [each for each in vars(file).values() if hasattr(each, "cache_clear")]

    def _data(self) -> dict[str, object]:
        return {
            name: value
            for name, value in vars(self._file).items()
            if name.isupper() and isinstance(value, DATA)
        }

    def begin_anew(self) -> None:
        """Give every global the value it had at first."""
        for name, value in copy.deepcopy(self._first).items():
            setattr(self._file, name, value)
        for cache in self._caches:
            cache.cache_clear()

    def stands(self) -> object:
        """Tell what the globals are now, comparably."""
        return comparable(self._data())


@functools.cache
def world_of_file(name: str) -> World:
    """The world of a file, read before any program of it ran."""
    return World(importlib.import_module(name))


def world_of(program: StateProgram) -> World:
    """The world of the file that defines a program."""
    return world_of_file(program.make.__module__)


def comparable(value: object, within: tuple[int, ...] = ()) -> object:
    """A copy of containers, tensors and plain objects, as nested lists and dicts.

    `within` are the identities of what holds it: a cycle ends where it began.
    """
    if isinstance(value, AbstractTensor):
        return "a tensor of a capture"
    if isinstance(value, torch.Tensor):
        return value.detach().clone()
    if id(value) in within:
        return f"what holds this, {within[::-1].index(id(value))} above"
    inside = functools.partial(comparable, within=(*within, id(value)))
    if isinstance(value, dict):
        return [[str(key), inside(each)] for key, each in value.items()]
    if isinstance(value, set):
        return sorted(map(str, value))
    if isinstance(value, list | tuple):
        return [inside(each) for each in value]
    is_users = type(value).__module__.partition(".")[0] == "tests" and not callable(value)
    if isinstance(value, types.SimpleNamespace) or (is_users and hasattr(value, "__dict__")):
        return inside(vars(value))
    return value


def made(program: StateProgram) -> tuple[nn.Module, object]:
    """Make the module, and its witness."""
    reseed(SEED_OF_WEIGHTS)
    answer = program.make()
    return answer if isinstance(answer, tuple) else (answer, lambda: None)


def judged(program: StateProgram, form: Form) -> tuple[Verdict, Verdict | None]:
    """What became of the export, and of the three calls."""
    world = world_of(program)
    world.begin_anew()
    reference, witness = made(program)
    expected = three_calls(program, reference, witness, world)
    world.begin_anew()
    module, witness = made(program)
    callable_program, export = exported(program, form, module, (witness, world))
    if callable_program is None:
        return export, None
    actual = three_calls(program, callable_program, witness, world)
    return export, compared(expected, actual, form)


def exported(program, form, module, outside) -> tuple[nn.Module | None, Verdict]:
    """Export; the world and the generators come back as they were, whatever happens."""
    witness, world = outside
    reseed(SEED_OF_EXAMPLE)
    args = program.inputs()
    seed_all(SEED_OF_EXAMPLE)
    before = [comparable(witness()), world.stands(), *generators()]
    try:
        made_program = form.export(module, args, {}, None)
        answer = form.callable_from(made_program), Verdict(AGREES)
    except form.refusals as error:
        answer = None, refusal(error)
    except Exception as error:  # noqa: BLE001  an exception of its own is a failure
        answer = None, Verdict(FAILS, described(error))
    after = [comparable(witness()), world.stands(), *generators()]
    same(before, after, "the world after the export")
    return answer


def generators() -> list[object]:
    """The state of every generator that user code may share."""
    numpy_state = np.random.get_state()  # noqa: NPY002  the generator that user code shares
    return [
        torch.random.get_rng_state(),
        hash(random.getstate()),
        hash(numpy_state[1].tobytes()),
    ]


def three_calls(program, module, witness, world) -> list | Exception:
    """Everything visible of three calls, and the world after each."""
    seen = []
    call = Call(program.inputs)
    try:
        for turn in range(CALLS):
            one = observed_once(module, call, SEED_OF_CALL + turn, module)
            seen.append((one, comparable(witness()), world.stands()))
    except Exception as error:  # noqa: BLE001  whatever is raised is compared
        return error
    finally:
        torch.set_grad_enabled(True)
    return seen


def compared(expected: list | Exception, actual: list | Exception, form: Form) -> Verdict:
    """The first difference between the calls of the module and those of the program."""
    if isinstance(actual, Exception) and isinstance(expected, Exception):
        return Verdict(AGREES, raised=True)
    if isinstance(actual, form.refusals):
        return refusal(actual)
    if isinstance(actual, Exception):
        return Verdict(FAILS, described(actual))
    if isinstance(expected, Exception):
        return Verdict(WRONG, f"eager raises {described(expected)}")
    for turn, (left, right) in enumerate(zip(expected, actual, strict=True)):
        difference = difference_of(of_common_state(left[0], right[0]), right[0])
        if not difference:
            difference = difference_outside(left[1:], right[1:])
        if difference:
            return Verdict(WRONG, f"call {turn + 1}: {difference}")
    return Verdict(AGREES)


def of_common_state(expected, actual):
    """The same view without buffers and parameters that the other does not have."""
    kept = {name: value for name, value in expected.buffers.items() if name in actual.buffers}
    sharing = {n: v for n, v in expected.aliasing_of_state.items() if n in kept}
    return copy_with(expected, buffers=kept, aliasing_of_state=sharing)


def copy_with(seen, **changes):
    """A copy of a record with other fields."""
    fields = {name: getattr(seen, name) for name in seen.__slots__}
    return type(seen)(**{**fields, **changes})


def difference_outside(expected: object, actual: object) -> str:
    """Whether the world stands elsewhere."""
    left, right = pytree.tree_leaves(expected), pytree.tree_leaves(actual)
    try:
        same(left, right, "the world")
    except AssertionError as error:
        return f"outside: {str(error)[:200]}"
    return ""
