"""Test-input generation, part two: calls drawn from a contract, and calls that break a clause.

A draw is a recipe: each `make()` gives equal inputs in memory of their own, so that both sides of a
comparison may write to theirs.
"""

from __future__ import annotations

import copy
import random
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

import torch

from monograph.diagnostics import ContractError
from monograph.estimation import work_of
from monograph.host.trees import flatten, unflatten
from monograph.integers import evaluate
from monograph.program.contract import FloatClause, NumberClause, TensorClause, ValueClause
from monograph.verification.size_assignments import SizeAssignments
from monograph.verification.sparse_entries import draw_entries

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from monograph.program import ExportedProgram
    from monograph.program.contract import InputClause
    from monograph.verification.size_assignments import Assignment

FEW: Final = 4
"""A tensor with at most this many different values is a table of them: a mask, or types."""


@dataclass(frozen=True, slots=True)
class Draw:
    """One call: `sizes` by name, how inputs lie in memory, and what is asked of the modes.

    `tied` says that sizes are equal where the example's are.
    """

    number: int
    seed: int
    sizes: dict[str, int]
    leaves: tuple[Callable[[torch.Generator], Any], ...]
    in_spec: Any
    layouts: dict[str, str] = field(default_factory=dict[str, str])
    training: bool | None = None
    gradients: bool = False
    shared: tuple[int, int] | None = None
    grad_mode: bool = True
    tied: bool = True
    breaks: str = ""
    kept: tuple[int, list[int]] = (0, [])
    """The attempt and the values of sizes, with which `draw` gives it again."""

    def make(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return arguments and keywords, equal each time and nobody else's."""
        generator = torch.Generator().manual_seed(self.seed)
        leaves = [leaf(generator) for leaf in self.leaves]
        if self.shared is not None:
            leaves[self.shared[1]] = leaves[self.shared[0]]
        if self.gradients:
            leaves = [_asking(leaf) for leaf in leaves]
        return unflatten(leaves, self.in_spec)

    def text(self) -> str:
        """Say in a few words what is particular about it."""
        parts = [f"{name}={size}" for name, size in self.sizes.items()]
        parts += [f"{path} {how}" for path, how in self.layouts.items()]
        parts += [] if self.training is None else ["train()" if self.training else "eval()"]
        parts += ["one tensor twice"] if self.shared else []
        parts += ["gradients"] if self.gradients else []
        return ", ".join([*([self.breaks] if self.breaks else []), *parts]) or "the example"


class LegalInputs:
    """Draws calls for a program, from its contract and its example."""

    def __init__(self, program: ExportedProgram, seed: int) -> None:
        self._contract = program.contract
        self._seed = seed
        example = program.example_inputs
        self._example = None if example is None else flatten(example)[0]
        self.sizes = SizeAssignments(self._contract, self._example, work_of(program))
        self._grad_mode = _grad_mode(program)

    def example(self) -> Draw:
        """The example itself, or the first draw where there is none."""
        if self._example is None:
            return self.draw(0, attempt=1)
        leaves = tuple([_copies(leaf) for leaf in self._example])
        sizes = self.sizes.names(self.sizes.example)
        kept = 0, [*self.sizes.example.values()]
        in_spec = self._contract.in_spec
        return Draw(0, 0, sizes, leaves, in_spec, grad_mode=self._grad_mode, kept=kept)

    def again(self, kept: Sequence[tuple[int, list[int]]]) -> Iterator[Draw]:
        """Yield the draws that a program's evidence was made of.

        Raises: ValueError (a program with another contract made it).
        """
        sizes = [self.sizes.of_values(values) for _, values in kept]
        for number, (attempt, _) in enumerate(kept):
            is_example = number == 0 and self._example is not None
            yield self.example() if is_example else self.draw(number, attempt, sizes[number])

    def draw(self, number: int, attempt: int = 0, sizes: Assignment | None = None) -> Draw:
        """Return a call that the clauses and relations admit; of `sizes`, if they are given.

        Attempts after the first leave out what may be refused for other reasons: layouts, flags,
        shared tensors.
        What is drawn for a number does not depend on what was drawn before it.
        """
        rng = self._generator(number, attempt)
        drawn = self.sizes.draw(self._generator(number, attempt, "sizes"))
        plain, assignment = attempt > 0, sizes or drawn
        leaves: list[Callable[[torch.Generator], Any]] = []
        layouts: dict[str, str] = {}
        for index, clause in enumerate(self._contract.clauses):
            layout = "contiguous" if plain else rng.choice(_LAYOUTS)
            leaf, lies = self._leaf(index, clause, assignment, layout, rng)
            if lies != "contiguous":
                layouts[clause.path] = lies
            leaves.append(leaf)
        draw_entries(leaves, self._contract.in_spec)
        modes = self._contract.modes
        free = [mode for mode in (True, False) if modes is not None and modes.allows(mode)]
        return Draw(
            number,
            rng.randrange(1 << 31),
            self.sizes.names(assignment),
            tuple(leaves),
            self._contract.in_spec,
            layouts,
            training=rng.choice(free) if len(free) > 1 and not plain else None,
            gradients=not plain and self._grad_mode and rng.random() < 0.4,
            shared=None if plain else self._shared(assignment, rng),
            grad_mode=self._grad_mode,
            tied=self.sizes.is_tied(assignment),
            kept=(attempt, [*assignment.values()]),
        )

    def illegal(self, number: int) -> Iterator[Draw]:
        """Yield calls that each break one clause, one range, or one relation."""
        legal, rng = self.draw(number, attempt=1), self._generator(number, 2)
        broken = self.sizes.break_one(rng)
        if broken is not None:
            leaves = [
                self._leaf(index, clause, broken, "contiguous", rng)[0]
                for index, clause in enumerate(self._contract.clauses)
            ]
            sizes, what = self.sizes.names(broken), "sizes the contract forbids"
            draw = replace(legal, sizes=sizes, leaves=tuple(leaves), breaks=what)
            if _can_be_made(draw):
                yield draw
        for index, clause in enumerate(self._contract.clauses):
            for what, change in _violations(clause):
                changed = list(legal.leaves)
                changed[index] = _then(changed[index], change)
                breaks = f"{clause.path or 'an input'} {what}"
                draw = replace(legal, leaves=tuple(changed), breaks=breaks)
                if _can_be_made(draw):
                    yield draw

    def _generator(self, number: int, attempt: int, of: str = "") -> random.Random:
        return random.Random(f"{self._seed} {number} {attempt}{of}")  # noqa: S311  (nothing secret)

    def _shared(self, assignment: Any, rng: random.Random) -> tuple[int, int] | None:
        kinds: dict[Any, int] = {}
        for index, clause in enumerate(self._contract.clauses):
            if isinstance(clause, TensorClause) and clause.layout is torch.strided:
                shape = tuple([evaluate(size, assignment) for size in clause.shape])
                first = kinds.setdefault((clause.dtype, shape), index)
                if first != index and rng.random() < 0.3:
                    return first, index
        return None

    def _leaf(
        self, index: int, clause: InputClause, assignment: Any, layout: str, rng: random.Random
    ) -> tuple[Callable[[torch.Generator], Any], str]:
        example = None if self._example is None else self._example[index]
        match clause:
            case TensorClause():
                return _tensor(clause, example, assignment, layout)
            case NumberClause():
                value = evaluate(clause.value, assignment)
                return (lambda _: value), "contiguous"
            case FloatClause():
                scale = rng.choice((0.5, 1.0, 2.0, -1.0))
                number = (1.0 if example is None else float(example)) * scale
                return (lambda _: number), "contiguous"
            case ValueClause():
                return _copies(clause.value if example is None else example), "contiguous"


def _grad_mode(program: ExportedProgram) -> bool:
    """Whether calls are made with gradients on: not where the example is refused so."""
    args, kwargs = program.example_inputs or ((), {})
    for mode in (True, False):
        with torch.set_grad_enabled(mode), suppress(ContractError):
            program.check_inputs(*args, **kwargs)
            return mode
    return True


def admits(program: ExportedProgram, draw: Draw) -> bool:
    """Whether the contract admits a call."""
    args, kwargs = draw.make()
    with torch.set_grad_enabled(draw.grad_mode):
        try:
            program.check_inputs(*args, **kwargs)
        except ContractError:
            return False
    return True


def _tensor(
    clause: TensorClause, example: Any, assignment: Any, layout: str
) -> tuple[Callable[[torch.Generator], Any], str]:
    if clause.layout is not torch.strided or type(example) not in (torch.Tensor, type(None)):
        return _copies(example), "contiguous"
    shape = [evaluate(size, assignment) for size in clause.shape]
    values = _values(clause.dtype, example)
    asks = isinstance(example, torch.Tensor) and example.requires_grad
    if clause.strides is not None:
        strides = [evaluate(step, assignment) for step in clause.strides]
        offset = 0 if clause.offset is None else evaluate(clause.offset, assignment)
        return lambda g: _placed(values, shape, strides, offset, g).requires_grad_(asks), "as asked"
    place = _PLACES[layout] if _fits(layout, shape) else _PLACES["contiguous"]
    layout = layout if _fits(layout, shape) else "contiguous"
    return (lambda g: place(lambda size: values(size, g), shape).requires_grad_(asks)), layout


def _values(
    dtype: torch.dtype, example: Any
) -> Callable[[Sequence[int], torch.Generator], torch.Tensor]:
    """What fills a tensor: numbers like those of the example."""
    some = example.detach().cpu().reshape(-1) if isinstance(example, torch.Tensor) else None
    if some is not None and not some.is_meta and some.numel() > 0 and dtype is some.dtype:
        few = some[:4096].unique() if not dtype.is_complex else some[:0]
        if few.numel() <= FEW or dtype is torch.bool:
            few = few.new_tensor([False, True]) if dtype is torch.bool else few
            if few.numel() > 1 and not few.isnan().any():
                return lambda size, g: few[torch.randint(len(few), tuple(size), generator=g)]
        if not dtype.is_floating_point and not dtype.is_complex:
            least, most = int(some.min()), int(some.max())
            return lambda size, g: torch.randint(
                least, most + 1, tuple(size), generator=g, dtype=torch.int64
            ).to(dtype)
        scale = float(some.abs().to(torch.float64).nan_to_num(0, 1, 1).mean()) or 1.0
    else:
        scale = 1.0
    if dtype.is_floating_point:
        positive = some is not None and some.numel() > FEW and bool((some >= 0).all())
        return lambda size, g: _normal(size, g, scale, positive=positive).to(dtype)
    if dtype.is_complex:
        return lambda size, g: torch.randn(tuple(size), generator=g, dtype=torch.complex64).to(
            dtype
        )
    return lambda size, g: torch.randint(2, tuple(size), generator=g).to(dtype)


def _normal(
    size: Sequence[int], generator: torch.Generator, scale: float, *, positive: bool
) -> torch.Tensor:
    drawn = torch.randn(tuple(size), generator=generator) * scale
    return drawn.abs() if positive else drawn


def _contiguous(fill: Any, shape: Sequence[int]) -> torch.Tensor:
    return fill(shape)


def _transposed(fill: Any, shape: Sequence[int]) -> torch.Tensor:
    return fill([*shape[:-2], shape[-1], shape[-2]]).transpose(-1, -2)


def _every_second(fill: Any, shape: Sequence[int]) -> torch.Tensor:
    return fill([*shape[:-1], 2 * shape[-1]])[..., ::2]


def _sliced(fill: Any, shape: Sequence[int]) -> torch.Tensor:
    return fill([*shape[:-1], shape[-1] + 3])[..., 3:]


def _expanded(fill: Any, shape: Sequence[int]) -> torch.Tensor:
    return fill([1, *shape[1:]]).expand(*shape)


def _channels_last(fill: Any, shape: Sequence[int]) -> torch.Tensor:
    return fill(shape).contiguous(memory_format=torch.channels_last)


_PLACES: Final[dict[str, Callable[[Any, Sequence[int]], torch.Tensor]]] = {
    "contiguous": _contiguous,
    "transposed": _transposed,
    "every second element": _every_second,
    "sliced": _sliced,
    "expanded": _expanded,
    "channels last": _channels_last,
}
_LAYOUTS: Final = ("contiguous", "contiguous", *_PLACES)
_LEAST_RANK: Final = {"transposed": 2, "every second element": 1, "sliced": 1, "expanded": 1}


def _fits(layout: str, shape: Sequence[int]) -> bool:
    return (
        len(shape) == 4 if layout == "channels last" else len(shape) >= _LEAST_RANK.get(layout, 0)
    )


def _placed(
    values: Any, shape: list[int], strides: list[int], offset: int, generator: torch.Generator
) -> torch.Tensor:
    reach = 1 + sum((size - 1) * step for size, step in zip(shape, strides, strict=True) if size)
    return values([offset + max(reach, 0)], generator).as_strided(shape, strides, offset)


def _asking(leaf: Any) -> Any:
    if isinstance(leaf, torch.Tensor) and leaf.is_floating_point():
        return leaf.detach().requires_grad_()
    return leaf


def _copies(value: Any) -> Callable[[torch.Generator], Any]:
    if isinstance(value, torch.Tensor) and not value.is_leaf:
        return lambda _: value.detach().clone().requires_grad_()
    return lambda _: copy.deepcopy(value)


def _then(make: Callable[[torch.Generator], Any], change: Callable[[Any], Any]) -> Any:
    return lambda generator: change(make(generator))


def _can_be_made(draw: Draw) -> bool:
    """Whether users' containers take what was put into them."""
    try:
        draw.make()
    except Exception:  # noqa: BLE001  (whatever their classes raise)
        return False
    return True


def _violations(clause: InputClause) -> Iterator[tuple[str, Callable[[Any], Any]]]:
    """Ways to break a clause, with what they do to what satisfies it."""
    match clause:
        case TensorClause() if clause.layout is torch.strided:
            yield "with one dimension more", lambda leaf: leaf.detach().unsqueeze(0)
            yield "that is no tensor", lambda _: "text"
            for axis, size in enumerate(clause.shape):
                if isinstance(size, int):
                    yield f"with another size {axis}", _longer(axis)
                    break
        case ValueClause(value=bool() as value):
            yield "with the other value", lambda _: not value
        case ValueClause(value=int() | float() as value):
            yield "with another value", lambda _: value + 1
        case ValueClause(value=str() as value):
            yield "with another text", lambda _: value + "_"
        case ValueClause(value=None):
            yield "that is not None", lambda _: torch.zeros(2)
        case NumberClause():
            yield "that is no number", lambda _: "text"
        case _:
            return


def _longer(axis: int) -> Callable[[Any], Any]:
    def change(leaf: torch.Tensor) -> torch.Tensor:
        shape = list(leaf.shape)
        shape[axis] += 1
        return leaf.new_zeros(shape)

    return change


__all__ = ["Draw", "LegalInputs", "admits"]
