"""Inference tensors as results, and what operators outside of inference mode do with them."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

from monograph.abstract.aliasing import (
    FRESH,
    may_drop_nothing,
    require_drop,
    results_of,
    source_of,
    view_chain,
    written_by,
)
from monograph.abstract.layout import is_contiguous
from monograph.abstract.layout_origin import copied_by_layout
from monograph.abstract.tensor import AbstractTensor
from monograph.abstract.tensor_type import is_differentiable
from monograph.capture.queries.inference_tensors import EITHER, MARK, is_inference
from monograph.capture.torch_overrides.autograd_overrides import need_no_gradient
from monograph.diagnostics import asked_from, problem
from monograph.host.fx_nodes import is_removed

if TYPE_CHECKING:
    from torch.fx.node import Node

    from monograph.capture.inputs.outputs import OutputLeaf
    from monograph.capture.recording.recorder import Recorder

_WHAT: Final = "torch.inference_mode()"


def inference_results(recorder: Recorder, leaves: tuple[OutputLeaf, ...]) -> tuple[int, ...]:
    """The places of the results that are inference tensors.

    Raises: gradient-in-forward (how an input lies decides whether a result is one; one is written
        to outside of inference mode, as PyTorch refuses).
    """
    for node in recorder.operations:
        if is_removed(node):
            continue
        if not node.meta.get(MARK):
            _check_outside(recorder, node)
        made = node.meta.get("val")
        if node.graph is not recorder.writer.graph and isinstance(made, AbstractTensor):
            _ask_layout(recorder, made)  # a branch or a loop may give it
    for leaf in leaves:
        if isinstance(leaf.value, AbstractTensor):
            _ask_layout(recorder, leaf.value)
            if is_inference(leaf.value) == EITHER:
                root = leaf.value.storage_root.node
                at = () if root is None else _lines(recorder, root)
                because = "makes a tensor another kind, where data decide whether it is made"
                raise problem("gradient-in-forward", what=_WHAT, because=because, at=at)
    return tuple(place for place, leaf in enumerate(leaves) if _is_made(leaf.value))


def _ask_layout(recorder: Recorder, tensor: AbstractTensor) -> None:
    """A copy is made in the mode that it is made in, what is given back was made before."""
    for each in filter(may_drop_nothing, () if tensor.node is None else view_chain(tensor.node)):
        source: Any = source_of(each)
        if each.meta.get(MARK) != is_inference(source.meta["val"]):
            at, locate = _lines(recorder, each), recorder.facts.locate
            recorder.facts.locate = partial(tuple, at)
            with asked_from(at):
                require_drop(each)
            recorder.facts.locate = locate
    for call, source in copied_by_layout(tensor.node):
        if call.meta.get(MARK) == is_inference(source):
            continue
        if not is_contiguous(source.tensor_type):
            because = "copies what does not lie in rows, and gives back what does"
            at = _lines(recorder, call)
            raise problem("gradient-in-forward", what=_WHAT, because=because, at=at)
        recorder.layout_asked(source, "form")


def _is_made(value: Any) -> bool:
    return isinstance(value, AbstractTensor) and is_inference(value) in (True, EITHER)


def _check_outside(recorder: Recorder, node: Node) -> None:
    """What an operator outside of inference mode does to inference tensors, eager code lets it do.

    Autograd saves none for backward, so no call may need a gradient there.
    """
    made = [each for each in node.all_input_nodes if _is_made(each.meta.get("val"))]
    if not made:
        return
    if any(each in made for each in written_by(node)):
        because = "makes tensors that PyTorch does not write to outside of it"
        raise problem("gradient-in-forward", what=_WHAT, because=because, at=_lines(recorder, node))
    others = [each.meta.get("val") for each in node.all_input_nodes if each not in made]
    tensors = [each for each in others if isinstance(each, AbstractTensor)]
    followed = [each for each in tensors if is_differentiable(each.tensor_type.dtype)]
    if followed and results_of(node) == FRESH:
        need_no_gradient(recorder, followed, _WHAT)


def _lines(recorder: Recorder, node: Node) -> Any:
    return recorder.scopes.filter.innermost_user(node.meta.get("frames", ()))


__all__ = ["inference_results"]
