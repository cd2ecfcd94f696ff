"""The lowering of a graph: without writes, in the operators a table leaves.

One walk over the graph. An operator that the table has a formula for becomes a copy of its
template: the formula is run once for each distinct (operator, argument types, constants), lowered
like any graph, and copied from then on. Tensors that something writes to are followed as aliases
(`functionalize.py`), and operators that write become their functional forms. Everything else is
copied. Operators keep their order, so that random numbers and assertions do.
"""

from __future__ import annotations

import operator
from functools import partial
from typing import TYPE_CHECKING, Any

import torch
from torch.fx.node import Node

from monograph.abstract.aliasing import BEGINS_HISTORY, aliasing_of
from monograph.abstract.kernel_errors import may_raise
from monograph.abstract.layout_origin import layout_sources
from monograph.abstract.symbols import as_stated, to_python
from monograph.abstract.tensor import AbstractTensor
from monograph.abstract.tensor_type import TensorType
from monograph.capture.recording.operators import OPERATORS, Operator
from monograph.capture.recording.scopes import STACK_ROOT, ModeRegion
from monograph.diagnostics import problem
from monograph.host.decompositions import composite_formula, is_composite
from monograph.host.flags import region_operators
from monograph.host.operator_types import OpOverload
from monograph.host.overloads import aten
from monograph.passes.decomposition.arguments import any_alias, call_key, gather, mapped
from monograph.passes.decomposition.closed_forms import SHORTCUTS, OperatorCalls
from monograph.passes.decomposition.conjugates import PARTS, is_conjugation, may_be_conjugate
from monograph.passes.decomposition.layouts import (
    COPIES_IF_NOT_CONTIGUOUS,
    is_laid_out_anew,
    may_have_gaps,
)
from monograph.passes.decomposition.mutations import (
    begun_history,
    mutation,
    not_functional,
    read_unseen,
    silent_mutation,
    statistics,
    walked_through,
)
from monograph.passes.decomposition.node_metadata import provenance_of
from monograph.passes.decomposition.obligations import (
    MemoryOf,
    check_draws,
    other_gradient,
    shows_argument,
)
from monograph.passes.decomposition.subgraphs import BODIES, lower_call
from monograph.passes.decomposition.table import DecompositionTable
from monograph.passes.decomposition.template_cache import TemplateCache, is_static, write_first
from monograph.passes.decomposition.templates import Template, instantiate, template_of
from monograph.passes.decomposition.user_formulas import (
    NOT_APPLIED,
    check_results,
    formula_fails,
    is_of_user,
)
from monograph.passes.formulas import (
    CannotDecomposeError,
    Formula,
    FormulaFailsError,
    FormulaWriter,
    Settings,
    need_elements,
    needs_gradients,
    trace,
)
from monograph.passes.functionalization.autograd_history import (
    History,
    hides_writes,
    is_only_detached,
)
from monograph.passes.functionalization.full_slices import is_indexed_further, is_whole
from monograph.passes.functionalization.functionalize import (
    Alias,
    owned,
    read,
    unseen,
    view_of,
    whole,
)
from monograph.passes.functionalization.views import View, can_be_written_through
from monograph.passes.functionalization.writes import Writes, shows_arguments
from monograph.passes.graph_builder import (
    NUMBERS,
    GraphBuilder,
    argument_type,
    same_layout,
    tensor_type,
    type_in_training,
)
from monograph.passes.graph_walks import subgraph_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from monograph.diagnostics import Frame
    from monograph.integers import Expr, Facts, Real, Relation


_GRAD, _AUTOCAST = region_operators()

SYMBOLIC = {torch.SymInt, torch.SymFloat, torch.SymBool}


