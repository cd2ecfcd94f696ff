"""Guarded queries: what a run asked of modes and tensor flags, which calls must answer alike.

Law: as long as a call gives every answer noted here, user code would be told what it was told.
Functions of PyTorch that tell about the process are replaced while user code runs; tensors say
themselves when they are asked. What operators depend on without asking (autocast, and the default
device and dtype of what is made of nothing) is found in the graph when the run has ended.

A question asked within a region that decides it (`torch.no_grad()` in forward) is answered alike in
every call, and not noted.
"""

from __future__ import annotations

import functools
import operator
import sys
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, NoReturn

import torch
from torch.fx.node import Node

from monograph.abstract.aliasing import (
    ARGUMENT,
    FRESH,
    Result,
    aliasing_of,
    bit_sources,
    flips_bit,
    may_drop_nothing,
    results_of,
    view_chain,
)
from monograph.abstract.tensor import AbstractTensor
from monograph.abstract.tensor_type import is_differentiable
from monograph.capture.branch_equivalence import decides_nothing
from monograph.capture.inputs.input_mutation import identity_refusal
from monograph.capture.installation import OVERRIDES, THREAD, listening
from monograph.capture.queries.inference_tensors import EITHER, is_inference
from monograph.capture.queries.query_kinds import (
    OF_TENSORS,
    SURROUNDINGS,
    UNASKED,
    asking_again,
)
from monograph.capture.recording.autograd_views import GAVE_ITSELF, is_made_leaf
from monograph.capture.recording.operators import OPERATORS
from monograph.capture.torch_overrides.caught_errors import note_raising
from monograph.capture.torch_overrides.collective_order import check_collectives, note_collective
from monograph.diagnostics import problem
from monograph.host.dispatch import has_kernel, is_composite, schema_of
from monograph.host.execution_modes import CALL_WHAT_IS_CAST
from monograph.host.fx_nodes import is_removed
from monograph.host.operator_types import HigherOrderOperator, OpOverload
from monograph.host.overloads import aten as _aten

if TYPE_CHECKING:
    from collections.abc import Callable

    from monograph.abstract.aliasing import LazyBit
    from monograph.capture.queries.noted_answers import Subject
    from monograph.capture.queries.query_kinds import Question
    from monograph.capture.recording.operators import Operator
    from monograph.capture.recording.recorder import Recorder

_TORCH: Final = f"{Path(torch.__file__).parent}/"
_MAKES_PARAMETERS: Final = "/nn/parameter.py"
"""What makes a parameter asks on behalf of who has it made."""


# --- what tensors are asked ------------------------------------------------------------------


def asked(recorder: Recorder, tensor: AbstractTensor, question: str) -> bool:
    """What a tensor says of itself.

    Raises: outside-read (it has a gradient, or a history, which a program knows nothing of);
        gradient-in-forward, RuntimeError (it is to have a hook).
    """
    if recorder.from_factory is not None:
        recorder.begin_history()
    if question in _HOOKS:
        _refuse_hook(recorder, tensor, question)
    if question == "hash":
        return _check_hash(recorder, tensor)
    if question == "is_own":
        root = tensor.storage_root.node
        if root is None or root.op != "call_function" or may_drop_nothing(root):
            return False
        return recorder.answers_noted.owner(tensor) is None
    told = _Asked(recorder, tensor, question)
    if question == "has_no_attributes" and not told.is_given:
        return True
    subject = None if question in _OF_HISTORY and told.is_written else told.subject
    answer = _DERIVED[question](told) if subject is None else told.of_subject(subject)
    if not answer and question in _WITHOUT_HISTORY:
        what, because = _WITHOUT_HISTORY[question]
        raise problem("outside-read", what=what, because=because)
    return answer


def _check_hash(recorder: Recorder, tensor: AbstractTensor) -> bool:
    """User code looks for a tensor in a set or a dict, where another may be the same object.

    Raises: outside-read (an operator may have given it back, or it is the second input looked for).
    """
    if listening() is not recorder or _is_asked_by_torch(recorder):
        return True
    node, noted = tensor.node, recorder.answers_noted
    if node is not None and Result.ARGUMENT in results_of(node):
        name = str(node.target).split(".")[-2]
        raise identity_refusal(because=GAVE_ITSELF.format(name))
    subject = noted.owner(tensor) if tensor.view_of is None else None
    if subject is not None and subject.argument is not None:
        noted.hashed.add(subject.argument)
        if len(noted.hashed) > 1:
            raise identity_refusal()
    return True


