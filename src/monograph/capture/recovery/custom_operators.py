"""Checks of custom operators (opcheck): schema, fake kernel or rule, held against a run.

Law: what is compared was run, on copies: on the arguments given, at other sizes and with other
data as far as the operator takes them. A difference is a difference; no difference proves nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from monograph.abstract.tensor_type import TensorType, type_of
from monograph.capture.recovery.fake_kernel_source import fake_function
from monograph.capture.recovery.input_variations import (
    bound,
    named_tensors,
    run,
    tensors,
    with_other_data,
    with_other_sizes,
)
from monograph.diagnostics import MonographError, problem, together
from monograph.host.dispatch import schema_of
from monograph.host.operator_types import overload_of
from monograph.host.trees import pytree
from monograph.integers import Expr, Facts, evaluate, holds, is_symbol, use
from monograph.rules.fake_kernel_context import FakeKernelContext
from monograph.rules.fallback import infer
from monograph.rules.registry import find_rule

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from monograph.capture.recovery.input_variations import Run
    from monograph.host.operator_types import OpOverload


def check_custom_op(op: Any, args: Sequence[Any], kwargs: Mapping[str, Any] | None = None) -> None:
    """Run a custom operator, and compare what it does with what its schema and fake kernel say.

    `op` is what `torch.library.custom_op` returns, or `torch.ops.<namespace>.<name>`. It runs on
    copies of the arguments, at other sizes, and with other data.

    Raises: unsupported-operator (no fake kernel; the message has one to paste),
        fake-kernel-disagrees, operator-breaks-schema; several together.
    """
    overload = overload_of(op)
    given = bound(overload, args, kwargs or {})
    first = run(overload, given)
    runs = [first, *with_other_sizes(overload, given), *with_other_data(overload, given)]
    found = [
        problem("operator-breaks-schema", op=overload.name(), breach=breach)
        for breach in dict.fromkeys(b for each in runs for b in _breaches(overload, each))
    ]
    try:
        differs = next((text for text in _differences(overload, runs) if text), None)
    except MonographError as error:
        raise together([*found, with_fake_function(error, overload, given)]) from None
    if differs is not None:
        found.append(problem("fake-kernel-disagrees", op=overload.name(), differs=differs))
    if found:
        raise together(found)


def with_fake_function(
    error: MonographError, overload: OpOverload, given: Mapping[str, Any]
) -> MonographError:
    """The refusal of an operator without a fake kernel, with one to paste where one is found."""
    if error.diagnostic.name != "unsupported-operator":
        return error
    lines = fake_function(overload, given)
    if lines is None:
        return error
    names = ", ".join(argument.name for argument in schema_of(overload).arguments)
    return problem(
        "unsupported-operator",
        op=overload.name(),
        reason="it has no fake kernel",
        custom=True,
        signature=names,
        fake=lines,
    )


# --- the schema ----------------------------------------------------------------------------------


def _breaches(overload: OpOverload, each: Run) -> Iterator[str]:
    """What the operator does to its arguments that its schema does not say."""
    arguments = schema_of(overload).arguments
    written = {a.name for a in arguments if a.alias_info is not None and a.alias_info.is_write}
    shared = {a.name for a in arguments if a.alias_info is not None}
    for (path, before), (_, after) in zip(
        named_tensors(each.given), named_tensors(each.after), strict=True
    ):
        name = path.partition("[")[0]
        if name not in written and not _same_values(before, after):
            yield f"writes to its argument `{path}`"
        if name not in shared and any(_share(after, result) for result in tensors(each.result)):
            yield f"returns its argument `{path}`, or a view of it"


def _same_values(left: torch.Tensor, right: torch.Tensor) -> bool:
    if left.shape != right.shape:
        return False
    return bool(((left == right) | (left.ne(left) & right.ne(right))).all())


def _share(left: torch.Tensor, right: torch.Tensor) -> bool:
    if left.layout != torch.strided or right.layout != torch.strided:
        return False
    one, other = left.untyped_storage(), right.untyped_storage()
    return one.nbytes() > 0 and one.data_ptr() == other.data_ptr()


# --- the fake kernel, or the rule ----------------------------------------------------------------


def _differences(overload: OpOverload, runs: Sequence[Run]) -> Iterator[str | None]:
    """In what the types differ from the results: of each run's sizes, and of symbols for them."""
    for each in runs:
        with use(Facts()):
            said = _said(overload, pytree.tree_map(_typed, each.given))
            yield _difference(said, each.result, {})
    facts = Facts()
    symbols = _SizeSymbols(facts)
    with use(facts):
        said = _said(overload, pytree.tree_map(symbols.typed, runs[0].given))
        for each in runs:
            values = symbols.values(each.given)
            if all(holds(guard.relation, values) for guard in facts.guards):
                yield _difference(said, each.result, values)