class Lowering:
    """Walks graphs and writes a builder.

    `table` maps overloads to formulas; an operator it lacks is kept.
    """

    def __init__(
        self,
        table: Mapping[Any, Callable[..., Any]],
        facts: Facts,
        builder: GraphBuilder,
        cache: TemplateCache,
        *,
        autocast: tuple[Settings, ...] = (),
        keeps_autocast: bool = False,
        history: History | None = None,
    ) -> None:
        self.table = table
        self.is_default = isinstance(table, DecompositionTable) and table.is_default
        self.facts = facts
        self.builder = builder
        self.graph = builder.writer.graph
        """The graph written first, which is of no body that an operator calls."""
        self.cache = cache
        self.autocast = autocast
        self.keeps_autocast = keeps_autocast
        """Whether all operators stay under autocast; else composite ones: casts are explicit."""
        self.regions: tuple[ModeRegion, ...] = ()
        self.history = history or History(builder.states)
        self.writes = Writes(self.formula)
        self.returned: frozenset[Node] = frozenset()
        """Nodes of the program whose memory is seen from outside: outputs, and what they view."""
        self.laid_out: set[Node] = set()
        """Values that pass as they are, where others would be copied for their layout."""
        self.placed: set[str] = set()
        """Names of inputs that must begin in their memory where the example does."""
        self.denied: dict[tuple[str, str], tuple[Frame, ...]] = {}
        """Names of inputs, and what must not be so of them, with the lines that make it so."""
        self.retyped: set[Node] = set()
        """Nodes whose type differs from that of the node they stand for."""

    # --- walking -----------------------------------------------------------------------------

    def walk(self, graph: torch.fx.Graph, env: dict[Node, Any], *, is_program: bool) -> None:
        """Lower every call of a graph; `env` maps its nodes to what stands for them."""
        for node in graph.nodes:
            if node.op != "call_function":
                continue
            if is_program:
                self.builder.provenance = provenance_of(node)
            env[node] = self._node(node, env)

    def _node(self, node: Node, env: dict[Node, Any]) -> Any:
        target: Any = node.target
        if target is operator.getitem:
            return self._item(node, env)
        if target is _GRAD or target is _AUTOCAST:
            return self._region(node, env)
        if not isinstance(target, OpOverload) and target in BODIES:
            return lower_call(self, node, env)
        if type(node.meta.get("val")) in SYMBOLIC:
            return self._number(node, env)
        if not isinstance(target, OpOverload):
            return self._other(node)
        args = tuple([mapped(arg, env) for arg in node.args])
        if target is aten.slice.Tensor and target not in self.table and is_whole(node):
            if is_indexed_further(node):
                return args[0]
            target, args = aten.alias.default, args[:1]
        kwargs = {name: mapped(arg, env) for name, arg in node.kwargs.items()}
        return self._held(node, self.call(target, args, kwargs, node))

    def _other(self, node: Node) -> Any:
        """Arithmetic that came to a constant; operators that call subgraphs are refused.

        Raises: not-functional.
        """
        val = node.meta.get("val")
        if isinstance(val, int | float | bool):
            return val
        reason = "what it calls is not lowered"
        at = self.builder.lines()
        raise problem("not-functional", at=at, op=str(node.target), reason=reason)

    def _item(self, node: Node, env: dict[Node, Any]) -> Any:
        """One of several results: known already, or taken from the operator that was kept."""
        source, place = mapped(node.args, env)
        if isinstance(source, list):
            return self._held(node, source[place])
        builder, state, val = self.builder, self.builder.state, node.meta["val"]
        builder.state = builder.states.get(source, state)  # a region returns items, and no tuples
        copied = builder.emit(operator.getitem, "getitem", (source, place), {}, val)
        builder.bind(copied, val)
        builder.state = state
        return self._held(node, copied)

    def _held(self, node: Node, value: Any) -> Any:
        """A fresh tensor that something will write to becomes a storage of its own."""
        if value.__class__ is Node:
            val = node.meta.get("val")
            if isinstance(val, AbstractTensor) and val is not value.meta["val"]:
                self._compare(val.tensor_type, value)
            if node in self.writes.roots:
                return whole(value)
        return value

    def _compare(self, before: TensorType, value: Node) -> None:
        if not same_layout(before, tensor_type(value)):
            self.retyped.add(value)

    def _number(self, node: Node, env: dict[Node, Any]) -> Any:
        """A number: written when it is needed, unless it depends on data.

        What checks say of data is kept as it stands, although it is known from then on.
        """
        val = node.meta["val"]
        number = as_stated(val)
        if not isinstance(number, NUMBERS) or not self._depends_on_data(number):
            return to_python(val)
        target: Any = node.target
        if target is aten.item.default and target in self.table:
            target = aten._local_scalar_dense.default  # noqa: SLF001 - an operator's name
        args = self.read(mapped(node.args, env))
        base = node.name.rstrip("0123456789").rstrip("_")
        copied = self.builder.emit(target, base, args, {}, val)
        self.builder.bind(copied, val)
        return copied

    def _depends_on_data(self, number: Expr | Real | Relation) -> bool:
        return any(self.facts.is_unbacked(symbol) for symbol in number.symbols)

    def _region(self, node: Node, env: dict[Node, Any]) -> list[Any]:
        """A subgraph in a grad mode or under autocast, walked in place."""
        kind = "grad" if node.target is _GRAD else "autocast"
        place = 1 if kind == "grad" else 4
        child = subgraph_of(node.args[place])
        inner = dict(
            zip(
                [each for each in child.graph.nodes if each.op == "placeholder"],
                [mapped(arg, env) for arg in node.args[place + 1 :]],
                strict=True,
            )
        )
        stack = list(node.meta.get("nn_module_stack", ("",)))
        owner = stack[-1].removeprefix(STACK_ROOT) if stack else ""
        region = ModeRegion(kind, tuple(node.args[:place]), owner)
        outer = self.builder.state, self.autocast, self.regions
        self.regions = (*self.regions, region)
        if kind == "autocast":
            self.autocast = (*self.autocast, region.settings)
        else:
            self.builder.state = (*self.builder.state, region)
        self.walk(child.graph, inner, is_program=True)
        self.builder.state, self.autocast, self.regions = outer
        returned: Any = child.graph.output_node().args[0]
        return [mapped(each, inner) for each in returned]

    # --- calls -------------------------------------------------------------------------------

    def call(
        self, overload: OpOverload, args: Any, kwargs: dict[str, Any], source: Node | None = None
    ) -> Any:
        """Lower one operator call; arguments may be aliases. Gives what stands for its results."""
        op = OPERATORS.of(overload)
        is_seen = op.mutated or source in self.returned or any_alias(args[:1])
        if op.aliasing.is_idle(args, kwargs) or (is_seen and is_only_detached(source)):
            return args[0]
        if overload is BEGINS_HISTORY:
            return begun_history(self, op, args, kwargs, source)
        if op.mutated:
            return mutation(self, op, args, kwargs, source)
        if op.silent_flag is not None and (args_with := statistics(op, args, kwargs)):
            return silent_mutation(self, op, args_with)
        if any_alias(args) or (kwargs and any_alias(list(kwargs.values()))):
            if self._may_be_view(op) and not self._is_unseen(op, source):
                view = owned(self._view(op, args, kwargs))
                if hides_writes(self.builder.state):
                    view = unseen(view, self.builder.state)
                if source is not None and not source.users and may_raise(source):
                    self.read(view)
                return view
            args = self.read(args)
            kwargs = {name: self.read(arg) for name, arg in kwargs.items()}
        overload = aten.detach.default if overload is aten.data.default else overload
        return self.plain(overload, args, kwargs, source)

    def _is_returned(self, node: Node | None) -> bool:
        """Whether what a call gives, or one of several, is seen from outside."""
        parts = () if node is None else [n for n in node.users if n.target is operator.getitem]
        return not self.returned.isdisjoint((node, *parts))

    def read(self, value: Any) -> Any:
        """A value with aliases replaced by their newest values."""
        if value.__class__ is Alias:
            if value.unseen is not None:
                return read_unseen(self, value)
            return read(value, self.compute, self.builder.state)
        if isinstance(value, list | tuple):
            return [self.read(item) for item in value]
        return value

    def compute(self, overload: OpOverload, *args: Any, **kwargs: Any) -> Any:
        """Lower a call on values."""
        return self.plain(overload, args, kwargs)

    def plain(
        self, overload: OpOverload, args: Any, kwargs: dict[str, Any], source: Node | None = None
    ) -> Any:
        """An operator on values: a copy of its template, or as it is."""
        formula = self.table.get(overload)
        if overload in PARTS and may_be_conjugate(args[0]):
            formula = None
        if overload in COPIES_IF_NOT_CONTIGUOUS and may_have_gaps(args[0]):
            formula = None
        reason = source and formula and other_gradient(overload, args, self.history.may_have)
        if reason:
            self.cache.static.reasons[str(overload)] = reason
            formula = None
        if formula is not None:
            table = aliasing_of(overload)
            is_seen = source in self.returned
            exact = is_seen and len(table.possible) > 1
            results = self._made_of(overload, formula, args, kwargs, exact=exact)
            is_shown = is_seen and not table.may_alias and self._shows(results, args)
            if results is not NotImplemented and not is_shown:
                if table.decides_by_layout:
                    self._keep_layout(args[0], results, source)
                return results
        return self._kept(overload, args, kwargs, source)

    def _shows(self, results: Any, args: Any) -> bool:
        tensors: list[Node] = []
        gather(args, tensors)
        return shows_argument(results, tensors)

    def _keep_layout(self, given: Node, result: Any, source: Node | None) -> None:
        """What was copied for its layout, or was not, is so for tensors that lie alike."""
        if result is given or source in self.returned:
            self.laid_out.add(given)

    def _kept(
        self, overload: OpOverload, args: Any, kwargs: dict[str, Any], source: Node | None
    ) -> Any:
        """As it is; its type is known where it comes from the program and no argument changed."""
        builder, state = self.builder, self.builder.state
        if self.autocast and (self.keeps_autocast or is_composite(overload)):
            builder.state = self.regions
        if source is None or self._has_retyped(args, kwargs):
            result = builder.call(overload, args, kwargs)
        else:
            val = source.meta["val"]
            result = builder.emit(overload, OPERATORS.of(overload).base_name, args, kwargs, val)
            builder.bind(result, val)
        builder.state = state
        return result

    def _has_retyped(self, args: Any, kwargs: dict[str, Any]) -> bool:
        if not self.retyped:
            return False
        tensors: list[Node] = []
        gather((args, [*kwargs.values()]), tensors)
        return not self.retyped.isdisjoint(tensors)

    @property
    def has_shortcuts(self) -> bool:
        """Whether operators come to what PyTorch's formulas make of them, unchanged by anyone."""
        return self.is_default and not self.autocast

    # --- formulas ----------------------------------------------------------------------------

    def formula(
        self,
        overload: OpOverload,
        function: Callable[..., Any],
        args: Any,
        kwargs: dict[str, Any],
        *,
        exact: bool = False,
    ) -> Formula:
        """What an operator is made of, for arguments given as types.

        `exact`: it matters whether the result is a view.

        Raises: CannotDecomposeError.
        """
        regions = self.autocast if is_composite(overload) else ()
        key = (function, exact, *call_key(overload, args, kwargs, regions))
        found = self.cache.find_formula(key)
        if found is None:
            fixed = is_static(args) and is_static(list(kwargs.values()))
            facts = self.cache.static.facts if fixed else self.facts
            trains = needs_gradients(overload)
            memory = MemoryOf(overload, args, kwargs) if exact else None
            found = trace(function, args, kwargs, facts, regions, memory=memory, trains=trains)
            self.cache.keep_formula(key, found, is_static=fixed)
        return found

    def _made_of(
        self, overload: OpOverload, function: Any, args: Any, kwargs: dict[str, Any], *, exact: bool
    ) -> Any:
        """What an operator becomes, `NotImplemented` where its formula does not apply."""
        types = tuple([argument_type(arg) for arg in args])
        if needs_gradients(overload) is None:
            types = tuple([type_in_training(arg) for arg in args])
        keywords = {name: argument_type(arg) for name, arg in kwargs.items()}
        need_elements(overload, types)
        key = (exact, *call_key(overload, types, keywords, self.autocast))
        template: Any = self.cache.find(key, self)
        tensors: list[Node] = []
        gather(args, tensors)
        gather(kwargs.values(), tensors)
        if template is self:
            fixed = is_static(types) and is_static(keywords.values())
            shortcut = SHORTCUTS.get(overload) if self.has_shortcuts and not exact else None
            if fixed and shortcut is not None:
                call = partial(shortcut, OperatorCalls(self.plain, self.builder), *args, **kwargs)
                results = write_first(call, tensors, key, self.builder, self.cache)
                if results is not NotImplemented:
                    return results
            self.cache.keep(key, None, is_static=fixed)  # what leads back to itself is kept whole
            template = None
            try:
                template = self._new_template(
                    overload, function, types, keywords, exact=exact, fixed=fixed
                )
            except CannotDecomposeError as error:
                by_user = is_of_user(function)
                if by_user and isinstance(error, FormulaFailsError):
                    raise formula_fails(self.builder, overload, function, error) from error
                reason = NOT_APPLIED * by_user + str(error)
                self.cache.static.reasons[str(overload)] = reason
            self.cache.keep(key, template, is_static=fixed)
        if template is None:
            return NotImplemented
        self.laid_out.update([tensors[i] for i in template.laid_out])
        return instantiate(template, tensors, self.builder)

    def _new_template(
        self,
        overload: OpOverload,
        function: Any,
        types: Any,
        keywords: dict[str, Any],
        *,
        exact: bool,
        fixed: bool,
    ) -> Template:
        shortcut = SHORTCUTS.get(overload)
        is_known = shortcut is not None and self.has_shortcuts and not exact
        if is_known and (made := self._shortcut_template(shortcut, types, keywords, fixed=fixed)):
            return made
        formula = self.formula(overload, function, types, keywords, exact=exact)
        facts = self.cache.static.facts if fixed else self.facts
        builder = GraphBuilder(facts, FormulaWriter())
        inside = Lowering(
            self.table,
            facts,
            builder,
            self.cache,
            autocast=self.autocast if is_composite(overload) else (),
        )
        slots = [
            builder.placeholder(f"arg_{i}", builder.described(tensor_type(slot)))
            for i, slot in enumerate(formula.slots)
        ]
        inside.writes.find(formula.graph)
        if not inside.writes.roots.isdisjoint(formula.slots):
            raise CannotDecomposeError("its formula writes to its arguments")
        env: dict[Node, Any] = dict(zip(formula.slots, slots, strict=True))
        inside.walk(formula.graph, env, is_program=False)
        results = inside.read(mapped(formula.results, env))
        if is_laid_out_anew(OPERATORS.of(overload).base_name, results):
            inside.laid_out.update(slots)
        laid_out = layout_sources(inside.laid_out)
        check_draws(overload, types, keywords, formula.graph)
        if is_of_user(function):
            check_results(builder, overload, types, keywords, results)
        return template_of(slots, builder, results, laid_out)

    def _shortcut_template(
        self, shortcut: Any, types: Any, keywords: dict[str, Any], *, fixed: bool
    ) -> Template | None:
        """What is said outright, None where it is not known; guards are left by nobody."""
        facts = self.cache.static.facts if fixed else self.facts
        builder = GraphBuilder(facts, FormulaWriter())
        inside = Lowering(self.table, facts, builder, self.cache)
        slots: list[Node] = []

        def given(value: Any) -> Any:
            if not isinstance(value, TensorType):
                return value
            slots.append(builder.placeholder(f"arg_{len(slots)}", builder.described(value)))
            return slots[-1]

        args = [given(value) for value in types]
        named = {name: given(value) for name, value in keywords.items()}
        results = shortcut(OperatorCalls(inside.plain, inside.builder), *args, **named)
        return None if results is NotImplemented else template_of(slots, builder, results)

    def expanded(self, overload: OpOverload, args: Any, kwargs: dict[str, Any]) -> Any:
        """A composite operator on aliases, lowered as what it is made of.

        Raises: CannotDecomposeError.
        """
        return self._walked(self._formula_of_aliases(overload, args, kwargs), args, kwargs)

    def _formula_of_aliases(
        self, overload: OpOverload, args: Any, kwargs: dict[str, Any]
    ) -> Formula:
        types = tuple([self.type_of(arg) for arg in args])
        keywords = {name: self.type_of(arg) for name, arg in kwargs.items()}
        exact = len(aliasing_of(overload).possible) > 1
        return self.formula(overload, composite_formula(overload), types, keywords, exact=exact)

    def _walked(self, formula: Formula, args: Any, kwargs: dict[str, Any]) -> Any:
        """What a formula comes to, its graph walked in place."""
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

    def type_of(self, value: Any) -> Any:
        """A value, which may be an alias, as rules see it."""
        if value.__class__ is Alias:
            return value.type
        if isinstance(value, list | tuple):
            return [self.type_of(item) for item in value]
        return argument_type(value)

    # --- views of what is written to ---------------------------------------------------------

    def _may_be_view(self, op: Operator) -> bool:
        return op.aliasing.source is not None or op.aliasing.hides_views

    def _is_unseen(self, op: Operator, source: Node | None) -> bool:
        """Whether nobody can tell if this is a copy or a view."""
        is_unsure = op.aliasing.decides_by_layout and not self._is_returned(source)
        return is_unsure and self.writes.is_used_before_writes(source)

    def _view(self, op: Operator, args: Any, kwargs: dict[str, Any]) -> Any:
        """A view of an alias is an alias; a composite operator is what it is made of."""
        overload = op.overload
        if overload is aten.data.default:
            args[0].storage.is_counted_apart = True
            overload = aten.detach.default
        if overload in PARTS and any(is_conjugation(v.overload) for v in args[0].views):
            raise not_functional(self, op, "its argument is a conjugate")
        if not can_be_written_through(overload) and is_composite(overload):
            # Whether it is a view depends on the layout; what it shows is written to.
            self.laid_out.update(each.storage.value for each in args if each.__class__ is Alias)
            try:
                formula = self._formula_of_aliases(overload, args, kwargs)
            except CannotDecomposeError as error:
                raise not_functional(self, op, error) from error
            if not shows_arguments(formula):
                return self.plain(overload, self.read(args), self.read_all(kwargs))
            return self._walked(formula, args, kwargs)
        alias = args[0]
        if alias.__class__ is not Alias or op.aliasing.source is None:
            return self.plain(overload, self.read(args), self.read_all(kwargs))
        rest, kwargs = tuple(self.read(args[1:])), self.read_all(kwargs)
        if overload is aten.as_strided.default:
            return walked_through(self, op, alias, rest, kwargs)
        result = self.inferred(overload, (alias.type, *rest), kwargs)
        if isinstance(result, list | tuple):
            return [
                view_of(alias, View(overload, rest, kwargs, i, alias.type, each))
                for i, each in enumerate(result)
            ]
        return view_of(alias, View(overload, rest, kwargs, None, alias.type, result))

    def inferred(self, overload: OpOverload, args: Any, kwargs: dict[str, Any]) -> Any:
        """The types of what an operator gives."""
        types = [argument_type(arg) for arg in args]
        return self.builder.inferred(
            overload, types, {name: argument_type(arg) for name, arg in kwargs.items()}
        )

    def read_all(self, kwargs: dict[str, Any]) -> dict[str, Any]:
        """Keyword arguments with aliases read."""
        return {name: self.read(arg) for name, arg in kwargs.items()}
