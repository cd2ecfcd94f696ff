"""What `torch.fx.GraphModule` keeps on itself: its graph, its children, and the code made of them.

For our own subclass, which is filled without torch's constructor and generates its code late.
"""

from __future__ import annotations

import unicodedata
from keyword import iskeyword
from typing import TYPE_CHECKING, Any, Final

import torch
from torch.fx._lazy_graph_module import _LazyGraphModule as LazyGraphModule

if TYPE_CHECKING:
    from torch.fx.graph import Graph, PythonCode

CODE: Final = ("_code", "_lineno_map", "_prologue_start")
"""What generating the code adds to an instance; torch.fx reads each of them."""

SPECS: Final = frozenset({"_in_spec", "_out_spec"})
"""Structures of arguments and results, which `GraphModule.recompile` puts there."""

_OF_MODULES: Final = vars(torch.nn.Module())


def fields(graph: Graph, class_name: str) -> dict[str, Any]:
    """What `GraphModule.__init__` gives an instance, as torch.fx reads it."""
    containers = {
        name: value if value is None or value is True else value.copy()
        for name, value in _OF_MODULES.items()
    }
    hooks = ("_replace_hooks", "_create_node_hooks", "_erase_node_hooks", "_deepcopy_hooks")
    return {
        **containers,
        **{name: [] for name in hooks},
        "_graph": graph,
        "_class_name": class_name,
        "_tracer_cls": None,
        "_tracer_extras": {},
        "meta": {},
        "shape_env": None,
    }


def code_fields(graph: Graph, code: PythonCode) -> dict[str, Any]:
    """What `GraphModule.recompile` gives an instance."""
    found = {
        "_code": code.src,
        "_lineno_map": code._lineno_map,
        "_prologue_start": code._prologue_start,
    }
    info = getattr(graph._codegen, "pytree_info", None)
    return (
        found if info is None else {**found, "_in_spec": info.in_spec, "_out_spec": info.out_spec}
    )


def codegen(graph: Graph) -> Any:
    """What `Graph.set_codegen` was given; there is no public getter."""
    return graph._codegen


def put_child(module: torch.nn.Module, name: str, child: torch.nn.Module) -> None:
    """As `add_module`, without its checks of a name that is known to be one."""
    module._modules[name] = child


def owner_of(module: torch.nn.Module, target: str) -> tuple[torch.nn.Module, str]:
    """The module that holds what has this qualified name, and its name there.

    Modules between that are not there are made. What they hold is looked up as `state_dict` does:
    an attribute of the class may have the same name.
    """
    *between, name = target.split(".")
    for part in between:
        child = module._modules.get(part)
        if child is None:
            child = module._modules[part] = torch.nn.Module()
        module = child
    return module, name


def hold(module: torch.nn.Module, name: str, value: object, *, persistent: bool | None) -> None:
    """Put a module, parameter, tensor or plain value under a name, whatever the name is.

    A tensor becomes a buffer; with `persistent` None, a plain attribute where the name is free.
    """
    if isinstance(value, torch.nn.Module):
        module._modules[name] = value
    elif isinstance(value, torch.nn.Parameter):
        module._parameters[name] = value
    elif not isinstance(value, torch.Tensor):
        setattr(module, name, value)
    elif persistent is None:
        hold_apart(module, name, value)
    else:
        module._buffers[name] = value
        if not persistent:
            module._non_persistent_buffers_set.add(name)


def hold_apart(module: torch.nn.Module, name: str, value: torch.Tensor) -> None:
    """Put a tensor as a plain attribute, or as a buffer where the name means something there."""
    if means_something(module, name):
        hold(module, name, value.detach(), persistent=False)
    else:
        vars(module)[name] = value


def means_something(module: torch.nn.Module, name: str) -> bool:
    """Whether a module has an attribute of this name beside its state, or will have one."""
    return hasattr(type(module), name) or name in vars(module) or name in _LATER


def attribute_code(module: torch.nn.Module, target: str, *, is_called: bool) -> str:
    """How code spells what has this qualified name in `self`.

    By attribute where the name is a name and means nothing else there; else out of the dictionary
    that holds it.
    """
    text = "self"
    parts = target.split(".")
    for place, part in enumerate(parts, 1):
        kinds = [kind for kind in _HOLDING if part in vars(module).get(kind, ())]
        of_modules = is_called or place < len(parts)
        kind = "_modules" if of_modules and "_modules" in kinds else next(iter(kinds), None)
        is_other = len(kinds) > 1 or means_something(module, part)
        if kind is not None and (is_other or not is_name(part)):
            text = f"{text}.{kind}[{part!r}]"
        else:
            text = f"{text}.{part}" if is_name(part) else f"getattr({text}, {part!r})"
        if place < len(parts):
            module = module._modules[part] or module
    return text


def found_at(module: torch.nn.Module, target: str) -> Any:
    """What has this qualified name, wherever it is held."""
    *between, name = target.split(".")
    for part in between:
        module = module._modules.get(part) or getattr(module, part)
    for kind in _HOLDING:
        if name in vars(module).get(kind, ()):
            return vars(module)[kind][name]
    return getattr(module, name)


def holder_of(module: torch.nn.Module, target: str) -> str | None:
    """The dictionary of a module that holds what has this qualified name: `_parameters`, ....

    `__dict__` holds plain attributes. None where a module on the way, or the value, lies elsewhere.
    """
    *between, name = target.split(".")
    for part in between:
        child = vars(module)["_modules"].get(part)
        if child is None:
            return None
        module = child
    held = vars(module)
    kinds = [kind for kind in _HOLDING if name in held.get(kind, ())]
    if not kinds and name in held and not hasattr(type(module), name):
        return "__dict__"
    return kinds[0] if kinds else None


_LATER: Final = SPECS.union(CODE)
_HOLDING: Final = ("_buffers", "_parameters", "_modules")


def is_name(text: str) -> bool:
    """Whether Python reads this text as one name, and as this one.

    >>> is_name("x"), is_name("class"), is_name("\uff58")
    (True, False, False)
    """
    if not text.isidentifier() or iskeyword(text):
        return False
    return text.isascii() or unicodedata.normalize("NFKC", text) == text


def call_copy_hooks(module: torch.fx.GraphModule, copied: torch.fx.GraphModule) -> None:
    """What `GraphModule.__deepcopy__` ends with; the hooks have no public list."""
    for hook in module._deepcopy_hooks:
        hook(copied)


__all__ = [
    "CODE",
    "SPECS",
    "LazyGraphModule",
    "attribute_code",
    "call_copy_hooks",
    "code_fields",
    "codegen",
    "fields",
    "found_at",
    "hold",
    "hold_apart",
    "holder_of",
    "is_name",
    "means_something",
    "owner_of",
    "put_child",
]
