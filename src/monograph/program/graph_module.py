"""A `torch.fx.GraphModule` with lazy code generation.

Law: an instance is in one of two states. Its class is `GraphModule` itself: no code yet. Its class
is a subclass of its own, which holds the generated `forward`: code is there. `materialize` goes
from the first to the second; assigning a graph goes back. Editing the graph in place after the code
was generated needs `recompile()`, as with torch's own.

Why: code generation costs as much as capturing the graph, and most graphs are transformed, saved
or merely inspected before they are called.
"""

from __future__ import annotations

import copy
import itertools
import linecache
import re
import weakref
from contextlib import contextmanager
from keyword import iskeyword
from threading import RLock, get_ident
from types import MethodType
from typing import TYPE_CHECKING, Any, Self, cast

import torch

from monograph.host import fx_modules
from monograph.lazy_imports import deferred
from monograph.passes.rewrites.dead_code import has_effect
from monograph.program.printing import readable

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Mapping

    from torch.fx.graph import PythonCode
    from torch.fx.node import Node

NUMBERS = itertools.count()

recorded_forward = deferred("monograph.program.calling.recorded_calls:recorded_forward")

# Two overloads are called as a word of Python is.
_FX_SPELLS = re.compile(r"\w+(\.\w+)*", re.ASCII).fullmatch
_FROM = re.compile(r"(torch\.ops\.aten\.random_?)\.from\(")


class Graph(torch.fx.Graph):
    """A graph whose dead code is what has no effect.

    For torch.fx a region has none, whatever it writes to, draws or asserts inside.
    """

    def eliminate_dead_code(self, is_impure_node: Callable[[Node], bool] | None = None) -> bool:
        """Remove what nobody uses, but for what `is_impure_node` keeps: by default, all effects."""
        return super().eliminate_dead_code(is_impure_node or self._is_kept)

    def _is_kept(self, node: Node) -> bool:
        return node.is_impure() or has_effect(self.owning_module, node)


def with_effects(graph: torch.fx.Graph) -> torch.fx.Graph:
    """The graph, which knows from now on what has an effect in it."""
    if graph.__class__ is torch.fx.Graph:
        graph.__class__ = Graph
    return graph


GENERATING = RLock()
"""Held while code of a graph is generated: its nodes are written to, and threads may share it."""


class _Forward:
    """`forward` of a class without code: who asks a module for it gets the code."""

    def __get__(self, module: GraphModule | None, owner: object) -> Callable[..., Any]:
        if module is None:  # `torch.fx.symbolic_trace` wants a function there
            return GraphModule.run
        own = module.__dict__.get("forward")
        return module.bound_forward() if own is None else own

    def __set__(self, module: GraphModule, function: Callable[..., Any]) -> None:
        module.__dict__["forward"] = function


