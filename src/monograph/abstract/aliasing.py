"""Alias analysis: which memory the results of operators lie in, and which arguments they write to.

One table for everybody who asks. Most of it is in operators' schemas: a view of its argument is
`Tensor(a) -> Tensor(a)`, what is written to is `Tensor(a!)`. What they leave out, and what depends
on the arguments, stands in `_BY_NAME`. Law, held in `tests/laws/test_aliasing.py`: what eager gives
is among what the table says, for every call.
"""

from __future__ import annotations

import operator
from enum import Enum, auto
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

import torch
from torch.fx.node import Node, map_arg

from monograph.abstract.layout import contiguity, is_contiguous, suggest_memory_format
from monograph.abstract.tensor import AbstractTensor
from monograph.host.decompositions import is_composite
from monograph.host.dispatch import schema_of
from monograph.host.operator_types import OpOverload
from monograph.host.overloads import aten as _aten
from monograph.integers import eq, ge, known, require

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping

    from monograph.abstract.tensor_type import TensorType


class Result(Enum):
    """What a result is to the argument that the table names as its source."""

    FRESH = auto()
    """It has memory of its own."""
    VIEW = auto()
    """It lies in the argument's memory."""
    ARGUMENT = auto()
    """It is the argument."""

    __hash__ = object.__hash__  # Enum's own is a Python function, called for every operator


Results = frozenset[Result]
"""All that a result may be, where something decides that the table does not know."""

FRESH: Final[Results] = frozenset({Result.FRESH})
VIEW: Final[Results] = frozenset({Result.VIEW})
ARGUMENT: Final[Results] = frozenset({Result.ARGUMENT})
IF_NEEDED: Final[Results] = FRESH | ARGUMENT
"""A copy where something is to be changed, else the argument."""


