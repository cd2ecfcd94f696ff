"""Lowering of in-place operators: the functional form, and then the writes."""

from __future__ import annotations

from contextlib import suppress
from operator import getitem
from typing import TYPE_CHECKING, Any, Final

import torch
from torch.fx.node import Node

from monograph.abstract.aliasing import (
    STATISTICS,
    Result,
    aliasing_of,
    may_drop_nothing,
    results_of,
    source_of,
)
from monograph.abstract.layout import is_contiguous, is_dense
from monograph.abstract.layout_origin import CONTIGUOUS, layout_sources
from monograph.abstract.randomness import is_random
from monograph.diagnostics import problem
from monograph.host.decompositions import is_composite
from monograph.host.operator_types import HigherOrderOperator
from monograph.host.overloads import aten
from monograph.integers import ge, known, require
from monograph.passes.decomposition.arguments import as_called
from monograph.passes.formulas import CannotDecomposeError
from monograph.passes.functionalization.autograd_history import hides_writes, is_hidden, seen_from
from monograph.passes.functionalization.functional_forms import Results, functional_form
from monograph.passes.functionalization.functionalize import (
    Alias,
    Overlap,
    Storage,
    copied,
    lies_within,
    overlap,
    read,
    view_of,
    whole,
    write,
)
from monograph.passes.functionalization.views import (
    NoInverseError,
    View,
    lies_in_rows,
    makes_anew,
)
from monograph.passes.functionalization.writes import is_tensor_node
from monograph.passes.graph_builder import tensor_type

if TYPE_CHECKING:
    from monograph.capture.recording.operators import Operator
    from monograph.diagnostics import MonographError
    from monograph.host.operator_types import OpOverload
    from monograph.passes.decomposition.lowering import Lowering


_NORMALISING = aten._native_batch_norm_legit.default  # noqa: SLF001 - an operator's name

_KEEPS_WHAT_IT_REPLACES = frozenset({aten._native_batch_norm_legit_functional.default})  # noqa: SLF001
"""Autograd keeps the statistics it is given: the backward pass refuses such as were written to."""


def mutation(
    lowering: Lowering,
    op: Operator,
    args: Any,
    kwargs: dict[str, Any],
    source: Node | None = None,
) -> Any:
    """An operator that writes to arguments: its functional form, and then the writes."""
    overload = op.overload
    bound = dict(zip(op.argument_names, args, strict=False)) | kwargs
    form = None if op.is_custom else functional_form(overload)  # users' names promise nothing
    target: Any = bound.get("self")
    _check_overlap(lowering, op, bound, form)
    if overload is aten.copy_.default and target.__class__ is Alias:
        _write(lowering, target, copied(target, lowering.read(bound["src"]), lowering.compute))
        return target
    if op.inplace_view:
        return _reshaped_in_place(lowering, op, form and form.overload, args, kwargs, source)
    if is_random(overload):
        _check_drawn(lowering, op, target)
    if form is None or (form.overload in _DRAWN_IN_ROWS and not _lies_in_rows(lowering, target)):
        return _mutation_without_form(lowering, op, bound, args, kwargs)
    given = {name: lowering.read(arg) for name, arg in bound.items() if name not in form.drops}
    given |= {name: value for name, value in form.defaults if name not in given}
    if _is_kept_and_lost(lowering, op, target, given):
        given["self"] = lowering.compute(aten.clone.default, given["self"])
    if form.overload in _DRAWN_ANEW and lowering.history.may_have(given["self"]):
        given["self"] = lowering.compute(aten.detach.default, given["self"])
    if form.overload in _KEEPS_WHAT_IT_REPLACES:
        given |= {name: _copied(lowering, given[name]) for name in op.mutated}
    before: Any = given.get("self") if form.overload in _WITHOUT_DERIVATIVE else None
    is_lost = before is not None and lowering.history.may_have(before)
    if is_lost:
        given["self"] = lowering.compute(aten.detach.default, before)
    results = lowering.call(form.overload, *as_called(form.overload, given))
    if is_lost:
        everywhere = lowering.compute(aten.ones_like.default, before, dtype=torch.bool)
        results = lowering.compute(aten.where.self, everywhere, results, before)
    flat = results if isinstance(results, list) else [results]
    n_own = len(flat) - len(op.mutated) if form.results is Results.AFTER else 0
    targets = [bound.get(name) for name in op.mutated]
    keeps_layout = op.aliasing.is_inplace and op.base_name not in _LIE_ANEW
    _write_all(lowering, targets, flat[n_own:] if n_own else flat, keeps_layout=keeps_layout)
    return _returned(op, bound, flat[:n_own])


