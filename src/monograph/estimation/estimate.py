"""What a program needs, as formulas in its sizes: parameters, FLOPs, bytes, and peak memory."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from monograph.estimation.costs import OperatorCost, costs_of, size_in_bytes, types_in
from monograph.estimation.memory import Point, greatest, live_points
from monograph.estimation.rendering import as_html, as_json, as_text
from monograph.estimation.roofline import roofline
from monograph.integers import Expr, Int, maximum, substitute, symbols, text, total, use
from monograph.program import InputKind

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from monograph.estimation.roofline import Device, Roofline
    from monograph.program import ExportedProgram


@dataclass(frozen=True, slots=True)
class ModuleCost:
    """What a module and those inside of it cost; `parameters` are numbers of elements."""

    module: str
    kind: str
    parameters: int
    flops: Int
    moved: Int


@dataclass(frozen=True, slots=True, repr=False)
class Estimate:
    """What one call of a program needs, without gradients: integers, or formulas in symbolic sizes.

    `parameters` is a number of elements; `state` (parameters, buffers and constants) and `inputs`
    are bytes (`state_by_name` of each tensor); `operators` has a row per call, and `peaks` the
    moments of which one has most memory alive. `notes` say what the formulas take for granted.
    """

    parameters: int
    state: int
    inputs: Int
    operators: tuple[OperatorCost, ...]
    peaks: tuple[Point, ...]
    names: Mapping[Expr, str]
    state_by_name: Mapping[str, int]
    notes: tuple[str, ...] = ()

    @property
    def flops(self) -> Int:
        """Floating-point operations: two per multiplication and addition of matrix products."""
        return total([row.flops for row in self.operators])

    @property
    def moved(self) -> Int:
        """Bytes that operators read and write, each as if nothing stayed in a cache."""
        return total([part for row in self.operators for part in (row.read, row.written)])

    @property
    def activations(self) -> Int:
        """The most bytes that are alive at once, of what the call allocates."""
        found: Int = 0
        for point in self.peaks:
            found = maximum(found, point.live)
        return found

    @property
    def memory(self) -> Int:
        """The most bytes at once: state, inputs and activations."""
        return self.state + self.inputs + self.activations

    @property
    def sizes(self) -> tuple[str, ...]:
        """The names of the sizes that the formulas are in."""
        return tuple([self.text(symbol) for symbol in self._symbols()])

    def text(self, value: Int) -> str:
        """A formula as text, with sizes named as the program's contract names them."""
        return text(value, self.names)

    def at(self, sizes: Mapping[str, int] | None = None, /, **named: int) -> Estimate:
        """Return the estimate where `sizes`, or sizes `named`, have these values in elements.

        Others stay symbols.

        Raises: ValueError (no size has that name, or the value is no size).
        """
        known = {self.text(symbol): symbol for symbol in (*self._symbols(), *self.names)}
        env: dict[Expr, Int] = {}
        for name, value in {**(sizes or {}), **named}.items():
            if name not in known:
                raise ValueError(
                    f"there is no size {name}; there are: {', '.join(known) or 'none'}"
                )
            if value < 0:
                raise ValueError(f"{name} is a size: {value} is negative")
            env[known[name]] = value
        done: dict[Int, Int] = {}

        def put(value: Int) -> Int:
            if value not in done:
                done[value] = substitute(value, env)
            return done[value]

        return self._mapped(put)

    def roofline(self, device: Device) -> Roofline:
        """Return what the program takes at least on a device.

        Raises: ValueError (sizes are symbols yet: `at` gives them values).
        """
        if self.sizes:
            raise ValueError(f"a roofline needs all sizes: .at({'=, '.join(self.sizes)}=)")
        return roofline(self.operators, int(self.memory), device)  # pyright: ignore[reportArgumentType]  # no sizes are left

    def by_operator(self) -> dict[str, tuple[int, Int, Int]]:
        """Calls, FLOPs and bytes of each operator, in the order they first appear."""
        found: dict[str, tuple[int, Int, Int]] = {}
        for row in self.operators:
            n, flops, moved = found.get(row.operator, (0, 0, 0))
            found[row.operator] = n + 1, flops + row.flops, moved + row.read + row.written
        return found

    def by_module(self) -> tuple[ModuleCost, ...]:
        """A row for each module that calls operators, and for those that it is in."""
        kinds: dict[str, str] = {}
        sums: dict[str, tuple[list[Int], list[Int]]] = {}
        for row in self.operators:
            for path in _prefixes(row.module):
                flops, moved = sums.setdefault(path, ([], []))
                flops.append(row.flops)
                moved += (row.read, row.written)
            if row.kind:
                kinds[row.module] = row.kind
        return tuple(
            [
                ModuleCost(
                    path, kinds.get(path, ""), self._inside(path), total(flops), total(moved)
                )
                for path, (flops, moved) in sums.items()
            ]
        )

    def as_json(self) -> str:
        """Everything, as JSON; a formula is a text, a number that needs no sizes an integer."""
        return as_json(self)

    def __str__(self) -> str:
        return as_text(self)

    def __repr__(self) -> str:
        parts = f"{self.parameters:,} parameters, {self.text(self.flops)} FLOPs"
        return f"<Estimate {parts}, {self.text(self.activations)} bytes of activations>"

    def _repr_html_(self) -> str:
        return as_html(self)

    def _inside(self, path: str) -> int:
        inside = f"{path}." if path else ""
        return sum(n for name, n in self.state_by_name.items() if name.startswith(inside))

    def _symbols(self) -> dict[Expr, None]:
        values = [self.inputs, *[p.live for p in self.peaks], *[r.flops for r in self.operators]]
        values += [part for row in self.operators for part in (row.read, row.written)]
        found = {symbol for each in dict.fromkeys(values) for symbol in symbols(each)}
        return dict.fromkeys(sorted(found, key=lambda symbol: symbol.index))

    def _mapped(self, put: Callable[[Int], Int]) -> Estimate:
        peaks = greatest([replace(point, live=put(point.live)) for point in self.peaks])
        rows = tuple([row.mapped(put) for row in self.operators])
        return replace(self, inputs=put(self.inputs), operators=rows, peaks=tuple(peaks))


