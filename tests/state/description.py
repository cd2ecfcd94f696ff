"""Everything about a module that a capture must leave as it was, as data that can be compared."""

import gc
import random
from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor, nn

from monograph.abstract.tensor import StaticTensor, SymbolicTensor

ATOMS = (int, float, complex, bool, str, bytes, type(None), torch.dtype, torch.device, torch.Size)
STATES: tuple[tuple[type, Callable], ...] = (
    (random.Random, lambda rng: hash(rng.getstate())),
    (np.random.Generator, lambda rng: repr(rng.bit_generator.state)),
    (torch.Generator, lambda rng: rng.get_state().numpy().tobytes()),
    (np.ndarray, lambda array: (array.shape, array.dtype.str, array.tobytes())),
)
"""What has state of its own, and how to read it."""


def description(module: nn.Module) -> list[tuple[str, object]]:
    """Every submodule by path: its identity, its class, and all that its `__dict__` leads to."""
    seen: set[int] = set()
    return [
        (path, (id(each), type(each), described(vars(each), seen)))
        for path, each in module.named_modules(remove_duplicate=False)
    ]


def described(value: object, seen: set[int]) -> object:
    """One value: what it is and what is in it; what was described before by its identity."""
    if isinstance(value, ATOMS):
        return type(value), repr(value)
    if id(value) in seen or isinstance(value, nn.Module | type):
        return id(value)
    seen.add(id(value))
    if isinstance(value, Tensor):
        return described_tensor(value)
    for kind, state in STATES:
        if isinstance(value, kind):
            return id(value), state(value)
    if isinstance(value, dict):
        items = [(described(k, seen), described(v, seen)) for k, v in value.items()]
        return id(value), type(value), items
    if isinstance(value, list | tuple | set | frozenset) or type(value).__name__ == "deque":
        return id(value), type(value), [described(each, seen) for each in value]
    inside = {**getattr(value, "__dict__", {}), **slots_of(value)}
    return id(value), type(value), [(name, described(each, seen)) for name, each in inside.items()]


def slots_of(value: object) -> dict[str, object]:
    """What an object holds in slots."""
    names = [name for cls in type(value).__mro__ for name in vars(cls).get("__slots__", ())]
    return {name: getattr(value, name) for name in names if hasattr(value, name)}


def described_tensor(tensor: Tensor) -> tuple:
    """A tensor's identity, version, flags, layout and data."""
    data = tensor.detach()
    dense = data.layout == torch.strided
    return (
        id(tensor),
        tensor._version,
        tensor.requires_grad,
        tensor.grad is None,
        tuple(tensor.shape),
        tensor.stride() if dense else (),
        tensor.untyped_storage().data_ptr() if dense else 0,
        repr(data.tolist()) if dense else "",
        sorted(vars(tensor)),
    )


def differences(before: list, after: list) -> list[str]:
    """The paths of the submodules that differ."""
    if [path for path, _ in before] != [path for path, _ in after]:
        return ["the tree of modules"]
    return [
        path or "self"
        for (path, left), (_, right) in zip(before, after, strict=True)
        if left != right
    ]


def abstract_tensors() -> list[int]:
    """The identities of all tensors of captures that are still reachable from somewhere."""
    gc.collect()
    return [id(each) for each in gc.get_objects() if type(each) in (StaticTensor, SymbolicTensor)]