class GraphModule(fx_modules.LazyGraphModule):
    """A graph that can be called; see the module's docstring for when its code is written.

    It derives from torch's own lazy one: tools that cannot work without the code ask that for it.
    """

    _class_name: str
    forward = _Forward()  # pyright: ignore[reportAssignmentType] - of a class with code, a function

    def __new__(cls, *_args: Any, **_kwargs: Any) -> Self:
        """Make an instance without a class of its own, unlike torch: that comes with the code."""
        return cast("Self", object.__new__(lazy_class(cls)))

    def __init__(
        self,
        root: torch.nn.Module | Mapping[str, Any],
        graph: torch.fx.Graph,
        class_name: str = "GraphModule",
    ) -> None:
        # Straight into `__dict__`: `Module.__setattr__` looks at each value for a microsecond.
        self.__dict__.update(fx_modules.fields(with_effects(graph), class_name))
        if isinstance(root, torch.nn.Module):
            self.__dict__["training"] = root.training
            _adopt_targets(self, root, graph)
        else:
            for name, value in root.items():
                if isinstance(value, torch.nn.Module) and name.isidentifier():
                    fx_modules.put_child(self, name, value)
                else:
                    adopt(self, name, value)
        graph.owning_module = self

    @property
    def graph(self) -> torch.fx.Graph:
        """The graph; assigning one drops the generated code."""
        return self._graph

    @graph.setter
    def graph(self, g: torch.fx.Graph) -> None:
        self.__dict__["_graph"] = with_effects(g)
        g.owning_module = self
        self.forget_code()

    @property
    def code(self) -> str:
        """The Python code of `forward`."""
        self.materialize()
        return self._code

    def run(self, *args: Any, **kwargs: Any) -> Any:
        """Run the graph."""
        return self.bound_forward()(*args, **kwargs)

    def bound_forward(self) -> Callable[..., Any]:
        """What runs the graph, be it to call it or to compile it."""
        self.materialize()
        return MethodType(type(self).forward, self)

    @contextmanager
    def retraced(self, recorder: Any) -> Generator[None]:
        """Within, a call in this thread records the graph as it is, in place of its code."""
        held, thread = self.__dict__, get_ident()
        if "forward" in held:
            yield
            return
        usual, again = self.forward, recorded_forward(self, recorder)

        def forward(*args: Any, **kwargs: Any) -> Any:
            return (again if get_ident() == thread else usual)(*args, **kwargs)

        held["forward"] = forward
        try:
            yield
        finally:
            held.pop("forward", None)

    def materialize(self) -> None:
        """Generate the code, if it is not there."""
        if self._needs_recompile():
            with GENERATING:
                if self._needs_recompile():  # no other thread has done it meanwhile
                    self.recompile()

    real_recompile = materialize

    def compile(self, *args: Any, **options: Any) -> None:
        """As any module's; Dynamo does not make code while it reads what is outside of it."""
        self.materialize()
        super().compile(*args, **options)

    @classmethod
    def _needs_recompile(cls) -> bool:
        return cls is lazy_class(cls)

    def recompile(self) -> PythonCode:  # pyright: ignore[reportIncompatibleMethodOverride] - as GraphModule's
        """Generate the code anew, after the graph was edited in place."""
        graph = self._graph
        with GENERATING:
            python_code = self._python_code(graph)
        python_code.src = _FROM.sub(r"getattr(\1, 'from')(", python_code.src)
        lazy = lazy_class(type(self))
        # On the class: an instance holds the same whether it has code or not.
        fields = {"__module__": lazy.__module__, "_generated": True}
        fields |= fx_modules.code_fields(graph, python_code)
        own = type(lazy.__name__, (lazy,), fields)
        generated: Any = own
        generated.forward = _function(python_code.src, python_code.globals, own)
        object.__setattr__(self, "__class__", own)
        for child in _graph_modules_below(self):
            child.recompile()
        return python_code

    _real_recompile = recompile

    def _python_code(self, graph: torch.fx.Graph) -> PythonCode:
        """What torch.fx generates, with state spelt as Python reads it whatever its name is."""
        found = graph.python_code(root_module="self")
        odd = {
            node: code
            for node in graph.nodes
            if node.op in {"get_attr", "call_module"}
            and (code := self.attribute_code(node)) is not None
        }
        if not odd:
            return found
        word = "attribute"
        while word in found.src:  # a text in the graph may be any
            word += "_"
        targets = {node: node.target for node in odd}
        try:
            for place, node in enumerate(odd):
                node.target = f"{word}{place}"
            found = graph.python_code(root_module="self")
        finally:
            for node, target in targets.items():
                node.target = target
        spelt = list(odd.values())
        found.src = re.sub(rf"self\.{word}(\d+)", lambda at: spelt[int(at[1])], found.src)
        return found

    def attribute_code(self, node: Node) -> str | None:
        """How to spell what a node reads or calls, where torch.fx spells it otherwise."""
        target = str(node.target)
        first, *others = target.split(".")
        is_own = fx_modules.means_something(self, first)
        if _FX_SPELLS(target) and not is_own and not any(map(iskeyword, (first, *others))):
            return None
        return fx_modules.attribute_code(self, target, is_called=node.op == "call_module")

    def print_readable(
        self,
        print_output: bool = True,  # noqa: FBT001, FBT002
        include_stride: bool = False,  # noqa: FBT001, FBT002
        include_device: bool = False,  # noqa: FBT001, FBT002
        colored: bool = False,  # noqa: FBT001, FBT002, ARG002
        **_other: object,
    ) -> str:
        """Return the code with the type of every value and the user's line that made it."""
        text = readable(
            self, self._get_name(), with_strides=include_stride, with_device=include_device
        )
        if print_output:
            print(text)  # noqa: T201  (what the method is for)
        return text

    def forget_code(self) -> None:
        """Drop the generated code; the next use makes it anew."""
        object.__setattr__(self, "__class__", lazy_class(type(self)))

    def _get_name(self) -> str:
        return self._class_name

    def __str__(self) -> str:
        self.materialize()
        return super().__str__()

    def __reduce__(self) -> Any:
        function, (held, imports) = super().__reduce__()
        return function, ({**held, "_code": self.code}, imports)

    def __copy__(self) -> GraphModule:
        copied = lazy_class(type(self)).__new__(type(self))
        copied.__dict__.update(self.__dict__)
        copied.forget_code()
        return copied

    def __deepcopy__(self, memo: dict[int, Any]) -> GraphModule:
        copied = lazy_class(type(self)).__new__(type(self))
        memo[id(self)] = copied
        copied.__dict__.update(copy.deepcopy(self.__dict__, memo))
        with_effects(copied.graph).owning_module = copied
        fx_modules.call_copy_hooks(self, copied)
        return copied


def _graph_modules_below(module: torch.nn.Module) -> Iterator[torch.fx.GraphModule]:
    """The nearest ones, on each way down."""
    for child in module.children():
        if isinstance(child, torch.fx.GraphModule):
            yield child
        else:
            yield from _graph_modules_below(child)


def lazy_class(cls: type[Any]) -> type[GraphModule]:
    """Return the class without generated code that `cls` is, or was derived from."""
    return cls.__mro__[1] if "_generated" in vars(cls) else cls


def adopt(
    module: torch.nn.Module, target: str, value: object, *, persistent: bool | None = True
) -> None:
    """Put a module, parameter, tensor or plain value at a qualified name, making what is between.

    A tensor becomes a buffer, unless `persistent` is None: then it is a plain attribute.
    """
    owner, name = fx_modules.owner_of(module, target)
    fx_modules.hold(owner, name, value, persistent=persistent)


def _adopt_targets(module: GraphModule, root: torch.nn.Module, graph: torch.fx.Graph) -> None:
    """Take from `root` what the graph's get_attr and call_module nodes name."""
    for node in graph.nodes:
        if node.op not in {"get_attr", "call_module"}:
            continue
        value: Any = root
        for part in node.target.split("."):
            value = getattr(value, part)
        adopt(module, node.target, value)


def _function(source: str, names: Mapping[str, Any], owner: object) -> Any:
    """Compile `forward`; its source stays readable in tracebacks while `owner` lives."""
    # A name inside this package: messages point at the lines of users, not at these.
    file = f"{__file__}, graph {next(NUMBERS)}"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    weakref.finalize(owner, linecache.cache.pop, file, None)
    namespace = dict(names)
    exec(compile(source, file, "exec", dont_inherit=True), namespace)  # noqa: S102  (fx generated it)
    return namespace["forward"]