_OF_OBJECTS: Final = frozenset({"has_no_grad", "is_leaf", "is_parameter"})
"""What is asked of one object, and not of what lies in its memory."""
_OF_HISTORY: Final = frozenset({"requires_grad", "is_leaf", "has_no_grad_fn"})
"""What a write may change."""
_WITHOUT_HISTORY: Final = {
    "has_no_grad": (".grad", "a gradient that was computed before the call"),
    "has_no_grad_fn": (".grad_fn", "what autograd remembers of earlier operators"),
    "has_no_base": ("._base", "which tensor a view was made of"),
    "has_no_attributes": (".__dict__", "what was set on a tensor before the call"),
}


class _Asked(NamedTuple):
    """A question to a tensor, and who records it."""

    recorder: Recorder
    tensor: AbstractTensor
    question: str

    @property
    def subject(self) -> Subject | None:
        """What the tensor is, by whatever name, if it is an input, or the module's.

        Raises: outside-read, branch-decides (it was given back, or is something else).
        """
        noted, names = self.recorder.answers_noted, [self.tensor]
        known = noted.subjects
        if self.question in _OF_OBJECTS and self.counts:
            names = self.recorder.lineage.names(self.tensor)
            ones = self.recorder.aliases.possible_storages(self.tensor)[1:]
            may_be_made = self.question == "is_leaf" and any(is_made_leaf(one.node) for one in ones)
            owners = [owner for owner in map(noted.owner, ones) if owner is not None]
            is_class = self.question == "is_parameter"  # plain tensors all have the same
            if may_be_made or any(not is_class or self.of_subject(each) for each in owners):
                raise problem("branch-decides", what="which tensor this is")
        chains = [view_chain(each.node, ARGUMENT) for each in names if each.node is not None]
        return next((known[chain[-1]] for chain in chains if chain[-1] in known), None)

    @property
    def is_written(self) -> bool:
        """Whether the run wrote to it, or to a view of it: what was written may have a history."""
        node, noted = self.tensor.node, self.recorder.answers_noted
        is_as_given = node is None or node in noted.subjects
        return not is_as_given or (node is not None and any(self.recorder.lineage.writes(node)))

    @property
    def counts(self) -> bool:
        """Whether it is user code that asks, during the run."""
        return listening() is self.recorder and not _is_asked_by_torch(self.recorder)

    @property
    def is_given(self) -> bool:
        """Whether user code asks it of an input."""
        subject = self.subject
        return subject is not None and subject.argument is not None and self.counts

    def of_subject(self, subject: Subject) -> bool:
        """The answer of a tensor that differs between calls."""
        if not self.counts:
            return asking_again(self.question)(subject.example)
        return self.recorder.answers_noted.note_tensor(
            self.question, subject, self.recorder.origin()
        )

    def requires_grad(self) -> bool:
        """Whether autograd follows it, which all that it is computed from decides."""
        if self.counts and is_differentiable(self.tensor.tensor_type.dtype):
            self.recorder.aliases.check_answer("requires_grad", self.tensor)
            note_followed(self.recorder, self.tensor)
        return self.tensor.tensor_type.requires_grad

    def is_leaf(self) -> bool:
        """What autograd does not follow, and what was told to begin with here."""
        if is_made_leaf(self.tensor.node) or not self.requires_grad():
            return True
        subject = self.subject
        if subject is not None and asking_again("requires_grad")(subject.example):
            return self.of_subject(subject)  # autograd lets nobody write to a leaf where it looks
        return self.recorder.lineage.only_follows_base(self.tensor)

    def has_no_base(self) -> bool:
        """Whether it has memory of its own, in which no operator found another tensor's."""
        node = self.tensor.node
        call: Any = None if node is None or not node.args else node.args[0]
        is_given = node is not None and node.op == "placeholder"
        if is_given or (isinstance(call, Node) and isinstance(call.target, HigherOrderOperator)):
            return not self.recorder.aliases.is_aliased(self.tensor)  # it may be what that is given
        if node is None or results_of(node) != FRESH:
            return False
        return not _may_view_its_own(call if node.target is operator.getitem else node)

    def bit(self, of_tensor: LazyBit) -> bool:
        """Whether the conjugate or negative bit is set: views have it from what they view."""
        flips = False
        for node, bit in bit_sources(self.tensor.node, of_tensor):
            subject = self.recorder.answers_noted.subjects.get(node)
            if subject is not None:
                return flips ^ self._replace(question=bit).of_subject(subject)
            self.recorder.aliases.check_bit(bit, node)
            if isinstance(node.target, OpOverload) and aliasing_of(node.target).decides_by_layout:
                self.recorder.layout_asked(self.tensor, "strides")
            flips ^= flips_bit(node, bit)
        return flips

    def is_inference(self) -> bool:
        """Whether it was made in inference mode; a view is what it views."""
        made = is_inference(self.tensor)
        if made == EITHER:
            raise problem("branch-decides", what="whether a tensor is an inference tensor")
        if made is not None:
            return made
        root = self._replace(tensor=self.tensor.storage_root)
        if root.subject is not None:
            return root.of_subject(root.subject)
        mode = "inference_mode"
        if self.counts and not self.recorder.scopes.decides(mode, ""):
            self.recorder.answers_noted.note(mode, self.recorder.origin())
        return self.recorder.scopes.caller_inference


