"""Higher-order operators: `torch.cond`, `map`, `while_loop`, `scan`, `associative_scan`.

Each records the functions it is given as subgraphs and calls torch's operator on them, which is
what programs, files and other tools know. One function below answers one operator; it takes what
torch's front end hands down (flat lists, except for `cond`) and gives user code its results.

Law: results are new tensors, as those of torch's compiled operators are. A loop's step is recorded
once, so whatever it is carried has one type for all steps.
"""

from __future__ import annotations

import functools
import operator
from typing import TYPE_CHECKING, Any, Final

import torch

from monograph.abstract.symbols import to_python
from monograph.abstract.tensor import AbstractTensor, with_requires_grad
from monograph.abstract.tensor_type import TensorType, type_text
from monograph.capture.control_flow.higher_order.loop_types import (
    CarriedTypes,
    check_step,
    pointwise,
    stacked,
    step_type,
)
from monograph.capture.control_flow.higher_order.result_merge import (
    Merged,
    ResultName,
    merge,
    merge_types,
)
from monograph.capture.control_flow.region import Copied, Region, label_of, record, record_with
from monograph.capture.control_flow.region_calls import call, close, write_back
from monograph.capture.control_flow.result_copies import is_copy, lie_alike, owned
from monograph.capture.installation import OVERRIDES, listening
from monograph.diagnostics import problem
from monograph.host.fx_nodes import mark_superfluous
from monograph.host.higher_order import (
    ASSOCIATIVE_SCAN,
    ASSOCIATIVE_SCANS,
    COND,
    MAP,
    SCAN,
    WHILE_LOOP,
    unvectorised,
)
from monograph.host.trees import pytree, unflatten
from monograph.integers import Expr, Real, Relation, eq, fresh, ne, negate, require

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from torch.fx.node import Node

    from monograph.capture.recording.recorder import Recorder


# --- cond --------------------------------------------------------------------------------------


def cond(
    recorder: Recorder,
    pred: Any,
    true_fn: Any,
    false_fn: Any,
    operands: Any = (),
    *,
    stays: bool = False,
) -> Any:
    """One of two functions, by a condition: a tensor of one element, or a comparison of sizes.

    A condition that is known while the program is captured chooses now. For `stays` see `Branches`.

    Raises: operator-arguments, branches-disagree, branch-writes.
    """
    name = "torch.cond"
    _check_functions(name, true_fn, false_fn)
    condition, known = _condition(recorder, name, pred)
    if known is not None:
        return recorder.scopes.run(true_fn if known else false_fn, *operands)
    regions = record_both(recorder, name, condition, (true_fn, false_fn), (operands, operands))
    return Branches(recorder, regions, operands, stays=stays).close(condition)


def record_both(
    recorder: Recorder,
    name: str,
    condition: Any,
    functions: Sequence[Callable[..., Any]],
    arguments: Sequence[Any],
) -> list[Region]:
    """Record what is run if a condition holds, and what if not, each on its arguments.

    Raises: branch-writes, branch-side-effect, and what the functions refuse.
    """
    sides: tuple[Any, Any] = (True, True)
    if isinstance(condition, Relation):
        sides = (condition, negate(condition))
    copies: Copied = {}

    def recorded(side: int) -> Region:
        return record(
            recorder, name, functions[side], arguments[side], assumed=sides[side], copies=copies
        )

    regions: list[Region] = []
    try:
        regions += [recorded(0)]
        regions += [recorded(1)]
    except BaseException:
        for region in regions:
            region.discard()
        raise
    if len(regions[0].written) < len(copies):
        # Both begin with a copy, so that neither keeps for gradients what is written to afterwards.
        regions[0].discard()
        regions[0] = recorded(0)
    return regions


