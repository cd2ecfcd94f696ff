"""The decomposition table that `run_decompositions` works with.

An operator is looked up in what the user put there, then in PyTorch's formulas for core ATen, then
among composite operators, which are what they call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, MutableMapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

import torch

from monograph.abstract.symbols import to_python
from monograph.host.decompositions import (
    composite_formula,
    composite_operators,
    core_formulas,
    is_composite,
    is_question,
)
from monograph.host.operator_types import OpOverload, overload_of
from monograph.host.overloads import aten
from monograph.integers import ge, known
from monograph.passes.decomposition.corrections import CORRECTIONS
from monograph.passes.decomposition.template_cache import StaticTemplates
from monograph.rules.registry import check_signature

if TYPE_CHECKING:
    from torch import Tensor


_MISSING = object()

Formula = TypeVar("Formula", bound=Callable[..., Any])


class DecompositionTable(MutableMapping[Any, "Callable[..., Any]"]):
    """Operators and the formulas that stand for them; an operator without one is kept.

    Behaves as a dictionary: remove an operator to keep it whole, or give it a function of yours,
    which takes what the operator takes and computes the same with other operators.

    >>> import torch
    >>> table = default_decompositions()
    >>> torch.ops.aten.linear.default in table, torch.ops.aten.addmm.default in table
    (True, False)
    >>> keep_linear = table.pop(torch.ops.aten.linear.default)
    >>> torch.ops.aten.linear.default in table
    False
    """

    def __init__(self) -> None:
        self._own: dict[Any, Any] = {}
        """What was put in, and `None` for what was taken out."""
        self._found: dict[Any, Any] = {}
        self.static = StaticTemplates()
        """What was made with the table as it is."""

    def __getitem__(self, operator: Any) -> Callable[..., Any]:
        found = self._found.get(operator, _MISSING)
        if found is _MISSING:
            found = self._found[operator] = self._look_up(operator)
        if found is None:
            raise KeyError(operator)
        return found

    def get(self, key: Any, default: Any = None) -> Any:
        """The formula of an operator, or the default."""
        found = self._found.get(key, _MISSING)
        if found is _MISSING:
            found = self._found[key] = self._look_up(key)
        return default if found is None else found

    def _look_up(self, operator: Any) -> Any:
        if operator in self._own:
            return self._own[operator]
        if operator in KEPT:
            return None
        formula = OF_USERS.get(operator) or FORMULAS.get(operator) or core_formulas().get(operator)
        if formula is not None:
            return formula
        is_open = isinstance(operator, OpOverload) and not is_question(operator)
        return composite_formula(operator) if is_open and is_composite(operator) else None

    def __setitem__(self, operator: Any, formula: Callable[..., Any]) -> None:
        self._own[operator] = formula
        self._changed(operator)

    def __delitem__(self, operator: Any) -> None:
        if operator not in self:
            raise KeyError(operator)
        self._own[operator] = None
        self._changed(operator)

    def _changed(self, operator: Any) -> None:
        self._found.pop(operator, None)
        self.static = StaticTemplates()

    @property
    def removed(self) -> dict[str, str]:
        """Operators that stay whole although there is a formula, by name, and why they do."""
        taken = [operator for operator, formula in self._own.items() if formula is None]
        kept = {operator: reason for operator, reason in KEPT.items() if operator not in self._own}
        return {str(each): reason for each, reason in kept.items()} | {
            str(each): "its formula was taken out of the table" for each in taken
        }

    @property
    def is_default(self) -> bool:
        """Whether nobody changed it."""
        return not self._own

    def __contains__(self, operator: object) -> bool:
        return self.get(operator) is not None

    def __iter__(self) -> Iterator[Any]:
        known = {**self._own, **OF_USERS, **FORMULAS, **core_formulas()}
        known |= dict.fromkeys(composite_operators())
        return (operator for operator in known if operator in self)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    has_materialized = True
    """It looks each operator up when it is asked, and waits for nothing."""

    def materialize(self) -> dict[Any, Callable[..., Any]]:
        """All operators that have a formula now, and their formulas."""
        return dict(self)

    def copy(self) -> DecompositionTable:
        """Another table with the same formulas."""
        copied = DecompositionTable()
        copied._own = dict(self._own)
        return copied

    def __repr__(self) -> str:
        added = [str(operator) for operator, formula in self._own.items() if formula]
        removed = [str(operator) for operator, formula in self._own.items() if not formula]
        return f"DecompositionTable(core ATen, added={added}, removed={removed})"


def default_decompositions() -> DecompositionTable:
    """The formulas that lead to core ATen, as a table of your own to change."""
    return DecompositionTable()


def decompose(*operators: Any) -> Callable[[Formula], Formula]:
    """Register a function as the formula of each operator: an overload, or a custom operator.

    It has the operator's parameters, and computes the same with other operators; every table made
    from then on has it. To change one table alone, assign to it: `table[operator] = function`.

    Raises: TypeError where function and schema differ, ValueError on a second formula.
    """

    def register(function: Formula) -> Formula:
        for overload in map(overload_of, operators):
            check_signature(function, overload)
            if overload in OF_USERS:
                raise ValueError(f"{overload} has a formula already")
            OF_USERS[overload] = function
        core_decompositions.cache_clear()
        return function

    return register


OF_USERS: dict[Any, Callable[..., Any]] = {}
"""Formulas that users registered with `decompose`."""


@cache
def core_decompositions() -> DecompositionTable:
    """The table that nobody changes, which remembers what was made with it."""
    return DecompositionTable()


def _native_batch_norm(
    input: Tensor,  # noqa: A002 - named as in the schema
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    training: bool,  # noqa: FBT001 - as in the schema
    momentum: float,
    eps: float,
) -> Any:
    """Without statistics to update, and with fixed ones; updates are a matter of the lowering."""
    if not training:
        op = aten._native_batch_norm_legit_no_training.default  # noqa: SLF001 - operators' names
        return op(input, weight, bias, running_mean, running_var, momentum, eps)
    if running_mean is not None:
        return NotImplemented
    no_stats = aten._native_batch_norm_legit.no_stats  # noqa: SLF001
    return no_stats(input, weight, bias, True, momentum, eps)


def _empty_like(
    input: Tensor,  # noqa: A002 - named as in the schema
    *,
    dtype: torch.dtype | None = None,
    layout: torch.layout | None = None,
    device: torch.device | None = None,
    pin_memory: bool | None = None,
    memory_format: torch.memory_format | None = None,
) -> Any:
    """Laid out as the input of each call is; PyTorch's formula is laid out as the example was."""
    if memory_format not in {None, torch.preserve_format}:
        return NotImplemented
    options = {"dtype": dtype, "layout": layout, "device": device, "pin_memory": pin_memory}
    return aten.full_like.default(input, 0, **options)


