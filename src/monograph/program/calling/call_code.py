"""Code generation: a call of a program as one straight-line function, the contract's checks in it.

Law: `module(...)` by this function returns, writes and raises what the `forward` of torch.fx does.
The function gives `NOT_RUN` back before anything was computed, where the call does not fit the
contract or the state lies otherwise than when the code was made; the caller then runs `forward`.
Each operator is called by its cheapest equal binding (`host.fast_calls`), state is read out of the
dictionaries of the modules that hold it, and a value is let go of behind its last use.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

import torch
from torch.fx.node import Node

from monograph.host.fast_calls import bindings, fast_call
from monograph.host.fx_modules import found_at, holder_of
from monograph.host.trees import is_special
from monograph.program.calling.checks import CHECK_ERRORS, check_code

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from torch.fx import Graph

    from monograph.host.trees import TreeSpec
    from monograph.program.calling.program_module import CallCode, CheckInputs

NOT_RUN: Final = object()
"""What a call gives back that is left to `forward`."""

_LEAVES: Final = frozenset({torch.Tensor, torch.nn.Parameter, int, float, bool, str, type(None)})
"""The classes of inputs that stand for themselves: no tracer's, nor a subclass with functions."""


def compile_call(
    module: torch.nn.Module, graph: Graph, code: CallCode, checks: type[CheckInputs]
) -> Callable[..., Any] | None:
    """The function of a module and the arguments of its call; None where `forward` is to run.

    `checks` is the class of the child that checks inputs.
    """
    if not code.names.is_plain:
        return None
    return _CallWriter(module, code, checks).function(graph)


