"""Compilation to machine code: in this process, or ahead of time into a package.

Law: whoever calls, the contract is checked first, so what runs is what was captured. A package was
called on the examples, twice, beside the program it was made of, before its file is there.
"""

from __future__ import annotations

import io
import logging
import tempfile
import zipfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import torch

from monograph.archive import load, save
from monograph.diagnostics import MonographError, problem
from monograph.host.higher_order import ASSOCIATIVE_SCAN, COND, MAP, SCAN, WHILE_LOOP
from monograph.host.operator_types import HigherOrderOperator
from monograph.interop.comparing import check_answers
from monograph.interop.torch_export import said, unchecked
from monograph.passes.graph_walks import calls, graph_modules
from monograph.program.calling.subgraph_calls import LOOPS, run_cond
from monograph.program.stateful_module import Gate
from monograph.program.structure import compile_flatten
from monograph.program.transforms.state_assignment import bare

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Mapping

    from torch.fx import Node

    from monograph.program import ExportedProgram

_LOGGER = logging.getLogger("monograph.interop")
CONTRACT = "data/monograph/contract.pt2"
COMPILED: Final = frozenset({ASSOCIATIVE_SCAN, COND, MAP, SCAN, WHILE_LOOP})
"""Operators that Dynamo takes as they are."""

MARKS: Final = frozenset({"_dynamo_weak_dynamic_indices", "_has_dynamo_dim_marking"})
"""Attributes of a tensor by which Dynamo is told what varies; the caller's own are kept."""

STEPPED: Final = LOOPS | {run_cond}
"""What runs branches and loops eagerly here."""


def compiled(program: ExportedProgram, **options: Any) -> Callable[..., Any]:
    """Compile a program with torch.compile; calls are checked against the contract as ever.

    `options` are those of `torch.compile`. The checks stay outside of what is compiled: once for
    all sizes that may vary, and once more where one of them is 0 or 1, as ever with Dynamo.
    Numbers and sizes out of data, branches and loops are compiled with all else; where that is
    refused, they end graphs, with a warning, unless `fullgraph=True` asks for all of it.
    """
    make = _whole if _is_taken_whole(program) else _in_parts
    return _checked(program, make(program, **options))


def _is_taken_whole(program: ExportedProgram) -> bool:
    """Whether a program has what ends a graph by default, all of a kind that Dynamo can take."""
    nodes = [*calls(program.graph_module)]
    targets = {node.target for node in nodes}
    return (
        program.contract.changes is None
        and not program.contract.inference_results
        and (program.facts.has_unbacked or bool(targets & COMPILED))
        and not any(map(_compares_a_truth, nodes))
    )


def _in_parts(program: ExportedProgram, **options: Any) -> Callable[..., Any]:
    """Compile what Dynamo takes by default; graphs end at branches, loops and data."""
    module = program.module(check=False)
    return torch.compile(module if options.get("fullgraph") else _around_loops(module), **options)


def _around_loops(module: torch.fx.GraphModule) -> torch.fx.GraphModule:
    """Let Dynamo leave out branches and loops: inside of some it fails."""
    for _, each in graph_modules(module):
        stepped = [node for node in each.graph.nodes if node.target in STEPPED]
        for node in stepped:
            node.target = torch.compiler.disable(node.target)
        if stepped:
            each.recompile()
    return module


def _compares_a_truth(node: Node) -> bool:
    """Whether a bool of the data is compared with a number: to Dynamo it never equals one."""
    if hasattr(node.target, "_schema") or isinstance(node.target, HigherOrderOperator):
        return False
    values = [arg.meta.get("val") for arg in node.args if isinstance(arg, torch.fx.Node)]
    return len(node.args) > 1 and any(isinstance(each, bool | torch.SymBool) for each in values)


def _whole(program: ExportedProgram, **options: Any) -> Callable[..., Any]:
    """Compile a program as one graph, or in parts where that is refused.

    Dynamo takes torch's own operators as they are, and not what runs them eagerly here. It refuses
    before anything ran, so what is refused can run otherwise.
    """
    from torch._dynamo.exc import TorchDynamoException
    from torch.fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode

    may_break = not options.get("fullgraph")
    try:
        module = unchecked(program).module(check_guards=False)
    except MonographError:
        if may_break:
            return _in_parts(program, **options)
        raise
    settings: dict[str, Any] = {**options, "fullgraph": True}
    made = torch.compile(module, **settings)
    # Made once, as that takes milliseconds; entered by every call, as any may compile anew.
    with_data = torch._dynamo.config.patch(
        capture_scalar_outputs=True, capture_dynamic_output_shape_ops=True
    )

    def whole(*args: Any, **kwargs: Any) -> Any:
        with with_data:
            return made(*args, **kwargs)

    run = whole

    def call(*args: Any, **kwargs: Any) -> Any:
        nonlocal run, may_break
        try:
            return run(*args, **kwargs)
        except (TorchDynamoException, GuardOnDataDependentSymNode) as error:
            if not may_break:
                raise
            _LOGGER.warning("a program is compiled in parts: %s", said(error))
        run, may_break = _in_parts(program, **options), False
        return run(*args, **kwargs)

    return call


