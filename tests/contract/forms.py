"""The forms that a program takes between its export and its call, and the peer that stands beside.

A form is found where the function that makes it exists; `MISSING` says of the others what is not
there, so that none is left out in silence.
"""

import copy
import importlib
import importlib.util
import io
from collections.abc import Callable
from dataclasses import dataclass

import torch

import monograph
from monograph.diagnostics import MonographError
from monograph.program import ExportedProgram


@dataclass(frozen=True, slots=True)
class Form:
    """An exporter: how it exports, what it calls a size, and how its program is made callable."""

    name: str
    export: Callable
    Dim: object
    callable_from: Callable
    refusals: tuple[type[Exception], ...] = (MonographError,)
    """What counts as a refusal by name; any other exception of its own is a failure."""

    @property
    def is_strict(self) -> bool:
        """Whether it interprets user code, and so sees what plain Python does not show."""
        return self.name == "strict"


def plain(module, args, kwargs, shapes):
    """Export as plain Python, and never interpreted instead."""
    return monograph.export(
        module, args, kwargs, dynamic_shapes=shapes, strict=False, control_flow="refuse"
    )


def strict(module, args, kwargs, shapes):
    """Export under the interpreter."""
    return monograph.export(module, args, kwargs, dynamic_shapes=shapes, strict=True)


def again(module, args, kwargs, shapes):
    """Export, and export the module of the program."""
    return plain(plain(module, args, kwargs, shapes).module(), args, kwargs, shapes)


def peer(module, args, kwargs, shapes):
    """Export with torch.export in its default mode."""
    return torch.export.export(module, args, kwargs, dynamic_shapes=shapes)


def as_module(program):
    """The program as it is called."""
    return program.module()


def unchecked(program):
    """Without the checks of the contract."""
    return program.module(check=False)


def copied(program):
    """A deep copy of the program."""
    return copy.deepcopy(program).module()


def moved(program):
    """Rewritten for a device, which is the one it was on."""
    return program.to("cpu").module()


def decomposed(program):
    """After the default decompositions."""
    return program.run_decompositions().module()


def unflattened(program):
    """With the module hierarchy of the original."""
    return monograph.unflatten(program)


def loaded(program):
    """Saved and loaded."""
    file = io.BytesIO()
    monograph.save(program, file)
    file.seek(0)
    return monograph.load(file).module()


def has_strict() -> bool:
    """Whether `strict=True` interprets user code."""
    return importlib.util.find_spec("monograph.capture.strict.interpreting") is not None


WANTED = {
    "plain": (plain, as_module, lambda: True),
    "copied": (plain, copied, lambda: True),
    "exported again": (again, as_module, lambda: True),
    "moved": (plain, moved, lambda: hasattr(ExportedProgram, "to")),
    "strict": (strict, as_module, has_strict),
    "decomposed": (plain, decomposed, lambda: hasattr(ExportedProgram, "run_decompositions")),
    "unflattened": (plain, unflattened, lambda: hasattr(monograph, "unflatten")),
    "loaded": (
        plain,
        loaded,
        lambda: hasattr(monograph, "save") and hasattr(monograph, "load"),
    ),
}

FORMS = {
    name: Form(name, export, monograph.Dim, made)
    for name, (export, made, exists) in WANTED.items()
    if exists()
}

MISSING = sorted(WANTED.keys() - FORMS.keys())


def peer_form() -> Form:
    """torch.export, whatever it raises taken as a refusal."""
    return Form("torch.export", peer, torch.export.Dim, as_module, (Exception,))
