"""Function overrides of `torch.tensor`, `torch._check` and others.

What is given sizes or abstract tensors is recorded, since C++ would ask for their values.
"""

from __future__ import annotations

import functools
from typing import Any, Final
from weakref import WeakSet

import torch

from monograph.abstract.symbols import SymbolNode, to_python
from monograph.abstract.tensor import AbstractTensor
from monograph.capture.installation import OVERRIDES, listening
from monograph.capture.numpy_arrays import is_abstract, tensor_of
from monograph.capture.recording.unbacked_values import holds_symbols, tensor_from
from monograph.capture.torch_overrides.lazy_messages import text_of_message
from monograph.capture.torch_overrides.tensor_memory import made_of
from monograph.diagnostics import problem, snippet
from monograph.host.dispatch import overload_taking, schema_of
from monograph.host.execution_modes import is_plain_recording
from monograph.host.flags import CHECKER, FUNCTIONAL, USES_FLASH
from monograph.integers import Expr, Relation

PAD_PACKED_SEQUENCE: Final = torch.ops.aten._pad_packed_sequence.default  # noqa: SLF001 - an operator's name
_SEQUENCES = (list, tuple, torch.SymInt, torch.SymFloat)


@OVERRIDES.override(torch, "tensor")
def _tensor(original: Any) -> Any:
    @functools.wraps(original)
    def tensor(data: Any, *, dtype: Any = None, device: Any = None, **options: Any) -> Any:
        recorder = listening()
        if recorder is not None and holds_symbols(data):
            made = tensor_from(recorder, data, dtype, device)
            return made.requires_grad_() if options.get("requires_grad") else made
        if is_abstract(data):
            return tensor_of(original, data, dtype=dtype, device=device, **options)
        with made_of(data, "torch.tensor()"):
            return original(data, dtype=dtype, device=device, **options)

    return tensor


@OVERRIDES.override(torch, "as_tensor")
def _as_tensor(original: Any) -> Any:
    @functools.wraps(original)
    def as_tensor(data: Any, dtype: Any = None, device: Any = None) -> Any:
        recorder = listening()
        if recorder is not None and isinstance(data, _SEQUENCES) and holds_symbols(data):
            return tensor_from(recorder, data, dtype, device)
        if is_abstract(data):
            return tensor_of(original, data, dtype=dtype, device=device)
        with made_of(data, "torch.as_tensor()"):
            return original(data, dtype=dtype, device=device)

    return as_tensor


_NUMBERS: Final[dict[type, Any]] = {torch.SymInt: 1, torch.SymFloat: 1.0}
"""A plain number of each kind."""


_PIXELS: Final = ("pixel_shuffle", "pixel_unshuffle")


def _plain(value: Any) -> Any:
    """Arguments with numbers for symbols, by which overloads are told apart."""
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return _NUMBERS.get(type(value), value)


