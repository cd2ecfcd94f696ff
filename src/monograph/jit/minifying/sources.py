"""Delta debugging of source code: fewer statements that still cannot be captured.

Of a module, the innermost one that fails by itself is taken; what `forward` reaches of its class
becomes a class of its own, whose `__init__` sets what is left to be read.
"""

from __future__ import annotations

import ast
import inspect
import linecache
import textwrap
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Any, Final

import torch
from torch import nn

from monograph.jit.minifying.failures import copies, failure_of_run
from monograph.jit.minifying.graphs import GraphCase, with_plainer_inputs
from monograph.jit.minifying.scripts import header, text_of
from monograph.jit.optimizing import optimize

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from monograph.jit.minifying.failures import ReducibleFailure

__all__ = ["capture_failure", "script_of_source"]


def capture_failure(target: Any, args: Sequence[Any]) -> ReducibleFailure | None:
    """Why a function or module is not one graph; None where it is."""
    failure, _ = failure_of_run(lambda: optimize(nopython=True)(target)(*copies(args)))
    eager, _ = failure_of_run(lambda: target(*copies(args)))
    return None if eager is not None else failure


def script_of_source(target: Any, args: Sequence[Any], failure: ReducibleFailure) -> str | None:
    """A script with as few statements as still fail in the same way; None where none does."""
    if not isinstance(target, nn.Module):
        return _FunctionSource(target).script(args, failure)
    for module, given in _innermost_first(target, args):
        if failure.is_same(capture_failure(module, given)):
            script = _ModuleSource(module).script(given, failure)
            if script is not None:
                return script
    return None


def _innermost_first(module: nn.Module, args: Sequence[Any]) -> list[tuple[nn.Module, Any]]:
    """The modules that a call of one calls without keywords, each with what it is given."""
    found: list[tuple[nn.Module, Any]] = []

    def note(each: nn.Module, given: tuple[Any, ...], named: dict[str, Any]) -> None:
        if not named:
            found.append((each, tuple(copies(given))))

    handles = [
        each.register_forward_pre_hook(note, with_kwargs=True)
        for each in module.modules()
        if type(each).forward is not nn.Module.forward
    ]
    try:
        module(*copies(args))
    finally:
        for handle in handles:
            handle.remove()
    return found[::-1]


class _FunctionSource:
    """The definition of a function as a tree that loses statements."""

    def __init__(self, target: Any) -> None:
        self.target = target
        self.scope: dict[str, Any] = {}
        self.definition = self.define()

    def define(self) -> ast.FunctionDef | ast.ClassDef:
        """Write the definition, and note what it names."""
        return self.parsed(self.target)

    def parsed(self, function: FunctionType) -> ast.FunctionDef:
        """The definition of a function, without decorators."""
        definition = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]
        assert isinstance(definition, ast.FunctionDef), "a function has a definition"
        definition.decorator_list = []
        self.scope.update(function.__globals__)
        self.scope.update(inspect.getclosurevars(function).nonlocals)
        return definition

    def script(self, args: Sequence[Any], failure: ReducibleFailure) -> str | None:
        """Take statements away, then make inputs plain, as long as it fails."""
        if not failure.is_same(self.failure(args)):
            return None
        while self._loses_a_statement(args, failure):
            pass
        made = self.made()
        case = with_plainer_inputs(
            GraphCase(made, tuple(args)),
            lambda each: failure.is_same(capture_failure(made, each.inputs)),
        )
        names = {node.id for node in ast.walk(self.definition) if isinstance(node, ast.Name)}
        self.finish(case.inputs, failure)
        lines = [*header(failure), *_needed(names, self.scope), "", ast.unparse(self.definition)]
        given = ", ".join(text_of(each) for each in case.inputs)
        call = f"monograph.optimize(nopython=True)({self.called()})({given})"
        return "\n".join([*lines, "", call, ""])

    def made(self) -> Any:
        """What the definition defines now. Raises: SyntaxError."""
        tree = ast.Module(body=[self.definition], type_ignores=[])
        text = ast.unparse(ast.fix_missing_locations(tree))
        file = "<minified>.py"
        linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
        inside = dict(self.scope)
        exec(compile(text, file, "exec"), inside)  # noqa: S102 - statements of the user's function
        return inside[self.definition.name]

    def called(self) -> str:
        """The expression of what the script optimizes."""
        return self.definition.name

    def finish(self, args: Sequence[Any], failure: ReducibleFailure) -> None:
        """Write down what the definition needs."""

    def failure(self, args: Sequence[Any]) -> ReducibleFailure | None:
        """How what is left fails."""
        try:
            return capture_failure(self.made(), args)
        except SyntaxError:
            return None

    def _loses_a_statement(self, args: Sequence[Any], failure: ReducibleFailure) -> bool:
        for block, index in [*_statements(self.definition)]:
            gone = block.pop(index)
            if not block:
                block.append(ast.Pass())
            if failure.is_same(self.failure(args)):
                return True
            if isinstance(block[0], ast.Pass) and not isinstance(gone, ast.Pass):
                block.clear()
            block.insert(index, gone)
        return False


