"""The programs of every other corpus in one form, so that their files go both ways.

A case is a module with an example and calls unlike it. What is refused when it is exported, or
raises, is left out: there is no file of it. `tests/programs` and `tests/models` have walks of their
own in `test_stock.py` and `test_round_trip.py`; lowered programs of the former are here.
"""

import warnings
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any

import torch

import monograph
from tests.contract import (  # noqa: F401  importing registers the probes
    adversarial,
    constants,
    containers,
    copies_or_views,
    effects,
    environment_answers,
    gradients,
    layouts,
    lowered,
    lowering_properties,
    memory,
    merged,
    modes,
    numbers,
    outside,
    overlaps,
    reduced,
    state_names,
    structures,
    tensor_types,
)
from tests.contract import data as probes_of_data  # noqa: F401
from tests.contract import sizes as probes_of_sizes  # noqa: F401
from tests.contract.judging import inputs_of as inputs_of_probe
from tests.contract.known import EXPORTS_REFUSED
from tests.contract.registry import PROBES, module_of
from tests.control_flow import aliases, branches, loops  # noqa: F401  they enter their programs
from tests.control_flow.branching import PROGRAMS as BRANCHING
from tests.control_flow.looped import PROGRAMS as LOOPED
from tests.control_flow.looped import example as columns
from tests.control_flow.registry import PROGRAMS as OPERATORS
from tests.custom.programs import PROGRAMS as CUSTOM
from tests.custom.programs import Model as Custom
from tests.data import test_data  # noqa: F401  importing registers the programs
from tests.data.registry import PROGRAMS as DATA
from tests.data.registry import inputs_of as inputs_of_draw
from tests.passes.mutations import INPUTS as MUTATED_INPUTS
from tests.passes.mutations import PROGRAMS as MUTATED
from tests.programs import harness as small
from tests.seeding import reseed
from tests.sizes import test_programs  # noqa: F401  importing registers the programs
from tests.sizes.programs.registry import SIZE_PROGRAMS
from tests.state import attributes, callbacks, surroundings  # noqa: F401  they enter theirs
from tests.state.registry import PROGRAMS as STATE

AUTO = monograph.Dim.AUTO
Inputs = tuple[tuple, dict]


@dataclass(frozen=True, slots=True)
class Case:
    """A module, how it is exported here, and its calls: functions that make fresh arguments."""

    corpus: str
    name: str
    make: Callable[[], torch.nn.Module]
    example: Callable[[], Inputs]
    calls: tuple[Callable[[], Inputs], ...]
    options: Callable[[tuple], dict[str, Any]] = lambda _: {}
    lowered: bool = False
    varies: bool = False
    """Whether sizes are declared to vary."""

    def exported(self) -> monograph.ExportedProgram:
        """Export it here."""
        args, kwargs = self.example()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            program = monograph.export(made(self), args, kwargs, **self.options(args))
            return program.run_decompositions() if self.lowered else program


def made(case: Case) -> torch.nn.Module:
    """Make the module, with the same weights every time."""
    reseed(3)
    module = case.make()
    return module[0] if isinstance(module, tuple) else module


def seeded(seed: int, make: Callable, *arguments: Any) -> Callable[[], Inputs]:
    """Make arguments by position after a seed."""

    def inputs() -> Inputs:
        reseed(seed)
        return tuple(make(*arguments)), {}

    return inputs


def of_sizes() -> Iterator[Case]:
    """Declared sizes."""
    for each in SIZE_PROGRAMS.values():
        if each.refused:
            continue
        sweep = [each.sizes, *list(each.sweep())[::5]]
        calls = tuple([lambda s=s, p=each: small.inputs_at(p, s, 5) for s in sweep])
        yield Case(
            "sizes",
            each.name,
            lambda each=each: small.build(each),
            lambda each=each: small.inputs_at(each, each.sizes, 4),
            calls,
            lambda args, each=each: {
                "dynamic_shapes": each.declaration(args),
                "control_flow": "capture" if each.name == "looped_over" else "refuse",
            },
            varies=True,
        )


