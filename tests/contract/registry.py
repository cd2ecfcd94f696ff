"""Probing programs: each asks one thing that may differ between calls, and is called where it does.

A probe is a function of tensors, or a module class, under `@probe(row, example, ...)`; `row` says
what user code consults, after the design's table on being right or refused. `example` and every
call make fresh inputs from one seed: `(x, y)`, or `((x,), {"k": y})`. Calls in `agrees` must give
eager's answer; those in `calls` may be refused instead.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field

from torch import nn

ROWS = {
    "structure": "number, structure, keys and plain values of inputs",
    "type": "rank, dtype, device, layout of tensors",
    "size": "fixed and varying sizes",
    "layout": "strides, offset, requires_grad, conj and neg bits",
    "overlap": "inputs that are one tensor or share storage",
    "mode": "grad, inference, autocast, default dtype, determinism, training",
    "constant": "attributes, globals, closure cells, class attributes",
    "memory": "the bytes behind a tensor, and its class",
    "write": "writes that outlive the call",
    "outside": "random numbers, clocks, environment, identity",
    "data": "the data in a tensor",
    "assumption": "conditions on sizes",
}


@dataclass(frozen=True, slots=True)
class Call:
    """One call: how its inputs are made, what is done to the module before, what surrounds it."""

    inputs: Callable[[], tuple]
    under: Callable[[], AbstractContextManager] = nullcontext
    before: Callable[[nn.Module], object] | None = None
    times: int = 1
    """How often the call is repeated, on new inputs, on one module."""


@dataclass(frozen=True, slots=True)
class Probe:
    """One program, its example and its calls."""

    name: str
    row: str
    build: Callable[[], nn.Module]
    example: Call
    calls: dict[str, Call]
    must: frozenset[str] = field(default_factory=frozenset)
    """The calls that must agree."""
    shapes: Callable | None = None
    """From a `Dim` class to `dynamic_shapes`."""
    refused: tuple[str, ...] = ()
    """The diagnostics one of which `export` gives; none where it captures."""


PROBES: dict[str, Probe] = {}


def probe(
    row: str,
    example: Callable[[], tuple] | Call,
    *,
    agrees: dict[str, Callable | Call] | None = None,
    calls: dict[str, Callable | Call] | None = None,
    **expected: object,
) -> Callable:
    """Register a function or a module class as a probe; a call at the example must always agree."""

    def register(what: Callable) -> Callable:
        name = what.__name__
        assert row in ROWS, f"{name}: no row is called {row}"
        assert name not in PROBES, f"two probes are called {name}"
        assert not {*(agrees or {})} & {*(calls or {})}, f"{name}: two calls have one name"
        made = {each: as_call(call) for each, call in {**(agrees or {}), **(calls or {})}.items()}
        first = as_call(example)
        PROBES[name] = Probe(
            name,
            row,
            module_of(name, what),
            first,
            {"example": first, **made},
            frozenset({"example", *(agrees or {})}),
            **expected,
        )
        return what

    return register


def as_call(what: Callable | Call) -> Call:
    """A function that makes inputs is a call with nothing around it."""
    return what if isinstance(what, Call) else Call(what)


def module_of(name: str, what: Callable) -> Callable[[], nn.Module]:
    """How to make a module of a function, or of a module class."""
    if isinstance(what, type):
        return what
    return lambda: type(name, (nn.Module,), {"forward": staticmethod(what)})()
