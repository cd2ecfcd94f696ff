"""Exports samples of PyTorch's databases and holds the programs against eager.

Each sample is captured with fixed sizes, or with every size of 2 and more `Dim.AUTO`, and called:
at the example, and at other sizes where eager accepts them. Compared are structure, values, dtype,
shape, strides, flags, aliasing, what became of the inputs and of the module's state.
"""

from __future__ import annotations

import copy
import gc
import inspect
import time
import warnings
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch.utils import _pytree as pytree

import monograph
from monograph.diagnostics import MonographError
from tests.contract.judging import flags_of, laid_as, same_text
from tests.laws.database import seeded
from tests.programs.harness import aliases, same

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.laws.database import Entry, Sample

AGREES, NARROW, REFUSED, ERROR, WRONG = ORDER = ("agrees", "narrow", "refused", "error", "wrong")
SKIPPED = "skipped"
"""From best to worst: the verdict of an entry is the worst of its samples.

`narrow`: right wherever it answers, but it refuses other sizes that eager accepts.
"""


@dataclass(frozen=True, slots=True)
class Exporter:
    """Who exports: what it calls a size, and what it raises to refuse."""

    name: str
    export: Callable[[Any, Any, Any, Any], Any]
    auto: Any
    refusals: tuple[type[Exception], ...]


def ours(*, strict: bool) -> Exporter:
    """This package, in one of its modes."""

    def export(module: Any, args: Any, kwargs: Any, shapes: Any) -> Any:
        return monograph.export(module, args, kwargs, dynamic_shapes=shapes, strict=strict)

    name = "strict" if strict else "plain"
    return Exporter(name, export, monograph.Dim.AUTO, (MonographError,))


def torchs() -> Exporter:
    """`torch.export`, non-strict; whatever it raises counts as a refusal."""

    def export(module: Any, args: Any, kwargs: Any, shapes: Any) -> Any:
        return torch.export.export(module, args, kwargs, dynamic_shapes=shapes, strict=False)

    return Exporter("torch.export", export, torch.export.Dim.AUTO, (Exception,))


@dataclass(slots=True)
class Verdict:
    """What became of one sample."""

    kind: str
    why: str = ""
    seconds: float = 0.0
    """CPU time of the export, where it succeeded."""
    accepted: int = 0
    turned_away: int = 0


@dataclass(slots=True)
class Tally:
    """What became of one entry's samples."""

    name: str
    verdicts: list[Verdict] = field(default_factory=list)

    @property
    def worst(self) -> Verdict:
        """The verdict of the entry."""
        judged = [v for v in self.verdicts if v.kind != SKIPPED]
        return max(judged, key=lambda v: ORDER.index(v.kind), default=Verdict(SKIPPED))


@dataclass(frozen=True, slots=True)
class Seen:
    """What a caller can see of one call."""

    result: Any
    inputs: Any
    aliasing: Any
    flags: Any
    state: Any


def judged(entry: Entry, count: int, exporter: Exporter, *, dynamic: bool) -> Tally:
    """Export and call the entry's samples."""
    tally = Tally(entry.name)
    try:
        samples = entry.samples(count)
    except Exception as error:  # noqa: BLE001 - some need libraries that are not here
        tally.verdicts.append(Verdict(SKIPPED, described(error)))
        return tally
    for sample in samples:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tally.verdicts.append(verdict_on(sample, exporter, dynamic=dynamic))
    return tally


def verdict_on(sample: Sample, exporter: Exporter, *, dynamic: bool) -> Verdict:
    """Export one sample, call the program, compare."""
    expected = seen(sample.build(), sample.args, sample.kwargs)
    if isinstance(expected, Exception):
        return Verdict(SKIPPED, f"eager: {described(expected)}")
    shapes = declared(sample, exporter.auto) if dynamic else None
    module, (args, kwargs) = sample.build(), copied((sample.args, sample.kwargs))
    before = copied(dict(module.state_dict()))
    gc.disable()  # the garbage of one exporter is not to be collected in the time of the other
    start = time.thread_time()
    try:
        program = exporter.export(module, args, kwargs, shapes)
        seconds = time.thread_time() - start
    except exporter.refusals as error:
        return Verdict(_kind(error), described(error))
    except Exception as error:  # noqa: BLE001 - what is no diagnostic is what is looked for
        return Verdict(ERROR, described(error))
    finally:
        gc.enable()
    try:
        same((sample.args, sample.kwargs), (args, kwargs), "inputs of the export")
        same(before, dict(module.state_dict()), "state after the export")
    except AssertionError as error:
        return Verdict(WRONG, described(error))
    verdict = compared(sample, exporter, program, expected)
    verdict.seconds = seconds
    if dynamic and verdict.kind == AGREES:
        return elsewhere(sample, exporter, program, verdict)
    return verdict


