"""Conversion to and from the ExportedProgram of torch.export, sharing the weights.

Both ways lead through the schema of files, so what is handed over is what a file would hold: one
form, read by the same readers and checked the same. What stock has no form for is refused; what
its programs do not check is logged, each condition by its words.
"""

from __future__ import annotations

import json
import logging
import operator
from typing import TYPE_CHECKING, Any

import torch
from torch.fx.node import Node

from monograph.archive import program_of_schema, schema_of, unsaid
from monograph.diagnostics import problem
from monograph.passes.graph_walks import graph_modules
from monograph.program.calling.assertions import ASSERT_METADATA, ASSERT_SCALAR

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from monograph.program import ExportedProgram

_LOGGER = logging.getLogger("monograph.interop")


def to_torch(program: ExportedProgram) -> torch.export.ExportedProgram:
    """The program as torch.export has it; parameters, buffers and constants are the same tensors.

    Raises: archive-cannot-hold, archive-unknown-type, not-handed-over.
    """
    made = unchecked(program)
    report("a program of torch.export", unsaid(program))
    return made


def report(reader: str, left_behind: Sequence[str]) -> None:
    """Log what somebody who takes a program over does not check."""
    if left_behind:
        _LOGGER.warning("%s does not check: %s", reader, "; ".join(left_behind))


def unchecked(program: ExportedProgram) -> torch.export.ExportedProgram:
    """The same, for who checks the contract, or reports what is left of it.

    Raises: archive-cannot-hold, archive-unknown-type, not-handed-over.
    """
    from torch._export.serde import schema, serialize

    written = schema_of(program)
    examples = program.example_inputs
    given = None if examples is None else (tuple(examples[0]), dict(examples[1]))
    try:
        read: Any = serialize._dict_to_dataclass(schema.ExportedProgram, written)
        state = dict(program.state_dict)
        # Stock takes a parameter for one of the module's; a constant is none.
        constants = {
            name: value.detach() if isinstance(value, torch.nn.Parameter) else value
            for name, value in program.constants.items()
        }
        made = serialize.ExportedProgramDeserializer().deserialize(read, state, constants, given)
    except Exception as error:
        raise problem("not-handed-over", system="torch.export", reason=said(error)) from error
    _compare_sizes_as_numbers(made.graph_module)
    return made


def _compare_sizes_as_numbers(graph_module: torch.fx.GraphModule) -> None:
    """Promised sizes, each in an assertion of its own.

    `_assert_tensor_metadata` compares them as well where tensors are real. On fake tensors stock
    finds that a list is no `torch.Size`, whatever is in it, and so could not lower the program.
    """
    for _, module in graph_modules(graph_module):
        found: list[Any] = module.graph.find_nodes(op="call_function", target=ASSERT_METADATA)
        stated = [node for node in found if len(node.args) > 1 and node.args[1] is not None]
        for node in stated:
            tensor, promised, *rest = node.args
            node.args = (tensor, None, *rest)
            _compare(module.graph, node, tensor, promised)
        if stated:
            module.recompile()


def _compare(graph: torch.fx.Graph, node: Any, tensor: Any, promised: Sequence[Any]) -> None:
    with graph.inserting_after(node):  # every time right after it, so the last comes first
        for dim, expected in reversed([*enumerate(promised)]):
            text = f"the operator promises another size of dimension {dim}"
            asserted = graph.call_function(ASSERT_SCALAR, (None, text))
            with graph.inserting_before(asserted):
                size = graph.call_function(torch.ops.aten.sym_size.int, (tensor, dim))
                size.meta = {**node.meta, "val": tensor.meta["val"].shape[dim]}
                equal = graph.call_function(operator.eq, (size, expected))
                value = expected.meta["val"] if isinstance(expected, Node) else expected
                equal.meta = {**node.meta, "val": size.meta["val"] == value}
            asserted.args = (equal, text)
            asserted.meta = {**node.meta, "val": None}


def from_torch(program: torch.export.ExportedProgram) -> ExportedProgram:
    """Take over a program of torch.export; parameters, buffers and constants are the same tensors.

    Its contract is what it states: structure, dtypes, devices, sizes, ranges, and the conditions of
    its guards. What torch.export assumed without stating it, nobody can know.

    Raises: archive-invalid, archive-unsafe, archive-unknown-type, not-taken-over.
    """
    from torch._export.serde import serialize

    try:
        parts = serialize.ExportedProgramSerializer().serialize(
            program,
            serialize_state_dict=False,
            serialize_constants=False,
            serialize_example_inputs=False,
        )
        text = serialize._to_json_bytes(parts.exported_program)
    except Exception as error:
        raise problem("not-taken-over", reason=said(error)) from error
    state = _tensors(program.state_dict)
    return program_of_schema(
        json.loads(text), state, _tensors(program.constants), program.example_inputs
    )


def _tensors(found: Mapping[str, Any]) -> dict[str, torch.Tensor]:
    for name, value in found.items():
        if not isinstance(value, torch.Tensor):
            reason = f"`{name}` is a {type(value).__name__}, and no tensor"
            raise problem("not-taken-over", reason=reason)
    return dict(found)


def said(error: BaseException) -> str:
    """The first line of an error, with its class."""
    text = (str(error).strip().splitlines() or [""])[0]
    return f"{type(error).__name__}: {text if len(text) <= 200 else text[:197] + '...'}"


__all__ = ["from_torch", "report", "said", "to_torch", "unchecked"]