def begun_history(
    lowering: Lowering, op: Operator, args: Any, kwargs: dict[str, Any], source: Node | None = None
) -> Any:
    """`requires_grad_`: the value is a leaf from here on, where there is nothing to follow yet.

    Raises: not-functional.
    """
    target = args[0]
    value = lowering.read(target)
    if target.__class__ is Alias:
        if target.storage.input is not None or (target.views and lowering.builder.state):
            raise not_functional(lowering, op, "it makes a leaf of memory that is written to")
        held: Any = None if source is None else source.args[0]
        users = () if held is None else held.users
        if any(Result.VIEW in results_of(each) for each in users if each is not source):
            raise not_functional(lowering, op, "a view was taken of it when it was no leaf")
        target.storage.has_leaf = True
        target.storage, target.views = whole(value).storage, ()  # views from now on are of the leaf
        target.storage.has_leaf = True
    lowering.builder.call(op.overload, (value, *args[1:]), kwargs)
    lowering.history.begin(value)
    return target


_OVERLAPS = "what it reads overlaps in memory what it writes"


def _check_overlap(lowering: Lowering, op: Operator, bound: dict[str, Any], form: object) -> None:
    """Refuse to read memory that the operator writes, at other places than it writes at.

    PyTorch refuses that in elementwise operators, or gives what the order of its loops makes of it;
    others than elementwise ones do so wherever they read what they write. Without a functional form
    the operator is handed copies, and writes to one of them are not seen in another.
    """
    overload = op.overload
    if overload is aten.fill_.Tensor:
        return  # its one element is read first
    is_pointwise = torch.Tag.pointwise in overload.tags or overload is aten.copy_.default
    is_pointwise |= op.base_name.startswith("_foreach_")
    given = [
        (name, at, each)
        for name, value in bound.items()
        for at, each in enumerate(_listed(value))
        if each.__class__ is Alias
    ]
    for name, at, written in given:
        for other, place, each in given if name in op.mutated else ():
            is_itself = each is written and (other == name or form is not None) and at == place
            if is_itself or each.storage is not written.storage:
                continue
            found = overlap(written.type, each.type)
            if 0 in written.type.stride():
                lowering.laid_out.update(layout_sources([written.storage.value]))
            meets = found is Overlap.SAME and is_pointwise and at == place
            if found is not Overlap.NONE and not meets:
                raise not_functional(lowering, op, _OVERLAPS)


def _check_drawn(lowering: Lowering, op: Operator, target: Any) -> None:
    """Numbers are drawn in the order in which the target lies; some kernels look for gaps, too.

    Raises: not-functional.
    """
    lowering.laid_out.update(layout_sources([lowering.read(target)]))
    if op.base_name == "normal_" and not is_dense(lowering.type_of(target)):
        raise not_functional(lowering, op, "what it draws depends on the gaps in its memory")


def _lies_in_rows(lowering: Lowering, target: Any) -> bool:
    value = lowering.read(target)
    return is_contiguous(tensor_type(value)) and is_contiguous(lowering.type_of(target))


_DRAWN_IN_ROWS: Final = frozenset({aten.bernoulli.p, aten.bernoulli.Tensor})
"""Forms whose result is contiguous, whatever they are given."""

_DRAWN_ANEW = _DRAWN_IN_ROWS
"""Forms that look at no value of the tensor, and have no derivative where one is zero in place."""

_WITHOUT_DERIVATIVE = frozenset({aten.normal_functional.default})
"""Forms that take a tensor to draw one like it; in place the derivative of what it held is zero."""

_LIE_ANEW: Final = frozenset(f"{name}_" for name in CONTIGUOUS) | {
    *("addmv_", "addr_", "bernoulli_", "cauchy_", "conj_physical_", "exponential_", "geometric_"),
    *("log_normal_", "normal_", "random_", "rrelu_", "rrelu_with_noise_", "sort_", "uniform_"),
}
"""Operators in place whose functional form may lay out its result otherwise than its argument."""

_KEEPS_NOTHING = frozenset(
    {"add_", "sub_", "copy_", "fill_", "zero_", "index_put_", "masked_fill_"}
)


def _is_kept_and_lost(lowering: Lowering, op: Operator, target: Any, given: Any) -> bool:
    """Whether autograd may keep the caller's memory, which has other values after the call.

    The operator that writes keeps a copy of its own there.
    """
    if target.__class__ is not Alias or target.storage.input is None or target.storage.generation:
        return False
    others = [each for name, each in given.items() if name != "self" and each.__class__ is Node]
    return op.base_name not in _KEEPS_NOTHING and any(map(lowering.history.may_have, others))


