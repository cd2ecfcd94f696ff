"""From a program's graph to one without writes, in the operators a table leaves.

One walk over the graph. An operator that the table has a formula for becomes a copy of its template:
the formula is run once for each distinct (operator, argument types, constants), lowered like any
graph, and copied from then on. Tensors that something writes to are followed as aliases
(`functionalize.py`), and operators that write become their functional forms. Everything else is
copied. Operators keep their order, so that random numbers and assertions do.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch
from torch.fx.node import Node
from torch.fx.traceback import NodeSource, NodeSourceAction

from monograph.abstract.symbols import to_python
from monograph.abstract.tensor import AbstractTensor
from monograph.capture.operators import OPERATORS, STATISTICS, Operator
from monograph.diagnostics import problem
from monograph.host.decompositions import composite_formula, is_composite
from monograph.host.flags import region_operators
from monograph.host.operator_types import OpOverload
from monograph.integers import Expr, Real, Relation
from monograph.passes.draft import (
    NUMBERS,
    Draft,
    argument_type,
    is_tensor,
    same_layout,
    tensor_type,
)
from monograph.passes.formulas import CannotDecomposeError, Formula, FormulaWriter, Region, trace
from monograph.passes.functional_forms import Results, functional_form
from monograph.passes.functionalize import Alias, read, view_of, whole, write
from monograph.passes.templates import Template, instantiate, template_of
from monograph.passes.views import NoInverseError, View, can_be_written_through
from monograph.passes.writes import Writes

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from monograph.diagnostics import MonographError

    from monograph.integers import Facts

aten = torch.ops.aten

_GRAD, _AUTOCAST = region_operators()

PASS = "ExportedProgram.run_decompositions()"
SYMBOLIC = {torch.SymInt, torch.SymFloat, torch.SymBool}


@dataclass(slots=True)
class Memory:
    """What one lowering knows already: formulas run, templates made, and what has none and why."""

    formulas: dict[Any, Formula] = field(default_factory=dict[Any, Formula])
    templates: dict[Any, Template | None] = field(default_factory=dict[Any, "Template | None"])
    reasons: dict[str, str] = field(default_factory=dict[str, str])


class Lowering:
    """Walks graphs and writes a draft.

    `table` maps overloads to formulas; an operator it lacks is kept.
    """

    def __init__(
        self,
        table: Mapping[Any, Callable[..., Any]],
        facts: Facts,
        draft: Draft,
        memory: Memory,
        *,
        autocast: tuple[Region, ...] = (),
        keeps_autocast: bool = False,
    ) -> None:
        self.table = table
        self.facts = facts
        self.draft = draft
        self.memory = memory
        self.autocast = autocast
        self.keeps_autocast = keeps_autocast
        """Whether operators stay under autocast; else only composite ones do: casts are explicit."""
        self.regions: tuple[Region, ...] = ()
        self.writes = Writes(self.formula)
        self.laid_out: set[str] = set()
        """The inputs that pass as they are where another layout would have been copied."""
        self.retyped: set[Node] = set()
        """Nodes whose type differs from that of the node they stand for."""

    # --- walking -----------------------------------------------------------------------------

    def walk(self, graph: torch.fx.Graph, env: dict[Node, Any], *, is_program: bool) -> None:
        """Lower every call of a graph; `env` maps its nodes to what stands for them."""
        for node in graph.nodes:
            if node.op != "call_function":
                continue
            if is_program:
                self.draft.provenance = provenance_of(node)
            env[node] = self._node(node, env)

    def _node(self, node: Node, env: dict[Node, Any]) -> Any:
        target: Any = node.target
        if target is operator.getitem:
            return self._item(node, env)
        if target is _GRAD or target is _AUTOCAST:
            return self._region(node, env)
        if node.meta.get("val").__class__ in SYMBOLIC:
            return self._number(node, env)
        args = tuple([mapped(arg, env) for arg in node.args])
        kwargs = {name: mapped(arg, env) for name, arg in node.kwargs.items()}
        return self._held(node, self.call(target, args, kwargs, node))

    def _item(self, node: Node, env: dict[Node, Any]) -> Any:
        """One of several results: known already, or taken from the operator that was kept."""
        source, place = mapped(node.args, env)
        if isinstance(source, list):
            return self._held(node, source[place])
        val = node.meta["val"]
        copied = self.draft.emit(operator.getitem, "getitem", (source, place), {}, val)
        self.draft.bind(copied, val)
        return self._held(node, copied)

    def _held(self, node: Node, value: Any) -> Any:
        """A fresh tensor that something will write to becomes a storage of its own."""
        if value.__class__ is Node:
            val = node.meta.get("val")
            if val is not value.meta["val"] and isinstance(val, AbstractTensor):
                if not same_layout(val.tensor_type, tensor_type(value)):
                    self.retyped.add(value)
            if node in self.writes.roots:
                return whole(value)
        return value

    def _number(self, node: Node, env: dict[Node, Any]) -> Any:
        """A number: written when it is needed, unless it depends on data."""
        val = node.meta["val"]
        number = to_python(val)
        if not isinstance(number, NUMBERS) or not self._depends_on_data(number):
            return number
        target: Any = node.target
        if target is aten.item.default and target in self.table:
            target = aten._local_scalar_dense.default  # noqa: SLF001 - an operator's name
        args = self.read(mapped(node.args, env))
        base = node.name.rstrip("0123456789").rstrip("_")
        copied = self.draft.emit(target, base, args, {}, val)
        self.draft.bind(copied, val)
        return copied

    def _depends_on_data(self, number: Expr | Real | Relation) -> bool:
        return any(self.facts.is_unbacked(symbol) for symbol in number.symbols)

    def _region(self, node: Node, env: dict[Node, Any]) -> list[Any]:
        """A subgraph in a grad mode or under autocast, walked in place."""
        kind = "grad" if node.target is _GRAD else "autocast"
        place = 1 if kind == "grad" else 4
        child: Any = module_of(node.args[place])
        inner = dict(
            zip(
                [each for each in child.graph.nodes if each.op == "placeholder"],
                [mapped(arg, env) for arg in node.args[place + 1 :]],
                strict=True,
            )
        )
        region = (kind, *node.args[:place])
        outer = self.draft.state, self.autocast, self.regions
        self.regions = (*self.regions, region)
        if kind == "autocast":
            self.autocast = (*self.autocast, region)
        else:
            self.draft.state = (*self.draft.state, region)
        self.walk(child.graph, inner, is_program=True)
        self.draft.state, self.autocast, self.regions = outer
        returned: Any = child.graph.output_node().args[0]
        return [mapped(each, inner) for each in returned]

    # --- calls -------------------------------------------------------------------------------

    def call(
        self, overload: OpOverload, args: Any, kwargs: dict[str, Any], source: Node | None = None
    ) -> Any:
        """Lower one operator call; arguments may be aliases. Gives what stands for its results."""
        op = OPERATORS.of(overload)
        if op.mutated:
            return self._mutation(op, args, kwargs)
        if op.silent_flag is not None and (args_with := _statistics(op, args, kwargs)):
            return self._silent_mutation(op, args_with)
        if any_alias(args) or (kwargs and any_alias(list(kwargs.values()))):
            if self._may_be_view(op):
                return self._view(op, args, kwargs)
            args = self.read(args)
            kwargs = {name: self.read(arg) for name, arg in kwargs.items()}
        return self.plain(overload, args, kwargs, source)

    def read(self, value: Any) -> Any:
        """A value with aliases replaced by their newest values."""
        if value.__class__ is Alias:
            return read(value, self._compute)
        if isinstance(value, list | tuple):
            return [self.read(item) for item in value]
        return value

    def _compute(self, overload: OpOverload, *args: Any, **kwargs: Any) -> Any:
        return self.plain(overload, args, kwargs)

    def plain(
        self, overload: OpOverload, args: Any, kwargs: dict[str, Any], source: Node | None = None
    ) -> Any:
        """An operator on values: a copy of its template, or as it is."""
        formula = self.table.get(overload)
        if formula is not None:
            template = self._template(overload, formula, args, kwargs)
            if template is not None:
                tensors: list[Node] = []
                gather(args, tensors)
                gather(list(kwargs.values()), tensors)
                return instantiate(template, tensors, self.draft)
        return self._kept(overload, args, kwargs, source)

    def _kept(
        self, overload: OpOverload, args: Any, kwargs: dict[str, Any], source: Node | None
    ) -> Any:
        """As it is; its type is known where it comes from the program and no argument changed."""
        draft, state = self.draft, self.draft.state
        if self.autocast and (self.keeps_autocast or is_composite(overload)):
            draft.state = self.regions
        if source is None or self._has_retyped(args, kwargs):
            result = draft.call(overload, args, kwargs)
        else:
            val = source.meta["val"]
            result = draft.emit(overload, OPERATORS.of(overload).base_name, args, kwargs, val)
            draft.bind(result, val)
        draft.state = state
        return result

    def _has_retyped(self, args: Any, kwargs: dict[str, Any]) -> bool:
        if not self.retyped:
            return False
        tensors: list[Node] = []
        gather(args, tensors)
        gather(list(kwargs.values()), tensors)
        return not self.retyped.isdisjoint(tensors)

    # --- formulas ----------------------------------------------------------------------------

    def formula(
        self, overload: OpOverload, function: Callable[..., Any], args: Any, kwargs: dict[str, Any]
    ) -> Formula:
        """What an operator is made of, for arguments given as types.

        Raises: CannotDecomposeError.
        """
        regions = self.autocast if is_composite(overload) else ()
        key = (function, *call_key(overload, args, kwargs, regions))
        found = self.memory.formulas.get(key)
        if found is None:
            found = trace(function, args, kwargs, self.facts, regions)
            self.memory.formulas[key] = found
        return found

    def _template(
        self, overload: OpOverload, function: Any, args: Any, kwargs: dict[str, Any]
    ) -> Template | None:
        """What an operator becomes, None where its formula does not apply."""
        types = tuple([argument_type(arg) for arg in args])
        keywords = {name: argument_type(arg) for name, arg in kwargs.items()}
        key = call_key(overload, types, keywords, self.autocast)
        templates = self.memory.templates
        found = templates.get(key, self)
        if found is self:
            templates[key] = None  # a formula that leads back to its operator keeps it
            try:
                found = templates[key] = self._new_template(overload, function, types, keywords)
            except CannotDecomposeError as error:
                found = None
                self.memory.reasons[str(overload)] = str(error)
        return found  # pyright: ignore[reportReturnType]

    def _new_template(
        self, overload: OpOverload, function: Any, types: Any, keywords: dict[str, Any]
    ) -> Template:
        formula = self.formula(overload, function, types, keywords)
        draft = Draft(self.facts, FormulaWriter())
        inside = Lowering(
            self.table,
            self.facts,
            draft,
            self.memory,
            autocast=self.autocast if is_composite(overload) else (),
        )
        slots = [
            draft.placeholder(f"arg_{i}", draft.described(tensor_type(slot)))
            for i, slot in enumerate(formula.slots)
        ]
        inside.writes.find(formula.graph)
        if not inside.writes.roots.isdisjoint(formula.slots):
            raise CannotDecomposeError("its formula writes to its arguments")
        env: dict[Node, Any] = dict(zip(formula.slots, slots, strict=True))
        inside.walk(formula.graph, env, is_program=False)
        return template_of(slots, draft, inside.read(mapped(formula.results, env)))

    def _expanded(
        self, overload: OpOverload, function: Any, args: Any, kwargs: dict[str, Any]
    ) -> Any:
        """An operator on aliases, lowered as what it is made of.

        Raises: CannotDecomposeError.
        """
        types = tuple([self._type(arg) for arg in args])
        keywords = {name: self._type(arg) for name, arg in kwargs.items()}
        formula = self.formula(overload, function, types, keywords)
        tensors: list[Any] = []
        gather(args, tensors)
        gather(list(kwargs.values()), tensors)
        self.writes.find(formula.graph)
        env: dict[Node, Any] = {}
        for slot, given in zip(formula.slots, tensors, strict=True):
            unowned = slot in self.writes.roots and given.__class__ is not Alias
            env[slot] = whole(given) if unowned else given
        self.walk(formula.graph, env, is_program=False)
        return mapped(formula.results, env)

    def _type(self, value: Any) -> Any:
        if value.__class__ is Alias:
            return value.type
        if isinstance(value, list | tuple):
            return [self._type(item) for item in value]
        return argument_type(value)

    # --- views of what is written to ---------------------------------------------------------

    def _may_be_view(self, op: Operator) -> bool:
        return op.shared is not None or self.writes.hides_view(op.overload)

    def _view(self, op: Operator, args: Any, kwargs: dict[str, Any]) -> Any:
        """A view of an alias is an alias; a composite operator is what it is made of."""
        overload = op.overload
        if not can_be_written_through(overload) and is_composite(overload):
            try:
                return self._expanded(overload, composite_formula(overload), args, kwargs)
            except CannotDecomposeError as error:
                raise self._not_functional(op, error) from error
        alias = args[0]
        if alias.__class__ is not Alias or op.shared is None:
            return self.plain(overload, self.read(args), self.read_all(kwargs))
        rest, kwargs = tuple(self.read(args[1:])), self.read_all(kwargs)
        if overload is aten.as_strided.default:
            return self._as_strided(alias, rest, kwargs)
        result = self._inferred(overload, (alias.type, *rest), kwargs)
        if isinstance(result, list | tuple):
            return [
                view_of(alias, View(overload, rest, kwargs, i, alias.type, each))
                for i, each in enumerate(result)
            ]
        return view_of(alias, View(overload, rest, kwargs, None, alias.type, result))

    def _as_strided(self, alias: Alias, rest: Any, kwargs: dict[str, Any]) -> Alias:
        """A walk through the whole memory, whatever it was asked of."""
        result = self._inferred(aten.as_strided.default, (alias.type, *rest), kwargs)
        base = Alias(alias.storage, tensor_type(alias.storage.value))
        given = (list(result.shape), list(result.stride()), result.offset)
        view = View(aten.as_strided.default, given, {}, None, base.type, result)
        return view_of(base, view)

    def _inferred(self, overload: OpOverload, args: Any, kwargs: dict[str, Any]) -> Any:
        types = [argument_type(arg) for arg in args]
        return self.draft.inferred(
            overload, types, {name: argument_type(arg) for name, arg in kwargs.items()}
        )

    def read_all(self, kwargs: dict[str, Any]) -> dict[str, Any]:
        """Keyword arguments with aliases read."""
        return {name: self.read(arg) for name, arg in kwargs.items()}

    # --- writes ------------------------------------------------------------------------------

    def _mutation(self, op: Operator, args: Any, kwargs: dict[str, Any]) -> Any:
        """An operator that writes to arguments: its functional form, and then the writes."""
        overload = op.overload
        bound = dict(zip(op.argument_names, args, strict=False)) | kwargs
        form = functional_form(overload)
        if op.inplace_view:
            return self._reshaped_in_place(op, form and form.overload, args, kwargs)
        if form is None:
            return self._mutation_without_form(op, bound, args, kwargs)
        given = {name: self.read(arg) for name, arg in bound.items() if name not in form.drops}
        results = self.call(form.overload, *_as_called(form.overload, given))
        flat = results if isinstance(results, list) else [results]
        n_own = len(flat) - len(op.mutated) if form.results is Results.AFTER else 0
        targets = [bound.get(name) for name in op.mutated]
        self._write_all(targets, flat[n_own:] if n_own else flat)
        return self._returned(op, bound, flat[:n_own])

    def _write_all(self, targets: list[Any], values: list[Any]) -> None:
        """Write values to targets, in order; a target may be a list, as `_foreach_` has them."""
        flat: list[Any] = []
        for target in targets:
            flat += target if isinstance(target, list | tuple) else [target]
        for target, value in zip(flat, values, strict=True):
            if target.__class__ is Alias:
                self._write(target, self.read(value))

    def _write(self, target: Alias, value: Node) -> None:
        try:
            write(target, value, self._compute)
        except NoInverseError as error:
            views = [str(view.overload) for view in target.views]
            at, reason = self.draft.lines(), str(error)
            raise problem("write-through-view", at=at, views=views, reason=reason) from error

    def _not_functional(self, op: Operator, reason: object) -> MonographError:
        at = self.draft.lines()
        return problem("not-functional", at=at, op=str(op.overload), reason=str(reason))

    def _returned(self, op: Operator, bound: dict[str, Any], own: list[Any]) -> Any:
        """What the operator returns: arguments it wrote to, and results of its own."""
        rest = iter(own)
        results = [next(rest) if n is None else bound[n] for n in op.returned_arguments]
        if not results:
            return None
        return results[0] if len(results) == 1 else results

    def _mutation_without_form(
        self, op: Operator, bound: dict[str, Any], args: Any, kwargs: dict[str, Any]
    ) -> Any:
        """Write to copies, which then are the new values; a composite is what it is made of."""
        overload = op.overload
        if is_composite(overload):
            try:
                return self._expanded(overload, composite_formula(overload), args, kwargs)
            except CannotDecomposeError as error:
                raise self._not_functional(op, error) from error
        copies = {name: self._copied(bound.get(name)) for name in op.mutated}
        given = {name: self.read(arg) for name, arg in bound.items()} | copies
        results = self.draft.call(overload, *_as_called(overload, given))
        for name in op.mutated:
            self._write_all([bound.get(name)], _listed(copies[name]))
        flat = results if isinstance(results, list) else [results]
        own = [r for r, n in zip(flat, op.returned_arguments, strict=False) if n is None]
        return self._returned(op, bound, own)

    def _copied(self, value: Any) -> Any:
        if isinstance(value, list | tuple):
            return [self._copied(item) for item in value]
        return None if value is None else self._compute(aten.clone.default, self.read(value))

    def _silent_mutation(self, op: Operator, bound: dict[str, Any]) -> Any:
        """Batch normalisation in training, whose schema hides that it updates its statistics."""
        overload = op.overload
        names = op.argument_names
        if overload is aten.native_batch_norm.default:
            writing = aten._native_batch_norm_legit.default  # noqa: SLF001 - an operator's name
            return self.call(writing, tuple(bound[name] for name in names), {})
        if not is_composite(overload):
            raise self._not_functional(op, "it has no functional form")
        args = tuple(bound[name] for name in names if name in bound)
        try:
            return self._expanded(overload, composite_formula(overload), args, {})
        except CannotDecomposeError as error:
            raise self._not_functional(op, error) from error

    def _reshaped_in_place(
        self, op: Operator, form: OpOverload | None, args: Any, kwargs: dict[str, Any]
    ) -> Any:
        """`t_`, `unsqueeze_` and relatives: the tensor is another view from here on."""
        alias = args[0]
        is_input = alias.__class__ is Node and alias.op == "placeholder"
        if alias.__class__ is Alias:
            is_input = not alias.views and alias.storage.input is not None
        if form is None or OPERATORS.of(form).shared is None:
            raise self._not_functional(op, "it replaces its memory")
        if is_input and form is not aten.detach.default:
            raise self._not_functional(op, "it reshapes an input")
        return self.call(form, args, kwargs)


def _statistics(op: Operator, args: Any, kwargs: dict[str, Any]) -> dict[str, Any]:
    """The arguments by name, where statistics are updated; else nothing."""
    bound = dict(zip(op.argument_names, args, strict=False)) | kwargs
    active = bound.get(op.silent_flag or "") and bound.get(STATISTICS[0]) is not None
    return bound if active else {}


def _as_called(overload: OpOverload, given: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Arguments by name as (positional, keywords) of an overload with the same arguments."""
    schema = overload._schema  # noqa: SLF001 - the schema has no public name
    names = [a.name for a in schema.arguments if not a.kwarg_only]
    keyword_only = {a.name for a in schema.arguments if a.kwarg_only}
    values = list(given.items())
    positional = [value for name, value in values if name not in keyword_only]
    assert len(positional) <= len(names), "the forms have the same arguments"
    return tuple(positional), {n: v for n, v in values if n in keyword_only}


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def mapped(arg: Any, env: Mapping[Node, Any]) -> Any:
    """An argument with nodes replaced by what stands for them."""
    cls = arg.__class__
    if cls is Node:
        return env[arg]
    if isinstance(arg, list | tuple):
        return [mapped(item, env) for item in arg]
    return arg


