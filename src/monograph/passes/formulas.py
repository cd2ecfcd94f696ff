"""Tracing of decomposition formulas: each is run once on abstract tensors, and recorded.

A formula is any function that computes what an operator computes: one of PyTorch's, the body of a
composite operator, or a user's. It sees symbolic sizes, and asks about them as user code does.
"""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NoReturn, Protocol, TypeVar

import torch

from monograph.abstract.symbols import to_python, to_sym
from monograph.abstract.tensor import AbstractTensor, make_tensor, with_requires_grad
from monograph.abstract.tensor_type import TensorType
from monograph.capture.recording.graph_writer import GraphWriter
from monograph.capture.recording.recorder import Recorder
from monograph.capture.torch_overrides.tensor_answers import ANSWERS
from monograph.host.dispatch import below_autograd
from monograph.host.fx_nodes import append_node
from monograph.host.overloads import aten
from monograph.integers import (
    Expr,
    Facts,
    Real,
    Relation,
    ge,
    holds,
    known,
    ne,
    relation_symbols,
    relation_text,
    require,
    simplify,
    use,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping, Sequence

    from torch.fx.graph import Graph
    from torch.fx.node import Node

    from monograph.abstract.tensor import Recording
    from monograph.host.operator_types import OpOverload
    from monograph.integers import Truth


Settings = tuple[Any, ...]
"""Of autocast: device, dtype, enabled, cache."""


class CannotDecomposeError(Exception):
    """A formula does not apply to these arguments; the reason is the message."""


class FormulaFailsError(CannotDecomposeError):
    """A formula raised an exception, or computes something else than its operator."""


@dataclass(frozen=True, slots=True)
class Formula:
    """What an operator is made of for some argument types, not lowered any further yet.

    `slots` stand for its tensor arguments in order; `results` is nested as the operator's results
    are: nodes, numbers, constants.
    """

    graph: Graph
    slots: tuple[Node, ...]
    results: Any


class MemoryObligation(Protocol):
    """What holds a formula to the memory that its operator's results lie in."""

    def before(self, slots: Sequence[Node], facts: Facts) -> None:
        """Settle by guards what the formula will ask. Raises: CannotDecomposeError."""
        ...

    def after(self, slots: Sequence[Node], results: Any, facts: Facts) -> None:
        """Look at its results. Raises: CannotDecomposeError."""
        ...


class LoweringFacts(Facts):
    """The facts of a finished capture while its program is lowered.

    Law: what is asked of these is answered as the original answers, or else by the general answer
    where there is one. A question that excludes inputs is a new guard, which the lowered program
    has beyond the original's. `admitted` are sizes that are never excluded: those of the example,
    which hints do not tell where it has sizes of 0 or 1.
    """

    __slots__ = ("admitted",)

    def __init__(self) -> None:
        super().__init__()
        self.prefers_general = True
        self.admitted: Mapping[Expr, int] = {}


class FormulaFacts(LoweringFacts):
    """Facts that a formula asks: it must not fix a size, nor bring an unknown of its own."""

    __slots__ = ("is_own",)

    def __init__(self, facts: Facts, *, prefers_general: bool = True) -> None:
        # Copied when something is learnt, which is rare.
        self.prefers_general = prefers_general
        _adopt(self, facts)
        self.admitted = facts.admitted if isinstance(facts, LoweringFacts) else {}
        self.is_own = False

    def symbol(self, name: str, **_options: Any) -> NoReturn:
        """Refuse: nothing new becomes unknown."""
        raise CannotDecomposeError(f"its formula makes the size {name} of its own, from data")

    def guard(self, r: Truth) -> None:
        """Exclude inputs, such as those of size 0, but never fix a size."""
        if isinstance(r, Relation) and r.kind == "eq":
            raise CannotDecomposeError(f"its formula holds for {relation_text(r)} alone")
        if isinstance(r, Relation) and not self.is_backed(r):
            raise CannotDecomposeError(f"its formula needs {relation_text(r)}, which is about data")
        if relation_symbols(r) <= self.admitted.keys() and not holds(r, self.admitted):
            raise CannotDecomposeError(f"its formula would exclude the example: {relation_text(r)}")
        if not self.is_own:
            _adopt(self, _as(Facts(), self))
            self.is_own = True
        super().guard(r)

    def assert_at_run(self, r: Truth) -> NoReturn:
        """Refuse: assertions stand where user code needs them."""
        raise CannotDecomposeError(f"its formula needs to assert {r}")


def facts_for_lowering(facts: Facts, example: Mapping[Expr, int]) -> LoweringFacts:
    """A copy of a capture's facts, which may learn, but nothing that excludes the example."""
    made = _as(LoweringFacts(), facts)
    made.admitted = example
    return made


def facts_of_program(facts: LoweringFacts) -> Facts:
    """What was learnt, as the facts of a program."""
    return _as(Facts(), facts)


_Kind = TypeVar("_Kind", bound=Facts)


def _as(made: _Kind, facts: Facts) -> _Kind:
    """Facts of another kind that know the same, and learn by themselves from here on."""
    _adopt(made, Facts.copy(facts))
    return made


def _adopt(facts: Facts, other: Facts) -> None:
    """From now on `facts` know what `other` do."""
    for name in _KNOWLEDGE:
        setattr(facts, name, getattr(other, name))


_KNOWLEDGE: Final = tuple(name for name in Facts.__slots__ if name != "prefers_general")


class FormulaWriter(GraphWriter):
    """Writes a formula's graph; numbers stay as they are until the graph is instantiated."""

    def number(self, value: Any) -> Any:
        """Keep a number that depends on sizes as the expression it is."""
        return simplify(value) if isinstance(value, Expr) else value

    def lift(self, real: torch.Tensor, recorder: Recording) -> AbstractTensor:
        """A constant inside a formula: a scalar is made anew, nothing else is known there."""
        if real.dim() or isinstance(real, torch.nn.Parameter):
            raise CannotDecomposeError("its formula holds a tensor of its own")
        options = {"dtype": real.dtype, "device": real.device}
        return recorder.call(torch.ops.aten.scalar_tensor.default, (real.item(),), options)

    lift_literal = lift


class FormulaRecorder(Recorder):
    """Records a formula; nobody outside sees its tensors, so detaching them changes nothing."""

    tells_users = False

    def __init__(self, writer: Any, scopes: Any, facts: Facts) -> None:
        super().__init__(writer, scopes, facts, ANSWERS)
        self.special[id(torch.ops.aten.detach.default)] = self._detached

    def _detached(self, tensor: Any) -> Any:
        source = self.abstract(tensor)
        detached = make_tensor(source.tensor_type, source.node, self)
        detached.view_of = source.storage_root
        return detached


class NoScopes:
    """Stands for `capture.scopes.Scopes`: a formula's lines are not the user's."""

    def __init__(self) -> None:
        self.states: dict[Node, Any] = {}

    def describe(self, node: Node, _frame: Any) -> None:
        """Say nothing; where the formula is used is known when it is instantiated."""
        node.meta = {}

    def describe_alike(self, node: Node, _other: Node) -> None:
        """As `describe`."""
        node.meta = {}

    def user_frames(self, _frame: Any) -> tuple[()]:
        """None."""
        return ()


_WHOLE_IN_INFERENCE: Final = frozenset({aten.lstm.data, aten.lstm.input})
"""Operators that come to a kernel of one device, unless they train."""

_OTHERWISE_IN_TRAINING: Final = frozenset(
    {aten.embedding_bag.default, aten.embedding_bag.padding_idx, aten.matmul.default}
)
"""Operators that come to other kernels where an argument needs a gradient."""


def needs_gradients(overload: OpOverload) -> bool | None:
    """Whether a formula is run as in training; None where each argument's type says it."""
    return None if overload in _OTHERWISE_IN_TRAINING else overload in _WHOLE_IN_INFERENCE


def trace(
    formula: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    facts: Facts,
    autocast: tuple[Settings, ...],
    *,
    memory: MemoryObligation | None = None,
    trains: bool | None = False,
) -> Formula:
    """Run a formula on types (`TensorType`, `Expr`, constants, nested) and write down what it does.

    `memory` holds it to what its operator's results lie in, where that is seen outside. `trains`:
    its tensors need gradients, which keeps some formulas from kernels for inference; None leaves
    that to their types.

    Raises: CannotDecomposeError.
    """
    writer: Any = FormulaWriter()
    scopes: Any = NoScopes()
    # Only a formula that succeeds may leave guards behind.
    # Where results are seen from outside, a copy differs from a view, and the example decides.
    trial = FormulaFacts(facts, prefers_general=memory is None)
    recorder = FormulaRecorder(writer, scopes, trial)
    slots: list[Node] = []

    def given(value: Any) -> Any:
        if isinstance(value, TensorType):
            node = append_node(writer.graph, f"arg_{len(slots)}", "placeholder", "arg", (), {})
            slots.append(node)
            shown = value if trains is None else with_requires_grad(value, trains)
            tensor = make_tensor(shown, node, recorder)
            node.meta = {"val": tensor}
            return tensor
        if isinstance(value, list | tuple):
            return [given(item) for item in value]
        return to_sym(value, trial)

    called = [given(arg) for arg in args]
    named = {name: given(arg) for name, arg in kwargs.items()}
    try:
        if memory is not None:
            with use(trial):
                memory.before(slots, trial)
        with use(trial), _inside(autocast), below_autograd(), recorder:
            written = _results(formula(*called, **named), recorder)
        with use(trial):
            _need_divisors(writer.graph, trial)
            if memory is not None:
                memory.after(slots, written, trial)
    except Exception as error:
        raise _cannot(error) from error
    recorder.close()
    if len(trial.guards) > len(facts.guards):
        _adopt(facts, trial)
    return Formula(writer.graph, tuple(slots), written)


def _need_divisors(graph: Graph, facts: Facts) -> None:
    """Exclude sizes at which a number divides by zero: the operator would not raise."""
    for node in graph.nodes:
        for arg in (*node.args, *node.kwargs.values()):
            for divisor in _divisors(arg):
                relation = ne(divisor, 0)
                if facts.known(relation) is not True:
                    facts.guard(relation)


def _divisors(number: Any) -> list[Any]:
    if not isinstance(number, Real):
        return []
    inside = [divisor for arg in number.args for divisor in _divisors(arg)]
    return [*inside, number.args[1]] if number.kind in {"ratio", "truediv"} else inside


def _cannot(error: BaseException) -> CannotDecomposeError:
    """Why a formula failed, also where a rule wrapped the reason."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, CannotDecomposeError):
            return cause
        cause = cause.__cause__
    return FormulaFailsError(_reason(error))


def _reason(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return f"its formula failed: {lines[0] if lines else type(error).__name__}"


def _results(results: Any, recorder: Recorder) -> Any:
    """What a formula returned, as nodes, numbers and constants."""
    if results is NotImplemented:
        raise CannotDecomposeError("its formula does not cover these arguments")
    if isinstance(results, torch.Tensor):
        return recorder.abstract(results).node
    if isinstance(results, list | tuple):
        return [_results(item, recorder) for item in results]
    return recorder.writer.number(to_python(results))


@contextmanager
def _inside(autocast: tuple[Settings, ...]) -> Generator[None]:
    """The modes that the operator runs in."""
    with ExitStack() as stack:
        for device, dtype, enabled, _ in autocast:
            stack.enter_context(torch.autocast(device, dtype, enabled, cache_enabled=False))
        yield


def need_elements(overload: OpOverload, types: Any) -> None:
    """Exclude empty images where the operator refuses them and PyTorch's formula does not."""
    if "upsample" in overload.name():
        for size in types[0].shape[1:]:
            if known(ge(size, 1)) is None:
                require(ge(size, 1), "size-must-be-positive", size=size, what=overload.name())
