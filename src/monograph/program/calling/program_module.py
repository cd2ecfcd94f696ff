"""The module that runs a program: generated `forward`, checks of its inputs, and fixed state types.

No operator runs on inputs the program cannot vouch for. Argument structure is checked by the
signature and the first line of the generated `forward`.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

import torch

from monograph.capture.installation import listening
from monograph.diagnostics import problem
from monograph.host.calling import (
    Proxy,
    PyTreeCodeGen,
    PyTreeInfo,
    kept_out_of_dynamo,
    recorded_by_fx,
)
from monograph.host.fx_modules import codegen
from monograph.host.module_calls import is_called_alone
from monograph.host.trees import is_special, unflatten
from monograph.program.calling.call_code import NOT_RUN, compile_call
from monograph.program.calling.checks import compile_checks
from monograph.program.calling.inference_results import as_inference
from monograph.program.calling.input_mutation import InputObjects, InputWriteBack
from monograph.program.graph_module import GENERATING, GraphModule
from monograph.program.structure import compile_flatten, structure_clause
from monograph.program.trust_boundary import refuse

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from torch.fx.graph import PythonCode

    from monograph.program.contract import Contract, ModesClause
    from monograph.program.signature import CallNames

CHECKS = "_guards_fn"
MODES = "_modes"
FROM_FILE = "_from_file"
CALL_CODE = "_call_code"


class CheckInputs(torch.nn.Module):
    """Checks the flat inputs, and the state that user code asked, against the contract.

    Its code is generated at the first call.
    """

    # torch.fx: not to be removed although nothing uses its result.
    _is_impure = True

    def __init__(self, contract: Contract) -> None:
        super().__init__()
        # In a function: whoever walks over attributes does not come to the example inputs.
        self._held = lambda: contract
        self.check: Callable[[tuple[Any, ...]], None] | None = None

    @property
    def contract(self) -> Contract:
        """What calls are checked against."""
        return self._held()

    @kept_out_of_dynamo("the checks of a program are generated before it is compiled")
    def prepare(self) -> Callable[[tuple[Any, ...]], None]:
        """Make the code, if it is not there."""
        if self.check is None:
            self.check = compile_checks(self.contract)
        return self.check

    def forward(self, *leaves: Any) -> None:
        """Return None, or refuse. Dynamo reads the code as it reads all other.

        Raises: contract-broken.
        """
        if Proxy in map(type, leaves):
            recorded_by_fx(self, leaves)
        else:
            (self.check or self.prepare())(leaves)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "check": None}

    def __deepcopy__(self, memo: dict[int, Any]) -> CheckInputs:
        # A contract never changes, so copies share it.
        return CheckInputs(self.contract)


class CallCode(PyTreeCodeGen):
    """Generates `forward` with the original's parameters and structured inputs and outputs."""

    def __init__(
        self, names: CallNames, in_spec: Any, out_spec: Any, contract: Contract | None = None
    ) -> None:
        """`contract` is a program's: what a call does to what it is given, and to its results."""
        orig_args = [*names.positional, *names.keywords]
        super().__init__(PyTreeInfo(orig_args, in_spec, out_spec))
        self.names, self.out_spec = names, out_spec
        self.flat_inputs = compile_flatten(in_spec, names)
        changes = None if contract is None else contract.changes
        self.write_back = None if changes is None else InputWriteBack(changes, names, out_spec)
        self.inference: tuple[int, ...] = () if contract is None else contract.inference_results

    def gen_fn_def(
        self,
        free_vars: list[str],
        maybe_return_annotation: str,
        *,
        expanded_def: bool = False,  # noqa: ARG002  (torch's signature)
    ) -> str:
        """Write the signature and the line that takes the arguments apart."""
        names = self.names
        parameters, arguments = (
            (names.parameters(), names.arguments())
            if names.is_plain
            else ("*args, **kwargs", "args, kwargs")
        )
        head = f"def forward({', '.join(filter(None, ['self', parameters]))})"
        leaves = "".join(f"{each.split(':')[0].strip()}, " for each in free_vars)
        targets = f"{leaves}= " if leaves else ""
        head = f"{head}{maybe_return_annotation}:\n    "
        if self.write_back is None:
            return f"{head}{targets}flat_inputs({arguments})"
        return f"{head}found_objects = found_inputs({arguments})\n    {targets}found_objects.leaves"

    def generate_output(self, *args: Any, **kwargs: Any) -> str:
        """Write the line that builds the result, and gives callers' objects what they hold now."""
        text = super().generate_output(*args, **kwargs)
        if self.write_back is not None:
            builds = "return kept_result(found_objects, "
        elif self.inference or is_special(self.out_spec):
            builds = "return built_result("
        else:
            return text
        text = text.replace("return pytree.tree_unflatten(", builds)
        return text.replace(", self._out_spec)", ")")

    def process_outputs(self, out: Any) -> Any:
        """What an interpreter of the graph returns.

        Raises: NotImplementedError, where callers' objects are to be changed: it has none.
        """
        if self.write_back is not None:
            raise NotImplementedError("this program changes its arguments: call it as a module")
        return self._built(out)

    def _built(self, leaves: Any) -> Any:
        return unflatten(as_inference(leaves, self.inference), self.out_spec)

    def additional_globals(self) -> list[tuple[str, Any]]:
        """Bind in the generated code what it calls."""
        bound: list[tuple[str, Any]] = [("flat_inputs", self.flat_inputs)]
        bound.append(("built_result", self._built))
        write_back = self.write_back
        if write_back is not None:

            def found_inputs(args: tuple[Any, ...], kwargs: dict[str, Any]) -> InputObjects:
                return write_back.find(args, kwargs, self.flat_inputs(args, kwargs))

            def kept_result(found: InputObjects, leaves: Any) -> Any:
                return write_back.finish(found, as_inference(leaves, self.inference))

            bound += [("found_inputs", found_inputs), ("kept_result", kept_result)]
        return [*super().additional_globals(), *bound]

    def __deepcopy__(self, memo: dict[int, Any]) -> CallCode:
        # Nothing in it changes, and the structures may hold types that cannot be copied.
        return self