def _may_view_its_own(maker: Node) -> bool:
    """Whether what an operator gives may be a view of what its kernel alone had."""
    target = maker.target
    return target is _aten.nonzero.default or (
        isinstance(target, OpOverload) and is_composite(target)
    )


def note_followed(recorder: Recorder, tensor: AbstractTensor, origin: object = None) -> None:
    """Every call must decide alike whether autograd follows a tensor; `origin` asked for it."""
    if not is_differentiable(tensor.tensor_type.dtype):
        return
    noted, origin = recorder.answers_noted, origin or recorder.origin()
    # In inference mode nothing that is computed is followed, whatever grad mode forward enters.
    is_followed = tensor.tensor_type.requires_grad and not is_made_leaf(tensor.node)
    for mode in ("grad_mode", "inference_mode")[: 1 + (is_followed and recorder.scopes.sets_grad)]:
        if not recorder.scopes.decides(mode, ""):
            noted.note(mode, origin)
    behind = [*recorder.lineage.behind(tensor.node)]
    if recorder.region is not None and any(
        each.op == "placeholder" and each not in noted.subjects for each in behind
    ):
        behind = [*noted.subjects]  # what differs from step to step may come from any of them
    for node in behind:
        subject = noted.subjects.get(node)
        if subject is not None and is_differentiable(subject.example.dtype):
            noted.note_tensor("requires_grad", subject, origin)


_DERIVED: Final[dict[str, Callable[[_Asked], bool]]] = {
    "requires_grad": _Asked.requires_grad,
    "is_leaf": _Asked.is_leaf,
    "has_no_grad": lambda _: True,
    "has_no_grad_fn": _Asked.is_leaf,
    "has_no_base": _Asked.has_no_base,
    "has_no_attributes": lambda _: True,
    "is_leaf_view": lambda _: False,
    "is_conj": lambda told: told.bit("is_conj"),
    "is_neg": lambda told: told.bit("is_neg"),
    "is_inference": _Asked.is_inference,
    "is_pinned": lambda _: False,
    "is_shared": lambda _: False,
    "is_parameter": lambda _: False,
}
assert _DERIVED.keys() == OF_TENSORS.keys() - UNASKED, "every question has an answer"


def set_requires_grad(recorder: Recorder, tensor: AbstractTensor, flag: bool) -> None:  # noqa: FBT001 - as torch has it
    """Let autograd follow a tensor: recorded of what the run made, nothing of others may change.

    Raises: write-outlives-call; RuntimeError (as PyTorch does, where it was computed).
    """
    region = recorder.region
    # What an iteration is given may only be followed from the second one on.
    is_made = flag and region is not None and not region.is_outside(tensor.storage_root)
    if is_made:
        note_followed(recorder, tensor)
    is_so = not is_made and asked(recorder, tensor, "requires_grad") == flag
    if is_so and not recorder.lineage.only_follows_base(tensor):
        return
    subject = None if tensor.node is None else recorder.answers_noted.subjects.get(tensor.node)
    if subject is not None:
        raise problem("write-outlives-call", kind="object", name=f"{subject.path}.requires_grad")
    if not flag and not asked(recorder, tensor, "is_leaf"):
        message = "you can only change requires_grad flags of leaf variables."
        raise RuntimeError(message)
    if region is not None and (region.is_outside(tensor.storage_root) or region.stands_in(tensor)):
        raise problem("branch-decides", what="whether a tensor requires gradients")
    recorder.call(_aten.requires_grad_.default, (tensor, flag)[: 2 - flag], {})
    recorder.mark_requires_grad(tensor, flag)


