"""The recorder (tracer): receives each operator call of user code and writes the graph.

A dispatch mode under which operators arrive before autograd took them apart. For each call: look up
what is known of the operator, turn abstract tensors into types (for the rule) and nodes (for the
graph), ask the rule for the result's type, append a node, and hand user code a new abstract tensor.
Everything else here is what must differ: data is asked for, real tensors are lifted as constants,
in-place operators rename their argument's node.
"""

from __future__ import annotations

import itertools
import sys
from operator import getitem
from typing import TYPE_CHECKING, Any

import torch
from torch import is_grad_enabled  # as it is, not as user code is watched asking it
from torch.fx.immutable_collections import immutable_list

from monograph.abstract.aliasing import BEGINS_HISTORY
from monograph.abstract.differentiability import end_histories
from monograph.abstract.layout_origin import questions_behind
from monograph.abstract.symbols import to_python, to_sym
from monograph.abstract.tensor import (
    METADATA,
    AbstractTensor,
    StaticTensor,
    SymbolicTensor,
    make_tensor,
    with_requires_grad,
)
from monograph.abstract.tensor_type import TensorType, is_differentiable
from monograph.capture.queries.noted_answers import ModuleModes, NotedAnswers
from monograph.capture.queries.other_operators import by_subclass, drawn, resized
from monograph.capture.queries.tensor_answers import AnsweringRecorder, TensorAnswers
from monograph.capture.recording.alias_analysis import AliasAnalysis
from monograph.capture.recording.autograd_views import Lineage
from monograph.capture.recording.guard_sources import broken
from monograph.capture.recording.inferences import Inference, inferred
from monograph.capture.recording.nonzero_counts import Counts
from monograph.capture.recording.operators import (
    ASSERT_SCALAR,
    ENDS_FACTORIES,
    OPERATORS,
    Operator,
    require_same_shape,
    written_out,
)
from monograph.capture.run_options import ExportingAnswers, RunOptions
from monograph.diagnostics import MonographError, problem
from monograph.host.dispatch import TorchDispatchMode, restride, without_modes
from monograph.host.fx_nodes import append_node
from monograph.integers import Expr, relation_text
from monograph.rules.fallback import Memo

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch.fx.node import Node

    from monograph.abstract.layout import LayoutQuestion
    from monograph.capture.recording.graph_writer import GraphWriter
    from monograph.capture.recording.lifting import Subgraph
    from monograph.capture.recording.scopes import Scopes
    from monograph.diagnostics import Frame
    from monograph.integers import Facts, Guard, Relation, Truth


Standing = tuple["Facts", int, "list[Guard]"]
"""Facts in use, and how far the assertions about data were written."""

_SCALARS = (int, float, bool, complex, str, type(None))
_FORMATS = (torch.dtype, torch.device, torch.layout, torch.memory_format)
_PLAIN: frozenset[type] = frozenset((*_SCALARS, *_FORMATS))
_NO_ARGUMENTS = {torch.Generator: "own-generator", torch.ScriptObject: "script-object"}