class ProgramModule(GraphModule):
    """What `program.module()` returns. Its mode is that of the capture.

    Its parameters may be trained, frozen, and loaded; their types are part of the graph.
    """

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the program.

        Raises: contract-broken.
        """
        try:
            if not listening() and is_called_alone(self):
                held = self.__dict__
                call = held[CALL_CODE] if CALL_CODE in held else self._make_call_code()
                result = NOT_RUN if call is None else call(self, *args, **kwargs)
                if result is not NOT_RUN:
                    return result
            return super().__call__(*args, **kwargs)
        except TypeError as error:
            # Arguments that do not fit the signature fail in the call itself; anything else that
            # raises TypeError does so in an operator, after they were bound.
            code = codegen(self.graph)
            if isinstance(code, CallCode) and not _fits(self.forward, args, kwargs):
                spec = code.pytree_info.in_spec
                clause = structure_clause(spec, code.names, args, kwargs)
                raise problem("contract-broken", clauses=[clause]) from None
            self._refuse(error)
            raise
        except Exception as error:
            self._refuse(error)
            raise

    def recompile(self) -> PythonCode:
        """Generate the code anew, with that of the checks: Dynamo cannot make it on its way."""
        for child in self.children():
            if isinstance(child, CheckInputs):
                child.prepare()
        self.__dict__.pop(CALL_CODE, None)
        return super().recompile()

    def forget_code(self) -> None:
        """Drop the generated code, that of calls too."""
        self.__dict__.pop(CALL_CODE, None)
        super().forget_code()

    def _make_call_code(self) -> Callable[..., Any] | None:
        """What calls run in place of `forward`, where nobody looks; it needs no code of torch.fx.

        Copies may share it: it reads the state of the module that it is given.
        """
        code = codegen(self.graph)
        is_ours = isinstance(code, CallCode)
        with GENERATING:
            call = compile_call(self, self.graph, code, CheckInputs) if is_ours else None
        self.__dict__[CALL_CODE] = call
        return call

    def _refuse(self, error: Exception) -> None:
        if self.__dict__.get(FROM_FILE):
            refuse(error, "called")

    def train(self, mode: bool = True) -> ProgramModule:  # noqa: FBT001, FBT002  (torch's signature)
        """Set the flags, where the original would compute the same after it.

        Raises: mode-is-fixed.
        """
        modes: ModesClause | None = self.__dict__.get(MODES)
        if mode != self.training if modes is None else not modes.allows(mode):
            raise problem("mode-is-fixed", call="train()" if mode else "eval()")
        for each in self.modules():
            each.training = mode
        return self

    def _apply(self, fn: Callable[..., Any], recurse: bool = True) -> ProgramModule:  # noqa: FBT001, FBT002
        """Refuse what `to`, `half`, `cuda` and relatives do, unless nothing would change.

        Raises: state-converted.
        """
        for name, tensor in (*self.named_parameters(), *self.named_buffers()):
            with torch.no_grad():
                check_kept(name, tensor, fn(tensor))
        return super()._apply(fn, recurse)  # pyright: ignore[reportReturnType]  (torch says Module)

    def _load_from_state_dict(
        self, state_dict: Any, prefix: str, local_metadata: Any, *rest: Any, **options: Any
    ) -> None:
        """Refuse to take over tensors of other types, as `load_state_dict(assign=True)` may.

        Raises: state-converted.
        """
        if local_metadata.get("assign_to_params_buffers", False):
            for name, tensor in (*self.named_parameters(), *self.named_buffers()):
                given = state_dict.get(prefix + name)
                if isinstance(given, torch.Tensor):
                    check_kept(name, tensor, given)
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *rest, **options)

    def __reduce_ex__(self, protocol: Any) -> Any:
        """Refuse to be pickled.

        Raises: program-pickled.
        """
        raise problem("program-pickled", what="the module of an ExportedProgram")


def check_kept(name: str, before: torch.Tensor, after: torch.Tensor) -> None:
    """Hold that state stays of the type that the graph was made for.

    What has no data, as what stood for it in a file, may get some on any device.

    Raises: state-converted.
    """
    for what in ("dtype", "device", "layout", "shape"):
        if what == "device" and before.device.type == "meta":
            continue
        if getattr(before, what) != getattr(after, what):
            words = f"`{name}` would change its {what} to {getattr(after, what)}"
            raise problem("state-converted", what=words)
    if before.layout is torch.strided and before.stride() != after.stride():
        raise problem("state-converted", what=f"`{name}` would lie otherwise in memory")


def _fits(function: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> bool:
    try:
        inspect.signature(function).bind(*args, **kwargs)
    except TypeError:
        return False
    return True
