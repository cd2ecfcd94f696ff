"""Calls between unflattened modules, which may have been exchanged since.

Most calls are plain `call_module` nodes. These functions serve the others: a module that a scope
does not own, a later call of a module whose graph differs from its first, and arguments or results
of structures that a graph cannot spell.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from monograph.capture.installation import listening
from monograph.diagnostics import Clause, problem
from monograph.host.module_calls import only_calls_forward
from monograph.host.trees import flatten, pytree, unflatten
from monograph.program.calling.checks import same_value
from monograph.program.calling.program_module import CallCode, ProgramModule
from monograph.program.graph_module import GraphModule, recorded_forward

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import torch
    from torch.fx import Node

    from monograph.host.trees import TreeSpec
    from monograph.program.program import ModuleCallEntry
    from monograph.program.signature import CallNames, ExportGraphSignature
    from monograph.program.unflattening.flat_args import FlatArgsAdapter


class UnflattenedModule(ProgramModule):
    """What `unflatten` returns: called like the original, with the original's modules inside."""

    _described: Callable[[], Mapping[str, Any]]
    """In a function: copies share it, and whoever walks over attributes comes to no structures."""

    @property
    def graph_signature(self) -> ExportGraphSignature:
        """What the inputs and outputs of the program's flat graph mean."""
        return self._described()["graph_signature"]

    @property
    def module_call_graph(self) -> list[ModuleCallEntry]:
        """The calls of modules in the program."""
        return self._described()["module_call_graph"]

    @property
    def range_constraints(self) -> Mapping[Any, Any]:
        """The ranges of the program's sizes."""
        return self._described()["range_constraints"]

    @property
    def flat_args_adapter(self) -> FlatArgsAdapter | None:
        """What adapts calls of another structure, as it was given to `unflatten`."""
        return self._described()["flat_args_adapter"]


class UnflattenedCall(GraphModule):
    """One module of the original, as its calls in the program were.

    Its own graph is that of the first call. `others` are the graphs of later calls that differ;
    they read the state and the children of this module.
    """

    others: tuple[LaterCall, ...] = ()

    def __deepcopy__(self, memo: dict[int, Any]) -> GraphModule:
        for value in vars(self).values():
            if isinstance(value, pytree.TreeSpec):
                memo[id(value)] = value
        return super().__deepcopy__(memo)


class LaterCall(GraphModule):
    """A later call of a module, with another graph than its first call: `name@1`.

    State and children are those of the module, which it holds in a tuple: it is none of its own.
    """

    _of: tuple[UnflattenedCall]

    def __getattr__(self, name: str) -> Any:
        """Look it up in the module, where it is nothing of this object."""
        try:
            return super().__getattr__(name)
        except AttributeError:
            if "_of" not in self.__dict__:
                raise
            return getattr(self._of[0], name)

    def attribute_code(self, node: Node) -> str | None:
        """How to spell what a node reads of the module."""
        code = self._of[0].attribute_code(node)
        return code and code.replace("self", "self._of[0]", 1)


class UnflattenedCalls(UnflattenedCall):
    """A module whose calls have several graphs."""

    def call_modules(self) -> list[GraphModule]:
        """One module for each graph, in the order of the first calls that they are."""
        return [self, *self.others]


class ModuleCallCode(CallCode):
    """Generates `forward` with the module's own parameters.

    Values that reach the call in another way than through its arguments are in `captured`.
    """

    def __init__(self, names: CallNames, in_spec: Any, out_spec: Any, n_captured: int) -> None:
        super().__init__(names, in_spec, out_spec)
        self.n_captured = n_captured

    def gen_fn_def(
        self,
        free_vars: list[str],
        maybe_return_annotation: str,
        *,
        expanded_def: bool = False,
    ) -> str:
        """Write the signature, and the lines that take the arguments apart."""
        inside, outside = free_vars[self.n_captured :], free_vars[: self.n_captured]
        text = super().gen_fn_def(inside, maybe_return_annotation, expanded_def=expanded_def)
        if not outside:
            return text
        names = "".join(f"{each.split(':')[0].strip()}, " for each in outside)
        head, _, rest = text.partition("\n")
        if "**kwargs" in head:
            return f"{head}\n    {names}= kwargs.pop('captured')\n{rest}"
        before, _, after = head.rpartition(")")
        star = "" if ", *, " in before else ", *"
        return f"{before}{star}, captured){after}\n    {names}= captured\n{rest}"

    def generate_output(self, *args: Any, **kwargs: Any) -> str:
        """Write no structure that is read off the module: its other graphs have others."""
        text = super().generate_output(*args, **kwargs)
        text = text.replace("return pytree.tree_unflatten(", "return built_result(")
        return text.replace(", self._out_spec)", ")")

    def additional_globals(self) -> list[tuple[str, Any]]:
        """Bind `built_result` in the generated code."""
        spec: Any = self.pytree_info.out_spec

        def built_result(leaves: tuple[Any, ...]) -> Any:
            return unflatten(list(leaves), spec)

        return [*super().additional_globals(), ("built_result", built_result)]


def call(module: torch.nn.Module, number: int, captured: tuple[Any, ...], *args: Any) -> Any:
    """Call a module with the values that its graph takes, `captured` before the others.

    `number` is 0 for the module's own graph. A module that took another's place has one behaviour.
    """
    return _graph(module, number)(*captured, *args)


def call_as_user(
    module: torch.nn.Module, number: int, captured: tuple[Any, ...], spec: TreeSpec, *leaves: Any
) -> Any:
    """Call a module with the arguments the original was called with.

    What took a module's place gets the arguments alone.
    """
    args, kwargs = unflatten(list(leaves), spec)
    if captured and isinstance(module, UnflattenedCall):
        kwargs = {**kwargs, "captured": captured}
    return _graph(module, number)(*args, **kwargs)


def _graph(module: torch.nn.Module, number: int) -> Any:
    recorder = listening()
    if recorder is not None and isinstance(module, UnflattenedCall) and only_calls_forward(module):
        graph = module.others[number - 1].graph if number else module.graph
        return recorded_forward(module, recorder, graph)
    if number == 0 or not isinstance(module, UnflattenedCall):
        return module
    return module.others[number - 1].forward


def results_of(result: Any, spec: TreeSpec, name: str) -> list[Any]:
    """Take the result of a module apart, which may have been exchanged.

    Raises: contract-broken.
    """
    leaves, found = flatten(result)
    if found != spec:
        clause = Clause(f"the result of {name}", str(spec), str(found))
        raise problem("contract-broken", clauses=[clause])
    return leaves


def check_constant(given: Any, expected: Any, name: str) -> None:
    """Check an argument that is the same in every call of a module.

    Raises: contract-broken.
    """
    if not same_value(expected, given):
        raise problem("contract-broken", clauses=[Clause(name, repr(expected), repr(given))])


__all__ = [
    "LaterCall",
    "ModuleCallCode",
    "UnflattenedCall",
    "UnflattenedCalls",
    "UnflattenedModule",
    "call",
    "call_as_user",
    "check_constant",
    "results_of",
]