def begin_history(recorder: Recorder, made: AbstractTensor) -> None:
    """Record what `requires_grad=True` said to a factory, which C++ sets on what that made."""
    if not made.tensor_type.requires_grad and _FOLLOWED(made):
        recorder.call(_aten.requires_grad_.default, (made,), {})
        recorder.mark_requires_grad(made, flag=True)


_FOLLOWED: Any = vars(torch.Tensor.__base__)["requires_grad"].__get__

_HOOKS: Final = frozenset({"register_hook", "register_post_accumulate_grad_hook", "retain_grad"})


def _refuse_hook(recorder: Recorder, tensor: AbstractTensor, what: str) -> NoReturn:
    """Raise gradient-in-forward, or a RuntimeError as PyTorch where autograd does not follow."""
    if not asked(recorder, tensor, "requires_grad"):
        raise RuntimeError(f"cannot call {what} on a tensor that doesn't require gradient")
    because = "waits for the gradient of what forward computes"
    raise problem("gradient-in-forward", what=what, because=because)


# --- what the process is asked ---------------------------------------------------------------


def _is_asked_by_torch(recorder: Recorder) -> bool:
    if recorder.scopes.asks_for_program:
        return False
    file = recorder.scopes.filter.asker(sys._getframe(2))
    return file.startswith(_TORCH) and not file.endswith(_MAKES_PARAMETERS)


def _overheard(question: Question, args: tuple[Any, ...], device: str, answer: Any) -> None:
    recorder = listening()
    if recorder is None:
        return
    path = device
    if not path and "{" in question.code:
        path = str(args[0]) if args else "cuda"
    if (question.name, path, None) in recorder.answers_noted.answers:
        return
    if not question.counts_in_torch and _is_asked_by_torch(recorder):
        return
    if isinstance(answer, bool) and decides_nothing(answer, sys._getframe(2)):
        return
    if not recorder.scopes.decides(question.name, path):
        recorder.answers_noted.note(question.name, recorder.origin(), path)


def _watched(question: Question, device: str, original: Any) -> Any:
    """The function, which tells the run that it was asked."""

    @functools.wraps(original)
    def ask(*args: Any, **kwargs: Any) -> Any:
        answer = original(*args, **kwargs)
        if THREAD.recorder is not None:
            _overheard(question, args, device, answer)
        return answer

    return ask


def _watched_of_tensor(question: Question, original: Any) -> Any:
    @functools.wraps(original)
    def ask(tensor: Any, /) -> Any:
        is_ours = isinstance(tensor, AbstractTensor)
        return getattr(tensor, question.name)() if is_ours else original(tensor)

    return ask


def _enter_overrides() -> None:
    for question in (*SURROUNDINGS.values(), *OF_TENSORS.values()):
        for path in question.functions:
            holder, _, name = path.rpartition(".")
            owner = attrgetter(holder)(torch) if holder else torch
            device = {"cpu": "cpu", "gpu": "cuda"}.get(name.split("_")[-2], "")
            factory = functools.partial(_watched_of_tensor, question)
            if question.name in SURROUNDINGS:
                device = device if "{" in question.code else ""
                factory = functools.partial(_watched, question, device)
            OVERRIDES.override(owner, name)(factory)


_enter_overrides()


# --- what operators depend on ----------------------------------------------------------------

_CASTING: Final = {
    "cpu": "AutocastCPU",
    "cuda": "AutocastCUDA",
    "xpu": "AutocastXPU",
    "mps": "AutocastMPS",
}
_BY_PROMOTION: Final = frozenset({"cat", "stack"})
"""Autocast lets these choose a dtype as they choose it anyway."""
_OF_WHAT_IS_CAST: Final = frozenset({"convolution"})
"""What PyTorch's transforms record for an operator that autocast casts."""
_COMPUTE_OR_VIEW: Final = frozenset({"einsum", "sum_to_size"})
"""Operators that view an argument in some calls, and in others compute what autocast casts."""
_CONVERSIONS: Final = frozenset({"to", "type_as"})
"""Operators that give back their argument where it has that dtype."""
_TOLD_OF_GRADIENTS: Final = frozenset({"_linear_cross_entropy_batch_chunked"})
"""Operators that compute gradients in forward, those that an argument names."""


