"""Fake-kernel synthesis: its source, from what the operator did when it was run.

Law: what is offered was tried. For the example, and for other sizes where the operator takes them,
it gives what the operator gave. It is a guess nevertheless, for the operator's author to read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import torch

from monograph.capture.recovery.input_variations import (
    attempt,
    named_tensors,
    tensors,
    with_other_data,
    with_other_sizes,
)
from monograph.host.dispatch import schema_of
from monograph.host.trees import pytree

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from monograph.capture.recovery.input_variations import Run
    from monograph.host.operator_types import OpOverload

_NEW_SIZE = "torch.library.get_ctx().new_dynamic_size()"


class UnexplainedError(Exception):
    """Nothing tells what a part of the result is."""


class Size(NamedTuple):
    """A size of a result, or a number that it is: the code, and whether only data tells it."""

    code: str
    is_data: bool = False


def fake_function(overload: OpOverload, given: Mapping[str, Any]) -> tuple[str, ...] | None:
    """The lines of a fake kernel, from `def` on; None where nothing explains what it returns."""
    first = attempt(overload, given)
    if first is None:
        return None
    others = with_other_sizes(overload, given)
    redone = with_other_data(overload, given)
    try:
        lines = _KernelWriter(overload, [first, *others], redone).lines()
    except UnexplainedError:
        return None
    depends_on_data = any(_NEW_SIZE in line for line in lines)
    if not depends_on_data and not all(_gives(lines, each) for each in (first, *others)):
        return None
    return lines


class _KernelWriter:
    """Writes the function down: `runs` begin with the example's."""

    def __init__(self, overload: OpOverload, runs: list[Run], redone: list[Run]) -> None:
        self._schema = schema_of(overload)
        self._runs = runs
        self._redone = redone
        self._atoms = [dict(_atoms(each.given)) for each in runs]
        self._new: dict[tuple[int, ...], str] = {}

    def lines(self) -> tuple[str, ...]:
        result = self._runs[0].result
        index = iter(range(len(pytree.tree_leaves(result))))
        code = self._value(result, index)
        new = [f"    {name} = {_NEW_SIZE}" for name in self._new.values()]
        return (f"def fake({self._parameters()}):", *new, f"    return {code}")

    def _parameters(self) -> str:
        """As the schema has them: operators are called without arguments that are defaults."""
        texts: list[str] = []
        for argument in self._schema.arguments:
            if argument.kwarg_only and "*" not in texts:
                texts.append("*")
            default = f"={argument.default_value!r}" if argument.has_default_value() else ""
            texts.append(argument.name + default)
        return ", ".join(texts)

    def _value(self, result: Any, index: Iterator[int]) -> str:
        if isinstance(result, list | tuple):
            items = [self._value(item, index) for item in result]
            if isinstance(result, list):
                return f"[{', '.join(items)}]"
            return f"({', '.join(items)}{',' if len(items) == 1 else ''})"
        at = next(index)
        if isinstance(result, torch.Tensor):
            return self._tensor(at, result)
        if result is None:
            return "None"
        if isinstance(result, int) and not isinstance(result, bool):
            return self._size([self._leaf(each, at) for each in self._runs], []).code
        raise UnexplainedError

    def _leaf(self, run: Run, at: int) -> Any:
        leaves = pytree.tree_leaves(run.result)
        if at >= len(leaves):
            raise UnexplainedError
        return leaves[at]

    def _tensor(self, at: int, result: torch.Tensor) -> str:
        every = [self._leaf(each, at) for each in self._runs]
        redone = [self._leaf(each, at) for each in self._redone]
        if any(t.dim() != result.dim() for t in (*every, *redone)):
            raise UnexplainedError
        sizes = [
            self._size([t.shape[d] for t in every], [t.shape[d] for t in redone])
            for d in range(result.dim())
        ]
        return self._empty(result, [size.code for size in sizes])

    def _empty(self, result: torch.Tensor, sizes: Sequence[str]) -> str:
        given = list(named_tensors(self._runs[0].given))
        like = next((pair for pair in given if pair[1].dtype == result.dtype), None)
        name, t = like or (given[0] if given else (None, None))
        dtype = "" if like is not None else f", dtype={result.dtype}"
        if t is not None and _is_like(result, t, sizes, name):
            return f"torch.empty_like({name}{dtype})"
        maker = "torch.empty" if name is None else f"{name}.new_empty"
        if result.is_contiguous():
            return f"{maker}({_tuple(sizes)}{dtype})"
        order = sorted(range(result.dim()), key=lambda d: (-result.stride(d), d))
        if not result.permute(order).is_contiguous():
            raise UnexplainedError
        back = ", ".join(str(order.index(d)) for d in range(result.dim()))
        return f"{maker}({_tuple([sizes[d] for d in order])}{dtype}).permute({back})"

    def _size(self, values: Sequence[int], redone: Sequence[int]) -> Size:
        """What explains a number in every run; what other data changes is new.

        So is what nothing explains: the operator knows it when it runs.
        """
        if all(value == values[0] for value in redone):
            for code, function in _candidates(self._atoms[0], values[0], simple=len(values) == 1):
                explained = zip(self._atoms, values, strict=True)
                if all(function(atoms) == value for atoms, value in explained):
                    return Size(code)
        key = (*values, *redone)
        name = "size" if not self._new else f"size_{len(self._new)}"
        return Size(self._new.setdefault(key, name), is_data=True)


