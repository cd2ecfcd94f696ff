"""The tensor user code sees during capture: a `TensorType` and the graph node that makes it.

Two classes, because PyTorch's C++ asks tensors for sizes in two ways. A `StaticTensor` carries its
real sizes, so that C++ answers by itself; a `SymbolicTensor` has dummy sizes and answers in Python.
Both have no data: whatever needs data goes to the recorder that made them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import torch

from monograph.abstract.flags import Flags
from monograph.abstract.layout import contiguity, is_contiguous, is_dense
from monograph.abstract.symbols import is_shown, to_sym
from monograph.abstract.tensor_type import TensorType, type_text
from monograph.diagnostics import problem
from monograph.host.dispatch import (
    DISABLED_TORCH_FUNCTION,
    make_static_wrapper,
    make_symbolic_wrapper,
)
from monograph.integers import ge

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from torch.fx.node import Node

    from monograph.abstract.layout import LayoutQuestion
    from monograph.integers import Facts, Int


class Doubting(Protocol):
    """What knows which questions have no answer that always holds."""

    def check_answer(self, question: Any, tensor: AbstractTensor) -> None:
        """Somebody asks a tensor something about itself."""
        ...

    def check_hash(self, tensor: AbstractTensor) -> None:
        """Somebody asks which object a tensor is."""
        ...


class Counting(Protocol):
    """What knows which tensors count the writes to their memory on their own."""

    def counts_apart(self, data: AbstractTensor) -> None:
        """A tensor is what `.data` gave."""
        ...

    def is_counted_apart(self, tensor: AbstractTensor) -> bool:
        """Whether writes to a memory may count for one of its tensors and not for another."""
        ...

    def takes_over(self, written: AbstractTensor, root: AbstractTensor) -> None:
        """`tensor.data = value` was recorded as a write."""
        ...


class Recording(Protocol):
    """What an abstract tensor asks of the recorder that made it."""

    facts: Facts
    closed: bool
    """Whether the capture has ended."""
    tells_users: bool
    """Whether user code hears what it answers, or the formulas of a lowering."""

    @property
    def lineage(self) -> Counting:
        """Who wrote to what."""
        ...

    @property
    def aliases(self) -> Doubting:
        """What has no answer that always holds."""
        ...

    def refused_in_thread(self, op: str) -> Exception:
        """The refusal of what another thread computes."""
        ...

    def refusal_outside(self, tensor: AbstractTensor) -> Exception:
        """What to raise where the tensor is used by another recorder."""
        ...

    def call(self, overload: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Record one operator call."""
        ...

    def item(self, tensor: AbstractTensor) -> Any:
        """The tensor's only element, as a Python or symbolic number."""
        ...

    def layout_asked(self, tensor: AbstractTensor, question: LayoutQuestion) -> None:
        """User code depends on how this tensor lies in memory."""
        ...

    def dtype_asked(self, tensor: AbstractTensor) -> None:
        """User code knows the dtype of this tensor."""
        ...

    def asked(self, tensor: AbstractTensor, question: str) -> bool:
        """What the tensor says of itself, which user code depends on from then on."""
        ...

    def text_asked(self, tensor: AbstractTensor) -> None:
        """Somebody wants to read the tensor."""
        ...

    def detached(self, tensor: AbstractTensor) -> Any:
        """The tensor outside of autograd."""
        ...

    def set_requires_grad(self, tensor: AbstractTensor, flag: bool) -> None:
        """Let autograd follow the tensor, or not."""
        ...

    def abstract(self, tensor: torch.Tensor) -> AbstractTensor:
        """This capture's tensor for any tensor."""
        ...

    def truth(self, tensor: AbstractTensor) -> bool:
        """Whether the only element is not zero, where that is known."""
        ...

    def getitem(self, tensor: AbstractTensor, index: Any) -> Any:
        """`tensor[index]`."""
        ...

    def setitem(self, tensor: AbstractTensor, index: Any, value: Any) -> None:
        """`tensor[index] = value`."""
        ...

    def access_memory(
        self, tensor: Any, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """A method that leads to the memory of a tensor, which need not be abstract."""
        ...

    def memory_behind(self, real: torch.Tensor) -> AbstractTensor | None:
        """A view of what a real tensor shares memory with, where calls may change that."""
        ...

    def read_data(self, tensor: AbstractTensor, reader: str) -> Any:
        """What the reader gives for the example, where an export goes on after refusing it."""
        ...


class AbstractTensor(Flags):
    """A tensor without data. Made by `make_tensor` only."""

    __torch_function__ = DISABLED_TORCH_FUNCTION
    __slots__ = ("identity", "n_writes", "node", "recorder", "tensor_type", "view_of")
    """What user code put on a tensor is all that its `__dict__` holds."""

    identity: int
    """Of the real tensor that this one stands for, whose hash it has; not set of others."""

    tensor_type: TensorType
    node: Node | None
    recorder: Recording
    view_of: AbstractTensor | None
    """The tensor whose storage this one views, None if it has its own."""
    n_writes: int
    """How often the storage was written to during the capture; kept on roots."""

    @classmethod
    def __torch_dispatch__(
        cls,
        func: Any,
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        answer = METADATA.get(id(func))
        if answer is not None:
            return answer(*args, **(kwargs or {}))
        owner = next((each for each in args if isinstance(each, AbstractTensor)), None)
        if owner is not None and not owner.recorder.closed:
            raise owner.recorder.refused_in_thread(str(func))
        raise problem("leaked-tensor", op=str(func))

    @property
    def storage_root(self) -> AbstractTensor:
        """The tensor that owns the storage: this one, or the one it views."""
        return self if self.view_of is None else self.view_of

    @property
    def dtype(self) -> torch.dtype:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The dtype; who asks may decide by it."""
        self.recorder.dtype_asked(self)
        return self.tensor_type.dtype

    @property
    def itemsize(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Bytes of one element."""
        return self.dtype.itemsize

    @property
    def nbytes(self) -> Any:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Bytes of all elements."""
        return self.number(self.tensor_type.numel() * self.dtype.itemsize)

    @property
    def shape(self) -> torch.Size:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Sizes: ints, and `torch.SymInt` where dynamic."""
        sizes = self.tensor_type.shape
        facts = self.recorder.facts
        return torch.Size([size if type(size) is int else to_sym(size, facts) for size in sizes])

    def number(self, value: Int) -> Any:
        """A size of this tensor as user code sees it."""
        return value if type(value) is int else to_sym(value, self.recorder.facts)

    def size(self, dim: int | None = None) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        """All sizes, or one."""
        if dim is None:
            return self.shape
        return self.number(self.tensor_type.shape[_checked_dim(dim, self.tensor_type.rank)])

    def stride(self, dim: int | None = None) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        """All strides in elements, or one.

        Those of a contiguous tensor are products of its sizes only where none of these is 0.

        Raises: size-must-be-positive (the tensor is not contiguous, and has a size of 0).
        """
        self.recorder.layout_asked(self, "strides")
        strides = self.tensor_type.stride()
        if type(self) is SymbolicTensor:
            strides = self._strides_of_elements()
        if dim is None:
            return tuple(self.number(stride) for stride in strides)
        return self.number(strides[_checked_dim(dim, len(strides))])

    def _strides_of_elements(self) -> tuple[Int, ...]:
        """The strides, once it is decided whether the sizes they are made of are 0."""
        t, facts = self.tensor_type, self.recorder.facts
        self._decide_elements()
        if t.strides is not None:
            for stride in t.strides:
                if type(stride) is not int and not bool(to_sym(ge(stride, 1), facts)):
                    raise problem("size-must-be-positive", size=stride, what="stride()")
            return t.strides
        steps: list[Int] = []
        step: Int = 1
        for size in reversed(t.shape):
            steps.append(step)
            if len(steps) < t.rank and bool(to_sym(ge(size, 1), facts)):
                step = step * size
        return tuple(reversed(steps))

    def _decide_elements(self) -> None:
        """Decide whether sizes are 0: without elements, kernels choose any strides."""
        for size in self.tensor_type.shape if self.recorder.tells_users else ():
            if type(size) is not int:
                bool(to_sym(ge(size, 1), self.recorder.facts))

    def storage_offset(self) -> Any:
        """In elements."""
        self.recorder.layout_asked(self, "offset")
        self.recorder.aliases.check_answer("offset", self)
        return self.number(self.tensor_type.offset)

    def numel(self) -> Any:
        """Number of elements."""
        return self.number(self.tensor_type.numel())

    nelement = numel

    def dim(self) -> int:
        """Number of dimensions."""
        return len(self.tensor_type.shape)

    ndimension = dim

    @property
    def ndim(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Number of dimensions."""
        return len(self.tensor_type.shape)

    def is_contiguous(self, memory_format: torch.memory_format = torch.contiguous_format) -> bool:
        """Whether it is contiguous for all sizes in question, or for the example, with a guard."""
        is_plain = memory_format is torch.contiguous_format
        self.recorder.layout_asked(self, "form" if is_plain else "strides")
        in_general = is_contiguous(self.tensor_type, memory_format)
        if type(self) is StaticTensor or (is_plain and in_general):
            return in_general
        where, facts = contiguity(self.tensor_type, memory_format), self.recorder.facts
        if not is_plain and where is not False:
            self._decide_elements()
        # Data may decide, of whom formulas take the general answer.
        is_general = facts.prefers_general and facts.hint_of_relation(where) is None
        return not is_general and bool(to_sym(where, facts))

    def contiguous(self, memory_format: torch.memory_format = torch.contiguous_format) -> Any:
        """Recorded always: C++ would drop it where the example is contiguous already."""
        plain = memory_format is torch.contiguous_format
        options = {} if plain else {"memory_format": memory_format}
        return self.recorder.call(torch.ops.aten.contiguous.default, (self,), options)

    def element_size(self) -> int:
        """Bytes of one element."""
        return self.dtype.itemsize

    def type(self, *args: Any, **kwargs: Any) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        """The name of the dtype and device, or a conversion."""
        if not args and not kwargs:
            self.recorder.dtype_asked(self)
        return super().type(*args, **kwargs)

    def __len__(self) -> int:
        if not self.tensor_type.shape:
            message = "len() of a 0-d tensor"
            raise TypeError(message)
        return self.number(self.tensor_type.shape[0])

    def __iter__(self) -> Iterator[Any]:
        if not self.tensor_type.shape:
            message = "iteration over a 0-d tensor"
            raise TypeError(message)
        return iter(self.recorder.call(torch.ops.aten.unbind.int, (self,), {}))

    def unbind(self, dim: Any = 0) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Slices along a dimension. In Python, so that interpreters are told of the call."""
        return super().unbind(dim)

    def __getitem__(self, index: Any) -> Any:
        return self.recorder.getitem(self, index)

    def __setitem__(self, index: Any, value: Any) -> None:
        self.recorder.setitem(self, index, value)

    def item(self) -> Any:
        """The only element, as a Python or symbolic number."""
        return self.recorder.item(self)

    def __bool__(self) -> bool:
        return self.recorder.truth(self)

    def __int__(self) -> int:
        return int(self.recorder.item(self))

    def __index__(self) -> int:
        return self.recorder.item(self).__index__()

    def __float__(self) -> float:
        return float(self.recorder.item(self))

    def __complex__(self) -> complex:
        return complex(self.recorder.item(self))

    def __contains__(self, element: Any) -> bool:
        return bool((self == element).any())

    @property
    def data(self) -> Any:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The same values outside of autograd, and whoever writes to them is not counted."""
        found = self.recorder.detached(self)
        self.recorder.lineage.counts_apart(found)
        return found

    def detach(self) -> Any:
        """The same values outside of autograd."""
        return self.recorder.detached(self)

    @data.setter
    def data(self, value: torch.Tensor) -> None:
        """Written in place: right where nothing else lies in the memory that it takes over.

        A tensor that is given its own memory stays as it is.
        Whether that goes on is seen when the run has ended (`Lineage.taken_over`).
        Raises: data-replaced (the memory is that of an input or of the module's state, or has
            another shape or dtype).
        """
        new = self.recorder.abstract(value)
        root, ours, theirs = new.storage_root, self.tensor_type, new.tensor_type
        is_own = root.node is not None and root.node.op == "call_function"
        if ours.dtype != theirs.dtype or ours.shape != theirs.shape:
            reason = f"it is {type_text(ours)}, and would be {type_text(theirs)}"
            raise problem("data-replaced", reason=reason)
        if root is self.storage_root and ours == theirs:
            return  # its own memory, as `Module.to` gives each parameter that need not change
        if not is_own:
            raise problem("data-replaced", reason="an input or the module's state lies in that")
        own = self.storage_root
        users = () if own.node is None or own.node.op == "placeholder" else own.node.users
        if any(lies_in(each.meta.get("val"), own) for each in users):
            raise problem("data-replaced", reason="another tensor may lie in what it had")
        if ours.strides is not theirs.strides and ours.stride() != theirs.stride():
            raise problem("data-replaced", reason="its elements lie in another order there")
        self.recorder.layout_asked(self, "strides")
        written = self.data
        self.recorder.call(torch.ops.aten.copy_.default, (written, value), {})
        self.recorder.lineage.takes_over(written, root)

    @property
    def _version(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        root = self.storage_root
        self.recorder.aliases.check_answer("version", root)
        is_own = self.recorder.asked(self, "is_own")
        if not is_own or (root.n_writes and self.recorder.lineage.is_counted_apart(root)):
            return self.recorder.read_data(self, "_version")
        return root.n_writes

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        self.recorder.text_asked(self)
        return f"AbstractTensor({self.tensor_type!r})"

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        if not spec or is_shown():
            return repr(self)
        value = None if self.tensor_type.shape else self.recorder.item(self)
        if not isinstance(value, int | float | complex):
            value = self.recorder.read_data(self, "format()")
        return format(value, spec)

    def __hash__(self) -> int:
        """The identity, which may be in doubt. Raises: branch-decides, outside-read."""
        self.recorder.aliases.check_hash(self)
        self.recorder.asked(self, "hash")
        try:
            return _identity_of(self)  # not asked as attributes are, which is a question
        except AttributeError:
            return id(self)


def _checked_dim(dim: int, rank: int) -> int:
    limit = max(rank, 1)
    if -limit <= dim < limit:
        return dim
    legal = f"[{-limit}, {limit - 1}]"
    message = f"Dimension out of range (expected to be in range of {legal}, but got {dim})"
    raise IndexError(message)


_identity_of: Callable[[Any], int] = vars(AbstractTensor)["identity"].__get__


class StaticTensor(AbstractTensor):
    """All sizes are known: C++ holds them."""


class SymbolicTensor(AbstractTensor):
    """Some size is an expression: C++ asks through the dispatcher."""


def lies_in(value: Any, root: AbstractTensor) -> bool:
    """Whether a value, or one of several, lies in the memory of this tensor."""
    if isinstance(value, list | tuple):
        return any(lies_in(each, root) for each in value)
    return isinstance(value, AbstractTensor) and value.storage_root is root


def with_requires_grad(t: TensorType, requires_grad: bool) -> TensorType:
    """The same type with the flag set."""
    return TensorType(t.shape, t.dtype, t.device, t.strides, t.offset, requires_grad)


def make_tensor(tensor_type: TensorType, node: Node | None, recorder: Recording) -> AbstractTensor:
    """An abstract tensor of the given type."""
    for size in tensor_type.shape:
        if type(size) is not int or size == 0:  # `out=` may resize what is empty
            tensor = make_symbolic_wrapper(
                SymbolicTensor, len(tensor_type.shape), tensor_type.dtype, tensor_type.device
            )
            break
    else:
        tensor = _make_static(tensor_type)
    tensor.tensor_type = tensor_type
    tensor.node = node
    tensor.recorder = recorder
    tensor.view_of = None
    tensor.n_writes = 0
    tensor.__class__ = torch.Tensor
    return tensor


def _make_static(t: TensorType) -> Any:
    strides, offset = t.strides, t.offset
    for number in (offset, *(strides or ())):
        if type(number) is not int:
            return make_symbolic_wrapper(SymbolicTensor, len(t.shape), t.dtype, t.device)
    if strides is None and offset != 0:
        strides = t.stride()
    return make_static_wrapper(StaticTensor, t.shape, strides, offset, t.dtype, t.device)


def _sizes(tensor: AbstractTensor) -> list[Any]:
    return [tensor.number(size) for size in tensor.tensor_type.shape]


def _one_size(tensor: AbstractTensor, dim: int) -> Any:
    return tensor.number(tensor.tensor_type.shape[dim])


def _strides(tensor: AbstractTensor) -> list[Any]:
    return [tensor.number(stride) for stride in tensor.tensor_type.stride()]


def _one_stride(tensor: AbstractTensor, dim: int) -> Any:
    return tensor.number(tensor.tensor_type.stride()[dim])


def _offset(tensor: AbstractTensor) -> Any:
    return tensor.number(tensor.tensor_type.offset)


def _is_contiguous(
    tensor: AbstractTensor, memory_format: torch.memory_format = torch.contiguous_format
) -> bool:
    return is_contiguous(tensor.tensor_type, memory_format)


def _strides_like(tensor: AbstractTensor, memory_format: torch.memory_format) -> bool:
    return is_contiguous(tensor.tensor_type, memory_format)


def _metadata_answers() -> dict[int, Callable[..., Any]]:
    """C++ asks symbolic tensors these through the dispatcher; keyed by identity of the overload."""
    aten = torch.ops.aten
    prim = torch.ops.prim
    table: list[tuple[Any, Callable[..., Any]]] = [
        (aten.dim.default, AbstractTensor.dim),
        (aten.size.default, _sizes),
        (aten.size.int, _one_size),
        (aten.sym_size.default, _sizes),
        (aten.sym_size.int, _one_size),
        (aten.stride.default, _strides),
        (aten.stride.int, _one_stride),
        (aten.sym_stride.default, _strides),
        (aten.sym_stride.int, _one_stride),
        (aten.numel.default, AbstractTensor.numel),
        (aten.sym_numel.default, AbstractTensor.numel),
        (aten.storage_offset.default, _offset),
        (aten.sym_storage_offset.default, _offset),
        (aten.is_contiguous.default, _is_contiguous),
        (aten.is_contiguous.memory_format, _is_contiguous),
        (aten.sym_is_contiguous.default, _is_contiguous),
        (aten.is_strides_like_format.default, _strides_like),
        (aten.is_non_overlapping_and_dense.default, lambda t: is_dense(t.tensor_type)),
        (prim.layout.default, lambda _: torch.strided),
        (prim.device.default, lambda t: t.tensor_type.device),
    ]
    return {id(overload): answer for overload, answer in table}


METADATA = _metadata_answers()

__all__ = [
    "METADATA",
    "AbstractTensor",
    "Recording",
    "StaticTensor",
    "SymbolicTensor",
    "lies_in",
    "make_tensor",
    "with_requires_grad",
]
