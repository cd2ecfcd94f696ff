"""Differential check of a program against its module, on the example inputs and with other masks.

For programs of models that were told that they are exported: what installed packages do then is
meant to compute what they compute else, and may not. So both are run, and their results compared.
The module, the inputs and the random generator are as before.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any, Final

import torch

from monograph.diagnostics import ContractError
from monograph.host.dispatch import is_fake
from monograph.host.trees import flatten, leaves_of, tree_map, unflatten
from monograph.program.calling.kept_state import KeptState

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from monograph.program.program import ExportedProgram

_CLOSE: Final[Mapping[torch.dtype, float]] = {torch.float16: 1e-2, torch.bfloat16: 5e-2}
"""By how much of the largest value results may differ: kernels add up in other orders."""


def agrees_with(program: ExportedProgram, module: torch.nn.Module, args: Any, kwargs: Any) -> bool:
    """Whether program and module give the same for the example, and where its masks differ.

    A call that the program refuses, or the module raises at, is no difference. Nothing can be
    compared of a module, or for inputs, without data (on the meta device, or FakeTensors): whether
    they agree is not known.
    """
    tensors = [*module.parameters(), *module.buffers(), *leaves_of((args, kwargs))]
    if any(isinstance(t, torch.Tensor) and (t.is_meta or is_fake(t)) for t in tensors):
        return False
    run = program.module()
    # Neither side trains, so that parameters, which may be large, need not be copied. A program
    # writes to no attributes, and keeps the code that its first call made.
    state = KeptState((module,), with_parameters=False, also=run.buffers())
    variations = _variations((args, dict(kwargs or {})))
    return all(_agree(run, module, state, inputs) for inputs in variations)


def _agree(run: torch.nn.Module, module: torch.nn.Module, state: KeptState, inputs: Any) -> bool:
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
    return len(expected) == len(actual) and all(map(_is_close, expected, actual))


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