def _write_all(
    lowering: Lowering, targets: list[Any], values: list[Any], *, keeps_layout: bool = False
) -> None:
    """Write values to targets, in order; a target may be a list, as `_foreach_` has them."""
    flat: list[Any] = []
    for target in targets:
        flat += target if isinstance(target, list | tuple) else [target]
    for target, value in zip(flat, values, strict=True):
        if target.__class__ is Alias:
            _write(lowering, target, lowering.read(value), keeps_layout=keeps_layout)
        elif target is not None:
            raise problem("bug", reason=f"a write to {target} was not foreseen")


def _write(lowering: Lowering, target: Alias, value: Node, *, keeps_layout: bool = False) -> None:
    """Write a value to memory; with `keeps_layout` it lies as what was there, in any call."""
    before = target.storage.value
    at = lowering.builder.lines
    if target.unseen is not None and not hides_writes(lowering.builder.state):
        _check_without_history(lowering, before, "a write", _UNSEEN_WRITE)
    if target.storage.has_leaf:
        raise problem("not-functional", at=at(), op="a write", reason=_TO_A_LEAF)
    if target.storage.is_counted_apart and _may_be_kept(lowering, before):
        raise problem("not-functional", at=at(), op=".data", reason=_OVERLOOKED)
    try:
        is_laid_out = write(target, value, lowering.compute)
    except NoInverseError as error:
        views = [str(view.overload) for view in target.views]
        reason = str(error)
        raise problem("write-through-view", at=at(), views=views, reason=reason) from error
    storage = target.storage
    keeps_layout |= any(makes_anew(view) for view in target.views)
    if is_laid_out or not keeps_layout or any(map(lies_in_rows, target.views)):
        lowering.laid_out.update(_differing(before, value))
    if hides_writes(lowering.builder.state) or is_hidden(target.views):
        if is_hidden(target.views):
            _check_without_history(lowering, value, "a write", _TWO_HISTORIES)
        _hide(lowering, storage, before)
        storage.has_unseen_write = True
    else:
        is_shown = any(region.kind == "grad" for region in lowering.builder.state)
        if storage.input is not None and is_shown:
            # The caller's memory gets it in the caller's mode, where a leaf may be written to.
            lowering.denied.setdefault((storage.input.name, "may_not_be_written"), at())
        _keep_history(lowering, storage, before)


def _differing(before: Node, value: Node) -> set[Node]:
    """The inputs whose layout decides whether a value lies as the memory it is written to."""
    return layout_sources((before, value)) if tensor_type(before).rank > 1 else set()


def _keep_history(lowering: Lowering, storage: Storage, before: Node) -> None:
    """What is overwritten as a whole goes on to require a gradient, which is zero."""
    history = lowering.history
    if storage.input is not None and storage.input.name in history.leaves:
        return
    if not history.goes_on(before, storage.value):
        never = lowering.compute(aten.full.default, [], False, device=before.meta["val"].device)
        storage.value = lowering.compute(aten.where.self, never, before, storage.value)


_TO_A_LEAF = "it goes to a tensor that forward made a leaf of autograd's, or to its memory"
_OVERLOOKED = "autograd keeps what was there, and gradients would differ where it is overwritten"


def _may_be_kept(lowering: Lowering, value: Node) -> bool:
    """Whether autograd may have kept a value, or a view of it, for a gradient."""
    rest = [value]
    for each in rest:
        for user in each.users:
            if user.target is getitem or Result.VIEW in results_of(user):
                rest.append(user)
            elif user.op == "call_function" and lowering.history.may_have(user):
                return True
    return False


_TWO_HISTORIES = "a detached view of what it writes to gets a history of its own"


_UNSEEN = "it is taken where autograd sees nothing, of memory that is written to, and read later"
_UNSEEN_WRITE = "it goes through a view that was taken where autograd sees nothing"
_ENDS_ITS_HISTORY = "the caller's tensor has no history from then on, which no value says"


def _check_without_history(lowering: Lowering, value: Node, op: str, reason: str) -> None:
    """There is to be no history, of which a graph of values has one: inputs need no gradients.

    A detached view gets a history of its own, which the tensor it is of does not have.

    Raises: not-functional.
    """
    for each in lowering.history.ends(value):
        is_input = each.op == "placeholder" and each.name not in lowering.history.leaves
        if not is_input or tensor_type(each).requires_grad:
            at = lowering.builder.lines()
            raise problem("not-functional", at=at, op=op, reason=reason)
        lowering.denied.setdefault((each.name, "requires_grad"), lowering.builder.lines())


