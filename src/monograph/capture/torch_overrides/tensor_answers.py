"""The table of what answers abstract tensors while user code runs: handed to every recorder."""

from __future__ import annotations

from typing import Final

from monograph.capture.queries.tensor_answers import TensorAnswers
from monograph.capture.recording import indexing, unbacked_values
from monograph.capture.recording.element_values.value_ranges import limit_size
from monograph.capture.recording.fake_kernel_checks import check_promises
from monograph.capture.side_effects.sparse_parts import make_sparse
from monograph.capture.torch_overrides import collectives
from monograph.capture.torch_overrides.caught_errors import (
    before_elements,
    before_write,
    note_tried,
    raise_as_eager,
)
from monograph.capture.torch_overrides.guarded_queries import (
    asked,
    begin_history,
    set_requires_grad,
)
from monograph.capture.torch_overrides.tensor_memory import (
    access_memory,
    check_read,
    check_shown,
    memory_behind,
    show_literal,
)
from monograph.capture.torch_overrides.tensor_text import refuse_text

ANSWERS: Final = TensorAnswers(
    special_operators=unbacked_values.special_operators,
    item=unbacked_values.item,
    truth=unbacked_values.truth,
    detach=unbacked_values.detach,
    getitem=indexing.getitem,
    setitem=indexing.setitem,
    asked=asked,
    set_requires_grad=set_requires_grad,
    begin_history=begin_history,
    make_sparse=make_sparse,
    collective=collectives.recorded,
    text_asked=refuse_text,
    note_tried=note_tried,
    raise_as_eager=raise_as_eager,
    before_elements=before_elements,
    before_write=before_write,
    limit_size=limit_size,
    of_constants=unbacked_values.of_constants,
    check_fake_kernel=check_promises,
    access_memory=access_memory,
    memory_behind=memory_behind,
    check_read=check_read,
    check_shown=check_shown,
    show_literal=show_literal,
)

__all__ = ["ANSWERS"]
