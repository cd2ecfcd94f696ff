"""Unbacked values: data that user code asks for is computed of constants, else a new symbol.

A tensor is a constant of the program if it is made of tensor literals, factories and pure operators
alone (`torch.tensor(3.0) * 2`, `torch.arange(4).max()`); its value is then the same in every call,
and the part of the graph that makes it is run when the value is asked for, not before. So is one
element that value ranges leave no choice (`element_values`).

What is made of buffers too is data like any other, for they may change. Only where a capture cannot
be completed otherwise it begins anew, and takes what they hold by now; the program asserts that
they hold it still (`RunOptions.state_decides`). Then, too, a quotient of sizes that is a tensor is
that number, of which sizes are asked, and guarded; any other time nothing is known of it.
"""

from __future__ import annotations

import operator
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import torch
from torch import is_inference_mode_enabled
from torch.fx.node import map_aggregate, map_arg

from monograph.abstract.differentiability import LIKE
from monograph.abstract.layout import shares_elements
from monograph.abstract.symbols import to_python, to_sym
from monograph.abstract.tensor import AbstractTensor
from monograph.abstract.tensor_type import type_of
from monograph.capture.recording.element_values.value_ranges import bounds, state_bounds
from monograph.capture.recording.nonzero_counts import COUNTING
from monograph.capture.recording.operators import OPERATORS
from monograph.diagnostics import problem, snippet
from monograph.host.dispatch import RANGE_OPERATORS, without_modes
from monograph.host.fx_nodes import inputs_of
from monograph.host.operator_types import OpOverload
from monograph.integers import Expr, Real, Relation, eq, fresh, ge, known, negate

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from torch.fx.node import Node

    from monograph.capture.recording.recorder import Recorder
    from monograph.integers import Int, Truth

_MOST_NODES = 200
_INDICES: Final = frozenset({torch.int8, torch.int16, torch.int32, torch.int64, torch.uint8})
_DECIDED: Final = frozenset({torch.bool, torch.int64})
_MOST_ELEMENTS = 1 << 20


class _NotConstantError(Exception):
    """The value depends on an input, a parameter or chance."""


def item(recorder: Recorder, tensor: AbstractTensor) -> Any:
    """The only element of a tensor: a number if it is a constant, else a new unbacked one.

    Raises: data-dependent-size (more or fewer than one element).
    """
    value = known_value(recorder, tensor)
    if value is not None:
        with without_modes():
            return value.item()
    quotient = _quotient_of_sizes(tensor)
    if quotient is not None:
        recorder.options.asked.append("a quotient of sizes")
        if recorder.options.state_decides:
            return to_sym(quotient)
    number = _read(recorder, tensor)
    held = state_value(recorder, tensor)
    if held is None:
        return number
    with without_modes():
        plain = held.item()
    recorder.facts.assert_at_run(_is(to_python(number), plain))
    return plain


def _quotient_of_sizes(tensor: AbstractTensor) -> Int | None:
    """`torch.div(x.size(1), 8, rounding_mode="trunc")`: a tensor that holds a number of sizes."""
    node, version = tensor.node, tensor.storage_root.n_writes
    if node is None or version or node.target is not torch.ops.aten.div.Tensor_mode:
        return None
    above, below = node.args
    size = to_python(above.meta.get("val")) if isinstance(above, torch.fx.Node) else None
    is_whole = node.kwargs.get("rounding_mode") in {"trunc", "floor"}
    if not isinstance(size, Expr) or type(below) is not int or below < 1 or not is_whole:
        return None
    # Both ways of rounding are one for what is not negative.
    return size // below if known(ge(size, 0)) is True else None


def _is(number: Any, plain: Any) -> Truth:
    if isinstance(number, Relation):
        return number if plain else negate(number)
    return eq(number, plain)


def _read(recorder: Recorder, tensor: AbstractTensor) -> Any:
    count = tensor.tensor_type.numel()
    if count != 1 and known(eq(count, 1)) is False:
        message = f"a Tensor with {count} elements cannot be converted to Scalar"
        raise RuntimeError(message)
    reading = _place(tensor.node), tensor.storage_root.n_writes
    known_number = recorder.writer.read_before(reading)
    if known_number is not None:
        return to_sym(known_number)
    node = recorder.append(torch.ops.aten.item.default, "item", (tensor.node,), {})
    number = _unbacked(recorder, tensor, node)
    recorder.writer.note_reading(reading, number)
    if isinstance(number, Expr):
        state_bounds(recorder, tensor, number)
        if tensor.node is not None and not tensor.storage_root.n_writes:
            recorder.counts.read(tensor.node, number)
    node.meta["val"] = to_sym(number)
    return node.meta["val"]


