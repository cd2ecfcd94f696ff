"""Guardable queries: what user code can ask about a call, and the code that asks it again.

Adding a question: enter it below. Its `code` is Python that answers it; it is evaluated during the
capture, in the checks of every call, and written into a program's text.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

import torch

from monograph.host.flags import default_device
from monograph.host.process_groups import process_group

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


@dataclass(frozen=True, slots=True)
class Question:
    """One question about what surrounds a call, or about a tensor.

    In `code`, `{}` is the tensor, or the kind of device in quotes. `functions` of PyTorch ask it.
    `counts_in_torch` tells whether it matters that PyTorch's own Python code asks: it asks most in
    order to put a mode back, or to take a shorter way to the same result. `quick` is faster code.
    """

    name: str
    code: str
    functions: tuple[str, ...] = ()
    counts_in_torch: bool = False
    quick: str = ""


@dataclass(frozen=True, slots=True)
class Answer:
    """What user code was told when it asked, which every call must be able to say again.

    `path` is the tensor that was asked, or the kind of device; `argument` is the tensor's place
    among the flat inputs, None of a parameter or buffer. `origin` are the lines that asked.
    """

    question: str
    value: Any
    path: str = ""
    argument: int | None = None
    origin: object = None


def _of_torch(name: str, code: str, *functions: str, **options: Any) -> Question:
    asked = functions or (code.removeprefix("torch.").removesuffix("()"),)
    return Question(name, code, asked, **options)


_SURROUNDINGS: Final = (
    _of_torch("grad_mode", "torch.is_grad_enabled()"),
    _of_torch("inference_mode", "torch.is_inference_mode_enabled()"),
    _of_torch(
        "autocast",
        "(torch.get_autocast_dtype({0}) if torch.is_autocast_enabled({0}) else None)",
        "is_autocast_enabled",
        "is_autocast_cpu_enabled",
    ),
    _of_torch(
        "autocast_dtype",
        "torch.get_autocast_dtype({})",
        "get_autocast_dtype",
        "get_autocast_cpu_dtype",
        "get_autocast_gpu_dtype",
    ),
    _of_torch("autocast_cache", "torch.is_autocast_cache_enabled()"),
    _of_torch("default_dtype", "torch.get_default_dtype()", counts_in_torch=True),
    _of_torch(
        "default_device",
        "torch.get_default_device()",
        counts_in_torch=True,
        quick="default_device()",
    ),
    _of_torch("deterministic", "torch.are_deterministic_algorithms_enabled()"),
    _of_torch("deterministic_warnings", "torch.is_deterministic_algorithms_warn_only_enabled()"),
    _of_torch("deterministic_debugging", "torch.get_deterministic_debug_mode()"),
    _of_torch("matmul_precision", "torch.get_float32_matmul_precision()"),
    _of_torch("threads", "torch.get_num_threads()"),
    _of_torch("interop_threads", "torch.get_num_interop_threads()"),
    _of_torch("anomaly_mode", "torch.is_anomaly_enabled()"),
    _of_torch("flash_attention", "torch.backends.cuda.flash_sdp_enabled()"),
    _of_torch("efficient_attention", "torch.backends.cuda.mem_efficient_sdp_enabled()"),
    Question("process_group", "process_group({})"),
    Question(
        "distributed",
        "(torch.distributed.is_available() and torch.distributed.is_initialized())",
        ("distributed.is_initialized",) if torch.distributed.is_available() else (),
    ),
    _of_torch("plain_attention", "torch.backends.cuda.math_sdp_enabled()"),
    _of_torch("cudnn_attention", "torch.backends.cuda.cudnn_sdp_enabled()"),
)

ASK_OF_A_DEVICE: Final = frozenset({"autocast", "autocast_dtype"})
"""The questions whose path is a kind of device."""
UNCHECKED: Final = "unchecked"
"""No question: what a draft cannot check, which its path says. It is answered wrong, always."""

_OF_TENSORS: Final = (
    Question("requires_grad", "{}.requires_grad"),
    Question("is_leaf", "{}.is_leaf"),
    Question("has_no_grad", "{}.grad is None"),
    Question("has_no_grad_fn", "{}.grad_fn is None"),
    Question("has_no_base", "({}._base is None)"),
    Question("has_no_attributes", "(not {}.__dict__)"),
    Question("is_leaf_view", "({0}.requires_grad and {0}.is_leaf and {0}._base is not None)"),
    Question("is_conj", "{}.is_conj()", ("is_conj",)),
    Question("is_neg", "{}.is_neg()", ("is_neg",)),
    Question("is_inference", "{}.is_inference()", ("is_inference",)),
    Question("is_pinned", "{}.is_pinned()"),
    Question("is_shared", "{}.is_shared()"),
    Question("is_parameter", "isinstance({}, torch.nn.Parameter)"),
    Question("needed", "(torch.is_grad_enabled() and {}.requires_grad)"),
    Question("needed_inside", "{}.requires_grad"),
    Question("followed", "(not torch.is_grad_enabled() or {}.requires_grad)"),
    Question("followed_inside", "{}.requires_grad"),
    Question(
        "may_not_be_written",
        "({0}.requires_grad and ({0} if {0}._base is None else {0}._base).is_leaf"
        " or torch._debug_has_internal_overlap({0}) == 1)",
    ),
    Question("overlaps_within", "(torch._debug_has_internal_overlap({}) == 1)"),
)

NEEDED: Final = frozenset({"needed", "needed_inside"})
"""Whether a call needs the gradient of a tensor: no is always the answer."""

UNASKED: Final = NEEDED | {"followed", "followed_inside", "may_not_be_written", "overlaps_within"}
"""What user code cannot ask, and is held to all the same."""

OF_TENSORS: Final[Mapping[str, Question]] = MappingProxyType({q.name: q for q in _OF_TENSORS})
SURROUNDINGS: Final[Mapping[str, Question]] = MappingProxyType({q.name: q for q in _SURROUNDINGS})
QUESTIONS: Final[Mapping[str, Question]] = MappingProxyType(
    {**SURROUNDINGS, **OF_TENSORS, UNCHECKED: Question(UNCHECKED, "(not {})")}
)

_NAMES: Final[Mapping[str, Any]] = MappingProxyType(
    {"torch": torch, "default_device": default_device, "process_group": process_group}
)
"""What the code of questions calls."""


def names_of_questions() -> dict[str, Any]:
    """What the code of questions needs to know."""
    return dict(_NAMES)


def asks_tensor(answer: Answer) -> bool:
    """Whether it is a tensor that was asked, not the surroundings of the call."""
    return answer.question in OF_TENSORS


def code_of(answer: Answer, tensor: str, *, quick: bool = False) -> str:
    """The code that asks again; `tensor` is the variable that holds what was asked."""
    question = QUESTIONS[answer.question]
    code = question.quick if quick and question.quick else question.code
    return code.format(tensor if asks_tensor(answer) else json.dumps(answer.path))


@cache
def asking_again(question: str) -> Callable[[Any], Any]:
    """The function that answers a question about a tensor, or a kind of device, now."""
    code = QUESTIONS[question].code.format("it")
    return eval(f"lambda it: {code}", dict(_NAMES))  # noqa: S307  (written above)


__all__ = [
    "NEEDED",
    "OF_TENSORS",
    "QUESTIONS",
    "SURROUNDINGS",
    "UNASKED",
    "UNCHECKED",
    "Answer",
    "Question",
    "asking_again",
    "asks_tensor",
    "code_of",
    "names_of_questions",
]