class _CallWriter:
    """Writes the source; `bound` are the objects that it names."""

    def __init__(self, module: torch.nn.Module, code: CallCode, checks: type[CheckInputs]) -> None:
        self.module, self.code, self.checks = module, code, checks
        # Parameters of the call have the names of users; nothing else may begin like one of them.
        given = [*code.names.positional, *code.names.keywords, "self", "leaves"]
        self.mark = "_"
        while any(name.startswith(self.mark) for name in given):
            self.mark += "_"
        self.bound: dict[str, Any] = {}
        self.values: dict[Node, str] = {}
        self._names: dict[int, str] = {}
        self._holders: dict[str, str] = {"": "self"}

    def function(self, graph: Graph) -> Callable[..., Any] | None:
        """Compile it."""
        inputs = [node for node in graph.nodes if node.op == "placeholder"]
        self.values |= {node: self._name(node.name) for node in inputs}
        head, body, checked = self._taken_apart(inputs), list[str](), False
        last = {each: node for node in graph.nodes for each in node.all_input_nodes}
        for node in graph.nodes:
            if node.op == "get_attr":
                head += self._read(node)
            elif node.op == "output":
                body.append(f"return {self._result(node.args[0])}")
            elif node.op == "call_function":
                self.values[node] = self._name(node.name)
                body.append(f"{self.values[node]} = {self._call(node)}")
                body += self._let_go(node, last)
            elif node.op == "call_module" and not checked and self._is_check(node):
                head += self._check(node)
                checked = True
            elif node.op != "placeholder":
                return None  # somebody edited the graph
        if not checked:
            plain, stop = self._bind(_LEAVES), f"return {self._bind(NOT_RUN)}"
            head += [f"if {self.values[x]}.__class__ not in {plain}: {stop}" for x in inputs]
        return self._compiled(head, body)

    def _compiled(self, head: list[str], body: list[str]) -> Callable[..., Any]:
        parameters = ", ".join(filter(None, ["self", self.code.names.parameters()]))
        errors = f"{CHECK_ERRORS[:-1]}, LookupError)"
        lines = [
            f"def call({parameters}):",
            "    try:",
            *(f"        {line}" for line in head or ["pass"]),
            f"    except {errors}:",
            f"        return {self._bind(NOT_RUN)}",
            *(f"    {line}" for line in body),
        ]
        exec(compile("\n".join(lines), f"{__file__}, generated", "exec"), self.bound)  # noqa: S102  (written above)
        return self.bound["call"]

    def _taken_apart(self, inputs: list[Node]) -> list[str]:
        """From the arguments to the flat inputs, with the same names as `CallCode` binds."""
        self.bound |= dict(self.code.additional_globals())
        names, arguments = self.code.names, self.code.names.arguments()
        targets = "".join(f"{self.values[node]}, " for node in inputs)
        if self.code.write_back is not None:
            found = f"{self.mark}found = found_inputs({arguments})"
            return [found, f"{targets}= {self.mark}found.leaves" if targets else ""]
        parts = [
            each for part in self.code.pytree_info.in_spec.children() for each in part.children()
        ]
        are_leaves = len(parts) == len(inputs) and all(part.is_leaf() for part in parts)
        if not names.gathered and are_leaves:
            given = [*names.positional, *names.keywords]
            self.values |= dict(zip(inputs, given, strict=True))
            return []
        return [f"{targets}= flat_inputs({arguments})" if targets else f"flat_inputs({arguments})"]

    def _is_check(self, node: Node) -> bool:
        child = found_at(self.module, str(node.target))
        return type(child) is self.checks and not node.kwargs

    def _check(self, node: Node) -> list[str]:
        constants: dict[str, Any] = {}
        child: CheckInputs = found_at(self.module, str(node.target))
        lines, condition = check_code(child.contract, constants)
        self.bound |= constants
        given = self._text(tuple(node.args))
        return [f"leaves = {given}", *lines, f"if not ({condition}): return {self._bind(NOT_RUN)}"]

    def _read(self, node: Node) -> list[str]:
        """Read what the node names out of the dictionary that holds it now."""
        target, lines = str(node.target), list[str]()
        value = self.values[node] = self._name(node.name)
        *between, name = target.split(".")
        kind = holder_of(self.module, target)
        if kind is None:
            return [f"{value} = {self._bind(found_at)}(self, {target!r})"]
        for count in range(1, len(between) + 1):
            path, owner = ".".join(between[:count]), self._holders[".".join(between[: count - 1])]
            if path not in self._holders:
                self._holders[path] = f"{self.mark}m{len(self._holders)}"
                lines.append(f"{self._holders[path]} = {owner}._modules[{between[count - 1]!r}]")
        return [*lines, f"{value} = {self._holders['.'.join(between)]}.{kind}[{name!r}]"]

    def _call(self, node: Node) -> str:
        target: Any = node.target
        # What C parses takes tuples for lists of numbers; these are constants of the code.
        is_parsed = target in bindings()
        arguments = [self._text(each, fixed=is_parsed) for each in node.args]
        arguments += [f"{k}={self._text(v, fixed=is_parsed)}" for k, v in node.kwargs.items()]
        return f"{self._bind(fast_call(target), node.name)}({', '.join(arguments)})"

    def _let_go(self, node: Node, last: dict[Node, Node]) -> list[str]:
        dead = [node, *node.all_input_nodes] if node not in last else node.all_input_nodes
        gone = [
            each for each in dead if last.get(each, node) is node and each.op == "call_function"
        ]
        return [f"{' = '.join(self.values[each] for each in gone)} = None"] if gone else []

    def _result(self, leaves: Any) -> str:
        text = self._text(leaves)
        if self.code.write_back is not None:
            return f"kept_result({self.mark}found, {text})"
        spec = self.code.out_spec
        if not self.code.inference and not is_special(spec):
            built = _built(spec, iter([self._text(each) for each in leaves]))
            if built is not None:
                return built
        return f"built_result({text})"

    def _name(self, name: str) -> str:
        return f"{self.mark}v_{name}"

    def _bind(self, value: Any, name: str = "") -> str:
        found = self._names.get(id(value))
        if found is None:
            found = self._names[id(value)] = f"{self.mark}c{len(self._names)}{name}"
            self.bound[found] = value
        return found

    def _text(self, value: Any, *, fixed: bool = False) -> str:
        if isinstance(value, Node):
            return self.values[value]
        if isinstance(value, list | tuple):
            items = "".join(f"{self._text(each)}, " for each in value)
            is_list = isinstance(value, list) and not (fixed and _all_integers(value))
            return f"[{items}]" if is_list else f"({items})"
        if isinstance(value, slice):
            return f"slice({', '.join(map(self._text, (value.start, value.stop, value.step)))})"
        if isinstance(value, dict):
            return f"{{{''.join(f'{k!r}: {self._text(v)}, ' for k, v in value.items())}}}"
        if value is None or type(value) in {int, bool, str}:
            return repr(value)
        if isinstance(value, torch.SymInt | torch.SymFloat | torch.SymBool):
            return repr(value)  # of which nothing is symbolic any more: torch.fx writes the number
        if type(value) is float and math.isfinite(value):
            return repr(value)
        return self._bind(value)


def _all_integers(values: Iterable[Any]) -> bool:
    return all(type(each) is int for each in values)


def _built(spec: TreeSpec, leaves: Any) -> str | None:
    """The expression of a structure of tuples, lists and dictionaries; None for any other."""
    if spec.is_leaf():
        return next(leaves)
    children = [_built(child, leaves) for child in spec.children()]
    if any(child is None for child in children):
        return None
    if spec.type is dict and all(type(key) is str for key in spec.context):
        pairs = zip(spec.context, children, strict=True)
        return f"{{{''.join(f'{key!r}: {child}, ' for key, child in pairs)}}}"
    items = "".join(f"{child}, " for child in children)
    if spec.type is tuple:
        return f"({items})"
    return f"[{items}]" if spec.type is list else None


__all__ = ["NOT_RUN", "compile_call"]