def _checked(program: ExportedProgram, run: Callable[..., Any]) -> Callable[..., Any]:
    gate, varying = Gate(program), _varying(program)
    flatten = compile_flatten(program.in_spec, program.call_names)

    def call(*args: Any, **kwargs: Any) -> Any:
        args, kwargs = gate.admit(args, kwargs)
        leaves = flatten(args, kwargs)
        marked = [(leaves[i], dims) for i, dims in varying if MARKS.isdisjoint(vars(leaves[i]))]
        for leaf, dims in marked:
            torch._dynamo.maybe_mark_dynamic(leaf, dims)
        try:
            return run(*args, **kwargs)
        finally:
            for leaf, _ in marked:
                for name in MARKS & vars(leaf).keys():
                    delattr(leaf, name)

    return call


def _varying(program: ExportedProgram) -> list[tuple[int, list[int]]]:
    """Which dimensions of which flat inputs vary.

    Dynamo would compile for the sizes of the first call, and again when it has seen others.
    """
    values = {n.name: n.meta.get("val") for n in program.graph.nodes if n.op == "placeholder"}
    found: list[tuple[int, list[int]]] = []
    for i, name in enumerate(program.graph_signature.user_inputs):
        value: Any = values.get(name) if isinstance(name, str) else None
        if isinstance(value, torch.Tensor):
            found.append((i, [d for d, n in enumerate(value.shape) if type(n) is not int]))
    return [(i, dims) for i, dims in found if dims]


@dataclass(frozen=True, slots=True)
class Packaged:
    """A program as machine code in a file. Call it as the module that was exported.

    `program` says what it is: its graph and contract, without weights, which are in the code.
    """

    program: ExportedProgram
    run: Callable[..., Any]
    _gate: Gate

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Check the inputs and run the code.

        Raises: contract-broken.
        """
        args, kwargs = self._gate.admit(args, kwargs)
        return self.run(*args, **kwargs)


def package(
    program: ExportedProgram,
    file: str | os.PathLike[str],
    *,
    verify: bool = True,
    options: Mapping[str, Any] | None = None,
) -> Path:
    """Compile a program ahead of time into one file, with its weights and its contract.

    `options` are settings of AOTInductor. Unless `verify` is False, the package is loaded and
    called on the examples beside the program before it takes the file's place.

    Raises: not-handed-over, wrong-after-handing-over, archive-cannot-hold.
    """
    path = Path(file)
    _check_fit(program)
    theirs = unchecked(program)
    contract = _contract_bytes(program)
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=f".{path.name}.") as folder:
        beside = Path(folder) / "package.pt2"
        try:
            torch._inductor.aoti_compile_and_package(
                theirs, package_path=str(beside), inductor_configs=dict(options or {})
            )
        except Exception as error:
            reason = said(error.__cause__ or error)
            raise problem("not-handed-over", system="AOTInductor", reason=reason) from error
        with zipfile.ZipFile(beside, "a") as members:
            root = members.namelist()[0].partition("/")[0]
            members.writestr(zipfile.ZipInfo(f"{root}/{CONTRACT}"), contract)
        if verify:
            check_answers(program, "AOTInductor", load_package(beside))
        beside.replace(path)
    return path


def _check_fit(program: ExportedProgram) -> None:
    if program.contract.changes is not None:
        reason = "it changes objects that its caller passes in, which machine code cannot"
        raise problem("not-handed-over", system="AOTInductor", reason=reason)
    if program.contract.inference_results:
        reason = "it returns inference tensors, which machine code does not"
        raise problem("not-handed-over", system="AOTInductor", reason=reason)
    if program.example_inputs is None:
        reason = "it has no example inputs, which are what AOTInductor compiles for"
        raise problem("not-handed-over", system="AOTInductor", reason=reason)


def _contract_bytes(program: ExportedProgram) -> bytes:
    """The program without its weights and examples, as a file."""
    described = replace(
        program,
        state_dict={name: bare(each) for name, each in program.state_dict.items()},
        constants={name: bare(each) for name, each in program.constants.items()},
        example_inputs=None,
    )
    file = io.BytesIO()
    save(described, file, verify=False)
    return file.getvalue()


def load_package(file: str | os.PathLike[str]) -> Packaged:
    """Load what `program.package(file)` wrote. It is machine code: load what you trust.

    Raises: archive-damaged, archive-invalid, archive-unsafe.
    """
    path = Path(file)
    with zipfile.ZipFile(path) as members:
        name = next((each for each in members.namelist() if each.endswith(f"/{CONTRACT}")), None)
        if name is None:
            reason = f"it has no {CONTRACT}: it was not made by `program.package`"
            raise problem("archive-invalid", member="the file", reason=reason)
        program = load(io.BytesIO(members.read(name)))
    return Packaged(program, torch._inductor.aoti_load_package(str(path)), Gate(program))


__all__ = ["Packaged", "compiled", "load_package", "package"]
