"""Limits of torch.export's reader: what it cannot read in a file, or its own code cannot name.

Law: where nothing is found here, torch.export reads the file and its program answers as ours does;
tests/archive/test_matrix.py holds it over all corpora, with few exceptions listed there.
"""

from __future__ import annotations

import math
import operator
from keyword import iskeyword
from typing import TYPE_CHECKING, Any, Final
from unicodedata import normalize

import torch

from monograph.archive.schema.enums import OF_FLOATS
from monograph.archive.schema.structures import is_named_there
from monograph.archive.schema.values import plain_value
from monograph.host.objects import ObjectState
from monograph.passes.graph_walks import calls, graph_modules
from monograph.program import ConstantArgument, ExportedProgram

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from monograph.program import InputSpec, OutputSpec

_FUNCTIONS: Final = {
    operator.invert,
    operator.pos,
    operator.xor,
    *(getattr(math, name) for name in OF_FLOATS),
}

_NUMBERS: Final = (bool, float, int, type(None))

_NO_OPERANDS: Final = {torch.SymFloat: "float", torch.SymBool: "truth"}
"""What it reads of tensors alone, or as a condition: of numbers, subgraphs take integers."""

_OF_CODE: Final = frozenset(
    {
        *("NoneType", "device", "fx_pytree", "inf", "nan", "pytree", "self", "torch"),
        *("_code", "_graph", "_guards_fn", "_in_spec", "_out_spec", "meta"),
        *dir(torch.fx.GraphModule),
    }
)
"""Attributes of a `GraphModule`, and what the code of a graph calls otherwise."""


def unreadable_there(program: ExportedProgram) -> list[str]:
    """Why torch.export cannot use the program's file, in words; nothing where it can."""
    return list(dict.fromkeys([*_in_graph(program), *_in_calls(program)]))


def _in_graph(program: ExportedProgram) -> Iterator[str]:
    for name in (*program.state_dict, *program.constants):
        if not _can_be_named(name):
            yield f"its code cannot name the tensor {name!r}"
    for node in calls(program.graph_module):
        if node.target in _FUNCTIONS:
            name = getattr(node.target, "__name__", node.target)
            yield f"it does not know the function `{name}` of numbers"
    for path, module in graph_modules(program.graph_module):
        for node in module.graph.find_nodes(op="placeholder") if path else ():
            given, value = f"a branch, loop or mode is given {node.name!r}", node.meta["val"]
            if type(value) in _NO_OPERANDS:
                yield f"{given}, a {_NO_OPERANDS[type(value)]}"
            elif isinstance(value, torch.SymInt) and type(plain_value(value)) is int:
                yield f"{given}, always {value}, which it cannot save again"


def _in_calls(program: ExportedProgram) -> Iterator[str]:
    signature = program.graph_signature
    for value in _constants(signature.input_specs):
        if type(value) not in {*_NUMBERS, str}:
            yield f"an input is {value!r}"
    for value in _constants(signature.output_specs):
        if type(value) not in _NUMBERS or (isinstance(value, float) and math.isnan(value)):
            yield f"a result is {value!r}"
    for kind in (*_classes(program.in_spec), *_classes(program.out_spec)):
        if not is_named_there(kind):
            yield f"`{kind.__qualname__}` is not registered with a `serialized_type_name`"


def _constants(specs: Sequence[InputSpec | OutputSpec]) -> list[Any]:
    return [each.arg.value for each in specs if isinstance(each.arg, ConstantArgument)]


def _can_be_named(name: str) -> bool:
    first, *_ = parts = name.split(".")
    return first not in _OF_CODE and not any(
        iskeyword(part)
        or {*'"\\\n'} & {*part}
        or (part.isidentifier() and normalize("NFKC", part) != part)
        for part in parts
    )


def _classes(spec: Any) -> Iterator[type]:
    if spec.is_leaf():
        return
    context = spec.context.kind if isinstance(spec.context, ObjectState) else spec.context
    yield context if isinstance(context, type) else spec.type
    for child in spec.children():
        yield from _classes(child)


__all__ = ["unreadable_there"]