class _ModuleSource(_FunctionSource):
    """What `forward` reaches of the class of a module, as a class of its own."""

    def define(self) -> ast.ClassDef:
        """Write the methods that `forward` names, and theirs."""
        kind, methods, names = type(self.target), dict[str, ast.stmt](), ["forward"]
        self.constants: dict[str, Any] = {}
        while names:
            name = names.pop()
            found = inspect.getattr_static(kind, name, None)
            if found is None or found is vars(nn.Module).get(name) or name in methods:
                continue
            function = getattr(found, "fget", getattr(found, "__func__", found))
            if type(function) is not FunctionType:
                self.constants[name] = found
                continue
            methods[name] = definition = self.parsed(function)
            if function is not found:
                definition.decorator_list = [ast.Name(type(found).__name__)]
            names += _attributes(definition)
        base = ast.Attribute(ast.Attribute(ast.Name("torch"), "nn"), "Module")
        return ast.ClassDef(kind.__name__, [base], [], [*methods.values()], [])  # pyright: ignore[reportCallIssue] - of 3.12 on

    def made(self) -> Any:
        """A module of the class, with all that the module has."""
        made = super().made()
        for name, value in self.constants.items():
            setattr(made, name, value)
        module = made.__new__(made)
        module.__dict__ = dict(self.target.__dict__)
        return module

    def called(self) -> str:
        """The expression of what the script optimizes."""
        return f"{self.definition.name}()"

    def finish(self, args: Sequence[Any], failure: ReducibleFailure) -> None:
        """Write an `__init__` that sets what the methods read."""
        module = self.target
        lines = ["def __init__(self):", "    super().__init__()"]
        lines += [] if module.training else ["    self.training = False"]
        methods = {each.name for each in self.definition.body if isinstance(each, ast.FunctionDef)}
        for name in sorted(_attributes(self.definition) - methods - {*vars(nn.Module)}):
            if hasattr(module, name):
                value = getattr(module, name)
                lines += [f"    {line}" for line in self._set(name, value, args, failure)]
        self.definition.body.insert(0, ast.parse("\n".join(lines)).body[0])

    def _set(
        self, name: str, value: Any, args: Sequence[Any], failure: ReducibleFailure
    ) -> Iterator[str]:
        if isinstance(value, nn.Module):
            other = nn.Identity() if self._takes(name, nn.Identity(), args, failure) else value
            yield f"self.{name} = {_module_text(other)}"
        elif isinstance(value, torch.Tensor):
            zeros = torch.zeros_like(value)
            if isinstance(value, nn.Parameter):
                zeros = nn.Parameter(zeros, value.requires_grad)
            text = text_of(zeros if self._takes(name, zeros, args, failure) else value)
            if isinstance(value, nn.Parameter):
                yield f"self.{name} = torch.nn.Parameter({text})"
            else:
                yield f"self.register_buffer({name!r}, {text})"
        else:
            yield f"self.{name} = {text_of(value)}"

    def _takes(self, name: str, value: Any, args: Sequence[Any], failure: ReducibleFailure) -> bool:
        """Whether it fails with another value of an attribute, which it has from then on."""
        tables = ("_parameters", "_buffers", "_modules")
        before = self.target.__dict__
        self.target.__dict__ = {**before, **{each: dict(before[each]) for each in tables}}
        setattr(self.target, name, value)
        if failure.is_same(self.failure(args)):
            return True
        self.target.__dict__ = before
        return False


def _attributes(tree: ast.AST) -> set[str]:
    """The attributes of `self` that code names."""
    return {
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id == "self"
    }


def _module_text(module: nn.Module) -> str:
    """The expression of a module of PyTorch's without children."""
    if type(module).__module__.startswith("torch.nn.modules") and not [*module.children()]:
        return f"torch.nn.{module!r}"
    return f"...  # a {type(module).__qualname__}: put it here"


def _statements(node: ast.AST) -> list[tuple[list[Any], int]]:
    """The blocks below a node, with the index of each statement that may go."""
    found: list[tuple[list[Any], int]] = []
    for each in ast.walk(node):
        for name in ("body", "orelse", "finalbody"):
            block = getattr(each, name, None)
            if isinstance(block, list):
                found += [(block, index) for index in reversed(range(len(block)))]
    return [(block, i) for block, i in found if not isinstance(block[i], ast.Pass)]


_OWN: Final = ("torch", "monograph")
"""What the head of each script imports."""


def _needed(names: set[str], scope: dict[str, Any]) -> list[str]:
    """What a definition names, as far as text can say it."""
    lines: list[str] = []
    for name in sorted(names & scope.keys() - {*_OWN}):
        value = scope[name]
        if isinstance(value, ModuleType):
            lines.append(f"import {value.__name__} as {name}")
        elif isinstance(value, FunctionType):
            lines.append(textwrap.dedent(inspect.getsource(value)))
        elif not name.startswith("__") and not isinstance(value, type):
            lines.append(f"{name} = {text_of(value)}")
        elif isinstance(value, type):
            lines.append(f"from {value.__module__} import {value.__qualname__} as {name}")
    return lines