class Branches:
    """Two recorded branches on the way to one call of `cond`."""

    def __init__(
        self,
        recorder: Recorder,
        regions: Sequence[Region],
        operands: Any,
        *,
        stays: bool = False,
        named: Sequence[ResultName] = (),
    ) -> None:
        """`stays`: what a branch returns of its inputs is these themselves, as in eager code.

        `named` is what messages say of the results.
        """
        self.named = named
        self.recorder = recorder
        self.regions = regions
        self.first = [] if operands == () else _nodes(operands)
        self.stays = stays
        self.copied: set[tuple[int, int]] = set()
        """Side and number of the results that are copies there of what eager code gives itself."""

    def close(self, condition: Any) -> Any:
        """Write the call; returns the result of either as user code sees it.

        Raises: branches-disagree.
        """
        leaves, spec = merge(self.regions)
        return unflatten(self.call(condition, leaves), spec)

    def call(self, condition: Any, leaves: Sequence[Merged]) -> list[Any]:
        """Write the call; returns what these leaves are after it.

        Raises: branches-disagree, write-after-branch.
        """
        recorder, regions = self.recorder, self.regions
        changed = {id(tensor): tensor for region in regions for tensor, _ in region.written}
        for tensor in changed.values():
            recorder.check_write(tensor)
        returned = [leaf.values for leaf in leaves if leaf.values]
        writes = [self._last_values(tensor) for tensor in changed.values()]
        n_staying = len(returned) * self.stays
        alike = [lie_alike(values) for values in returned[:n_staying]]
        outputs = [
            owned(region, [v[i] for v in (*returned, *writes)], n_staying, alike)
            for i, region in enumerate(regions)
        ]
        places = [i for i, leaf in enumerate(leaves) if leaf.values]
        for side, (region, made) in enumerate(zip(regions, outputs, strict=True)):
            for i, given, taken in zip(places, returned, made, strict=False):
                if is_copy(region, given[side], taken):
                    self.copied.add((side, i))
        types = self._types([leaf.type for leaf in leaves if leaf.values], outputs)
        lifted = close(regions, outputs, self.first)
        node = call(
            recorder,
            COND,
            "cond",
            {"true_graph": regions[0], "false_graph": regions[1]},
            lambda attributes: (_written(recorder, condition), *attributes, tuple(lifted)),
        )
        results = take_results(recorder, node, types)
        for tensor, value in zip(changed.values(), results[len(returned) :], strict=True):
            write_back(regions[0], tensor, value)
        made = iter(results)
        return [next(made) if leaf.values else leaf.constant for leaf in leaves]

    def _last_values(self, tensor: AbstractTensor) -> tuple[AbstractTensor, ...]:
        """What a tensor from outside holds after either branch."""
        return tuple(
            next((copy for each, copy in region.written if each is tensor), tensor)
            for region in self.regions
        )

    def _types(self, numbers: list[Any], outputs: Sequence[Sequence[Any]]) -> list[Any]:
        types: list[Any] = []
        several = len(outputs[0]) > 1
        for i, pair in enumerate(zip(*outputs, strict=True)):
            number = numbers[i] if i < len(numbers) else None
            which = ResultName(f"result {i}" if several else "")
            which = self.named[i] if i < len(self.named) else which
            types.append(merge_types(self.regions, pair, which) if number is None else number)
        return types


def _condition(recorder: Recorder, name: str, pred: Any) -> tuple[Any, bool | None]:
    """What decides at run time, and what it is where that is known already."""
    if isinstance(pred, torch.Tensor):
        tensor = recorder.abstract(pred)
        count = tensor.tensor_type.numel()
        reason = f"the condition is {type_text(tensor.tensor_type)}, and must have one element"
        require(eq(count, 1), "operator-arguments", operator=name, reason=reason)
        return tensor, None
    condition = to_python(pred)
    if isinstance(condition, Expr | Real):
        condition = ne(condition, 0)
    if isinstance(condition, Relation):
        return condition, recorder.facts.prove(condition)
    if isinstance(condition, bool | int | float):
        return None, bool(condition)
    reason = f"the condition is a {type(pred).__name__}"
    raise problem("operator-arguments", operator=name, reason=reason)