class Call(NamedTuple):
    """The types of a source and a result, and the call that made it.

    `lies` tells whether the source lies in memory as its type says in every call.
    """

    given: TensorType
    made: TensorType
    table: Aliasing
    args: Any
    kwargs: Mapping[str, Any]
    lies: bool

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments by their names."""
        return self.table.bound(self.args, self.kwargs)


# --- what depends on the call ------------------------------------------------------------------


def _contiguous(call: Call) -> Results:
    if not call.lies:
        return IF_NEEDED
    form = call.arguments.get("memory_format") or torch.contiguous_format
    if is_contiguous(call.given, form):
        return ARGUMENT
    return FRESH if known(contiguity(call.given, form)) is False else IF_NEEDED


def _reshape(call: Call) -> Results:
    """A view has its elements in the order of its source: it is contiguous iff that is."""
    if not call.lies:
        return FRESH | VIEW
    if is_contiguous(call.given):
        return VIEW
    is_copied = is_contiguous(call.made) and known(contiguity(call.given)) is False
    return FRESH if is_copied else FRESH | VIEW


def _flatten(call: Call) -> Results:
    rank = call.given.rank
    arguments = call.arguments
    ends = arguments.get("start_dim", 0), arguments.get("end_dim", -1)
    if rank and all(type(end) is int for end in ends) and ends[0] % rank == ends[1] % rank:
        return ARGUMENT
    return _reshape(call) if rank else VIEW


def _to(call: Call) -> Results:
    given, made = call.given, call.made
    if given.dtype != made.dtype or given.device != made.device:
        return FRESH
    arguments = call.arguments
    copies = arguments.get("copy")
    if copies is not None and copies is not False:
        return FRESH if copies is True else IF_NEEDED
    form = arguments.get("memory_format")
    if form is None or form is torch.preserve_format:
        return ARGUMENT
    # Else it is a copy where the format that the strides suggest is another.
    is_plain = form is torch.contiguous_format
    if given.rank not in {4, 5}:
        return ARGUMENT if is_plain else FRESH
    if not call.lies or not all(type(each) is int for each in (*given.shape, *given.stride())):
        is_clear = call.lies and given.strides is None
        return IF_NEEDED if not is_clear else ARGUMENT if is_plain else FRESH
    return ARGUMENT if suggest_memory_format(given) is form else FRESH


def _resolve_conj(call: Call) -> Results:
    """Whether it is the conjugate of its memory is no part of a type."""
    return IF_NEEDED if call.given.dtype.is_complex else ARGUMENT


def _drops_nothing(arguments: Mapping[str, Any]) -> bool:
    return arguments.get("p") == 0 or arguments.get("train") is False


def _dropout(call: Call) -> Results:
    is_empty = any(type(size) is int and size == 0 for size in call.given.shape)
    return ARGUMENT if is_empty or _drops_nothing(call.arguments) else FRESH


def _of_complex(call: Call) -> Results:
    return VIEW if call.given.dtype.is_complex else ARGUMENT


def _of_one(call: Call) -> Results:
    """An operator on a list of tensors that computes nothing where there is but one."""
    return FRESH | VIEW | ARGUMENT if len(call.arguments["tensors"]) == 1 else FRESH


def _conj_physical(call: Call) -> Results:
    return FRESH if call.given.dtype.is_complex else ARGUMENT


def _if_rank(rank: int) -> Callable[[Call], Results]:
    return lambda call: ARGUMENT if call.given.rank >= rank else VIEW


def _sum_to_size(call: Call) -> Results:
    is_smaller = known(eq(call.given.numel(), call.made.numel())) is False
    return FRESH if is_smaller else FRESH | VIEW | ARGUMENT


COPIES_BY_LAYOUT: Final = frozenset({"contiguous", "flatten", "ravel", "reshape", "reshape_as"})
"""Operators that return their argument or a view of it, or a copy if it lies otherwise."""

_Law = tuple[Results, "Callable[[Call], Results] | None"]
_COPY_OR_VIEW: Final[_Law] = FRESH | VIEW, _reshape
_CONVERSION: Final[_Law] = IF_NEEDED, _to
_DROPOUTS: Final = ("alpha_dropout", "dropout", "feature_alpha_dropout", "feature_dropout")

_BY_NAME: Final[Mapping[str, _Law]] = MappingProxyType(
    {
        # Operators that copy where they must.
        "contiguous": (IF_NEEDED, _contiguous),
        "flatten": (FRESH | VIEW | ARGUMENT, _flatten),
        **dict.fromkeys(("ravel", "reshape", "reshape_as"), _COPY_OR_VIEW),
        **dict.fromkeys(("to", "to_dense", "type_as"), _CONVERSION),
        **dict.fromkeys((f"_cast_{kind}" for kind in ("Double", "Float", "Int")), _CONVERSION),
        "wait_tensor": (ARGUMENT, None),
        "pin_memory": (IF_NEEDED, None),
        "resolve_conj": (IF_NEEDED, _resolve_conj),
        "resolve_neg": (IF_NEEDED, None),
        "conj_physical": (IF_NEEDED, _conj_physical),
        "sum_to_size": (FRESH | VIEW | ARGUMENT, _sum_to_size),
        **dict.fromkeys(_DROPOUTS, (IF_NEEDED, _dropout)),
        # Operators that never copy.
        "conj": (VIEW | ARGUMENT, _of_complex),
        "real": (VIEW | ARGUMENT, _of_complex),
        "atleast_1d": (VIEW | ARGUMENT, _if_rank(1)),
        "atleast_2d": (VIEW | ARGUMENT, _if_rank(2)),
        "atleast_3d": (VIEW | ARGUMENT, _if_rank(3)),
        **dict.fromkeys(("lift", "lift_fresh", "positive"), (ARGUMENT, None)),
        **dict.fromkeys(("data", "meshgrid", "unsafe_chunk", "unsafe_split"), (VIEW, None)),
        **dict.fromkeys(("_unsafe_view", "unsafe_split_with_sizes"), (VIEW, None)),
        "broadcast_tensors": (VIEW | ARGUMENT, None),
        # Operators on lists that may be given one tensor.
        **dict.fromkeys(("cartesian_prod", "einsum"), (FRESH | VIEW | ARGUMENT, _of_one)),
    }
)
"""By the operator's name, what its results may be to its first argument, and what decides it."""

_NAMESPACES: Final = frozenset({"aten", "_c10d_functional"})
"""Of the operators that the table names."""