def compared(sample: Sample, exporter: Exporter, program: Any, expected: Seen) -> Verdict:
    """Call the program at the example's sizes."""
    actual = seen(fresh(program, sample), sample.args, sample.kwargs)
    if isinstance(actual, exporter.refusals):
        return Verdict(REFUSED, f"at the example: {described(actual)}")
    if isinstance(actual, Exception):
        return Verdict(ERROR, f"at the example: {described(actual)}")
    difference = difference_of(expected, actual, values=sample.compares_values)
    return Verdict(WRONG, difference) if difference else Verdict(AGREES)


def elsewhere(sample: Sample, exporter: Exporter, program: Any, verdict: Verdict) -> Verdict:
    """Call the program at other sizes that eager accepts."""
    for what, args, kwargs in resized(sample):
        expected = seen(sample.build(), args, kwargs)
        assert not isinstance(expected, Exception), "eager accepted these a moment ago"
        actual = seen(fresh(program, sample), args, kwargs)
        if isinstance(actual, exporter.refusals):
            verdict.turned_away += 1
            verdict.kind = NARROW
            verdict.why = verdict.why or f"{what}: {described(actual)}"
            continue
        if isinstance(actual, Exception):
            return Verdict(ERROR, f"{what}: {described(actual)}", verdict.seconds)
        difference = difference_of(expected, actual, values=sample.compares_values)
        if difference:
            return Verdict(WRONG, f"{what}: {difference}", verdict.seconds)
        verdict.accepted += 1
    return verdict


def fresh(program: Any, sample: Sample) -> Any:
    """The program as a module, its state as at the export: programs share theirs."""
    module, state = program.module(), sample.build().state_dict()
    with torch.no_grad():
        for name, value in module.state_dict().items():
            if name in state:
                value.copy_(state[name])
    return module


def _kind(error: Exception) -> str:
    if isinstance(error, MonographError):
        names = {problem.diagnostic.name for problem in error.problems}
        return ERROR if "bug" in names else REFUSED
    return REFUSED


def described(error: BaseException) -> str:
    """An exception on one line: the names of diagnostics, else its class, and what it says."""
    if isinstance(error, MonographError):
        problem = error.problems[0].diagnostic
        return f"{problem.name}: {problem.headline}"[:300]
    return f"{type(error).__name__}: {error}".replace("\n", " ")[:300]


# ------------------------------------------------------------------------------------ calling


def copied(value: Any) -> Any:
    """Tensors of the same strides with memory of their own."""
    return pytree.tree_map(
        lambda leaf: _copy(leaf) if isinstance(leaf, Tensor) else copy.copy(leaf), value
    )


def _copy(tensor: Tensor) -> Tensor:
    with torch.no_grad():
        made = laid_as(tensor)
    return made.requires_grad_() if tensor.requires_grad else made


def seen(module: Any, args: Any, kwargs: Any) -> Seen | Exception:
    """One call and what is visible of it, or what it raises."""
    args, kwargs = copied((args, kwargs))
    tensors = [leaf for leaf in pytree.tree_leaves((args, kwargs)) if isinstance(leaf, Tensor)]
    try:
        with seeded(7), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = module(*args, **kwargs)
    except Exception as error:  # noqa: BLE001 - whatever is raised is compared
        return error
    leaves = [leaf for leaf in pytree.tree_leaves(result) if isinstance(leaf, Tensor)]
    return Seen(
        result,
        (args, kwargs),
        _sharing(tensors, result, module),
        [flags_of(leaf) for leaf in [*leaves, *tensors]],
        dict(module.state_dict()),
    )