def _written(recorder: Recorder, condition: Any) -> Any:
    if isinstance(condition, AbstractTensor):
        return condition.node
    return recorder.writer.number(condition)


def _check_functions(name: str, *functions: Any) -> None:
    for function in functions:
        if not callable(function):
            reason = f"{function!r} is no function"
            raise problem("operator-arguments", operator=name, reason=reason)


# --- map ---------------------------------------------------------------------------------------


def map_(recorder: Recorder, function: Any, xs: Any, arguments: Any = ()) -> Any:
    """A function of each slice along the first dimension, its results stacked.

    Raises: operator-arguments, branch-writes.
    """
    name = "map"
    tensors = [recorder.abstract(x) for x in xs]
    count = tensors[0].tensor_type.shape[0]

    def given(region: Region) -> Sequence[Any]:
        slices = [region.stand_in("x", step_type(tensor.tensor_type)) for tensor in tensors]
        return [*slices, *arguments]

    region = record_with(recorder, name, function, given)
    leaves, spec = pytree.tree_flatten(region.result)
    made = [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]
    outputs = owned(region, made)
    types = [stacked(region, value, count) for value in outputs]
    lifted = close([region], [outputs], _nodes(arguments))
    node = call(
        recorder,
        MAP,
        "map_impl",
        {"body_graph": region},
        lambda attributes: (*attributes, [tensor.node for tensor in tensors], lifted),
    )
    return _stacked_results(name, leaves, spec, take_results(recorder, node, types))


def _nodes(values: Any) -> list[Node]:
    tensors = (each for each in pytree.tree_leaves(values) if isinstance(each, AbstractTensor))
    return [each.node for each in tensors if each.node is not None]


def _stacked_results(name: str, leaves: list[Any], spec: Any, results: list[Any]) -> Any:
    """What user code gets for the leaves that each step returns."""
    made = iter(results)
    values = [
        next(made) if isinstance(leaf, torch.Tensor) else _constant(name, leaf) for leaf in leaves
    ]
    return unflatten(values, spec)


def _constant(name: str, value: Any) -> Any:
    """Something that each step returns alike.

    Raises: operator-arguments.
    """
    if isinstance(to_python(value), Expr | Real | Relation):
        reason = "its function returns a number, which may differ from step to step"
        raise problem("operator-arguments", operator=name, reason=reason)
    return value


# --- while_loop --------------------------------------------------------------------------------


def while_loop(
    recorder: Recorder,
    cond_fn: Any,
    body_fn: Any,
    carried: Any,
    additional: Any = (),
    name: str = "while_loop",
    *,
    may_write: bool = False,
    n_staying: int = 0,
    **_options: Any,
) -> Any:
    """A function of what it returned last, as long as another says so.

    `name` is how messages call it; for `may_write` see `record_with`, for `n_staying` see `scan`.

    Raises: operator-arguments, loop-carry-changes, branch-writes.
    """
    _check_functions(name, cond_fn, body_fn)
    loop = CarriedTypes(recorder, name, carried)
    while True:
        step = record_with(
            recorder,
            name,
            body_fn,
            lambda region: [*loop.stand_ins(region), *additional],
            may_write=may_write,
        )
        returned, spec = pytree.tree_flatten(step.result)
        outputs = owned(step, returned, n_staying)
        if check_step(loop, step, outputs):
            break
        step.leave()
    asked = record_with(
        recorder, name, cond_fn, lambda region: [*loop.stand_ins(region), *additional]
    )
    answer = _answer(asked, name)
    lifted = close([asked, step], [answer, outputs])
    node = call(
        recorder,
        WHILE_LOOP,
        "while_loop",
        {"while_loop_cond_graph": asked, "while_loop_body_graph": step},
        lambda attributes: (*attributes, tuple(loop.initial()), tuple(lifted)),
    )
    if n_staying:
        mark_superfluous(node)
    types = [
        each if isinstance(each, TensorType) else fresh(label_of(recorder), None, None)
        for each in loop.types
    ]
    results = take_results(recorder, node, types)
    _note_copies(recorder, returned[:n_staying], outputs, results)
    return unflatten(results, spec)