def _atoms(given: Mapping[str, Any]) -> Iterator[tuple[str, int]]:
    """Numbers that the arguments have: sizes, and numbers themselves."""
    for name, t in named_tensors(given):
        for dim, size in enumerate(t.shape):
            yield f"{name}.shape[{dim}]", size
    for name, value in given.items():
        if type(value) is int:
            yield name, value
        elif isinstance(value, list | tuple):
            for i, item in enumerate(value):
                if type(item) is int:
                    yield f"{name}[{i}]", item


def _candidates(
    atoms: Mapping[str, int], value: int, *, simple: bool
) -> Iterator[tuple[str, Callable[[Mapping[str, int]], int]]]:
    """What may explain a number, the plainest first; numbers of 0 and 1 explain themselves."""
    if value < 2:
        yield str(value), lambda _: value
    for name in atoms:
        yield name, lambda now, name=name: now[name]
    yield str(value), lambda _: value
    if simple:
        return
    yield from _by_arguments(atoms)
    for name, size in atoms.items():
        rest = value - size
        sign = "+" if rest > 0 else "-"
        yield f"{name} {sign} {abs(rest)}", lambda now, n=name, rest=rest: now[n] + rest
        if size and value % size == 0:
            yield f"{name} * {value // size}", lambda now, n=name, k=value // size: now[n] * k
        if value and size // value > 1:
            k = size // value
            yield f"{name} // {k}", lambda now, n=name, k=k: now[n] // k
        if value and -(-size // value) > 1:
            k = -(-size // value)
            yield f"({name} + {k - 1}) // {k}", lambda now, n=name, k=k: -(-now[n] // k)
    pairs = [(a, b) for i, a in enumerate(atoms) for b in list(atoms)[i:]]
    for a, b in pairs:
        yield f"{a} + {b}", lambda now, a=a, b=b: now[a] + now[b]
        yield f"{a} * {b}", lambda now, a=a, b=b: now[a] * now[b]


def _by_arguments(
    atoms: Mapping[str, int],
) -> Iterator[tuple[str, Callable[[Mapping[str, int]], int]]]:
    """A size together with a number that is an argument itself."""
    sizes = [name for name in atoms if ".shape[" in name]
    numbers = [name for name in atoms if name not in sizes and atoms[name] > 1]
    for a, b in ((a, b) for a in sizes for b in numbers):
        yield f"{a} * {b}", lambda now, a=a, b=b: now[a] * now[b]
        yield f"{a} // {b}", lambda now, a=a, b=b: now[a] // now[b]
        yield f"{a} + {b}", lambda now, a=a, b=b: now[a] + now[b]
        yield f"{a} - {b}", lambda now, a=a, b=b: now[a] - now[b]


def _is_like(result: torch.Tensor, t: torch.Tensor, sizes: Sequence[str], name: str | None) -> bool:
    """Whether `empty_like` of an argument lies in memory as the result does."""
    if sizes != [f"{name}.shape[{d}]" for d in range(t.dim())]:
        return False
    return result.stride() == torch.empty_like(t, dtype=result.dtype).stride()


def _tuple(items: Sequence[str]) -> str:
    return f"({items[0]},)" if len(items) == 1 else f"({', '.join(items)})"


def _gives(lines: Sequence[str], run: Run) -> bool:
    """Whether the function gives results like the operator's."""
    namespace: dict[str, Any] = {"torch": torch}
    exec("\n".join(lines), namespace)  # noqa: S102 - it was written above
    try:
        made = namespace["fake"](**run.given)
    except Exception:  # noqa: BLE001 - then it is no explanation
        return False
    pairs = list(zip(tensors(made), tensors(run.result), strict=False))
    return len(tensors(made)) == len(tensors(run.result)) and all(
        (a.shape, a.dtype) == (b.shape, b.dtype) and (not a.numel() or a.stride() == b.stride())
        for a, b in pairs
    )


__all__ = ["fake_function"]