def _lift_fresh_copy(input: Tensor) -> Any:  # noqa: A002 - named as in the schema
    """A copy of a constant, which may be written to."""
    if input.is_contiguous():
        return aten.clone.default(input)
    return aten.clone.default(input, memory_format=torch.contiguous_format)


def _embedding_bag(
    weight: Tensor,
    indices: Tensor,
    offsets: Tensor,
    scale_grad_by_freq: bool = False,  # noqa: FBT001, FBT002 - as in the schema
    mode: int = 0,
    sparse: bool = False,  # noqa: FBT001, FBT002
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,  # noqa: FBT001, FBT002
    padding_idx: int | None = None,
) -> Any:
    """By the kernel that has a gradient where the weight needs one, as in eager."""
    row = -1 if padding_idx is None else padding_idx
    row = row + weight.shape[0] if padding_idx is not None and row < 0 else row
    forward_only = aten._embedding_bag_forward_only.default  # noqa: SLF001 - operators' names
    op = aten._embedding_bag.default if weight.requires_grad else forward_only  # noqa: SLF001
    rest = (scale_grad_by_freq, mode, sparse, per_sample_weights, include_last_offset, row)
    return op(weight, indices.contiguous(), offsets.contiguous(), *rest)


def _rms_norm(
    input: Tensor,  # noqa: A002 - named as in the schema
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    eps: float | None = None,
) -> Any:
    """PyTorch's formula of the fused operator; what the composite one calls would fix sizes."""
    fused = core_formulas()[aten._fused_rms_norm.default]  # noqa: SLF001 - an operator's name
    return fused(input, list(normalized_shape), weight, eps)[0]


def _isin(
    elements: Tensor,
    test_elements: Tensor,
    *,
    assume_unique: bool = False,
    invert: bool = False,
) -> Any:
    """PyTorch's formula, which takes the first of the elements to look among."""
    if known(ge(to_python(test_elements.numel()), 1)) is not True:
        return NotImplemented
    formula = core_formulas()[aten.isin.Tensor_Tensor]
    return formula(elements, test_elements, assume_unique=assume_unique, invert=invert)


def _istft(
    input: Tensor,  # noqa: A002 - named as in the schema
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Tensor | None = None,
    center: bool = True,  # noqa: FBT001, FBT002 - as in the schema
    normalized: bool = False,  # noqa: FBT001, FBT002
    onesided: bool | None = None,  # noqa: FBT001
    length: int | None = None,
    return_complex: bool = False,  # noqa: FBT001, FBT002
) -> Any:
    """PyTorch's formula, which asks if the length is beyond what the frames say, of these alone."""
    hop: Any = n_fft // 4 if hop_length is None else hop_length
    said: Any = None
    if length is not None:
        end = n_fft + hop * (input.shape[-1] - 1)
        said = torch.sym_min(length, end - n_fft // 2 if center else end)
    rest = (hop, win_length, window, center, normalized, onesided, said, return_complex)
    signal = composite_formula(aten.istft.default)(input, n_fft, *rest)
    is_whole = length is None or said is length
    return signal if is_whole else torch.nn.functional.pad(signal, (0, length - said))


FORMULAS: dict[Any, Callable[..., Any]] = {
    aten.native_batch_norm.default: _native_batch_norm,
    aten.embedding_bag.default: _embedding_bag,
    aten.embedding_bag.padding_idx: _embedding_bag,
    aten.empty_like.default: _empty_like,
    aten.isin.Tensor_Tensor: _isin,
    aten.istft.default: _istft,
    aten.lift_fresh_copy.default: _lift_fresh_copy,
    aten.rms_norm.default: _rms_norm,
    **CORRECTIONS,
}
"""Where PyTorch has its formula elsewhere than in its tables, or one for the example alone."""


_SEEN = "callers who pass a conjugate, or a negative view, would notice"
_CORE = "PyTorch's exporter keeps it whole"

KEPT = {
    aten.detach.default: "callers who differentiate would notice",
    aten.resolve_conj.default: _SEEN,
    aten.resolve_neg.default: _SEEN,
    aten.binary_cross_entropy.default: "its formula has no gradient at 0 and 1",
    aten.multilabel_margin_loss_forward.default: "its formula counts what follows the end",
    aten.rrelu.default: "the gradient of its formula is of noise that was not drawn yet",
    aten.upsample_nearest2d.vec: _CORE,
    aten.upsample_bilinear2d.vec: _CORE,
}
"""What formulas take for nothing, or is core although it is composite; and why it stays."""