def _note_copies(
    recorder: Recorder, given: Sequence[Any], taken: Sequence[Any], results: Sequence[Any]
) -> None:
    """What a step gives may be copied to a tensor without the gaps that eager code's has."""
    for value, copy, result in zip(given, taken, results, strict=False):
        if value is not copy and isinstance(value, AbstractTensor):
            recorder.aliases.note_strides(value, result, "loop")


def _answer(asked: Region, name: str) -> Any:
    """Whether to go on: a tensor of one element as one without dimensions, or a condition."""
    result = asked.result
    if isinstance(result, torch.Tensor):
        with asked:
            tensor = asked.recorder.abstract(result)
            if tensor.tensor_type.rank or tensor.dtype != torch.bool:
                reason = f"its condition is {type_text(tensor.tensor_type)}, and must be a bool[]"
                raise problem("operator-arguments", operator=name, reason=reason)
            return asked.own(tensor)
    if isinstance(to_python(result), bool | Relation):
        return result
    reason = f"its condition is a {type(result).__name__}"
    raise problem("operator-arguments", operator=name, reason=reason)


# --- scans -------------------------------------------------------------------------------------


def scan(
    recorder: Recorder,
    combine: Any,
    init: Any,
    xs: Any,
    additional: Any = (),
    *,
    name: str = "scan",
    may_write: bool = False,
    n_staying: int = 0,
    **named: Any,
) -> Any:
    """A function of what is carried and of each slice: what is carried last, and what it makes.

    `name` is how messages call it; for `may_write` see `record_with`. What a step returns as the
    first `n_staying` is these tensors themselves, as in eager code.

    Raises: operator-arguments, loop-carry-changes, branch-writes.
    """
    additional = named.get("additional_inputs", additional)
    tensors = [recorder.abstract(x) for x in xs]
    count = tensors[0].tensor_type.shape[0]
    loop = CarriedTypes(recorder, name, init)

    def given(region: Region) -> Sequence[Any]:
        carried = loop.stand_ins(region)
        slices = [region.stand_in("x", step_type(tensor.tensor_type)) for tensor in tensors]
        return [*carried, *slices, *additional]

    while True:
        region = record_with(recorder, name, combine, given, may_write=may_write)
        leaves, spec = pytree.tree_flatten(region.result)
        n_carried = len(loop.types)
        made = [leaf for leaf in leaves[n_carried:] if isinstance(leaf, torch.Tensor)]
        outputs = owned(region, [*leaves[:n_carried], *made], n_staying)
        if check_step(loop, region, outputs[:n_carried]):
            break
        region.discard()
    types = [*loop.types, *[stacked(region, value, count) for value in outputs[n_carried:]]]
    lifted = close([region], [outputs])
    node = call(
        recorder,
        SCAN,
        "scan",
        {"scan_combine_graph": region},
        lambda attributes: (
            *attributes,
            loop.initial(),
            [tensor.node for tensor in tensors],
            tuple(lifted),
        ),
    )
    results = take_results(recorder, node, types)
    _note_copies(recorder, leaves[:n_staying], outputs, results)
    return _stacked_results(name, leaves, spec, results)


def associative_scan(
    recorder: Recorder, combine: Any, xs: Any, additional: Any = (), **named: Any
) -> Any:
    """What a function makes of all slices up to each one, in any grouping.

    Raises: operator-arguments, loop-carry-changes, branch-writes.
    """
    additional = named.get("additional_inputs", additional)
    result = _associative(recorder, combine, xs, additional)
    if result is NotImplemented:
        reason = "it works element by element only, and the function does not"
        raise problem("operator-arguments", operator="associative_scan", reason=reason)
    return result