class Recorder(AnsweringRecorder, TorchDispatchMode):
    """One capture's dispatch mode; also what its abstract tensors ask (`abstract.Recording`)."""

    supports_higher_order_operators = True
    exporting: ExportingAnswers

    def __init__(
        self, writer: GraphWriter, scopes: Scopes, facts: Facts, answers: TensorAnswers
    ) -> None:
        super().__init__()
        self.answers, self.shown, self.refused_elsewhere = answers, [], []
        self.writer, self.scopes, self.facts = writer, scopes, facts
        self.fallback = Memo()
        self.answers_noted = NotedAnswers()
        self.special: dict[int, Callable[..., Any]] = answers.special_operators(self)
        self.counts = Counts(facts)
        self.said: dict[Relation, str] = {}
        """What users say about conditions that they check."""
        self.mutated: dict[str, AbstractTensor] = {}
        self.operations: list[Node] = []
        """Every operator recorded, in order, also those that are dropped in the end."""
        self.input_nodes: tuple[Node, ...] = ()
        self.layouts_asked: dict[tuple[int, LayoutQuestion], tuple[Frame, ...]] = {}
        """By their places, the inputs whose layout decides what user code is told, and where."""
        self.state_asked: set[Node] = set()
        """The placeholders, of parameters and buffers among them, whose layout was asked."""
        self.asks_dtype: tuple[Frame, ...] | None = None  # where a float's was first asked for
        self.module_modes, self.closed = ModuleModes(), False
        self.inferences: dict[Node, Inference] = {}
        """What the rule of each operator was given, told, and gave, where one was asked."""
        self._inference: Inference | None = None
        self.premises: dict[Truth, bool] = facts.premises  # what all but rules are told of sizes
        self.shows_layout = False  # whether any tensor was asked how it lies in memory
        self.known_aliases: AliasAnalysis | None = None
        self.behind_inputs: set[Node] = set()  # what inputs stand behind
        self.n_regions = self.n_unmerged = 0  # of Python's own; those whose sides are merged later
        self.branching: list[Any] = []  # calls whose conditions are gone both ways just now
        self.tracks_objects = False  # whether regions look first which objects there were before
        self.may_be_fixed: frozenset[Expr] = frozenset()  # the sizes that nobody insists on
        self.accumulated: dict[int, Any] = {}
        """Lists that loops append to, by identity; see `control_flow.loops.list_accumulation`."""
        self.options = RunOptions()
        self.unawaited: dict[int, Any] = {}  # collectives that nobody waited for yet, where
        self.own_tensors: set[Node] = set()  # made by the capture, of numbers, on a device it says
        self.replaced_buffers: tuple[str, ...] = ()  # those that forward replaces by other tensors
        self.threads: Any = None  # those that user code started, see `capture.plain.threads`
        self.watcher: Callable[[], Any]  # what is to know what they came to
        self.region: Any = None
        """The subgraph that is recorded now, if any; then the graph's own subgraphs by name."""
        self.children: dict[str, Subgraph] = {}
        self.families: Lineage | None = None
        self._requires_grad, self._assertions_seen = False, 0
        self._assertions_waiting: list[Guard] = []

    @property
    def lineage(self) -> Lineage:
        """Made when something is a view or written to."""
        self.families = self.families or Lineage()
        return self.families

    @property
    def aliases(self) -> AliasAnalysis:
        """Made when something may alias, or somebody asks: most models have no use for it."""
        if self.known_aliases is None:
            self.known_aliases = AliasAnalysis(self.options.doubted)
        return self.known_aliases

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """Torch asks; anything but False imports torch._dynamo on the first dispatch."""
        return False

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        answer = METADATA.get(key := id(func))
        if answer is not None:
            if isinstance(args[0], AbstractTensor):
                return answer(*args, **(kwargs or {}))
            with without_modes():
                return func(*args, **(kwargs or {}))
        if self.from_factory is not None:
            self.begin_history()
        if kwargs and kwargs.get("generator") is not None:
            return drawn(self, func, args, kwargs)
        try:
            made = self.call(func, args, kwargs or {})
        except MonographError as error:
            return by_subclass(self, error, func, args, kwargs or {})
        if key in ENDS_FACTORIES or (kwargs and "pin_memory" in kwargs):
            self.from_factory = made
        return made

    def call(  # noqa: C901, PLR0912 - the hot path of capture: one loop, written out
        self, overload: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """Record one operator call and return what user code sees.

        Raises: what the operator's rule refuses; unsupported-operator; leaked-tensor.
        """
        special = self.special.get(key := id(overload))
        if special is not None:
            answer = special(*args, **kwargs)
            if answer is not NotImplemented:
                return answer
        op = OPERATORS.known.get(key) or OPERATORS.of(overload)
        self._requires_grad = False
        types: list[Any] = []
        nodes: list[Any] = []
        for arg in args:
            cls = type(arg)
            if cls is StaticTensor or cls is SymbolicTensor:
                if arg.recorder is not self:
                    raise arg.recorder.refusal_outside(arg)
                t = arg.tensor_type
                if t.requires_grad:
                    self._requires_grad = True
                types.append(t)
                nodes.append(arg.node)
            elif cls in _PLAIN:
                types.append(arg)
                nodes.append(arg)
            else:
                t, node = self.convert(arg)
                types.append(t)
                nodes.append(node)
        keyword_types: dict[str, Any] = {}
        keyword_nodes: dict[str, Any] = {}
        for name, arg in kwargs.items():
            keyword_types[name], keyword_nodes[name] = self.convert(arg)
        if self.closed or self.shown:
            self.answers.check_read(self, overload, (*args, *kwargs.values()))
        if op.mutated:
            return self._record_mutation(
                op, args, kwargs, types, keyword_types, nodes, keyword_nodes
            )
        if op.silent_flag is not None:
            self._note_silent_writes(op, args, kwargs)
        if op.counts:
            result = self._infer_count(op, (args, kwargs), types, keyword_types)
        else:
            result = self._infer(op, types, keyword_types)
        if op.answers_now:
            return self._answered(result)
        node = self.append(overload, op.base_name, tuple(nodes), keyword_nodes)
        if op.raises_by_layout:
            self.answers.note_tried(self, node, result, op.raises_by_layout)
        if op.sums:
            self.counts.summed(node, self.abstract(args[0]))
        made = self.wrap(result, node, requires_grad=self._requires_grad)
        if op.without_history:
            end_histories(made, op.without_history)
        if op.aliasing.source is not None:
            self.lineage.view(op.aliasing, made, args, kwargs, self.abstract)
        if op.is_custom:
            self.answers.check_fake_kernel(self, op, node)
        return made

    def _infer(self, op: Operator, types: list[Any], keywords: dict[str, Any]) -> Any:
        facts = self.facts
        others, facts.premises = facts.premises, {}
        try:
            result = inferred(op, types, keywords, self.fallback)
        except MonographError as refusal:
            others[False] = True  # user code may catch it, and do something else then
            self.answers.raise_as_eager(self, op, (types, keywords), refusal)
            raise
        finally:
            premises, facts.premises = facts.premises, others
        if op.raises_when_empty:
            self.answers.before_elements(self, op, types[0])
        if len(facts.assertions) != self._assertions_seen or self._assertions_waiting:
            self.write_assertions()
        self._inference = Inference(op, types, keywords, result, premises, len(others))
        return result

    def _answered(self, result: Any) -> Any:
        """User code is told at once, and so of what the rule was told."""
        if self._inference is not None:
            self.facts.premises.update(self._inference.premises)
            self._inference = None
        return to_sym(result)

    def _infer_count(
        self, op: Operator, given: tuple[Any, Any], types: list[Any], keywords: dict[str, Any]
    ) -> Any:
        """The result types of what counts; the number it makes may be known, or have a limit."""
        result = self.answers.of_constants(self, op.overload, *given)
        if result is None:
            before = len(self.facts.symbols)
            result = self._infer(op, types, keywords)
            self.answers.limit_size(self, op.overload, given[0], self.facts.symbols[before:])
        return result

    def write_assertions(self) -> None:
        """What was assumed about data-dependent values is checked where it was assumed.

        An assumption about a value that the current operator makes waits until it is made.
        """
        if self.from_factory is not None:
            self.begin_history()
        pending = self._assertions_waiting + self.facts.assertions[self._assertions_seen :]
        self._assertions_seen = len(self.facts.assertions)
        self._assertions_waiting = [g for g in pending if not self.writer.can_compute(g.relation)]
        for guard in [each for each in pending if each not in self._assertions_waiting]:
            message = broken(self.facts, guard, self.said.get(guard.relation))
            self._assert(guard.relation, message, guard.origin)

    def write_last_assertions(self) -> None:
        """Check every assumption. Raises: outside-read (of a clock); bug (nothing computes it)."""
        self.write_assertions()
        for guard in self._assertions_waiting:
            self.writer.as_stated(guard.relation)
            raise problem("bug", reason=f"nothing computes {relation_text(guard.relation)}")

    def assert_now(self, relation: Relation, message: str) -> None:
        """The program checks a relation here, and says this where it does not hold."""
        self._assert(relation, message)
        self.facts.assume(relation)

    def _assert(self, relation: Relation, message: str, origin: object = None) -> None:
        arguments = (self.writer.as_stated(relation), message)
        node = self.append(ASSERT_SCALAR, "_assert_scalar", arguments, {})
        self.scopes.describe_assertion(node, origin, self.operations[-2:-1])

    def close(self) -> None:
        """From now on this capture's tensors are refused, and nobody is told anything."""
        self.closed = True
        self.facts.premises = {}

    def abstract(self, tensor: torch.Tensor) -> AbstractTensor:
        """This capture's tensor for any tensor: itself, known state, or a lifted constant."""
        if not isinstance(tensor, AbstractTensor):
            return self.writer.lift(tensor, self)
        if tensor.recorder is not self:
            raise tensor.recorder.refusal_outside(tensor)
        return tensor

    def constant_value(self, node: Node) -> torch.Tensor | None:
        """The data of a lifted constant, unless user code wrote to it."""
        return None if node.name in self.mutated else self.writer.constant_of.get(node)

    def convert(self, arg: Any) -> tuple[Any, Any]:
        """An argument as the rule sees it and as the graph sees it."""
        cls = type(arg)
        if cls in _PLAIN:
            return arg, arg
        if cls is StaticTensor or cls is SymbolicTensor:
            if arg.recorder is not self:
                raise arg.recorder.refusal_outside(arg)
            self._requires_grad |= arg.tensor_type.requires_grad
            return arg.tensor_type, arg.node
        if isinstance(arg, list | tuple):
            if all(item.__class__ is int for item in arg):
                return arg, arg
            pairs = [self.convert(item) for item in arg]
            return [pair[0] for pair in pairs], [pair[1] for pair in pairs]
        if isinstance(arg, torch.SymInt | torch.SymFloat | torch.SymBool):
            value = to_python(arg)
            return value, self.writer.operand(value)
        if isinstance(arg, torch.Tensor):
            return self.convert(self.writer.lift(arg, self))
        if cls in _NO_ARGUMENTS:
            raise problem(_NO_ARGUMENTS[cls])
        return arg, arg

    def turn_to(self, facts: Facts) -> Standing:
        """Ask other facts from now on, those of a branch; gives what to turn back to."""
        self.begin_history()
        left = (self.facts, self._assertions_seen, self._assertions_waiting)
        self.facts = facts
        self._assertions_seen, self._assertions_waiting = len(facts.assertions), []
        return left

    def turn_back(self, left: Standing) -> None:
        """Ask the facts that were asked before."""
        self.facts, self._assertions_seen, self._assertions_waiting = left
        self._inference = None  # what was given up may have asked a rule, and written nothing
        self.from_factory = None  # nor is what it made last anybody's any more

    # --- results -----------------------------------------------------------------------------

    def append(
        self,
        target: Any,
        base: str,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        *,
        beside: Node | None = None,
    ) -> Node:
        """A node at the end of the graph, with where user code stands: as another, `beside` it."""
        writer = self.writer
        name = writer.new_name(base)
        node = append_node(writer.graph, name, "call_function", target, args, kwargs)
        if beside is None:
            self.scopes.describe(node, sys._getframe(1))
        else:
            self.scopes.describe_alike(node, beside)
        self.operations.append(node)
        inference, self._inference = self._inference, None
        if inference is not None:
            self.inferences[node] = inference
        return node

    def wrap(
        self,
        result: Any,
        node: Node,
        *,
        requires_grad: bool = False,
        root: AbstractTensor | None = None,
    ) -> Any:
        """What user code gets for a result of the given types, made by `node`."""
        if result.__class__ is TensorType:
            if requires_grad and is_grad_enabled() and is_differentiable(result.dtype):
                if not result.requires_grad:
                    result = with_requires_grad(result, True)
            elif result.requires_grad:
                result = with_requires_grad(result, False)
            tensor = make_tensor(result, node, self)
            tensor.view_of = root
            node.meta["val"] = tensor
            if type(tensor) is SymbolicTensor and self.facts.has_unbacked:
                self._bind_new_sizes(result, node)
            return tensor
        if isinstance(result, list | tuple):
            return self._wrap_many(result, node, requires_grad=requires_grad, root=root)
        if isinstance(result, Expr):
            self.writer.bind(result, node)
        node.meta["val"] = to_sym(result)
        return node.meta["val"]

    def _bind_new_sizes(self, result: TensorType, node: Node) -> None:
        """Data-dependent sizes are read off the tensor that was born with them."""
        for dim, size in enumerate(result.shape):
            if isinstance(size, Expr) and self.facts.is_unbacked(size):
                self.writer.size_source(size, node, dim)

    def _wrap_many(
        self,
        results: Any,
        node: Node,
        *,
        requires_grad: bool,
        root: AbstractTensor | None,
    ) -> Any:
        wrapped: list[Any] = []
        for i, result in enumerate(results):
            if result is None:
                wrapped.append(None)
                continue
            item = self.append(getitem, "getitem", (node, i), {}, beside=node)
            wrapped.append(self.wrap(result, item, requires_grad=requires_grad, root=root))
        node.meta["val"] = tuple(wrapped) if isinstance(results, tuple) else immutable_list(wrapped)
        return tuple(wrapped) if isinstance(results, tuple) else wrapped

    def _record_mutation(
        self,
        op: Operator,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        types: list[Any],
        keyword_types: dict[str, Any],
        nodes: list[Any],
        keyword_nodes: dict[str, Any],
    ) -> Any:
        bound = dict(zip(op.argument_names, args, strict=False)) | kwargs
        targets = {name: self._target(bound.get(name)) for name in op.mutated}
        idle = op.aliasing.is_idle(args, kwargs)
        followed = self._requires_grad and is_grad_enabled() and not (op.writes_out or idle)
        for tensor in itertools.chain(*targets.values()):
            self.answers.before_write(self, op, args, tensor, followed=followed, idle=idle)
            if self.region is not None:
                self.region.before_write(tensor, keeps_shape=not op.inplace_view, followed=followed)
            self.check_write(tensor)
            if op.inplace_view:
                self.writer.keep_sizes(tensor.tensor_type)
        result = self._infer_mutation(op, types, keyword_types)
        outputs = [targets.get(name or "") for name in op.returned_arguments]
        if op.writes_out and self._resizes(args, outputs, result):
            return self.call(op.overload, args, kwargs)
        node = self.append(op.overload, op.base_name, tuple(nodes), keyword_nodes)
        for tensor in itertools.chain(*targets.values()):
            if op.overload is not BEGINS_HISTORY:
                self._note_write(tensor)
            self.lineage.written(tensor, node, followed=self._requires_grad and is_grad_enabled())
            if op.inplace_view:
                self.retype(tensor, result, node)
        if len(outputs) == 1 and outputs[0]:
            tensor = outputs[0][0]
            tensor.node, node.meta["val"] = node, tensor
            return tensor
        if op.returned_arguments:
            return self._wrap_outputs(op, outputs, result, node)
        return node.meta.setdefault("val", None)

    def _resizes(self, args: tuple[Any, ...], outputs: list[Any], result: Any) -> bool:
        """Whether what `out=` was given has other memory now. Raises: out-resized."""
        for tensor, t in written_out(outputs, result):
            if resized(self, tensor, t, args):
                return True
            require_same_shape(t, tensor.tensor_type, "out-resized")
        return False

    def _wrap_outputs(self, op: Operator, outputs: list[Any], result: Any, node: Node) -> Any:
        """Several results, some of which are arguments written to."""
        single = len(outputs) == 1
        results = (result,) if single else result
        wrapped: list[Any] = []
        for i, (given, t) in enumerate(zip(outputs, results, strict=False)):
            item = node if single else self.append(getitem, "getitem", (node, i), {}, beside=node)
            if given:
                given[0].node = item
                item.meta["val"] = given[0]
                wrapped.append(given[0])
            else:
                wrapped.append(self.wrap(t, item, requires_grad=self._requires_grad))
        if not single:
            node.meta["val"] = tuple(wrapped)
        if op.is_custom:
            self.answers.check_fake_kernel(self, op, node)
        return wrapped[0] if single else tuple(wrapped)

    def _target(self, arg: Any) -> list[AbstractTensor]:
        if arg is None:
            return []
        if isinstance(arg, list | tuple):
            return [tensor for item in arg for tensor in self._target(item)]
        return [arg if isinstance(arg, AbstractTensor) else self.writer.lift(arg, self)]

    def _infer_mutation(self, op: Operator, types: list[Any], keywords: dict[str, Any]) -> Any:
        """The result types; an in-place operator's operands must broadcast to its target."""
        if op.rule is None and op.overload.namespace == "aten" and op.aliasing.is_inplace:
            return types[0]
        if op.writes_out:
            keywords = {k: t for k, t in keywords.items() if k not in op.mutated}
        result = self._infer(op, types, keywords)
        if op.writes_out or not op.rule_is_functional_sibling or op.inplace_view:
            return result
        if isinstance(result, TensorType) and isinstance(types[0], TensorType):
            require_same_shape(result, types[0])
        return result

    def _note_silent_writes(
        self, op: Operator, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> None:
        """Batch normalisation in training updates its running statistics, undeclared."""
        for value in op.aliasing.writes(args, kwargs):
            for tensor in self._target(value):
                if self.region is not None:
                    self.region.before_write(tensor)
                self.check_write(tensor)
                self._note_write(tensor)

    def check_write(self, tensor: AbstractTensor) -> None:
        """Before anything is recorded. Raises: write-after-branch."""
        if self.known_aliases is not None:
            self.known_aliases.check_write(tensor.storage_root)

    def _note_write(self, tensor: AbstractTensor) -> None:
        """The tensor's storage has other data from here on. Raises: mutated-constant."""
        root = tensor.storage_root
        self.count_write(root)
        if (node := self.writer.placeholder_of.get(id(root))) is not None:
            if node in self.writer.constant_of:
                raise problem("mutated-constant", name=self.writer.attribute_of(node))
            if self.region is None:  # else a copy is written to, and this behind the region
                self.mutated[node.name] = root

    def retype(self, tensor: AbstractTensor, t: TensorType, node: Node) -> None:
        """A tensor, by all its names, is of this type from a node on."""
        for each in self.lineage.names(tensor):
            self.lineage.keep_type(each)
            self.answers_noted.keep_apart(each)
            each.tensor_type = with_requires_grad(t, tensor.tensor_type.requires_grad)
            each.node = node
            if isinstance(each, StaticTensor):
                restride(each, t.shape, t.stride(), t.offset)

    # --- what abstract tensors ask -------------------------------------------------------------

    def layout_asked(self, tensor: AbstractTensor, question: LayoutQuestion) -> None:
        """The inputs whose layout this tensor's follows must lie as the examples do."""
        self.shows_layout = True
        if self.known_aliases is not None:
            self.known_aliases.check_answer("layout", tensor)
        if not tensor.tensor_type.shape and question != "offset":
            return
        found = set() if tensor.node is None else questions_behind(tensor.node, question)
        self.state_asked.update(each for each, _ in found)
        # What a subgraph takes stands for anything outside of it.
        graphs = {each.graph for each in self.input_nodes[:1]}
        may_be_any = tensor.node is None or any(each.graph not in graphs for each, _ in found)
        for place, node in enumerate(self.input_nodes if found or may_be_any else ()):
            for each in (question, "strides"):
                asked: tuple[int, LayoutQuestion] = place, each
                if (may_be_any or (node, each) in found) and asked not in self.layouts_asked:
                    self.layouts_asked[asked] = self.origin()

    def dtype_asked(self, tensor: AbstractTensor) -> None:
        """What is computed may depend on the dtype, if it is one that modules are converted in."""
        if self.asks_dtype is None and is_differentiable(tensor.tensor_type.dtype):
            self.asks_dtype = self.origin()

    def mark_requires_grad(self, tensor: AbstractTensor, flag: bool) -> None:  # noqa: FBT001
        """The tensor is of that type from here on."""
        if tensor.tensor_type.requires_grad is not flag or self.lineage.only_follows_base(tensor):
            self.lineage.told_to_require(tensor, flag)

    def refuse(self, refusal: MonographError, assumed: str = "") -> None:
        """Raise what user code could go on after; `assumed` says what a draft does instead."""
        del assumed
        raise refusal

    def origin(self) -> tuple[Frame, ...]:
        """The user frames of the question being asked now, innermost first."""
        return self.scopes.user_frames(sys._getframe(1))
