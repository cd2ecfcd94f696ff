"""How a program that looks at data is held against eager, draw by draw."""

import copy
import warnings

import torch

import monograph
from monograph.diagnostics import ContractError
from tests.data.registry import DRAWS, DataProgram, inputs_of
from tests.programs.harness import same
from tests.seeding import reseed


def build(program: DataProgram) -> torch.nn.Module:
    """The module, with the same weights every time."""
    reseed(3)
    return program.build()


def export(program: DataProgram, *, strict: bool):
    """Export at the example."""
    shapes = None if program.shapes is None else program.shapes(monograph.Dim)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return monograph.export(
            build(program),
            inputs_of(program, 0),
            dynamic_shapes=shapes,
            strict=strict,
            control_flow="refuse" if program.refused or not strict else "capture",
        )


_EXPORTED: dict[str, monograph.ExportedProgram] = {}


def exported_once(program: DataProgram) -> monograph.ExportedProgram:
    """A copy of what `export` gives under the interpreter, made once in a process."""
    if program.name not in _EXPORTED:
        _EXPORTED[program.name] = export(program, strict=True)
    return copy.deepcopy(_EXPORTED[program.name])


def called(module: torch.nn.Module, inputs: tuple):
    """(the result, the inputs afterwards) or what it raised."""
    given = copy.deepcopy(inputs)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        try:
            return module(*given), given
        except Exception as error:  # noqa: BLE001  whatever user code raises is compared
            return error


def differences(program: DataProgram, make, draws=range(DRAWS)) -> tuple[list[str], list[str]]:
    """(what differs from eager, which calls the program refuses), over the draws.

    `make` gives the callable; it and the module keep their state from draw to draw.
    """
    module, reference = make(), build(program).train()
    wrong: list[str] = []
    refused: list[str] = []
    for k in draws:
        inputs = inputs_of(program, k)
        expected, actual = called(reference, inputs), called(module, inputs)
        if isinstance(expected, Exception):
            if not isinstance(actual, Exception):
                wrong.append(f"draw {k}: eager raises {expected!r}, the program does not")
        elif isinstance(actual, ContractError | RuntimeError) and "does not hold" in str(actual):
            refused.append(f"draw {k}: {actual}")
        elif isinstance(actual, Exception):
            wrong.append(f"draw {k}: {type(actual).__name__}: {actual}")
        else:
            try:
                same(expected, actual, f"draw {k}")
            except AssertionError as error:
                wrong.append(str(error))
    return wrong, refused
