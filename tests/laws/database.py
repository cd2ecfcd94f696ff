"""PyTorch's own databases, OpInfo and ModuleInfo, as modules to export with example inputs.

A sample of an operator becomes a module whose arguments are the tensors of the call, in order;
whatever else the call takes is a constant of the module.
"""

from __future__ import annotations

import random
import re
import sys
import warnings
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.utils import _pytree as pytree

from tests.laws.rule_check import database, stand_in_for_expecttest
from tests.seeding import reseed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

DTYPES = (torch.float32, torch.int64, torch.complex64, torch.bool)
MANY = 200
"""No entry is asked for more samples than this; some make thousands."""

UNINITIALISED = {
    *("empty", "empty_like", "empty_permuted", "empty_strided", "new_empty"),
    *("new_empty_strided", "resize_", "resize_as_"),
}
"""Their values are whatever the memory held, so only types are compared."""


@dataclass(frozen=True, slots=True)
class Hole:
    """Where a tensor stands among the arguments of a sample."""

    at: int


class Call(nn.Module):
    """One call of one operator: the tensors among its arguments are the inputs."""

    def __init__(self, function: Callable[..., Any], args: Any, kwargs: Any) -> None:
        super().__init__()
        self.function = function
        self.args = args
        self.kwargs = kwargs

    def forward(self, *tensors):
        args = [filled(arg, tensors) for arg in self.args]
        kwargs = {name: filled(arg, tensors) for name, arg in self.kwargs.items()}
        return self.function(*args, **kwargs)


def filled(value, tensors):
    """The value with tensors where holes were left for them."""
    if isinstance(value, Hole):
        return tensors[value.at]
    if type(value) in (list, tuple):
        return type(value)([filled(item, tensors) for item in value])
    if type(value) is dict:
        return {name: filled(item, tensors) for name, item in value.items()}
    return value


def emptied(value: Any, tensors: list[Tensor]) -> Any:
    """The value with holes where there were tensors, which are put into the list."""
    if isinstance(value, Tensor):
        tensors.append(value)
        return Hole(len(tensors) - 1)
    if type(value) in (list, tuple):
        return type(value)([emptied(item, tensors) for item in value])
    if type(value) is dict:
        return {name: emptied(item, tensors) for name, item in value.items()}
    return value


@dataclass(frozen=True, slots=True)
class Sample:
    """A module and its example inputs; `build` makes the module with the same weights each time."""

    build: Callable[[], nn.Module]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    compares_values: bool = True


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of a database, and how to make its samples."""

    name: str
    source: Callable[[], list[Sample]]

    def samples(self, count: int) -> list[Sample]:
        """The first, the last and some between, evenly; the same ones every time."""
        with seeded(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = self.source()
        if len(found) <= count:
            return found
        return [found[i * (len(found) - 1) // max(count - 1, 1)] for i in range(count)]


@contextmanager
def seeded(seed: int = 0) -> Iterator[None]:
    """Every generator that samples and operators draw from, at a known place, and put back."""
    kept, kept_numpy = random.getstate(), np.random.get_state()  # noqa: NPY002 - torch's samples use it
    with torch.random.fork_rng(devices=[]):
        reseed(seed)
        random.seed(seed)
        np.random.seed(seed)  # noqa: NPY002 - as above
        try:
            yield
        finally:
            random.setstate(kept)
            np.random.set_state(kept_numpy)  # noqa: NPY002 - as above


def operators(pattern: str = "") -> list[Entry]:
    """The entries of OpInfo."""
    entries = []
    found = database()
    leave_seeding_to_callers()
    for op in found:
        name = f"{op.name}[{op.variant_test_name}]" if op.variant_test_name else op.name
        if re.search(pattern, name):
            entries.append(Entry(name, lambda op=op: _operator_samples(op)))
    return entries


def leave_seeding_to_callers() -> None:
    """Let the samples of random operators draw from the generator as they find it.

    They seed it within the call, which no program does; whoever calls them here seeds it instead.
    """
    for module in list(sys.modules.values()):
        if module.__name__.startswith("torch.testing.") and hasattr(module, "wrapper_set_seed"):
            module.wrapper_set_seed = _unseeded


def _unseeded(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    return function(*args, **kwargs)


def _operator_samples(op: Any) -> list[Sample]:
    supported = op.supported_dtypes("cpu")
    dtype = next((d for d in DTYPES if d in supported), None)
    if dtype is None:
        return []
    made = op.sample_inputs("cpu", dtype, requires_grad=False)
    samples = []
    for given, _ in zip(made, range(MANY), strict=False):
        tensors: list[Tensor] = []
        args, kwargs = emptied([given.input, *given.args], tensors), emptied(given.kwargs, tensors)
        samples.append(
            Sample(
                lambda args=args, kwargs=kwargs: Call(op.op, args, kwargs),
                tuple(tensors),
                {},
                op.name not in UNINITIALISED,
            )
        )
    return samples


def modules(pattern: str = "") -> list[Entry]:
    """The entries of ModuleInfo, for training and evaluation where these differ."""
    stand_in_for_expecttest()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from torch.testing._internal.common_modules import module_db  # noqa: PLC0415 - it is slow
    entries = []
    for info in module_db:
        modes = (True, False) if info.train_and_eval_differ else (True,)
        for training in modes:
            mode = f"[{'train' if training else 'eval'}]" if len(modes) > 1 else ""
            name = f"{info.name}{mode}"
            if re.search(pattern, name):
                entries.append(Entry(name, lambda i=info, t=training: _module_samples(i, t)))
    return entries


def _module_samples(info: Any, training: bool) -> list[Sample]:
    made = info.module_inputs_func(
        info, device="cpu", dtype=torch.float32, requires_grad=False, training=training
    )
    return [
        Sample(
            lambda given=given: _built(info, given, training),
            tuple(given.forward_input.args),
            dict(given.forward_input.kwargs),
        )
        for given in made
        if given.forward_input is not None
    ]


def _built(info: Any, given: Any, training: bool) -> nn.Module:
    constructor, call = given.constructor_input, given.forward_input
    with seeded(1):
        module = info.module_cls(*constructor.args, **constructor.kwargs)
        if any(nn.parameter.is_lazy(state) for state in module.state_dict().values()):
            module(*pytree.tree_map_only(Tensor, torch.clone, call.args))
    return module.to(torch.float32).train(training)
