"""What `torch.fx.GraphModule` keeps on itself: its graph, its children, and the code made of them.

For our own subclass, which is filled without torch's constructor and generates its code late.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import torch

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


def call_copy_hooks(module: torch.fx.GraphModule, copied: torch.fx.GraphModule) -> None:
    """What `GraphModule.__deepcopy__` ends with; the hooks have no public list."""
    for hook in module._deepcopy_hooks:
        hook(copied)


__all__ = ["CODE", "SPECS", "call_copy_hooks", "code_fields", "codegen", "fields", "put_child"]
