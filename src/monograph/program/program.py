"""The exported program: a graph, what its inputs and outputs mean, its state, and its contract.

It is a description. It runs as `program.module()`, which takes what the original module took.
"""

from __future__ import annotations

import copy
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, NoReturn

from monograph.diagnostics import problem
from monograph.host.trees import tree_map
from monograph.lazy_imports import deferred
from monograph.passes.graph_walks import calls
from monograph.program.conditions import Conditions, Explanation, conditions_of, explain_size
from monograph.program.dialect import TRAINING, dialect_fault, exceptions
from monograph.program.export_report import Report
from monograph.program.foreign_callers import missing, refuse_foreign_caller
from monograph.program.verifier import verify, verify_state

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator, Mapping
    from contextlib import AbstractContextManager
    from pathlib import Path

    import torch

    from monograph.passes.rewrites.registry import Rewrite
    from monograph.program.calling.program_module import ProgramModule
    from monograph.program.contract import Contract
    from monograph.program.graph_module import GraphModule
    from monograph.program.signature import ArgumentSpec, CallNames, ExportGraphSignature

Arguments = tuple[tuple[Any, ...], dict[str, Any]]

# What a program can do beyond being described; each is imported when a program first does it.
_compiled = deferred("monograph.interop.compiling:compiled")
_package = deferred("monograph.interop.compiling:package")
_split = deferred("monograph.pipeline:split")
_to_onnx = deferred("monograph.interop.onnx:to_onnx")
_to_torch = deferred("monograph.interop.torch_export:to_torch")
_check_call = deferred("monograph.program.stateful_module:check_call")
_make_module = deferred("monograph.program.stateful_module:make_module")
_compile_flatten = deferred("monograph.program.structure:compile_flatten")
_boundary = deferred("monograph.program.trust_boundary:boundary")
_control_flow_text = deferred("monograph.program.control_flow_text:control_flow_text")
_program_html = deferred("monograph.program.html:program_html")
_program_line = deferred("monograph.program.html:program_line")
_write_graph_page = deferred("monograph.pages.graph_page:write_graph_page")
_to_python_text = deferred("monograph.program.python_source.module_text:to_python_text")
_converted = deferred("monograph.program.transforms.conversion:converted")
_frozen_module = deferred("monograph.program.transforms.freezing:frozen_module")
_lowered = deferred("monograph.program.transforms.run_decompositions:lowered")
_ask_for_data = deferred("monograph.program.transforms.state_assignment:ask_for_data")
_with_state = deferred("monograph.program.transforms.state_assignment:with_state")
_transformed = deferred("monograph.program.transforms.transform:transformed")


class CallSpec(NamedTuple):
    """The structure of `(args, kwargs)` and of the result."""

    in_spec: Any
    out_spec: Any


class IntInfinity(float):
    """The end of an open range: beyond every integer, and printed as torch prints its own."""

    def __repr__(self) -> str:
        return "int_oo" if self > 0 else "-int_oo"

    def __neg__(self) -> IntInfinity:
        return IntInfinity(-float(self))


int_oo: Final = IntInfinity("inf")


class ValueRange(NamedTuple):
    """The values a size may have, ends included. Prints as torch prints ranges."""

    lower: int | IntInfinity = -int_oo
    upper: int | IntInfinity = int_oo

    def __str__(self) -> str:
        return f"VR[{self.lower}, {self.upper}]"

    def __repr__(self) -> str:
        return str(self)

    def __contains__(self, value: object) -> bool:
        return isinstance(value, int) and self.lower <= value <= self.upper


@dataclass(slots=True)
class ModuleCallSignature:
    """How one module of the original is called: its values by node name, and their structure."""

    inputs: list[ArgumentSpec]
    outputs: list[ArgumentSpec]
    in_spec: Any
    out_spec: Any
    forward_arg_names: list[str] | None = None

    def replace_all_uses_with(self, original_node: torch.fx.Node, new_node: torch.fx.Node) -> None:
        """Name another node wherever this one is named."""
        for each in (*self.inputs, *self.outputs):
            if each.name == original_node.name:
                each.name = new_node.name


@dataclass(slots=True)
class ModuleCallEntry:
    """One module of the original by qualified name; "" is the module that was exported."""

    fqn: str
    signature: ModuleCallSignature | None = None