def _is_symbolic(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return any(map(_is_symbolic, value))
    return type(value) in _NUMBERS


@OVERRIDES.override(torch, "adaptive_avg_pool1d", "adaptive_max_pool1d", "avg_pool1d", "diagonal")
@OVERRIDES.override(torch, "bartlett_window", "blackman_window", "hamming_window", "hann_window")
@OVERRIDES.override(torch, "group_norm", "histc", "istft", "kaiser_window", "linspace", "logspace")
@OVERRIDES.override(torch, "max_pool1d", "max_pool2d", "max_pool3d", "tril_indices", "triu_indices")
@OVERRIDES.override(torch.fft, "fftfreq", "rfftfreq")
@OVERRIDES.override(torch.nn.functional, "adaptive_avg_pool1d", "avg_pool1d", "avg_pool2d")
@OVERRIDES.override(torch.nn.functional, "avg_pool3d", "one_hot", *_PIXELS)
@OVERRIDES.override(FUNCTIONAL, "adaptive_max_pool2d", "adaptive_max_pool3d", "col2im", "im2col")
def _with_sizes(original: Any) -> Any:
    """Functions whose parser in C takes plain numbers; the rules of their operators take sizes."""

    @functools.wraps(original)
    def call(*args: Any, **kwargs: Any) -> Any:
        recorder = listening()
        if recorder is None or not _is_symbolic((*args, *kwargs.values())):
            return original(*args, **kwargs)
        if not is_plain_recording():
            return original(*args, **kwargs)
        named = {k: each for k, each in kwargs.items() if (k, each) != ("requires_grad", False)}
        numbers = {name: _plain(each) for name, each in named.items()}
        overload = overload_taking(original.__name__, _plain(args), numbers)
        if overload is None:
            return original(*args, **kwargs)
        return recorder.call(overload, _in_order(overload, args, named), named)

    return call


def _in_order(overload: Any, args: tuple[Any, ...], named: dict[str, Any]) -> tuple[Any, ...]:
    """Arguments as operators are given them: what has a place there, and sizes in lists."""
    parameters = [each for each in schema_of(overload).arguments if not each.kwarg_only]
    ordered, rest = [*args], parameters[len(args) :]
    while any(each.name in named for each in rest):
        first, *rest = rest
        ordered.append(named.pop(first.name, first.default_value))
    pairs = zip(parameters, ordered, strict=False)
    return tuple([_as_given(at, n) for at, n in pairs])


def _as_given(at: Any, value: Any) -> Any:
    if at.N and isinstance(value, torch.SymInt):
        return [value] * at.N
    return list(value) if type(value) is tuple else value


for _name in ("diagonal", "histc", "unfold"):
    setattr(AbstractTensor, _name, _with_sizes(getattr(torch.Tensor, _name)))


@OVERRIDES.override(torch, "result_type")
def _result_type(original: Any) -> Any:
    @functools.wraps(original)
    def result_type(*args: Any, **kwargs: Any) -> torch.dtype:
        recorder, found = listening(), original(*args, **kwargs)
        if recorder is not None:
            if found.is_floating_point or found.is_complex:
                recorder.answers_noted.note("default_dtype", recorder.origin())
            for each in (*args, *kwargs.values()):
                if isinstance(each, AbstractTensor):
                    each.recorder.dtype_asked(each)
        return found

    return result_type


@OVERRIDES.override(torch, "_debug_has_internal_overlap")
def _has_internal_overlap(original: Any) -> Any:
    @functools.wraps(original)
    def has_internal_overlap(tensor: Any) -> int:
        if isinstance(tensor, AbstractTensor):
            return tensor.recorder.read_data(tensor, "_debug_has_internal_overlap()")
        return original(tensor)

    return has_internal_overlap


@OVERRIDES.override(torch, "randint_like")
def _randint_like(original: Any) -> Any:
    """Its operator, of what needs gradients, gives what needs them; PyTorch's function does not."""

    @functools.wraps(original)
    def randint_like(tensor: Any, *args: Any, **kwargs: Any) -> Any:
        given = tensor.detach() if isinstance(tensor, AbstractTensor) else tensor
        return original(given, *args, **kwargs)

    return randint_like


_PLAIN_ATTENTION: Final = torch.ops.aten._scaled_dot_product_attention_math.default  # noqa: SLF001 - an operator's name
_WITH_OWN_KERNELS: Final[WeakSet[Any]] = WeakSet()
"""The recorders whose code turned flash attention on or off."""


@OVERRIDES.override(*USES_FLASH)
def _use_flash(original: Any) -> Any:
    @functools.wraps(original)
    def use_flash(flag: bool) -> None:  # noqa: FBT001 - PyTorch's signature
        recorder = listening()
        if recorder is not None:
            _WITH_OWN_KERNELS.add(recorder)
        original(flag)

    return use_flash


@OVERRIDES.override(torch.nn.functional, "scaled_dot_product_attention")
def _attention(original: Any) -> Any:
    """Within `sdpa_kernel(SDPBackend.MATH)` the kernel is an operator of its own."""

    @functools.wraps(original)
    def scaled_dot_product_attention(*args: Any, **kwargs: Any) -> Any:
        backends = torch.backends.cuda
        is_plain = listening() in _WITH_OWN_KERNELS and not backends.flash_sdp_enabled()
        if is_plain and backends.math_sdp_enabled():
            return _PLAIN_ATTENTION(*args, **kwargs)[0]
        return original(*args, **kwargs)

    return scaled_dot_product_attention


@OVERRIDES.override(torch.nn.utils.rnn, "pad_packed_sequence")
def _pad_packed_sequence(original: Any) -> Any:
    """As PyTorch's, which gives C++ the number of the longest, where it means the longest."""

    @functools.wraps(original)
    def pad_packed_sequence(
        sequence: Any,
        batch_first: bool = False,  # noqa: FBT001, FBT002 - torch's signature
        padding_value: float = 0.0,
        total_length: Any = None,
    ) -> Any:
        data, batch_sizes, _, order = sequence
        if not isinstance(data, AbstractTensor):
            return original(sequence, batch_first, padding_value, total_length)
        fits = total_length is None or total_length >= batch_sizes.shape[0]
        if isinstance(fits, torch.SymBool):
            fits.node.expect_true("", 0)
        elif not fits:
            return original(sequence, batch_first, padding_value, total_length)
        arguments = data, batch_sizes, batch_first, padding_value
        length = -1 if total_length is None else total_length
        padded, lengths = data.recorder.call(PAD_PACKED_SEQUENCE, (*arguments, length), {})
        if order is None:
            return padded, lengths
        return padded.index_select(0 if batch_first else 1, order), lengths[order.cpu()]

    return pad_packed_sequence


def _hint(size: Any) -> int | None:
    number = to_python(size)
    return size.node.facts.hint_of(number) if isinstance(number, Expr) else number


@OVERRIDES.override_code_while(["always"], "opt_einsum.contract", "contract_path")
def _order_of_einsum(original: Any) -> Any:
    """In what order `einsum` contracts: it changes no value, so no size is guarded for it.

    The example's sizes decide; where data decide one, all count as equal.
    """

    def contract_path(equation: Any, *operands: Any, **options: Any) -> Any:
        if listening() is None or not any(isinstance(each, AbstractTensor) for each in operands):
            return original(equation, *operands, **options)
        shapes = [tuple(map(_hint, each.shape)) for each in operands]
        if any(None in shape for shape in shapes):
            shapes = [(2,) * len(shape) for shape in shapes]
        return original(equation, *shapes, **{**options, "shapes": True})

    return contract_path


_KINDS: Final = {torch.SymBool: bool, torch.SymFloat: float, torch.SymInt: int}


def _either(condition: Any, one: Any, other: Any) -> Any:
    """What `torch.sym_ite` gives in eager code, of numbers that may be symbolic.

    Raises: AssertionError (as there).
    """
    kinds = [_kind(each) for each in (condition, one, other)]
    if kinds[0] is not bool:
        raise AssertionError(f"expected SymBool or bool, got {kinds[0]}")
    if kinds[1] is not kinds[2]:
        raise AssertionError(f"type mismatch: {kinds[1]} vs {kinds[2]}")
    return one if condition else other


def _kind(value: Any) -> type:
    return next((kind for each, kind in _KINDS.items() if isinstance(value, each)), type(value))


@OVERRIDES.override(torch, "sym_ite")
def _chosen(original: Any) -> Any:
    """A choice between numbers, which the example makes, by a guard."""

    @functools.wraps(original)
    def sym_ite(b: Any, t: Any, f: Any) -> Any:
        recorder = listening()
        return original(b, t, f) if recorder is None else recorder.scopes.run(_either, b, t, f)

    return sym_ite


@OVERRIDES.override(*CHECKER)
def _check_with(original: Any) -> Any:
    """What the user says holds: required of symbolic numbers, and from then on known.

    One that is false already is the user's own error, as in eager, unless something was learnt
    about data before: then two checks contradict each other, and no call can satisfy both.
    """

    def check_with(error_type: Any, cond: Any, message: Any) -> None:
        recorder = listening()
        if isinstance(cond, torch.SymBool) and isinstance(cond.node, SymbolNode):
            said = text_of_message(message)
            if said and recorder is not None and isinstance(cond.node.value, Relation):
                recorder.said[cond.node.value] = said
            cond.node.expect_true("", 0)
            return
        if cond is False and recorder is not None and recorder.facts.has_unbacked:
            raise problem("check-fails", condition=snippet(recorder.origin()[:1]))
        original(error_type, cond, message)

    return check_with
