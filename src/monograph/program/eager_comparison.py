"""Differential check of a program against its module, on the example inputs and with other masks.

For programs of models that were told that they are exported: what installed packages do then is
meant to compute what they compute else, and may not. So both are run, and their results compared.
Tensors without data (FakeTensors, those on the meta device) get random values for that, unless
there are too many of them. The module, the inputs and the random generator are as before.
"""

from __future__ import annotations

import copy
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import torch
from torch.func import functional_call

from monograph.diagnostics import ContractError
from monograph.host.dispatch import has_no_data, without_fake_mode
from monograph.host.trees import flatten, leaves_of, tree_map, unflatten
from monograph.program.calling.kept_state import KeptState

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from monograph.program.program import ExportedProgram

_CLOSE: Final[Mapping[torch.dtype, float]] = {torch.float16: 1e-2, torch.bfloat16: 5e-2}
"""By how much of the largest value results may differ: kernels add up in other orders."""
_MOST_DRAWN: Final = 2**28
"""How many random values the parameters and buffers of a module may get."""


def agrees_with(program: ExportedProgram, module: torch.nn.Module, args: Any, kwargs: Any) -> bool:
    """Whether program and module give the same for the example, and where its masks differ.

    A call that the program refuses, or the module raises at, is no difference. Where tensors have
    no data, the example itself must run: else it is not known whether they agree.
    """
    run, inputs = program.module(), (args, dict(kwargs or {}))
    tensors = [*module.parameters(), *module.buffers(), *leaves_of(inputs)]
    if any(isinstance(each, torch.Tensor) and has_no_data(each) for each in tensors):
        return _agrees_on_drawn(run, module, inputs)
    # Neither side trains, so that parameters, which may be large, need not be copied. A program
    # writes to no attributes, and keeps the code that its first call made.
    kept = KeptState((module,), with_parameters=False, also=run.buffers())
    return all(_agree(run, module, kept, each) for each in _variations(inputs))


def _agrees_on_drawn(run: torch.nn.Module, module: torch.nn.Module, inputs: Any) -> bool:
    """The same for random values where tensors have no data."""
    held = {**dict(module.named_parameters()), **dict(module.named_buffers())}
    if sum(tensor.numel() for tensor in held.values()) > _MOST_DRAWN:
        return False
    drawn = partial(_drawn, torch.Generator().manual_seed(0))
    with without_fake_mode():
        inputs = tree_map(drawn, inputs)
        values = {name: drawn(tensor) for name, tensor in held.items()}

        def holding(function: torch.nn.Module) -> Callable[..., Any]:
            return lambda *args, **kwargs: functional_call(
                function, {name: each.clone() for name, each in values.items()}, args, kwargs
            )

        sides, kept = (holding(run), holding(module)), KeptState((module,))
        try:
            with kept.restored():
                found, expected = (_called(side, inputs) for side in sides)
        except Exception:  # noqa: BLE001 - whatever user code raises at values of ours
            return False
        tensors = [each for each in expected if isinstance(each, torch.Tensor)]
        if not all(bool(each.isfinite().any()) for each in tensors):
            return False  # nothing but NaN shows no difference
        return _are_close(found, expected) and all(
            _agree(*sides, kept, each) for each in _variations(inputs)
        )


def _drawn(generator: torch.Generator, leaf: Any) -> Any:
    """A tensor of the same type with values: matrices that keep the scale of what they multiply."""
    if not isinstance(leaf, torch.Tensor) or not has_no_data(leaf):
        return leaf
    if not leaf.dtype.is_floating_point:
        return torch.randint(0, 2, leaf.shape, generator=generator).to(leaf.dtype)
    values = torch.randn(leaf.shape, generator=generator)
    values = values / leaf.shape[-1] ** 0.5 if leaf.dim() > 1 else 1 + values / 8
    return values.to(leaf.dtype)


def _agree(
    run: Callable[..., Any], module: Callable[..., Any], state: KeptState, inputs: Any
) -> bool:
    with state.restored():
        try:
            expected = _called(module, inputs)
        except Exception:  # noqa: BLE001 - whatever user code raises at inputs of ours
            return True
    with state.restored():
        try:
            actual = _called(run, inputs)
        except ContractError:
            return True
    return _are_close(expected, actual)


def _are_close(left: list[Any], right: list[Any]) -> bool:
    return len(left) == len(right) and all(map(_is_close, left, right))


def _variations(example: Any) -> Iterator[Any]:
    """The example; then each mask of it without padding, or with some where it had none."""
    yield example
    leaves, spec = flatten(example)
    masks = [i for i, leaf in enumerate(leaves) if _is_mask(leaf)]
    if masks:
        for i in masks:
            full = torch.ones_like(leaves[i])
            if torch.equal(full, leaves[i]):
                full[..., -1] = 0
            leaves[i] = full
        yield unflatten(leaves, spec)


def _is_mask(leaf: Any) -> bool:
    """Whether it is a table of zeros and ones."""
    if not isinstance(leaf, torch.Tensor) or leaf.dim() < 2 or not leaf.numel():
        return False
    return leaf.layout is torch.strided and bool(((leaf == 0) | (leaf == 1)).all())


def _called(function: Callable[..., Any], inputs: Any) -> list[Any]:
    """The leaves of the result; inputs and the generator are the same each time."""
    args, kwargs = tree_map(_copied, inputs)
    state = torch.random.get_rng_state()
    try:
        return leaves_of(function(*args, **kwargs))
    finally:
        torch.random.set_rng_state(state)


def _copied(leaf: Any) -> Any:
    return leaf.detach().clone() if isinstance(leaf, torch.Tensor) else copy.copy(leaf)


def _is_close(left: Any, right: Any) -> bool:
    if not isinstance(left, torch.Tensor):
        return type(left) is type(right) and (left == right or left is right)
    if not isinstance(right, torch.Tensor) or (left.shape, left.dtype) != (
        right.shape,
        right.dtype,
    ):
        return False
    left, right = left.detach(), right.detach()
    if not left.dtype.is_floating_point:
        return torch.equal(left, right)
    largest = float(left[left.isfinite()].abs().max()) if bool(left.isfinite().any()) else 0.0
    close = _CLOSE.get(left.dtype, 1e-4) * largest
    return bool(torch.isclose(right, left, rtol=0, atol=close, equal_nan=True).all())


__all__ = ["agrees_with"]
