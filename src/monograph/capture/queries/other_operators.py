"""Operators that are not recorded as they are called: they would be of subclasses, draw, resize."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast

import torch

from monograph.abstract.layout import is_contiguous
from monograph.abstract.tensor import AbstractTensor, StaticTensor, SymbolicTensor
from monograph.capture.caught_refusals import answered
from monograph.diagnostics import problem
from monograph.host.dispatch import is_composite, is_default_generator, schema_of, without_modes
from monograph.host.process_groups import is_distributed
from monograph.host.trees import pytree

if TYPE_CHECKING:
    from monograph.diagnostics import MonographError


def resized(recorder: Any, out: Any, t: Any, args: tuple[Any, ...]) -> bool:
    """Whether `out=` was given an empty tensor that forward made: it has other memory from then on.

    Of a tensor with memory somebody may see a part, before it is resized or after that.
    """
    node, region = out.node, recorder.region
    is_empty = any(type(size) is int and size == 0 for size in out.tensor_type.shape)
    if not is_empty or type(out) is not SymbolicTensor or out.view_of is not None:
        return False
    if node is None or node.op != "call_function" or out.tensor_type.shape == t.shape:
        return False
    if region is not None and (region.is_outside(out) or region.stands_in(out)):
        return False
    if not is_contiguous(t):  # where it is, results lie alike wherever they are written
        return False
    for each in pytree.tree_leaves(args):
        if isinstance(each, AbstractTensor):  # they lie as results of what is given do
            recorder.layout_asked(each, "strides")
    options = {"dtype": out.tensor_type.dtype, "device": out.tensor_type.device}
    made = recorder.call(_EMPTY, ([out.number(size) for size in t.shape],), options)
    recorder.retype(out, made.tensor_type, made.node)
    made.node.meta["val"] = out
    return True


def by_subclass(
    mode: Any,
    refusal: MonographError,
    overload: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> Any:
    """What an operator does with a tensor that is made of others, or makes: its class is asked.

    In eager code it is asked of what autograd took composite operators apart into.

    Raises: the refusal, if it is another, or there is no such tensor.
    """
    if refusal.diagnostic.name == "unsupported-layout":
        made = mode.answers.make_sparse(mode, overload, args, kwargs)
        if made is not NotImplemented:
            return made
    elif refusal.diagnostic.name == "script-object" and overload.namespace == "c10d":
        return mode.answers.collective(mode, overload, args)
    elif refusal.diagnostic.name != "unsupported-subclass":
        raise refusal
    given = [each for each in pytree.tree_leaves((args, kwargs)) if isinstance(each, torch.Tensor)]
    kinds: list[Any] = [type(each) for each in given if hasattr(each, "__tensor_flatten__")]
    if not kinds:
        raise refusal
    if any(map(is_distributed, given)) and not is_composite(overload):
        answered(refusal)
        return NotImplemented  # C++ goes on with it
    with mode:
        if is_composite(overload) and not any(hasattr(each, "takes_composites") for each in kinds):
            return overload.decompose(*args, **kwargs)
        for kind in dict.fromkeys(kinds):
            result = kind.__torch_dispatch__(overload, tuple(kinds), args, kwargs)
            if result is not NotImplemented:
                return result
    return NotImplemented


def drawn(recorder: Any, overload: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What an operator draws from a generator that forward seeds: the same in every call.

    What another generator gives is as random as its state, which is watched like all that was
    there before (`opaque_objects`).

    Raises: own-generator, where sizes or tensors decide what is drawn, or nobody chose the seed.
    """
    generator = kwargs["generator"]
    if is_default_generator(generator):
        return recorder.call(overload, args, kwargs | {"generator": None})
    is_fill = schema_of(overload).name in _FILLS and _is_plain_memory(args[0])
    rest = args[1:] if is_fill else args
    is_plain = all(type(each) in _PLAIN for each in pytree.tree_leaves((rest, kwargs)))
    if not is_plain or not _is_seeded(generator):
        recorder.refuse(problem("own-generator"), "it draws from PyTorch's own generator")
        return recorder.call(overload, args, kwargs | {"generator": None})
    with without_modes():
        if not is_fill:
            return recorder.call(_COPY, (overload(*args, **kwargs),), {})
        shape: Any = args[0].tensor_type.shape
        numbers = overload(
            torch.empty(shape, dtype=args[0].dtype, device=args[0].device), *rest, **kwargs
        )
        return recorder.call(_WRITE, (args[0], numbers), {})


def _is_plain_memory(target: Any) -> bool:
    """Whether a tensor lies in memory alike in every call, so that it is filled in one order."""
    if type(target) is not StaticTensor or target.node is None or target.node.all_input_nodes:
        return False
    is_made, t = target.node.op == "call_function", cast("Any", target.tensor_type)
    return is_made and t.stride() == torch.empty(t.shape, device="meta").stride()


def _is_seeded(generator: torch.Generator) -> bool:
    """Whether code chose the seed: `Generator.seed` takes one of 64 bits from the system."""
    return generator.initial_seed() in range(2**32) or generator.initial_seed() == _DEFAULT_SEED


_EMPTY: Final = torch.ops.aten.empty.memory_format
_COPY: Final = torch.ops.aten.lift_fresh_copy.default
_WRITE: Final = torch.ops.aten.copy_.default
_FILLS: Final = frozenset(
    f"aten::{name}_"
    for name in ("cauchy", "exponential", "geometric", "log_normal", "normal", "random", "uniform")
)
"""Operators that write what they draw, and read nothing of what is there."""
_DEFAULT_SEED: Final = torch.Generator().initial_seed()
_PLAIN: Final = frozenset(
    {
        *(int, float, bool, type(None), torch.dtype, torch.device),
        *(torch.layout, torch.memory_format, torch.Generator),
    }
)

__all__ = ["by_subclass", "drawn", "resized"]
