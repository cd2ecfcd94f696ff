"""Obligations of formulas: what a decomposition must keep of its operator beside the values.

It draws random numbers where the operator does. Where somebody outside can tell, its results are
memory of their own where the operator's are, for all sizes that are admitted then.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import torch

from monograph.abstract.aliasing import aliasing_of, storage_source
from monograph.abstract.layout import contiguity
from monograph.abstract.randomness import draws, draws_something
from monograph.host.overloads import aten
from monograph.integers import ge, known, negate
from monograph.passes.decomposition.layouts import COPIES_IF_NOT_CONTIGUOUS
from monograph.passes.formulas import CannotDecomposeError
from monograph.passes.functionalization.writes import shows_one_of
from monograph.passes.graph_builder import is_tensor

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from torch.fx.graph import Graph
    from torch.fx.node import Node

    from monograph.abstract.tensor_type import TensorType
    from monograph.host.operator_types import OpOverload
    from monograph.integers import Facts


_ZERO = "its formula makes no gradient of zero"
_FIXED = "its formula takes means and deviations for numbers that depend on nothing"
_OTHER_GRADIENTS: Final = {
    **dict.fromkeys((aten.bernoulli.default, aten.bernoulli.p), _ZERO),
    **dict.fromkeys((aten.fill.Scalar, aten.fill.Tensor), _ZERO),
    aten.native_batch_norm_backward.default: _FIXED,
    aten.native_layer_norm_backward.default: _FIXED,
}
"""Operators whose formulas have another gradient, and how."""


def other_gradient(
    overload: OpOverload, args: Sequence[Any], may_have: Callable[[Node], bool]
) -> str:
    """How the gradient of a formula differs from its operator's, where one may be wanted; or "".

    `may_have` tells whether a value may have a history.
    """
    reason = _OTHER_GRADIENTS.get(overload, "")
    return reason if reason and any(may_have(each) for each in args[:2] if is_tensor(each)) else ""


_DEPENDS = "its formula is a copy or none, and the operator decides that by the sizes of each call"


def shows_argument(results: Any, given: Sequence[Node]) -> bool:
    """Whether what a formula made lies in the memory of what it was given."""
    owners = {storage_source(each) for each in given}
    made = results if isinstance(results, list) else [results]
    return any(is_tensor(each) and storage_source(each) in owners for each in made)


def check_draws(overload: OpOverload, args: Any, kwargs: Mapping[str, Any], graph: Graph) -> None:
    """Hold that a formula draws random numbers where the operator does.

    Raises: CannotDecomposeError.
    """
    does = draws(overload, args, kwargs)
    if overload is aten.bernoulli.default and args[0].dtype is torch.float64:
        raise CannotDecomposeError("its formula draws numbers of another kind than for doubles")
    if draws_something(graph) is not does:
        words = ("none", "some") if does else ("some", "none")
        text = "its formula draws {} of the random numbers where the operator draws {}"
        raise CannotDecomposeError(text.format(*words))


class MemoryOf:
    """Holds the formula of an operator that copies if needed to whether the operator copies.

    Where sizes decide, a guard excludes those at which a copy would be none; where there is none at
    the example, the operator is kept.
    """

    def __init__(self, overload: OpOverload, args: Any, kwargs: Mapping[str, Any]) -> None:
        bound = aliasing_of(overload).bound(args, kwargs)
        self.form = bound.get("memory_format") or torch.contiguous_format
        self.only_if_contiguous = overload in COPIES_IF_NOT_CONTIGUOUS
        asked = bound.get("memory_format")
        is_told = asked not in {None, torch.preserve_format}
        self.asks_format = is_told and not self.only_if_contiguous
        """Whether it copies where the format that strides suggest is another."""
        self.only_if_needed = aliasing_of(overload).decides_by_layout

    def before(self, slots: Sequence[Node], facts: Facts) -> None:
        """Where the layout alone decides, it is decided before the formula asks."""
        if self.only_if_contiguous:
            self._settle(slots, facts)
        given = slots[0].meta["val"].tensor_type
        if self.asks_format and not all(type(n) is int for n in (*given.shape, *given.stride())):
            raise CannotDecomposeError(_DEPENDS)

    def after(self, slots: Sequence[Node], results: Any, facts: Facts) -> None:
        """What has been copied was to be copied: no view of it would lie as a copy does."""
        is_copy = self.only_if_needed and not self.only_if_contiguous
        if is_copy and not shows_one_of(slots, results) and self._settle(slots, facts):
            raise CannotDecomposeError(_DEPENDS)

    def _settle(self, slots: Sequence[Node], facts: Facts) -> bool:
        """Whether the argument is contiguous, in all calls."""
        given = slots[0].meta["val"].tensor_type
        where = contiguity(given, self.form)
        truth = known(where)
        if self.form is not torch.contiguous_format:
            _need_elements(given, facts)
        if truth is None:
            if facts.hint_of_relation(where) is not False:
                raise CannotDecomposeError(_DEPENDS)
            facts.guard(negate(where))
        return bool(truth)


def _need_elements(t: TensorType, facts: Facts) -> None:
    """Exclude sizes of 0, at which the strides of a tensor are in no format of images."""
    for size in t.shape:
        if known(ge(size, 1)) is None and facts.hint_of_relation(ge(size, 1)):
            facts.guard(ge(size, 1))


__all__ = ["MemoryOf", "check_draws", "other_gradient", "shows_argument"]