def _said(overload: OpOverload, given: Mapping[str, Any]) -> Any:
    keywords = {a.name for a in schema_of(overload).arguments if a.kwarg_only}
    args = [value for name, value in given.items() if name not in keywords]
    kwargs = {name: value for name, value in given.items() if name in keywords}
    rule = find_rule(overload)
    if rule is not None:
        return rule(*args, **kwargs)
    return infer(overload, args, kwargs, FakeKernelContext(overload.name()))


def _typed(value: Any) -> Any:
    return type_of(value) if isinstance(value, torch.Tensor) else value


class _SizeSymbols:
    """A symbol for each size of at least 2; equal sizes share theirs."""

    def __init__(self, facts: Facts) -> None:
        self._facts = facts
        self._by_size: dict[int, Expr] = {}
        self._places: list[tuple[int, Expr]] = []

    def typed(self, value: Any) -> Any:
        if not isinstance(value, torch.Tensor):
            return value
        t = type_of(value)
        strides = None if value.is_contiguous() else t.strides
        if strides is not None:
            return t  # of its own sizes: which strides would follow is not known
        return TensorType(tuple(map(self._size, t.shape)), t.dtype, t.device)

    def _size(self, size: Any) -> Any:
        if size < 2:
            return size
        if size not in self._by_size:
            name = f"s{len(self._by_size)}"
            self._by_size[size] = self._facts.symbol(name, hint=size, lower=0)
        return self._by_size[size]

    def values(self, given: Mapping[str, Any]) -> dict[Expr, int]:
        """What the symbols are; the first arguments asked about are the example's."""
        sizes = [size for t in tensors(given) for size in t.shape]
        if not self._places:
            self._places = [
                (i, self._by_size[n]) for i, n in enumerate(sizes) if n in self._by_size
            ]
        return {symbol: sizes[i] for i, symbol in self._places}


def _difference(said: Any, result: Any, values: Mapping[Expr, int]) -> str | None:
    """The first difference, in words: what is promised, and what comes."""
    types, real = pytree.tree_leaves(said), pytree.tree_leaves(result)
    if len(types) != len(real):
        return f"{len(types)} results where there are {len(real)}"
    known = dict(values)
    for t, value in zip(types, real, strict=True):
        if isinstance(t, TensorType) != isinstance(value, torch.Tensor):
            return f"{_kind(t)} where the operator returns {_kind(value)}"
        if isinstance(t, TensorType):
            text = _tensor_difference(t, value, known)
            if text is not None:
                return text
        elif isinstance(t, int) and type(value) is int and t != value:
            return f"{t} where the operator returns {value}"
    return None


def _kind(value: Any) -> str:
    return "a tensor" if isinstance(value, TensorType | torch.Tensor) else repr(value)


def _tensor_difference(t: TensorType, value: torch.Tensor, known: dict[Expr, int]) -> str | None:
    if len(t.shape) != value.dim():
        shape = [str(size) for size in t.shape]
        return f"{_shown(t.dtype, shape)} where the operator returns {_shown_tensor(value)}"
    shape = [_number(size, real, known) for size, real in zip(t.shape, value.shape, strict=True)]
    if shape != list(value.shape) or t.dtype != value.dtype:
        return f"{_shown(t.dtype, shape)} where the operator returns {_shown_tensor(value)}"
    if t.device != value.device:
        return f"a result on {t.device} where the operator returns one on {value.device}"
    steps = [_number(step, None, known) for step in t.stride()]
    matter = [d for d, size in enumerate(value.shape) if size > 1]
    if value.numel() and any(steps[d] != value.stride(d) for d in matter):
        mine, theirs = tuple(steps), tuple(value.stride())
        return f"strides {mine} where the operator returns {theirs}, of {_shown_tensor(value)}"
    return None


def _number(size: Any, real: int | None, known: dict[Expr, int]) -> int:
    """A size; one that the fake kernel left to the data is what it is."""
    if not isinstance(size, Expr):
        return size
    if real is not None and is_symbol(size) and size not in known:
        known[size] = real
    return evaluate(size, known)


def _shown_tensor(value: torch.Tensor) -> str:
    return _shown(value.dtype, list(value.shape))


def _shown(dtype: torch.dtype, shape: Sequence[object]) -> str:
    return f"{str(dtype).removeprefix('torch.')}[{', '.join(map(str, shape))}]"


__all__ = ["check_custom_op", "with_fake_function"]