def read_unseen(lowering: Lowering, view: Alias) -> Node:
    """A view that autograd saw nobody take passes no gradient on, until its memory is written to.

    Raises: not-functional.
    """
    builder = lowering.builder
    state, (generation, taken) = builder.state, view.unseen or (-1, ())
    is_as_taken = generation == view.storage.generation
    # Views of what an input becomes are its own where they are taken outside of regions alone.
    is_newer = view.storage.input is not None and generation != 0
    builder.state = taken if is_as_taken and not is_newer else state
    value = read(view, lowering.compute, builder.state)
    builder.state = state
    if (is_newer or not is_as_taken) and not hides_writes(state):
        _check_without_history(lowering, view.storage.value, "a view", _UNSEEN)
    return value


def _hide(lowering: Lowering, storage: Storage, before: Node) -> None:
    """The new data has the history of what was there before."""
    builder, history = lowering.builder, lowering.history
    if storage.input is not None and storage.input.name in history.leaves:
        return
    if history.may_have(before):
        state = builder.state
        builder.state = seen_from(state)
        storage.value = lowering.compute(aten.copy.default, before, storage.value)
        builder.state = state
    elif history.may_have(storage.value):
        storage.value = lowering.compute(aten.detach.default, storage.value)


def walked_through(
    lowering: Lowering, op: Operator, alias: Alias, rest: Any, kwargs: dict[str, Any]
) -> Alias:
    """`as_strided`: a walk through the whole memory, whatever it was asked of.

    It begins where the tensor does, if no place is given: callers' tensors begin anywhere.

    Raises: not-functional.
    """
    storage = alias.storage
    result = lowering.inferred(op.overload, (alias.type, *rest), kwargs)
    base = Alias(storage, tensor_type(storage.value), unseen=alias.unseen)
    if is_hidden(alias.views):
        base = view_of(base, View(aten.detach.default, (), {}, None, base.type, base.type))
    if not lies_within(result, storage):
        reason = "it shows memory around the tensor, or between its elements"
        raise not_functional(lowering, op, reason)
    given = (list(result.shape), list(result.stride()), result.offset - storage.begin)
    is_placed = len(rest) > 2 or bool(kwargs)
    for size, step in zip(alias.type.shape, alias.type.stride(), strict=True):
        if step == 0 and not is_placed:  # an expansion to 1 has a stride, which a slice of it skips
            require(ge(size, 1), "not-functional", op=str(op.overload), reason=_REPEATS_NOTHING)
    if not alias.views and not is_placed:
        given = given[:2]
    elif storage.input is not None:
        lowering.laid_out.add(storage.input)
        lowering.placed.update([storage.input.name] * is_placed)
    return view_of(base, View(op.overload, given, {}, None, base.type, result))


_REPEATS_NOTHING = "where it begins in memory depends on whether an expansion repeats something"


def not_functional(lowering: Lowering, op: Operator, reason: object) -> MonographError:
    """The refusal of an operator, at the user's line that calls it."""
    at = lowering.builder.lines()
    return problem("not-functional", at=at, op=str(op.overload), reason=str(reason))


def _returned(op: Operator, bound: dict[str, Any], own: list[Any]) -> Any:
    """What the operator returns: arguments it wrote to, and results of its own."""
    rest = iter(own)
    results = [next(rest) if n is None else bound[n] for n in op.returned_arguments]
    if not results:
        return None
    return results[0] if len(results) == 1 else results


def _mutation_without_form(
    lowering: Lowering, op: Operator, bound: dict[str, Any], args: Any, kwargs: dict[str, Any]
) -> Any:
    """Write to copies, which then are the new values; a composite is what it is made of."""
    overload = op.overload
    if is_composite(overload):
        with suppress(CannotDecomposeError):
            return lowering.expanded(overload, args, kwargs)
    given = {name: lowering.read(arg) for name, arg in bound.items()}
    copies = {name: _copied(lowering, given.get(name)) for name in op.mutated}
    results = lowering.builder.call(overload, *as_called(overload, given | copies))
    for name in op.mutated:
        _write_all(lowering, [bound.get(name)], _listed(copies[name]))
    flat = [results] if len(op.returned_arguments) == 1 else results or ()
    own = [r for r, n in zip(flat, op.returned_arguments, strict=False) if n is None]
    return _returned(op, bound, own)


def _copied(lowering: Lowering, value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_copied(lowering, item) for item in value]
    is_needed = value is not None and _is_to_copy(lowering, value)
    return lowering.compute(aten.clone.default, value) if is_needed else value


