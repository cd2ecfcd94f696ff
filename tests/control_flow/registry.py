"""The corpus: what a program is, and the operators in plain Python, which say what is right."""

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
import torch._higher_order_ops as hops
from torch.utils import _pytree as pytree


@dataclass(frozen=True, slots=True)
class Program:
    """A module that calls an operator, with inputs that take every way through it.

    `inputs` makes the arguments for a size; the first of `sizes` is the example's. `signs` are
    factors of the first argument: conditions in the corpus ask for its sum. `dynamic` is the
    dimension that varies, None where none may.
    """

    name: str
    module: Callable[[], torch.nn.Module]
    inputs: Callable[[int], tuple[Any, ...]]
    sizes: tuple[int, ...] = (5, 2, 9)
    signs: tuple[float, ...] = (1.0, -1.0, 3.0)
    dynamic: int | None = 0
    stock: bool = True
    """Whether torch's own operators, which trace bodies again for gradients, run it."""

    def calls(self, *, static: bool) -> Iterator[tuple[Any, ...]]:
        """Arguments of every kind."""
        for size in self.sizes[:1] if static or self.dynamic is None else self.sizes:
            for sign in self.signs:
                first, *rest = self.inputs(size)
                yield (first * sign, *rest)


PROGRAMS: dict[str, Program] = {}


def program(inputs: Callable[[int], tuple[Any, ...]], **options: Any) -> Callable[[type], type]:
    """Enter a module class into the corpus under its name."""

    def enter(module: type) -> type:
        assert module.__name__ not in PROGRAMS, module.__name__
        PROGRAMS[module.__name__] = Program(module.__name__, module, inputs, **options)
        return module

    return enter


# --- what is right -----------------------------------------------------------------------------


def cond(pred: Any, true_fn: Any, false_fn: Any, operands: Any = ()) -> Any:
    """An `if`, whose results are new tensors."""
    result = true_fn(*operands) if pred else false_fn(*operands)
    with torch.enable_grad():
        return pytree.tree_map_only(torch.Tensor, torch.clone, result)


def map_(function: Any, xs: Any, *arguments: Any) -> Any:
    """A loop over the first dimension."""
    leaves, spec = pytree.tree_flatten(xs)
    steps = [
        function(pytree.tree_unflatten(list(step), spec), *arguments)
        for step in zip(*[leaf.unbind(0) for leaf in leaves], strict=True)
    ]
    return _stacked(steps)


def _stacked(steps: list[Any]) -> Any:
    rows = [pytree.tree_leaves(step) for step in steps]
    columns = [torch.stack(column) for column in zip(*rows, strict=True)]
    return pytree.tree_unflatten(columns, pytree.tree_structure(steps[0]))


def while_loop(cond_fn: Any, body_fn: Any, carried: Any) -> Any:
    """A `while`."""
    carried = tuple(carried)
    while cond_fn(*carried):
        carried = tuple(body_fn(*carried))
    return carried


def scan(function: Any, init: Any, xs: Any, *, dim: int = 0, reverse: bool = False) -> Any:
    """A loop that carries something along."""
    leaves, spec = pytree.tree_flatten(xs)
    steps = list(zip(*[leaf.unbind(dim) for leaf in leaves], strict=True))
    made: list[Any] = []
    for step in reversed(steps) if reverse else steps:
        init, out = function(init, pytree.tree_unflatten(list(step), spec))
        made.append(out)
    stacked = _stacked(made[::-1] if reverse else made)
    if dim:
        stacked = pytree.tree_map(
            lambda leaf: leaf.movedim(0, dim) if dim < leaf.ndim else leaf, stacked
        )
    return init, stacked


def associative_scan(
    function: Any, xs: Any, dim: int, reverse: bool = False, combine_mode: str = "generic"
) -> Any:
    """The same from left to right."""
    del combine_mode
    leaves, spec = pytree.tree_flatten(xs)
    steps = [
        pytree.tree_unflatten(list(step), spec)
        for step in zip(*[leaf.unbind(dim) for leaf in leaves], strict=True)
    ]
    steps = steps[::-1] if reverse else steps
    made = [steps[0]]
    for step in steps[1:]:
        made.append(function(made[-1], step))
    stacked = _stacked(made[::-1] if reverse else made)
    return pytree.tree_map(lambda leaf: leaf.movedim(0, dim), stacked)


_PLAIN = {
    (torch, "cond"): cond,
    (hops, "map"): map_,
    (hops, "while_loop"): while_loop,
    (hops, "scan"): scan,
    (hops, "associative_scan"): associative_scan,
}


@contextlib.contextmanager
def in_plain_python() -> Iterator[None]:
    """Run the operators as the loops and branches that they are."""
    before = {place: getattr(*place) for place in _PLAIN}
    for (owner, name), function in _PLAIN.items():
        setattr(owner, name, function)
    try:
        yield
    finally:
        for (owner, name), function in before.items():
            setattr(owner, name, function)