def work_of(program: ExportedProgram) -> Int:
    """FLOPs and bytes moved of one call, added: how calls at several sizes compare."""
    facts = program.facts
    with nullcontext() if facts is None else use(facts):
        rows = costs_of(program.graph_module, {})
        return total([part for row in rows for part in (row.flops, row.read, row.written)])


def estimate(program: ExportedProgram, sizes: Mapping[str, int] | None = None) -> Estimate:
    """Return what a call of a program needs, without running it: formulas in its symbolic sizes.

    `sizes` gives some values, in elements. Tensors may be on the meta device. FLOPs are those
    that `torch.utils.flop_counter` counts, and those of matrix-vector products and of fused kernels
    of the CPU, which it leaves out. Memory is that of a call without gradients; what a kernel
    allocates inside is not known but for attention and losses.

    Raises: ValueError (there is no size of that name).
    """
    facts = program.facts
    notes: dict[str, None] = {}
    with nullcontext() if facts is None else use(facts):
        rows = costs_of(program.graph_module, notes)
        points = live_points(program.graph_module)
        inputs = {
            spec.arg.name
            for spec in program.graph_signature.input_specs
            if spec.kind is InputKind.USER_INPUT
        }
        given = [
            types_in(n) for n in program.graph.nodes if n.op == "placeholder" and n.name in inputs
        ]
        taken = total([size_in_bytes(each) for types in given for each in types])
    held: dict[str, Any] = {**program.constants, **program.state_dict}
    storages = {_storage(each): each for each in held.values() if hasattr(each, "untyped_storage")}
    parameters = dict(program.named_parameters())
    found = Estimate(
        parameters=sum(each.numel() for each in {id(p): p for p in parameters.values()}.values()),
        state=sum(each.numel() * each.element_size() for each in storages.values()),
        inputs=taken,
        operators=tuple(rows),
        peaks=tuple(points),
        names=dict(program.contract.names),
        state_by_name={name: each.numel() for name, each in parameters.items()},
        notes=tuple(notes),
    )
    return found.at(sizes) if sizes else found


def _storage(tensor: Any) -> object:
    """What tells memory apart: two tensors that share it lie at one address, but for meta ones."""
    if tensor.device.type == "meta" or not tensor.numel():
        return id(tensor)
    return tensor.untyped_storage().data_ptr()


def _prefixes(path: str) -> list[str]:
    parts = path.split(".") if path else []
    return [".".join(parts[:end]) for end in range(len(parts) + 1)]


__all__ = ["Estimate", "ModuleCost", "estimate", "work_of"]