def _sharing(inputs: list[Tensor], result: Any, module: Any) -> Any:
    """Which results are inputs, or share memory with them; other layouts have no one storage."""
    is_strided = {
        id(t): t.layout == torch.strided
        for t in (*inputs, *pytree.tree_leaves(result))
        if isinstance(t, Tensor)
    }
    strided = [t for t in pytree.tree_leaves(result) if is_strided.get(id(t))]
    return aliases([t for t in inputs if is_strided[id(t)]], strided, module, [])


def difference_of(expected: Seen, actual: Seen, *, values: bool = True) -> str:
    """The first visible difference, "" if there is none."""
    left, right = (expected.result, expected.inputs), (actual.result, actual.inputs)
    if not values:
        left, right = zeroed(left), zeroed(right)
    try:
        same(left[0], right[0], "the result")
        same(left[1], right[1], "the inputs")
        same_text(expected.aliasing, actual.aliasing, "aliasing")
        same_text(expected.flags, actual.flags, "flags")
        names = expected.state.keys() & actual.state.keys()
        for name in sorted(names):
            same(expected.state[name], actual.state[name], f"state {name}")
    except (AssertionError, NotImplementedError, RuntimeError) as error:
        return described(error)
    return ""


def zeroed(value: Any) -> Any:
    """The same types, without values."""
    with torch.no_grad():
        return pytree.tree_map_only(Tensor, lambda t: copied(t).zero_(), value)


# ------------------------------------------------------------------------------------ sizes


def declared(sample: Sample, auto: Any) -> Any:
    """Every size of at least 2 is left to the exporter, the others are fixed."""
    leaves = pytree.tree_leaves((sample.args, sample.kwargs))
    if not any(isinstance(leaf, Tensor) for leaf in leaves):
        return None

    def sizes(leaf: Any) -> Any:
        if not isinstance(leaf, Tensor):
            return None
        return {at: auto for at, size in enumerate(leaf.shape) if size >= 2}

    args = pytree.tree_map(sizes, sample.args)
    module = sample.build()
    if type(module).__name__ == "Call":
        return {"tensors": args}
    bound = inspect.signature(module.forward).bind(*sample.args, **sample.kwargs).arguments
    return {name: pytree.tree_map(sizes, value) for name, value in bound.items()}


def resized(sample: Sample) -> Iterator[tuple[str, Any, Any]]:
    """The example's inputs at other sizes that eager accepts: its first size, and its last."""
    leaves, spec = pytree.tree_flatten((sample.args, sample.kwargs))
    tensors = [leaf for leaf in leaves if isinstance(leaf, Tensor) and leaf.dim()]
    if not tensors:
        return
    for what, at in (("first size", 0), ("last size", -1)):
        size = tensors[0].shape[at]
        if size < 2 or (at == -1 and tensors[0].dim() == 1):
            continue
        for change in _changes(tensors, size, at):
            other = [
                _enlarged(leaf, change) if isinstance(leaf, Tensor) else leaf for leaf in leaves
            ]
            args, kwargs = pytree.tree_unflatten(other, spec)
            if not isinstance(seen(sample.build(), args, kwargs), Exception):
                yield f"{what} {size + 1}", args, kwargs
                break


def _changes(tensors: list[Tensor], size: int, at: int) -> Iterator[Callable[[Tensor], list[int]]]:
    """Which sizes grow: those at the same place, all that are equal, the first tensor's alone."""

    def at_place(t: Tensor) -> list[int]:
        place = at % t.dim() if t.dim() else 0
        return [place] if t.dim() and t.shape[place] == size else []

    yield at_place
    yield lambda t: [i for i, n in enumerate(t.shape) if n == size]
    yield lambda t: at_place(t) if t is tensors[0] else []


def _enlarged(tensor: Tensor, change: Callable[[Tensor], list[int]]) -> Tensor:
    """The tensor with one more of some sizes: values are repeated, strides keep their order."""
    made = tensor
    for dim in change(tensor):
        made = torch.cat([made, made.narrow(dim, 0, 1)], dim)
    if made is tensor or tensor.layout != torch.strided:
        return made
    order = sorted(range(tensor.dim()), key=lambda i: (-tensor.stride(i), i))
    back = [order.index(i) for i in range(len(order))]
    return made.permute(order).contiguous().permute(back)