def _place(node: Node | None) -> Any:
    """Equal for what shows the same element: each `x[0]` is a node of its own."""
    if node is None or node.target is not torch.ops.aten.select.int:
        return node
    source, *where = node.args
    if isinstance(source, torch.fx.Node) and all(type(each) is int for each in where):
        return _place(source), *where
    return node


def truth(recorder: Recorder, tensor: AbstractTensor) -> bool:
    """`bool(tensor)`, which user code asks in order to branch.

    Raises: data-dependent-branch.
    """
    value = known_value(recorder, tensor)
    if value is None and state_value(recorder, tensor) is not None:
        return bool(recorder.item(tensor))
    if value is None:
        raise problem("data-dependent-branch")
    with without_modes():
        return bool(value)


def _unbacked(recorder: Recorder, tensor: AbstractTensor, node: Node) -> Any:
    """A fresh number of a tensor's kind, which `node` computes."""
    dtype = tensor.tensor_type.dtype
    if dtype.is_complex:
        raise problem("value-read", call="item()", tensor="a complex tensor")
    label = snippet(recorder.origin()[:1])
    if dtype == torch.bool:
        symbol = fresh(label, 0, 1)
        truth = eq(symbol, 1)
        recorder.writer.bind(symbol, node)
        recorder.writer.bind(truth, node)  # pyright: ignore[reportArgumentType] - a fresh symbol decides nothing
        return truth
    if dtype.is_floating_point:
        number = Real("unbacked", (fresh(label, None, None),))
        recorder.writer.bind(number, node)
        return number
    # The symbol's own, which are known wherever it is: also outside of the branch that reads it.
    symbol = fresh(label, *(end if type(end) is int else None for end in bounds(recorder, tensor)))
    recorder.writer.bind(symbol, node)
    return symbol


def known_value(recorder: Recorder, tensor: AbstractTensor) -> torch.Tensor | None:
    """The tensor's data where it is a constant of the program, else None."""
    found = _value(recorder, tensor, recorder.writer.constant_of)
    return _decided(recorder, tensor) if found is None else found


def _decided(recorder: Recorder, tensor: AbstractTensor) -> torch.Tensor | None:
    """The only element, where value ranges leave one number: `(arange(n).diff() == 1).all()`."""
    t, node = tensor.tensor_type, tensor.node
    if t.dtype not in _DECIDED or t.numel() != 1 or node is None or not node.args:
        return None
    given = getattr(node.args[0], "meta", {}).get("val")
    if isinstance(given, AbstractTensor) and given.tensor_type.dtype.is_floating_point:
        return None  # of which nothing is known
    lower, upper = bounds(recorder, tensor)
    if type(lower) is not int or lower != upper:
        return None
    with without_modes():
        return torch.full([1] * t.rank, lower, dtype=t.dtype)


