"""Export to ONNX, through torch's translator; sizes that vary are dynamic axes.

What an ONNX model cannot say is refused: it has no state that outlives a call, and writes to no
input. It checks no condition beyond the rank and fixed sizes of its inputs: the others are logged.
"""

from __future__ import annotations

import contextlib
import io
import re
import warnings
from typing import TYPE_CHECKING, Any

import torch

from monograph.abstract.tensor import AbstractTensor
from monograph.archive import conditions
from monograph.diagnostics import problem
from monograph.host.trees import Visits, leaf_paths, placeholders, pytree, unflatten
from monograph.integers import Expr
from monograph.interop.comparing import check_answers
from monograph.interop.extras import has, need
from monograph.interop.torch_export import report, said, unchecked
from monograph.lazy_imports import resolved
from monograph.program import OutputKind

if TYPE_CHECKING:
    import os

    from monograph.program import ExportedProgram

WRITTEN = (
    OutputKind.BUFFER_MUTATION,
    OutputKind.PARAMETER_MUTATION,
    OutputKind.USER_INPUT_MUTATION,
)


def to_onnx(
    program: ExportedProgram,
    file: str | os.PathLike[str] | None = None,
    *,
    verify: bool = True,
    **options: Any,
) -> torch.onnx.ONNXProgram:
    """Translate a program to ONNX, write it to a file if one is given, and return it.

    `options` are those of `torch.onnx.export`. Unless `verify` is False, and if onnxruntime is
    installed, the model answers the examples beside the program before anything is written.

    Raises: extra-not-installed, not-handed-over, wrong-after-handing-over, archive-cannot-hold.
    """
    written = _written(program)
    if written:
        reason = f"it writes to `{written}`, and an ONNX model keeps and changes nothing"
        raise problem("not-handed-over", system="ONNX", reason=reason)
    need("onnx", "onnx", "onnxscript")
    theirs = unchecked(program)
    report("an ONNX model", conditions(program))
    names = _result_names(program)
    _flatten_structures(theirs)
    settings: dict[str, Any] = {"verbose": False, "output_names": names, **options, "dynamo": True}
    try:
        # What the translator prints and warns of is about itself.
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            model = torch.onnx.export(theirs, **settings)
    except Exception as error:
        cause = error.__cause__ or error
        raise problem("not-handed-over", system="ONNX", reason=said(cause)) from error
    assert model is not None, "the translator returns what it made"
    if verify and has("onnxruntime"):
        check_answers(program, "ONNX", model)
    _name_axes(model, _axis_names(program, theirs))
    if file is not None:
        model.save(file)
    return model


def _flatten_structures(theirs: torch.export.ExportedProgram) -> None:
    """Take and give leaves, as an ONNX model does.

    Torch lowers a program by calling it once more, and would make the classes of its inputs and of
    its result then: a cache that updates itself would add operators, and constants that torch
    forgets.
    """
    root = theirs.module_call_graph[0].signature
    if root is None:
        return
    specs = theirs.graph_signature.input_specs
    given = [spec.arg.name for spec in specs if spec.kind.name == "USER_INPUT"]
    structure = pytree.tree_structure
    root.in_spec = structure((tuple(given), {}))
    root.out_spec = structure((0,) * root.out_spec.num_leaves)
    root.forward_arg_names = given
    vars(theirs)["_guards_code"] = []  # said over the structures, and in no ONNX model
    if theirs.example_inputs is not None:
        leaves = pytree.tree_leaves(theirs.example_inputs)
        theirs.example_inputs = (tuple(leaves), {})


def _result_names(program: ExportedProgram) -> list[str] | None:
    """The keys and fields that lead to each result, where those have names; else the nodes'.

    One that is also the name of an input ends in `_out`.
    """
    results: Any = program.graph.output_node().args[0]
    specs = program.graph_signature.output_specs
    pairs = zip(results, specs, strict=True)
    given = [node for node, spec in pairs if spec.kind is OutputKind.USER_OUTPUT]
    taken = {node.name for node in filter(_is_input, program.graph.nodes)}
    names: list[str] = []
    for path, node in zip(_result_paths(program, given), given, strict=False):
        name = "_".join(re.findall(r"\w+", path))
        name = name if name[:1].isalpha() else str(node)
        names.append(f"{name}_out" if name in taken else name)
    return names if len({*names, *taken}) == len(given) + len(taken) else None


def _result_paths(program: ExportedProgram, given: list[Any]) -> list[str]:
    """Where each result is; none where a class can be made of no placeholders."""
    values = [node.meta.get("val") if isinstance(node, torch.fx.Node) else node for node in given]
    ranks = [len(v.tensor_type.shape) if isinstance(v, AbstractTensor) else None for v in values]
    for leaves in placeholders(ranks):
        with contextlib.suppress(Exception):  # whatever a registered class raises
            return [*leaf_paths("", unflatten(leaves, program.out_spec), Visits())]
    return []


def _axis_names(program: ExportedProgram, theirs: torch.export.ExportedProgram) -> dict[Any, str]:
    """What their symbols were declared as: `{"s0": "batch"}`."""
    found: dict[Any, str] = {}
    shapes = {node.name: node.meta.get("val") for node in theirs.graph.nodes if _is_input(node)}
    for node in filter(_is_input, program.graph.nodes):
        ours, same = node.meta.get("val"), shapes.get(node.name)
        if not (isinstance(ours, AbstractTensor) and isinstance(same, torch.Tensor)):
            continue
        for size, symbol in zip(ours.tensor_type.shape, same.shape, strict=True):
            name = program.contract.names.get(size) if isinstance(size, Expr) else None
            if name is not None and name.isidentifier():
                found[str(symbol)] = name
    is_clear = len({*found, *found.values()}) == 2 * len(found)
    return found if is_clear else {}


def _is_input(node: torch.fx.Node) -> bool:
    return node.op == "placeholder"


def _name_axes(model: torch.onnx.ONNXProgram, names: dict[Any, str]) -> None:
    """Name dynamic axes, also within expressions such as `past + 1`."""
    resolved("torch.onnx._internal.exporter._ir_passes:rename_axis")(model.model, names)


def _written(program: ExportedProgram) -> str | None:
    signature = program.graph_signature
    found = [spec.target for spec in signature.output_specs if spec.kind in WRITTEN]
    found += list(signature.mutated_in_place.values())
    return next(filter(None, found), None)


__all__ = ["to_onnx"]