def note_implied(recorder: Recorder) -> None:
    """Note what the operators of a finished run depend on."""
    collective = bool(recorder.unawaited)
    if recorder.scopes.grad is not None:  # which the call leaves behind
        recorder.answers_noted.note("grad_mode", recorder.origin())
    for node in recorder.operations:
        target = node.target
        if is_removed(node) or not isinstance(target, OpOverload):
            _note_removed(recorder, node)
            continue
        op = OPERATORS.of(target)
        if op.mutated or target is _aten.as_strided.default:
            note_raising(recorder, node)
        if op.is_collective:
            collective = True
            note_collective(recorder, node, _lines(recorder, node))
        if op.base_name in _TOLD_OF_GRADIENTS:
            _note_all_followed(recorder, node)
        _note_surroundings(recorder, node, op)
    if collective:
        check_collectives(recorder)


def _note_surroundings(recorder: Recorder, node: Node, op: Operator) -> None:
    """Note what decides the dtype and the place of what an operator makes."""
    value = node.meta.get("val")
    made = value.tensor_type if isinstance(value, AbstractTensor) else _first_of(value)
    if made is None:
        return
    device = made.device.type
    if ("autocast", device, None) not in recorder.answers_noted.answers and _is_cast(op, device):
        _note_cast(recorder, node, device)
    if _is_made_of_nothing(op):
        _note_defaults(recorder, node)


def _note_removed(recorder: Recorder, node: Node) -> None:
    """Of a conversion that nobody computes with, user code may know if it gave its argument.

    Of a constant it may know the dtype.
    """
    target = node.target
    if target is _aten.lift_fresh_copy.default and recorder.asks_dtype is not None:
        _note_default_dtype(recorder, node)
    is_known = isinstance(target, OpOverload) and OPERATORS.of(target).base_name in _CONVERSIONS
    if is_known and recorder.asks_dtype is None:
        recorder.asks_dtype = node.meta.get("frames", ())


def _note_defaults(recorder: Recorder, node: Node) -> None:
    """Note what decides where a tensor is made, and a constant's dtype."""
    is_constant = node.target is _aten.lift_fresh_copy.default
    if is_constant or node not in recorder.own_tensors:
        recorder.answers_noted.note("default_device", _lines(recorder, node))
    if is_constant:
        _note_default_dtype(recorder, node)


def _note_default_dtype(recorder: Recorder, node: Node) -> None:
    default = torch.get_default_dtype()
    if node.meta["val"].dtype in {default, default.to_complex()}:
        recorder.answers_noted.note("default_dtype", _lines(recorder, node))


def _note_all_followed(recorder: Recorder, node: Node) -> None:
    for each in node.all_input_nodes:
        given = each.meta.get("val")
        if isinstance(given, AbstractTensor):
            note_followed(recorder, given, _lines(recorder, node))


def _lines(recorder: Recorder, node: Node) -> object:
    return recorder.scopes.filter.innermost_user(node.meta.get("frames", ()))


def _first_of(values: Any) -> Any:
    """The type of the first tensor among several results."""
    if not isinstance(values, list | tuple):
        return None
    return next((each.tensor_type for each in values if isinstance(each, AbstractTensor)), None)


def _note_cast(recorder: Recorder, node: Node, device: str) -> None:
    """Note that autocast decides an operator, unless forward itself says what is cast there."""
    regions = recorder.scopes.states.get(node, ())
    if not any(each.kind == "autocast" and each.settings[0] == device for each in regions):
        recorder.answers_noted.note("autocast", _lines(recorder, node), device)


@functools.cache
def _is_cast(op: Operator, device: str) -> bool:
    """Whether autocast may run the operator, or what it is made of, in another dtype."""
    key, overload = _CASTING.get(device), op.overload
    if key is None or op.base_name in _BY_PROMOTION:
        return False
    if has_kernel(overload, key) or op.base_name in CALL_WHAT_IS_CAST | _OF_WHAT_IS_CAST:
        return True
    computes = op.aliasing.source is None or op.base_name in _COMPUTE_OR_VIEW
    return computes and has_kernel(overload, "CompositeImplicitAutograd")


@functools.cache
def _is_made_of_nothing(op: Operator) -> bool:
    """Whether the operator makes a tensor of no other on a device that is told, or a constant."""
    if op.overload is _aten.lift_fresh_copy.default:
        return True
    arguments = schema_of(op.overload).arguments
    takes_tensors = any("Tensor" in str(each.type) for each in arguments)
    return not takes_tensors and any(each.name == "device" for each in arguments)


__all__ = [
    "asked",
    "note_followed",
    "note_implied",
    "set_requires_grad",
]