_COMPOSITE_BUT_FRESH: Final = frozenset(
    {
        *("adaptive_avg_pool2d", "batch_norm", "conv1d", "conv2d", "conv3d", "cross_entropy_loss"),
        *("embedding", "group_norm", "layer_norm", "linear", "matmul", "max_pool2d", "one_hot"),
        *("scaled_dot_product_attention", "softmax", "stack", "sum"),
    }
)
"""Composite operators that always make a new tensor, whatever they are made of."""

_SILENT_WRITES: Final[Mapping[str, str]] = MappingProxyType(
    {
        **dict.fromkeys(("_batch_norm_impl_index", "batch_norm", "cudnn_batch_norm"), "training"),
        **dict.fromkeys(("miopen_batch_norm", "native_batch_norm"), "training"),
        "instance_norm": "use_input_stats",
    }
)
"""Operators that update their statistics without declaring it: under which flag."""

STATISTICS: Final = ("running_mean", "running_var")

BEGINS_HISTORY: Final = torch.ops.aten.requires_grad_.default
"""Its schema says that it writes: it makes a leaf of its argument, and changes no data."""


class Aliasing:
    """What is known of one overload."""

    __slots__ = (
        "_decide",
        "_position",
        "argument_names",
        "decides_by_layout",
        "hides_views",
        "is_dropout",
        "is_inplace",
        "is_list",
        "outs",
        "possible",
        "returned",
        "silent_flag",
        "source",
        "written",
    )

    def __init__(self, overload: OpOverload) -> None:
        schema = schema_of(overload)
        name = schema.name.rpartition("::")[2]
        self.argument_names: tuple[str, ...] = tuple(a.name for a in schema.arguments)
        self.written: tuple[str, ...] = tuple(a.name for a in schema.arguments if _is_written(a))
        self.outs = tuple(a.name for a in schema.arguments if a.kwarg_only and _is_written(a))
        """Those written to that are given by keyword, as `out=`."""
        self.is_inplace = name.endswith("_") and self.written == self.argument_names[:1]
        """Whether it changes its first argument alone, and gives that back."""
        self.returned = _returned(schema)
        """For each result, the argument that is written to and returned as it is."""
        law = _BY_NAME.get(name) if overload.namespace in _NAMESPACES and not self.written else None
        self.source = _source(schema) or (_first_tensors(schema) if law else None)
        """The argument in whose memory results may lie."""
        self.is_list = law is not None and _takes_list(schema)
        """Whether the source is a list of tensors, each the source of one result."""
        is_plain = self.source is not None and not self.written and not self.is_list
        self._position = self.argument_names.index(self.source) if is_plain else None
        """Where the only source of all results stands."""
        self.possible, self._decide = law or (VIEW if self.source else FRESH, None)
        self.silent_flag = _SILENT_WRITES.get(name) if overload.namespace == "aten" else None
        is_known = bool(self.source or self.written) or name in _COMPOSITE_BUT_FRESH
        self.hides_views = not is_known and (
            torch.Tag.maybe_aliasing_or_mutating in overload.tags or is_composite(overload)
        )
        """Whether results may lie in the memory of arguments, and the table knows no more."""
        self.decides_by_layout = name in COPIES_BY_LAYOUT and overload.namespace == "aten"
        self.is_dropout = name.removesuffix("_") in _DROPOUTS and overload.namespace == "aten"

    @property
    def may_alias(self) -> bool:
        """Whether a result may share memory with an argument."""
        return self.hides_views or self.source is not None or bool(self.written)

    def results(
        self, given: TensorType, made: TensorType, args: Any, kwargs: Any, *, lies: bool
    ) -> Results:
        """What a result may be to its source; `lies` where that lies in memory as its type says."""
        if self._decide is None:
            return self.possible
        return self._decide(Call(given, made, self, args, kwargs, lies))

    def argument(self, name: str | None, args: Any, kwargs: Mapping[str, Any]) -> Any:
        """The argument of that name, None where there is none."""
        if name is None:
            return None
        position = self.argument_names.index(name)
        return args[position] if position < len(args) else kwargs.get(name)

    def bound(self, args: Any, kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """Arguments by their names."""
        return dict(zip(self.argument_names, args, strict=False)) | dict(kwargs)

    def is_idle(self, args: Any, kwargs: Mapping[str, Any]) -> bool:
        """Whether it is a dropout, in place or not, that drops nothing: it gives its argument."""
        return self.is_dropout and _drops_nothing(self.bound(args, kwargs))

    def writes(self, args: Any, kwargs: Mapping[str, Any]) -> list[Any]:
        """The arguments that a call writes to, statistics that no schema mentions among them."""
        names = () if self.is_idle(args, kwargs) else self.written
        if self.silent_flag is not None:
            bound = self.bound(args, kwargs)
            names += STATISTICS if bound.get(self.silent_flag) is not False else ()
        return [self.argument(name, args, kwargs) for name in names]

    def source_of_result(self, index: int | None, args: Any, kwargs: Mapping[str, Any]) -> Any:
        """The argument in whose memory a result may lie: one of several, or the only one."""
        position = self._position
        if position is not None and position < len(args):
            return args[position]
        if self.written:
            place = index or 0
            name = self.returned[place] if place < len(self.returned) else None
            return self.argument(name, args, kwargs)
        source = self.argument(self.source, args, kwargs)
        if not self.is_list or source is None:
            return source
        return source[index or 0] if (index or 0) < len(source) else None


_KNOWN: Final[dict[int, Aliasing]] = {}
"""By identity: overloads live as long as the process."""


def aliasing_of(overload: OpOverload) -> Aliasing:
    """What is known of an overload."""
    found = _KNOWN.get(id(overload))
    if found is None:
        found = _KNOWN[id(overload)] = Aliasing(overload)
    return found


# --- what schemas say --------------------------------------------------------------------------


def _is_written(argument: Any) -> bool:
    return argument.alias_info is not None and argument.alias_info.is_write


def _sets(schema: Any, *, written: bool) -> dict[str, str]:
    """The arguments by the names of their alias sets."""
    return {
        name: argument.name
        for argument in schema.arguments
        if argument.alias_info is not None and argument.alias_info.is_write is written
        for name in argument.alias_info.before_set
    }


def _returned(schema: Any) -> tuple[str | None, ...]:
    written = _sets(schema, written=True)
    return tuple(
        next((written[n] for n in result.alias_info.before_set if n in written), None)
        if _is_written(result)
        else None
        for result in schema.returns
    )


def _source(schema: Any) -> str | None:
    sources = _sets(schema, written=False)
    for result in schema.returns:
        for name in () if result.alias_info is None else result.alias_info.before_set:
            if name in sources:
                return sources[name]
    for argument in schema.arguments:  # `Tensor(a -> *)`: a list of views, as `split` gives
        info = argument.alias_info
        wildcards = () if info is None or info.is_write else info.after_set
        if any(name.rpartition("::")[2] == "*" for name in wildcards):
            return argument.name
    return None


def _first_tensors(schema: Any) -> str:
    return next(each.name for each in schema.arguments if "Tensor" in str(each.type))


def _takes_list(schema: Any) -> bool:
    return any("List[Tensor]" in str(each.type) for each in schema.arguments)


# --- nodes of graphs ---------------------------------------------------------------------------


def _made_by(node: Node) -> tuple[Node, int | None]:
    """The call that made a value, and which of its results that is, if it has several."""
    if node.target is operator.getitem and isinstance(node.args[0], Node):
        index: Any = node.args[1]
        return node.args[0], index
    return node, None


def source_of(node: Node) -> Node | None:
    """What a value may lie in the memory of, or be, by the operator that made it."""
    call, index = _made_by(node)
    target: Any = call.target
    if call.op != "call_function" or not isinstance(target, OpOverload):
        return None
    found = aliasing_of(target).source_of_result(index, call.args, call.kwargs)
    return found if isinstance(found, Node) else None


def results_of(node: Node, *, lies: bool = False) -> Results:
    """What a value may be to its source; `lies` where inputs lie in memory as the examples do."""
    source, (call, _) = source_of(node), _made_by(node)
    if source is None:
        return FRESH
    target: Any = call.target
    table = aliasing_of(target)
    if table.written:
        return ARGUMENT
    given, made = source.meta.get("val"), node.meta.get("val")
    if not isinstance(given, AbstractTensor) or not isinstance(made, AbstractTensor):
        return table.possible
    types = given.tensor_type, made.tensor_type
    return table.results(*types, call.args, call.kwargs, lies=lies)


def may_drop_nothing(node: Node) -> bool:
    """Whether it is a dropout that may give its very argument, as that may have no elements."""
    return is_a_dropout(node) and known(ge(node.meta["val"].tensor_type.numel(), 1)) is not True


def require_drop(node: Node) -> None:
    """Make it a condition of the program that a dropout does not give its very argument.

    Raises: size-must-be-positive (the example has no elements).
    """
    n = node.meta["val"].tensor_type.numel()
    require(ge(n, 1), "size-must-be-positive", size=n, what=str(node.target).split(".")[1])


def is_a_dropout(node: Node) -> bool:
    """Whether it calls an operator that gives its very argument where that has no elements."""
    return isinstance(node.target, OpOverload) and aliasing_of(node.target).is_dropout


def view_chain(node: Node, within: Results | None = None, *, lies: bool = False) -> list[Node]:
    """A value, its source, the source of that, and so on, to what has memory of its own for sure.

    With `within`, as long as each is nothing else to its source.
    """
    found = [node]
    while True:
        results = results_of(found[-1], lies=lies)
        source = source_of(found[-1])
        if source is None or results == FRESH or (within is not None and not results <= within):
            return found
        found.append(source)


def is_view_of(node: Node | None, base: Node | None) -> bool:
    """Whether a node makes a view of what another gives, by operators that say of what."""
    while node is not base:
        if node is None:
            return False
        source = source_of(node)
        is_view = source is not None and source is node.args[0] and results_of(node) != FRESH
        if not is_view or (node.kwargs and overwritten(node) is None):
            return False
        node = source
    return True


def view_steps(node: Node) -> list[Node]:
    """The same chain, with the calls that made several values between these and their source."""
    return [
        each for value in view_chain(node) for each in dict.fromkeys((value, _made_by(value)[0]))
    ]


LazyBit = Literal["is_conj", "is_neg"]
"""A view that is a conjugate, or negated, as a bit says, and not its memory."""
LAZY_BITS: Final[tuple[LazyBit, ...]] = ("is_conj", "is_neg")


def bit_sources(node: Node | None, bit: LazyBit) -> Iterator[tuple[Node, LazyBit]]:
    """A value, and what it has a lazy bit from: each is a view of the next, whose bit that is."""
    while node is not None:
        yield node, bit
        is_plain = node.target in _PLAIN_COPIES or results_of(node) == FRESH
        bit = "is_conj" if node.target is _aten.imag.default else bit
        node = None if is_plain else source_of(node)


def flips_bit(node: Node, bit: LazyBit) -> bool:
    """Whether what an operator gives has the bit where its source has not."""
    if node.target is _aten.fft_ifft.default:
        given: Any = node.args[0]
        return bit == "is_conj" and not given.meta["val"].is_complex()
    return node.target in _FLIPS[bit]


_FLIPS: Final[Mapping[LazyBit, Collection[Any]]] = {
    "is_conj": (
        *(_aten.conj.default, _aten._conj.default),  # noqa: SLF001 - an operator's name
        *(_aten.adjoint.default, _aten.matrix_H.default, _aten.mH.default),
        _aten.fft_ihfft.default,
    ),
    "is_neg": (_aten._neg_view.default,),  # noqa: SLF001 - an operator's name
}
_PLAIN_COPIES: Final = (_aten.resolve_conj.default, _aten.resolve_neg.default)


def storage_source(node: Node) -> Node:
    """The value in whose memory another may lie."""
    return view_chain(node)[-1]


def overwritten(node: Node) -> Node | None:
    """The argument that an operator writes to and returns, as the same object."""
    target: Any = node.target
    is_operator = node.op == "call_function" and isinstance(target, OpOverload)
    table = aliasing_of(target) if is_operator else None
    if table is None or not table.written or len(table.returned) != 1:
        return None
    return source_of(node)


def written_by(node: Node) -> list[Node]:
    """What a call of an operator writes to."""
    target: Any = node.target
    found: list[Node] = []
    if isinstance(target, OpOverload):
        map_arg(aliasing_of(target).writes(node.args, node.kwargs), found.append)
    return found