def gather(value: Any, tensors: list[Any]) -> None:
    """Collect the tensors of nested arguments, in order."""
    for item in value:
        if item.__class__ is Alias or is_tensor(item):
            tensors.append(item)
        elif isinstance(item, list | tuple):
            gather(item, tensors)


def any_alias(value: Any) -> bool:
    """Whether nested arguments hold an alias."""
    for item in value:
        cls = item.__class__
        if cls is Alias or ((cls is list or cls is tuple) and any_alias(item)):
            return True
    return False


def call_key(overload: OpOverload, types: Any, keywords: dict[str, Any], regions: Any) -> Any:
    """What a formula's course depends on: hashable, equal for equal calls."""
    key: list[Any] = [id(overload), regions, torch.is_grad_enabled()]
    key += [_frozen(value) for value in types]
    for name, value in keywords.items():
        key += [name, _frozen(value)]
    return tuple(key)


def _frozen(value: Any) -> Any:
    cls = value.__class__
    if cls is int or cls is Expr or value is None:
        return value
    if cls is float or cls is bool or cls is complex:
        return (cls, repr(value))
    if isinstance(value, list | tuple):
        return tuple([_frozen(item) for item in value])
    return getattr(value, "key", value)


def provenance_of(node: Node) -> dict[str, Any]:
    """What the nodes that stand for a node have in their `meta`: where it came from."""
    meta = dict(node.meta)
    meta.pop("val", None)
    meta["from_node"] = [NodeSource(node, PASS, NodeSourceAction.CREATE)]
    return meta


def module_of(node: Any) -> torch.nn.Module:
    """The subgraph that a get_attr node names."""
    value: Any = node.graph.owning_module
    for part in str(node.target).split("."):
        value = getattr(value, part)
    return value