def generic_scan(recorder: Recorder, combine: Any, leaves: list[Any]) -> Any:
    """The same, of a function that torch made one of many slices at once.

    NotImplemented unless it works element by element: the operator is given many slices as they
    are, so anything else is taken apart into halves, as torch does.
    """
    one = unvectorised(combine.keywords["combine_fn"])
    if one is None:
        return NotImplemented
    single = functools.partial(combine.func, **{**combine.keywords, "combine_fn": one})
    return _associative(recorder, single, leaves, ())


def _associative(recorder: Recorder, combine: Any, xs: Any, additional: Any) -> Any:
    name = "associative_scan"
    tensors = [recorder.abstract(x) for x in xs]

    def given(region: Region) -> Sequence[Any]:
        types = [step_type(tensor.tensor_type) for tensor in tensors] * 2
        return [*[region.stand_in("x", each) for each in types], *additional]

    region = record_with(recorder, name, combine, given)
    outputs = owned(region, pytree.tree_leaves(region.result))
    loop = CarriedTypes(recorder, name, tensors)
    loop.types = [step_type(tensor.tensor_type) for tensor in tensors]
    if not pointwise(region) or not check_step(loop, region, outputs, is_strict=False):
        region.discard()
        return NotImplemented
    lifted = close([region], [outputs])
    node = call(
        recorder,
        ASSOCIATIVE_SCAN,
        "associative_scan",
        {"associative_scan_combine_graph": region},
        lambda attributes: (*attributes, [tensor.node for tensor in tensors], tuple(lifted)),
    )
    types = [
        with_requires_grad(
            TensorType(t.tensor_type.shape, t.dtype, t.tensor_type.device), loop.requires_grad
        )
        for t in tensors
    ]
    return take_results(recorder, node, types)


# --- results -----------------------------------------------------------------------------------


def take_results(recorder: Recorder, node: Node, types: Sequence[Any]) -> list[Any]:
    """What user code gets for the results of an operator: tensors of these types, or numbers."""
    results: list[Any] = []
    for i, result in enumerate(types):
        item = recorder.append(operator.getitem, "getitem", (node, i), {}, beside=node)
        flag = isinstance(result, TensorType) and result.requires_grad
        results.append(recorder.wrap(result, item, requires_grad=flag))
    node.meta["val"] = tuple(results)
    return results


# --- overrides -------------------------------------------------------------------------------

_ANSWERS: Final[dict[Any, Callable[..., Any]]] = {
    COND: cond,
    MAP: map_,
    WHILE_LOOP: while_loop,
    SCAN: scan,
    ASSOCIATIVE_SCAN: associative_scan,
}


def _recorded(original: Any) -> Any:
    """The call of an operator, which is recorded."""

    def call_operator(op: Any, /, *args: Any, **kwargs: Any) -> Any:
        recorder = listening()
        if recorder is None or recorder.closed:
            return original(op, *args, **kwargs)
        return _ANSWERS[op](recorder, *args, **kwargs)

    return call_operator


for _op in _ANSWERS:
    OVERRIDES.override(type(_op), "__call__")(_recorded)


@OVERRIDES.override(ASSOCIATIVE_SCANS, "generic_associative_scan")
def _scanned(original: Any) -> Any:
    """What `associative_scan` in its generic mode takes apart, recorded as a whole where it can."""

    def scan_all(combine: Any, leaves: Any, dim: int = 0, additional_inputs: Any = ()) -> Any:
        recorder, result = listening(), NotImplemented
        is_plain = dim == 0 and not additional_inputs
        if is_plain and recorder is not None and not recorder.closed:
            result = generic_scan(recorder, combine, leaves)
        if result is NotImplemented:
            return original(combine, leaves, dim, additional_inputs)
        return result

    return scan_all


__all__ = [
    "Branches",
    "associative_scan",
    "cond",
    "map_",
    "record_both",
    "scan",
    "take_results",
    "while_loop",
]
