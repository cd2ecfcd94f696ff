"""Exceptions of operators that a call may not see: what decides them is guarded, or refused.

Where an operator raises in eager code and in the program alike, nothing is to be done. It differs
where user code would catch the exception and go on, and where the operator is on one side of a
branch, or in a loop: what is written there is written by the program in any case.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any, Final

import torch

from monograph.abstract.kernel_errors import OF_NO_ELEMENTS, refuses_shared
from monograph.abstract.layout import are_apart, is_dense, memory_end, shares_elements
from monograph.abstract.tensor import AbstractTensor
from monograph.abstract.tensor_type import TensorType
from monograph.bytecode.analysis.exception_handlers import is_tried
from monograph.capture.code_policy import is_users
from monograph.capture.queries.query_kinds import asking_again
from monograph.diagnostics import problem, withdraw
from monograph.host.dispatch import without_modes
from monograph.host.trees import flatten, unflatten
from monograph.integers import decide, eq, ge, is_data_dependent, known, le, relation_text
from monograph.rules.views.strides import is_viewable_anyhow

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch.fx.node import Node

    from monograph.abstract.layout import LayoutQuestion
    from monograph.capture.recording.operators import Operator
    from monograph.capture.recording.recorder import Recorder
    from monograph.diagnostics import Frame, MonographError

_FIXED: Final = frozenset(
    {*(int, float, bool, str, type(None)), torch.dtype, torch.device, torch.memory_format}
)
"""Kinds of arguments that are the same in every call."""
_MOST_ELEMENTS: Final = 1 << 20
"""Of each tensor that a kernel is tried with."""
_SHARED: Final = (
    "unsupported operation: more than one element of the written-to tensor refers to a single "
    "memory location. Please clone() the tensor before performing the operation."
)
_COPY: Final = torch.ops.aten.copy_.default
_STRIDED: Final = torch.ops.aten.as_strided.default


def note_tried(
    recorder: Recorder, node: Node, result: TensorType, questions: tuple[LayoutQuestion, ...]
) -> None:
    """Note which layouts decide whether an operator raises that user code tries; used or not."""
    source: Any = node.args[0]
    given = source.meta["val"]
    facts = recorder.facts
    told, facts.premises = facts.premises, {}
    is_view = questions == ("form",)
    is_viewable = is_view and is_viewable_anyhow(given.tensor_type.shape, result.shape)
    answers, facts.premises = facts.premises, told
    if is_viewable and not answers:
        return
    if _is_tried(node):
        facts.premises.update(answers)  # else nobody is told
        for question in () if is_viewable else questions:
            recorder.layout_asked(given, question)


def before_elements(recorder: Recorder, op: Operator, given: object) -> None:
    """A reduction of nothing, or a position in it, raises: where tried, there are elements.

    A position may be outside in any case, where data decides.
    """
    has_elements = ge(given.numel(), 1) if isinstance(given, TensorType) else True
    if known(has_elements) is not None or not _are_tried(recorder.origin()):
        return
    if op.base_name in OF_NO_ELEMENTS or not is_data_dependent(has_elements):
        recorder.facts.guard(has_elements)


def before_write(
    recorder: Recorder,
    op: Operator,
    args: Sequence[Any],
    to: AbstractTensor,
    *,
    followed: bool,
    idle: bool,
) -> None:
    """An operator is about to write to a tensor, or would if it were not idle.

    Raises: RuntimeError (a leaf that the call made; elements that share memory, if tried).
    """
    recorder.lineage.check_leaf(to, op.overload, followed=followed)
    shared = shares_elements(to.tensor_type)
    if idle or shared is False or not refuses_shared(op.overload, to.tensor_type.dtype):
        return
    if op.overload is _COPY and _is_same(recorder, to, args[1]):  # it returns before it looks
        return
    if _are_tried(recorder.origin()) and decide(shared):
        recorder.layout_asked(to, "strides")
        raise RuntimeError(_SHARED)


def raise_as_eager(recorder: Recorder, op: Operator, given: Any, refusal: MonographError) -> None:
    """Raise what eager code raises in place of a refusal, where user code may catch that.

    PyTorch is the witness: of contiguous tensors of these types, whose sizes no call changes, both
    the meta kernel, which has no values, and the real one raise. Nothing happens where they do not.
    """
    if op.is_custom or op.mutated or torch.Tag.nondeterministic_seeded in op.overload.tags:
        return
    if not _are_tried(recorder.origin()):
        return
    leaves, spec = flatten(given)
    if not all(map(_is_fixed, leaves)):
        return
    with without_modes():
        found = _raised(op, leaves, spec, "meta") and _raised(op, leaves, spec, None)
    if found is not None:
        withdraw(refusal)
        raise found.with_traceback(None) from refusal


def _raised(op: Operator, leaves: list[Any], spec: Any, device: str | None) -> Exception | None:
    real = [
        torch.zeros(_fixed_sizes(t), dtype=t.dtype, device=device or t.device)
        if isinstance(t, TensorType)
        else t
        for t in leaves
    ]
    args, kwargs = unflatten(real, spec)
    try:
        op.overload(*args, **kwargs)
    except NotImplementedError:
        return None
    except (RuntimeError, IndexError, ValueError) as error:
        return error
    return None


def _fixed_sizes(t: TensorType) -> list[int]:
    return [size for size in t.shape if isinstance(size, int)]


def _is_fixed(value: object) -> bool:
    if isinstance(value, TensorType):
        sizes = _fixed_sizes(value)
        return len(sizes) == value.rank and prod(sizes) <= _MOST_ELEMENTS
    return type(value) in _FIXED


def note_raising(recorder: Recorder, node: Node) -> None:
    """Note what decides whether a write or `as_strided` of a finished run raises, if tried.

    Raises: outside-read (what no call can be asked: how much memory there is, or whose).
    """
    target: Any = node.target
    if not _is_tried(node):
        return
    tensors = [each.meta.get("val") for each in node.all_input_nodes]
    tensors = [each for each in tensors if isinstance(each, AbstractTensor)]
    if not tensors:
        return
    origin = recorder.scopes.filter.innermost_user(node.meta.get("frames", ()))
    if target is not _STRIDED:
        _note_tried_write(recorder, target, tensors, origin)
    elif not _is_within(tensors[0], node.meta["val"]):
        because = "whether there is as much memory behind a tensor"
        raise problem("outside-read", at=origin, what="as_strided", because=because)


def _note_tried_write(
    recorder: Recorder, target: object, tensors: Sequence[AbstractTensor], origin: Any
) -> None:
    noted = recorder.answers_noted
    if any(_may_overlap(tensors[0], each) for each in tensors[1:]):
        because = "whether views of one tensor overlap"
        raise problem("outside-read", at=origin, what="except", because=because)
    subject, *others = [noted.owner(each) for each in tensors]
    if subject is None:
        return
    _note_written(recorder, tensors[0], origin)
    if target is torch.ops.aten.detach_.default:
        noted.note_tensor("has_no_base", subject, origin)
    beside = next((each for each in others if each not in (None, subject)), None)
    because = ""
    if beside is not None:
        because = f"whether `{subject.path}` and `{beside.path}` share memory"
    if asking_again("may_not_be_written")(subject.example):
        because = f"whether `{subject.path}` may be written to"
    if because:
        raise problem("outside-read", at=origin, what="except", because=because)


def _note_written(recorder: Recorder, tensor: AbstractTensor, origin: object) -> None:
    """Every call must decide alike whether what it gave may be written to."""
    noted = recorder.answers_noted
    subject = noted.owner(tensor)
    if subject is not None and noted.note_tensor("may_not_be_written", subject, origin):
        noted.note_tensor("overlaps_within", subject, origin)  # a leaf, beneath autograd


def note_divisions(recorder: Recorder) -> None:
    """Nobody catches what Python raises of a division by a number out of data that is zero.

    Raises: outside-read.
    """
    for each in recorder.facts.assertions:
        origin: Any = each.origin
        is_divisor = relation_text(each.relation).endswith((" != 0", " != 0.0"))
        if is_divisor and _are_tried(origin):
            because = "whether a number out of data is zero"
            raise problem("outside-read", at=origin, what="except", because=because)


def note_written_late(recorder: Recorder, tensor: AbstractTensor) -> None:
    """A branch or a loop wrote to a copy, which what it was given holds afterwards only."""
    _note_written(recorder, tensor, recorder.origin())
    recorder.answers_noted.keep_apart(tensor.storage_root)


def _is_same(recorder: Recorder, to: AbstractTensor, given: AbstractTensor) -> bool:
    """Whether two tensors are the same elements of one memory."""
    a, b = to.tensor_type, given.tensor_type
    if to is given or to.storage_root is not given.storage_root:
        return to is given
    unknown = to if a.strides is None else given if b.strides is None else None
    if unknown is not None:
        recorder.layout_asked(unknown, "strides")
    if a.strides is None or b.strides is None or (a.dtype, a.rank) != (b.dtype, b.rank):
        return False
    pairs = zip((a.offset, *a.shape, *a.strides), (b.offset, *b.shape, *b.strides), strict=True)
    return all(decide(eq(one, other)) for one, other in pairs)


def _may_overlap(written: AbstractTensor, other: AbstractTensor) -> bool:
    """Whether a tensor may be part of what is written, or the other way round."""
    return written.tensor_type != other.tensor_type and not are_apart(written, other)


def _is_within(tensor: AbstractTensor, made: AbstractTensor) -> bool:
    """Whether a result certainly lies in the memory that the elements of a tensor take up."""
    given = tensor.tensor_type
    is_known = known(le(memory_end(made.tensor_type), given.offset + given.numel())) is True
    return is_dense(given) and is_known


def _is_tried(node: Node) -> bool:
    """Whether user code would catch what an operator raises, and go on with something else.

    What no module calls is recorded for `export` itself, whose caller decides nothing.
    """
    is_users_own = bool(node.meta.get("nn_module_stack"))
    return is_users_own and _are_tried(node.meta.get("frames", ()))


def _are_tried(frames: Sequence[Frame]) -> bool:
    return any(is_users(f.code.co_filename) and is_tried(f.code, f.lasti) for f in frames)


__all__ = [
    "before_elements",
    "before_write",
    "note_divisions",
    "note_raising",
    "note_tried",
    "note_written_late",
    "raise_as_eager",
]