def of_constants(
    recorder: Recorder, overload: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """The result types of an operator whose sizes only data tell, if those are constants."""
    if overload is torch.ops.aten.index.Tensor and COUNTING[id(overload)](args) is None:
        return None

    def real(value: Any) -> Any:
        if isinstance(value, torch.SymInt):
            raise _NotConstantError
        if not isinstance(value, torch.Tensor):
            return value
        found = known_value(recorder, recorder.abstract(value))
        if found is None or found.is_meta:
            raise _NotConstantError
        return found

    try:
        args, kwargs = map_aggregate((args, kwargs), real)  # pyright: ignore[reportAssignmentType] - of the same structure
    except _NotConstantError:
        return None
    with without_modes(), torch.no_grad():
        made = overload(*args, **kwargs)
    return type_of(made) if isinstance(made, torch.Tensor) else type(made)(map(type_of, made))


def state_value(recorder: Recorder, tensor: AbstractTensor) -> torch.Tensor | None:
    """The tensor's data where it is made of buffers and constants, and those are to decide."""
    writer = recorder.writer
    if not writer.buffer_of or tensor.storage_root.n_writes or tensor.node is None:
        return None
    known = {**writer.constant_of, **writer.buffer_of}
    if not recorder.options.state_decides:
        if _is_made_of(recorder, known, tensor.node):
            recorder.options.asked.append(tensor.node.name)
        return None
    value = _value(recorder, tensor, known)
    return value if value is not None and value.numel() == 1 else None


def _value(
    recorder: Recorder, tensor: AbstractTensor, known: Mapping[Node, torch.Tensor]
) -> torch.Tensor | None:
    if tensor.storage_root.n_writes or tensor.node is None:
        return None
    if not _is_made_of(recorder, known, tensor.node):
        return None
    known = {node: real for node, real in known.items() if node.name not in recorder.mutated}
    try:
        with without_modes(), torch.no_grad():
            value = _Evaluation(known).value(tensor.node)
    except _NotConstantError:
        return None
    return value if isinstance(value, torch.Tensor) else None


def _is_made_of(recorder: Recorder, constants: Mapping[Node, torch.Tensor], node: Node) -> bool:
    """Whether nothing else stands behind a node, which most questions come to know at once.

    Nodes seen to have an input behind them are remembered: each condition is asked about, and all
    may stand behind the last.
    """
    known = recorder.behind_inputs
    after: dict[Node, Node | None] = {node: None}
    waiting = [node]
    while waiting:
        current = waiting.pop()
        if current in known or (current.op == "placeholder" and current not in constants):
            if current not in recorder.writer.buffer_of:  # which another question may count as one
                found: Node | None = current
                while found is not None:
                    known.add(found)
                    found = after[found]
            return False
        for each in inputs_of(current):
            if each not in after:
                after[each] = current
                waiting.append(each)
    return True


class _Evaluation:
    """Runs the part of the graph behind one node, if it is constant."""

    def __init__(self, known: Mapping[Node, torch.Tensor]) -> None:
        self._constants = known
        self._values: dict[Node, Any] = {}

    def value(self, node: Node) -> Any:
        """Raises _NotConstantError."""
        if node in self._values:
            return self._values[node]
        if len(self._values) > _MOST_NODES:
            raise _NotConstantError
        if node.op == "placeholder":
            value = self._constants.get(node)
            if value is None:
                raise _NotConstantError
        else:
            value = self._run(node)
        self._values[node] = value
        return value

    def _run(self, node: Node) -> Any:
        result = node.meta.get("val")
        if isinstance(result, AbstractTensor):
            if result.storage_root.n_writes:
                raise _NotConstantError
            count = result.tensor_type.numel()
            if not isinstance(count, int) or count > _MOST_ELEMENTS:
                raise _NotConstantError
        target: Any = node.target
        if target is not operator.getitem and not (
            isinstance(target, OpOverload) and OPERATORS.of(target).droppable
        ):
            raise _NotConstantError
        args = map_arg(node.args, self.value)
        kwargs = map_arg(node.kwargs, self.value)
        return target(*args, **kwargs)


def _natively(function: Any) -> Callable[..., Any]:
    """What marks a range for a profiler: no part of the program."""

    def call(*args: Any) -> Any:
        with without_modes():
            return function(*args)

    return call


_RANGES = {id(each): _natively(each) for each in RANGE_OPERATORS}


def special_operators(  # noqa: C901 - one small function for each operator
    recorder: Recorder,
) -> dict[int, Callable[..., Any]]:
    """Operators that are not recorded as they come, by identity of the overload."""
    aten = torch.ops.aten

    def element(tensor: Any) -> Any:
        return recorder.item(recorder.abstract(tensor))

    def nonzero(tensor: Any) -> Any:
        return element(tensor) != 0

    def literal(tensor: Any) -> Any:
        """`torch.tensor(...)`: a constant; user code gets a copy, which it may write to."""
        if isinstance(tensor, AbstractTensor):
            return tensor
        view = recorder.memory_behind(tensor)
        if view is not None:
            return view
        constant = recorder.writer.lift_literal(tensor, recorder)
        made = recorder.call(aten.lift_fresh_copy.default, (constant,), {})
        recorder.answers.show_literal(recorder, tensor, made)
        return made

    def converted(value: Any, dtype: Any, *_: Any, **__: Any) -> Any:
        """A number that `vmap` makes a tensor of, in order to promote it as one."""
        if isinstance(value, torch.Tensor) or not isinstance(dtype, torch.dtype):
            return NotImplemented
        return recorder.call(aten.scalar_tensor.default, (value,), {"dtype": dtype})

    def detached(tensor: Any) -> Any:
        """Outside of autograd: recorded as it is, and its result needs no gradient."""
        source = recorder.abstract(tensor)
        if source.node is not None and _is_fresh(source):
            return _shared(recorder, source, source.node)
        return detach(recorder, source)

    def detached_in_place(tensor: Any) -> Any:
        """`t.detach_()` (which every `torch.tensor(...)` ends with) writes no data."""
        source = recorder.abstract(tensor)
        # Autograd, which does it, is left out in inference mode.
        is_done = not (recorder.scopes.in_inference and is_inference_mode_enabled())
        if is_done and not _is_fresh(source):
            if recorder.region is not None:
                recorder.region.before_detach(source)
            subject = recorder.answers_noted.owner(source)
            if subject is not None:  # PyTorch detaches no view in place
                recorder.answers_noted.note_tensor("has_no_base", subject, recorder.origin())
            source.node = recorder.append(aten.detach_.default, "detach_", (source.node,), {})
            source.node.meta["val"] = source
            recorder.mark_requires_grad(source, False)
        return source

    def copied(tensor: Any, source: Any, *_: Any, **__: Any) -> Any:
        """`t.copy_(3)`: a number is no tensor, as PyTorch's own kernels take it."""
        if not is_number(source) or isinstance(source, complex):
            return NotImplemented
        return write_number(recorder, recorder.abstract(tensor), source)

    def equal(left: Any, right: Any) -> Any:
        a, b = recorder.abstract(left), recorder.abstract(right)
        if len(a.shape) != len(b.shape):
            return False
        for m, n in zip(a.tensor_type.shape, b.tensor_type.shape, strict=True):
            if m is not n and not bool(to_sym(eq(m, n))):
                return False
        same = recorder.call(aten.eq.Tensor, (a, b), {})
        return recorder.truth(recorder.call(aten.all.default, (same,), {}))

    def allclose(left: Any, right: Any, *args: Any, **kwargs: Any) -> Any:
        near = recorder.call(aten.isclose.default, (left, right, *args), kwargs)
        return recorder.truth(recorder.call(aten.all.default, (near,), {}))

    def split_at(tensor: Any, at: Any, dim: int = 0) -> Any:
        """`tensor_split` at places that a tensor says: numbers read out of it."""
        places = recorder.abstract(at)
        if places.dim() > 1 or places.tensor_type.dtype != torch.int64:
            return NotImplemented
        if not places.dim():
            return recorder.call(aten.tensor_split.sections, (tensor, element(places), dim), {})
        rows = recorder.call(aten.unbind.int, (places,), {})
        numbers = [element(row) for row in rows]
        return recorder.call(aten.tensor_split.indices, (tensor, numbers, dim), {})

    return {
        id(aten.narrow.Tensor): partial(_narrow_at, recorder),
        id(aten.tensor_split.tensor_indices_or_sections): split_at,
        id(aten.item.default): element,
        id(aten._local_scalar_dense.default): element,  # noqa: SLF001 - an operator's name
        id(aten.is_nonzero.default): nonzero,
        id(aten.lift_fresh.default): literal,
        id(aten.lift.default): literal,
        id(aten.to.dtype): converted,
        **_RANGES,
        id(aten.detach.default): detached,
        id(aten.detach_.default): detached_in_place,
        id(aten.copy_.default): copied,
        id(aten.equal.default): equal,
        id(aten.allclose.default): allclose,
    }


def _narrow_at(
    recorder: Recorder, tensor: AbstractTensor, dim: int, start: AbstractTensor, length: Any
) -> Any:
    """`narrow` from where a tensor says: a number read out of it."""
    place = recorder.abstract(start)
    if place.dim() or place.tensor_type.dtype not in _INDICES:
        return NotImplemented
    first = recorder.item(place)
    return recorder.call(torch.ops.aten.narrow.default, (tensor, dim, first, length), {})


def write_number(recorder: Recorder, tensor: AbstractTensor, value: Any) -> Any:
    """Fill a tensor where eager code copies a number, which raises where elements share memory."""
    subject = recorder.answers_noted.owner(tensor)
    if subject is not None and subject.argument is not None:
        recorder.answers_noted.note_tensor("overlaps_within", subject, recorder.origin())
    if shares_elements(tensor.tensor_type) is not False:
        number = tensor_from(recorder, value, tensor.tensor_type.dtype, tensor.device)
        return recorder.call(torch.ops.aten.copy_.default, (tensor, number), {})
    return recorder.call(torch.ops.aten.fill_.Scalar, (tensor, value), {})


_LIKE: Final = frozenset(getattr(torch.ops.aten, name).default for name in LIKE)


def detach(recorder: Recorder, tensor: AbstractTensor) -> Any:
    """The same memory outside of autograd, which writes to either tensor tell apart."""
    if recorder.closed:
        raise problem("leaked-tensor", origin="detach")
    node = recorder.append(torch.ops.aten.detach.default, "detach", (tensor.node,), {})
    return recorder.wrap(tensor.tensor_type, node, root=tensor.storage_root)


def _shared(recorder: Recorder, source: AbstractTensor, node: Node) -> Any:
    """Another tensor for the node of a fresh one: its owner, if that is the last a factory does."""
    is_last = "pin_memory" in node.kwargs and recorder.lineage.is_alone(source)
    made = recorder.wrap(source.tensor_type, node, root=None if is_last else source.storage_root)
    if is_last:
        source.view_of = made
    recorder.lineage.shares_node(source)
    return made


def _is_fresh(tensor: AbstractTensor) -> bool:
    """A literal, or made of no tensor's data: PyTorch detaches those before users have them."""
    node = tensor.node
    if node is None or node.op != "call_function" or tensor.tensor_type.requires_grad:
        return False
    if node.target is torch.ops.aten.lift_fresh_copy.default:
        return True
    if node.target in _LIKE:
        return "pin_memory" in node.kwargs
    made_of = (n.meta.get("val") for n in node.all_input_nodes)
    return not any(isinstance(each, AbstractTensor | tuple | list) for each in made_of)


def is_number(value: Any) -> bool:
    """Whether a value is a Python number, symbolic or not."""
    return isinstance(value, int | float | complex | torch.SymInt | torch.SymFloat | torch.SymBool)


def plain_number(value: Any) -> Any:
    """A number as an operator takes it: members of enums and NumPy's floats lose their class."""
    kinds: tuple[Any, ...] = (bool, int, float, complex)
    for kind in kinds:
        if type(value) is kind:
            return value
        if isinstance(value, kind):
            return kind(value)
    return value


def tensor_from(recorder: Recorder, data: Any, dtype: Any, device: Any) -> Any:
    """`torch.tensor(data)` where data holds symbolic numbers or abstract tensors."""
    options = {"device": torch.device(device or torch.get_default_device())}
    if isinstance(data, list | tuple):
        rows = [tensor_from(recorder, row, dtype, device) for row in data]
        wide = dtype or _common_dtype(rows)
        rows = [recorder.call(torch.ops.aten.to.dtype, (row, wide), {}) for row in rows]
        return recorder.call(torch.ops.aten.stack.default, (rows,), {})
    if isinstance(data, AbstractTensor):
        copy = recorder.call(torch.ops.aten.clone.default, (data.detach(),), {})
        return copy if dtype is None else recorder.call(torch.ops.aten.to.dtype, (copy, dtype), {})
    chosen = dtype or _dtype_of_number(data)
    return recorder.call(
        torch.ops.aten.scalar_tensor.default, (data,), {"dtype": chosen, **options}
    )


def _common_dtype(rows: list[Any]) -> torch.dtype:
    dtype = rows[0].dtype
    for row in rows[1:]:
        dtype = torch.promote_types(dtype, row.dtype)
    return dtype


def _dtype_of_number(number: Any) -> torch.dtype:
    if isinstance(number, bool | torch.SymBool):
        return torch.bool
    if isinstance(number, int | torch.SymInt):
        return torch.int64
    if isinstance(number, complex):
        return torch.complex64
    return torch.get_default_dtype()


def holds_symbols(data: Any) -> bool:
    """Whether nested data has something in it that only exists during capture."""
    if isinstance(data, list | tuple):
        return any(holds_symbols(row) for row in data)
    return isinstance(data, AbstractTensor | torch.SymInt | torch.SymFloat | torch.SymBool)