@dataclass(slots=True, eq=False, repr=False, weakref_slot=True)
class ExportedProgram:
    """A captured program. Made by `export`, `load`, or a pass over another program.

    `state_dict` holds parameters and persistent buffers, `constants` the rest of the tensors the
    graph reads: non-persistent buffers and lifted constants. `contract` is what callers must
    satisfy, and `facts` everything that was learnt about sizes. `report` holds what the export
    found out that its user may not expect.
    """

    graph_module: GraphModule
    graph_signature: ExportGraphSignature
    state_dict: dict[str, Any]
    constants: dict[str, Any]
    range_constraints: Mapping[Any, ValueRange]
    in_spec: Any
    out_spec: Any
    example_inputs: Arguments | None
    contract: Contract
    call_names: CallNames
    facts: Any = None
    report: Report = field(default_factory=Report)
    training: bool = True
    module_call_graph: list[ModuleCallEntry] = field(default_factory=list[ModuleCallEntry])
    dialect: str = TRAINING

    @property
    def graph(self) -> torch.fx.Graph:
        """The graph; its placeholders are state first, then flat user inputs."""
        return self.graph_module.graph

    @property
    def tensor_constants(self) -> dict[str, Any]:
        """Another name for `constants`, as in torch.export."""
        return self.constants

    @property
    def call_spec(self) -> CallSpec:
        """The structure of inputs and outputs."""
        return CallSpec(self.in_spec, self.out_spec)

    @property
    def verifiers(self) -> list[Any]:
        """What checks this program, as in torch.export."""
        return [verify]

    @property
    def verifier(self) -> Any:
        """What checks this program."""
        return verify

    @property
    def guards(self) -> Conditions:
        """What the inputs must satisfy beyond ranges, over their paths, with the lines that ask."""
        return conditions_of(self.contract)

    def explain(self, size: str) -> Explanation:
        """Everything that constrains a size, given as `x.shape[0]` or by the name of its Dim.

        Raises: ValueError, where no input has it.
        """
        guards = tuple(self.contract.guards if self.facts is None else self.facts.guards)
        return explain_size(self.contract, self.report, guards, size)

    def explain_control_flow(self) -> str:
        """Return each captured branch and loop as readable Python, beside the user's lines.

        The names are those of the graph: what a construct gives has the name of its operator.
        """
        with self._boundary("printed"):
            return _control_flow_text(self.graph_module)

    def validate(self) -> None:
        """Check that the program is well formed, with the state and the examples that it has now.

        Raises: invalid-program; contract-broken, where the examples are no call of it;
            not-handed-over (it is asked by who writes programs of torch.export).
        """
        refuse_foreign_caller(self)
        self.validate_graph()
        held = {**self.constants, **self.state_dict}
        verify_state(self.graph_module, self.graph_signature, held)
        if self.example_inputs is not None:
            _compile_flatten(self.in_spec, self.call_names)(*self.example_inputs)

    def validate_graph(self) -> None:
        """Check that the graph is well formed, and that there is state for it.

        Raises: invalid-program.
        """
        verify(self.graph_module, self.graph_signature, self.state_dict, self.constants)
        if self.dialect == TRAINING:
            return
        for node in calls(self.graph_module):
            reason = dialect_fault(node)
            if reason:
                raise problem("invalid-program", at=(), node=node, reason=reason)

    @property
    def exceptions(self) -> Mapping[str, str]:
        """The operators that are not of the program's `dialect`, by name, and why they are there.

        Empty where the whole graph is: in core ATen after `run_decompositions()`.
        """
        return exceptions(self.graph_module, self.dialect)

    def named_parameters(self) -> Iterator[tuple[str, torch.nn.Parameter]]:
        """Yield each parameter with its qualified name in the original module."""
        for name in self.graph_signature.parameters:
            yield name, self.state_dict[name]

    def parameters(self) -> Iterator[torch.nn.Parameter]:
        """Yield each parameter."""
        for _, parameter in self.named_parameters():
            yield parameter

    def named_buffers(self) -> Iterator[tuple[str, torch.Tensor]]:
        """Yield each buffer with its qualified name in the original module."""
        kept_out = set(self.graph_signature.non_persistent_buffers)
        for name in self.graph_signature.buffers:
            yield name, (self.constants if name in kept_out else self.state_dict)[name]

    def buffers(self) -> Iterator[torch.Tensor]:
        """Yield each buffer, of the shape it had in the original module."""
        for _, buffer in self.named_buffers():
            yield buffer

    def module(
        self,
        check_guards: bool = True,  # noqa: FBT001, FBT002  (an option users set)
        *,
        check: bool = True,
        freeze: bool = False,
    ) -> ProgramModule:
        """Return a module that is called like the original and shares this program's state.

        Its inputs are checked against the contract before any operator runs, unless `check_guards`
        is False; `check` is another name for that. Without the checks the structure of
        the arguments is compared and nothing else: inputs of other sizes, types, values, layouts
        or with shared memory may give results that differ from the model's, without a word. What
        the contract admits gives the same results either way.

        With `freeze`, what depends on parameters, on buffers that no call writes to, and on
        constants alone is computed once, now: they are constants of the module from then on,
        without gradients, and what no call reads is dropped. A call is refused where one of those
        that something was computed of was written to since. The module's `frozen_state` lists it.

        Raises (a call): contract-broken, weights-do-not-fit (they were not saved, nor given since),
            state-frozen.
        """
        with self._boundary("called"):
            if freeze:
                return _frozen_module(self, check=check and check_guards)
            module = _make_module(self, check=check and check_guards)
            if any(tensor.is_meta for tensor in self.state_dict.values()):
                _ask_for_data(self, module)
            return module

    def run_decompositions(
        self,
        decomp_table: Mapping[Any, Callable[..., Any]] | None = None,
        decompose_custom_triton_ops: bool = False,  # noqa: ARG002, FBT001, FBT002  (torch's signature)
    ) -> ExportedProgram:
        """Return this program without in-place operators, in simpler ones.

        Operators made of Triton kernels stay whole, whatever `decompose_custom_triton_ops` says.
        None lowers to core ATen; a table made by `default_decompositions()` and changed lowers to
        what it leaves; `{}` only replaces writes. What the program wrote to in place is among the
        outputs of its graph then, and still written back when it is called.

        Raises: write-through-view, not-functional, not-handed-over (ExecuTorch asks).
        """
        refuse_foreign_caller(self)
        with self._boundary("lowered"):
            return _lowered(self, decomp_table)

    def check_inputs(self, *args: Any, **kwargs: Any) -> None:
        """Return None if the contract admits a call with these inputs; nothing is computed.

        Raises: contract-broken.
        """
        with self._boundary("called"):
            _check_call(self, args, kwargs)

    def to(self, *args: Any, **kwargs: Any) -> ExportedProgram:
        """Return this program on another device, or in another floating-point type.

        Arguments are those of `torch.nn.Module.to`. The state is converted with the graph and the
        contract; what needs no conversion is shared with this program, which does not change.

        Raises: dtype-is-fixed (the module might compute otherwise in that dtype).
        """
        with self._boundary("converted"):
            return _converted(self, *args, **kwargs)

    def with_state(
        self,
        state_dict: Mapping[str, torch.Tensor] | str | os.PathLike[str],
        *,
        key: Callable[[str], str] | None = None,
    ) -> ExportedProgram:
        """Return this program with other tensors for some of its parameters, buffers and constants.

        They are shared and not copied, as is everything that is not given: two adapters over one
        base are two programs of one base. A tensor that lies otherwise in memory is copied.

        A path is a checkpoint: a safetensors file, or a folder of them as Hugging Face lays it out.
        What the program reads is mapped into memory, and paged in when it is first used; no other
        shard is opened. `key` gives the checkpoint's name of a tensor for the program's; without it
        the names are the same, but for a prefix. Either all of the program's state is there, or the
        checkpoint has nothing else, as that of an adapter.

        Raises: weights-do-not-fit (its name, shape, dtype, layout or device; what is missing),
            archive-damaged, archive-invalid, archive-unsafe (a checkpoint).
        """
        with self._boundary("given other weights"):
            return _with_state(self, state_dict, key)

    def train(self, mode: bool = True) -> NoReturn:  # noqa: FBT001, FBT002  (torch's signature)
        """Refuse: the mode is part of what was captured.

        Raises: mode-is-fixed.
        """
        raise problem("mode-is-fixed", call="train()" if mode else "eval()")

    def eval(self) -> NoReturn:
        """Refuse: the mode is part of what was captured.

        Raises: mode-is-fixed.
        """
        raise problem("mode-is-fixed", call="eval()")

    @property
    def __class__(self) -> type[ExportedProgram]:  # pyright: ignore[reportIncompatibleMethodOverride] - no setter
        """The class, which `isinstance` asks for where the type alone is no answer.

        Raises: not-handed-over (it is asked by who wants a program of torch.export).
        """
        refuse_foreign_caller(self)
        return ExportedProgram

    def __getattr__(self, name: str) -> NoReturn:
        """Say of what torch.export's programs have, that this is none.

        Raises: AttributeError.
        """
        raise missing(self, name)

    def __call__(self, *_args: object, **_kwargs: object) -> NoReturn:
        """Refuse: a program is a description.

        Raises: program-called.
        """
        raise problem("program-called")

    def __copy__(self) -> ExportedProgram:
        return replace(self)

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        """Refuse to be pickled.

        Raises: program-pickled.
        """
        raise problem("program-pickled", what="an ExportedProgram")

    def __deepcopy__(self, memo: dict[int, Any]) -> ExportedProgram:
        """Copy graph, signature and state; what never changes is shared."""
        shared = {
            "contract",
            "call_names",
            "facts",
            "in_spec",
            "out_spec",
            "range_constraints",
            "report",
        }
        for name in shared:
            memo[id(getattr(self, name))] = getattr(self, name)
        fields = {name: getattr(self, name) for name in self.__dataclass_fields__}
        # Objects are copied as they are made, by their attributes, whatever their class needs.
        copied = tree_map(lambda leaf: copy.deepcopy(leaf, memo), self.example_inputs)
        memo[id(self.example_inputs)] = copied
        return ExportedProgram(**copy.deepcopy(fields, memo))

    def transform(self, *passes: Rewrite | Callable[[Any], Any]) -> ExportedProgram:
        """Return another program: this one after each pass in turn, verified after each.

        A pass is one of `monograph.passes`, such as `passes.dead_code()`, or any function over a
        `torch.fx.GraphModule`. The contract is kept; this program does not change.

        Raises: invalid-program.
        """
        with self._boundary("rewritten"):
            return _transformed(self, passes)

    def split(
        self,
        parts: int,
        *,
        by: Literal["modules"] = "modules",
        balance: Literal["parameters", "flops", "time"] = "parameters",
    ) -> Any:
        """Return this program as a `Pipeline`: stages cut between modules, programs themselves.

        There are `parts` of them, balanced by parameters, by FLOPs at the example's sizes, or by
        the time that calls take on the example inputs here; they share the weights.

        Raises: not-split.
        """
        with self._boundary("split"):
            return _split(self, parts, by, balance)

    def to_python(self) -> str:
        """Return the program as one Python file: `forward(state, ...)` over ATen operators.

        `state` is `{**program.state_dict, **program.constants}`. The text needs no monograph.

        Raises: program-not-spelt.
        """
        with self._boundary("written as text"):
            return _to_python_text(self)

    def to_html(
        self, file: str | os.PathLike[str], *, beside: ExportedProgram | None = None
    ) -> Path:
        """Write the graph as one HTML page that loads nothing, and give the file.

        Regions are modules, branches and loops. With `beside`, the two are shown side by side with
        what differs: `program.to_html("lowered.html", beside=program.run_decompositions())`.
        """
        return _write_graph_page(self, file, beside=beside)

    def to_torch(self) -> Any:
        """Return this program as an ExportedProgram of torch.export, sharing its tensors.

        What a program of torch.export does not check of the contract is logged.

        Raises: archive-cannot-hold, archive-unknown-type, not-handed-over.
        """
        return _to_torch(self)

    def compile(self, **options: Any) -> Callable[..., Any]:
        """Return a callable that runs this program through torch.compile, with its `options`."""
        return _compiled(self, **options)

    def package(
        self,
        file: str | os.PathLike[str],
        *,
        verify: bool = True,
        options: Mapping[str, Any] | None = None,
    ) -> Path:
        """Compile this program ahead of time into a file, for `monograph.load_package`.

        Raises: not-handed-over, wrong-after-handing-over, archive-cannot-hold.
        """
        return _package(self, file, verify=verify, options=options)

    def to_onnx(
        self,
        file: str | os.PathLike[str] | None = None,
        *,
        verify: bool = True,
        **options: Any,
    ) -> torch.onnx.ONNXProgram:
        """Translate this program to ONNX, where sizes that vary are dynamic axes.

        Raises: extra-not-installed, not-handed-over, wrong-after-handing-over, archive-cannot-hold.
        """
        return _to_onnx(self, file, verify=verify, **options)

    def _boundary(self, what: str) -> AbstractContextManager[None]:
        return _boundary(self.facts, len(self.graph.nodes), what)

    def __str__(self) -> str:
        with self._boundary("printed"):
            code = self.graph_module.print_readable(print_output=False).replace("\n", "\n    ")
            signature = str(self.graph_signature).replace("\n", "\n    ")
            spans = self.range_constraints.items()
            ranges = ", ".join(f"{symbol}: {span}" for symbol, span in spans)
        return (
            f"ExportedProgram:\n    {code}\n"
            f"Graph signature: {signature}\n"
            f"Range constraints: {{{ranges}}}\n"
        )

    def __repr__(self) -> str:
        with suppress(Exception):  # a debugger shows what is half made, too
            return _program_line(self)
        return object.__repr__(self)

    def _repr_html_(self) -> str:
        with self._boundary("printed"):
            return _program_html(self)