def _is_to_copy(lowering: Lowering, value: Any) -> bool:
    """Whether it is one tensor, and no copy already, of the same region, that nobody else sees."""
    if value.__class__ is not Node:
        return False
    is_here = lowering.builder.states.get(value, ()) == lowering.builder.state
    return value.target is not aten.clone.default or bool(value.users) or not is_here


def silent_mutation(lowering: Lowering, op: Operator, bound: dict[str, Any]) -> Any:
    """Batch normalisation in training, whose schema hides that it updates its statistics."""
    overload = op.overload
    names = op.argument_names
    if overload is aten.native_batch_norm.default:
        return lowering.call(_NORMALISING, tuple(bound[name] for name in names), {})
    if not is_composite(overload):
        raise not_functional(lowering, op, "it has no functional form")
    if overload is aten.batch_norm.default and lowering.has_shortcuts:
        given = lowering.type_of(bound["input"])
        if given.device.type == "cpu" and known(ge(given.numel(), 1)) is True:
            args = tuple(bound[name] for name in names[:-1])
            return lowering.call(_NORMALISING, args, {})[0]
    args = tuple(bound[name] for name in names if name in bound)
    try:
        return lowering.expanded(overload, args, {})
    except CannotDecomposeError as error:
        raise not_functional(lowering, op, error) from error


def _reshaped_in_place(
    lowering: Lowering,
    op: Operator,
    form: OpOverload | None,
    args: Any,
    kwargs: dict[str, Any],
    source: Node | None,
) -> Any:
    """`t_`, `unsqueeze_` and relatives: the tensor is another view from here on."""
    alias = args[0]
    is_input = _is_input(alias)
    if form is None or aliasing_of(form).source is None:
        raise not_functional(lowering, op, "it replaces its memory")
    if form is aten.detach.default and not lowering.history.may_have(lowering.read(alias)):
        return alias
    if source is not None and not (form is aten.detach.default and is_input):
        _check_one_name(lowering, op, source)
    if is_input and form is not aten.detach.default:
        raise not_functional(lowering, op, "it reshapes an input")
    value = lowering.read(alias) if is_input else None
    if value is not None and value.graph is lowering.graph:  # and not a loop's body
        _check_without_history(lowering, value, str(op.overload), _ENDS_ITS_HISTORY)
        return alias
    return lowering.call(form, args, kwargs)


def _is_input(value: Any) -> bool:
    if value.__class__ is Alias:
        return not value.views and value.storage.input is not None
    return _objects(value)[-1].op == "placeholder"


def _check_one_name(lowering: Lowering, op: Operator, call: Node) -> None:
    """A tensor of another shape is one for all who hold it: nobody holds it by another value.

    Raises: not-functional.
    """
    held: Any = call.args[0]
    owners = _owners(held)
    if any(each.op == "placeholder" for each in owners):
        verb = "detach" if op.overload is aten.detach_.default else "reshape"
        raise not_functional(lowering, op, f"it may {verb} an input")
    is_later = False
    for node in call.graph.nodes:
        is_later |= node is call
        others = node.all_input_nodes if is_later and node is not call else ()
        for each in others:
            if each is call or call in (found := _objects(each)):
                continue
            if any(owner in found for owner in owners):
                raise not_functional(lowering, op, f"it reshapes `{each}`, which is used later")


def _owners(node: Node) -> list[Node]:
    """The first values that it may be the same tensor as.

    A branch or loop may give its operands, for which those of its dtype and rank are taken; what
    drops elements gives its argument where that has none.
    """
    first = _objects(node)[-1]
    call: Any = first.args[0] if first.target is getitem else first
    t, found = tensor_type(first), [first]
    may_give = isinstance(call.target, HigherOrderOperator) or may_drop_nothing(first)
    for each in filter(is_tensor_node, call.all_input_nodes if may_give else ()):
        other = tensor_type(each)
        if (other.dtype, other.rank) == (t.dtype, t.rank):
            found += _owners(each)
    return found


def _objects(node: Node) -> list[Node]:
    """A value, and those that it may be the same tensor as."""
    found = [node]
    while Result.ARGUMENT in results_of(found[-1]):
        before = source_of(found[-1])
        if before is None:
            break
        found.append(before)
    return found


def statistics(op: Operator, args: Any, kwargs: dict[str, Any]) -> dict[str, Any]:
    """The arguments by name, where statistics are updated; else nothing."""
    bound = dict(zip(op.argument_names, args, strict=False)) | kwargs
    active = bound.get(op.silent_flag or "") and bound.get(STATISTICS[0]) is not None
    return bound if active else {}


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]