def of_data() -> Iterator[Case]:
    """Sizes and branches that data decides."""
    for each in DATA.values():
        if each.refused:
            continue
        yield Case(
            "data",
            each.name,
            each.build,
            lambda each=each: (inputs_of_draw(each, 0), {}),
            tuple([lambda k=k, p=each: (inputs_of_draw(p, k), {}) for k in range(6)]),
            lambda _, each=each: {
                "dynamic_shapes": None if each.shapes is None else each.shapes(monograph.Dim)
            },
            varies=each.shapes is not None,
        )


def of_control_flow() -> Iterator[Case]:
    """Operators of control flow, and branches and loops of Python."""
    for each in OPERATORS.values():
        calls = tuple(
            [
                lambda n=n, k=k, p=each: (list(p.calls(static=n == 0))[k], {})
                for n, k in ((0, 0), (0, 1), (0, 2))
            ]
        )
        yield Case(
            "operators", each.name, each.module, seeded(0, each.inputs, each.sizes[0]), calls
        )
    for each in BRANCHING.values():
        if not each.refused:
            calls = tuple([lambda c=c: (tuple(x.clone() for x in c), {}) for c in each.calls])
            options = {"control_flow": "capture"}
            yield Case("branching", each.name, each.make, calls[0], calls, lambda _, o=options: o)
    for each in LOOPED.values():
        if not each.refused:
            calls = tuple([lambda n=n: ((columns(n, seed=n),), {}) for n in (5, 0, 1, 2, 9)])
            options = {"dynamic_shapes": ({1: AUTO},), "control_flow": "capture"}
            looped = Case("looped", each.name, each.make, calls[0], calls, lambda _, o=options: o)
            yield replace(looped, varies=True)


def of_custom() -> Iterator[Case]:
    """Custom operators."""
    for each in CUSTOM.values():
        calls = tuple([seeded(n, each.inputs, n) for n in each.sizes])
        shapes = {"inputs": tuple({0: AUTO} for _ in each.inputs(each.sizes[0]))}
        yield Case(
            "custom",
            each.name,
            lambda each=each: Custom(each.forward),
            calls[0],
            calls,
            lambda _, shapes=shapes: {"dynamic_shapes": shapes},
            varies=True,
        )


def of_contract() -> Iterator[Case]:
    """What a program may depend on. Calls that prepare the module or run in a mode are left out."""
    for each in PROBES.values():
        plain = [c for c in each.calls.values() if c.before is None and c.under is nullcontext]
        is_refused = each.refused or each.name in EXPORTS_REFUSED["strict"]
        if is_refused or each.example.under is not nullcontext:
            continue
        yield Case(
            "contract",
            each.name,
            each.build,
            lambda each=each: inputs_of_probe(each.example, 4),
            tuple([lambda c=c: inputs_of_probe(c, 5) for c in plain]),
            lambda _, each=each: {
                "dynamic_shapes": None if each.shapes is None else each.shapes(monograph.Dim)
            },
            varies=each.shapes is not None,
        )


def of_state() -> Iterator[Case]:
    """State and side effects: every call is made twice, so effects on buffers show."""
    for each in STATE.values():
        if not each.refused:
            calls = tuple([seeded(n, each.inputs) for n in (4, 5, 6)])
            yield Case("state", each.name, each.make, calls[0], calls)


def of_passes() -> Iterator[Case]:
    """Programs that write, lowered to what does not."""
    for name, what in MUTATED.items():
        calls = tuple([seeded(n, MUTATED_INPUTS[name]) for n in (4, 5)])
        yield Case("lowered", name, module_of(name, what), calls[0], calls, lowered=True)


CORPORA = (
    of_sizes,
    of_data,
    of_control_flow,
    of_custom,
    of_contract,
    of_state,
    of_passes,
)


def cases() -> list[Case]:
    """Every case."""
    return [case for corpus in CORPORA for case in corpus()]
