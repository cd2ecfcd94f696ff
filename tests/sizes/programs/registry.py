"""Programs whose point is the declaration of their sizes, and what is expected of each.

A program is a function, or a module class, under `@size_program(inputs, shapes, ...)`. `inputs`
makes the call's arguments: its parameters are sizes, named as the Dims where there are any, and
their defaults are the example's. `shapes` is the `dynamic_shapes`, or a function of the arguments.

Laws: a captured program agrees with eager or refuses, at every size tried, the edges of every
declared range among them. Within ranges that were declared by name it agrees, unless `partial`.
"""

import inspect
import itertools
import linecache
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from types import FunctionType

from torch import nn
from torch.utils import _pytree as pytree

from monograph import Dim

SMALL = (0, 1, 2, 3, 5, 8, 11)
LARGEST = 600


@dataclass(frozen=True, slots=True)
class SizeProgram:
    """One program, its declaration, and what is expected."""

    name: str
    source: str
    build: Callable[[], nn.Module]
    inputs: Callable
    shapes: object
    accepts: tuple[dict[str, int], ...] = ()
    """Sizes at which the program must agree with eager."""
    refuses: tuple[dict[str, int], ...] = ()
    """Sizes that must be refused by the program, whatever eager does."""
    specialised: dict[str, int] = field(default_factory=dict)
    """`Dim.AUTO` sizes by path that turn out constant; exactly these are reported."""
    refused: tuple[str, ...] = ()
    """The diagnostics of capture, in their order; none where it is captured."""
    repaired: tuple[dict[str, int], ...] = ()
    """Where capture is refused but has a repair: sizes the repaired program must accept."""
    partial: bool = False
    """Whether guards narrow the declaration in a way that names and ranges cannot say."""
    placeless: bool = False
    """Whether the refusal concerns the declaration alone, and names no line of the program."""

    @property
    def sizes(self) -> dict[str, int]:
        """The example's sizes by name."""
        parameters = inspect.signature(self.inputs).parameters.values()
        return {parameter.name: parameter.default for parameter in parameters}

    def declaration(self, arguments: tuple) -> object:
        """Give the `dynamic_shapes` for these arguments."""
        return self.shapes(arguments) if isinstance(self.shapes, FunctionType) else self.shapes

    def dims(self) -> dict[str, Dim]:
        """The named Dims of the declaration."""
        leaves = () if isinstance(self.shapes, FunctionType) else pytree.tree_leaves(self.shapes)
        roots = [getattr(leaf, "root", leaf) for leaf in leaves]
        return {dim.__name__: dim for dim in roots if isinstance(dim, Dim)}

    def sweep(self) -> Iterator[dict[str, int]]:
        """Sizes to call at: each alone, and all together at their ends."""
        example, dims = self.sizes, self.dims()
        tried = {name: {*SMALL, *_edges(dims.get(name))} for name in example}
        alone = [example | {name: size} for name in example for size in sorted(tried[name])]
        ends = [sorted({max(min(t), 0), max(t)}) for t in tried.values()]
        corners = [dict(zip(example, each, strict=True)) for each in itertools.product(*ends)]
        more = [{name: size + step for name, size in example.items()} for step in (1, 2, 3)]
        named = [example | sizes for sizes in (*self.accepts, *self.refuses, *self.repaired)]
        together = [dict.fromkeys(example, size) for size in SMALL]
        seen: list[dict[str, int]] = []
        for sizes in [*named, *alone, *together, *corners[:16], *more]:
            if sizes not in seen:
                seen.append(sizes)
                yield sizes

    def is_declared(self, arguments: tuple, example: tuple) -> bool:
        """Whether the declaration alone, all of it by name, lets these arguments be a call."""
        if not isinstance(self.shapes, dict):
            return False
        named: dict[str, int] = {}
        specs = list(self.shapes.values())
        triples = zip(specs, arguments, example, strict=True)
        return all(_fits(*triple, named) for triple in triples)


def _fits(spec: object, value: object, example: object, named: dict[str, int]) -> bool:
    """Whether one argument is as declared; sizes of 0 and 1 may be special to an operator."""
    if isinstance(spec, dict):
        spec = tuple(spec.get(dim) for dim in range(value.dim()))
    if isinstance(spec, tuple):
        sizes = zip(spec, value.shape, example.shape, strict=True)
        return all(_fits(*each, named) for each in sizes)
    if spec is None or isinstance(spec, int):
        shape = getattr(value, "shape", value)
        return shape == getattr(example, "shape", example)
    root = getattr(spec, "root", spec)
    if not isinstance(root, Dim):
        return False
    factor, offset = getattr(spec, "coefficient", 1), getattr(spec, "offset", 0)
    size, rest = divmod(value - offset, factor)
    in_range = size >= max(root.min, 2) and (root.max is None or size <= root.max)
    return in_range and not rest and named.setdefault(root.__name__, size) == size


def _edges(dim: Dim | None) -> set[int]:
    if dim is None:
        return set()
    near = {dim.min - 1, dim.min, dim.min + 1}
    if dim.max is not None:
        near |= {dim.max - 1, dim.max, dim.max + 1}
    return {size for size in near if 0 <= size <= LARGEST}


SIZE_PROGRAMS: dict[str, SizeProgram] = {}


def size_program(inputs: Callable, shapes: object, **expected: object) -> Callable:
    """Register a function or a module class."""

    def register(what: Callable) -> Callable:
        name = what.__name__
        assert name not in SIZE_PROGRAMS, f"two programs are called {name}"
        source = _undecorated(what)
        SIZE_PROGRAMS[name] = SizeProgram(
            name,
            source,
            lambda: compiled(name, source, dict(inspect.getmodule(what).__dict__)),
            inputs,
            shapes,
            **expected,
        )
        return what

    return register


def _undecorated(what: Callable) -> str:
    """The source from `def` or `class` on, that of base classes of the same file before it."""
    bases = getattr(what, "__bases__", ())
    before = [_undecorated(base) for base in bases if base.__module__ == what.__module__]
    lines = textwrap.dedent(inspect.getsource(what)).splitlines(keepends=True)
    start = next(at for at, line in enumerate(lines) if line.startswith(("def ", "class ")))
    return "\n\n".join([*before, "".join(lines[start:])])


def compiled(name: str, source: str, names: dict) -> nn.Module:
    """Compile the program as a file of its own, so that messages show lines that stay."""
    file = f"{name}.py"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    exec(compile(source, file, "exec"), names)
    made = names[name]
    if isinstance(made, type):
        return made()
    return type(name, (nn.Module,), {"forward": staticmethod(made)})()
