"""What `torch.export` has can be had here: each public name, under the same parameters.

A name is torch.export's own where it is in `__all__` of the package or of a public submodule, or
is a class or function that was defined there. Whatever differs is listed here with its reason.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from enum import Enum
from types import ModuleType

import pytest
import torch.export

import monograph

PROCESS = "it only registers operators, or holds nothing public"
MODULES = [""] + [
    f".{each.name}"
    for each in pkgutil.iter_modules(torch.export.__path__)
    if not each.name.startswith("_")
]
WITHOUT_MODULE = {
    ".custom_obj": "values of script objects are of a class of ours (`CustomObjArgument` is there)",
    ".custom_ops": PROCESS,
    ".experimental": PROCESS,
}
IMPORTED = {(".dynamic_shapes", "ExportedProgram"), (".passes", "ExportedProgram")}
"""Names that stand there for annotations alone."""
MADE_BY_EXPORT = "only an export, a file or a pass makes one"
CONSTRUCTORS = {
    "ExportedProgram": MADE_BY_EXPORT,
    "InterpreterModule": MADE_BY_EXPORT,
    "InterpreterModuleDispatcher": MADE_BY_EXPORT,
    "UnflattenedModule": MADE_BY_EXPORT,
    "ExportGraphSignature": "it has a field more, with a default",
}
DEFAULTS = {
    ("export", "args"): "may be left out where forward takes keywords or nothing",
    ("draft_export", "args"): "may be left out where forward takes keywords or nothing",
    ("export", "strict"): "the guarantee is the stronger one",
    ("draft_export", "strict"): "as for export",
    ("CustomObjArgument", "fake_val"): "None in both",
}
MEMBERS = {
    ("UnflattenedModule", "process_forward_inputs"): "a hook of torch's own forward",
    ("UnflattenedModule", "finalize"): "a step of torch's own constructor",
    ("InterpreterModule", "finalize"): "a step of torch's own constructor",
}
PLACES = {
    ("UnflattenedModule", "forward"): "it has the parameters of the module that was exported",
    ("InterpreterModule", "forward"): "it has the parameters of the call",
    ("InterpreterModuleDispatcher", "forward"): "it has the parameters of the call",
    ("CustomDecompTable", "pop"): "that of every mapping: a key and a default",
    ("CustomDecompTable", "update"): "that of every mapping",
    ("InterpreterModule", "print_readable"): "that of fx.GraphModule, with more parameters",
    ("InterpreterModuleDispatcher", "print_readable"): "that of fx.GraphModule",
    ("UnflattenedModule", "print_readable"): "that of fx.GraphModule",
}


def own_names(module: ModuleType) -> list[str]:
    """The public names that a module of torch.export defines or lists."""
    listed = set(getattr(module, "__all__", ()))
    defined = {
        name
        for name, value in vars(module).items()
        if inspect.isclass(value) or inspect.isfunction(value)
        if str(value.__module__).startswith("torch.export") and not name.startswith("_")
        if not str(value.__module__).rpartition(".")[2].startswith("_")
    }
    return sorted(listed | defined)


def pair(module: str) -> tuple[ModuleType, ModuleType]:
    """Torch's module and ours."""
    return (
        importlib.import_module(f"torch.export{module}"),
        importlib.import_module(f"monograph{module}"),
    )


NAMES = [
    (module, name)
    for module in MODULES
    if module not in WITHOUT_MODULE
    for name in own_names(importlib.import_module(f"torch.export{module}"))
    if (module, name) not in IMPORTED
]


@pytest.mark.parametrize("module", [each for each in MODULES if each not in WITHOUT_MODULE])
def test_a_module_has_the_names(module):
    """Each name of torch.export's module is a name of ours, and the submodule's attribute too."""
    theirs, ours = pair(module)
    names = [name for of, name in NAMES if of == module]
    assert [name for name in names if not hasattr(ours, name)] == []
    assert {*getattr(theirs, "__all__", ())} <= {*ours.__all__}


def parameters(function):
    """Name, kind and default of each parameter but `self`."""
    found = inspect.signature(function).parameters.values()
    return [each for each in found if each.name != "self"]


def differences(owner, theirs, ours):
    """Say how the parameters of ours differ from those of torch's, which it may add to."""
    mine = {each.name: each for each in parameters(ours)}
    places = [name for name, each in mine.items() if each.kind is not each.KEYWORD_ONLY]
    by_place = [each for each in parameters(theirs) if each.kind is not each.KEYWORD_ONLY]
    if [each.name for each in by_place] != places[: len(by_place)]:
        yield f"{owner}: by place {places}, not {[each.name for each in by_place]}"
        return
    for each in parameters(theirs):
        here = mine.get(each.name)
        if here is None or here.kind is not each.kind:
            yield f"{owner}: no {each}"
        elif here.default != each.default and (owner, each.name) not in DEFAULTS:
            yield f"{owner}: {here.name}={here.default!r}, not {each.default!r}"
    known = {each.name for each in parameters(theirs)}
    for each in mine.values():
        if each.name not in known and each.default is each.empty:
            yield f"{owner}: {each.name} must be given"


@pytest.mark.parametrize(("module", "name"), NAMES)
def test_a_name_has_the_parameters(module, name):
    """Functions, constructors and public methods take what torch's take, in the same places."""
    theirs, ours = (getattr(each, name) for each in pair(module))
    if inspect.isfunction(theirs):
        assert list(differences(name, theirs, ours)) == []
        return
    if not inspect.isclass(theirs) or issubclass(theirs, Enum):
        assert not inspect.isclass(theirs) or [*theirs.__members__] == [*ours.__members__]
        return
    found: list[str] = []
    if name not in CONSTRUCTORS and theirs.__init__ is not object.__init__:
        found += differences(name, theirs, ours)
    for member, value in vars(theirs).items():
        if member.startswith("_") or (name, member) in MEMBERS:
            continue
        if not hasattr(ours, member) and member not in getattr(ours, "__slots__", ()):
            found.append(f"{name} has no {member}")
        elif inspect.isfunction(value) and (name, member) not in PLACES:
            found += differences(f"{name}.{member}", value, getattr(ours, member))
    assert found == []


def test_the_function_keeps_its_name_over_the_module():
    """`monograph.unflatten` is the function, whoever imported the module of that name."""
    module = importlib.import_module("monograph.unflatten")
    assert monograph.unflatten is module.unflatten
    assert "unflatten" in dir(monograph)
    assert isinstance(monograph, ModuleType)


def test_another_function_may_take_its_place(monkeypatch):
    """What is put over it is kept, and taken away again."""
    monkeypatch.setattr(monograph, "unflatten", len)
    assert monograph.unflatten is len
    monkeypatch.undo()
    assert monograph.unflatten is not len


def test_exceptions_are_needed():
    """No exception outlives its reason: each names something that torch has."""
    assert {*WITHOUT_MODULE} <= {*MODULES}
    names = {name for _, name in NAMES}
    assert {*CONSTRUCTORS} <= names
    assert {owner for owner, _ in [*DEFAULTS, *MEMBERS, *PLACES]} <= names
